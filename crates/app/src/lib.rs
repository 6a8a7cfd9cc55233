//! Use cases: authorise, check, remember.
//!
//! Each is a method of [`App`] and knows neither HTTP nor SQL. A version of the API is a translation of
//! requests into these methods; where versions behave differently, the difference is an argument.

pub mod auth;
mod blocking;
mod clock;
mod columns;
mod credentials;
mod environment;
mod error;
mod event_rows;
mod event_streams;
mod events;
mod exports;
mod idempotency;
mod ids;
mod imports;
mod projects;
mod providers;
mod rows;
mod runs;
mod samples;
mod secrets;
mod sequences;
mod sessions;
mod teams;
mod trials;
mod usage;
mod vault;
mod vault_check;
mod views;
mod webhook;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rowmill_model::Limits;
use rowmill_query::Query;
use rowmill_store::Store;

pub use rowmill_query::{Budget as QueryMemory, Cursor, Page, Rest, Selection, Start};
pub use rowmill_store::{
    ApiKey, Inserted, ProcessingStatus, ProjectSummary, RowAction, SharedRates, Stopped, StoredProject,
    StoredRow, Team, shared_rates,
};

pub use crate::auth::{Caller, Principal, Secret};
pub use crate::blocking::off_async;
pub use crate::clock::{Clock, SystemClock};
pub use crate::columns::{ColumnChanged, ColumnDeleted};
pub use crate::credentials::{BaseUrl, Credentials, ProviderAccess, Source, Unopened};
pub use crate::environment::Environment;
pub use crate::error::{Error, Noun, Result};
pub use crate::event_rows::{ChangedRowsRead, RowsChanged, RowsKey};
pub use crate::events::{Event, Feed};
pub use crate::exports::Export;
pub use crate::idempotency::{IDEMPOTENCY_HOURS, IdempotencyKey};
pub use crate::ids::log_id;
pub use crate::imports::{Import, ImportColumn, ImportField, ImportOptions, ImportRow, ImportedBatch};
pub use crate::projects::{NewProject, ProjectChanges, ProjectList, ProjectsOf};
pub use crate::providers::{NewCredential, ProviderState};
pub use crate::rows::fields::{Fields, Held, Text};
pub use crate::rows::layout::too_many_fields;
pub use crate::rows::{CellChange, InsertRows, ListRows, RowPatched};
pub use crate::runs::{StopRows, TriggerRows};
pub use crate::secrets::SecretState;
pub use crate::sessions::SESSION_DAYS;
pub use crate::teams::NewKey;
pub use crate::trials::{ProviderTest, Trial, TrialCell, TrialOutcome, Tried, TryColumn};
pub use crate::usage::ProjectUsage;
pub use crate::vault::Vault;
pub use crate::views::{ViewChanges, ViewSaved};
pub use crate::webhook::{Delivered, Webhook};

/// Everything the use cases need.
#[derive(Debug)]
pub struct App {
    store: Arc<dyn Store>,
    query: Query,
    limits: Limits,
    vault: Vault,
    environment: Environment,
    clock: Arc<dyn Clock>,
    keys: auth::KeyCache,
    link: sessions::SignInLink,
    tester: trials::Tester,
    opened: credentials::Opened,
    altering: tokio::sync::Mutex<()>,
    repeating: tokio::sync::Mutex<()>,
    hub: Arc<events::EventHub>,
    streams: Arc<event_streams::Streams>,
    sequences: Arc<sequences::Sequences>,
    is_stopping: AtomicBool,
}

impl App {
    pub fn new(
        store: Arc<dyn Store>,
        limits: Limits,
        vault: Vault,
        environment: Environment,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let hub = Arc::new(events::EventHub::default());
        let told = Arc::clone(&hub);
        store.listen(Box::new(move |change| told.note(change)));
        let sequences = Arc::new(sequences::Sequences::default());
        let told = Arc::clone(&sequences);
        store.listen(Box::new(move |change| told.note(change)));
        let mut query = Query::new(Arc::clone(&store));
        query.set_patience(Duration::from_secs(limits.read_seconds_max.into()));
        Self {
            hub,
            streams: event_streams::Streams::new(&limits),
            sequences,
            query,
            store,
            limits,
            vault,
            environment,
            clock,
            keys: auth::KeyCache::default(),
            link: sessions::SignInLink::default(),
            tester: trials::Tester::default(),
            opened: credentials::Opened::default(),
            altering: tokio::sync::Mutex::new(()),
            repeating: tokio::sync::Mutex::new(()),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// How much memory the columns that views look at may take; a part of the machine's unless it is set.
    pub fn set_query_memory(&self, budget: QueryMemory) {
        self.query.set_memory(budget.bytes());
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// From now on balancers are told to send requests elsewhere. Those that come are still answered.
    pub fn begin_shutdown(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Whether the store answers, and requests are welcome.
    pub async fn ready(&self) -> Result<()> {
        if self.is_stopping() {
            return Err(Error::Stopping);
        }
        Ok(self.store.ping().await?)
    }

    /// Finishes what was accepted and closes the store.
    pub async fn close(&self) -> Result<()> {
        Ok(self.store.close().await?)
    }
}
