//! How a move is asked for, and what it reports.

use rowmill_model::plan::{ColumnTally, Plan, Tally};

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Rows, or whatever else, written in one transaction at most.
    pub batch_rows: u32,
}

/// How far a move has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub phase: Phase,
    pub rows: u64,
    pub rows_total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Copying,
    /// The same, gone on with where an earlier run stopped.
    Resuming,
    Verifying,
}

/// Called now and then.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// What was moved, as counted in the target in the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    pub teams: u64,
    pub keys: u64,
    pub sealed: u64,
    /// Teams with webhooks.
    pub webhooks: u64,
    /// Teams with prices or caps.
    pub spending: u64,
    pub receipts: u64,
    pub projects: u64,
    pub rows: u64,
    pub guests: u64,
    pub retries: u64,
    pub cells: Cells,
    /// Bytes of rows.
    pub bytes: u64,
    /// Rows that this run wrote; an earlier one may have written the others.
    pub rows_now: u64,
}

/// Processed cells by where they stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cells {
    pub idle: u64,
    pub queued: u64,
    pub completed: u64,
    pub error: u64,
    pub skipped: u64,
}

impl Cells {
    pub(crate) fn of(plan: &Plan, tally: &Tally, rows: u64) -> Self {
        let mut cells = Self::default();
        for column in plan.slots().map(|slot| tally.column(slot, rows)) {
            let ColumnTally { idle, queued, generating, completed, error, skipped, stale: _ } = column;
            cells.join(Self { idle, queued: queued + generating, completed, error, skipped });
        }
        cells
    }

    pub(crate) fn join(&mut self, others: Self) {
        let Self { idle, queued, completed, error, skipped } = others;
        self.idle += idle;
        self.queued += queued;
        self.completed += completed;
        self.error += error;
        self.skipped += skipped;
    }
}
