//! The paths beside the API: the document, the pages that show it, health and metrics. No API key, no limit.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, Response, StatusCode};
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::answer::render;
use crate::definition::OwnHeaders;
use crate::description::Description;
use crate::docs;
use crate::endpoint::{Access, Examples, Repeats, RequestHeader, Service};
use crate::error::Error;
use crate::layers::{REQUEST_ID, RequestId};
use crate::measure::Metrics;
use crate::openapi::{AnswerSpec, Operation, Tag};
use crate::schema::{Schemas, TypeSchema};

const READY: &str = "/readyz";
const METRICS: &str = "/metrics";
/// What these paths are listed under.
pub(crate) const TAG: Tag =
    Tag { name: "Server", description: "API description, health and metrics. No API key required." };

/// A store that has not answered by then is not there for whoever asks: a balancer wants to know soon.
const READY_MAX: Duration = Duration::from_secs(2);

/// The health of the server.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Health {
    /// The status of the server.
    #[schemars(extend("enum" = ["ok"]))]
    status: &'static str,
}

/// An OpenAPI document.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what is written by hand")]
struct OpenApiDocument {
    #[schemars(extend("enum" = ["3.0.3"]))]
    openapi: String,
    info: Map<String, Value>,
    paths: Map<String, Value>,
}

/// These paths in the document.
pub(crate) fn operations(schemas: &mut Schemas) -> [Operation; 5] {
    let text = |media_type| AnswerSpec {
        media_type,
        media_type_also: None,
        schema: json!({ "type": "string", "maxLength": 67_108_864, "pattern": "^[^\\u0000]*$" }),
        is_enveloped: false,
    };
    let document = schemas.answer(TypeSchema::of::<OpenApiDocument>());
    let health = Some(json!({ "status": "ok" }));
    [
        operation(
            "/openapi.json",
            "getOpenApi",
            "Get the API description",
            "This document: OpenAPI 3.0.3, as JSON.",
            AnswerSpec {
                media_type: "application/json",
                media_type_also: None,
                schema: document,
                is_enveloped: false,
            },
            None,
        ),
        operation(
            "/docs",
            "getDocs",
            "Read the API description",
            "This document as a web page.",
            text("text/html; charset=utf-8"),
            None,
        ),
        operation(
            "/healthz",
            "getHealth",
            "Check that the server is up",
            "Returns 200 while the process runs, even if the database is unavailable.",
            AnswerSpec::enveloped(schemas.answer(TypeSchema::of::<Health>())),
            health.clone(),
        ),
        operation(
            READY,
            "getReadiness",
            "Check that the server is ready",
            "Returns 200 if the database is available. Returns 503 if it is not, if its disk is full \
             (`storage_full`) or fails (`storage_failed`), or while the server is shutting down; do not send \
             requests then.",
            AnswerSpec::enveloped(schemas.answer(TypeSchema::of::<Health>())),
            health,
        ),
        operation(
            METRICS,
            "getMetrics",
            "Get metrics",
            "Metrics in the Prometheus text format. Send the token that the operator set with `--metrics-token` as \
             `Authorization: Bearer`. Without that setting metrics are for requests from the machine itself.",
            text("text/plain; version=0.0.4"),
            None,
        ),
    ]
}

fn operation(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    description: &'static str,
    answer: AnswerSpec,
    example: Option<Value>,
) -> Operation {
    let is_fixed = matches!(path, "/openapi.json" | "/docs");
    let mut statuses = vec![StatusCode::OK];
    if is_fixed {
        statuses.push(StatusCode::NOT_MODIFIED);
    }
    Operation {
        reads_rows: false,
        request_headers: if is_fixed { &[RequestHeader::IfNoneMatch] } else { &[] },
        answer_headers: if is_fixed { &["ETag", "Cache-Control"] } else { &[] },
        headers: OwnHeaders::default(),
        // Health and metrics are answered though connections are at their limit.
        may_be_unavailable: path == READY || !is_health(path),
        needs_token: path == METRICS,
        method: Method::GET,
        repeats: Repeats::Freely,
        path: path.to_owned(),
        id: id.to_owned(),
        tag: TAG.name.to_owned(),
        summary,
        description,
        access: Access::Open,
        scopes: rowmill_model::Scopes::NONE,
        statuses,
        path_params: Vec::new(),
        query_params: Vec::new(),
        body: None,
        answer,
        examples: Examples { body: None, answer: example },
    }
}

pub(crate) fn routes<S: Service>(state: S, description: Description<S>, metrics: Option<Metrics>) -> Router {
    let files = docs::files(&description.tags);
    let json = move || Fixed::new("application/json", document_text(&description), None);
    let json = Arc::new(LazyLock::new(json));
    let parsed = |json: &Fixed| serde_json::from_slice::<Value>(&json.bytes).unwrap_or_default();
    let searched = Arc::clone(&json);
    let search = Arc::new(LazyLock::new(move || docs::Search::new(&parsed(&searched))));
    let mut router = Router::new()
        .route(docs::SEARCH_PATH, get(move |request: Request| async move { found(&search, &request) }));
    for file in files {
        let (path, json) = (file.path.clone(), Arc::clone(&json));
        let file = Arc::new(LazyLock::new(move || Fixed::from(file.make(&parsed(&json)))));
        router = router.route(&path, get(move |headers: HeaderMap| async move { file.answer(&headers) }));
    }
    let router =
        router.route("/openapi.json", get(move |headers: HeaderMap| async move { json.answer(&headers) }));
    router.merge(health_routes(state, metrics))
}

/// The document as JSON. Mistakes in the definitions are the program's, and its tests find them.
fn document_text<S: Service>(description: &Description<S>) -> String {
    let document = description.document().inspect_err(|fault| tracing::error!(%fault, "no OpenAPI document"));
    document.unwrap_or_default().to_string()
}

fn found(search: &docs::Search, request: &Request) -> Response<Body> {
    Fixed::from(search.answer(request.uri().query().unwrap_or_default())).answer(request.headers())
}

/// Whether a path is answered though connections are at their limit.
pub fn is_health(path: &str) -> bool {
    matches!(path, "/healthz" | READY | METRICS)
}

/// What everybody else is told then.
pub fn too_many_connections(request_id: &str) -> Response<Body> {
    refused_connection(Error::TooManyConnections, request_id)
}

/// The answer to a request that never reaches the service.
pub fn refused_connection(error: Error, request_id: &str) -> Response<Body> {
    let mut response = error.respond(request_id);
    response.headers_mut().extend(HeaderValue::from_str(request_id).ok().map(|id| (REQUEST_ID, id)));
    response
}

pub(crate) fn health_routes<S: Service>(state: S, metrics: Option<Metrics>) -> Router {
    Router::new()
        .route("/healthz", get(|request: Request| async move { healthy(&request) }))
        .route(READY, get(ready::<S>).with_state(state))
        .route(METRICS, get(move |request: Request| async move { measured(metrics.as_ref(), request).await }))
}

fn healthy(request: &Request) -> Response<Body> {
    match render(&Health { status: "ok" }) {
        Ok(bytes) => typed("application/json", Body::from(bytes)),
        Err(error) => error.respond(&RequestId::of(request)),
    }
}

async fn ready<S: Service>(State(state): State<S>, request: Request) -> Response<Body> {
    let Ok(ready) = tokio::time::timeout(READY_MAX, state.ready()).await else {
        return Error::NotReady(None).respond(&RequestId::of(&request));
    };
    match ready {
        Ok(()) => healthy(&request),
        Err(error @ Error::App(rowmill_app::Error::Stopping)) => error.respond(&RequestId::of(&request)),
        Err(Error::App(
            error @ (rowmill_app::Error::StorageFull(_) | rowmill_app::Error::StorageFailed(_)),
        )) => Error::CannotWrite(error).respond(&RequestId::of(&request)),
        Err(error) => Error::NotReady(Some(Box::new(error))).respond(&RequestId::of(&request)),
    }
}

async fn measured(metrics: Option<&Metrics>, request: Request) -> Response<Body> {
    let text = match metrics {
        Some(metrics) if !metrics.access.admits(&request) => {
            return Error::MetricsToken.respond(&RequestId::of(&request));
        }
        Some(metrics) => metrics.render().await,
        None => String::new(),
    };
    typed("text/plain; version=0.0.4", Body::from(text))
}

fn typed(content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Something that does not change while the server runs: sent once, then only confirmed.
struct Fixed {
    content_type: &'static str,
    bytes: bytes::Bytes,
    etag: String,
    content_security_policy: Option<HeaderValue>,
}

impl From<docs::File> for Fixed {
    fn from(file: docs::File) -> Self {
        let policy = file.content_security_policy.and_then(|policy| HeaderValue::from_str(&policy).ok());
        Self::new(file.content_type, file.text, policy)
    }
}

impl Fixed {
    fn new(content_type: &'static str, text: String, content_security_policy: Option<HeaderValue>) -> Self {
        let tag = BASE64_STANDARD.encode(Sha256::digest(&text));
        // Weak, because compression changes the bytes and not the meaning.
        Self { content_type, bytes: text.into(), etag: format!("W/\"{tag}\""), content_security_policy }
    }

    fn answer(&self, headers: &HeaderMap) -> Response<Body> {
        let mut response = typed(self.content_type, Body::from(self.bytes.clone()));
        let known =
            headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if known.split(',').any(|tag| tag.trim() == self.etag) {
            response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let fixed = [
            (header::CACHE_CONTROL, "no-cache"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
        ];
        let headers = response.headers_mut();
        headers.extend(fixed.map(|(name, value): (HeaderName, _)| (name, HeaderValue::from_static(value))));
        headers.extend(HeaderValue::from_str(&self.etag).ok().map(|value| (header::ETAG, value)));
        headers.extend(
            self.content_security_policy.clone().map(|value| (header::CONTENT_SECURITY_POLICY, value)),
        );
        response
    }
}
