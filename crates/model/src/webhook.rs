//! Outbound webhooks: where a team wants to be told of what happens, and of what.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ColumnId, ProjectId, WebhookId};

/// What a webhook can be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WebhookEventType")]
pub enum EventType {
    #[serde(rename = "row.created")]
    RowCreated,
    #[serde(rename = "row.updated")]
    RowUpdated,
    #[serde(rename = "row.deleted")]
    RowDeleted,
    #[serde(rename = "cell.completed")]
    CellCompleted,
    #[serde(rename = "cell.failed")]
    CellFailed,
    #[serde(rename = "run.started")]
    RunStarted,
    #[serde(rename = "run.finished")]
    RunFinished,
    #[serde(rename = "run.stopped")]
    RunStopped,
    #[serde(rename = "spend.limit_reached")]
    SpendLimitReached,
}

impl EventType {
    pub const ALL: [Self; 9] = [
        Self::RowCreated,
        Self::RowUpdated,
        Self::RowDeleted,
        Self::CellCompleted,
        Self::CellFailed,
        Self::RunStarted,
        Self::RunFinished,
        Self::RunStopped,
        Self::SpendLimitReached,
    ];

    /// The word the API uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::RowCreated => "row.created",
            Self::RowUpdated => "row.updated",
            Self::RowDeleted => "row.deleted",
            Self::CellCompleted => "cell.completed",
            Self::CellFailed => "cell.failed",
            Self::RunStarted => "run.started",
            Self::RunFinished => "run.finished",
            Self::RunStopped => "run.stopped",
            Self::SpendLimitReached => "spend.limit_reached",
        }
    }
}

/// The type of the event that a test sends.
pub const TEST_EVENT: &str = "webhook.test";
/// The type of the event that says that others were dropped.
pub const GAP_EVENT: &str = "webhook.gap";

/// A webhook as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    pub id: WebhookId,
    pub url: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub events: Vec<EventType>,
    /// Only these projects; all of them without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_ids: Option<Vec<ProjectId>>,
    /// Only cells of these columns; all of them without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column_ids: Option<Vec<ColumnId>>,
    /// In Unix milliseconds, like all times here.
    pub created_at_ms: i64,
    /// What deliveries are signed with, encrypted, as hexadecimal digits.
    pub sealed_secret: String,
    /// The secret before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_secret: Option<OldSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// When the first delivery failed since one succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since_ms: Option<i64>,
    /// Since when events are dropped, because too many wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropping_since_ms: Option<i64>,
    /// When events were last dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_gap: Option<Gap>,
}

/// A secret that was replaced, and still signs for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OldSecret {
    pub sealed: String,
    pub until_ms: i64,
}

/// Since when a webhook is told nothing, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Disabled {
    pub at_ms: i64,
    pub reason: DisabledReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DisabledReason {
    /// Somebody of the team did it.
    Team,
    /// The receiver answered 410.
    Gone,
    /// Nothing could be delivered for days.
    Failing,
}

/// A time in which events were dropped, because too many waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    pub from_ms: i64,
    pub to_ms: i64,
}

impl Webhook {
    /// Whether it is told of what happens now.
    pub fn is_told(&self) -> bool {
        self.disabled.is_none() && self.dropping_since_ms.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_what_is_stored() {
        for event in EventType::ALL {
            assert_eq!(serde_json::to_value(event).unwrap(), event.word());
        }
    }
}
