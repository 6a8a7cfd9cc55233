//! How many cells and rows stand where, kept as they change.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::askings::Askings;
use super::block::{Block, StaleChange};
use super::dependencies::Plan;
use super::mark::Phase;
use super::run::{EndedRun, OpenRun, RunTally, StartedBy};
use super::transitions::RowTransitions;
use crate::cell_status::{CellError, CellStatus, ErrorCode};
use crate::record::Slot;

/// Counts of everything but idle cells and rows: those are the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    rows: RowCounts,
    columns: BTreeMap<Slot, ColumnCounts>,
    #[serde(default, skip_serializing_if = "RunTally::is_blank")]
    run: RunTally,
    /// How many runs have begun.
    #[serde(default, skip_serializing_if = "is_zero")]
    runs: u64,
    /// The present run; `None` if nothing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open: Option<OpenRun>,
    /// Runs that ended since the counts were stored, with their numbers.
    #[serde(skip)]
    ended: Vec<(u64, OpenRun, RunTally)>,
    /// What columns asked before, and cells still answer.
    #[serde(default, skip_serializing_if = "Askings::is_empty")]
    pub askings: Askings,
    /// Queued cells that wait for the time of their next try.
    #[serde(default, skip_serializing_if = "is_zero")]
    later: u64,
    /// What the last of them to be put off waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waits_for: Option<WaitsFor>,
}

/// What cells wait for that are tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitsFor {
    /// How the last try failed.
    pub error: CellError,
    /// When the next try is, in Unix milliseconds; at a spending cap, when it begins again, if it does by itself.
    pub until_ms: i64,
    /// The columns that a spending cap holds back. One cell of each is put off to say so; all that are queued wait.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    held_back: BTreeSet<Slot>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RowCounts {
    generating: u64,
    queued: u64,
    error: u64,
    complete: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ColumnCounts {
    queued: u64,
    generating: u64,
    completed: u64,
    error: u64,
    skipped: u64,
    /// Of the completed ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    stale: u64,
}

/// Number of rows in each state. Each row counts once, in the first state that applies: generating, queued,
/// error, idle (a processed cell never ran), complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowTally {
    pub total: u64,
    pub idle: u64,
    pub queued: u64,
    pub generating: u64,
    pub complete: u64,
    pub error: u64,
}

/// Number of cells of a column in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnTally {
    pub idle: u64,
    pub queued: u64,
    pub generating: u64,
    pub completed: u64,
    pub error: u64,
    pub skipped: u64,
    /// Those of the completed ones that are out of date.
    pub stale: u64,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    More,
    Less,
}

impl Tally {
    /// With nothing counted yet, and the run as it is.
    #[must_use]
    pub fn recounting(&self) -> Self {
        Self {
            run: self.run,
            runs: self.runs,
            open: self.open.clone(),
            ended: self.ended.clone(),
            askings: self.askings.clone(),
            waits_for: self.waits_for.clone(),
            ..Self::default()
        }
    }

    /// Takes one row's cells through something and counts what came of it; says from which running cells the
    /// work was taken away.
    pub fn step<T>(
        &mut self,
        plan: &Plan,
        block: &mut Block,
        place: u8,
        step: impl FnOnce(&mut RowTransitions<'_>) -> T,
    ) -> (T, Vec<Slot>) {
        let was_processing = self.is_processing();
        self.remove(plan, block, place);
        let mut steps = RowTransitions::new(plan, block, place);
        let outcome = step(&mut steps);
        let (revoked, ended) = steps.finish();
        self.add(plan, block, place);
        if !was_processing && self.is_processing() {
            self.close_run(false);
            self.run = RunTally::default();
            self.runs = self.runs.saturating_add(1);
            self.open = Some(OpenRun::default());
            self.waits_for = None;
        }
        self.run.join(ended);
        (outcome, revoked)
    }

    /// Says when and by whom the run was started that began since the counts were stored, and hands out those that
    /// ended. To be called before they are stored. `trace` is that of the request, as a `traceparent`. `is_stop`: what happened
    /// is that somebody stopped cells.
    pub fn note_runs(
        &mut self,
        now_ms: i64,
        by: &StartedBy,
        trace: Option<&str>,
        is_stop: bool,
    ) -> Vec<EndedRun> {
        if self.is_processing() {
            // One that began before this was noted.
            self.open.get_or_insert_with(|| OpenRun { at_ms: Some(now_ms), ..OpenRun::default() });
        } else {
            self.close_run(is_stop);
        }
        let note = |open: &mut OpenRun| {
            if open.at_ms.is_none() {
                open.by = Some(by.clone());
                open.trace = trace.map(str::to_owned);
            }
            *open.at_ms.get_or_insert(now_ms)
        };
        if let Some(open) = &mut self.open {
            note(open);
        }
        let end = |(number, mut open, tally): (u64, OpenRun, RunTally)| {
            let started_at_ms = note(&mut open);
            let ended_at_ms = now_ms.max(started_at_ms);
            let OpenRun { by: started_by, is_stopped, .. } = open;
            EndedRun { number, started_at_ms, ended_at_ms, started_by, is_stopped, tally }
        };
        std::mem::take(&mut self.ended).into_iter().map(end).collect()
    }

    /// Somebody stopped all of the present run, or triggered something in it.
    pub fn set_stopped(&mut self, is_stopped: bool) {
        if let Some(open) = &mut self.open {
            open.is_stopped = is_stopped;
        }
    }

    fn close_run(&mut self, is_stop: bool) {
        if let Some(mut open) = self.open.take() {
            open.is_stopped |= is_stop;
            self.ended.push((self.runs, open, self.run));
        }
    }

    /// Completed cells of a column became stale, or up to date.
    pub fn count_stale(&mut self, slot: Slot, StaleChange { stale, fresh }: StaleChange) {
        if stale + fresh > 0 {
            let counts = self.columns.entry(slot).or_default();
            counts.stale = counts.stale.saturating_add(stale).saturating_sub(fresh);
        }
    }

    /// A cell of a column was put off.
    pub fn put_off(&mut self, slot: Slot, error: CellError, until_ms: i64) {
        let mut held_back = BTreeSet::new();
        if error.code == ErrorCode::SpendLimit {
            let before = self.waits_for.take().filter(|before| before.error.code == error.code);
            held_back.extend(before.into_iter().flat_map(|before| before.held_back));
            held_back.insert(slot);
        }
        self.waits_for = Some(WaitsFor { error, until_ms, held_back });
    }

    /// How many cells wait for another try, or for money, and what the last of them waits for; `None` if none does.
    pub fn waiting(&self) -> Option<(u64, &WaitsFor)> {
        let waits_for = self.waits_for.as_ref().filter(|_| self.later > 0)?;
        let queued = |slot: &Slot| self.columns.get(slot).map_or(0, |counts| counts.queued);
        let held_back: u64 = waits_for.held_back.iter().map(queued).sum();
        Some((self.later.max(held_back), waits_for))
    }

    /// How many queued cells wait for the time of their next try.
    pub fn later(&self) -> u64 {
        self.later
    }

    /// Counts a row in.
    pub fn add(&mut self, plan: &Plan, block: &Block, place: u8) {
        self.change(plan, block, place, Change::More);
    }

    /// Counts a row out, before something happens to it.
    pub fn remove(&mut self, plan: &Plan, block: &Block, place: u8) {
        self.change(plan, block, place, Change::Less);
    }

    /// Where the rows stand, of which there are `total`.
    pub fn rows(&self, plan: &Plan, total: u64) -> RowTally {
        let RowCounts { generating, queued, error, complete } = self.rows;
        let rest = total.saturating_sub(generating + queued + error + complete);
        let (idle, complete) = if plan.columns.is_empty() { (0, rest + complete) } else { (rest, complete) };
        RowTally { total, idle, queued, generating, complete, error }
    }

    /// Where a column's cells stand, of which there are `total`.
    pub fn column(&self, slot: Slot, total: u64) -> ColumnTally {
        let counts = self.columns.get(&slot).copied().unwrap_or_default();
        let ColumnCounts { queued, generating, completed, error, skipped, stale } = counts;
        let idle = total.saturating_sub(queued + generating + completed + error + skipped);
        ColumnTally { idle, queued, generating, completed, error, skipped, stale }
    }

    /// What came of the present run, or of the last one.
    pub fn run(&self) -> RunTally {
        self.run
    }

    /// The number of the present run, or of the last one.
    pub fn run_number(&self) -> u64 {
        self.runs
    }

    /// Whether there is a run to tell of. Of the last one nothing may be left to count: its cells can have been
    /// written by hand, or their column deleted. The first of all may have no number, if it began before they were given.
    pub fn has_run(&self) -> bool {
        self.runs > 0 || self.is_processing() || !self.run.is_blank()
    }

    /// When the present run began, in Unix milliseconds, and who started it; `None` if nothing runs.
    pub fn running(&self) -> Option<(i64, Option<&StartedBy>)> {
        self.open.as_ref().map(|open| (open.at_ms.unwrap_or_default(), open.by.as_ref()))
    }

    /// The trace of the request that started the present run, as a `traceparent`.
    pub fn run_trace(&self) -> Option<&str> {
        self.open.as_ref()?.trace.as_deref()
    }

    /// The columns in which cells wait or run, with how many wait and how many run.
    pub fn waiting_and_running(&self) -> impl Iterator<Item = (Slot, u64, u64)> + '_ {
        let busy = self.columns.iter().filter(|(_, counts)| counts.queued + counts.generating > 0);
        busy.map(|(slot, counts)| (*slot, counts.queued, counts.generating))
    }

    /// How many cells wait or run.
    pub fn pending(&self) -> u64 {
        self.columns.values().map(|counts| counts.queued + counts.generating).sum()
    }

    /// Whether any cell is waiting or running.
    pub fn is_processing(&self) -> bool {
        self.rows.generating + self.rows.queued > 0
    }

    fn change(&mut self, plan: &Plan, block: &Block, place: u8, change: Change) {
        let mut statuses = [0_usize; CellStatus::ALL.len()];
        for column in &plan.columns {
            let mark = block.get(column.slot, place);
            let status = mark.status;
            if let Some(seen) = statuses.get_mut(status as usize) {
                *seen += 1;
            }
            if status != CellStatus::Idle {
                let counts = self.columns.entry(column.slot).or_default();
                if let Some(count) = counts.of(status) {
                    change.apply(count);
                }
                if mark.is_stale() {
                    change.apply(&mut counts.stale);
                }
                if status == CellStatus::Queued && mark.phase == Phase::Later {
                    change.apply(&mut self.later);
                }
            }
        }
        let seen = |status: CellStatus| statuses.get(status as usize).is_some_and(|count| *count > 0);
        let rows = &mut self.rows;
        let count = if seen(CellStatus::Generating) {
            &mut rows.generating
        } else if seen(CellStatus::Queued) {
            &mut rows.queued
        } else if seen(CellStatus::Error) {
            &mut rows.error
        } else if seen(CellStatus::Idle) || plan.columns.is_empty() {
            return;
        } else {
            &mut rows.complete
        };
        change.apply(count);
    }
}

impl ColumnCounts {
    fn of(&mut self, status: CellStatus) -> Option<&mut u64> {
        match status {
            CellStatus::Idle => None,
            CellStatus::Queued => Some(&mut self.queued),
            CellStatus::Generating => Some(&mut self.generating),
            CellStatus::Completed => Some(&mut self.completed),
            CellStatus::Error => Some(&mut self.error),
            CellStatus::Skipped => Some(&mut self.skipped),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Change {
    fn apply(self, count: &mut u64) {
        *count = match self {
            Self::More => count.saturating_add(1),
            Self::Less => count.saturating_sub(1),
        };
    }
}
