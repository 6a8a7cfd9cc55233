//! `/mcp`: the Model Context Protocol for agents, behind the same checks as every operation.
//!
//! Not in the document: it is one address that takes JSON-RPC. What is said there is the crate `mcp`'s.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, VARY, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use http_body_util::Full;
use rowmill_app::{Error as AppError, off_async};
use rowmill_mcp::{Call, ForeignHost, Hosts, Mcp};
use rowmill_model::bounded_json::{self, Bounds, Refusal};
use rowmill_model::nearest::nearest;
use rowmill_model::value::quote_long_numbers;
use rowmill_telemetry::TraceContext;
use serde_json::{Map, json};

use crate::api::Settings;
use crate::body;
use crate::body_limit::BytesMax;
use crate::endpoint::Access;
use crate::error::Error;
use crate::layers::RequestId;
use crate::pipeline::{Admitted, Shared, admit, client_address};
use crate::public_url::PublicUrl;
use crate::rate_limits::RateLimitStatus;
use crate::state::ApiState;

const PATH: &str = "/mcp";
/// RFC 9728: what a client should know of a resource that wants a token.
const METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
const METADATA_SHORT: &str = "/.well-known/oauth-protected-resource";

/// Five hundred rows of ordinary size fit well.
const BODY_BYTES_MAX: u32 = 8 * 1024 * 1024;

/// The protocol's server, and by which names it may be called.
#[derive(Debug, Clone)]
pub(super) struct Agents {
    mcp: Mcp,
    hosts: Arc<Hosts>,
}

impl Agents {
    pub(super) fn new(state: &ApiState, settings: &Settings) -> Self {
        let hosts =
            Hosts { public: state.public_host().map(str::to_owned), origins: settings.cors.origins() };
        let mcp = Mcp::new(Arc::clone(state.shared_app()), Arc::clone(&settings.clock));
        Self { mcp, hosts: Arc::new(hosts) }
    }
}

#[derive(Clone)]
struct Endpoint {
    shared: Arc<Shared<ApiState>>,
    agents: Agents,
}

pub(super) fn routes(shared: Arc<Shared<ApiState>>, agents: Agents) -> Router {
    Router::new()
        .route(PATH, post(serve))
        .route(METADATA, get(metadata))
        .route(METADATA_SHORT, get(metadata))
        .with_state(Endpoint { shared, agents })
}

async fn serve(State(endpoint): State<Endpoint>, request: Request) -> Response {
    let request_id = RequestId::of(&request);
    let reached = endpoint.shared.state.reached(request.headers());
    let mut standing = None;
    let mut response = match attempt(&endpoint, request, &request_id, &mut standing).await {
        Ok(response) => response,
        Err(error) => refuse(error, &request_id, &reached),
    };
    if let Some(standing) = standing {
        standing.write_headers(response.headers_mut());
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

async fn attempt(
    endpoint: &Endpoint,
    request: Request,
    request_id: &Arc<str>,
    standing: &mut Option<RateLimitStatus>,
) -> Result<Response, Error> {
    let Endpoint { shared, agents } = endpoint;
    let (parts, body) = request.into_parts();
    let header = |name| parts.headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    agents.hosts.check(header(HOST), header(ORIGIN)).map_err(|foreign| {
        let ForeignHost { header, value } = foreign;
        Error::ForeignHost { header, value }
    })?;
    let client = client_address(&parts);
    let Admitted { principal, tenant } =
        admit(shared, Access::Key, &parts, client, &Map::new(), standing).await?;
    let caller = principal.ok_or(AppError::Unauthenticated)?;
    let work = async {
        let read_only = read_only(parts.uri.query())?;
        let is_json_type = is_json_type(&parts.headers);
        let (parts, text, held) = read(shared, parts, body).await?;
        let message = off_async(text.len(), || weigh(&text))?;
        let call = Call {
            caller,
            base_url: shared.state.reached(&parts.headers).base_url(),
            read_only,
            request_id: Arc::clone(request_id),
            trace: TraceContext::current(),
            text: Arc::clone(&text),
            held,
        };
        // The protocol's library would round long numbers.
        let sent = quote_long_numbers(&text).into_owned();
        let mut request = axum::http::Request::from_parts(parts, Full::from(sent));
        request.extensions_mut().insert(call);
        let response = agents.mcp.answer(request).await.map(Body::new);
        // The library takes a message that it cannot read for one of another type.
        let is_unread = response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_json_type;
        Ok(if is_unread { unread(&message) } else { response })
    };
    tenant.scope(work).await
}

/// The message. What it takes of the memory for requests is held for as long as anybody works on it.
async fn read(
    shared: &Shared<ApiState>,
    parts: Parts,
    mut body: Body,
) -> Result<(Parts, Arc<str>, Arc<crate::request_memory::Reservation>), Error> {
    let bytes_max =
        BytesMax { number: shared.limits.body_bytes_max.min(BODY_BYTES_MAX), name: "bodyBytesMax" };
    let mut memory = shared.memory.reserve();
    let text = body::read(&parts.headers, &mut body, bytes_max, &shared.limits, &mut memory).await?;
    // The text is kept beside what is made of it.
    memory.grow_to(text.len().saturating_mul(2))?;
    Ok((parts, Arc::from(text), Arc::new(memory)))
}

/// What a message is.
#[derive(Debug)]
enum Message {
    Json,
    NotJson(String),
}

/// Refuses a message that would take too much memory: the protocol's library parses without bounds.
fn weigh(text: &str) -> Result<Message, Error> {
    match bounded_json::parse(text, Bounds { counts: &[], part_bytes_max: usize::MAX }) {
        Ok(_) => Ok(Message::Json),
        Err(not_json @ Refusal::NotJson(_)) => Ok(Message::NotJson(not_json.to_string())),
        Err(limit) => Err(AppError::limit(limit.field(), limit.to_string()).into()),
    }
}

/// Whether the protocol's library takes the type of the body.
fn is_json_type(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.starts_with("application/json"))
}

/// The protocol's error for what is no message of it.
fn unread(message: &Message) -> Response {
    let (code, words) = match message {
        Message::NotJson(why) => (-32_700, format!("Parse error: {why}")),
        Message::Json => {
            let words = "Invalid Request: the body must be one JSON-RPC 2.0 request or notification, with jsonrpc and method";
            (-32_600, words.to_owned())
        }
    };
    let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": words } });
    let mut response = Response::new(Body::from(error.to_string()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Whether only tools that read are wanted. A parameter that is misspelt must not open the others.
fn read_only(query: Option<&str>) -> Result<bool, Error> {
    const NAME: &str = "read_only";
    let mut read_only = false;
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
        read_only = match (name, value) {
            (NAME, "true" | "1") => true,
            // Where it is said twice, the safer one holds.
            (NAME, "false" | "0") => read_only,
            (NAME, _) => return Err(Error::offence(NAME, "must be true or false")),
            (other, _) => {
                let other: String = other.chars().take(100).collect();
                let hint = nearest(&other, [NAME])
                    .map_or("read_only is the only one", |_| "did you mean read_only?");
                return Err(Error::offence(other, format!("is not a known parameter; {hint}")));
            }
        };
    }
    Ok(read_only)
}

/// Clients of this protocol expect 401 for a key that is wrong, too (RFC 6750).
fn refuse(error: Error, request_id: &str, reached: &PublicUrl) -> Response {
    let is_wrong_key = matches!(error, Error::App(AppError::InvalidKey | AppError::KeyExpired(_)));
    let mut response = error.respond(request_id);
    if is_wrong_key {
        *response.status_mut() = StatusCode::UNAUTHORIZED;
    }
    if response.status() == StatusCode::UNAUTHORIZED {
        let wrong = if is_wrong_key { ", error=\"invalid_token\"" } else { "" };
        let url = format!("{}{METADATA}", reached.base_url());
        let challenge = format!("Bearer realm=\"Rowmill\", resource_metadata=\"{url}\"{wrong}");
        let challenge = HeaderValue::from_str(&challenge).unwrap_or(HeaderValue::from_static("Bearer"));
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

/// What the resource is and how it wants its token. It names no authorization server, because there is none: keys are
/// made on the page.
async fn metadata(State(endpoint): State<Endpoint>, headers: HeaderMap) -> Response {
    let base = endpoint.shared.state.reached(&headers).base_url();
    let metadata = json!({
        "resource": format!("{base}{PATH}"),
        "resource_name": "Rowmill",
        "bearer_methods_supported": ["header"],
        "resource_documentation": format!("{base}/docs"),
    });
    let mut response = Response::new(Body::from(metadata.to_string()));
    let fixed = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-cache"), (VARY, PublicUrl::VARY)];
    response.headers_mut().extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_parameter_opens_nothing() {
        let check = |query: Option<&str>, expected: Option<bool>| {
            assert_eq!(read_only(query).ok(), expected, "{query:?}");
        };
        check(None, Some(false));
        check(Some(""), Some(false));
        check(Some("read_only=true"), Some(true));
        check(Some("read_only"), Some(true));
        check(Some("read_only=0"), Some(false));
        for wrong in ["readonly=true", "read_only=yes", "read_only=true&x=1"] {
            check(Some(wrong), None);
        }
    }
}
