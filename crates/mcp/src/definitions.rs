//! What a client is told of each tool: what it does and which arguments it takes. All of it is read by models, so it
//! is short.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, Tool as Definition};
use rowmill_model::filter::Operator;
use serde_json::{Map, Value, json};

use crate::answer_size::put;
use crate::output_schemas::output_schema;
use crate::tool::Tool;

/// The definitions of all tools, in their order.
static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| Tool::ALL.map(define).into());

pub(crate) fn definitions() -> &'static [Definition] {
    &DEFINITIONS
}

pub(crate) fn definition(tool: Tool) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|definition| definition.name == tool.name())
}

/// The names of a tool's arguments.
pub(crate) fn argument_names(tool: Tool) -> Vec<&'static str> {
    let properties = definition(tool).and_then(|definition| definition.input_schema.get("properties"));
    let names = properties.and_then(Value::as_object).map(|properties| properties.keys().map(String::as_str));
    names.into_iter().flatten().collect()
}

fn define(tool: Tool) -> Definition {
    let (required, properties) = input(tool);
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    Definition::new(tool.name(), description(tool), object(schema))
        .with_raw_output_schema(Arc::new(object(output_schema(tool))))
        .with_annotations(tool.annotations())
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn description(tool: Tool) -> &'static str {
    match tool {
        Tool::ListTables => "List the team's tables, newest first.",
        Tool::DescribeTable => {
            "A table's columns (header, kind, settings, what they wait for) and views. Long texts are cut; pass \
             `column` for one column with all settings."
        }
        Tool::QueryRows => {
            "Read rows: filtered, sorted, searched. `total` counts all that match, so a count needs limit 1 only. \
             Cells are named by header, empty ones left out, long ones cut. `states` tells of cells that are queued, \
             failed, skipped or stale."
        }
        Tool::GetRow => {
            "One row with whole values, status, error, cost and source of each cell. A very long value comes in parts: \
             read on with `columns` (one) and `offset`."
        }
        Tool::ListColumnKinds => {
            "What can fill a column: by hand, AI, web pages, HTTP APIs, e-mail finders, parts of other columns. Pass \
             `kind` for its settings, an example, and which providers have keys."
        }
        Tool::RunStatus => {
            "How far processing is, its cost, and failures by reason with an example and what to do. Waits up to \
             `wait` seconds until nothing runs."
        }
        Tool::CreateTable => {
            "Make a table. Columns may refer to columns before them by header: \"@{Company}\"."
        }
        Tool::SetColumn => {
            "Change a column (named by header or id), or make one: a new header with `kind`. Only the settings you \
             pass change. Unknown names are refused."
        }
        Tool::TryColumn => {
            "Run a column, saved or not, on one row and show what was sent and the result. Nothing is saved, but \
             providers may charge for the call."
        }
        Tool::UpsertRows => {
            "Insert up to 500 rows; with `matchOn`, rows with the same value in that column are updated. All or \
             nothing; fields that are no column are refused."
        }
        Tool::DeleteRows => {
            "Delete rows. People can restore them from the trash for a while. A dry run unless dryRun is false; then expectedCount must be the dry run's count."
        }
        Tool::Run => {
            "Fill processed cells that never ran, failed, were skipped or are stale. A dry run unless dryRun is false: \
             it says how many rows and cells, and the estimated cost. Start with a small limit."
        }
        Tool::StopRun => "Stop queued and running cells; they go back to what they were.",
    }
}

/// The names of required arguments, and all arguments.
fn input(tool: Tool) -> (Vec<&'static str>, Value) {
    match tool {
        Tool::ListTables => (
            vec![],
            json!({ "search": text("Part of the title"), "offset": number("nextOffset of the last answer", 0, None) }),
        ),
        Tool::DescribeTable => (
            vec!["table"],
            json!({
                "table": table(), "column": text("Header or id"),
                "offset": number("nextOffset of the last answer", 0, None),
            }),
        ),
        Tool::QueryRows => (vec!["table"], query_rows()),
        Tool::GetRow => (
            vec!["table", "row"],
            json!({
                "table": table(), "row": text("Row id"), "columns": texts("Headers; all without"),
                "offset": number("First character of the value to read", 0, None),
            }),
        ),
        Tool::ListColumnKinds => (vec![], json!({ "kind": text("Such as ai-text") })),
        Tool::RunStatus => (vec!["table"], json!({ "table": table(), "wait": wait() })),
        Tool::CreateTable => (vec!["title"], create_table()),
        Tool::SetColumn => (vec!["table", "column"], set_column()),
        Tool::TryColumn => (vec!["table"], try_column()),
        Tool::UpsertRows => (
            vec!["table", "rows"],
            json!({
                "table": table(),
                "rows": {
                    "type": "array", "maxItems": 500, "items": { "type": "object" },
                    "description": "Objects by header, such as {\"Name\": \"Ada\"}. null clears a cell.",
                },
                "matchOn": text("Header whose values tell rows apart, such as Email"),
            }),
        ),
        Tool::DeleteRows => (
            vec!["table"],
            json!({
                "table": table(), "rows": texts("Row ids"), "where": conditions(), "search": text("As in query_rows"),
                "view": text("View name or id"), "dryRun": flag("Default true"),
                "expectedCount": number("The dry run's count", 0, None),
            }),
        ),
        Tool::Run => (vec!["table"], run()),
        Tool::StopRun => (
            vec!["table"],
            json!({ "table": table(), "columns": texts("Headers; all without"), "rows": texts("Row ids; all without") }),
        ),
    }
}

fn query_rows() -> Value {
    let operators = Operator::ALL.map(Operator::word).join(", ");
    json!({
        "table": table(),
        "where": {
            "type": "array", "items": { "type": "object" },
            "description": format!(
                "Conditions that must all hold: {{column, operator, value, path?, caseSensitive?, timeZone?}}, or a group \
                 {{conjunction: and|or|not, filters: [...]}}. Operators: {operators}. Lists for in, notIn, has…, \
                 statusIn, errorCodeIn; [low, high] for between; ISO 8601 dates."
            ),
        },
        "search": text("Text that some cell contains"),
        "sort": {
            "type": "array", "items": { "type": "object" },
            "description": "[{column, direction: asc|desc}], the most important first",
        },
        "view": text("Name or id of a saved view to start from"),
        "columns": texts("Headers to show; all without"),
        "limit": number("Rows, default 25", 1, Some(100)),
        "cursor": text("nextCursor of the last answer"),
        "maxChars": number("Room for rows, default 8000", 1_000, Some(100_000)),
    })
}

fn create_table() -> Value {
    json!({
        "title": text("Title"),
        "columns": {
            "type": "array", "items": {},
            "description": "Headers, or {header, kind, settings, runIf, options} as in set_column. Without kind a column \
             is filled by hand (manual).",
        },
        "autoplay": flag("Fill cells by themselves when rows are added or change; spends without asking. Default false"),
    })
}

fn set_column() -> Value {
    json!({
        "table": table(),
        "column": text("Header or id; of a new column its header"),
        "kind": text("Of a new column; see list_column_kinds"),
        "settings": settings(),
        "runIf": {
            "type": "array", "items": { "type": "object" },
            "description": "Only run rows where this holds, as where in query_rows. [] clears it.",
        },
        "options": {
            "type": "object",
            "description": "format {type, strict, currency, decimals, dateStyle, options [{value, color}], max}: how values \
             are read, type one of text, longText, number, currency, percent, date, dateTime, checkbox, select, \
             multiSelect, url, email, phone, json, rating; retry {maxAttempts}, rateLimit {requests, perSeconds}, \
             cacheTtlSeconds, dependencies [{columnId, required}]",
        },
        "rename": text("New header"),
        "order": number("Place; Input is 0", 1, None),
    })
}

fn try_column() -> Value {
    json!({
        "table": table(),
        "column": text("Header or id of a saved column; or leave out and pass kind"),
        "kind": text("Of a column that is not saved"),
        "settings": settings(),
        "runIf": { "type": "array", "items": { "type": "object" } },
        "options": { "type": "object" },
        "row": text("Row id; the first row without"),
        "dryRun": flag("Only show what would be sent. Default false"),
    })
}

fn run() -> Value {
    json!({
        "table": table(),
        "columns": texts("Headers; all processed columns without"),
        "rows": texts("Row ids"),
        "where": conditions(),
        "search": text("As in query_rows"),
        "view": text("View name or id"),
        "sort": { "type": "array", "items": { "type": "object" }, "description": "Which rows first, as in query_rows" },
        "statuses": texts("Only cells that are idle, error, skipped, completed (stale or forced)"),
        "errorCodes": texts("Only cells that failed so, such as rate_limited"),
        "limit": number("Rows at most", 1, None),
        "force": flag("Also run completed and manually written cells. Default false"),
        "dryRun": flag("Default true"),
        "wait": wait(),
    })
}

fn table() -> Value {
    json!({ "type": "string", "description": "Id or title" })
}

fn settings() -> Value {
    json!({ "type": "object", "description": "By kind; \"@{Header}\" inserts a cell of the row" })
}

fn conditions() -> Value {
    json!({ "type": "array", "items": { "type": "object" }, "description": "As in query_rows" })
}

fn wait() -> Value {
    number("Seconds to wait for the end, default 0", 0, Some(30))
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn texts(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

fn number(description: &str, low: u64, high: Option<u64>) -> Value {
    let mut schema = json!({ "type": "integer", "minimum": low, "description": description });
    if let Some(high) = high {
        put(&mut schema, "maximum", high.into());
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every conversation with an agent pays for before it begins.
    #[test]
    fn all_definitions_fit_into_a_small_context() {
        const TOKENS_MAX: usize = 6_000;
        let text = serde_json::to_string(definitions()).unwrap();
        let tokens = text.chars().count().div_ceil(4);
        println!("{} tools: {} characters, about {tokens} tokens", definitions().len(), text.chars().count());
        assert!(tokens < TOKENS_MAX, "{tokens} tokens");
    }

    #[test]
    fn schemas_are_valid_and_name_their_required_fields() {
        for definition in definitions() {
            for schema in [Some(&definition.input_schema), definition.output_schema.as_ref()] {
                let schema = schema.unwrap();
                let value = Value::Object((**schema).clone());
                jsonschema::draft202012::meta::validate(&value)
                    .unwrap_or_else(|error| panic!("{}: {error}", definition.name));
                let known = value["properties"].as_object().unwrap();
                for name in value["required"].as_array().into_iter().flatten() {
                    assert!(known.contains_key(name.as_str().unwrap()), "{} {name}", definition.name);
                }
            }
            assert!(definition.annotations.is_some());
        }
        assert_eq!(definitions().len(), 13);
        assert!(argument_names(Tool::Run).contains(&"dryRun"));
    }
}
