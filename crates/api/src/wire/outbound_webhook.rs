//! Outbound webhooks and their deliveries on the wire.

use rowmill_app::{Attempt, DeliveryRecord, DeliveryStatus, WebhookChanges};
use rowmill_model::webhook::{Disabled, DisabledReason, Gap};
use rowmill_model::{EventType, Webhook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{present, timestamp};

/// A webhook to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WebhookCreate {
    /// Where events are sent: an http or https URL. Private addresses are blocked unless the operator allows them.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 2048 }, "example" = "https://example.com/hooks/rowmill"))]
    url: String,
    /// What to be told of.
    #[schemars(extend("x-document" = { "minItems": 1, "maxItems": 9 }))]
    events: Vec<EventType>,
    /// Only these projects. Default: all projects of the team, also those created later.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>", extend("x-document" = { "minItems": 1, "maxItems": 100 }))]
    project_ids: Option<Vec<String>>,
    /// Only cells of these columns: `cell.*` tells of no others, and `row.updated` only if one of them changed. Default: all.
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>", extend("x-document" = { "minItems": 1, "maxItems": 100 }))]
    column_ids: Option<Vec<String>>,
    /// For people.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("x-document" = { "maxLength": 1000 }))]
    description: Option<String>,
}

impl From<WebhookCreate> for WebhookChanges {
    fn from(body: WebhookCreate) -> Self {
        let WebhookCreate { url, events, project_ids, column_ids, description } = body;
        Self {
            url: Some(url),
            events: Some(events),
            project_ids: Some(project_ids),
            column_ids: Some(column_ids),
            description,
            enabled: None,
        }
    }
}

/// Changes to a webhook. Each given field replaces the old value.
#[expect(clippy::option_option, reason = "a field that is null is not a field that was left out")]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WebhookPatch {
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", extend("x-document" = { "minLength": 1, "maxLength": 2048 }))]
    url: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Vec<EventType>", extend("x-document" = { "minItems": 1, "maxItems": 9 }))]
    events: Option<Vec<EventType>>,
    /// Null: all projects.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<Vec<String>>", extend("x-document" = { "minItems": 1, "maxItems": 100 }))]
    project_ids: Option<Option<Vec<String>>>,
    /// Null: all columns.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<Vec<String>>", extend("x-document" = { "minItems": 1, "maxItems": 100 }))]
    column_ids: Option<Option<Vec<String>>>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", extend("x-document" = { "maxLength": 1000 }))]
    description: Option<String>,
    /// False: told of nothing. True: told again of what happens from now on.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "bool")]
    enabled: Option<bool>,
}

impl From<WebhookPatch> for WebhookChanges {
    fn from(body: WebhookPatch) -> Self {
        let WebhookPatch { url, events, project_ids, column_ids, description, enabled } = body;
        Self { url, events, project_ids, column_ids, description, enabled }
    }
}

/// How to replace a secret.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WebhookRotate {
    /// For how many hours deliveries are signed with the old secret, too. 0: not at all. Default: 24.
    #[serde(default)]
    #[schemars(range(max = 168))]
    pub(crate) overlap_hours: Option<u32>,
}

/// Which deliveries to send again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DeliveriesReplay {
    /// Deliveries of events since this time.
    #[schemars(length(min = 1, max = 64), extend("format" = "date-time", "example" = "2026-11-15T09:30:00.000Z"))]
    pub(crate) since: String,
    /// Only those that failed for good. Default: all that are not waiting.
    #[serde(default)]
    pub(crate) only_failed: bool,
}

/// An outbound webhook.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Webhook")]
pub(crate) struct WebhookOut {
    #[schemars(length(max = 64))]
    id: String,
    #[schemars(length(max = 2048))]
    url: String,
    #[schemars(length(max = 1000))]
    description: String,
    events: Vec<EventType>,
    /// Null: all projects.
    project_ids: Option<Vec<String>>,
    /// Null: all columns.
    column_ids: Option<Vec<String>>,
    /// Whether it is told of events.
    enabled: bool,
    /// Present only if it is disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WebhookDisabled")]
    disabled: Option<WebhookDisabled>,
    /// Since when deliveries fail; null if the last one succeeded. After 5 days the webhook is disabled.
    #[schemars(extend("format" = "date-time"))]
    failing_since: Option<String>,
    /// Since when events are dropped, because too many wait (`webhookBacklogBytesMax`); null if none is.
    #[schemars(extend("format" = "date-time"))]
    dropping_since: Option<String>,
    /// When events were last dropped. Present only if any were.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WebhookGap")]
    last_gap: Option<WebhookGap>,
    /// Until when deliveries are also signed with the previous secret; null if they are not.
    #[schemars(extend("format" = "date-time"))]
    old_secret_until: Option<String>,
    /// What is wrong with it, a sentence each: `projectIds` or `columnIds` names something that was deleted.
    #[schemars(length(max = 200))]
    problems: Vec<String>,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
}

/// When and why a webhook was disabled: `team` did it, the receiver is `gone` (410), or it was `failing` for 5 days.
#[derive(Debug, Serialize, JsonSchema)]
struct WebhookDisabled {
    #[schemars(extend("format" = "date-time"))]
    at: String,
    reason: WebhookDisabledReason,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WebhookDisabledReason {
    Team,
    Gone,
    Failing,
}

/// A time in which events were dropped.
#[derive(Debug, Serialize, JsonSchema)]
struct WebhookGap {
    #[schemars(extend("format" = "date-time"))]
    from: String,
    #[schemars(extend("format" = "date-time"))]
    to: String,
}

impl WebhookOut {
    pub(crate) fn new(webhook: Webhook, problems: Vec<String>, now_ms: i64) -> Self {
        let Webhook { id, url, description, events, project_ids, column_ids, created_at_ms, .. } = webhook;
        let Webhook { sealed_secret: _, old_secret, disabled, failing_since_ms, .. } = webhook;
        let disabled = disabled.map(|Disabled { at_ms, reason }| WebhookDisabled {
            at: timestamp(at_ms),
            reason: match reason {
                DisabledReason::Team => WebhookDisabledReason::Team,
                DisabledReason::Gone => WebhookDisabledReason::Gone,
                DisabledReason::Failing => WebhookDisabledReason::Failing,
            },
        });
        let gap = |Gap { from_ms, to_ms }| WebhookGap { from: timestamp(from_ms), to: timestamp(to_ms) };
        let old_secret = old_secret.filter(|old| now_ms < old.until_ms);
        Self {
            id: id.to_string(),
            url,
            description,
            events,
            project_ids: project_ids.map(|ids| ids.iter().map(ToString::to_string).collect()),
            column_ids: column_ids.map(|ids| ids.iter().map(ToString::to_string).collect()),
            enabled: disabled.is_none(),
            disabled,
            failing_since: failing_since_ms.map(timestamp),
            dropping_since: webhook.dropping_since_ms.map(timestamp),
            last_gap: webhook.last_gap.map(gap),
            old_secret_until: old_secret.map(|old| timestamp(old.until_ms)),
            problems,
            created_at: timestamp(created_at_ms),
        }
    }
}

/// A delivery: one event on its way to a webhook.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WebhookDelivery")]
pub(crate) struct DeliveryOut {
    /// The header `webhook-id` of all its attempts.
    #[schemars(length(max = 64))]
    id: String,
    /// The type of the event.
    #[serde(rename = "type")]
    #[schemars(length(max = 64))]
    kind: String,
    /// Null for events that are about no project.
    #[schemars(length(max = 64))]
    project_id: Option<String>,
    /// The project's change sequence; null for events that are about no project.
    sequence: Option<u64>,
    status: DeliveryStatusOut,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// When the next attempt is; null if none is waited for.
    #[schemars(extend("format" = "date-time"))]
    next_attempt_at: Option<String>,
    /// The last 10, oldest first.
    attempts: Vec<AttemptOut>,
    /// What is sent. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    payload: Option<Value>,
}

/// `pending` until the receiver took it; `failed` if it was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "WebhookDeliveryStatus")]
pub(crate) enum DeliveryStatusOut {
    Pending,
    Delivered,
    Failed,
}

impl From<DeliveryStatusOut> for DeliveryStatus {
    fn from(status: DeliveryStatusOut) -> Self {
        match status {
            DeliveryStatusOut::Pending => Self::Pending,
            DeliveryStatusOut::Delivered => Self::Delivered,
            DeliveryStatusOut::Failed => Self::Failed,
        }
    }
}

/// One attempt of a delivery.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WebhookAttempt")]
struct AttemptOut {
    #[schemars(extend("format" = "date-time"))]
    at: String,
    milliseconds: u64,
    /// The HTTP status; null if there was no answer.
    status: Option<u16>,
    /// The first 1,024 bytes of the answer.
    #[schemars(length(max = 10_000))]
    response: String,
    /// Why it failed; null if it did not.
    #[schemars(length(max = 10_000))]
    error: Option<String>,
}

impl DeliveryOut {
    pub(crate) fn listed(record: DeliveryRecord) -> Self {
        let DeliveryRecord { id, event, project, seq, status, due_at_ms, attempts, body: _ } = record;
        let attempt = |Attempt { at_ms, took_ms, status, answer, error }| AttemptOut {
            at: timestamp(at_ms),
            milliseconds: took_ms,
            status,
            response: answer,
            error,
        };
        Self {
            id: id.to_string(),
            kind: event,
            project_id: project.map(|project| project.to_string()),
            sequence: project.map(|_| seq),
            status: match status {
                DeliveryStatus::Pending => DeliveryStatusOut::Pending,
                DeliveryStatus::Delivered => DeliveryStatusOut::Delivered,
                DeliveryStatus::Failed => DeliveryStatusOut::Failed,
            },
            created_at: timestamp(id.created_at_ms),
            // What is due at once is due since it was made.
            next_attempt_at: due_at_ms.map(|at_ms| timestamp(at_ms.max(id.created_at_ms))),
            attempts: attempts.into_iter().map(attempt).collect(),
            payload: None,
        }
    }

    /// With what is sent.
    pub(crate) fn whole(record: DeliveryRecord) -> Self {
        let payload = serde_json::from_str(&record.body).ok();
        Self { payload, ..Self::listed(record) }
    }
}
