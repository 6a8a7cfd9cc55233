//! What every request gets, whatever it asks for: an id, a log line, its measurements, an answer even
//! after a panic, compression, and CORS where it is set.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::header::{HeaderName, HeaderValue};
use axum::http::{Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_telemetry::TraceContext;
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};
use tower_http::cors::{AllowOrigin, Any as AnyValue, CorsLayer};
use uuid::Uuid;

use crate::endpoint::SEQUENCE;
use crate::error::Error;
use crate::rate_limits;
use crate::request_log::{CalledBy, Correspondent, RequestLine};
use crate::request_trace::RequestTrace;
use crate::trusted_proxies::{ArrivedOverTls, FORWARDED_PROTO, Forwarded, TrustedProxies};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID_CHARS_MAX: usize = 128;

/// Below this an answer fits one packet anyway.
const COMPRESSED_BYTES_MIN: u64 = 860;

/// Which pages of other origins may call the API from a browser.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cors {
    #[default]
    Off,
    Any,
    Origins(Vec<HeaderValue>),
}

impl Cors {
    /// `""` is off, `"*"` any, else origins separated by commas.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" => Ok(Self::Off),
            "*" => Ok(Self::Any),
            origins => origins
                .split(',')
                .map(|origin| origin_of(origin.trim()))
                .collect::<Result<_, _>>()
                .map(Self::Origins),
        }
    }
}

impl Cors {
    /// The origins that may call; `*` is any.
    pub(crate) fn origins(&self) -> Vec<String> {
        match self {
            Self::Off => Vec::new(),
            Self::Any => vec!["*".to_owned()],
            Self::Origins(origins) => {
                origins.iter().filter_map(|origin| Some(origin.to_str().ok()?.to_owned())).collect()
            }
        }
    }
}

fn origin_of(text: &str) -> Result<HeaderValue, String> {
    let fault = || format!("{text:?} is not an origin; write it as https://app.example, without a path");
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).ok_or_else(fault)?;
    if host.is_empty() || host.contains(['/', '*', ' ']) {
        return Err(fault());
    }
    HeaderValue::from_str(text).map_err(|_| fault())
}

/// The id of a request, in its extensions.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(Arc<str>);

impl RequestId {
    pub(crate) fn of(request: &Request) -> Arc<str> {
        request.extensions().get::<Self>().map_or_else(|| Arc::from(""), |id| Arc::clone(&id.0))
    }
}

/// How a request gets its id, and its client's address.
#[derive(Clone)]
pub(crate) struct Arrival {
    pub ids: Arc<dyn Fn() -> Uuid + Send + Sync>,
    pub trusted_proxies: Arc<TrustedProxies>,
}

/// Compression is outermost, so that sizes are logged as they were made. All layers are one for the router: each layer of
/// its own would cost every request several allocations.
pub(crate) fn wrap(router: Router, cors: &Cors, arrival: Arrival) -> Router {
    let worthwhile =
        SizeAbove::new(COMPRESSED_BYTES_MIN).and(NotForContentType::SSE).and(NotForContentType::IMAGES);
    let layers = ServiceBuilder::new()
        .map_request(keep_plain_acceptable)
        .layer(CompressionLayer::new().compress_when(worthwhile))
        .layer(from_fn_with_state(arrival, observe))
        .option_layer(cors_layer(cors))
        .layer(CatchPanicLayer::custom(mark_panic));
    router.layer(layers)
}

/// Leaves out what is said of `identity` and `*`: plain bytes are always a possible answer, which RFC 9110 allows. The layer that
/// compresses would otherwise turn an answer that nobody accepts into a 406, after the request was done.
fn keep_plain_acceptable(mut request: Request) -> Request {
    let sent =
        request.headers().get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let is_named = |coding: &&str| {
        let name = coding.split(';').next().unwrap_or_default().trim();
        !name.eq_ignore_ascii_case("identity") && name != "*"
    };
    let (named, others): (Vec<&str>, Vec<&str>) =
        sent.flat_map(|value| value.split(',')).partition(|coding| is_named(coding));
    if !others.is_empty() {
        let named = HeaderValue::from_str(&named.join(","));
        request.headers_mut().remove(header::ACCEPT_ENCODING);
        if let Some(named) = named.ok().filter(|named| !named.is_empty()) {
            request.headers_mut().insert(header::ACCEPT_ENCODING, named);
        }
    }
    request
}

async fn observe(State(arrival): State<Arrival>, mut request: Request, next: Next) -> Response {
    let id = sent_id(&request).unwrap_or_else(|| Arc::from((arrival.ids)().to_string()));
    let client = resolve_client(&arrival.trusted_proxies, &mut request);
    let method = method_name(request.method());
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("unmatched".into(), |path| Arc::<str>::from(path.as_str()));
    request.extensions_mut().insert(RequestId(Arc::clone(&id)));
    let called_by = CalledBy::begin(&mut request);
    let correspondent = Correspondent { client, called_by: called_by.clone() };
    let trace = RequestTrace::begin(&request, method, &route);
    let trace_id = trace.trace_id();
    let line = RequestLine { id, client, method, route, called_by, trace_id };

    let in_flight = InFlight::begin();
    let start = SystemClock.monotonic();
    let mut response = correspondent.scope(TraceContext::scope(trace.context(), next.run(request))).await;
    let took = SystemClock.monotonic().saturating_duration_since(start);
    drop(in_flight);

    if let Some(Panicked(message)) = response.extensions_mut().remove() {
        response = Error::Panicked(message).respond(&line.id);
    }
    if let Ok(value) = HeaderValue::from_str(&line.id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    line.write(&response, took);
    measure(&line, &response, took);
    trace.end(response.status(), line.called_by.team());
    response
}

/// From here on the client's address is the one that trusted proxies tell, and there is nothing in the headers that
/// others made up.
fn resolve_client(trusted_proxies: &TrustedProxies, request: &mut Request) -> IpAddr {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| *peer);
    let peer = peer.unwrap_or_else(|| SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0));
    if TrustedProxies::is_forwarded(request.headers()) {
        request.extensions_mut().insert(Forwarded);
    }
    let client = trusted_proxies.resolve(peer.ip(), request.headers_mut());
    // What a trusted proxy tells beats what is seen here: it is nearer to the client.
    if request.extensions().get::<ArrivedOverTls>().is_some()
        && !request.headers().contains_key(FORWARDED_PROTO)
    {
        request.headers_mut().insert(FORWARDED_PROTO, HeaderValue::from_static("https"));
    }
    request.extensions_mut().insert(ConnectInfo(SocketAddr::new(client, peer.port())));
    client
}

/// The caller's own id, if it is one that can stand in a log.
fn sent_id(request: &Request) -> Option<Arc<str>> {
    let text = request.headers().get(REQUEST_ID)?.to_str().ok()?;
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_id = (1..=REQUEST_ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_fit);
    is_id.then(|| Arc::from(text))
}

fn measure(line: &RequestLine, response: &Response, took: Duration) {
    let labels = [
        ("method", metrics::SharedString::const_str(line.method)),
        ("route", metrics::SharedString::from(Arc::clone(&line.route))),
        ("status", metrics::SharedString::from(response.status().as_u16().to_string())),
    ];
    metrics::counter!("rowmill_http_requests_total", &labels).increment(1);
    metrics::histogram!("rowmill_http_request_seconds", &labels).record(took);
}

/// A label must not grow with what callers make up.
fn method_name(method: &Method) -> &'static str {
    let known = [
        (Method::GET, "GET"),
        (Method::POST, "POST"),
        (Method::PATCH, "PATCH"),
        (Method::PUT, "PUT"),
        (Method::DELETE, "DELETE"),
        (Method::HEAD, "HEAD"),
        (Method::OPTIONS, "OPTIONS"),
    ];
    known.iter().find(|(known, _)| known == method).map_or("OTHER", |(_, name)| name)
}

/// Counts a request as in flight until it is dropped, which also happens when its client goes away.
struct InFlight;

impl InFlight {
    fn begin() -> Self {
        metrics::gauge!("rowmill_http_requests_in_flight").increment(1);
        Self
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        metrics::gauge!("rowmill_http_requests_in_flight").decrement(1);
    }
}

/// On its way out to [`observe`], which knows the request id.
#[derive(Clone)]
struct Panicked(String);

#[expect(clippy::needless_pass_by_value, reason = "the signature is tower-http's")]
fn mark_panic(cause: Box<dyn Any + Send>) -> Response {
    let message = match (cause.downcast_ref::<String>(), cause.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (None, Some(text)) => (*text).to_owned(),
        (None, None) => "a panic without a message".to_owned(),
    };
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(Panicked(message));
    response
}

fn cors_layer(cors: &Cors) -> Option<CorsLayer> {
    let origin = match cors {
        Cors::Off => return None,
        Cors::Any => AllowOrigin::from(AnyValue),
        Cors::Origins(origins) => AllowOrigin::list(origins.iter().cloned()),
    };
    let methods = [Method::GET, Method::POST, Method::PATCH, Method::PUT, Method::DELETE];
    let key = HeaderName::from_static("idempotency-key");
    let sequence = HeaderName::from_bytes(SEQUENCE.as_bytes()).ok();
    // The last three are an agent's that runs in a browser.
    let agents = ["mcp-protocol-version", "mcp-method", "mcp-name"].map(HeaderName::from_static);
    let sent = [
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        key,
        REQUEST_ID,
    ];
    let sent: Vec<_> = sent.into_iter().chain(agents).chain(sequence.clone()).collect();
    let read = [
        REQUEST_ID,
        rate_limits::LIMIT,
        rate_limits::REMAINING,
        rate_limits::RESET,
        header::RETRY_AFTER,
        header::ETAG,
        header::LINK,
        HeaderName::from_static("deprecation"),
        HeaderName::from_static("idempotent-replayed"),
    ];
    let read: Vec<_> = read.into_iter().chain(sequence).collect();
    let layer =
        CorsLayer::new().allow_origin(origin).allow_methods(methods).allow_headers(sent).expose_headers(read);
    Some(layer.max_age(Duration::from_hours(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_a_list() {
        assert_eq!(Cors::parse(""), Ok(Cors::Off));
        assert_eq!(Cors::parse("*"), Ok(Cors::Any));
        let two = vec![
            HeaderValue::from_static("https://a.example"),
            HeaderValue::from_static("http://b.example:81"),
        ];
        assert_eq!(Cors::parse("https://a.example, http://b.example:81"), Ok(Cors::Origins(two)));
        for wrong in ["a.example", "https://a.example/", "https://*.example", "https://a.example,"] {
            assert!(Cors::parse(wrong).is_err(), "{wrong}");
        }
    }
}
