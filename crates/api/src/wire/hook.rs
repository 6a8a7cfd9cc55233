//! Inbound hooks, and what they received, on the wire.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rowmill_app::{HookChanges, ReceivedOutcome, ReceivedRecord, ReceivedStatus, SeenHook};
use rowmill_model::{Hook, UnknownKeys};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{present, timestamp};

/// An inbound hook to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HookCreate {
    /// For people: who sends here.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 255 }, "example" = "Contact form"))]
    name: String,
    /// Default: `keep`.
    #[serde(default)]
    #[schemars(with = "UnknownKeys")]
    unknown_keys: Option<UnknownKeys>,
    /// A column id or header. A row with the same value in this column is updated instead of inserted. Default: every
    /// delivery inserts.
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("x-document" = { "minLength": 1, "maxLength": 255 }))]
    match_on: Option<String>,
    /// Set to false to match without regard to letter case and outer blanks. Default: true.
    #[serde(default)]
    #[schemars(with = "bool")]
    match_case: Option<bool>,
    /// Headers of the request to write into columns: the name of the header to a column id or header.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>", extend("x-document" = { "maxProperties": 20 }, "example" = { "X-Source": "Source" }))]
    headers: Option<BTreeMap<String, String>>,
}

impl From<HookCreate> for HookChanges {
    fn from(body: HookCreate) -> Self {
        let HookCreate { name, unknown_keys, match_on, match_case, headers } = body;
        Self { name: Some(name), enabled: None, unknown_keys, match_on: Some(match_on), match_case, headers }
    }
}

/// Changes to a hook. Each given field replaces the old value.
#[expect(clippy::option_option, reason = "a field that is null is not a field that was left out")]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HookPatch {
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", extend("x-document" = { "minLength": 1, "maxLength": 255 }))]
    name: Option<String>,
    /// False: deliveries are kept, but make no rows.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "bool")]
    enabled: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "UnknownKeys")]
    unknown_keys: Option<UnknownKeys>,
    /// Null: every delivery inserts.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<String>", extend("x-document" = { "minLength": 1, "maxLength": 255 }))]
    match_on: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "bool")]
    match_case: Option<bool>,
    /// All of them: `{}` writes no header into a column.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "BTreeMap<String, String>", extend("x-document" = { "maxProperties": 20 }))]
    headers: Option<BTreeMap<String, String>>,
}

impl From<HookPatch> for HookChanges {
    fn from(body: HookPatch) -> Self {
        let HookPatch { name, enabled, unknown_keys, match_on, match_case, headers } = body;
        Self { name, enabled, unknown_keys, match_on, match_case, headers }
    }
}

/// How to replace an address.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HookRotate {
    /// For how many hours the old address works, too. 0: not at all. Default: 24.
    #[serde(default)]
    #[schemars(range(max = 168))]
    pub(crate) overlap_hours: Option<u32>,
}

/// An inbound hook. Its address is shown when it is created or replaced, and not again.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Hook")]
pub(crate) struct HookOut {
    #[schemars(length(max = 64))]
    id: String,
    #[schemars(length(max = 64))]
    project_id: String,
    #[schemars(length(max = 255))]
    name: String,
    enabled: bool,
    unknown_keys: UnknownKeys,
    /// The id of the column; null: every delivery inserts.
    #[schemars(length(max = 64))]
    match_on: Option<String>,
    match_case: bool,
    /// Names of headers, in lower case, to column ids.
    headers: BTreeMap<String, String>,
    /// The last characters of the address.
    #[schemars(length(max = 16))]
    address_end: String,
    /// Until when the address before that works, too; null if it does not.
    #[schemars(extend("format" = "date-time"))]
    old_address_until: Option<String>,
    /// What is wrong with it, a sentence each: `matchOn` or `headers` names a column that was deleted.
    #[schemars(length(max = 21))]
    problems: Vec<String>,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
}

impl HookOut {
    pub(crate) fn new(seen: SeenHook, now_ms: i64) -> Self {
        let SeenHook { project, hook, problems } = seen;
        let Hook { id, name, created_at_ms, secret_hash: _, secret_end, old_address, is_disabled, .. } = hook;
        let Hook { unknown_keys, match_on, ignores_case, headers, .. } = hook;
        let old_address = old_address.filter(|old| now_ms < old.until_ms);
        Self {
            id: id.to_string(),
            project_id: project.to_string(),
            name,
            enabled: !is_disabled,
            unknown_keys,
            match_on: match_on.map(|column| column.as_str().to_owned()),
            match_case: !ignores_case,
            headers: headers
                .into_iter()
                .map(|header| (header.name, header.column.as_str().to_owned()))
                .collect(),
            address_end: secret_end,
            old_address_until: old_address.map(|old| timestamp(old.until_ms)),
            problems,
            created_at: timestamp(created_at_ms),
        }
    }
}

/// Where a delivery came in: an inbound `hook`, or the webhook of the `eventplatform`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "InboundSource")]
pub(crate) enum SourceOut {
    Hook,
    Eventplatform,
}

/// `processed`: rows were created or updated. `ignored`: nothing was to be done. `failed`: it could not be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "InboundStatus")]
pub(crate) enum InboundStatusOut {
    Processed,
    Ignored,
    Failed,
}

impl From<InboundStatusOut> for ReceivedStatus {
    fn from(status: InboundStatusOut) -> Self {
        match status {
            InboundStatusOut::Processed => Self::Processed,
            InboundStatusOut::Ignored => Self::Ignored,
            InboundStatusOut::Failed => Self::Failed,
        }
    }
}

impl From<ReceivedStatus> for InboundStatusOut {
    fn from(status: ReceivedStatus) -> Self {
        match status {
            ReceivedStatus::Processed => Self::Processed,
            ReceivedStatus::Ignored => Self::Ignored,
            ReceivedStatus::Failed => Self::Failed,
        }
    }
}

/// A delivery that came in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "InboundDelivery")]
pub(crate) struct InboundOut {
    #[schemars(length(max = 64))]
    id: String,
    source: SourceOut,
    /// Null for the event platform's webhook.
    #[schemars(length(max = 64))]
    hook_id: Option<String>,
    /// The hook's project; null for the event platform's webhook, which serves all projects of the team.
    #[schemars(length(max = 64))]
    project_id: Option<String>,
    #[schemars(extend("format" = "date-time"))]
    received_at: String,
    /// That of the last outcome.
    status: InboundStatusOut,
    #[schemars(length(max = 10_000))]
    content_type: Option<String>,
    /// Bytes of the body.
    bytes: u64,
    /// What became of it when it came in, and when it was replayed: oldest first, the last 10.
    outcomes: Vec<InboundOutcomeOut>,
    /// Headers of the request, without those that may carry secrets. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, String>")]
    headers: Option<BTreeMap<String, String>>,
    /// The body as it came, if it is text. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 1_048_576))]
    body: Option<String>,
    /// The body as it came, if it is not text. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 1_400_000))]
    body_base64: Option<String>,
}

/// What became of a delivery.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "InboundOutcome")]
struct InboundOutcomeOut {
    #[schemars(extend("format" = "date-time"))]
    at: String,
    /// Whether it was replayed; else it is the outcome of its arrival.
    replay: bool,
    status: InboundStatusOut,
    rows_created: u64,
    rows_updated: u64,
    rows_unchanged: u64,
    /// Keys, and files of a form, that went nowhere; the first 50.
    ignored_keys: Vec<String>,
    /// Why it was ignored or failed, or not taken everywhere; null if there is nothing to say.
    #[schemars(length(max = 1_000))]
    reason: Option<String>,
}

impl From<ReceivedOutcome> for InboundOutcomeOut {
    fn from(outcome: ReceivedOutcome) -> Self {
        let ReceivedOutcome {
            at_ms,
            is_replay,
            status,
            rows_created,
            rows_updated,
            rows_unchanged,
            ignored_keys,
            reason,
        } = outcome;
        Self {
            at: timestamp(at_ms),
            replay: is_replay,
            status: status.into(),
            rows_created,
            rows_updated,
            rows_unchanged,
            ignored_keys,
            reason,
        }
    }
}

impl InboundOut {
    pub(crate) fn listed(record: ReceivedRecord) -> Self {
        let ReceivedRecord { id, hook, project, status, body_bytes, head, outcomes, body: _ } = record;
        Self {
            id: id.to_string(),
            source: if hook.is_some() { SourceOut::Hook } else { SourceOut::Eventplatform },
            hook_id: hook.map(|hook| hook.to_string()),
            project_id: project.map(|project| project.to_string()),
            received_at: timestamp(id.created_at_ms),
            status: status.into(),
            content_type: head.content_type,
            bytes: body_bytes,
            outcomes: outcomes.into_iter().map(Into::into).collect(),
            headers: None,
            body: None,
            body_base64: None,
        }
    }

    /// With its headers and its body.
    pub(crate) fn whole(mut record: ReceivedRecord) -> Self {
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in std::mem::take(&mut record.head.headers) {
            let values = headers.entry(name).or_default();
            if !values.is_empty() {
                values.push_str(", ");
            }
            values.push_str(&value);
        }
        let (body, body_base64) = match String::from_utf8(record.body.take().unwrap_or_default()) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
        };
        Self { headers: Some(headers), body, body_base64, ..Self::listed(record) }
    }
}
