//! The embedded store: one SQLite file in the data directory.
//!
//! One thread writes, and commits the work of many callers at once. Everyone else reads at the same time, each in a
//! snapshot of their own. Everything acknowledged is on disk: the log is synced at every commit.

mod apply;
mod backup;
mod batches;
mod blocks;
mod carry;
mod commit_health;
mod connection;
mod convert;
mod data_dir;
mod documents;
mod ended_runs;
mod examine;
mod fair_queue;
mod guests;
mod import_jobs;
mod import_store;
mod inspect;
mod integrity;
mod kept_answers;
mod ledger;
mod live_counts;
mod lookups;
mod observe;
mod page_checksums;
mod page_reads;
mod page_scan;
mod pages;
mod positions;
mod project_state;
mod projects;
mod purge;
mod readers;
mod receipts;
mod received;
mod restore;
mod row_changes;
mod rows;
mod run_estimates;
mod runs;
mod schema;
mod sealed;
mod session_store;
mod sessions;
mod short_reads;
mod spending;
mod store;
mod teams;
mod trash;
mod trash_store;
mod trashed_projects;
mod value_bytes;
mod webhook_store;
mod webhooks;
mod work;
mod writer;

pub use crate::backup::{BackupContent, back_up, has_checksums, verify};
pub use crate::carry::Carrier;
pub use crate::data_dir::DATABASE_FILE;
pub use crate::examine::{Examined, examine, is_served};
pub use crate::inspect::Inspector;
pub use crate::page_scan::{accept_checksums, page_findings};
pub use crate::restore::Restore;
pub use crate::store::{Access, SqliteStore};
