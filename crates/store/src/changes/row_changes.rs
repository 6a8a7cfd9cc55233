//! One project's rows, while a transaction changes them: what is loaded, and what every change does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rowmill_model::documents::read_tally;
use rowmill_model::plan::{Block, Plan, Refiling, StartedBy, Tally, block_of, place_of};
use rowmill_model::record::Slot;
use rowmill_model::wide_cells::Missed;
use rowmill_model::{CellStates, Project, RowId};
use rowmill_telemetry::TraceContext;

use super::ledger::Ledger;
use super::live::LiveDelta;
use super::outbox::{Outbox, Subscribed};
use super::raw_row::PartRow;
use super::write_set::{CellClaim, TrashEntry, WriteSet};
use crate::error::{Result, StoreError};
use crate::lookup::COMPARED_BYTES_MAX;
use crate::spans::Spans;
use crate::types::StoredRow;
use crate::value_bytes::check_new_bytes;
use crate::work::{ChangedRows, Lane, Ticket};

/// A project as a transaction finds it.
#[derive(Debug)]
pub struct ProjectAtStart {
    pub project: Arc<Project>,
    pub plan: Arc<Plan>,
    pub row_count: u64,
    pub next_position: u64,
    pub change_seq: u64,
    /// The columns that rows are matched on.
    pub lookup_slots: Vec<Slot>,
    /// How many rows are in the trash.
    pub trashed_count: u64,
    /// The webhooks of the project's team; `None` if it has none, which is no work at all.
    pub subscribed: Option<Subscribed>,
}

/// One project's rows, while a transaction changes them.
#[derive(Debug)]
pub struct RowChanges<V> {
    pub project: Arc<Project>,
    pub plan: Arc<Plan>,
    pub(super) row_count: u64,
    pub(super) next_position: u64,
    pub(super) change_seq: u64,
    pub(super) lookup_slots: Vec<Slot>,
    pub(super) rows: BTreeMap<u64, LoadedRow<V>>,
    /// What the loaded rows take, about.
    pub(super) bytes: usize,
    /// How many more bytes the values of all rows take than before, or fewer.
    pub(super) value_bytes_change: i64,
    /// Of the rows that were asked for by id.
    pub(super) by_id: HashMap<RowId, u64>,
    /// The positions at which a value may stand, by column and hash, as far as they were asked for.
    pub(super) matches: HashMap<(Slot, i64), BTreeSet<u64>>,
    /// How many stored bytes were compared in vain, to find rows that match.
    pub(super) compared_bytes: usize,
    pub(super) blocks: BTreeMap<u64, OpenBlock>,
    pub(super) trash: BTreeMap<u64, OpenTrash>,
    pub(super) trashed_count: u64,
    pub(super) restored_count: u64,
    pub(super) claims: BTreeMap<u64, OpenClaim>,
    pub(super) tally: LoadedTally,
    pub(super) live: LiveDelta,
    pub(super) writes: WriteSet<V>,
    pub(super) changed: ChangedRows,
    pub(super) touched: Spans,
    /// The first row that left or came back.
    pub(super) moved_from: Option<u64>,
    pub(super) restated: bool,
    pub(super) revoked: Vec<Ticket>,
    pub(super) any_ready: bool,
    /// What becomes of the results of columns that ask something else, and how many became stale.
    pub(super) refilings: Vec<Refiling>,
    pub(super) filed: BTreeMap<Slot, u64>,
    /// Who starts a run that begins here.
    pub started_by: StartedBy,
    /// Somebody stopped cells.
    pub(super) is_stop: bool,
    /// What webhooks are told; `None` if none is.
    pub(super) outbox: Option<Box<Outbox>>,
    /// What was used by the cells that end here.
    pub(super) ledger: Ledger,
    /// How many runs had begun before.
    pub(super) runs_before: Option<u64>,
    /// A value that was looked at and had not been read.
    pub(super) missed: Missed,
}

#[derive(Debug)]
pub(super) struct LoadedRow<V> {
    pub(super) row: PartRow,
    pub(super) fate: Fate,
    /// What its values take, also those that are not here.
    pub(super) value_bytes: usize,
    /// None of a row that is new.
    pub(super) version: Option<V>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Read,
    Inserted,
    Updated,
}

#[derive(Debug, Default)]
pub(super) struct OpenBlock {
    pub(super) block: Block,
    /// As it is stored; empty if it is not.
    pub(super) stored: Vec<u8>,
    /// The columns that had ready cells.
    pub(super) ready: BTreeSet<Slot>,
}

#[derive(Debug)]
pub(super) struct OpenClaim {
    pub(super) claim: CellClaim,
    pub(super) is_new: bool,
    pub(super) is_changed: bool,
}

/// What of a block is in the trash.
#[derive(Debug, Default)]
pub(super) struct OpenTrash {
    /// The marks of its rows.
    pub(super) marks: Block,
    /// As they are stored; empty if they are not.
    pub(super) stored: Vec<u8>,
    pub(super) entries: Vec<OpenEntry>,
}

#[derive(Debug)]
pub(super) struct OpenEntry {
    pub(super) entry: TrashEntry,
    pub(super) is_new: bool,
    pub(super) is_changed: bool,
}

/// The counts, parsed only where a cell's state changes: most inserts need none.
#[derive(Debug)]
pub(super) enum LoadedTally {
    Missing,
    Text(Option<String>),
    Parsed(Box<Tally>),
}

impl<V: Copy> RowChanges<V> {
    pub fn new(start: ProjectAtStart) -> Self {
        let ProjectAtStart { project, plan, row_count, next_position, change_seq, lookup_slots, .. } = start;
        let outbox = Outbox::of(&project, change_seq + 1, start.subscribed);
        Self {
            project,
            plan,
            row_count,
            next_position,
            change_seq,
            lookup_slots,
            rows: BTreeMap::new(),
            bytes: 0,
            value_bytes_change: 0,
            by_id: HashMap::new(),
            matches: HashMap::new(),
            compared_bytes: 0,
            blocks: BTreeMap::new(),
            trash: BTreeMap::new(),
            trashed_count: start.trashed_count,
            restored_count: 0,
            claims: BTreeMap::new(),
            tally: LoadedTally::Missing,
            live: LiveDelta::default(),
            writes: WriteSet::default(),
            changed: ChangedRows::These { written: Vec::new(), deleted: Vec::new() },
            touched: Spans::default(),
            moved_from: None,
            restated: false,
            revoked: Vec::new(),
            any_ready: false,
            refilings: Vec::new(),
            filed: BTreeMap::new(),
            started_by: StartedBy::Autoplay,
            is_stop: false,
            outbox,
            ledger: Ledger::default(),
            runs_before: None,
            missed: Missed::default(),
        }
    }

    // Loading.

    /// Takes a row as it is stored, if it is not here yet.
    pub fn know(&mut self, row: PartRow, version: V) -> Result<()> {
        let position = row.position;
        if let std::collections::btree_map::Entry::Vacant(vacant) = self.rows.entry(position) {
            self.bytes += bytes_of(&row);
            let (value_bytes, row) = (row.values.bytes()?, row.note_in(&self.missed));
            vacant.insert(LoadedRow { row, fate: Fate::Read, value_bytes, version: Some(version) });
        }
        Ok(())
    }

    /// The same for a row that is asked for by its id.
    pub fn know_by_id(&mut self, row: PartRow, version: V) -> Result<()> {
        self.by_id.insert(row.id, row.position);
        self.know(row, version)
    }

    /// Takes a block's marks as they are stored; empty for a block that nobody touched yet.
    pub fn open_block(&mut self, block: u64, stored: Vec<u8>) -> Result<()> {
        if !self.blocks.contains_key(&block) {
            let marks = if stored.is_empty() { Block::default() } else { Block::decode(&stored)? };
            let ready = ready_slots(&self.plan, &marks);
            self.blocks.insert(block, OpenBlock { block: marks, stored, ready });
        }
        Ok(())
    }

    /// Takes a claim as it is stored. All claims in a block must be here when the block is.
    pub fn open_claim(&mut self, token: u64, claim: CellClaim) {
        self.claims.entry(token).or_insert(OpenClaim { claim, is_new: false, is_changed: false });
    }

    /// Whether the counts are still to be loaded, before the first block is.
    pub fn lacks_tally(&self) -> bool {
        matches!(self.tally, LoadedTally::Missing)
    }

    /// Takes the counts as they are stored, as JSON.
    pub fn open_tally(&mut self, stored: Option<String>) {
        if self.lacks_tally() {
            self.tally = LoadedTally::Text(stored);
        }
    }

    /// Whether the positions of a value are known.
    pub fn knows_matches(&self, slot: Slot, hash: i64) -> bool {
        self.matches.contains_key(&(slot, hash))
    }

    /// Where a value with this hash may stand, as far as that is known.
    pub fn matches(&self, slot: Slot, hash: i64) -> Vec<u64> {
        self.matches.get(&(slot, hash)).into_iter().flatten().copied().collect()
    }

    /// Whether so much was compared that no more rows are matched: each is taken to match several.
    pub fn compared_too_much(&self) -> bool {
        self.compared_bytes > COMPARED_BYTES_MAX
    }

    /// Takes the positions at which a value with this hash may stand. Their rows must be loaded, too.
    pub fn open_matches(&mut self, slot: Slot, hash: i64, positions: impl IntoIterator<Item = u64>) {
        self.matches.entry((slot, hash)).or_default().extend(positions);
    }

    /// From now on rows are matched on this column, too.
    pub fn add_lookup_slot(&mut self, slot: Slot) {
        if !self.lookup_slots.contains(&slot) {
            self.lookup_slots.push(slot);
        }
    }

    // Looking.

    /// A row that was loaded, if it is there.
    pub fn row(&self, position: u64) -> Option<&PartRow> {
        self.rows.get(&position).map(|loaded| &loaded.row)
    }

    pub fn position(&self, id: RowId) -> Option<u64> {
        self.by_id.get(&id).copied()
    }

    /// A row as it is now, whole. Its block must have been loaded.
    pub fn stored(&self, position: u64) -> Result<Option<StoredRow>> {
        let Some(row) = self.row(position) else { return Ok(None) };
        let (id, values) = (row.id, row.values.whole()?);
        let block = self.blocks.get(&block_of(position)).map(|open| &open.block);
        let states = block.map(|block| CellStates::of(block, place_of(position), &row.details));
        Ok(Some(StoredRow { id, position, values, states: states.unwrap_or_default() }))
    }

    /// Takes a row out that was only read, with its version.
    pub fn lend(&mut self, position: u64) -> Option<(PartRow, V)> {
        let loaded = self.rows.get(&position).filter(|loaded| loaded.fate == Fate::Read)?;
        let version = loaded.version?;
        let loaded = self.rows.remove(&position)?;
        self.bytes = self.bytes.saturating_sub(bytes_of(&loaded.row));
        Some((loaded.row, version))
    }

    /// A row with the version it will have once this transaction, whose version `own` is, is committed.
    pub fn row_after(&self, position: u64, own: V) -> Option<(PartRow, V)> {
        let loaded = self.rows.get(&position)?;
        if loaded.fate == Fate::Read {
            return Some((loaded.row.clone(), loaded.version?));
        }
        Some((loaded.row.after().ok()?, own))
    }

    pub fn has_row(&self, position: u64) -> bool {
        self.rows.contains_key(&position)
    }

    pub fn block(&self, block: u64) -> Result<&Block> {
        self.blocks.get(&block).map(|open| &open.block).ok_or_else(not_loaded)
    }

    pub fn is_block_open(&self, block: u64) -> bool {
        self.blocks.contains_key(&block)
    }

    /// Whether any cell of a loaded block was ever touched.
    pub fn has_marks(&self, block: u64) -> bool {
        let is_marked = |open: &OpenBlock| !open.stored.is_empty() || open.block.slots().next().is_some();
        self.blocks.get(&block).is_some_and(is_marked)
    }

    /// The blocks that as many new rows will lie in, if that matters.
    pub fn blocks_of_new(&self, count: usize) -> Vec<u64> {
        if self.plan.slots().next().is_none() || count == 0 {
            return Vec::new();
        }
        let last = self.next_position + u64::try_from(count).unwrap_or_default() - 1;
        (block_of(self.next_position)..=block_of(last)).collect()
    }

    /// Whether writing these slots may concern a processed cell, whose block must then be loaded.
    pub fn concerns(&self, slots: &[Slot]) -> bool {
        slots.iter().any(|slot| self.plan.concerns(*slot))
    }

    pub fn is_indexed(&self, slot: Slot) -> bool {
        self.lookup_slots.contains(&slot)
    }

    /// Whether a row's values must be loaded for it to be deleted.
    pub fn deletes_by_value(&self) -> bool {
        !self.lookup_slots.is_empty()
    }

    /// What the loaded rows take, about: a store that flushes does so by this.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Holds what was written so far to this many more bytes of values.
    pub fn check_new_bytes(&self, new_bytes_max: Option<u64>) -> Result<()> {
        check_new_bytes(self.value_bytes_change, new_bytes_max)
    }

    /// Whether anything happened here.
    pub fn is_touched(&self) -> bool {
        let is_named = match &self.changed {
            ChangedRows::These { written, deleted } => !written.is_empty() || !deleted.is_empty(),
            ChangedRows::Many => true,
        };
        is_named || !self.writes.retries_done.is_empty() || self.claims.values().any(|open| open.is_changed)
    }

    /// The number of the present run, as far as a cell's state changed here.
    pub fn run_number(&self) -> u64 {
        match &self.tally {
            LoadedTally::Parsed(tally) => tally.run_number(),
            LoadedTally::Missing | LoadedTally::Text(_) => 0,
        }
    }

    /// The trace of the request that started the present run.
    pub fn run_trace(&self) -> Option<TraceContext> {
        match &self.tally {
            LoadedTally::Parsed(tally) => TraceContext::parse(tally.run_trace()?),
            LoadedTally::Missing | LoadedTally::Text(_) => None,
        }
    }

    pub fn lane(&self, slot: Slot) -> Lane {
        Lane { project: self.project.id, slot }
    }

    // What every change does.

    pub(super) fn loaded(&mut self, position: u64) -> Result<&mut LoadedRow<V>> {
        self.rows.get_mut(&position).ok_or_else(not_loaded)
    }

    pub(super) fn open(&mut self, block: u64) -> Result<(&mut OpenBlock, &mut Tally)> {
        if let LoadedTally::Text(text) = &self.tally {
            let tally = text.as_deref().map(read_tally).transpose().map_err(unreadable)?;
            let tally: Tally = tally.unwrap_or_default();
            self.runs_before.get_or_insert(tally.run_number());
            self.tally = LoadedTally::Parsed(Box::new(tally));
        }
        match (self.blocks.get_mut(&block), &mut self.tally) {
            (Some(open), LoadedTally::Parsed(tally)) => Ok((open, tally)),
            _ => Err(not_loaded()),
        }
    }

    /// Notes that a row is not what it was.
    pub(super) fn touch(&mut self, position: u64) {
        self.touched.push(position);
        self.name(|written, _| {
            if written.last() != Some(&position) {
                written.push(position);
            }
        });
    }

    pub(super) fn name(&mut self, name: impl FnOnce(&mut Vec<u64>, &mut Vec<RowId>)) {
        if let ChangedRows::These { written, deleted } = &mut self.changed {
            name(written, deleted);
            if written.len() + deleted.len() > ChangedRows::NAMED_MAX {
                self.changed = ChangedRows::Many;
            }
        }
    }
}

pub(super) fn ready_slots(plan: &Plan, block: &Block) -> BTreeSet<Slot> {
    plan.slots().filter(|slot| block.ready(*slot).next().is_some()).collect()
}

pub(super) fn bytes_of(row: &PartRow) -> usize {
    size_of::<PartRow>() + row.values.read_bytes() + row.details.as_bytes().map_or(0, <[u8]>::len)
}

/// How many bytes more values take, or fewer.
pub(super) fn byte_change(before: usize, after: usize) -> i64 {
    let signed = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
    signed(after) - signed(before)
}

/// Something was used that the store did not load.
pub(super) fn not_loaded() -> StoreError {
    StoreError::Damaged("a row or block is missing".to_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub(super) fn unreadable(error: serde_json::Error) -> StoreError {
    StoreError::Damaged(error.to_string())
}
