//! The shapes of answers.

use serde_json::{Value, json};

use crate::answer_size::put;
use crate::tool::Tool;

/// The JSON Schema of a tool's answer.
pub(crate) fn output_schema(tool: Tool) -> Value {
    let (required, properties) = match tool {
        Tool::ListTables => (
            vec!["tables", "total"],
            json!({ "tables": objects(), "total": integer(), "nextOffset": integer() }),
        ),
        Tool::DescribeTable => (
            vec!["id", "title", "rows", "columns"],
            json!({
                "id": string(), "title": string(), "rows": integer(), "autoplay": boolean(), "columnCount": integer(),
                "columns": objects(), "views": objects(), "nextOffset": integer(), "viewsLeftOut": integer(),
            }),
        ),
        Tool::QueryRows => (
            vec!["rows", "total"],
            json!({ "rows": rows(), "total": { "type": ["integer", "null"] }, "nextCursor": string() }),
        ),
        Tool::GetRow => {
            (vec!["id", "cells"], json!({ "id": string(), "cells": object(), "leftOut": object() }))
        }
        Tool::ListColumnKinds => (vec!["kinds"], json!({ "kinds": objects() })),
        Tool::RunStatus => {
            let mut properties = status();
            put(&mut properties, "errors", objects());
            (vec!["processing", "rows", "columns", "errors"], properties)
        }
        Tool::CreateTable => (
            vec!["id", "title", "columns"],
            json!({ "id": string(), "title": string(), "columns": strings(), "page": string(), "next": string() }),
        ),
        Tool::SetColumn => {
            (vec!["created", "column"], json!({ "created": boolean(), "column": object(), "next": string() }))
        }
        Tool::TryColumn => (
            vec!["row", "status", "sent", "cost"],
            json!({
                "row": string(), "status": string(), "sent": object(), "value": {}, "error": object(),
                "cost": dollars(),
            }),
        ),
        Tool::UpsertRows => (
            vec!["inserted", "updated", "ids"],
            json!({ "inserted": integer(), "updated": integer(), "ids": strings(), "idsLeftOut": integer() }),
        ),
        Tool::DeleteRows => (
            vec!["dryRun", "count", "estimatedCost"],
            json!({
                "dryRun": boolean(), "count": integer(), "estimatedCost": dollars(), "examples": rows(), "next": string(),
            }),
        ),
        Tool::Run => (
            vec!["dryRun", "rows", "next"],
            json!({
                "dryRun": boolean(), "rows": integer(), "cells": { "type": ["integer", "null"] },
                "estimatedCost": dollars(), "costNote": string(), "estimate": object(), "status": object(), "next": string(),
            }),
        ),
        Tool::StopRun => (
            vec!["stoppedRows", "stoppedCells"],
            json!({ "stoppedRows": integer(), "stoppedCells": integer() }),
        ),
    };
    json!({ "type": "object", "properties": properties, "required": required })
}

fn status() -> Value {
    json!({
        "processing": boolean(), "rows": object(), "columns": objects(), "columnsLeftOut": integer(), "run": object(), "inBatches": object(),
    })
}

fn rows() -> Value {
    json!({
        "type": "array",
        "items": {
            "type": "object", "required": ["id", "cells"],
            "properties": { "id": string(), "cells": object(), "states": object(), "columnsLeftOut": integer() },
        },
    })
}

/// US dollars, where they are known.
fn dollars() -> Value {
    json!({ "type": ["number", "null"] })
}

fn string() -> Value {
    json!({ "type": "string" })
}

fn strings() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

fn integer() -> Value {
    json!({ "type": "integer" })
}

fn boolean() -> Value {
    json!({ "type": "boolean" })
}

fn object() -> Value {
    json!({ "type": "object" })
}

fn objects() -> Value {
    json!({ "type": "array", "items": { "type": "object" } })
}
