//! What came of a run, counted as its cells end.

use serde::{Deserialize, Serialize};

use super::ending::Ending;
use crate::spent::Spent;

/// What came of the cells of the present run, or of the last one if nothing runs. A run begins when a cell is
/// queued while none waits or runs, and goes on for as long as any does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunTally {
    /// With a value.
    pub done: u64,
    /// With cleanly nothing.
    pub empty: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Before they came to an end, whether they waited or ran.
    pub stopped: u64,
    pub spent: Spent,
}

impl RunTally {
    /// Whether nothing has ended yet, and nothing was paid.
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    /// Cells that have ended in one way or another.
    pub fn ended(&self) -> u64 {
        let Self { done, empty, failed, skipped, stopped, spent: _ } = self;
        done + empty + failed + skipped + stopped
    }

    pub(super) fn count(&mut self, ending: Ending) {
        match ending {
            Ending::Value => self.done += 1,
            Ending::NoData => self.empty += 1,
            Ending::Failed(_) => self.failed += 1,
            Ending::Skipped(_) => self.skipped += 1,
            Ending::Retry => {}
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        let Self { done, empty, failed, skipped, stopped, spent } = other;
        self.done += done;
        self.empty += empty;
        self.failed += failed;
        self.skipped += skipped;
        self.stopped += stopped;
        self.spent += spent;
    }
}
