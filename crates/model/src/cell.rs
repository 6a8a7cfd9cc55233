//! A cell's state, kept apart from its value.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CellState {
    #[serde(default)]
    pub status: CellStatus,
    #[serde(default, skip_serializing_if = "is_false")]
    pub stale: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub manual: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<CellError>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// Unix milliseconds before which a queued cell is not tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<i64>,
    /// Unix milliseconds of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    /// Where the value came from: provider, model, milliseconds, cost, source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<serde_json::Map<String, serde_json::Value>>,
}

impl CellState {
    /// The state of a processed cell whose value a hand has written.
    pub fn written_by_hand(now_ms: i64) -> Self {
        Self { status: CellStatus::Completed, manual: true, updated_at: Some(now_ms), ..Self::default() }
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellStates(pub BTreeMap<Slot, CellState>);

impl CellStates {
    /// The states of a row in which nothing ever ran.
    pub const IDLE: Self = Self(BTreeMap::new());

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
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
