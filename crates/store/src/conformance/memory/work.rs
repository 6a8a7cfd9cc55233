//! Triggering, stopping, claiming and settling.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rowmill_model::cell::{Detail, Details, Meta, Trying};
use rowmill_model::plan::{Ending, Phase, Rehearsal, StartedBy, Verdict, block_of, place_of, position_of};
use rowmill_model::row::RowView;
use rowmill_model::{CellError, CellStates, ProjectId, Spent};
use rowmill_telemetry::TraceContext;

use super::change::Changes;
use super::state::{MemoryClaim, State};
use crate::error::Result;
use crate::work::{
    CellResult, Claim, Claimed, Lane, Lanes, Rows, Settle, Settled, Settlement, Stop, Stopped, Ticket,
    Trigger, Triggered, WorkerId, is_due,
};

impl State {
    pub(super) fn trigger(
        &mut self,
        changes: &mut Changes,
        trigger: &Trigger,
        by: StartedBy,
    ) -> Result<Triggered> {
        let Trigger { project: id, rows, pick, limit, dry_run, now_ms } = trigger;
        let plan = Arc::clone(&self.entry(*id)?.plan);
        let mut rehearsal = Rehearsal::new(&plan);
        for position in self.meant(*id, rows)? {
            if limit.is_some_and(|limit| rehearsal.rows >= limit) {
                break;
            }
            let entry = self.entry(*id)?;
            let block = entry.blocks.get(&block_of(position)).cloned().unwrap_or_default();
            let before = rehearsal.rows;
            rehearsal.look(pick, &plan, &block, place_of(position));
            if rehearsal.rows > before && !dry_run {
                self.step(changes, (*id, position), Some(*now_ms), |steps| steps.trigger(pick))?;
            }
        }
        let cells = rehearsal.cells(&plan);
        let Rehearsal { rows, left, .. } = rehearsal;
        if *dry_run {
            return Ok(Triggered { rows, run: None, left, cells });
        }
        if rows == 0 {
            return Ok(Triggered::default());
        }
        changes.of(*id).started_by = Some(by);
        let tally = &mut self.entry_mut(*id)?.tally;
        tally.set_stopped(false);
        Ok(Triggered { rows, run: Some(tally.run_number()), ..Triggered::default() })
    }

    pub(super) fn stop(&mut self, changes: &mut Changes, stop: &Stop) -> Result<Stopped> {
        let Stop { project: id, rows, slots, now_ms } = stop;
        let mut stopped = Stopped::default();
        for position in self.meant(*id, rows)? {
            let entry = self.entry(*id)?;
            if !entry.plan.slots().any(|slot| entry.mark(slot, position).is_pending()) {
                continue;
            }
            let cells =
                self.step(changes, (*id, position), Some(*now_ms), |steps| steps.stop(slots.as_deref()))?;
            stopped.rows += u64::from(cells > 0);
            stopped.cells += cells;
        }
        if stopped.cells > 0 {
            changes.of(*id).is_stop = true;
            if *rows == Rows::All && slots.is_none() {
                self.entry_mut(*id)?.tally.set_stopped(true);
            }
        }
        Ok(stopped)
    }

    /// The positions that are meant and there.
    fn meant(&self, id: ProjectId, rows: &Rows) -> Result<Vec<u64>> {
        let entry = self.entry(id)?;
        Ok(match rows {
            Rows::All => entry.rows.keys().copied().collect(),
            Rows::At(positions) => {
                positions.iter().copied().filter(|position| entry.rows.contains_key(position)).collect()
            }
        })
    }

    pub(super) fn lanes(&self, now_ms: i64) -> Lanes {
        let mut ready = BTreeSet::new();
        for (id, entry) in &self.projects {
            let has_ready = |slot| entry.blocks.values().any(|block| block.ready(slot).next().is_some());
            let slots = entry.plan.slots().filter(|slot| has_ready(*slot));
            ready.extend(slots.map(|slot| Lane { project: *id, slot }));
        }
        let mut next_due_ms = None;
        for (at, lane, position) in &self.retries {
            if !self.waits_until(*lane, *position, *at) {
                continue;
            }
            if is_due(*at, now_ms) {
                ready.insert(*lane);
            } else {
                next_due_ms = next_due_ms.or(Some(*at));
            }
        }
        Lanes { ready: ready.into_iter().collect(), next_due_ms }
    }

    /// Whether a cell still waits for this time: it may have been stopped and have failed anew since.
    fn waits_until(&self, lane: Lane, position: u64, at: i64) -> bool {
        let Some(entry) = self.projects.get(&lane.project) else { return false };
        let mark = entry.mark(lane.slot, position);
        let row = entry.rows.get(&position);
        let trying = row.and_then(|row| row.details.trying(lane.slot));
        entry.is_processed(lane.slot)
            && mark.is_pending()
            && mark.phase == Phase::Later
            && trying.is_some_and(|trying| trying.retry_at_ms == at)
    }

    /// Makes cells ready whose time has come.
    fn make_due(&mut self, changes: &mut Changes, now_ms: i64) -> Result<()> {
        let due = self.retries.iter().filter(|(at, ..)| is_due(*at, now_ms)).copied();
        for (at, lane, position) in due.collect::<Vec<_>>() {
            if self.waits_until(lane, position, at) {
                let cell = (lane.project, position);
                self.step(changes, cell, Some(now_ms), |steps| steps.queue_again(lane.slot))?;
            }
            self.retries.remove(&(at, lane, position));
        }
        Ok(())
    }

    pub(super) fn claim(&mut self, changes: &mut Changes, claim: &Claim) -> Result<Vec<Claimed>> {
        self.make_due(changes, claim.now.as_millisecond())?;
        self.take_from(changes, claim, None)
    }

    /// Takes ready cells, of all rows or of these.
    fn take_from(
        &mut self,
        changes: &mut Changes,
        claim: &Claim,
        rows: Option<&BTreeMap<ProjectId, BTreeSet<u64>>>,
    ) -> Result<Vec<Claimed>> {
        self.workers.insert(claim.worker, claim.expires_at_ms);
        let mut claimed = Vec::new();
        let mut bytes_left = claim.bytes_max;
        for (lane, count) in &claim.asks {
            let mut count_left = *count;
            let blocks: Vec<u64> = match self.projects.get(&lane.project) {
                Some(entry) if entry.is_processed(lane.slot) => entry.blocks.keys().copied().collect(),
                _ => continue,
            };
            let rows = rows.map(|rows| rows.get(&lane.project).cloned().unwrap_or_default());
            for block in blocks {
                self.claim_block(
                    changes,
                    claim,
                    *lane,
                    (block, rows.as_ref()),
                    &mut count_left,
                    &mut bytes_left,
                    &mut claimed,
                )?;
            }
        }
        Ok(claimed)
    }

    #[expect(clippy::too_many_arguments, reason = "a claim's inner loop, apart for its length only")]
    fn claim_block(
        &mut self,
        changes: &mut Changes,
        claim: &Claim,
        lane: Lane,
        (block, rows): (u64, Option<&BTreeSet<u64>>),
        count_left: &mut u32,
        bytes_left: &mut usize,
        claimed: &mut Vec<Claimed>,
    ) -> Result<()> {
        let now_ms = claim.now.as_millisecond();
        let token = self.last_token + 1;
        let mut positions = BTreeSet::new();
        let entry = self.entry(lane.project)?;
        let project = Arc::clone(&entry.project);
        let places: Vec<u8> =
            entry.blocks.get(&block).map(|block| block.ready(lane.slot).collect()).unwrap_or_default();
        let positions_ready = places.into_iter().map(|place| position_of(block, place));
        for position in positions_ready.filter(|position| rows.is_none_or(|rows| rows.contains(position))) {
            if *count_left == 0 || *bytes_left == 0 {
                break;
            }
            let Some((verdict, values, row)) = self.entry(lane.project)?.judge(lane, position, claim.now)?
            else {
                continue;
            };
            let cell = (lane.project, position);
            match verdict {
                Verdict::Run => {
                    self.step(changes, cell, Some(now_ms), |steps| steps.begin(lane.slot))?;
                    positions.insert(position);
                    *count_left -= 1;
                    *bytes_left = bytes_left.saturating_sub(values.as_bytes().len());
                    let ticket = Ticket { token, lane, position };
                    let trying = self.trying(lane, position);
                    claimed.push(Claimed {
                        ticket,
                        row,
                        values: values.into(),
                        attempts: trying.as_ref().map_or(0, |trying| trying.attempts),
                        waiting_since_ms: trying.and_then(|trying| trying.since_ms),
                        run: self.entry(lane.project)?.tally.run_number(),
                        trace: self.entry(lane.project)?.tally.run_trace().and_then(TraceContext::parse),
                        project: Arc::clone(&project),
                    });
                }
                Verdict::Skip(error) => {
                    self.end(changes, lane, position, now_ms, CellResult::Skipped(error))?;
                }
            }
        }
        if !positions.is_empty() {
            self.last_token = token;
            self.claims.insert(token, MemoryClaim { worker: claim.worker, lane, positions });
        }
        Ok(())
    }

    /// How far a cell has come that is tried again.
    fn trying(&self, lane: Lane, position: u64) -> Option<Trying> {
        let row = self.projects.get(&lane.project).and_then(|entry| entry.rows.get(&position));
        row.and_then(|row| row.details.trying(lane.slot))
    }

    pub(super) fn settle(&mut self, changes: &mut Changes, settle: Settle) -> Result<Settled> {
        let Settle { worker, now_ms, results, next } = settle;
        let mut taken = Vec::with_capacity(results.len());
        let mut settled: BTreeMap<ProjectId, BTreeSet<u64>> = BTreeMap::new();
        for Settlement { ticket, result } in results {
            let holds = self.claims.get(&ticket.token).is_some_and(|held| {
                held.worker == worker && held.lane == ticket.lane && held.positions.contains(&ticket.position)
            });
            if holds {
                self.drop_ticket(ticket);
                self.end(changes, ticket.lane, ticket.position, now_ms, result)?;
                settled.entry(ticket.lane.project).or_default().insert(ticket.position);
            }
            taken.push(holds);
        }
        let claimed = next.map(|claim| self.take_from(changes, &claim, Some(&settled))).transpose()?;
        Ok(Settled { taken, claimed: claimed.unwrap_or_default() })
    }

    /// Ends a cell, or a try of it.
    fn end(
        &mut self,
        changes: &mut Changes,
        lane: Lane,
        position: u64,
        now_ms: i64,
        result: CellResult,
    ) -> Result<()> {
        let Lane { project: id, slot } = lane;
        let Some(old) = self.values(id, position).cloned() else { return Ok(()) };
        let tries = self.trying(lane, position).map_or(0, |trying| trying.attempts);
        let ended = Detail { attempts: tries + 1, updated_at_ms: Some(now_ms), ..Detail::default() };
        let kept_meta = |meta: Meta| (!meta.is_empty()).then_some(meta);
        let (spent, ends_at_ms) = (result.spent(), result.ends_at_ms());
        let (ending, raw, mut detail) = match result {
            CellResult::Value(raw, meta) if &*raw == "null" => {
                (Ending::NoData, Some(raw), Detail { meta: kept_meta(meta), ..ended })
            }
            CellResult::Value(raw, meta) => {
                (Ending::Value, Some(raw), Detail { meta: kept_meta(meta), ..ended })
            }
            CellResult::NoData(meta) => {
                (Ending::NoData, Some("null".into()), Detail { meta: kept_meta(meta), ..ended })
            }
            CellResult::Failed(CellError { code, message }, meta) => {
                let detail = Detail { message: Some(message), meta: kept_meta(meta), ..ended };
                (Ending::Failed(code), None, detail)
            }
            CellResult::Skipped(CellError { code, message }) => {
                (Ending::Skipped(code), None, Detail { message: Some(message), attempts: 0, ..ended })
            }
            CellResult::Retry { at_ms: at, error, .. } => {
                return self.put_off(
                    changes,
                    lane,
                    position,
                    now_ms,
                    (tries + 1, at, Some(error)),
                    (spent, None),
                );
            }
            CellResult::Later { at_ms: at, error, .. } => {
                let told = (spent, ends_at_ms);
                return self.put_off(changes, lane, position, now_ms, (tries, at, error), told);
            }
        };
        let new = match &raw {
            Some(raw) => old.with([(slot, &**raw)])?,
            None => old.clone(),
        };
        let is_outdated = self.entry(id)?.mark(slot, position).outdated;
        let entry = self.entry_mut(id)?;
        let project = Arc::clone(&entry.project);
        if matches!(ending, Ending::Value | Ending::NoData) && !is_outdated {
            let states = &CellStates::IDLE;
            let row = RowView::new(&project.table, new.cells()?, states);
            detail.made_from = entry.plan.made_from(slot, &row);
        }
        let mut details = Details::default();
        if let Some(row) = entry.rows.get_mut(&position) {
            row.values = new.clone();
            row.details.set(slot, &detail)?;
            details = row.details.clone();
        }
        let (old, new) = (old.cells()?, new.cells()?);
        self.step(changes, (id, position), Some(now_ms), |steps| {
            steps.spend(spent);
            steps.settle(&project.table, slot, ending, &old, &new, &details);
        })
    }

    /// A cell is tried again later; what it had before stays.
    fn put_off(
        &mut self,
        changes: &mut Changes,
        lane: Lane,
        position: u64,
        now_ms: i64,
        (attempts, retry_at_ms, error): (u32, i64, Option<CellError>),
        (spent, ends_at_ms): (Spent, Option<i64>),
    ) -> Result<()> {
        let Lane { project: id, slot } = lane;
        let entry = self.entry_mut(id)?;
        let project = Arc::clone(&entry.project);
        let Some(row) = entry.rows.get_mut(&position) else { return Ok(()) };
        let detail = row.details.get(slot).unwrap_or_default();
        let since_ms = detail.trying.as_ref().and_then(|trying| trying.since_ms).or(Some(now_ms));
        let error = error.or_else(|| detail.trying.as_ref()?.error.clone());
        let waits_for = error.clone();
        let trying = Some(Trying { attempts, retry_at_ms, error, since_ms });
        row.details.set(slot, &Detail { trying, ..detail })?;
        let values = row.values.clone();
        let cells = values.cells()?;
        if let Some(error) = waits_for {
            entry.tally.put_off(slot, error, ends_at_ms.unwrap_or(retry_at_ms));
        }
        self.retries.insert((retry_at_ms, lane, position));
        self.step(changes, (id, position), Some(now_ms), |steps| {
            steps.spend(spent);
            steps.settle(&project.table, slot, Ending::Retry, &cells, &cells, &Details::default());
        })
    }

    pub(super) fn held_by(&self, worker: WorkerId) -> Vec<Ticket> {
        let claims = self.claims.iter().filter(|(_, held)| held.worker == worker);
        claims.flat_map(|(token, held)| held.tickets(*token)).collect()
    }

    pub(super) fn requeue_lost(&mut self, changes: &mut Changes, now_ms: i64) -> Result<u64> {
        let lost = self.workers.iter().filter(|(_, expires_at)| **expires_at <= now_ms);
        let lost: Vec<WorkerId> = lost.map(|(worker, _)| *worker).collect();
        let mut count = 0;
        for worker in lost {
            count += self.let_go(changes, worker, Some(now_ms))?;
        }
        Ok(count)
    }

    /// Queues again what a worker holds.
    pub(super) fn let_go(
        &mut self,
        changes: &mut Changes,
        worker: WorkerId,
        now_ms: Option<i64>,
    ) -> Result<u64> {
        self.workers.remove(&worker);
        let tickets = self.held_by(worker);
        let count = tickets.len() as u64;
        for ticket in tickets {
            let Ticket { lane, position, .. } = ticket;
            self.drop_ticket(ticket);
            changes.of(lane.project).revoked.push(ticket);
            let cell = (lane.project, position);
            self.step(changes, cell, now_ms, |steps| steps.queue_again(lane.slot))?;
        }
        Ok(count)
    }

    /// Takes a cell away from whoever runs it.
    pub(super) fn revoke(&mut self, changes: &mut Changes, lane: Lane, position: u64) {
        let tickets = self.claims.iter().flat_map(|(token, held)| held.tickets(*token));
        let tickets: Vec<Ticket> =
            tickets.filter(|ticket| ticket.lane == lane && ticket.position == position).collect();
        for ticket in tickets {
            self.drop_ticket(ticket);
            changes.of(lane.project).revoked.push(ticket);
        }
    }

    /// The same for every cell of a row.
    pub(super) fn revoke_row(&mut self, changes: &mut Changes, id: ProjectId, position: u64) {
        let lanes: BTreeSet<Lane> =
            self.claims.values().map(|held| held.lane).filter(|lane| lane.project == id).collect();
        for lane in lanes {
            self.revoke(changes, lane, position);
        }
    }

    /// The same for whole columns.
    pub(super) fn revoke_claims(&mut self, changes: &mut Changes, is_meant: impl Fn(Lane) -> bool) {
        self.claims.retain(|token, held| {
            let is_meant = is_meant(held.lane);
            if is_meant {
                changes.of(held.lane.project).revoked.extend(held.tickets(*token));
            }
            !is_meant
        });
    }

    fn drop_ticket(&mut self, ticket: Ticket) {
        let Some(held) = self.claims.get_mut(&ticket.token) else { return };
        held.positions.remove(&ticket.position);
        if held.positions.is_empty() {
            self.claims.remove(&ticket.token);
        }
    }
}

impl MemoryClaim {
    fn tickets(&self, token: u64) -> impl Iterator<Item = Ticket> {
        let lane = self.lane;
        self.positions.iter().map(move |position| Ticket { token, lane, position: *position })
    }
}
