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
use rowmill_app::off_async;
use rowmill_fairness::Tenant;
use rowmill_model::bounded_json::{self, Bounds, CountBound, Refusal};
use rowmill_model::{Limits, Offence, Scopes};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::answer::Media;
use crate::answer_memory::AnswerMemory;
use crate::body;
use crate::check::Checker;
use crate::definition::{Accept, Bind, Content, Rejected, Run};
use crate::deprecation::Deprecation;
use crate::endpoint::{Access, Call, Head, Idempotency, Principal as _, RateKey, SEQUENCE, Service};
use crate::error::Error;
use crate::etag::Preconditions;
use crate::layers::RequestId;
use crate::payload::{Presence, not_json};
use crate::query::QueryReader;
use crate::rate_limits::{RateLimitStatus, RateLimiters, Rates, client_of};
use crate::request_memory::{RequestMemory, Reservation};

const IDEMPOTENCY_KEY: &str = "idempotency-key";
const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;

/// What an import holds of its file at a time.
const STREAMED_BYTES: usize = 4 * 1024 * 1024;
/// Names, addresses and keys are no cells: they have limits of their own, whatever that of a cell is.
const PART_BYTES_MIN: usize = 64 * 1024;

/// What all requests share.
pub(crate) struct Shared<S> {
    pub state: S,
    pub limits: Arc<Limits>,
    pub rates: Arc<Rates>,
    pub rate_limiters: RateLimiters,
    pub memory: Arc<RequestMemory>,
    pub answers: Arc<AnswerMemory>,
}

/// What is needed to serve one operation, prepared when it was added.
pub(crate) struct Plan<S: Service> {
    pub access: Access,
    pub scopes: Scopes,
    pub status: StatusCode,
    pub media: Media,
    pub deprecated_at: Option<i64>,
    pub query: QueryReader,
    pub body: BodyPlan,
    pub bind: Bind<S>,
}

/// How the body of one operation is read and checked.
#[derive(Debug)]
pub(crate) struct BodyPlan {
    pub presence: Presence,
    pub bytes_max: u32,
    pub checker: Option<Checker>,
    /// The body's lists whose entries are counted.
    pub counts: Vec<CountBound>,
}

pub(crate) async fn serve<S: Service>(
    shared: Arc<Shared<S>>,
    plan: Arc<Plan<S>>,
    request: Request,
) -> Response {
    let request_id = RequestId::of(&request);
    let deprecation = plan
        .deprecated_at
        .map(|at| Deprecation::new(at, &shared.state.base_url(request.headers()), request.uri()));
    let mut standing = None;
    let mut response = match attempt(&shared, &plan, request, &request_id, &mut standing).await {
        Ok(response) => response,
        Err(error) if plan.access == Access::Webhook => error.of_webhook().respond_bare(&request_id),
        Err(error) => error.respond(&request_id),
    };
    if let Some(standing) = standing {
        standing.write_headers(response.headers_mut());
    }
    if let Some(deprecation) = deprecation {
        deprecation.write_headers(response.headers_mut());
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// Cheap refusals come first: nothing is read from a caller who may not call.
async fn attempt<S: Service>(
    shared: &Shared<S>,
    plan: &Plan<S>,
    request: Request,
    request_id: &Arc<str>,
    standing: &mut Option<RateLimitStatus>,
) -> Result<Response, Error> {
    let (parts, body) = request.into_parts();
    let client = client_address(&parts);
    let captured = captured(&parts);
    let Admitted { principal, tenant } =
        admit(shared, plan.access, &parts, client, &captured, standing).await?;
    if let Some(principal) = &principal {
        shared.state.authorize(principal, plan.scopes, &captured).await?;
    }
    // From here on, whatever is scarce is shared out between teams.
    let work = carry_out(shared, plan, Arrived { parts, body, client, captured, principal }, request_id);
    tenant.scope(work).await
}

/// A request whose caller may call.
struct Arrived<P> {
    parts: Parts,
    body: Body,
    client: IpAddr,
    captured: Map<String, Value>,
    principal: Option<P>,
}

async fn carry_out<S: Service>(
    shared: &Shared<S>,
    plan: &Plan<S>,
    arrived: Arrived<S::Principal>,
    request_id: &Arc<str>,
) -> Result<Response, Error> {
    let Arrived { parts, body, client, captured, principal } = arrived;
    let written = captured.get("projectId").filter(|_| !parts.method.is_safe());
    let written = written.and_then(Value::as_str).map(str::to_owned);
    let demanded = Preconditions::of(&parts.headers);
    let is_read = parts.method.is_safe();
    let (accept, key) = accept_params(plan, captured, &parts)?;
    // Held until the answer is made: what was read lives as long.
    let mut memory = shared.memory.reserve();
    let (run, idempotency) = accept_body(shared, &plan.body, body, &parts, key, accept, &mut memory).await?;
    let call = Call {
        state: shared.state.clone(),
        principal,
        request_id: Arc::clone(request_id),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        method: parts.method,
        headers: parts.headers,
        client,
        limits: Arc::clone(&shared.limits),
        rates: Arc::clone(&shared.rates),
        idempotency,
        answers: Arc::clone(&shared.answers),
    };
    let reply = run(call).await?.admitted(&shared.answers, is_read).await?;
    let mut response = reply.into_response(plan.status, plan.media);
    if is_read {
        return demanded.answer(response);
    }
    if let Some(project) = written
        && let Some(seq) = shared.state.sequence(&project).await
    {
        response.headers_mut().insert(SEQUENCE, seq.into());
    }
    Ok(response)
}

/// The client's address, as [`crate::layers`] found it: the peer's, or the one that a trusted proxy tells.
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

/// Who may go on, and whom the work is for.
pub(crate) struct Admitted<P> {
    pub(crate) principal: Option<P>,
    pub(crate) tenant: Tenant,
}

/// Who is calling, if they may and not too often.
pub(crate) async fn admit<S: Service>(
    shared: &Shared<S>,
    access: Access,
    parts: &Parts,
    client: IpAddr,
    captured: &Map<String, Value>,
    standing: &mut Option<RateLimitStatus>,
) -> Result<Admitted<S::Principal>, Error> {
    let rate_limiters = &shared.rate_limiters;
    if access == Access::Open {
        return Ok(Admitted { principal: None, tenant: Tenant::ANONYMOUS });
    }
    if access == Access::Webhook {
        let team = captured.get("teamId").and_then(Value::as_str).unwrap_or_default();
        let team = shared.state.webhook_team(team).await?;
        // By the id and not as it was spelled, so that another spelling is no other team.
        let caller = Uuid::from_u128(team).to_string();
        count(standing, rate_limiters.webhook.as_ref().map(|buckets| buckets.take(caller)))?;
        return Ok(Admitted { principal: None, tenant: Tenant::team(team) });
    }
    let head = Head { method: &parts.method, headers: &parts.headers, client };
    let principal = match shared.state.authenticate(access, head, captured).await {
        Ok(principal) => principal,
        Err(error) => {
            // Only who fails is counted here, so a stranger's guesses never hold up the owner of a key.
            // So is who guesses at the names of teams.
            let is_guess = error.status() == StatusCode::NOT_FOUND && captured.contains_key("teamSlug");
            if error.status() == StatusCode::FORBIDDEN || is_guess {
                count(standing, rate_limiters.auth_failure(client))?;
            }
            return Err(error);
        }
    };
    let taken = match principal.rate_key() {
        Some(RateKey { key, team }) => rate_limiters.key_and_team(key, team),
        None => rate_limiters.anonymous.as_ref().map(|buckets| buckets.take(client_of(client))),
    };
    count(standing, taken)?;
    Ok(Admitted { tenant: principal.tenant(), principal: Some(principal) })
}

pub(crate) fn count(
    standing: &mut Option<RateLimitStatus>,
    taken: Option<RateLimitStatus>,
) -> Result<(), Error> {
    *standing = taken;
    match taken {
        Some(RateLimitStatus { is_allowed: false, retry_after_seconds, .. }) => {
            Err(Error::RateLimited { retry_after_seconds })
        }
        _ => Ok(()),
    }
}

/// The path, the query and the idempotency key. The offences of query and key are told together.
fn accept_params<S: Service>(
    plan: &Plan<S>,
    captured: Map<String, Value>,
    parts: &Parts,
) -> Result<(Accept<S>, Option<String>), Error> {
    // Who sends a webhook may add parameters of its own to the address it was given.
    let query = parts.uri.query().filter(|_| plan.access != Access::Webhook);
    let bound = (plan.bind)(Value::Object(captured), plan.query.read(query));
    match (bound, idempotency_key(parts)) {
        (Ok(accept), Ok(key)) => Ok((accept, key)),
        (Err(Rejected::Path), _) => Err(Error::UnknownPath),
        (Err(Rejected::Query(offences)), Ok(_)) => Err(Error::offences(offences)),
        (Ok(_), Err(offence)) => Err(Error::offences(vec![offence])),
        (Err(Rejected::Query(mut offences)), Err(offence)) => {
            offences.push(offence);
            Err(Error::offences(offences))
        }
    }
}

/// Reads the body, checks and parses it. A streamed one is only handed on.
async fn accept_body<S: Service>(
    shared: &Shared<S>,
    plan: &BodyPlan,
    mut body: Body,
    parts: &Parts,
    key: Option<String>,
    accept: Accept<S>,
    memory: &mut Reservation,
) -> Result<(Run<S>, Option<Idempotency>), Error> {
    let text = match plan.presence {
        Presence::Streamed => {
            memory.grow_to(STREAMED_BYTES)?;
            return Ok((accept(Content::Stream(body))?, None));
        }
        Presence::None => String::new(),
        Presence::Optional | Presence::Required => {
            let bytes_max = shared.limits.body_bytes_max.min(plan.bytes_max);
            body::read(&parts.headers, &mut body, bytes_max, &shared.limits, memory).await?
        }
    };
    off_async(text.len(), || {
        let idempotency = key.map(|key| Idempotency { key, fingerprint: fingerprint(parts, &text) });
        check_body(plan, &text, &shared.limits)?;
        Ok((accept(Content::Text(text))?, idempotency))
    })
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
            "must be 1 to 255 visible ASCII characters, without spaces",
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

fn check_body(plan: &BodyPlan, text: &str, limits: &Limits) -> Result<(), Error> {
    if text.is_empty() {
        return match plan.presence {
            Presence::Required => Err(Error::offence("", "a JSON body is required")),
            Presence::None | Presence::Optional | Presence::Streamed => Ok(()),
        };
    }
    let Some(checker) = &plan.checker else { return Ok(()) };
    let part_bytes_max = usize::try_from(limits.cell_bytes_max).unwrap_or(usize::MAX).max(PART_BYTES_MIN);
    let value = bounded_json::parse(text, Bounds { counts: &plan.counts, part_bytes_max });
    // The parsed value is dropped before the typed body is made, so that there are never both.
    let offences = checker.offences(value.map_err(refused)?, text.len());
    if offences.is_empty() { Ok(()) } else { Err(Error::offences(offences)) }
}

fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::NotJson(error) => not_json(&error),
        limit => rowmill_app::Error::limit(limit.field(), limit.to_string()).into(),
    }
}
