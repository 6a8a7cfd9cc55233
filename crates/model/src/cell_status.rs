//! The status of a cell, and the error codes that explain it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CellStatus {
    /// An input, or a cell that never ran.
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

/// Why a cell is in `error` or `skipped`.
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
    /// A spending cap is reached: the cell waits until there is money again.
    SpendLimit,
    /// The page shows its content only in a browser, with JavaScript.
    NeedsBrowser,
}

impl ErrorCode {
    /// Stored by their place here: a new one goes to the end.
    pub const ALL: [Self; 16] = [
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
        Self::SpendLimit,
        Self::NeedsBrowser,
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
            Self::SpendLimit => "spend_limit",
            Self::NeedsBrowser => "needs_browser",
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
