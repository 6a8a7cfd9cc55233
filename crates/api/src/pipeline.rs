//! What happens to a request on its way to its endpoint: who calls, how often, with what.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, MatchedPath, Request};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::http::request::Parts;
use axum::response::Response;
use percent_encoding::percent_decode_str;
use rowmill_app::off_async;
use rowmill_fairness::Tenant;
use rowmill_model::bounded_json::{self, Bounds, Refusal};
use rowmill_model::limits::OFFENCES_MAX;
use rowmill_model::{Limits, Offence, Scopes};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::answer::Media;
use crate::answer_memory::AnswerMemory;
use crate::body;
use crate::body_limit::BodyLimit;
use crate::checks::{Checks, LazyChecks};
use crate::definition::{Accept, Bind, Content, Rejected, Run};
use crate::deprecation::Deprecation;
use crate::endpoint::{Access, Call, Head, Idempotency, Principal as _, RateKey, Repeats, SEQUENCE, Service};
use crate::error::Error;
use crate::etag::Preconditions;
use crate::layers::RequestId;
use crate::payload::{Presence, not_json};
use crate::rate_limits::{RateLimitStatus, RateLimiters, Rates, client_of};
use crate::repeats::{self, BodyHash, Turns};
use crate::request_log::CalledBy;
use crate::request_memory::{RequestMemory, Reservation};

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
    pub turns: Turns,
}

/// What is needed to serve one operation, prepared when it was added.
pub(crate) struct Plan<S: Service> {
    pub access: Access,
    pub scopes: Scopes,
    pub status: StatusCode,
    pub media: Media,
    pub deprecated_at: Option<i64>,
    pub repeats: Repeats,
    /// Whether a write compares the entity tag that it demands.
    pub takes_tag: bool,
    /// Whether there is a body, and how it is read.
    pub presence: Presence,
    pub body_limit: BodyLimit,
    pub checks: LazyChecks,
    pub bind: Bind<S>,
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
    let cache_control = HeaderValue::from_static("private, no-cache");
    response.headers_mut().entry(CACHE_CONTROL).or_insert(cache_control);
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
    Preconditions::check_length(&parts.headers)?;
    let demanded = Preconditions::of(&parts.headers);
    if principal.is_some() && !parts.method.is_safe() && !plan.takes_tag {
        demanded.check_none_is_lost()?;
    }
    let is_read = parts.method.is_safe();
    let (accept, key) = accept_params(plan, captured, &parts)?;
    let team = principal.as_ref().and_then(S::Principal::rate_key).map(|RateKey { team, .. }| team);
    let name = key.zip(team).map(|(key, team)| repeats::name_of(team, &parts.uri, &key));
    // Who sends the same request at once waits for the answer to the first.
    let _turn = match name {
        Some(name) => Some(shared.turns.take(name).await),
        None => None,
    };
    let (body, hash) = match name.filter(|_| plan.repeats == Repeats::WithAnswer) {
        None => (body, None),
        Some(name) => match begin_once(shared, plan, name, &parts, body).await? {
            Ok((body, hash)) => (body, Some((name, hash))),
            Err(kept) => return Ok(with_sequence(shared, written, kept).await),
        },
    };
    // Held until the answer is made: what was read lives as long.
    let mut memory = shared.memory.reserve();
    let (run, idempotency) = accept_body(shared, plan, body, &parts, name, accept, &mut memory).await?;
    let is_replay = is_replay(shared, plan.repeats, idempotency.as_ref()).await;
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
    let written = reply.written.map(|project| project.to_string()).or(written);
    let mut response = reply.into_response(plan.status, plan.media);
    if is_read {
        return demanded.answer(response);
    }
    response = with_sequence(shared, written, response).await;
    if let Some((name, hash)) = hash
        && let Some(fingerprint) = hash.fingerprint()
    {
        response = repeats::keep_answer(&shared.state, name, fingerprint, response).await?;
    }
    if is_replay {
        response.headers_mut().insert(repeats::REPLAYED, repeats::IS_REPLAYED);
    }
    Ok(response)
}

/// The body of a request whose answer will be kept; or the answer, if it was kept before.
async fn begin_once<S: Service>(
    shared: &Shared<S>,
    plan: &Plan<S>,
    name: [u8; 32],
    parts: &Parts,
    mut body: Body,
) -> Result<Result<(Body, BodyHash), Response>, Error> {
    let is_read = plan.presence != Presence::None;
    let sent = is_read.then_some(&mut body);
    if let Some(kept) = repeats::kept_answer(&shared.state, name, parts, sent, &shared.limits).await? {
        return Ok(Err(kept));
    }
    let (hash, body) = BodyHash::over(parts, body, is_read);
    Ok(Ok((body, hash)))
}

/// Whether the endpoint will give an answer again that it kept together with its work.
async fn is_replay<S: Service>(shared: &Shared<S>, repeats: Repeats, once: Option<&Idempotency>) -> bool {
    match once {
        Some(Idempotency { name, fingerprint }) if repeats == Repeats::WithWork => {
            matches!(shared.state.recall(*name, *fingerprint).await, Ok(Some(_)))
        }
        _ => false,
    }
}

/// An answer to a write on this project, with the number that counts it in.
async fn with_sequence<S: Service>(
    shared: &Shared<S>,
    project: Option<String>,
    mut response: Response,
) -> Response {
    if let Some(project) = project
        && let Some(seq) = shared.state.sequence(&project).await
    {
        response.headers_mut().insert(SEQUENCE, seq.into());
    }
    response
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
        CalledBy::note_team(&parts.extensions, team);
        let caller = Uuid::from_u128(team).to_string();
        count(standing, rate_limiters.webhook.as_ref().map(|buckets| buckets.take(caller)))?;
        return Ok(Admitted { principal: None, tenant: Tenant::team(team) });
    }
    if access == Access::Hook {
        let named = |name: &str| captured.get(name).and_then(Value::as_str).unwrap_or_default();
        let team = match shared.state.hook_team(named("projectId"), named("secret")).await {
            Ok(team) => team,
            Err(error) => {
                if error.status() == StatusCode::NOT_FOUND {
                    count(standing, rate_limiters.auth_failure(client))?;
                }
                return Err(error);
            }
        };
        CalledBy::note_team(&parts.extensions, team);
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
        Some(RateKey { key, team }) => {
            CalledBy::note_key(&parts.extensions, team, key);
            rate_limiters.key_and_team(key, team)
        }
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
    let query = parts.uri.query().filter(|_| !plan.access.is_inbound());
    let bound = (plan.bind)(Value::Object(captured), plan.checks.get()?.query.read(query));
    match (bound, repeats::sent_key(plan.repeats, parts)) {
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
    plan: &Plan<S>,
    mut body: Body,
    parts: &Parts,
    name: Option<[u8; 32]>,
    accept: Accept<S>,
    memory: &mut Reservation,
) -> Result<(Run<S>, Option<Idempotency>), Error> {
    let text = match plan.presence {
        Presence::Streamed => {
            memory.grow_to(STREAMED_BYTES)?;
            return Ok((accept(Content::Stream(body))?, None));
        }
        Presence::Whole => {
            let bytes_max = plan.body_limit.bytes_max(&shared.limits);
            let bytes =
                body::read_bytes(&parts.headers, &mut body, bytes_max, &shared.limits, memory).await?;
            return Ok((accept(Content::Bytes(bytes))?, None));
        }
        Presence::None => String::new(),
        Presence::Optional | Presence::Required => {
            let bytes_max = plan.body_limit.bytes_max(&shared.limits);
            body::read(&parts.headers, &mut body, bytes_max, &shared.limits, memory).await?
        }
    };
    off_async(text.len(), || {
        let idempotency =
            name.map(|name| Idempotency { name, fingerprint: repeats::fingerprint(parts, &text) });
        check_body(plan.checks.get()?, plan.presence, &text, &shared.limits)?;
        Ok((accept(Content::Text(text))?, idempotency))
    })
}

fn check_body(checks: &Checks, presence: Presence, text: &str, limits: &Limits) -> Result<(), Error> {
    if text.is_empty() {
        return match presence {
            Presence::Required => Err(Error::offence("", "a JSON body is required")),
            Presence::None | Presence::Optional | Presence::Streamed | Presence::Whole => Ok(()),
        };
    }
    let Some(checker) = &checks.body else { return Ok(()) };
    let part_bytes_max = usize::try_from(limits.cell_bytes_max).unwrap_or(usize::MAX).max(PART_BYTES_MIN);
    let parsed = bounded_json::parse_noting_twins(text, Bounds { counts: &checks.counts, part_bytes_max });
    let (value, twins) = parsed.map_err(refused)?;
    let mut offences: Vec<_> = twins.into_iter().map(|path| Offence::new(path, "is given twice")).collect();
    // The parsed value is dropped before the typed body is made, so that there are never both.
    offences.extend(checker.offences(value, text.len()));
    offences.truncate(OFFENCES_MAX);
    if offences.is_empty() { Ok(()) } else { Err(Error::offences(offences)) }
}

fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::NotJson(error) => not_json(&error),
        limit => rowmill_app::Error::limit(limit.field(), limit.to_string()).into(),
    }
}
