//! Cells as they are processed: queued, run, settled, stopped, and taken away from whoever runs them.

use std::collections::BTreeSet;
use std::sync::Arc;

use rowmill_model::documents::read_tally;
use rowmill_model::plan::{
    Ending, Phase, Pick, PlanChange, Rehearsal, RowTransitions, StaleChange, block_of, place_of, position_of,
};
use rowmill_model::record::Slot;
use rowmill_model::row::RowView;
use rowmill_model::{CellError, CellStates, CellStatus};
use uuid::Uuid;

use super::row_changes::{LoadedTally, OpenClaim, RowChanges, not_loaded, unreadable};
use super::write_set::CellClaim;
use crate::error::Result;
use crate::row_values::RowValues;
use crate::work::{CellResult, ChangedRows, Ended, Lane, Stopped, Ticket, Triggered, is_due};

impl<V: Copy> RowChanges<V> {
    /// Takes one row's cells through something, and keeps the counts and claims.
    pub(super) fn step<T>(
        &mut self,
        position: u64,
        step: impl FnOnce(&mut RowTransitions<'_>) -> T,
    ) -> Result<T> {
        let (place, plan) = (place_of(position), Arc::clone(&self.plan));
        let (open, tally) = self.open(block_of(position))?;
        let (outcome, revoked) = tally.step(&plan, &mut open.block, place, step);
        for slot in revoked {
            self.revoke(slot, position);
        }
        self.touch(position);
        Ok(outcome)
    }

    /// Queues cells of these rows, whose blocks are loaded, in `limit` rows at most; says in how many, and in which run.
    pub fn trigger(
        &mut self,
        positions: impl IntoIterator<Item = u64>,
        pick: &Pick,
        limit: u64,
    ) -> Result<Triggered> {
        let mut count = 0;
        for position in positions {
            if count == limit {
                break;
            }
            if self.step(position, |steps| steps.trigger(pick))? {
                count += 1;
            }
        }
        if count == 0 {
            return Ok(Triggered::default());
        }
        self.set_stopped(false);
        Ok(Triggered { rows: count, run: Some(self.run_number()), ..Triggered::default() })
    }

    /// What [`RowChanges::trigger`] would do, and what it would leave as it is. Nothing is changed.
    pub fn rehearse(
        &mut self,
        positions: impl IntoIterator<Item = u64>,
        pick: &Pick,
        limit: u64,
    ) -> Result<Triggered> {
        let plan = Arc::clone(&self.plan);
        let mut rehearsal = Rehearsal::new(&plan);
        for position in positions {
            if rehearsal.rows == limit {
                break;
            }
            let (open, _) = self.open(block_of(position))?;
            rehearsal.look(pick, &plan, &open.block, place_of(position));
        }
        let cells = rehearsal.cells(&plan);
        let Rehearsal { rows, left, .. } = rehearsal;
        Ok(Triggered { rows, run: None, left, cells })
    }

    /// Puts cells of these rows, whose blocks are loaded, back to what they were. `is_all`: the stop is about all rows.
    pub fn stop(
        &mut self,
        positions: impl IntoIterator<Item = u64>,
        slots: Option<&[Slot]>,
        is_all: bool,
    ) -> Result<Stopped> {
        let mut stopped = Stopped::default();
        for position in positions {
            if self.has_marks(block_of(position)) {
                let cells = self.step(position, |steps| steps.stop(slots))?;
                stopped.rows += u64::from(cells > 0);
                stopped.cells += cells;
            }
        }
        self.is_stop = stopped.cells > 0;
        if self.is_stop && is_all && slots.is_none() {
            self.set_stopped(true);
        }
        Ok(stopped)
    }

    fn set_stopped(&mut self, is_stopped: bool) {
        if let LoadedTally::Parsed(tally) = &mut self.tally {
            tally.set_stopped(is_stopped);
        }
    }

    /// Queues a cell again whose time `at_ms` has come, if it still waits for it.
    pub fn queue_due(&mut self, at_ms: i64, slot: Slot, position: u64, now_ms: i64) -> Result<()> {
        self.writes.retries_done.push((at_ms, slot, position));
        let mark = self.block(block_of(position))?.get(slot, place_of(position));
        let waits = mark.status == CellStatus::Queued && mark.phase == Phase::Later;
        // The cell may have been stopped, and be waiting for another try of another run.
        let is_due = self.row(position).is_some_and(|row| {
            row.details.trying(slot).is_none_or(|trying| is_due(trying.retry_at_ms, now_ms))
        });
        if waits && is_due {
            self.step(position, |steps| steps.queue_again(slot))?;
        }
        Ok(())
    }

    /// Takes a result, if the ticket still holds; says whether it did.
    pub fn settle_ticket(
        &mut self,
        worker: Uuid,
        ticket: Ticket,
        result: CellResult,
        now_ms: i64,
    ) -> Result<bool> {
        let is_taken = self.has_row(ticket.position) && self.give_back(worker, ticket);
        if is_taken {
            self.settle(ticket.position, ticket.lane.slot, result, now_ms)?;
        }
        Ok(is_taken)
    }

    /// Ends a cell, or a try of it, and all that follows from that.
    pub(super) fn settle(
        &mut self,
        position: u64,
        slot: Slot,
        result: CellResult,
        now_ms: i64,
    ) -> Result<()> {
        let mark = self.block(block_of(position))?.get(slot, place_of(position));
        self.ledger.note(&self.project, slot, &result, now_ms);
        let row = self.row(position).ok_or_else(not_loaded)?;
        let (spent, ends_at_ms) = (result.spent(), result.ends_at_ms());
        let Ended { ending, value, mut detail, retry_at_ms } = result.end(&row.details, slot, mark, now_ms);
        let values = match value.as_deref() {
            Some(raw) => row.values.with([(slot, raw)])?,
            None => row.values.clone(),
        };
        if matches!(ending, Ending::Value | Ending::NoData) && !mark.outdated {
            let states = &CellStates::IDLE;
            let row = RowView::new(&self.project.table, values.cells()?, states);
            detail.made_from = self.plan.made_from(slot, &row);
        }
        let mut details = row.details.clone();
        details.set(slot, &detail)?;
        if let Some(at_ms) = retry_at_ms {
            self.writes.retries_made.push((at_ms, slot, position));
            let error = detail.trying.as_ref().and_then(|trying| trying.error.clone());
            let (_, tally) = self.open(block_of(position))?;
            if let Some(error) = error {
                tally.put_off(slot, error, ends_at_ms.unwrap_or(at_ms));
            }
        }
        if let Some(outbox) = &mut self.outbox {
            match ending {
                Ending::Value | Ending::NoData => outbox.ended(position, slot, None),
                Ending::Failed(code) => {
                    let message = detail.message.clone().unwrap_or_default();
                    outbox.ended(position, slot, Some(CellError { code, message }));
                }
                Ending::Retry | Ending::Skipped(_) => {}
            }
        }
        let (written, kept) = (value.map(|_| slot), details.clone());
        let new = values.clone();
        let old = self.put(position, values, details, written.as_slice())?;
        // Where nothing was written, there is nothing to compare.
        let (old, new) =
            if written.is_some() { (old, new) } else { (RowValues::default(), RowValues::default()) };
        let (old, new) = (old.cells()?, new.cells()?);
        let project = Arc::clone(&self.project);
        self.step(position, |steps| {
            steps.spend(spent);
            steps.settle(&project.table, slot, ending, &old, &new, &kept);
        })
    }

    // Claims.

    /// Hands cells of one column in one block out to a worker. `is_stored`: the store has written the claim itself, to
    /// have a token for it.
    pub fn hand_out(&mut self, token: u64, claim: CellClaim, is_stored: bool) {
        self.claims.insert(token, OpenClaim { claim, is_new: !is_stored, is_changed: false });
    }

    /// Takes a cell out of a claim, if it is in it.
    fn give_back(&mut self, worker: Uuid, ticket: Ticket) -> bool {
        let (lane, block) = (ticket.lane, block_of(ticket.position));
        let Some(open) = self.claims.get_mut(&ticket.token).filter(|open| {
            let CellClaim { worker: holder, slot, block: in_block, places: _ } = open.claim;
            (holder, slot, in_block) == (worker, lane.slot, block)
        }) else {
            return false;
        };
        let was_held = open.claim.places.remove(place_of(ticket.position));
        open.is_changed |= was_held;
        was_held
    }

    /// Takes a running cell out of whatever claim it is in.
    fn revoke(&mut self, slot: Slot, position: u64) {
        let lane = self.lane(slot);
        for (token, open) in &mut self.claims {
            if (open.claim.slot, open.claim.block) == (slot, block_of(position))
                && open.claim.places.remove(place_of(position))
            {
                open.is_changed = true;
                self.revoked.push(Ticket { token: *token, lane, position });
            }
        }
    }

    /// The workers that lost cells.
    pub fn workers_revoked(&self) -> BTreeSet<Uuid> {
        self.claims.values().filter(|open| open.is_changed).map(|open| open.claim.worker).collect()
    }

    /// Queues again all cells that these workers hold in loaded blocks; says how many.
    pub fn requeue_of(&mut self, workers: &[Uuid]) -> Result<u64> {
        let is_theirs = |open: &OpenClaim| workers.contains(&open.claim.worker);
        let tokens: Vec<u64> =
            self.claims.iter().filter(|(_, open)| is_theirs(open)).map(|(token, _)| *token).collect();
        let mut cells = 0;
        for token in tokens {
            cells += self.requeue(token)?;
        }
        Ok(cells)
    }

    fn requeue(&mut self, token: u64) -> Result<u64> {
        let Some(open) = self.claims.get_mut(&token) else { return Ok(0) };
        open.is_changed = true;
        let CellClaim { slot, block, places, .. } = &mut open.claim;
        let (slot, block, places) = (*slot, *block, std::mem::take(places));
        let lane = self.lane(slot);
        for place in places.iter() {
            let position = position_of(block, place);
            self.revoked.push(Ticket { token, lane, position });
            self.step(position, |steps| steps.queue_again(slot))?;
        }
        Ok(places.count())
    }

    // When columns change.

    /// Begins to go over every block after the columns changed; the counts must be loaded. Then load blocks with their
    /// claims, [`RowChanges::replan_loaded`], flush, and so on; [`RowChanges::end_replan`] at last.
    pub fn begin_replan(&mut self, change: &PlanChange) -> Result<()> {
        let mut known = match std::mem::replace(&mut self.tally, LoadedTally::Missing) {
            LoadedTally::Missing => return Err(not_loaded()),
            LoadedTally::Parsed(tally) => *tally,
            LoadedTally::Text(text) => {
                let tally = text.as_deref().map(read_tally).transpose();
                tally.map_err(unreadable)?.unwrap_or_default()
            }
        };
        self.runs_before.get_or_insert(known.run_number());
        self.refilings = known.askings.change(&change.redefined);
        if !change.graph {
            self.tally = LoadedTally::Parsed(Box::new(known));
            return Ok(());
        }
        self.tally = LoadedTally::Parsed(Box::new(known.recounting()));
        // The columns that were ready may be gone: all entries are written anew.
        self.writes.ready_anew = true;
        // A row nobody touched is counted by nobody; one with marks may count otherwise than before.
        self.changed = ChangedRows::Many;
        self.restated = true;
        Ok(())
    }

    /// Marks what columns hold that ask something else now. If the graph changed, works out anew what waits in the loaded
    /// blocks, counts them again, and takes cells of columns that are gone away from whoever runs them.
    pub fn replan_loaded(&mut self, change: &PlanChange) -> Result<()> {
        for refiling in self.refilings.clone() {
            let mut count = StaleChange::default();
            self.blocks.values_mut().for_each(|open| count += open.block.redefine(refiling));
            *self.filed.entry(refiling.slot).or_default() += count.stale;
            let LoadedTally::Parsed(tally) = &mut self.tally else { return Err(not_loaded()) };
            if !change.graph && count != StaleChange::default() {
                tally.count_stale(refiling.slot, count);
                self.changed = ChangedRows::Many;
                self.restated = true;
            }
        }
        if change.graph { self.replan_graph() } else { Ok(()) }
    }

    /// Every block was gone over: forgets what columns asked before that no cell answers.
    pub fn end_replan(&mut self) {
        let LoadedTally::Parsed(tally) = &mut self.tally else { return };
        for refiling in std::mem::take(&mut self.refilings) {
            if self.filed.get(&refiling.slot).is_none_or(|count| *count == 0) {
                tally.askings.forget(refiling);
            }
        }
    }

    fn replan_graph(&mut self) -> Result<()> {
        let plan = Arc::clone(&self.plan);
        let slots: BTreeSet<Slot> = plan.slots().collect();
        let trashed: Vec<Slot> = self.project.trash.slots().collect();
        let project = self.project.id;
        for (token, open) in self.claims.iter_mut().filter(|(_, open)| !slots.contains(&open.claim.slot)) {
            open.is_changed = true;
            let CellClaim { slot, block, places, .. } = &mut open.claim;
            let lane = Lane { project, slot: *slot };
            let ticket = |place| Ticket { token: *token, lane, position: position_of(*block, place) };
            self.revoked.extend(std::mem::take(places).iter().map(ticket));
        }
        let LoadedTally::Parsed(tally) = &mut self.tally else { return Err(not_loaded()) };
        for open in self.blocks.values_mut() {
            open.block.keep_only(plan.slots().chain(trashed.iter().copied()));
            for slot in &trashed {
                open.block.stop_column(*slot);
            }
            for place in 0..=u8::MAX {
                RowTransitions::new(&plan, &mut open.block, place).look_around();
                tally.add(&plan, &open.block, place);
            }
            open.ready.clear();
        }
        Ok(())
    }
}
