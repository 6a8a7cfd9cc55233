//! A schema as a nested list in Markdown.

use std::fmt::Write as _;

use serde_json::Value;

use super::lookup::{entries, fields, text};
use super::schema::{alternatives, bounds, has_fields, is_leaf, is_nullable, kind, named};

/// How deep fields are listed: a reader pays for every word.
const DEPTH_MAX: usize = 4;

/// A parameter of a path, query or header.
pub(super) fn parameter(parameter: &Value, out: &mut String) {
    let is_required = parameter.get("required").and_then(Value::as_bool).unwrap_or(false);
    let schema = parameter.get("schema").unwrap_or(&Value::Null);
    let place = text(parameter, "/in");
    let kind = format!("{}, {place}", kind(schema));
    item(0, text(parameter, "/name"), &kind, is_required, text(parameter, "/description"), schema, out);
}

/// The fields of a body or an answer.
pub(super) fn field_list(document: &Value, schema: &Value, out: &mut String) {
    branch(document, schema, &mut Vec::new(), 0, out);
}

/// `trail` holds the names on the way here, so that what contains itself is listed once.
fn branch<'d>(
    document: &'d Value,
    schema: &'d Value,
    trail: &mut Vec<&'d str>,
    indent: usize,
    out: &mut String,
) {
    let (schema, name) = named(document, schema);
    if trail.len() >= DEPTH_MAX || name.is_some_and(|name| trail.contains(&name)) {
        return;
    }
    trail.push(name.unwrap_or_default());
    if has_fields(schema) {
        members(document, schema, trail, indent, out);
    } else if let Some(items) = schema.get("items") {
        branch(document, items, trail, indent, out);
    }
    for alternative in alternatives(schema).filter(|alternative| !is_leaf(document, alternative)) {
        let (plain, _) = named(document, alternative);
        let _ = writeln!(out, "{}- either {}:", "  ".repeat(indent), kind(plain));
        branch(document, alternative, trail, indent + 1, out);
    }
    trail.pop();
}

fn members<'d>(
    document: &'d Value,
    schema: &'d Value,
    trail: &mut Vec<&'d str>,
    indent: usize,
    out: &mut String,
) {
    let required = entries(schema, "/required");
    let others = schema.get("additionalProperties").filter(|values| values.is_object());
    let listed = fields(schema, "/properties").map(|(name, field)| (name.as_str(), field));
    for (name, field) in listed.chain(others.map(|values| ("any other field", values))) {
        let (resolved, _) = named(document, field);
        let own = text(field, "/description");
        let description = if own.is_empty() { text(resolved, "/description") } else { own };
        let or_null = if is_nullable(field) || is_nullable(resolved) { " or null" } else { "" };
        let kind = format!("{}{or_null}", kind(resolved));
        item(indent, name, &kind, required.iter().any(|other| other == name), description, resolved, out);
        if !is_leaf(document, field) {
            branch(document, field, trail, indent + 1, out);
        }
    }
}

fn item(
    indent: usize,
    name: &str,
    kind: &str,
    is_required: bool,
    description: &str,
    schema: &Value,
    out: &mut String,
) {
    let required = if is_required { ", required" } else { "" };
    let _ = write!(out, "{}- `{name}` ({kind}{required})", "  ".repeat(indent));
    let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    if !description.is_empty() {
        let _ = write!(out, ": {description}");
    }
    let bounds = bounds(schema);
    if !bounds.is_empty() {
        let _ = write!(out, " [{}]", bounds.join("; "));
    }
    out.push('\n');
}
