//! What must be remembered.
//!
//! [`Store`] is the interface between the service and its database. Its methods are coarse and named after what the
//! service does. Each is one transaction, so a backend may commit the work of many callers at once; only
//! [`Store::trigger`] and [`Store::stop`] take several over many rows. Concurrent changes are resolved by versions: a
//! caller reads a project, decides with pure functions of `model`, and hands the decision back with the version it was
//! made on. If the project has changed since, the answer is [`StoreError::Stale`], nothing is written, and the caller
//! decides again.

pub mod batches;
pub mod carry;
pub mod changes;
pub mod check;
#[cfg(feature = "conformance")]
pub mod conformance;
mod document_cache;
mod error;
mod import_jobs;
pub mod inspect;
pub mod kept_answers;
pub mod lookup;
mod observe;
mod processing_status;
pub mod received;
mod row_values;
mod row_write;
mod sessions;
pub mod shared_rates;
mod spans;
pub mod spending;
mod spending_notice;
pub mod spending_scope;
mod store;
mod trash;
mod types;
pub mod value_bytes;
pub mod warm_up;
pub mod webhooks;
pub mod wide_values;
mod work;
mod write_health;

pub use crate::batches::BatchStore;
pub use crate::document_cache::{DocumentCache, ParsedDocument, ReadTurn};
pub use crate::error::{Result, StoreError};
pub use crate::import_jobs::{
    ENDED_IMPORTS_MAX, ImportClaim, ImportJob, ImportPart, ImportProgress, ImportStatus, ImportStep,
    ImportStore, NewImport, SWEEP_PARTS, cut_file, open_imports, stray_file,
};
pub use crate::kept_answers::AnswerStore;
pub use crate::observe::{BusyProject, DatabaseStats, ObserveStore, PoolStats};
pub use crate::processing_status::ProcessingStatus;
pub use crate::received::ReceivedStore;
pub use crate::row_values::RowValues;
pub use crate::row_write::RowWrite;
pub use crate::sessions::{SESSIONS_MAX, Session, SessionStore};
pub use crate::shared_rates::SharedRates;
pub use crate::spans::Spans;
pub use crate::spending::SpendingStore;
pub use crate::store::{RowVisitor, Snapshot, Store};
pub use crate::trash::{
    Restored, SWEEP_ENTRIES, SWEEP_PROJECTS, TrashPage, TrashPlace, TrashStore, TrashedProject, TrashedRow,
};
pub use crate::types::{
    ApiKey, CellWrite, GuestWrite, GuestsWritten, IdempotentRequest, Inserted, KeptInput, LastUse, NewRow,
    NewRows, PageStart, ProjectPage, ProjectSave, ProjectSummary, RowAction, RowRef, RowsAt, RowsPage,
    SavedProject, ScanDetail, ScanLook, Sealed, SealedKind, SeenProject, StoredProject, StoredRow, Team,
    Wanted, WantedSlots, WriteCells, WrittenCells,
};
pub use crate::value_bytes::{TeamBytes, ValueBytesStore};
pub use crate::warm_up::WarmUpStore;
pub use crate::webhooks::WebhookStore;
pub use crate::work::{
    CellResult, Change, ChangedRows, Claim, Claimed, ENDED_RUNS_KEPT_MS, ENDED_RUNS_MAX, Ended, Lane, Lanes,
    Listener, RETRY_WAIT_MS_MAX, Rows, Settle, Settled, Settlement, Stop, Stopped, Ticket, Trigger,
    Triggered, WorkerId, is_due,
};
pub use crate::write_health::WriteHealth;
