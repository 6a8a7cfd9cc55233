//! A cell's state, kept apart from its value.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{Block, Mark, Phase};
use crate::record::Slot;

/// Where a cell stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CellStatus {
    /// An input, or never run.
    #[default]
    Idle,
    Queued,
    Generating,
    Completed,
    Error,
    Skipped,
}

impl CellStatus {
    pub const ALL: [Self; 6] =
        [Self::Idle, Self::Queued, Self::Generating, Self::Completed, Self::Error, Self::Skipped];

    /// The word the API uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Queued => "queued",
            Self::Generating => "generating",
            Self::Completed => "completed",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }
}

/// Why a cell ended in `error` or `skipped`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    MissingInput,
    InvalidInput,
    ConditionNotMet,
    DependencyError,
    MissingCredentials,
    InvalidCredentials,
    OutOfCredits,
    RateLimited,
    TimedOut,
    ProviderError,
    Blocked,
    InvalidOutput,
    TooLarge,
    Stopped,
}

impl ErrorCode {
    pub const ALL: [Self; 14] = [
        Self::MissingInput,
        Self::InvalidInput,
        Self::ConditionNotMet,
        Self::DependencyError,
        Self::MissingCredentials,
        Self::InvalidCredentials,
        Self::OutOfCredits,
        Self::RateLimited,
        Self::TimedOut,
        Self::ProviderError,
        Self::Blocked,
        Self::InvalidOutput,
        Self::TooLarge,
        Self::Stopped,
    ];

    /// The word the API uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::MissingInput => "missing_input",
            Self::InvalidInput => "invalid_input",
            Self::ConditionNotMet => "condition_not_met",
            Self::DependencyError => "dependency_error",
            Self::MissingCredentials => "missing_credentials",
            Self::InvalidCredentials => "invalid_credentials",
            Self::OutOfCredits => "out_of_credits",
            Self::RateLimited => "rate_limited",
            Self::TimedOut => "timed_out",
            Self::ProviderError => "provider_error",
            Self::Blocked => "blocked",
            Self::InvalidOutput => "invalid_output",
            Self::TooLarge => "too_large",
            Self::Stopped => "stopped",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.word() == word)
    }
}

/// What went wrong in a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellError {
    pub code: ErrorCode,
    #[schemars(length(max = 10_000))]
    pub message: String,
}

/// Everything known of a cell but its value. The default is what an untouched cell has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellState {
    pub status: CellStatus,
    pub stale: bool,
    pub manual: bool,
    pub outcome: Option<Outcome>,
    pub error: Option<CellError>,
    pub attempts: u32,
    /// Unix milliseconds before which a queued cell is not tried again.
    pub retry_at: Option<i64>,
    /// Unix milliseconds of the last change.
    pub updated_at: Option<i64>,
    /// Where the value came from: provider, model, milliseconds, cost, source.
    pub meta: Option<Meta>,
}

/// Where a value came from.
pub type Meta = serde_json::Map<String, serde_json::Value>;

impl CellState {
    /// Puts together what a mark says and what the row keeps beside it.
    pub fn of(mark: Mark, detail: Option<&Detail>) -> Self {
        let is_trying = mark.is_pending() && mark.tried;
        let trying = detail.and_then(|detail| detail.trying.as_ref()).filter(|_| is_trying);
        let message = detail.and_then(|detail| detail.message.clone()).unwrap_or_default();
        let error = mark.error.filter(|_| !mark.is_pending()).map(|code| CellError { code, message });
        Self {
            status: mark.status,
            stale: mark.stale,
            manual: mark.manual,
            outcome: (mark.no_data && !mark.is_pending()).then_some(Outcome::NoData),
            error: trying.map(|trying| trying.error.clone()).or(error),
            attempts: match trying {
                Some(trying) => trying.attempts,
                None if mark.is_pending() => 0,
                None => detail.map_or(0, |detail| detail.attempts),
            },
            retry_at: trying.filter(|_| mark.phase == Phase::Later).map(|trying| trying.retry_at),
            updated_at: detail.and_then(|detail| detail.updated_at),
            meta: detail.and_then(|detail| detail.meta.clone()),
        }
    }
}

/// What a row keeps of a processed cell beside its value and its mark.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Detail {
    /// The words of the error the mark has the code of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The tries of a run that had not ended when this was written. They count where the mark says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trying: Option<Trying>,
}

/// How far a cell has come that failed and is to be tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trying {
    pub attempts: u32,
    /// Unix milliseconds.
    pub retry_at: i64,
    pub error: CellError,
}

/// The details of a row's cells. Most rows have none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Details(pub BTreeMap<Slot, Detail>);

impl Details {
    pub fn get(&self, slot: Slot) -> Option<&Detail> {
        self.0.get(&slot)
    }

    pub fn trying(&self, slot: Slot) -> Option<&Trying> {
        self.0.get(&slot)?.trying.as_ref()
    }

    /// How many tries of a cell's present run have failed.
    pub fn tries(&self, slot: Slot, mark: Mark) -> u32 {
        self.trying(slot).filter(|_| mark.tried).map_or(0, |trying| trying.attempts)
    }

    /// Sets what is known of a cell; nothing is not kept.
    pub fn set(&mut self, slot: Slot, detail: Detail) {
        if detail == Detail::default() {
            self.0.remove(&slot);
        } else {
            self.0.insert(slot, detail);
        }
    }
}

/// How a completed cell ended, where the value alone does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The provider answered cleanly that there is nothing.
    NoData,
}

/// The states of a row's cells. A cell that is absent is idle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellStates(pub BTreeMap<Slot, CellState>);

impl CellStates {
    /// The states of a row in which nothing ever ran.
    pub const IDLE: Self = Self(BTreeMap::new());

    /// The states of the row at a place of a block.
    pub fn of(block: &Block, place: u8, details: &Details) -> Self {
        let mut states = Self::default();
        for slot in block.slots() {
            let mark = block.get(slot, place);
            if mark != Mark::default() {
                states.set(slot, CellState::of(mark, details.get(slot)));
            }
        }
        states
    }

    pub fn get(&self, slot: Slot) -> Option<&CellState> {
        self.0.get(&slot)
    }

    /// Sets a cell's state; the default state is not kept.
    pub fn set(&mut self, slot: Slot, state: CellState) {
        if state == CellState::default() {
            self.0.remove(&slot);
        } else {
            self.0.insert(slot, state);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
