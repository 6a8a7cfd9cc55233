//! Events on the wire: server-sent events, one JSON object each.

use std::borrow::Cow;

use rowmill_app::{ChangedRowsRead, ProcessingStatus, StoredProject};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::key_by::KeyBy;
use super::row::RowFull;
use super::run::Status;
use super::variants::variants;
use crate::error::Error;

/// Rows as they are now, and the ids of those that are gone.
#[derive(Debug, Serialize, JsonSchema)]
struct RowsChanged {
    rows: Vec<RowFull>,
    deleted: Vec<String>,
}

/// The stream as the document describes it: text, which has events in it.
#[derive(Debug, Serialize)]
pub(crate) struct EventStream;

impl JsonSchema for EventStream {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "EventStream".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let event = generator.subschema_for::<EventSchema>();
        json_schema!({
            "type": "string",
            "maxLength": 1_000_000_000,
            "description": "Server-sent events. Each has a name (`event`), JSON (`data`) and perhaps an `id`: an `Event`.",
            "x-event": event,
        })
    }
}

/// An event whose data is parsed.
struct EventSchema;

impl JsonSchema for EventSchema {
    fn schema_name() -> Cow<'static, str> {
        "Event".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let description = "An event of a project. `event` says what `data` is.";
        variants(
            generator,
            description,
            "event",
            &["rows", "status", "project", "reset"],
            |event, generator| {
                let (name, data) = match event {
                    "rows" => ("RowsEvent", generator.subschema_for::<RowsChanged>()),
                    "status" => ("StatusEvent", generator.subschema_for::<ProjectStatus>()),
                    "project" => ("ProjectEvent", generator.subschema_for::<ProjectVersion>()),
                    _ => ("ResetEvent", json_schema!({ "type": "object", "additionalProperties": false })),
                };
                let schema = json_schema!({
                    "type": "object",
                    "required": ["event", "data"],
                    "properties": {
                        "event": { "type": "string", "enum": [event] },
                        "id": { "type": "string", "maxLength": 20, "description": "Send it to resume the stream." },
                        "data": data,
                    },
                });
                (event, name.to_owned(), schema)
            },
        )
    }
}

/// The project's settings, columns or views changed.
#[derive(Debug, Serialize, JsonSchema)]
struct ProjectVersion {
    version: u64,
}

/// The processing status of a project.
#[derive(Debug, Serialize, JsonSchema)]
struct ProjectStatus {
    #[serde(flatten)]
    status: Status,
}

/// What keeps a quiet stream alive.
pub(crate) const QUIET: &[u8] = b":\n\n";

pub(crate) fn render_rows(
    project: &StoredProject,
    read: &ChangedRowsRead,
    key_by: KeyBy,
) -> Result<Vec<u8>, Error> {
    let table = &project.project.table;
    let rows = read.rows.iter().map(|row| RowFull::new(table, row, key_by)).collect::<Result<_, _>>()?;
    let deleted = read.deleted.iter().map(ToString::to_string).collect();
    frame("rows", None, &RowsChanged { rows, deleted })
}

pub(crate) fn render_project(version: u64) -> Result<Vec<u8>, Error> {
    frame("project", None, &ProjectVersion { version })
}

pub(crate) fn render_status(seq: u64, standing: &ProcessingStatus) -> Result<Vec<u8>, Error> {
    frame("status", Some(seq), &ProjectStatus { status: Status::new(standing) })
}

pub(crate) fn render_reset() -> Result<Vec<u8>, Error> {
    frame("reset", None, &serde_json::json!({}))
}

fn frame(name: &str, id: Option<u64>, data: &impl Serialize) -> Result<Vec<u8>, Error> {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let mut bytes = format!("event: {name}\n{id}data: ").into_bytes();
    let start = bytes.len();
    serde_json::to_writer(&mut bytes, data).map_err(|error| rowmill_app::Error::Internal(error.into()))?;
    // Values are kept as they were sent. In JSON a line break is a blank; here it would end the event.
    for byte in bytes.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    bytes.extend_from_slice(b"\n\n");
    Ok(bytes)
}
