//! What came of a run, counted as its cells end.

use serde::{Deserialize, Serialize};

use super::causes::Causes;
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
    /// Why cells failed.
    #[serde(skip_serializing_if = "Causes::is_empty")]
    pub failures: Causes,
    /// Why cells were skipped.
    #[serde(skip_serializing_if = "Causes::is_empty")]
    pub skips: Causes,
}

impl RunTally {
    /// Whether nothing has ended yet, and nothing was paid.
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    /// Cells that have ended in one way or another.
    pub fn ended(&self) -> u64 {
        let Self { done, empty, failed, skipped, stopped, spent: _, failures: _, skips: _ } = self;
        done + empty + failed + skipped + stopped
    }

    pub(super) fn count(&mut self, ending: Ending) {
        match ending {
            Ending::Value => self.done += 1,
            Ending::NoData => self.empty += 1,
            Ending::Failed(code) => {
                self.failed += 1;
                self.failures.count(code);
            }
            Ending::Skipped(code) => {
                self.skipped += 1;
                self.skips.count(code);
            }
            Ending::Retry => {}
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        let Self { done, empty, failed, skipped, stopped, spent, failures, skips } = other;
        self.done += done;
        self.empty += empty;
        self.failed += failed;
        self.skipped += skipped;
        self.stopped += stopped;
        self.spent += spent;
        self.failures.join(&failures);
        self.skips.join(&skips);
    }
}

/// Who started a run: whoever queued its first cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "type", content = "name", rename_all = "lowercase")]
pub enum StartedBy {
    /// A program, with the API key of this name.
    Key(String),
    /// A person in the browser, who signed in with the API key of this name.
    Session(String),
    /// Rows were made or inputs changed in a project whose autoplay is on.
    Autoplay,
    /// The same, by the event platform.
    Webhook,
}

/// A run that goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OpenRun {
    /// In Unix milliseconds; `None` until the transaction it began in ends.
    pub(super) at_ms: Option<i64>,
    /// `None` of a run that began before this was noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<StartedBy>,
    /// The trace of the request that started it, as a `traceparent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trace: Option<String>,
    /// Somebody stopped all of it, and nobody has triggered anything since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_stopped: bool,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedRun {
    /// Which of the project's runs it was, from 1.
    pub number: u64,
    /// In Unix milliseconds.
    pub started_at_ms: i64,
    pub ended_at_ms: i64,
    /// `None` of a run that began before this was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_by: Option<StartedBy>,
    /// Somebody stopped what was left of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stopped: bool,
    pub tally: RunTally,
}
