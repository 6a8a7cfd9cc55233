//! What a transaction leaves: the write set, and the change that is told once it is committed.

use rowmill_model::documents::write_tally;
use rowmill_model::plan::EndedRun;
use rowmill_telemetry::TraceContext;

use super::outbox::Outbox;
use super::row_changes::{Fate, LoadedRow, LoadedTally, OpenClaim, RowChanges, ready_slots, unreadable};
use super::write_set::{Finished, WriteSet};
use crate::error::Result;
use crate::spending::person;
use crate::work::Change;

impl<V: Copy> RowChanges<V> {
    /// All that changed so far. Rows, blocks and claims are forgotten and must be loaded again where they are needed:
    /// a store that writes as it goes holds no more than it wants to.
    pub fn flush(&mut self) -> Result<WriteSet<V>> {
        self.close_rows()?;
        self.check_looks()?;
        self.close_claims();
        self.close_blocks();
        self.close_trash();
        self.writes.live = std::mem::take(&mut self.live).by_level();
        if let Some(outbox) = &mut self.outbox {
            self.writes.deliveries = outbox.take();
        }
        let running = match &self.tally {
            LoadedTally::Parsed(tally) => tally.running().and_then(|(_, by)| by),
            LoadedTally::Missing | LoadedTally::Text(_) => None,
        };
        self.writes.ledger = self.ledger.take(&self.project, &person(running));
        Ok(std::mem::take(&mut self.writes))
    }

    /// What is to be written at last, and what is to be told. `now_ms`, in Unix milliseconds, is when runs begin and
    /// end here.
    pub fn finish(mut self, now_ms: i64) -> Result<Finished<V>> {
        let mut writes = self.flush()?;
        let (tally, ended_runs) = match &mut self.tally {
            LoadedTally::Parsed(tally) => {
                let trace = TraceContext::current().map(|context| context.to_string());
                let ended = tally.note_runs(now_ms, &self.started_by, trace.as_deref(), self.is_stop);
                (Some(write_tally(tally).map_err(unreadable)?), ended)
            }
            LoadedTally::Missing | LoadedTally::Text(_) => (None, Vec::new()),
        };
        let mut told = false;
        if let Some(mut outbox) = self.outbox.take() {
            outbox.close();
            self.tell_runs(&mut outbox, &ended_runs);
            writes.deliveries.extend(outbox.take());
            told = outbox.is_told;
        }
        let change = Change {
            project: self.project.id,
            seq: self.change_seq + 1,
            rows: self.changed,
            touched: self.touched,
            moved_from: self.moved_from,
            restated: self.restated,
            revoked: self.revoked,
            ready: self.any_ready,
            told,
        };
        Ok(Finished {
            writes,
            row_count: self.row_count,
            next_position: self.next_position,
            value_bytes_change: self.value_bytes_change,
            lookup_slots: self.lookup_slots,
            trashed_count: self.trashed_count,
            tally,
            ended_runs,
            change,
        })
    }

    /// Tells webhooks of the runs that began and ended here.
    fn tell_runs(&self, outbox: &mut Outbox, ended: &[EndedRun]) {
        let (Some(before), LoadedTally::Parsed(tally)) = (self.runs_before, &self.tally) else { return };
        for run in ended {
            if run.number > before {
                outbox.run_started(run.number, run.started_at_ms, run.started_by.as_ref());
            }
            outbox.run_ended(run);
        }
        if let Some((at_ms, by)) = tally.running()
            && tally.run_number() > before
        {
            outbox.run_started(tally.run_number(), at_ms, by);
        }
    }

    fn close_rows(&mut self) -> Result<()> {
        for LoadedRow { row, fate, version, .. } in std::mem::take(&mut self.rows).into_values() {
            if let Some(outbox) = &mut self.outbox {
                outbox.close_row(&row)?;
            }
            match (fate, version) {
                (Fate::Updated, Some(version)) => self.writes.rows_updated.push((row.into_write()?, version)),
                (Fate::Inserted | Fate::Updated, _) => self.writes.rows_inserted.push(row.into_write()?),
                (Fate::Read, _) => {}
            }
        }
        self.by_id.clear();
        self.matches.clear();
        self.bytes = 0;
        Ok(())
    }

    fn close_claims(&mut self) {
        for (token, OpenClaim { claim, is_new, is_changed }) in std::mem::take(&mut self.claims) {
            match (claim.places.is_empty(), is_new, is_changed) {
                (true, true, _) | (_, false, false) => {}
                (true, false, true) => self.writes.claims_deleted.push(token),
                (false, true, _) => self.writes.claims_made.push((token, claim)),
                (false, false, true) => self.writes.claims_changed.push((token, claim.places)),
            }
        }
    }

    fn close_blocks(&mut self) {
        for (block, open) in std::mem::take(&mut self.blocks) {
            let ready = ready_slots(&self.plan, &open.block);
            for slot in ready.symmetric_difference(&open.ready) {
                self.writes.ready.insert((*slot, block), ready.contains(slot));
            }
            self.any_ready |= !ready.is_empty();
            let marks = open.block.encode();
            if marks == open.stored {
                continue;
            }
            if marks.is_empty() {
                self.writes.blocks_deleted.push(block);
            } else {
                self.writes.blocks.push((block, marks));
            }
        }
    }
}
