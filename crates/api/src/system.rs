//! The paths beside the API: the document, the pages that show it, health and metrics. They need no API key. The search takes
//! a moment each time, so it has the rate limit of reads without a key; the rest has none.

use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use axum::http::header::{self, HeaderValue};
use axum::middleware::{Next, from_fn};
use axum::routing::{MethodRouter, get};
use bytes::Bytes;
use serde_json::Value;

use crate::answer::render;
use crate::description::Description;
use crate::docs;
use crate::endpoint::Service;
use crate::error::Error;
use crate::fixed::{Fixed, MadeOnce, compute_for_anyone};
use crate::layers::{REQUEST_ID, RequestId};
use crate::measure::Metrics;
use crate::pipeline::{client_address, count};
use crate::query::refuse_all;
use crate::rate_limits::RateLimitStatus;
use crate::system_paths::{DOCS, HEALTH, Health, METRICS, OPENAPI, READY};

/// A store that has not answered by then is not there for whoever asks: a balancer wants to know soon.
const READY_MAX: Duration = Duration::from_secs(2);

/// Counts a request of a client; none without a limit.
pub(crate) type Counted = Arc<dyn Fn(IpAddr) -> Option<RateLimitStatus> + Send + Sync>;

pub(crate) fn routes<S: Service>(
    state: S,
    description: Description<S>,
    metrics: Option<Metrics>,
    counted: Counted,
) -> Router {
    let files = docs::files(&description.tags);
    // What waits for it is made on threads apart.
    let text = Arc::new(LazyLock::new(move || document_text(&description)));
    let parsed = |text: &Bytes| serde_json::from_slice::<Value>(text).unwrap_or_default();
    let mut router = Router::new();
    for file in files {
        let (path, text) = (file.path.clone(), Arc::clone(&text));
        let made = MadeOnce::new(move || Fixed::from(file.make(&parsed(&text))).compressed());
        let answer = get(move |request: Request| async move { answer(&made, request).await });
        // The pages below are no operations: links to them may carry what others add to links.
        router = router.route(&path, if path == DOCS { strict(answer) } else { answer });
    }
    let searched = Arc::clone(&text);
    let search = MadeOnce::new(move || docs::Search::new(&parsed(&searched)));
    let found = move |request: Request| async move { found(&search, &counted, request).await };
    let json = MadeOnce::new(move || Fixed::json(Bytes::clone(&text)).compressed());
    let json = move |request: Request| async move { answer(&json, request).await };
    let router = router.route(docs::SEARCH_PATH, get(found)).route(OPENAPI, strict(get(json)));
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

async fn found(search: &MadeOnce<docs::Search>, counted: &Counted, request: Request) -> Response<Body> {
    let request_id = RequestId::of(&request);
    let (parts, _) = request.into_parts();
    let mut standing = None;
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let found = async {
        count(&mut standing, counted(client_address(&parts)))?;
        let search = search.get().await?;
        compute_for_anyone(move || Fixed::from(search.answer(&query))).await
    };
    let mut response = match found.await {
        Ok(page) => page.answer(&parts.headers),
        Err(error) => error.respond(&request_id),
    };
    if let Some(standing) = standing {
        standing.write_headers(response.headers_mut());
    }
    response
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
        .route(HEALTH, strict(get(|request: Request| async move { healthy(&request) })))
        .route(READY, strict(get(ready::<S>).with_state(state)))
        .route(
            METRICS,
            strict(get(move |request: Request| async move { measured(metrics.as_ref(), request).await })),
        )
}

/// An operation of the document that has no query parameters.
fn strict(route: MethodRouter) -> MethodRouter {
    route.layer(from_fn(async |request: Request, next: Next| match refuse_all(request.uri().query()) {
        Ok(()) => next.run(request).await,
        Err(offences) => Error::offences(offences).respond(&RequestId::of(&request)),
    }))
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
