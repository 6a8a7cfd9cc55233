//! The document as Markdown, for programs that read: one text for each tag.

use std::fmt::Write as _;

use serde_json::Value;

use super::lookup::{entries, fields, resolve, text};
use super::markdown_schema::{field_list, parameter};
use super::operations::{Operation, curl, operations, pretty};

/// Everything about the operations of a tag.
pub(super) fn tag(document: &Value, tag: &Value) -> String {
    let name = text(tag, "/name");
    let mut out = format!("# {name}\n\n{}\n", text(tag, "/description"));
    for operation in operations(document, name) {
        write_operation(document, &operation, &mut out);
    }
    out
}

/// What holds for all operations.
pub(super) fn introduction(document: &Value) -> String {
    let title = text(document, "/info/title");
    format!("# {title} API\n\n{}\n", text(document, "/info/description"))
}

fn write_operation(document: &Value, operation: &Operation<'_>, out: &mut String) {
    let Operation { method, path, value } = *operation;
    let needs_key = value.pointer("/security/0").is_some();
    let key = if needs_key { "" } else { " (no API key)" };
    let _ = write!(out, "\n## {}\n\n", text(value, "/summary"));
    let _ = write!(out, "`{} {path}`{key}, operation `{}`\n\n", method.to_ascii_uppercase(), operation.id());
    let _ = writeln!(out, "{}", text(value, "/description"));
    let parameters: Vec<&Value> =
        entries(value, "/parameters").iter().map(|parameter| resolve(document, parameter)).collect();
    if !parameters.is_empty() {
        out.push_str("\n### Parameters\n\n");
        for described in parameters {
            parameter(described, out);
        }
    }
    write_body(document, value, out);
    write_answers(document, value, out);
    write_samples(operation, out);
}

fn write_body(document: &Value, operation: &Value, out: &mut String) {
    let Some(body) = operation.get("requestBody") else { return };
    let is_required = body.get("required").and_then(Value::as_bool).unwrap_or(false);
    let _ = write!(out, "\n### Body{}\n\n", if is_required { "" } else { " (optional)" });
    if let Some(schema) = body.pointer("/content/application~1json/schema") {
        field_list(document, schema, out);
    } else {
        let types: Vec<String> = fields(body, "/content").map(|(name, _)| format!("`{name}`")).collect();
        let _ = writeln!(out, "{}", types.join(", "));
    }
}

fn write_answers(document: &Value, operation: &Value, out: &mut String) {
    let mut refusals = Vec::new();
    for (status, response) in fields(operation, "/responses") {
        if response.get("$ref").is_some() {
            refusals.push(status.as_str());
            continue;
        }
        let _ = write!(out, "\n### Response {status}: {}\n\n", text(response, "/description"));
        let Some((media_type, media)) = fields(response, "/content").next() else { continue };
        if let Some(schema) = media.get("schema").filter(|_| media_type == "application/json") {
            field_list(document, schema, out);
        } else {
            let _ = writeln!(out, "`{media_type}`");
        }
    }
    if !refusals.is_empty() {
        let _ = writeln!(out, "\nErrors: {}.", refusals.join(", "));
    }
}

fn write_samples(operation: &Operation<'_>, out: &mut String) {
    let (body, answer) = operation.examples();
    let _ = write!(out, "\n### Example\n\n```sh\n{}\n```\n", curl(operation, body));
    if let Some((_, example)) = answer {
        let _ = write!(out, "\n```json\n{}\n```\n", pretty(example));
    }
}
