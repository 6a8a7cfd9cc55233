//! A schema as a list of fields, nested ones folded.

use maud::{Markup, html};
use serde_json::Value;

use super::lookup::{entries, fields, inline, resolve, text};

/// How deep fields are unfolded; nobody reads further.
const DEPTH_MAX: usize = 8;

/// The pattern of nearly every text: it tells a reader nothing.
const ANY_TEXT: &str = "^[^\\u0000]*$";

/// A parameter of a path, query or header.
pub(super) fn parameter(parameter: &Value) -> Markup {
    let is_required = parameter.get("required").and_then(Value::as_bool).unwrap_or(false);
    let schema = parameter.get("schema").unwrap_or(&Value::Null);
    html! {
        li {
            p.field {
                code.name { (text(parameter, "/name")) }
                span.type { (kind(schema)) }
                span.place { (text(parameter, "/in")) }
                @if is_required { span.required { "required" } }
            }
            (about(text(parameter, "/description"), schema))
        }
    }
}

/// The fields of a body or an answer.
pub(super) fn tree(document: &Value, schema: &Value) -> Markup {
    branch(document, schema, &mut Vec::new())
}

/// `trail` holds the names on the way here, so that what contains itself is shown once.
fn branch<'d>(document: &'d Value, schema: &'d Value, trail: &mut Vec<&'d str>) -> Markup {
    let (schema, name) = named(document, schema);
    if trail.len() >= DEPTH_MAX || name.is_some_and(|name| trail.contains(&name)) {
        return html! {};
    }
    trail.push(name.unwrap_or_default());
    let markup = html! {
        @if has_fields(schema) { (field_list(document, schema, trail)) }
        @else if let Some(items) = schema.get("items") {
            @let entry = branch(document, items, trail);
            @if !entry.0.is_empty() { p.note { "Each entry:" } (entry) }
        }
        @for alternative in alternatives(schema) {
            @if !is_leaf(document, alternative) {
                div.alternative {
                    p.note { "Either " (kind(named(document, alternative).0)) ":" }
                    (branch(document, alternative, trail))
                }
            }
        }
    };
    trail.pop();
    markup
}

fn field_list<'d>(document: &'d Value, schema: &'d Value, trail: &mut Vec<&'d str>) -> Markup {
    let required = entries(schema, "/required");
    html! {
        ul.fields {
            @for (name, field) in fields(schema, "/properties") {
                (field_item(document, name, field, required.iter().any(|required| required == name), trail))
            }
            @if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
                (field_item(document, "any other field", values, false, trail))
            }
        }
    }
}

fn field_item<'d>(
    document: &'d Value,
    name: &str,
    field: &'d Value,
    is_required: bool,
    trail: &mut Vec<&'d str>,
) -> Markup {
    let (resolved, _) = named(document, field);
    let own = text(field, "/description");
    let description = if own.is_empty() { text(resolved, "/description") } else { own };
    html! {
        li {
            p.field {
                code.name { (name) }
                span.type { (kind(resolved)) @if is_nullable(field) || is_nullable(resolved) { " or null" } }
                @if is_required { span.required { "required" } }
            }
            (about(description, resolved))
            @if !is_leaf(document, field) {
                @let inner = branch(document, field, trail);
                @if !inner.0.is_empty() { details { summary { "Fields of " code { (name) } } (inner) } }
            }
        }
    }
}

/// The description, and what bounds the value.
fn about(description: &str, schema: &Value) -> Markup {
    let bounds = bounds(schema);
    html! {
        @if !description.is_empty() { p.description { (inline(description)) } }
        @if !bounds.is_empty() { p.bounds { (inline(&bounds.join(" · "))) } }
    }
}

pub(super) fn bounds(schema: &Value) -> Vec<String> {
    let number = |keyword: &str| schema.get(keyword).and_then(Value::as_i64);
    // A bound that only says how far numbers reach tells a reader nothing.
    let telling = |number: &i64| number.abs() < i64::from(u32::MAX);
    let mut bounds = Vec::new();
    bounds.extend(number("minLength").map(|least| counted("at least", least, "character", "characters")));
    bounds.extend(
        number("maxLength")
            .filter(|most| *most < 1_000_000)
            .map(|most| counted("at most", most, "character", "characters")),
    );
    bounds.extend(number("minimum").filter(telling).map(|least| format!("from {least}")));
    bounds.extend(number("maximum").filter(telling).map(|most| format!("up to {most}")));
    bounds.extend(number("minItems").map(|least| counted("at least", least, "entry", "entries")));
    bounds.extend(number("maxItems").map(|most| counted("at most", most, "entry", "entries")));
    let pattern = schema.get("pattern").and_then(Value::as_str).filter(|pattern| *pattern != ANY_TEXT);
    bounds.extend(pattern.map(|pattern| format!("matches `{pattern}`")));
    bounds.extend(schema.get("default").map(|default| format!("default `{default}`")));
    let options = entries(schema, "/enum");
    if !options.is_empty() {
        let options: Vec<_> = options.iter().map(|option| format!("`{option}`")).collect();
        bounds.push(options.join(" "));
    }
    bounds
}

fn counted(relation: &str, count: i64, one: &str, many: &str) -> String {
    format!("{relation} {count} {}", if count == 1 { one } else { many })
}

pub(super) fn kind(schema: &Value) -> String {
    let name = text(schema, "/type");
    match (name, text(schema, "/format")) {
        ("array", _) => match schema.get("items").map(|items| text(items, "/type")) {
            Some(items) if !items.is_empty() => format!("array of {items}s"),
            _ => "array".to_owned(),
        },
        ("string", format) if !format.is_empty() => format!("string, {format}"),
        ("", _) => match alternatives(schema).map(kind).collect::<Vec<_>>() {
            kinds if kinds.is_empty() => "any JSON".to_owned(),
            mut kinds => {
                kinds.dedup();
                kinds.join(" or ")
            }
        },
        (name, _) => name.to_owned(),
    }
}

/// A schema without its wrappers, and the name of its component if it has one.
pub(super) fn named<'d>(document: &'d Value, schema: &'d Value) -> (&'d Value, Option<&'d str>) {
    let mut schema = schema;
    // `{allOf: [one]}` and `{anyOf: [one, null]}` only decorate the one.
    while let [only] = alternatives(schema).collect::<Vec<_>>()[..] {
        schema = only;
    }
    let name = schema.get("$ref").and_then(Value::as_str);
    match name {
        Some(name) => (named(document, resolve(document, schema)).0, Some(name)),
        None => (schema, None),
    }
}

pub(super) fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["/anyOf", "/oneOf", "/allOf"]
        .into_iter()
        .flat_map(move |pointer| entries(schema, pointer))
        .filter(|alternative| !is_null(alternative))
}

pub(super) fn is_nullable(schema: &Value) -> bool {
    schema.get("nullable") == Some(&Value::Bool(true)) || entries(schema, "/anyOf").iter().any(is_null)
}

fn is_null(schema: &Value) -> bool {
    matches!(entries(schema, "/enum"), [Value::Null])
}

pub(super) fn has_fields(schema: &Value) -> bool {
    fields(schema, "/properties").next().is_some()
        || schema
            .get("additionalProperties")
            .is_some_and(|values| values.as_object().is_some_and(|map| !map.is_empty()))
}

pub(super) fn is_leaf(document: &Value, schema: &Value) -> bool {
    let (schema, _) = named(document, schema);
    let has_parts = alternatives(schema).any(|alternative| !is_leaf_flat(alternative));
    !has_fields(schema)
        && !has_parts
        && schema.get("items").is_none_or(|items| is_leaf_flat(named(document, items).0))
}

/// Without following references, so that what contains itself ends.
fn is_leaf_flat(schema: &Value) -> bool {
    schema.get("$ref").is_none()
        && !has_fields(schema)
        && schema.get("items").is_none()
        && alternatives(schema).next().is_none()
}
