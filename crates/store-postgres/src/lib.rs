//! The store for many nodes: any number of processes on one PostgreSQL database, with nothing else shared.
//!
//! A transaction that changes a project first locks its row in `counters`, so that positions, counts, claims and the
//! change sequence are exact whichever node does it. Everything is in the schema `rowmill`. A session keeps nothing
//! but prepared statements, so a connection pooler in transaction mode works if it supports those. Only LISTEN needs
//! a session of its own; without one, nodes poll for changes every second.

mod apply;
mod batches;
mod carry;
mod change_bus;
mod change_message;
mod change_notifications;
mod claimed_rows;
mod connect;
mod connections;
mod convert;
mod copy;
mod database;
mod documents;
mod ended_runs;
mod examine;
mod guests;
mod import_jobs;
mod import_store;
mod inspect;
mod kept_answers;
mod leases;
mod ledger;
mod live_counts;
mod lookups;
mod node;
mod observe;
mod offset_cache;
mod page_answer;
mod page_sql;
mod pages;
mod project_locks;
mod project_state;
mod projects;
mod purge;
mod receipts;
mod received;
mod retryable;
mod row_changes;
mod row_version;
mod rows;
mod run_estimates;
mod run_parts;
mod runs;
mod scans;
mod schema;
mod sealed;
mod server_error;
mod session_store;
mod sessions;
mod shared_rates;
mod snapshot;
mod spending;
mod state_batcher;
mod store;
mod stored_rows;
mod teams;
mod tokens;
mod transaction;
mod trash;
mod trash_store;
mod trashed_projects;
mod value_bytes;
mod warm_up;
mod webhook_store;
mod webhooks;
mod wide_values;
mod work;

pub use crate::carry::Carrier;
pub use crate::connect::Options;
pub use crate::examine::{Examined, Schema, examine};
pub use crate::inspect::Inspector;
pub use crate::store::PostgresStore;
