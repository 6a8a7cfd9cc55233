//! Batches of cells that a provider works off within a day.
//!
//! A batch holds its cells as a worker does: its id is the [`WorkerId`](crate::WorkerId) of their claims. So stopping,
//! writing or deleting a cell takes it away from its batch, and a result that comes late is dropped, as everywhere.
//! Whoever looks after a batch holds it as a lease; any node may take it over when that has expired.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rowmill_model::{ProjectId, Spent, TeamId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::{Result, StoreError};
use crate::spending::LedgerEntry;
use crate::work::{Lane, WorkerId};

/// A batch, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Names the worker that its cells are claimed by, too.
    pub id: Uuid,
    pub team: TeamId,
    pub lane: Lane,
    pub record: BatchRecord,
}

impl Batch {
    /// Who holds the cells.
    pub fn worker(&self) -> WorkerId {
        WorkerId(self.id)
    }
}

/// What is known of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRecord {
    /// Who works it off, by id.
    pub provider: String,
    /// Who answers, by name.
    #[serde(default)]
    pub model: String,
    pub state: BatchState,
    /// When its first cell was taken, in Unix milliseconds.
    pub since_ms: i64,
    /// When the provider was asked to begin, in Unix milliseconds.
    #[serde(default)]
    pub sent_at_ms: Option<i64>,
    /// How many questions were sent.
    #[serde(default)]
    pub cells: u64,
    /// The provider's names of the uploaded file and of the batch.
    #[serde(default)]
    pub file: Option<String>,
    #[serde(default)]
    pub remote: Option<String>,
    /// Since when it is looked for at the provider, because its creation was not confirmed; in Unix milliseconds.
    #[serde(default)]
    pub sought_since_ms: Option<i64>,
    /// Results that were read and written.
    #[serde(default)]
    pub lines_read: u64,
    /// Results that were about to be written.
    #[serde(default)]
    pub write_ahead: Option<WriteAhead>,
    /// How often the provider was asked since something last changed.
    #[serde(default)]
    pub polls: u32,
    /// When the provider was asked to do no more, in Unix milliseconds.
    #[serde(default)]
    pub cancelled_at_ms: Option<i64>,
}

/// Results that were read and may have been written: whoever reads them again must not count twice what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteAhead {
    /// Up to this line of the results.
    pub lines: u64,
    /// What those of them took whose cells had been taken away. It is not charged yet.
    #[serde(default)]
    pub late: Spent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchState {
    /// Cells are taken and their questions written. Nothing was asked of the provider that costs something.
    Preparing,
    /// The provider was asked to create it. What came of that is not known.
    Creating,
    /// The provider works on it.
    Waiting,
}

impl BatchRecord {
    /// Of a batch that is about to be prepared.
    pub fn new(since_ms: i64) -> Self {
        Self {
            provider: String::new(),
            model: String::new(),
            state: BatchState::Preparing,
            since_ms,
            sent_at_ms: None,
            cells: 0,
            file: None,
            remote: None,
            sought_since_ms: None,
            lines_read: 0,
            write_ahead: None,
            polls: 0,
            cancelled_at_ms: None,
        }
    }

    pub fn to_document(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| StoreError::Damaged(error.to_string()))
    }

    pub fn of_document(document: &str) -> Result<Self> {
        serde_json::from_str(document).map_err(|error| StoreError::Damaged(error.to_string()))
    }
}

/// Who looks after a batch, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLease {
    pub holder: WorkerId,
    /// Unix milliseconds. Zero gives the batch back.
    pub until_ms: i64,
}

/// What a store does for batches.
#[async_trait]
pub trait BatchStore: Send + Sync {
    /// Begins a batch, before any cell is claimed for it.
    async fn open_batch(&self, batch: Batch, lease: BatchLease) -> Result<()>;

    /// Takes the batch that has been due for longest and that nobody looks after, if there is one. Batches of some teams
    /// are left to others.
    async fn take_batch(
        &self,
        lease: BatchLease,
        now_ms: i64,
        except: BTreeSet<TeamId>,
    ) -> Result<Option<Batch>>;

    /// Saves how far a batch has come, and when it is due again; and charges its team, if there is something to charge.
    /// Says whether the holder still looks after it; if not, nothing is written.
    async fn save_batch(
        &self,
        batch: Batch,
        lease: BatchLease,
        due_at_ms: i64,
        charge: Option<LedgerEntry>,
    ) -> Result<bool>;

    /// Goes on looking after a batch. Says whether the holder still did.
    async fn hold_batch(&self, id: Uuid, lease: BatchLease) -> Result<bool>;

    /// Forgets a batch, if the holder still looks after it. Its cells must have been settled or given back before.
    async fn close_batch(&self, id: Uuid, holder: WorkerId) -> Result<()>;

    /// A project's batches, or those of all projects, oldest first.
    async fn batches(&self, project: Option<ProjectId>) -> Result<Vec<Batch>>;

    /// Makes a project's batches due now.
    async fn hurry_batches(&self, project: ProjectId, now_ms: i64) -> Result<()>;
}
