//! The paths beside the API: the document, the pages that show it, health and metrics. No API key, no limit.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderValue};
use axum::http::{Method, Response, StatusCode};
use axum::routing::get;
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::answer::render;
use crate::definition::OwnHeaders;
use crate::description::Description;
use crate::docs;
use crate::endpoint::{Access, Examples, Repeats, RequestHeader, Service};
use crate::error::Error;
use crate::fixed::{Fixed, MadeOnce, compute_for_anyone};
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
    // What waits for it is made on threads apart.
    let text = Arc::new(LazyLock::new(move || document_text(&description)));
    let parsed = |text: &Bytes| serde_json::from_slice::<Value>(text).unwrap_or_default();
    let mut router = Router::new();
    for file in files {
        let (path, text) = (file.path.clone(), Arc::clone(&text));
        let made = MadeOnce::new(move || Fixed::from(file.make(&parsed(&text))).compressed());
        router =
            router.route(&path, get(move |request: Request| async move { answer(&made, request).await }));
    }
    let searched = Arc::clone(&text);
    let search = MadeOnce::new(move || docs::Search::new(&parsed(&searched)));
    let found = move |request: Request| async move { found(&search, request).await };
    let json = MadeOnce::new(move || Fixed::json(Bytes::clone(&text)).compressed());
    let json = move |request: Request| async move { answer(&json, request).await };
    let router = router.route(docs::SEARCH_PATH, get(found)).route("/openapi.json", get(json));
    router.merge(health_routes(state, metrics))
}

/// The document as JSON. Mistakes in the definitions are the program's, and its tests find them.
fn document_text<S: Service>(description: &Description<S>) -> Bytes {
    let document = description.document().inspect_err(|fault| tracing::error!(%fault, "no OpenAPI document"));
    document.unwrap_or_default().to_string().into()
}

async fn answer(document: &MadeOnce<Fixed>, request: Request) -> Response<Body> {
    match document.get().await {
        Ok(made) => made.answer(request.headers()),
        Err(error) => error.respond(&RequestId::of(&request)),
    }
}

async fn found(search: &MadeOnce<docs::Search>, request: Request) -> Response<Body> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let found = match search.get().await {
        Ok(search) => compute_for_anyone(move || Fixed::from(search.answer(&query))).await,
        Err(error) => Err(error),
    };
    match found {
        Ok(page) => page.answer(request.headers()),
        Err(error) => error.respond(&RequestId::of(&request)),
    }
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
