//! All operations together: the routes, and the document that cannot disagree with them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use rowmill_app::SharedRates;
use rowmill_clock::{Clock, SystemClock};
use rowmill_model::Limits;
use serde_json::Value;
use uuid::Uuid;

use crate::answer::Media;
use crate::answer_memory::AnswerMemory;
use crate::check::Checker;
use crate::definition::{BodyDefinition, Definition};
use crate::endpoint::{Access, Endpoint, Service};
use crate::endpoints::webhook;
use crate::error::Error;
use crate::layers::{self, Arrival, Cors, RequestId};
use crate::measure::Metrics;
use crate::openapi::{self, AnswerSpec, BodySpec, Operation, Tag};
use crate::payload::Presence;
use crate::pipeline::{self, BodyPlan, Plan, Shared};
use crate::public_url::PublicUrl;
use crate::query::QueryReader;
use crate::rate_limits::{RateLimiters, Rates};
use crate::repeats::Turns;
use crate::request_memory::RequestMemory;
use crate::schema::{Param, Schemas};
use crate::shared_rate_limits;
use crate::system;
use crate::trusted_proxies::TrustedProxies;

/// Collects operations. Nothing here needs the application to run, so the document can be had alone.
pub struct Api<S: Service> {
    limits: Arc<Limits>,
    router: Router<Arc<Shared<S>>>,
    schemas: Schemas,
    tags: Vec<Tag>,
    operations: Vec<Operation>,
    faults: Vec<String>,
}

/// Mistakes in the definition of the operations: the program's, not a caller's.
#[derive(Debug, thiserror::Error)]
#[error("the API is not well defined: {}", .0.join("; "))]
pub struct Fault(pub Vec<String>);

impl<S: Service> Api<S> {
    pub fn new(limits: Limits) -> Self {
        let schemas = Schemas::new(&limits);
        let (tags, operations, faults) = (Vec::new(), Vec::new(), Vec::new());
        Self { limits: Arc::new(limits), router: Router::new(), schemas, tags, operations, faults }
    }

    /// Defines a tag; they are shown in this order.
    pub fn tag(&mut self, name: &'static str, description: &'static str) -> &mut Self {
        self.tags.push(Tag { name, description });
        self
    }

    /// Mounts an operation and writes it into the document.
    pub fn add<E: Endpoint<S>>(&mut self, path: impl Into<String>) -> &mut Self {
        self.add_definition(path.into(), Definition::of::<E>());
        self
    }

    fn add_definition(&mut self, path: String, definition: Definition<S>) {
        let name = format!("{} ({} {path})", definition.id, definition.method);
        if let Err(fault) = self.try_add(path, definition) {
            self.faults.push(format!("{name}: {fault}"));
        }
    }

    fn try_add(&mut self, path: String, definition: Definition<S>) -> Result<(), String> {
        let path_params = self.schemas.params(definition.path);
        let captured: BTreeSet<_> = names_in(&path).collect();
        let declared: BTreeSet<_> = path_params.iter().map(|param| param.name.as_str()).collect();
        if captured != declared {
            return Err(format!("the path names {captured:?}, its type {declared:?}"));
        }
        let takes_key = matches!(definition.access, Access::Key | Access::OpenRead);
        if takes_key == definition.scopes.is_empty() {
            return Err("what takes a key, and nothing else, needs a scope".to_owned());
        }
        let query_params = self.schemas.params(definition.query);
        let query = QueryReader::new(&self.schemas, definition.query, &query_params)?;
        let plan = self.plan(&definition, query)?;
        self.mount(&path, &definition.method, plan)?;
        let operation = self.operation(path, definition, path_params, query_params);
        self.operations.push(operation);
        Ok(())
    }

    fn plan(&self, definition: &Definition<S>, query: QueryReader) -> Result<Plan<S>, String> {
        let BodyDefinition { presence, is_checked, media_types: _, bytes_max, schema } = definition.body;
        let checker = is_checked.then(|| Checker::new(self.schemas.checked(schema))).transpose()?;
        let counts = self.schemas.count_bounds(schema);
        Ok(Plan {
            access: definition.access,
            scopes: definition.scopes,
            status: definition.status,
            media: definition.media,
            deprecated_at: definition.headers.deprecated_at,
            query,
            repeats: definition.repeats_here(),
            body: BodyPlan { presence, bytes_max, checker, counts },
            bind: definition.bind,
        })
    }

    fn mount(&mut self, path: &str, method: &Method, plan: Plan<S>) -> Result<(), String> {
        let filter = MethodFilter::try_from(method.clone()).map_err(|error| error.to_string())?;
        let plan = Arc::new(plan);
        let handler = move |State(shared): State<Arc<Shared<S>>>, request: Request| {
            pipeline::serve(shared, Arc::clone(&plan), request)
        };
        self.router = std::mem::take(&mut self.router).route(path, on(filter, handler));
        Ok(())
    }

    fn operation(
        &mut self,
        path: String,
        definition: Definition<S>,
        path_params: Vec<Param>,
        query_params: Vec<Param>,
    ) -> Operation {
        let body = definition.body;
        let body = (body.presence != Presence::None).then(|| BodySpec {
            media_types: body.media_types,
            schema: self.schemas.request(body.schema),
            is_required: matches!(body.presence, Presence::Required | Presence::Streamed | Presence::Whole),
        });
        Operation {
            repeats: definition.repeats_here(),
            method: definition.method,
            path,
            id: format!("{}{}", definition.id, definition.version),
            tag: format!("{} {}", definition.tag, definition.version).trim().to_owned(),
            summary: definition.summary,
            description: definition.description,
            access: definition.access,
            scopes: definition.scopes,
            reads_rows: definition.reads_rows,
            request_headers: definition.request_headers,
            answer_headers: definition.answer_headers,
            headers: definition.headers,
            may_be_unavailable: true,
            needs_token: false,
            statuses: std::iter::once(definition.status).chain(definition.status_also).collect(),
            path_params,
            query_params,
            body,
            answer: AnswerSpec {
                media_type: definition.media.content_type(),
                media_type_also: definition.media_also.map(Media::content_type),
                schema: self.schemas.answer(definition.answer),
                is_enveloped: definition.media == Media::Json,
            },
            examples: (definition.examples)(),
        }
    }

    /// Closes the list and assembles the document.
    pub fn finish(mut self) -> Result<Finished<S>, Fault> {
        system::describe(&mut self.schemas, &mut self.tags, &mut self.operations);
        let document = openapi::assemble(&self.tags, self.operations, &mut self.schemas, &mut self.faults);
        if self.faults.is_empty() {
            Ok(Finished { limits: self.limits, router: self.router, document })
        } else {
            Err(Fault(self.faults))
        }
    }
}

impl<S: Service> fmt::Debug for Api<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("operations", &self.operations.len()).finish_non_exhaustive()
    }
}

/// An API whose document is known, waiting for the application to serve it.
pub struct Finished<S: Service> {
    limits: Arc<Limits>,
    router: Router<Arc<Shared<S>>>,
    document: Value,
}

/// What an operator can set, and what comes in by the door.
pub struct Settings {
    pub rates: Rates,
    pub cors: Cors,
    pub trusted_proxies: Arc<TrustedProxies>,
    pub clock: Arc<dyn Clock>,
    /// Makes ids (`UUIDv7`) for requests that bring none.
    pub request_ids: Arc<dyn Fn() -> Uuid + Send + Sync>,
    /// Bytes of memory for requests in flight: bodies that are being read and parsed.
    pub request_memory_bytes: usize,
    /// What `GET /metrics` shows.
    pub metrics: Option<Metrics>,
    /// Where nodes keep the rates together, if there may be others.
    pub shared_rates: Option<Arc<dyn SharedRates>>,
}

impl Settings {
    pub fn new(request_ids: impl Fn() -> Uuid + Send + Sync + 'static) -> Self {
        Self {
            rates: Rates::default(),
            cors: Cors::Off,
            trusted_proxies: Arc::default(),
            clock: Arc::new(SystemClock),
            request_ids: Arc::new(request_ids),
            request_memory_bytes: usize::MAX,
            metrics: None,
            shared_rates: None,
        }
    }
}

impl Settings {
    fn arrival(&self) -> Arrival {
        Arrival { ids: Arc::clone(&self.request_ids), trusted_proxies: Arc::clone(&self.trusted_proxies) }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("rates", &self.rates)
            .field("cors", &self.cors)
            .finish_non_exhaustive()
    }
}

impl<S: Service> Finished<S> {
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The same service, whose document says where it is.
    #[must_use]
    pub fn at(mut self, public_url: Option<&PublicUrl>) -> Self {
        if let (Some(public_url), Value::Object(document)) = (public_url, &mut self.document) {
            document.insert("servers".to_owned(), openapi::servers(&public_url.base_url()));
        }
        self
    }

    /// The operations and what stands beside them. Serve it with `into_make_service_with_connect_info::<SocketAddr>()`, or clients
    /// cannot be told apart.
    pub fn router(self, state: S, settings: Settings) -> Router {
        self.router_beside(state, settings, |_| Router::new().fallback(unknown_path))
    }

    /// The same, beside routes that are no operations.
    pub(crate) fn router_beside(
        self,
        state: S,
        settings: Settings,
        beside: impl FnOnce(Arc<Shared<S>>) -> Router,
    ) -> Router {
        let arrival = settings.arrival();
        let Settings { rates, cors, clock, request_memory_bytes, metrics, shared_rates, .. } = settings;
        let rate_limiters = RateLimiters::new(&rates, &clock);
        let rates = Arc::new(rates);
        let memory = RequestMemory::new(request_memory_bytes);
        let answers = AnswerMemory::new(request_memory_bytes);
        let (state_of_calls, limits) = (state.clone(), self.limits);
        let turns = Turns::default();
        let shared = Shared { state: state_of_calls, limits, rates, rate_limiters, memory, answers, turns };
        let shared = Arc::new(shared);
        if let Some(shared_rates) = shared_rates {
            tokio::spawn(shared_rate_limits::sync_rate_limits(Arc::downgrade(&shared), shared_rates));
        }
        let router = self
            .router
            .with_state(Arc::clone(&shared))
            .merge(beside(shared))
            .merge(system::routes(state, &self.document, metrics))
            .merge(webhook::without_team())
            .method_not_allowed_fallback(method_not_allowed);
        layers::wrap(router, &cors, arrival)
    }
}

/// Health and metrics alone, for a process that serves nothing else.
pub fn health<S: Service>(state: S, settings: Settings) -> Router {
    let arrival = settings.arrival();
    let Settings { cors, metrics, .. } = settings;
    let router = system::health_routes(state, metrics)
        .fallback(unknown_path)
        .method_not_allowed_fallback(method_not_allowed);
    layers::wrap(router, &cors, arrival)
}

impl<S: Service> fmt::Debug for Finished<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Finished").finish_non_exhaustive()
    }
}

pub(crate) async fn unknown_path(request: Request) -> Response {
    refuse(Error::UnknownPath, &request)
}

/// The `Allow` header is axum's to add: it knows the route's methods.
async fn method_not_allowed(request: Request) -> Response {
    refuse(Error::MethodNotAllowed, &request)
}

/// Below `/webhooks/` every failure is bare: the sender knows no envelope.
fn refuse(error: Error, request: &Request) -> Response {
    let request_id = RequestId::of(request);
    if request.uri().path().starts_with("/webhooks/") {
        error.respond_bare(&request_id)
    } else {
        error.respond(&request_id)
    }
}

fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}
