//! What happens to a request on its way to its endpoint: who calls, how often, with what.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, MatchedPath, Request};
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use percent_encoding::percent_decode_str;
use rowmill_fairness::Tenant;
use rowmill_model::{Limits, Offence};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::body;
use crate::check::Checker;
use crate::endpoint::{
    Access, Call, Endpoint, Idempotency, Media, Payload, Presence, Principal as _, Service, not_json,
};
use crate::error::Error;
use crate::layers::{RequestId, SEQUENCE};
use crate::limits::{Policies, Rates, Standing, client_of};
use crate::query::QueryReader;

const IDEMPOTENCY_KEY: &str = "idempotency-key";
const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;

/// What all requests share.
pub(crate) struct Shared<S> {
    pub state: S,
    pub limits: Arc<Limits>,
    pub rates: Arc<Rates>,
    pub policies: Policies,
}

/// What was prepared for one operation when it was added.
#[derive(Debug)]
pub(crate) struct Plan {
    pub query: QueryReader,
    pub body: Option<Checker>,
}

pub(crate) async fn serve<S: Service, E: Endpoint<S>>(
    shared: Arc<Shared<S>>,
    plan: Arc<Plan>,
    request: Request,
) -> Response {
    let request_id = RequestId::of(&request);
    let mut standing = None;
    let mut response = match attempt::<S, E>(&shared, &plan, request, &request_id, &mut standing).await {
        Ok(response) => response,
        Err(error) if E::ACCESS == Access::Webhook => error.of_webhook().respond_bare(&request_id),
        Err(error) => error.respond(&request_id),
    };
    if let Some(standing) = standing {
        standing.write_headers(response.headers_mut());
    }
    response
}

/// Cheap refusals come first: nothing is read from a caller who may not call.
async fn attempt<S: Service, E: Endpoint<S>>(
    shared: &Shared<S>,
    plan: &Plan,
    request: Request,
    request_id: &Arc<str>,
    standing: &mut Option<Standing>,
) -> Result<Response, Error> {
    let (parts, body) = request.into_parts();
    let client = client_address(&parts);
    let captured = captured(&parts);
    let principal = admit(shared, E::ACCESS, &parts, client, &captured, standing).await?;
    let tenant = principal.as_ref().map_or(Tenant::ANONYMOUS, |principal| principal.tenant());
    tenant.scope(carry_out::<S, E>(shared, plan, parts, body, captured, principal, request_id)).await
}

/// Reads what an admitted caller sent and does what it asks for.
async fn carry_out<S: Service, E: Endpoint<S>>(
    shared: &Shared<S>,
    plan: &Plan,
    parts: Parts,
    body: Body,
    captured: Map<String, Value>,
    principal: Option<S::Principal>,
    request_id: &Arc<str>,
) -> Result<Response, Error> {
    let client = client_address(&parts);
    let written = captured.get("projectId").filter(|_| parts.method != Method::GET);
    let written = written.and_then(Value::as_str).map(str::to_owned);
    let path = serde_json::from_value(Value::Object(captured)).map_err(|_| Error::UnknownPath)?;
    let (query, key) = query_and_key::<E::Query>(plan, &parts)?;
    let (idempotency, body) = match (E::Body::PRESENCE, body) {
        (Presence::Streamed, body) => (None, E::Body::stream(body).ok_or(Error::UnknownPath)?),
        (presence, body) => {
            let text = match presence {
                Presence::Optional | Presence::Required => {
                    body::read(&parts.headers, body, &shared.limits).await?
                }
                Presence::None | Presence::Streamed => String::new(),
            };
            let key = key.map(|key| Idempotency { key, fingerprint: fingerprint(&parts, &text) });
            (key, accept::<E::Body>(plan, text)?)
        }
    };
    let call = Call {
        state: shared.state.clone(),
        principal,
        request_id: Arc::clone(request_id),
        path: parts.uri.path().to_owned(),
        method: parts.method,
        headers: parts.headers,
        client,
        limits: Arc::clone(&shared.limits),
        rates: Arc::clone(&shared.rates),
        idempotency,
    };
    let mut response = E::handle(call, path, query, body).await?.into_response(E::STATUS, E::MEDIA)?;
    if let Some(project) = written
        && let Some(seq) = shared.state.sequence(&project).await
    {
        response.headers_mut().insert(SEQUENCE, seq.into());
    }
    if E::MEDIA == Media::Events {
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    Ok(response)
}

/// The peer's address. Behind a proxy it is the proxy's.
pub(crate) fn client_address(parts: &Parts) -> IpAddr {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(address)| address.ip())
}

/// The path's parameters. What is no text still names nothing, and is told so by who looks for it.
fn captured(parts: &Parts) -> Map<String, Value> {
    let matched = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let segments = matched.split('/').zip(parts.uri.path().split('/'));
    segments
        .filter_map(|(template, sent)| {
            let name = template.strip_prefix('{')?.strip_suffix('}')?;
            Some((name.to_owned(), percent_decode_str(sent).decode_utf8_lossy().into()))
        })
        .collect()
}

/// Who is calling, if they may and not too often.
async fn admit<S: Service>(
    shared: &Shared<S>,
    access: Access,
    parts: &Parts,
    client: IpAddr,
    captured: &Map<String, Value>,
    standing: &mut Option<Standing>,
) -> Result<Option<S::Principal>, Error> {
    let policies = &shared.policies;
    if access == Access::Open {
        return Ok(None);
    }
    if access == Access::Webhook {
        let team = captured.get("teamId").and_then(Value::as_str).unwrap_or_default();
        count(standing, policies.webhook.as_ref().map(|buckets| buckets.take(team.to_owned())))?;
        return Ok(None);
    }
    let principal = match shared.state.authenticate(access, &parts.method, &parts.headers, captured).await {
        Ok(principal) => principal,
        Err(error) => {
            // Only who fails is counted here, so a stranger's guesses never hold up the owner of a key.
            if error.status() == StatusCode::FORBIDDEN {
                count(standing, policies.auth_failure(client))?;
            }
            return Err(error);
        }
    };
    let taken = match principal.rate_key() {
        Some(key) => policies.key.as_ref().map(|buckets| buckets.take(key)),
        None => policies.anonymous.as_ref().map(|buckets| buckets.take(client_of(client))),
    };
    count(standing, taken)?;
    Ok(Some(principal))
}

pub(crate) fn count(standing: &mut Option<Standing>, taken: Option<Standing>) -> Result<(), Error> {
    *standing = taken;
    match taken {
        Some(Standing { is_allowed: false, retry_after_seconds, .. }) => {
            Err(Error::RateLimited { retry_after_seconds })
        }
        _ => Ok(()),
    }
}

/// The query and the idempotency key, with the offences of both together.
fn query_and_key<Q: serde::de::DeserializeOwned>(
    plan: &Plan,
    parts: &Parts,
) -> Result<(Q, Option<String>), Error> {
    let query = plan.query.read(parts.uri.query());
    let key = idempotency_key(parts);
    match (query, key) {
        (Ok(query), Ok(key)) => Ok((query, key)),
        (Err(offences), Ok(_)) => Err(Error::offences(offences)),
        (Ok(_), Err(offence)) => Err(Error::offences(vec![offence])),
        (Err(mut offences), Err(offence)) => {
            offences.push(offence);
            Err(Error::offences(offences))
        }
    }
}

fn idempotency_key(parts: &Parts) -> Result<Option<String>, Offence> {
    let Some(value) = parts.headers.get(IDEMPOTENCY_KEY).filter(|_| parts.method == Method::POST) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let is_key = text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_key || text.is_empty() || text.len() > IDEMPOTENCY_KEY_CHARS_MAX {
        return Err(Offence::new(
            "Idempotency-Key",
            "must be 1 to 255 visible ASCII characters, without blanks",
        ));
    }
    Ok(Some(text.to_owned()))
}

fn fingerprint(parts: &Parts, text: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [parts.method.as_str(), parts.uri.path(), parts.uri.query().unwrap_or_default()] {
        hash.update(part);
        hash.update([0]);
    }
    hash.update(text);
    hash.finalize().into()
}

fn accept<B: Payload>(plan: &Plan, text: String) -> Result<B, Error> {
    if text.is_empty() {
        return match B::PRESENCE {
            Presence::Required => Err(Error::offence("", "a JSON body is required")),
            Presence::None | Presence::Optional | Presence::Streamed => B::accept(text, None),
        };
    }
    let Some(checker) = &plan.body else { return B::accept(text, None) };
    let value = serde_json::from_str(&text).map_err(|error| not_json(&error))?;
    let offences = checker.offences(&value);
    if !offences.is_empty() {
        return Err(Error::offences(offences));
    }
    B::accept(text, Some(value))
}
