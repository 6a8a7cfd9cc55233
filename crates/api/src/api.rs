//! All operations together: the routes, and the document that cannot disagree with them.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use rowmill_app::SharedRates;
use rowmill_clock::{Clock, SystemClock};
use rowmill_fairness::KeyedMutex;
use rowmill_model::Limits;
use serde_json::Value;
use uuid::Uuid;

use crate::answer_memory::AnswerMemory;
use crate::checks::LazyChecks;
use crate::definition::Definition;
use crate::description::{Description, Fault};
use crate::endpoint::{Access, Endpoint, Service};
use crate::endpoints::webhook;
use crate::error::Error;
use crate::layers::{self, Arrival, Cors, RequestId};
use crate::measure::Metrics;
use crate::openapi::Tag;
use crate::pipeline::{self, Plan, Shared};
use crate::public_url::PublicUrl;
use crate::rate_limits::{RateLimiters, Rates, client_of};
use crate::request_memory::RequestMemory;
use crate::schema::SchemaLimits;
use crate::shared_rate_limits;
use crate::system;
use crate::system_paths;
use crate::trusted_proxies::TrustedProxies;

/// Collects operations. Nothing here needs the application to run, so the document can be had alone.
pub struct Api<S: Service> {
    limits: Arc<Limits>,
    schema_limits: SchemaLimits,
    router: Router<Arc<Shared<S>>>,
    description: Description<S>,
    faults: Vec<String>,
}

impl<S: Service> Api<S> {
    pub fn new(limits: Limits) -> Self {
        let schema_limits = SchemaLimits::new(&limits);
        let description = Description::new(schema_limits.clone());
        let (limits, router, faults) = (Arc::new(limits), Router::new(), Vec::new());
        Self { limits, schema_limits, router, description, faults }
    }

    /// Defines a tag; they are shown in this order.
    pub fn tag(&mut self, name: &'static str, description: &'static str) -> &mut Self {
        self.description.tags.push(Tag { name, description });
        self
    }

    /// Mounts an operation and writes it into the document.
    pub fn add<E: Endpoint<S>>(&mut self, path: impl Into<String>) -> &mut Self {
        self.add_definition(path.into(), Definition::of::<E>());
        self
    }

    fn add_definition(&mut self, path: String, definition: Definition<S>) {
        let name = format!("{} ({} {path})", definition.id, definition.method);
        match self.mount(&path, &definition) {
            Ok(()) => self.description.operations.push((path, definition)),
            Err(fault) => self.faults.push(format!("{name}: {fault}")),
        }
    }

    fn mount(&mut self, path: &str, definition: &Definition<S>) -> Result<(), String> {
        let takes_key = matches!(definition.access, Access::Key | Access::OpenRead);
        if takes_key == definition.scopes.is_empty() {
            return Err("what takes a key, and nothing else, needs a scope".to_owned());
        }
        let filter = MethodFilter::try_from(definition.method.clone()).map_err(|error| error.to_string())?;
        let plan = Arc::new(Plan {
            access: definition.access,
            scopes: definition.scopes,
            status: definition.status,
            media: definition.media,
            deprecated_at: definition.headers.deprecated_at,
            repeats: definition.repeats_here(),
            takes_tag: definition.headers.is_tagged && definition.method != Method::POST,
            checks_rest: definition.checks_rest,
            takes_disabled: definition.takes_disabled,
            presence: definition.body.presence,
            body_limit: definition.body.limit,
            checks: LazyChecks::new(self.schema_limits.clone(), definition.query, definition.body),
            bind: definition.bind,
        });
        let handler = move |State(shared): State<Arc<Shared<S>>>, request: Request| {
            pipeline::serve(shared, Arc::clone(&plan), request)
        };
        self.router = std::mem::take(&mut self.router).route(path, on(filter, handler));
        Ok(())
    }

    /// Closes the list.
    pub fn finish(self) -> Result<Finished<S>, Fault> {
        let Self { limits, router, mut description, faults, .. } = self;
        if !faults.is_empty() {
            return Err(Fault(faults));
        }
        description.tags.push(system_paths::TAG);
        Ok(Finished { limits, router, description })
    }
}

impl<S: Service> fmt::Debug for Api<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("description", &self.description).finish_non_exhaustive()
    }
}

/// A complete API, waiting for the application to serve it.
pub struct Finished<S: Service> {
    limits: Arc<Limits>,
    router: Router<Arc<Shared<S>>>,
    pub(crate) description: Description<S>,
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
    /// The OpenAPI document. It takes some time to make.
    pub fn document(&self) -> Result<Value, Fault> {
        self.description.document()
    }

    /// The same service, whose document says where it is.
    #[must_use]
    pub fn at(mut self, public_url: Option<&PublicUrl>) -> Self {
        self.description.base_url = public_url.map(PublicUrl::base_url);
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
        let repeats = KeyedMutex::default();
        let shared = Shared { state: state_of_calls, limits, rates, rate_limiters, memory, answers, repeats };
        let shared = Arc::new(shared);
        if let Some(shared_rates) = shared_rates {
            tokio::spawn(shared_rate_limits::sync_rate_limits(Arc::downgrade(&shared), shared_rates));
        }
        let counting = Arc::clone(&shared);
        let counted = move |client| Some(counting.rate_limiters.anonymous.as_ref()?.take(client_of(client)));
        let router = self
            .router
            .with_state(Arc::clone(&shared))
            .merge(beside(shared))
            .merge(system::routes(state, self.description, metrics, Arc::new(counted)))
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
