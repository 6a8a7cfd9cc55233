//! HTTP: the endpoint kit, the OpenAPI document and the API versions.
//!
//! Start at [`endpoint`]: an [`Endpoint`] is one operation, and [`Api::add`] both mounts it and writes
//! it into the document. [`pipeline`] is what happens to a request on its way to an endpoint; [`error`]
//! is the one table of what can go wrong.

mod accept_encoding;
mod answer;
mod answer_memory;
pub mod api;
mod body;
mod body_check;
mod body_limit;
mod byte_budget;
mod check;
mod checks;
mod deadline;
mod definition;
mod deprecation;
mod description;
mod docs;
pub mod endpoint;
mod endpoints;
pub mod error;
mod etag;
mod event_frames;
mod files;
mod fixed;
mod import_request;
mod import_runner;
mod importing;
mod json_guard;
pub mod layers;
mod links;
mod measure;
mod metric_help;
mod openapi;
mod paced;
mod page_cache;
mod page_changes;
mod page_links;
mod page_numbers;
mod payload;
mod pipeline;
mod public_url;
mod query;
pub mod rate_limits;
mod repeats;
mod request_log;
mod request_memory;
mod request_trace;
mod row_selection;
mod row_stream;
mod schema;
mod sent_head;
mod service;
mod shared_rate_limits;
mod site;
mod state;
mod system;
mod system_paths;
mod trusted_proxies;
mod versions;
mod wire;

pub use answer::{Answer, Media, render};
pub use api::{Api, Finished, Settings, health};
pub use description::Fault;
pub use endpoint::{
    Access, Call, Endpoint, Examples, Head, Idempotency, Principal, RateKey, Repeats, RequestHeader, Service,
};
pub use error::Error;
pub use import_runner::ImportRunner;
pub use layers::Cors;
pub use measure::{MetricSamples, Metrics, MetricsAccess, install_metrics};
pub use payload::{File, FileBytes, FileText, Json, Nothing, Optional, Payload, Presence, Raw, not_json};
pub use public_url::PublicUrl;
pub use rate_limits::{Rate, Rates};
pub use service::service;
pub use state::ApiState;
pub use system::{refused_connection, too_many_connections};
pub use system_paths::is_health;
pub use trusted_proxies::{ArrivedOverTls, TrustedProxies};
pub use wire::timestamp;
