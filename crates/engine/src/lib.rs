//! The engine runs cells: claim, call, retry with backoff, limit rates, settle.
//!
//! ```text
//!            changes (listener): wake up, revoked tickets
//!      ┌───────────────────────────────────────────────────┐
//!   store ── lanes, claim ──▶ dispatch ── one task a cell ──▶ run ── call ──▶ CellRunner (provider_calls)
//!      ▲                        ▲  how many of each lane?     │                 │
//!      │                        └──────── capacity ───────────┼──── call_limits: rate limiters, circuit breakers
//!      └───────── settle ◀── settler ◀──── outcome, retry ────┘                 │
//!      └───────── heartbeat, requeue_lost ◀── heartbeat         single_flight: identical calls made once
//! ```
//!
//! - [`Engine`] holds it all together. It keeps nothing that must not be lost: what is queued, running or
//!   waiting for its time stands in the store, and a worker that dies is missed when its lease runs out.
//! - A cell that was stopped, written or deleted is *revoked*: the store tells so before it answers whoever
//!   did it, and the task is aborted there and then. A late result has no ticket any more and is dropped.
//! - [`CellRunner`] runs a cell: [`ProviderCalls`] calls providers, the simulation answers by seed.
//! - [`CallLimits`] says how fast a credential, a host or a column may be called. Cells are claimed only where
//!   there is room, so that the others stay queued; one that finds the way closed after all is put back and
//!   no try is counted. On a database that several nodes share, they take turns.
//! - Time comes from a [`rowmill_clock::Clock`], chance from a seed.

mod batch_config;
mod batch_lanes;
mod batches;
mod budgets;
mod call_limits;
mod cell_permits;
mod cell_runner;
mod cell_span;
mod circuit_breaker;
mod claim_ahead;
mod config;
mod credentials;
mod digest;
mod dispatch;
mod engine;
mod fair_share;
mod heartbeat;
mod in_flight;
mod limit_counts;
mod limit_state;
mod liveness;
mod measure;
mod provider_calls;
mod rate_limiter;
mod results;
mod retry;
mod row_writer;
mod run;
mod settler;
mod shared;
mod shared_rates;
mod single_flight;
mod spending_cache;
mod thumbnails;
mod time_left;
mod value_check;
mod webhooks;

pub use batch_config::BatchConfig;
pub use call_limits::{CallLimit, CallLimits, CallPermit, LimitReached};
pub use cell_runner::{
    BatchCalls, BatchQuestion, CallFailure, CallOutcome, Capacity, Cause, Cell, CellRunner, Payees, busy,
};
pub use config::Config;
pub use credentials::{CredentialFrom, Credentials, ProviderCredential, TeamCredentials};
pub use digest::Digest;
pub use engine::Engine;
pub use limit_counts::LimitCounts;
pub use measure::spent_dollars;
pub use provider_calls::{CallForecast, ProviderCalls, ProviderCallsConfig, SharedVerdicts};
pub use row_writer::{RowCounts, RowRefusal, RowWriter, RowsToWrite};
pub use thumbnails::Thumbnails;
pub use webhooks::{Deliverer, WebhookConfig, WebhookSecrets};
