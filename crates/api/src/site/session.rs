//! Signing in and out with a browser. Not in the document: these are the page's own.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderValue, LOCATION, REFERRER_POLICY, SET_COOKIE, USER_AGENT, VARY,
};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::get;
use rowmill_app::{Caller, Principal};
use rowmill_fairness::Tenant;
use rowmill_model::{Scope, Scopes};
use serde::{Deserialize, Serialize};

use crate::body;
use crate::body_limit::BytesMax;
use crate::error::Error;
use crate::layers::RequestId;
use crate::payload::not_json;
use crate::pipeline::{Shared, client_address, count};
use crate::public_url::PublicUrl;
use crate::rate_limits::RateLimitStatus;
use crate::site::cookie;
use crate::state::ApiState;

type Site = Arc<Shared<ApiState>>;

/// Room for a key and little else.
const BODY_BYTES_MAX: u32 = 4_096;

pub(crate) fn routes() -> Router<Site> {
    Router::new()
        .route("/session", get(look).post(sign_in).delete(sign_out))
        .route("/signin/{token}", get(follow_link))
}

/// Who is signed in.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Session {
    signed_in: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<SessionTeam>,
    #[serde(skip_serializing_if = "Option::is_none")]
    can_manage_teams: Option<bool>,
    /// What the key that signed in may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Scopes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct SessionTeam {
    id: String,
    slug: String,
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignIn {
    key: String,
}

async fn look(State(site): State<Site>, request: Request) -> Response {
    let request_id = RequestId::of(&request);
    let (parts, _) = request.into_parts();
    let told = async {
        match site.state.signed_in(&parts.headers, client_address(&parts)).await? {
            Some(principal) => of(&site, principal).await,
            None => Ok(Session {
                signed_in: false,
                team: None,
                can_manage_teams: None,
                scopes: None,
                version: None,
            }),
        }
    };
    match told.await {
        Ok(session) => json(&session),
        Err(error) => error.respond(&request_id),
    }
}

async fn sign_in(State(site): State<Site>, request: Request) -> Response {
    let request_id = RequestId::of(&request);
    let mut standing = None;
    let signing_in = Tenant::ANONYMOUS.scope(try_sign_in(&site, request, &mut standing));
    let mut response = match signing_in.await {
        Ok(response) => response,
        Err(error) => error.respond(&request_id),
    };
    if let Some(standing) = standing {
        standing.write_headers(response.headers_mut());
    }
    response
}

async fn try_sign_in(
    site: &Site,
    request: Request,
    standing: &mut Option<RateLimitStatus>,
) -> Result<Response, Error> {
    let (parts, mut body) = request.into_parts();
    refuse_foreign(site, &parts)?;
    let bytes_max = BytesMax { number: site.limits.body_bytes_max.min(BODY_BYTES_MAX), name: "bodyBytesMax" };
    let mut memory = site.memory.reserve();
    let text = body::read(&parts.headers, &mut body, bytes_max, &site.limits, &mut memory).await?;
    let SignIn { key } = serde_json::from_str(&text).map_err(|error| not_json(&error))?;
    let client = client_address(&parts);
    let principal = match site.state.app().authenticate(key.trim(), client).await.map_err(Error::from) {
        Err(refusal) if refusal.status() == StatusCode::FORBIDDEN => {
            count(standing, site.rate_limiters.auth_failure(client))?;
            return Err(refusal);
        }
        other => other?,
    };
    let mut response = json(&of(site, principal).await?);
    admit(site, &parts, principal, &mut response).await?;
    Ok(response)
}

async fn sign_out(State(site): State<Site>, request: Request) -> Response {
    let request_id = RequestId::of(&request);
    let (parts, _) = request.into_parts();
    if let Err(error) = refuse_foreign(&site, &parts) {
        return error.respond(&request_id);
    }
    // A copy of the cookie must not go on working.
    if let Some(session) = cookie::sent(&parts.headers)
        && let Err(error) = site.state.app().sign_out(&session).await
    {
        return Error::from(error).respond(&request_id);
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let removed = cookie::remove(&site.state.reached(&parts.headers));
    response.headers_mut().extend(removed.map(|value| (SET_COOKIE, value)));
    response
}

/// The link that the very first start prints. It works once, so looking at it must not use it up.
async fn follow_link(State(site): State<Site>, request: Request) -> Response {
    let request_id = RequestId::of(&request);
    let (parts, _) = request.into_parts();
    let token = parts.uri.path().rsplit('/').next().unwrap_or_default();
    let followed = async {
        let principal = match parts.method {
            Method::HEAD => None,
            _ => site.state.app().use_sign_in_link(token, client_address(&parts)).await?,
        };
        let Some(principal) = principal else {
            count(&mut None, site.rate_limiters.auth_failure(client_address(&parts)))?;
            return Ok(redirect("../?signin=expired"));
        };
        let mut response = redirect("../");
        admit(&site, &parts, principal, &mut response).await?;
        Ok::<_, Error>(response)
    };
    followed.await.unwrap_or_else(|error| error.respond(&request_id))
}

async fn of(site: &Site, principal: Principal) -> Result<Session, Error> {
    let app = site.state.app();
    let team = app.own_team(Caller::Key(principal)).await?;
    Ok(Session {
        signed_in: true,
        can_manage_teams: Some(principal.scopes.contains(Scope::Admin) && app.is_operator(team.id).await?),
        team: Some(SessionTeam { id: team.id.to_string(), slug: team.slug.to_string(), name: team.name }),
        scopes: Some(principal.scopes),
        version: Some(env!("CARGO_PKG_VERSION")),
    })
}

/// Has the browser keep a session.
async fn admit(
    site: &Site,
    parts: &Parts,
    principal: Principal,
    response: &mut Response,
) -> Result<(), Error> {
    let browser = parts.headers.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let session = site.state.app().open_session(principal, browser.as_deref().unwrap_or_default()).await?;
    let kept = cookie::keep(&session, &site.state.reached(&parts.headers));
    response.headers_mut().extend(kept.map(|value| (SET_COOKIE, value)));
    Ok(())
}

/// Another site must neither sign people in, as somebody else, nor out.
fn refuse_foreign(site: &Site, parts: &Parts) -> Result<(), Error> {
    let reached = site.state.reached(&parts.headers);
    if cookie::is_foreign(&parts.headers, &reached) { Err(Error::CrossSite) } else { Ok(()) }
}

fn json(session: &Session) -> Response {
    let mut response = Response::new(Body::from(serde_json::to_vec(session).unwrap_or_default()));
    let fixed = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store"), (VARY, PublicUrl::VARY)];
    response.headers_mut().extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

/// Relative, so that it holds below any path. The address that is left is a secret, and is told nobody.
fn redirect(to: &'static str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let fixed = [(LOCATION, to), (CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer")];
    response.headers_mut().extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}
