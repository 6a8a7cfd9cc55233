//! One project's rows, while a transaction changes them.
//!
//! Whoever changes a row does it here, so that everything kept with rows changes with them: marks, counts,
//! live positions, lookups, claims, and the change that is told once it is on the disk. A round trip to the
//! server costs more than the work, so all that will be needed is loaded first, in few questions; then
//! everything happens in memory; and what came of it is written at last, together with the commit.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rowmill_model::cell::{Detail, Details};
use rowmill_model::plan::{Block, Plan, Steps, Tally, block_of, place_of, position_of};
use rowmill_model::record::{Cells, Slot};
use rowmill_model::{CellStates, Project, Record, RowId, value};
use rowmill_store::{
    Change, ChangedRows, Lane, NewRow, Result, RowAction, Spans, StoreError, StoredRow, Ticket,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::database::Tx;
use crate::pages::{RawRow, raw_row};
use crate::positions::LiveDelta;
use crate::projects::{self, Documents, State};
use crate::taken::Known;
use crate::versions::Version;
use crate::writes::Writes;
use crate::{narrow, signed, unsigned};

/// Rows in runs of positions: neighbours are found at the cost of one. OFFSET keeps the planner from going over all
/// rows of a project and comparing each with the runs.
pub(crate) const ROWS_AT: &str = "SELECT r.position, r.id, r.vals, r.details, r.xmin \
     FROM unnest($2::int8[], $3::int8[]) run (first, last) \
     CROSS JOIN LATERAL (SELECT position, id, vals, details, xmin FROM rowmill.rows \
     WHERE project = $1 AND position BETWEEN run.first AND run.last OFFSET 0) r";
pub(crate) const BLOCKS_AT: &str =
    "SELECT block, marks FROM rowmill.blocks WHERE project = $1 AND block = ANY($2)";
pub(crate) const CLAIMS_AT: &str = "SELECT token, worker, slot, block, places FROM rowmill.claims \
     WHERE project = $1 AND block = ANY($2)";

pub(crate) struct Desk {
    pub(crate) state: State,
    pub(crate) project: Arc<Project>,
    pub(crate) plan: Arc<Plan>,
    rows: BTreeMap<u64, Kept>,
    /// Of the rows that were asked for by id.
    by_id: HashMap<RowId, u64>,
    /// The positions at which a value may stand, by column and hash, as far as they were asked for.
    pub(crate) found: HashMap<(Slot, i64), BTreeSet<u64>>,
    blocks: BTreeMap<u64, OpenBlock>,
    claims: BTreeMap<u64, Held>,
    tally: Option<Tally>,
    live: LiveDelta,
    pub(crate) writes: Writes,
    changed: ChangedRows,
    touched: Spans,
    restated: bool,
    revoked: Vec<Ticket>,
}

/// A row on the desk.
struct Kept {
    row: RawRow,
    fate: Fate,
    /// None of a row that is new.
    version: Option<Version>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Read,
    Inserted,
    Updated,
}

struct OpenBlock {
    block: Block,
    /// As it is stored; empty if it is not.
    stored: Vec<u8>,
    /// The columns that had ready cells.
    ready: BTreeSet<Slot>,
}

/// A claim: cells of one column in one block.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) worker: Uuid,
    pub(crate) slot: Slot,
    pub(crate) block: u64,
    pub(crate) places: BTreeSet<u8>,
    is_new: bool,
    is_changed: bool,
}

impl Desk {
    /// Opens a project as it is stored.
    pub(crate) async fn open(tx: &mut Tx, documents: &Documents, state: State) -> Result<Self> {
        let parsed = projects::planned(tx, documents, &state).await?;
        Ok(Self::with(state, parsed.project, parsed.plan))
    }

    /// Opens a project that this transaction saves: the document is written and the version moves on.
    pub(crate) fn open_saved(tx: &mut Tx, mut state: State, project: Project) -> Result<Self> {
        projects::write_document(tx, state.num, &project)?;
        state.version += 1;
        let plan = Arc::new(Plan::of(&project));
        Ok(Self::with(state, Arc::new(project), plan))
    }

    fn with(state: State, project: Arc<Project>, plan: Arc<Plan>) -> Self {
        Self {
            project,
            plan,
            rows: BTreeMap::new(),
            by_id: HashMap::new(),
            found: HashMap::new(),
            blocks: BTreeMap::new(),
            claims: BTreeMap::new(),
            tally: None,
            live: LiveDelta::default(),
            writes: Writes::default(),
            changed: ChangedRows::These { written: Vec::new(), deleted: Vec::new() },
            touched: Spans::default(),
            restated: false,
            revoked: Vec::new(),
            state,
        }
    }

    pub(crate) fn num(&self) -> i64 {
        self.state.num
    }

    pub(crate) fn lane(&self, slot: Slot) -> Lane {
        Lane { project: self.project.id, slot }
    }

    // Loading.

    /// Brings rows and the blocks they lie in onto the desk.
    pub(crate) async fn load(
        &mut self,
        tx: &mut Tx,
        positions: impl IntoIterator<Item = u64>,
        blocks: impl IntoIterator<Item = u64>,
    ) -> Result<()> {
        let positions: BTreeSet<u64> =
            positions.into_iter().filter(|position| !self.rows.contains_key(position)).collect();
        let (firsts, lasts) = runs_of(positions.iter().copied());
        let blocks: BTreeSet<i64> =
            blocks.into_iter().filter(|block| !self.blocks.contains_key(block)).map(signed).collect();
        let blocks: Vec<i64> = blocks.into_iter().collect();
        if positions.is_empty() && blocks.is_empty() {
            return Ok(());
        }
        let num = self.num();
        let answers = tx
            .queries(&[
                (ROWS_AT, &[&num, &firsts, &lasts]),
                (BLOCKS_AT, &[&num, &blocks]),
                (CLAIMS_AT, &[&num, &blocks]),
            ])
            .await?;
        self.take(&answers, blocks.into_iter().map(unsigned))
    }

    /// Takes the answers to [`ROWS_AT`], [`BLOCKS_AT`] and [`CLAIMS_AT`] onto the desk.
    pub(crate) fn take(&mut self, answers: &[Vec<Row>], blocks: impl IntoIterator<Item = u64>) -> Result<()> {
        let [rows, marks, claims] = answers else { return Err(unasked()) };
        self.take_rows(rows)?;
        self.take_blocks(marks, claims)?;
        for block in blocks {
            self.blocks.entry(block).or_insert_with(OpenBlock::untouched);
        }
        Ok(())
    }

    /// Brings rows onto the desk by id.
    pub(crate) async fn load_ids(&mut self, tx: &mut Tx, ids: &[RowId]) -> Result<()> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let sql = "SELECT position, id, vals, details, xmin FROM rowmill.rows \
                   WHERE project = $1 AND id = ANY($2)";
        let rows = tx.query(sql, &[&self.num(), &ids]).await?;
        for row in &rows {
            self.by_id.insert(RowId::from_uuid(row.get(1)), unsigned(row.get(0)));
        }
        self.take_rows(&rows)
    }

    /// Brings a run of blocks onto the desk, as many as there are at most; says which.
    pub(crate) async fn load_blocks_from(&mut self, tx: &mut Tx, first: u64, most: u64) -> Result<Vec<u64>> {
        let sql = "SELECT block, marks FROM rowmill.blocks WHERE project = $1 AND block >= $2 \
                   ORDER BY block LIMIT $3";
        let marks = tx.query(sql, &[&self.num(), &signed(first), &signed(most)]).await?;
        let blocks: Vec<u64> = marks.iter().map(|row| unsigned(row.get(0))).collect();
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(blocks) };
        let sql = "SELECT token, worker, slot, block, places FROM rowmill.claims \
                   WHERE project = $1 AND block BETWEEN $2 AND $3";
        let claims = tx.query(sql, &[&self.num(), &signed(*first), &signed(*last)]).await?;
        self.take_blocks(&marks, &claims)?;
        Ok(blocks)
    }

    fn take_rows(&mut self, rows: &[Row]) -> Result<()> {
        for row in rows {
            self.know((raw_row(row)?, row.get(4)));
        }
        Ok(())
    }

    /// Takes a row onto the desk that was read before, if it is not there yet.
    pub(crate) fn know(&mut self, (row, version): Known) {
        let kept = Kept { row, fate: Fate::Read, version: Some(version) };
        self.rows.entry(kept.row.position).or_insert(kept);
    }

    /// Takes a row off the desk that was only read.
    pub(crate) fn lend(&mut self, position: u64) -> Option<Known> {
        let kept = self.rows.get(&position).filter(|kept| kept.fate == Fate::Read)?;
        let version = kept.version?;
        self.rows.remove(&position).map(|kept| (kept.row, version))
    }

    /// A row as it will be known once this transaction, whose version this is, is through.
    pub(crate) fn known(&self, position: u64, own: Version) -> Option<Known> {
        let kept = self.rows.get(&position)?;
        let version = if kept.fate == Fate::Read { kept.version? } else { own };
        Some((kept.row.clone(), version))
    }

    pub(crate) fn take_blocks<'a>(
        &mut self,
        marks: impl IntoIterator<Item = &'a Row>,
        claims: impl IntoIterator<Item = &'a Row>,
    ) -> Result<()> {
        for row in marks {
            let stored: &[u8] = row.get(1);
            let block = Block::decode(stored)?;
            let ready = ready_slots(&self.plan, &block);
            self.blocks.insert(unsigned(row.get(0)), OpenBlock { block, stored: stored.to_vec(), ready });
        }
        for row in claims {
            let held = Held {
                worker: row.get(1),
                slot: narrow(row.get(2))?,
                block: unsigned(row.get(3)),
                places: row.get::<_, &[u8]>(4).iter().copied().collect(),
                is_new: false,
                is_changed: false,
            };
            self.claims.insert(unsigned(row.get(0)), held);
        }
        Ok(())
    }

    // Looking.

    /// A row that was loaded, if it is there.
    pub(crate) fn row(&self, position: u64) -> Option<&RawRow> {
        self.rows.get(&position).map(|kept| &kept.row)
    }

    pub(crate) fn position(&self, id: RowId) -> Option<u64> {
        self.by_id.get(&id).copied()
    }

    /// A row as it is now, whole. Its block must have been loaded.
    pub(crate) fn stored(&self, position: u64) -> Option<StoredRow> {
        let RawRow { id, position, values, details } = self.row(position)?.clone();
        let block = self.blocks.get(&block_of(position)).map(|open| &open.block);
        let states = block.map(|block| CellStates::of(block, place_of(position), &details));
        Some(StoredRow { id, position, values, states: states.unwrap_or_default() })
    }

    pub(crate) fn block(&self, block: u64) -> Result<&Block> {
        self.blocks.get(&block).map(|open| &open.block).ok_or_else(not_loaded)
    }

    /// The blocks on the desk in which a column has ready cells.
    pub(crate) fn blocks_with_ready(&self, slot: Slot) -> impl Iterator<Item = u64> {
        let has_ready = move |open: &OpenBlock| open.block.ready(slot).next().is_some();
        self.blocks.iter().filter(move |(_, open)| has_ready(open)).map(|(block, _)| *block)
    }

    pub(crate) fn claims_of<'a>(&'a self, workers: &'a [Uuid]) -> impl Iterator<Item = (u64, &'a Held)> {
        self.claims
            .iter()
            .filter(|(_, held)| workers.contains(&held.worker))
            .map(|(token, held)| (*token, held))
    }

    // Changing.

    pub(crate) fn insert(&mut self, row: &NewRow, now_ms: i64) -> Result<(RowId, RowAction)> {
        let position = self.state.next_position;
        let cells = row.values.cells()?;
        let by_hand: Vec<Slot> = self.plan.slots().filter(|slot| cells.get(*slot).is_some()).collect();
        let mut details = Details::default();
        for slot in &by_hand {
            details.set(*slot, &written_at(now_ms))?;
        }
        self.look_up(position, None, Some(&cells));
        let raw = RawRow { id: row.id, position, values: row.values.clone(), details };
        self.rows.insert(position, Kept { row: raw, fate: Fate::Inserted, version: None });
        self.live.add(position, 1);
        self.state.next_position += 1;
        self.state.row_count += 1;
        self.touch(position);
        if self.plan.plays() || !by_hand.is_empty() {
            self.step(position, |steps| steps.made(by_hand))?;
        }
        Ok((row.id, RowAction::Inserted))
    }

    /// The blocks that as many new rows will lie in, if that matters.
    pub(crate) fn blocks_of_new(&self, count: usize) -> Vec<u64> {
        if self.plan.slots().next().is_none() || count == 0 {
            return Vec::new();
        }
        let last = self.state.next_position + u64::try_from(count).unwrap_or_default() - 1;
        (block_of(self.state.next_position)..=block_of(last)).collect()
    }

    /// Writes what was sent over a stored row, unless that changes nothing.
    pub(crate) fn update(&mut self, position: u64, sent: &NewRow, now_ms: i64) -> Result<(RowId, RowAction)> {
        let stored = self.row(position).ok_or_else(not_loaded)?.clone();
        let old = stored.values.cells()?;
        let sent_cells = sent.values.cells()?;
        let cleared = sent.cleared.iter().map(|slot| (*slot, "null"));
        let changed: Vec<(Slot, &str)> = sent_cells
            .iter()
            .chain(cleared)
            .filter(|(slot, raw)| !value::same(old.get(*slot).unwrap_or("null"), raw))
            .collect();
        if changed.is_empty() {
            return Ok((stored.id, RowAction::Unchanged));
        }
        self.write(position, &changed, now_ms)?;
        Ok((stored.id, RowAction::Updated))
    }

    /// Writes cells of a row by hand.
    pub(crate) fn write(&mut self, position: u64, writes: &[(Slot, &str)], now_ms: i64) -> Result<()> {
        let stored = self.row(position).ok_or_else(not_loaded)?.clone();
        let values = stored.values.with(writes.iter().copied())?;
        let slots: Vec<Slot> = writes.iter().map(|(slot, _)| *slot).collect();
        let mut details = stored.details.clone();
        for slot in self.plan.slots().filter(|slot| slots.contains(slot)) {
            let is_null = values.cells()?.get(slot).is_none();
            details.set(slot, &if is_null { Detail::default() } else { written_at(now_ms) })?;
        }
        self.put(position, values.clone(), details)?;
        if self.concern(&slots) {
            let (old, new) = (stored.values.cells()?, values.cells()?);
            let project = Arc::clone(&self.project);
            self.step(position, |steps| steps.written(&project.table, &slots, &old, &new))?;
        }
        Ok(())
    }

    /// Whether writing these slots may concern a processed cell.
    pub(crate) fn concern(&self, slots: &[Slot]) -> bool {
        slots.iter().any(|slot| self.plan.concerns(*slot))
    }

    /// Writes a row's values and details, and whatever follows from the values alone. Says what the values were.
    pub(crate) fn put(&mut self, position: u64, values: Record, details: Details) -> Result<Record> {
        let kept = self.rows.get_mut(&position).ok_or_else(not_loaded)?;
        let old = std::mem::replace(&mut kept.row.values, values);
        kept.row.details = details;
        if kept.fate == Fate::Read {
            kept.fate = Fate::Updated;
        }
        if !self.state.lookup_slots.is_empty() {
            let new = kept.row.values.clone();
            self.look_up(position, Some(&old.cells()?), Some(&new.cells()?));
        }
        self.touch(position);
        Ok(old)
    }

    pub(crate) fn delete(&mut self, position: u64) -> Result<()> {
        let RawRow { id, values, .. } = self.rows.remove(&position).ok_or_else(not_loaded)?.row;
        self.by_id.remove(&id);
        self.look_up(position, Some(&values.cells()?), None);
        self.writes.rows_deleted.push(signed(position));
        self.live.add(position, -1);
        self.state.row_count = self.state.row_count.saturating_sub(1);
        self.touched.push(position);
        self.name(|_, deleted| deleted.push(id));
        if self.has_block(block_of(position)) {
            self.step(position, |steps| steps.stop(None))?;
            let plan = Arc::clone(&self.plan);
            let (open, tally) = self.opened(block_of(position))?;
            tally.remove(&plan, &open.block, place_of(position));
            open.block.clear(place_of(position));
        }
        Ok(())
    }

    /// Takes one row's cells through something, and keeps the counts and claims.
    pub(crate) fn step<T>(&mut self, position: u64, step: impl FnOnce(&mut Steps<'_>) -> T) -> Result<T> {
        let (place, plan) = (place_of(position), Arc::clone(&self.plan));
        let (open, tally) = self.opened(block_of(position))?;
        let (outcome, revoked) = tally.step(&plan, &mut open.block, place, step);
        for slot in revoked {
            self.revoke(slot, position);
        }
        self.touch(position);
        Ok(outcome)
    }

    /// Whether any cell of a loaded block was ever touched.
    pub(crate) fn has_block(&self, block: u64) -> bool {
        self.blocks
            .get(&block)
            .is_some_and(|open| !open.stored.is_empty() || open.block.slots().next().is_some())
    }

    /// Whether anything happened here.
    pub(crate) fn is_touched(&self) -> bool {
        let is_named = match &self.changed {
            ChangedRows::These { written, deleted } => !written.is_empty() || !deleted.is_empty(),
            ChangedRows::Many => true,
        };
        is_named || !self.writes.retries_done.is_empty() || self.claims.values().any(|held| held.is_changed)
    }

    /// Notes that a row is not what it was.
    fn touch(&mut self, position: u64) {
        self.touched.push(position);
        self.name(|written, _| {
            if written.last() != Some(&position) {
                written.push(position);
            }
        });
    }

    fn name(&mut self, name: impl FnOnce(&mut Vec<u64>, &mut Vec<RowId>)) {
        if let ChangedRows::These { written, deleted } = &mut self.changed {
            name(written, deleted);
            if written.len() + deleted.len() > ChangedRows::NAMED_MAX {
                self.changed = ChangedRows::Many;
            }
        }
    }

    /// Keeps the lookups over a row that changed from `old` to `new`.
    fn look_up(&mut self, position: u64, old: Option<&Cells<'_>>, new: Option<&Cells<'_>>) {
        for slot in &self.state.lookup_slots {
            let hash_of = |cells: Option<&Cells<'_>>| {
                let raw = cells.and_then(|cells| cells.get(*slot))?;
                value::match_key(raw).map(u64::cast_signed)
            };
            let (old, new) = (hash_of(old), hash_of(new));
            if old == new {
                continue;
            }
            if let Some(hash) = old {
                self.writes.lookups.insert((*slot, hash, position), false);
                if let Some(positions) = self.found.get_mut(&(*slot, hash)) {
                    positions.remove(&position);
                }
            }
            if let Some(hash) = new {
                self.writes.lookups.insert((*slot, hash, position), true);
                if let Some(positions) = self.found.get_mut(&(*slot, hash)) {
                    positions.insert(position);
                }
            }
        }
    }

    fn opened(&mut self, block: u64) -> Result<(&mut OpenBlock, &mut Tally)> {
        if self.tally.is_none() {
            self.tally = Some(self.state.tally()?);
        }
        match (self.blocks.get_mut(&block), &mut self.tally) {
            (Some(open), Some(tally)) => Ok((open, tally)),
            _ => Err(not_loaded()),
        }
    }

    // Claims.

    /// Hands cells of one column in one block out to a worker.
    pub(crate) fn hand_out(
        &mut self,
        token: u64,
        worker: Uuid,
        slot: Slot,
        block: u64,
        places: BTreeSet<u8>,
    ) {
        self.claims.insert(token, Held { worker, slot, block, places, is_new: true, is_changed: false });
    }

    /// Takes a cell out of a claim, if it is in it.
    pub(crate) fn give_back(&mut self, worker: Uuid, ticket: Ticket) -> bool {
        let place = place_of(ticket.position);
        let held = self.claims.get_mut(&ticket.token).filter(|held| {
            held.worker == worker
                && (held.slot, held.block) == (ticket.lane.slot, block_of(ticket.position))
                && held.places.contains(&place)
        });
        let Some(held) = held else { return false };
        held.places.remove(&place);
        held.is_changed = true;
        true
    }

    /// Takes a running cell out of whatever claim it is in.
    fn revoke(&mut self, slot: Slot, position: u64) {
        let lane = self.lane(slot);
        for (token, held) in &mut self.claims {
            if (held.slot, held.block) == (slot, block_of(position))
                && held.places.remove(&place_of(position))
            {
                held.is_changed = true;
                self.revoked.push(Ticket { token: *token, lane, position });
            }
        }
    }

    /// The workers that lost cells.
    pub(crate) fn losers(&self) -> BTreeSet<Uuid> {
        self.claims.values().filter(|held| held.is_changed).map(|held| held.worker).collect()
    }

    /// Queues again all the cells of a claim; says how many.
    pub(crate) fn requeue(&mut self, token: u64) -> Result<u64> {
        let Some(held) = self.claims.get_mut(&token) else { return Ok(0) };
        held.is_changed = true;
        let (slot, block, places) = (held.slot, held.block, std::mem::take(&mut held.places));
        let lane = self.lane(slot);
        for place in &places {
            let position = position_of(block, *place);
            self.revoked.push(Ticket { token, lane, position });
            self.step(position, |steps| steps.queue_again(slot))?;
        }
        Ok(u64::try_from(places.len()).unwrap_or_default())
    }

    /// Goes over every block after the columns changed: what waits is worked out anew, all is counted
    /// again, and whoever runs a cell of a column that is gone loses it.
    pub(crate) async fn replan(&mut self, tx: &mut Tx) -> Result<()> {
        self.load_blocks_from(tx, 0, u64::MAX >> 1).await?;
        let plan = Arc::clone(&self.plan);
        let slots: BTreeSet<Slot> = plan.slots().collect();
        let id = self.project.id;
        for (token, held) in self.claims.iter_mut().filter(|(_, held)| !slots.contains(&held.slot)) {
            held.is_changed = true;
            for place in std::mem::take(&mut held.places) {
                let (lane, position) =
                    (Lane { project: id, slot: held.slot }, position_of(held.block, place));
                self.revoked.push(Ticket { token: *token, lane, position });
            }
        }
        let known = self.tally.take().map_or_else(|| self.state.tally(), Ok)?;
        let mut tally = known.recounting();
        for open in self.blocks.values_mut() {
            open.block.keep_only(plan.slots());
            for place in 0..=u8::MAX {
                Steps::new(&plan, &mut open.block, place).look_around();
                tally.add(&plan, &open.block, place);
            }
            open.ready.clear();
        }
        self.tally = Some(tally);
        // The columns that were ready may be gone: all entries are written anew.
        self.writes.ready_anew = true;
        self.changed = ChangedRows::Many;
        self.restated = true;
        Ok(())
    }

    /// Leaves with the transaction all that is to be written, and says what is to be told. Without a time the
    /// counts keep theirs.
    pub(crate) fn finish(mut self, tx: &mut Tx, now_ms: impl Into<Option<i64>>) -> Result<Change> {
        let ready = self.close_blocks();
        for Kept { row, fate, version } in std::mem::take(&mut self.rows).into_values() {
            match (fate, version) {
                (Fate::Read, _) => {}
                (Fate::Inserted, _) => self.writes.rows_inserted.push(row),
                (Fate::Updated, Some(version)) => self.writes.rows_updated.push((row, version)),
                (Fate::Updated, None) => return Err(not_loaded()),
            }
        }
        for (token, held) in std::mem::take(&mut self.claims) {
            match (held.places.is_empty(), held.is_new, held.is_changed) {
                (true, true, _) | (_, false, false) => {}
                (true, false, true) => self.writes.claims_deleted.push(signed(token)),
                (false, is_new, _) => {
                    let claims =
                        if is_new { &mut self.writes.claims_made } else { &mut self.writes.claims_changed };
                    claims.push(token, &held);
                }
            }
        }
        self.writes.live = std::mem::take(&mut self.live).by_level();
        self.state.change_seq += 1;
        if let Some(tally) = &self.tally {
            self.state.tally = Some(serde_json::to_string(tally).map_err(crate::damaged)?);
            self.state.tallied_at = now_ms.into().or(self.state.tallied_at).or(Some(0));
        }
        self.writes.hand_over(tx, &self.state);
        let Self { project, state, changed, touched, restated, revoked, .. } = self;
        let seq = state.change_seq;
        Ok(Change { project: project.id, seq, rows: changed, touched, restated, revoked, ready })
    }

    /// Notes which blocks changed; says whether any has ready cells.
    fn close_blocks(&mut self) -> bool {
        let mut any_ready = false;
        for (block, open) in std::mem::take(&mut self.blocks) {
            let ready = ready_slots(&self.plan, &open.block);
            for slot in ready.symmetric_difference(&open.ready) {
                self.writes.ready.insert((*slot, block), ready.contains(slot));
            }
            any_ready |= !ready.is_empty();
            let marks = open.block.encode();
            if marks == open.stored {
                continue;
            }
            if marks.is_empty() {
                self.writes.blocks_deleted.push(signed(block));
            } else {
                self.writes.blocks.push((signed(block), marks));
            }
        }
        any_ready
    }
}

/// Where runs of neighbouring positions begin and end. The positions must be in order.
pub(crate) fn runs_of(positions: impl IntoIterator<Item = u64>) -> (Vec<i64>, Vec<i64>) {
    let (mut firsts, mut lasts) = (Vec::new(), Vec::<i64>::new());
    for position in positions.into_iter().map(signed) {
        match lasts.last_mut() {
            Some(last) if *last + 1 == position => *last = position,
            _ => {
                firsts.push(position);
                lasts.push(position);
            }
        }
    }
    (firsts, lasts)
}

impl OpenBlock {
    fn untouched() -> Self {
        Self { block: Block::default(), stored: Vec::new(), ready: BTreeSet::new() }
    }
}

fn ready_slots(plan: &Plan, block: &Block) -> BTreeSet<Slot> {
    plan.slots().filter(|slot| block.ready(*slot).next().is_some()).collect()
}

fn written_at(now_ms: i64) -> Detail {
    Detail { updated_at: Some(now_ms), ..Detail::default() }
}

/// Something was used that nobody brought onto the desk.
pub(crate) fn not_loaded() -> StoreError {
    StoreError::Damaged("a row or block is missing".to_owned())
}

pub(crate) fn unasked() -> StoreError {
    StoreError::Damaged("the database answered something else".to_owned())
}
