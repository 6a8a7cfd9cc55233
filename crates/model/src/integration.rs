//! The event integration: what a project's metadata must say to take part, and the column it may want.

use serde_json::{Map, Value};

use crate::corrections::unique_header;
use crate::ids::ColumnId;
use crate::offence::Offence;
use crate::table::Table;

/// What `metadata.integration` says in a project that follows an event.
pub const EVENT_INTEGRATION: &str = "eventplatform-event";

/// Checks metadata that names the event integration; any other is free. `base` is where it was sent,
/// such as `metadata`.
pub fn check_metadata(metadata: &Map<String, Value>, base: &str) -> Vec<Offence> {
    if !names_event_integration(metadata) {
        return Vec::new();
    }
    let base = format!("{base}.eventplatform");
    let Some(Value::Object(event)) = metadata.get("eventplatform") else {
        return vec![Offence::new(
            base,
            "must be an object, because metadata.integration names the event integration",
        )];
    };
    let mut offences = Vec::new();
    let mut check = |key: &str, required: bool, fits: fn(&Value) -> bool, expected: &str| {
        let right = event.get(key).map_or(!required, fits);
        if !right {
            offences.push(Offence::new(format!("{base}.{key}"), format!("must be {expected}")));
        }
    };
    check("eventId", true, is_filled_text, "a non-empty string");
    check("webhookEnabled", true, Value::is_boolean, "a boolean");
    check("eventName", false, Value::is_string, "a string, or left out");
    check("addApprovalColumn", false, Value::is_boolean, "a boolean, or left out");
    // Everybody can sign with an empty secret, or with the mask that is shown for one.
    check("signingSecret", false, is_secret, "the secret itself, a non-empty string, or left out");
    offences
}

/// Whether the project is to have the column `guest_status`.
pub fn wants_approval_column(metadata: &Map<String, Value>) -> bool {
    let event = metadata.get("eventplatform");
    names_event_integration(metadata)
        && event.and_then(|event| event.get("addApprovalColumn")) == Some(&Value::Bool(true))
}

/// Adds the column `guest_status` if it is missing; says whether it was.
pub fn ensure_guest_status(table: &mut Table) -> bool {
    if table.by_id(ColumnId::GUEST_STATUS).is_some() {
        return false;
    }
    let header = unique_header(table, ColumnId::GUEST_STATUS, Table::GUEST_STATUS_HEADER);
    table.push_manual(ColumnId::guest_status(), &header);
    true
}

/// The event a project follows, if webhooks are to be processed for it.
pub fn connected_event(metadata: &Map<String, Value>) -> Option<&str> {
    let event = metadata.get("eventplatform").filter(|_| names_event_integration(metadata))?;
    let enabled = event.get("webhookEnabled") == Some(&Value::Bool(true));
    event.get("eventId").and_then(Value::as_str).filter(|_| enabled)
}

/// What deliveries for the project must be signed with, if anything, as it is stored.
pub fn signing_secret(metadata: &Map<String, Value>) -> Option<&str> {
    metadata.get("eventplatform")?.get(SIGNING_SECRET)?.as_str()
}

/// The secret in metadata that a caller sent: not the mask, and nothing that is no secret.
pub fn sent_secret(metadata: &Map<String, Value>) -> Option<&str> {
    metadata.get("eventplatform")?.get(SIGNING_SECRET).filter(|value| is_secret(value))?.as_str()
}

/// Writes the secret in the form it is to be stored in.
pub fn set_signing_secret(metadata: &mut Map<String, Value>, stored: String) {
    if let Some(Value::Object(event)) = metadata.get_mut("eventplatform") {
        event.insert(SIGNING_SECRET.to_owned(), stored.into());
    }
}

/// The metadata as it may be shown: the signing secret is written, never read.
pub fn masked(metadata: &Map<String, Value>) -> Map<String, Value> {
    let mut shown = metadata.clone();
    if let Some(secret) = shown.get_mut("eventplatform").and_then(|event| event.get_mut(SIGNING_SECRET)) {
        *secret = MASK.into();
    }
    shown
}

/// Puts the stored secret back where the mask was sent.
pub fn unmask(sent: &mut Map<String, Value>, stored: &Map<String, Value>) {
    let Some(Value::Object(event)) = sent.get_mut("eventplatform") else { return };
    if event.get(SIGNING_SECRET).and_then(Value::as_str) != Some(MASK) {
        return;
    }
    if let Some(secret) = signing_secret(stored) {
        event.insert(SIGNING_SECRET.to_owned(), secret.into());
    }
}

const SIGNING_SECRET: &str = "signingSecret";
const MASK: &str = "***";

fn names_event_integration(metadata: &Map<String, Value>) -> bool {
    metadata.get("integration").and_then(Value::as_str) == Some(EVENT_INTEGRATION)
}

fn is_secret(value: &Value) -> bool {
    is_filled_text(value) && value.as_str() != Some(MASK)
}

fn is_filled_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is no object"),
        }
    }

    fn check(event: &Value, expected: &[&str]) {
        let metadata = map(json!({"integration": "eventplatform-event", "eventplatform": event}));
        let offences = check_metadata(&metadata, "metadata");
        let paths: Vec<&str> = offences.iter().map(|offence| offence.path.as_str()).collect();
        assert_eq!(paths, expected, "{event}");
    }

    #[test]
    fn a_secret_is_masked_and_its_mask_keeps_it() {
        let stored = map(json!({ "a": 1, "eventplatform": { "eventId": "e", "signingSecret": "s3" } }));
        let shown = masked(&stored);
        assert_eq!(shown["eventplatform"], json!({ "eventId": "e", "signingSecret": "***" }));
        let sent_back = |mut sent: Map<String, Value>| {
            unmask(&mut sent, &stored);
            signing_secret(&sent).map(str::to_owned)
        };
        assert_eq!(sent_back(shown.clone()).as_deref(), Some("s3"));
        assert_eq!(
            sent_back(map(json!({ "eventplatform": { "signingSecret": "new" } }))).as_deref(),
            Some("new")
        );
        assert_eq!(sent_back(map(json!({ "eventplatform": {} }))), None);
        let mut first_time = shown;
        unmask(&mut first_time, &Map::new());
        assert_eq!(signing_secret(&first_time), Some("***"), "left for the check to refuse");
        assert_eq!(masked(&map(json!({ "x": 1 }))), map(json!({ "x": 1 })));
    }

    #[test]
    fn only_an_enabled_integration_is_connected() {
        let check = |metadata: Value, event: Option<&str>| assert_eq!(connected_event(&map(metadata)), event);
        let event = |enabled: bool| json!({ "eventId": "e", "webhookEnabled": enabled });
        check(json!({ "integration": EVENT_INTEGRATION, "eventplatform": event(true) }), Some("e"));
        check(json!({ "integration": EVENT_INTEGRATION, "eventplatform": event(false) }), None);
        check(json!({ "integration": "other", "eventplatform": event(true) }), None);
        check(json!({ "eventplatform": event(true) }), None);
    }

    #[test]
    fn the_required_fields_must_be_there_and_every_field_of_its_type() {
        check(&json!({"eventId": "evt-1", "webhookEnabled": false}), &[]);
        check(
            &json!({
                "eventId": "evt-1", "webhookEnabled": true, "eventName": "", "addApprovalColumn": true,
                "signingSecret": "s3", "another": [1]
            }),
            &[],
        );
        check(&json!({}), &["metadata.eventplatform.eventId", "metadata.eventplatform.webhookEnabled"]);
        check(&json!({"eventId": " ", "webhookEnabled": true}), &["metadata.eventplatform.eventId"]);
        check(
            &json!({
                "eventId": 1, "webhookEnabled": "true", "eventName": 1, "addApprovalColumn": null,
                "signingSecret": ""
            }),
            &[
                "metadata.eventplatform.eventId",
                "metadata.eventplatform.webhookEnabled",
                "metadata.eventplatform.eventName",
                "metadata.eventplatform.addApprovalColumn",
                "metadata.eventplatform.signingSecret",
            ],
        );
        check(&json!([]), &["metadata.eventplatform"]);
        check(&json!(null), &["metadata.eventplatform"]);
    }

    #[test]
    fn other_metadata_is_free() {
        for metadata in
            [json!({}), json!({"integration": 5}), json!({"integration": "x", "eventplatform": 1})]
        {
            assert_eq!(check_metadata(&map(metadata), "metadata"), []);
        }
        assert_eq!(
            check_metadata(&map(json!({"integration": EVENT_INTEGRATION})), "m")[0].path,
            "m.eventplatform"
        );
    }

    #[test]
    fn the_approval_column_is_wanted_only_by_the_integration() {
        let event = json!({"addApprovalColumn": true});
        for (metadata, expected) in [
            (json!({"integration": EVENT_INTEGRATION, "eventplatform": event}), true),
            (json!({"integration": "other", "eventplatform": event}), false),
            (json!({"integration": EVENT_INTEGRATION, "eventplatform": {"addApprovalColumn": false}}), false),
            (json!({"integration": EVENT_INTEGRATION}), false),
        ] {
            assert_eq!(wants_approval_column(&map(metadata.clone())), expected, "{metadata}");
        }
    }

    #[test]
    fn the_guest_status_column_is_added_once_under_a_free_header() {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("col_a"), "guest STATUS");
        assert!(ensure_guest_status(&mut table));
        assert!(!ensure_guest_status(&mut table));
        let headers: Vec<&str> = table.columns.iter().map(|column| column.header.as_str()).collect();
        assert_eq!(headers, ["Input", "guest STATUS", "Guest status 2"]);
        assert_eq!(table.columns[2].id, ColumnId::guest_status());
    }
}
