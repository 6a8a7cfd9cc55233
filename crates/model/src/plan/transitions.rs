//! State transitions of one row's cells: triggered, claimed, settled, stopped, edited.

use super::block::Block;
use super::dependencies::Plan;
use super::ending::Ending;
use super::mark::{Mark, Phase};
use super::run::RunTally;
use crate::cell::{CellStates, Details};
use crate::cell_status::{CellStatus, ErrorCode};
use crate::path::allowance::{self, ROW_VISITS_MAX};
use crate::record::{Cells, Slot};
use crate::row::RowView;
use crate::spent::Spent;
use crate::table::Table;
use crate::value::same;

/// Which cells of a row a trigger means. What is `None` is not asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pick {
    pub slots: Option<Vec<Slot>>,
    pub statuses: Option<Vec<CellStatus>>,
    pub error_codes: Option<Vec<ErrorCode>>,
    /// Completed cells and hand-written ones, too.
    pub force: bool,
}

impl Pick {
    pub(super) fn takes(&self, slot: Slot, mark: Mark) -> bool {
        let may_run = match mark.status {
            CellStatus::Queued | CellStatus::Generating => false,
            _ if mark.manual => self.force,
            CellStatus::Completed => self.force || mark.stale,
            CellStatus::Idle | CellStatus::Error | CellStatus::Skipped => true,
        };
        may_run && self.means(slot, mark)
    }

    /// Whether it is about this cell at all, may it run or not.
    pub(super) fn means(&self, slot: Slot, mark: Mark) -> bool {
        let named = |code: ErrorCode| self.error_codes.as_ref().is_none_or(|codes| codes.contains(&code));
        let has_error = matches!(mark.status, CellStatus::Error | CellStatus::Skipped);
        self.slots.as_ref().is_none_or(|slots| slots.contains(&slot))
            && self.statuses.as_ref().is_none_or(|statuses| statuses.contains(&mark.status))
            && (self.error_codes.is_none() || has_error && mark.error.is_some_and(named))
    }
}

/// The cells of one row, while something happens to them.
///
/// Every step leaves the row consistent: each queued cell knows whether it is ready.
#[derive(Debug)]
pub struct RowTransitions<'a> {
    plan: &'a Plan,
    block: &'a mut Block,
    place: u8,
    /// Cells that were running and must not end any more.
    revoked: Vec<Slot>,
    /// What the steps so far brought to an end.
    ended: RunTally,
}

/// Why dependants are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// A hand or a program wrote an input.
    Written,
    /// A run gave an input another value: it goes on to what was made from the old one.
    Run,
}

/// A change of a row's values.
#[derive(Clone, Copy)]
struct Edit<'a> {
    table: &'a Table,
    old: &'a Cells<'a>,
    new: &'a Cells<'a>,
    /// What is known of the row's cells.
    details: &'a Details,
    cause: Cause,
}

fn is_changed(slot: Slot, old: &Cells<'_>, new: &Cells<'_>) -> bool {
    !same(old.get(slot).unwrap_or("null"), new.get(slot).unwrap_or("null"))
}

impl<'a> RowTransitions<'a> {
    pub fn new(plan: &'a Plan, block: &'a mut Block, place: u8) -> Self {
        Self { plan, block, place, revoked: Vec::new(), ended: RunTally::default() }
    }

    /// The running cells that the steps took the work away from, and what came to an end.
    pub fn finish(self) -> (Vec<Slot>, RunTally) {
        (self.revoked, self.ended)
    }

    /// Something was paid for a cell.
    pub fn spend(&mut self, spent: Spent) {
        self.ended.spent += spent;
    }

    /// A row was made with values in these slots.
    pub fn made(&mut self, filled: impl IntoIterator<Item = Slot>) {
        for slot in filled {
            self.write(slot, false);
        }
        if self.plan.autoplay {
            let idle = Pick { statuses: Some(vec![CellStatus::Idle]), ..Pick::default() };
            self.trigger(&idle);
        }
        self.look_around();
    }

    /// Queues the cells a trigger means; says whether there was one.
    pub fn trigger(&mut self, pick: &Pick) -> bool {
        let mut any = false;
        for column in &self.plan.columns {
            let mark = self.mark(column.slot);
            if pick.takes(column.slot, mark) {
                self.set(column.slot, mark.queued());
                any = true;
            }
        }
        self.look_around();
        any
    }

    /// Puts cells that wait or run back to what they were; says how many.
    pub fn stop(&mut self, slots: Option<&[Slot]>) -> u64 {
        let mut stopped = 0;
        for column in &self.plan.columns {
            let mark = self.mark(column.slot);
            if mark.is_pending() && slots.is_none_or(|slots| slots.contains(&column.slot)) {
                self.revoke(column.slot, mark);
                self.set(column.slot, mark.stopped());
                stopped += 1;
            }
        }
        self.look_around();
        self.ended.stopped += stopped;
        stopped
    }

    /// Cells were written by hand. `null` makes a processed cell idle, any other value completes it.
    pub fn written(
        &mut self,
        table: &Table,
        slots: &[Slot],
        old: &Cells<'_>,
        new: &Cells<'_>,
        details: &Details,
    ) {
        for slot in slots {
            self.write(*slot, new.get(*slot).is_none());
        }
        allowance::within(ROW_VISITS_MAX, || {
            for slot in slots {
                let edit = Edit { table, old, new, details, cause: Cause::Written };
                self.follow(*slot, &edit);
                self.watch(*slot, is_changed(*slot, old, new));
            }
        });
        self.look_around();
    }

    /// A worker takes a ready cell.
    pub fn begin(&mut self, slot: Slot) {
        let mark = self.mark(slot);
        self.set(slot, Mark { status: CellStatus::Generating, phase: Phase::Waiting, ..mark });
    }

    /// The worker is lost, or the time of the next try has come: back into the queue.
    pub fn queue_again(&mut self, slot: Slot) {
        let mark = self.mark(slot);
        self.set(slot, Mark { status: CellStatus::Queued, phase: Phase::Waiting, ..mark });
        self.look_around();
    }

    /// A cell ends. `old` and `new` are the row's values before and after, `details` what is known of its cells.
    pub fn settle(
        &mut self,
        table: &Table,
        slot: Slot,
        ending: Ending,
        old: &Cells<'_>,
        new: &Cells<'_>,
        details: &Details,
    ) {
        let mark = self.mark(slot);
        let completed = Mark { stale: mark.outdated, ..Mark::settled(CellStatus::Completed) };
        let settled = match ending {
            Ending::Value => completed,
            Ending::NoData => Mark { no_data: true, ..completed },
            Ending::Retry => Mark { status: CellStatus::Queued, phase: Phase::Later, tried: true, ..mark },
            Ending::Failed(code) => Mark { error: Some(code), ..Mark::settled(CellStatus::Error) },
            Ending::Skipped(code) => Mark { error: Some(code), ..Mark::settled(CellStatus::Skipped) },
        };
        self.set(slot, settled);
        self.ended.count(ending);
        let edit = Edit { table, old, new, details, cause: Cause::Run };
        allowance::within(ROW_VISITS_MAX, || self.follow(slot, &edit));
        if !settled.is_pending() {
            self.watch(slot, settled.status != mark.prior || is_changed(slot, old, new));
        }
        self.look_around();
    }

    /// Works out anew which queued cells are ready.
    pub fn look_around(&mut self) {
        for column in &self.plan.columns {
            let mark = self.mark(column.slot);
            if mark.status != CellStatus::Queued || mark.phase == Phase::Later {
                continue;
            }
            let mut waits = column.waits.iter().filter_map(|index| self.plan.columns.get(*index));
            let blocked = waits.any(|other| self.mark(other.slot).is_pending());
            let phase = if blocked { Phase::Waiting } else { Phase::Ready };
            self.set(column.slot, Mark { phase, ..mark });
        }
    }

    fn write(&mut self, slot: Slot, is_null: bool) {
        if self.plan.column(slot).is_none() {
            return;
        }
        let mark = self.mark(slot);
        self.revoke(slot, mark);
        let written = Mark { manual: true, ..Mark::settled(CellStatus::Completed) };
        self.set(slot, if is_null { Mark::default() } else { written });
    }

    /// Takes a change of one slot to the cells made from it.
    fn follow(&mut self, slot: Slot, edit: &Edit<'_>) {
        let Edit { table, old, new, details, cause } = *edit;
        let plan = self.plan;
        let readers = plan.readers.get(&slot).map(Vec::as_slice).unwrap_or_default();
        for (column, input) in readers {
            let Some(column) = plan.columns.get(*column) else { continue };
            let Some(input) = column.inputs.get(*input) else { continue };
            let states = &CellStates::IDLE;
            let before = input.source.value(&RowView::new(table, old.clone(), states));
            let row = RowView::new(table, new.clone(), states);
            let after = input.source.value(&row);
            // Where paths may not look any more, it is another value for all that is known.
            let is_unknown = allowance::is_spent();
            if is_unknown || !same(before.as_deref().unwrap_or("null"), after.as_deref().unwrap_or("null")) {
                let made_from = details.get(column.slot).and_then(|detail| detail.made_from);
                let is_same = made_from.is_some() && made_from == plan.made_from(column.slot, &row);
                let is_same = is_same && !allowance::is_spent();
                self.input_changed(column.slot, cause, !is_same);
            }
        }
    }

    /// `differs`: the inputs are not those that the cell's result was made from.
    fn input_changed(&mut self, slot: Slot, cause: Cause, differs: bool) {
        let mark = self.mark(slot);
        // What a stop would bring back.
        let has_result = mark.prior == CellStatus::Completed && !mark.manual;
        let stale = if has_result { differs } else { mark.stale };
        match mark.status {
            // It runs on what is not so any more: its result would be wrong.
            CellStatus::Generating => {
                self.revoke(slot, mark);
                self.set(slot, Mark { status: CellStatus::Queued, phase: Phase::Waiting, stale, ..mark });
            }
            CellStatus::Queued => self.set(slot, Mark { stale, ..mark }),
            _ if mark.manual => {}
            CellStatus::Completed if !differs => self.set(slot, Mark { stale: false, answers: 0, ..mark }),
            CellStatus::Completed => {
                // Whatever its column asks, its input is another.
                let stale = Mark { stale: true, answers: 0, ..mark };
                let runs = self.plan.autoplay || cause == Cause::Run;
                self.set(slot, if runs { stale.queued() } else { stale });
            }
            CellStatus::Idle | CellStatus::Error | CellStatus::Skipped if self.plan.autoplay => {
                self.set(slot, mark.queued());
            }
            CellStatus::Idle | CellStatus::Error | CellStatus::Skipped => {}
        }
    }

    /// Takes a change of one slot to the cells that were skipped and whose condition looks at it.
    fn watch(&mut self, slot: Slot, is_changed: bool) {
        let plan = self.plan;
        if !plan.autoplay || !is_changed {
            return;
        }
        let watchers = plan.watchers.get(&slot).into_iter().flatten();
        for column in watchers.filter_map(|index| plan.columns.get(*index)) {
            let mark = self.mark(column.slot);
            if mark.status == CellStatus::Skipped && !mark.manual {
                self.set(column.slot, mark.queued());
            }
        }
    }

    fn revoke(&mut self, slot: Slot, mark: Mark) {
        if mark.status == CellStatus::Generating {
            self.revoked.push(slot);
        }
    }

    fn mark(&self, slot: Slot) -> Mark {
        self.block.get(slot, self.place)
    }

    fn set(&mut self, slot: Slot, mark: Mark) {
        self.block.set(slot, self.place, mark);
    }
}
