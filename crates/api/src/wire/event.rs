//! Events on the wire: server-sent events, one JSON object each.

use rowmill_app::Event;
use schemars::JsonSchema;
use serde::Serialize;

use super::row::RowFull;
use super::run::Status;
use crate::error::Error;

/// Rows as they are now, and the ids of those that are gone.
#[derive(Debug, Serialize, JsonSchema)]
struct RowsChanged {
    rows: Vec<RowFull>,
    deleted: Vec<String>,
}

/// An event as readers of the stream see it, for the document.
#[derive(Debug, Serialize)]
pub(crate) struct EventStream;

impl JsonSchema for EventStream {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventStream".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "description": "One event of the stream.",
            "required": ["event", "data"],
            "properties": {
                "event": { "type": "string", "enum": ["rows", "project", "status", "reset"] },
                "id": { "type": "string", "maxLength": 20, "description": "Where the stream can be resumed." },
                "data": { "type": "string", "maxLength": 1_000_000_000, "description": "A JSON object." },
            },
        })
    }
}

/// An event as it is sent.
pub(crate) fn render(event: Event) -> Result<String, Error> {
    match event {
        Event::Rows { project, rows, deleted } => {
            let table = &project.project.table;
            let rows = rows.iter().map(|row| RowFull::new(table, row)).collect::<Result<_, _>>()?;
            let deleted = deleted.iter().map(ToString::to_string).collect();
            frame("rows", None, &RowsChanged { rows, deleted })
        }
        Event::Project(project) => frame("project", None, &serde_json::json!({ "version": project.version })),
        Event::Status { seq, standing } => frame("status", Some(seq), &Status::new(&standing)),
        Event::Reset => frame("reset", None, &serde_json::json!({})),
        Event::Quiet => Ok(":\n\n".to_owned()),
    }
}

fn frame(name: &str, id: Option<u64>, data: &impl Serialize) -> Result<String, Error> {
    let data = serde_json::to_string(data).map_err(|error| rowmill_app::Error::Internal(error.into()))?;
    // Values are kept as they were sent. In JSON a line break is a blank; here it would end the event.
    let data = data.replace(['\n', '\r'], " ");
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    Ok(format!("event: {name}\n{id}data: {data}\n\n"))
}
