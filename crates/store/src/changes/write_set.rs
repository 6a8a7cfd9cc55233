//! The write set: all that a transaction leaves of one project.

use std::collections::BTreeMap;

use rowmill_model::Deletion;
use rowmill_model::plan::EndedRun;
use rowmill_model::record::Slot;
use uuid::Uuid;

use super::places::Places;
use crate::row_write::RowWrite;
use crate::spending::LedgerEntry;
use crate::webhooks::NewDelivery;
use crate::work::Change;

/// What is to be written. A store may write it in several goes ([`super::RowChanges::flush`]); the order between the
/// tables does not matter, but `ready_anew` comes before `ready`.
#[derive(Debug)]
pub struct WriteSet<V> {
    pub rows_inserted: Vec<RowWrite>,
    /// With the version that was read: if the stored row has another by now, the transaction must fail.
    pub rows_updated: Vec<(RowWrite, V)>,
    pub rows_deleted: Vec<u64>,
    /// Rows that go to the trash, by position.
    pub rows_trashed: Vec<u64>,
    /// Rows that come back from there.
    pub rows_restored: Vec<u64>,
    /// The marks of the rows in the trash, by block; empty if there are none any more.
    pub trash_marks: Vec<(u64, Vec<u8>)>,
    pub trash_made: Vec<TrashEntry>,
    /// Entries with other places than before. Those without any are deleted.
    pub trash_changed: Vec<TrashEntry>,
    /// By column, hash and position: whether the entry exists from now on.
    pub lookups: BTreeMap<(Slot, i64, u64), bool>,
    /// Changes to live counts: level, segment and difference.
    pub live: Vec<(i64, u64, i64)>,
    pub blocks: Vec<(u64, Vec<u8>)>,
    pub blocks_deleted: Vec<u64>,
    /// Forget all that was ready before.
    pub ready_anew: bool,
    /// By column and block: whether the entry exists from now on.
    pub ready: BTreeMap<(Slot, u64), bool>,
    pub claims_made: Vec<(u64, CellClaim)>,
    pub claims_changed: Vec<(u64, Places)>,
    pub claims_deleted: Vec<u64>,
    /// When, in Unix milliseconds, which column and position.
    pub retries_made: Vec<(i64, Slot, u64)>,
    pub retries_done: Vec<(i64, Slot, u64)>,
    /// What webhooks are to be told.
    pub deliveries: Vec<NewDelivery>,
    /// What was used, to be added to the ledger.
    pub ledger: Vec<LedgerEntry>,
}

impl<V> Default for WriteSet<V> {
    fn default() -> Self {
        Self {
            rows_inserted: Vec::new(),
            rows_updated: Vec::new(),
            rows_deleted: Vec::new(),
            rows_trashed: Vec::new(),
            rows_restored: Vec::new(),
            trash_marks: Vec::new(),
            trash_made: Vec::new(),
            trash_changed: Vec::new(),
            lookups: BTreeMap::new(),
            live: Vec::new(),
            blocks: Vec::new(),
            blocks_deleted: Vec::new(),
            ready_anew: false,
            ready: BTreeMap::new(),
            claims_made: Vec::new(),
            claims_changed: Vec::new(),
            claims_deleted: Vec::new(),
            retries_made: Vec::new(),
            retries_done: Vec::new(),
            deliveries: Vec::new(),
            ledger: Vec::new(),
        }
    }
}

/// Rows of one block that were deleted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrashEntry {
    /// The change sequence of the deletion.
    pub batch: u64,
    pub block: u64,
    pub places: Places,
    pub deletion: Deletion,
}

/// A claim: cells of one column in one block that a worker runs.
#[derive(Debug, Clone)]
pub struct CellClaim {
    pub worker: Uuid,
    pub slot: Slot,
    pub block: u64,
    pub places: Places,
}

/// What a transaction leaves beside its write set, and what is told once it is committed.
#[derive(Debug)]
pub struct Finished<V> {
    pub writes: WriteSet<V>,
    pub row_count: u64,
    pub next_position: u64,
    /// How many more bytes the values of all rows take than before, or fewer.
    pub value_bytes_change: i64,
    pub lookup_slots: Vec<Slot>,
    pub trashed_count: u64,
    /// The counts as JSON, if they changed.
    pub tally: Option<String>,
    /// Runs that ended, to be kept.
    pub ended_runs: Vec<EndedRun>,
    pub change: Change,
}
