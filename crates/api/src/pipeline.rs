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
use rowmill_app::{knowing, off_async};
use rowmill_fairness::{KeyedMutex, Tenant};
use rowmill_model::{Limits, Offence, Scopes};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::answer::{Media, Reply};
use crate::answer_memory::AnswerMemory;
use crate::body;
use crate::body_check::{CheckedBody, check_body};
use crate::body_limit::BodyLimit;
use crate::checks::LazyChecks;
use crate::definition::{Accept, Bind, Content, Rejected, Run};
use crate::deprecation::Deprecation;
use crate::endpoint::{Access, Call, Head, Idempotency, Principal as _, RateKey, Repeats, SEQUENCE, Service};
use crate::error::Error;
use crate::etag::Preconditions;
use crate::layers::RequestId;
use crate::payload::Presence;
use crate::rate_limits::{RateLimitStatus, RateLimiters, Rates, client_of};
use crate::repeats::{self, BodyHash};
use crate::request_log::CalledBy;
use crate::request_memory::{RequestMemory, Reservation};

/// What an import holds of its file at a time.
const STREAMED_BYTES: usize = 4 * 1024 * 1024;

/// What all requests share.
pub(crate) struct Shared<S> {
    pub state: S,
    pub limits: Arc<Limits>,
    pub rates: Arc<Rates>,
    pub rate_limiters: RateLimiters,
    pub memory: Arc<RequestMemory>,
    pub answers: Arc<AnswerMemory>,
    /// By the names of requests with an idempotency key that are being carried out.
    pub repeats: KeyedMutex<[u8; 32]>,
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
    /// Whether the endpoint is asked what else is wrong with a request that is wrong.
    pub checks_rest: bool,
    /// Whether the endpoint decides itself what it does with a disabled project.
    pub takes_disabled: bool,
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
    let project = captured.get("projectId").and_then(Value::as_str).map(str::to_owned);
    let caller = principal.clone();
    // From here on, whatever is scarce is shared out between teams.
    let work = async {
        let mut has_begun = false;
        let arrived = Arrived { parts, body, client, captured, principal };
        let done = carry_out(shared, plan, arrived, project.as_deref(), request_id, &mut has_begun).await;
        let Err(error) = done else { return done };
        // That the project cannot be used comes before what is wrong with a request. Most find out by themselves.
        let is_asked = error.is_of_content() && !(plan.takes_disabled && has_begun);
        if let (Some(caller), Some(project), true) = (caller, project, is_asked) {
            shared.state.check_project(&caller, &project).await?;
        }
        Err(error)
    };
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
    project: Option<&str>,
    request_id: &Arc<str>,
    has_begun: &mut bool,
) -> Result<Response, Error> {
    let Arrived { parts, body, client, captured, principal } = arrived;
    let written = project.filter(|_| !parts.method.is_safe()).map(str::to_owned);
    Preconditions::check_length(&parts.headers)?;
    let demanded = Preconditions::of(&parts.headers);
    if principal.is_some() && !parts.method.is_safe() && !plan.takes_tag {
        demanded.check_none_is_lost()?;
    }
    let is_read = parts.method.is_safe();
    let Params { accept, key, wrong: mut known } = accept_params(plan, captured, &parts)?;
    let team = principal.as_ref().and_then(S::Principal::rate_key).map(|RateKey { team, .. }| team);
    let name = key.zip(team).map(|(key, team)| repeats::name_of(team, &parts.uri, &key));
    // Who sends the same request at once waits for the answer to the first.
    let _turn = match name {
        Some(name) => Some(shared.repeats.lock(name).await),
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
    let accepted = accept_body(shared, plan, body, &parts, name, accept, &mut memory).await;
    let Accepted { run, idempotency, wrong } = accepted.map_err(|error| error.among(known.clone()))?;
    known.extend(wrong);
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
    *has_begun = true;
    let reply = answer_of(run, call, known).await?.admitted(&shared.answers, is_read).await?;
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

/// What a request says beside its body.
struct Params<S: Service> {
    accept: Accept<S>,
    key: Option<String>,
    /// What is wrong with them, where the rest is checked all the same.
    wrong: Vec<Offence>,
}

/// The path, the query and the idempotency key. The offences of query and key are told together.
fn accept_params<S: Service>(
    plan: &Plan<S>,
    captured: Map<String, Value>,
    parts: &Parts,
) -> Result<Params<S>, Error> {
    // Who sends a webhook may add parameters of its own to the address it was given.
    let query = parts.uri.query().filter(|_| !plan.access.is_inbound());
    let mut wrong = Vec::new();
    let query = plan.checks.get()?.query.read(query).or_else(|refused| {
        wrong = refused.offences;
        // What is right of it, so that the path and the body can be read.
        refused.rest.filter(|_| plan.checks_rest).ok_or_else(|| std::mem::take(&mut wrong))
    });
    let (bound, key) = ((plan.bind)(Value::Object(captured), query), repeats::sent_key(plan.repeats, parts));
    let key = key.map_err(|offence| wrong.push(offence)).unwrap_or_default();
    match bound {
        Err(Rejected::Path) => Err(Error::UnknownPath),
        Err(Rejected::Query(mut offences)) => {
            offences.append(&mut wrong);
            Err(Error::offences(offences))
        }
        Ok(_) if !wrong.is_empty() && !plan.checks_rest => Err(Error::offences(wrong)),
        Ok(accept) => Ok(Params { accept, key, wrong }),
    }
}

/// A request that can be carried out; or, if something is wrong with its body, checked further.
struct Accepted<S: Service> {
    run: Run<S>,
    idempotency: Option<Idempotency>,
    wrong: Vec<Offence>,
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
) -> Result<Accepted<S>, Error> {
    let text = match plan.presence {
        Presence::Streamed => {
            memory.grow_to(STREAMED_BYTES)?;
            return Ok(Accepted {
                run: accept(Content::Stream(body))?,
                idempotency: None,
                wrong: Vec::new(),
            });
        }
        Presence::Whole => {
            let bytes_max = plan.body_limit.bytes_max(&shared.limits);
            let bytes =
                body::read_bytes(&parts.headers, &mut body, bytes_max, &shared.limits, memory).await?;
            return Ok(Accepted {
                run: accept(Content::Bytes(bytes))?,
                idempotency: None,
                wrong: Vec::new(),
            });
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
        let (checks, limits) = (plan.checks.get()?, &*shared.limits);
        let checked = check_body(checks, plan.presence, text, limits, plan.checks_rest)?;
        let CheckedBody { text, wrong } = checked;
        Ok(Accepted { run: accept(Content::Text(text))?, idempotency, wrong })
    })
}

/// What the endpoint answers. Of a request of which something is known to be wrong it finds out what else is.
async fn answer_of<S: Service>(run: Run<S>, call: Call<S>, known: Vec<Offence>) -> Result<Reply, Error> {
    if known.is_empty() {
        return run(call).await;
    }
    let call = Call { idempotency: None, ..call };
    let more = knowing(&known, run(call)).await.err();
    Err(more.unwrap_or_else(|| Error::offences(Vec::new())).among(known))
}
