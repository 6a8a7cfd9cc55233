//! Schemas in the forms that generators of clients understand.
//!
//! Each form says the same as the one it replaces. `cargo xtask test clients` generates the clients.

use std::fmt::Write as _;

use schemars::Schema;
use serde_json::{Map, Value};

/// Any text: U+0000 is refused everywhere. Python, JavaScript and Rust read this pattern alike.
const TEXT: &str = r"^[^\u0000]*$";
/// Text that is not blank, as types write it.
const FILLED: &str = r"\S";
/// The same without U+0000, which `\S` would match.
const FILLED_TEXT: &str = r"^[^\u0000]*[^\s\u0000][^\u0000]*$";

/// Brings one schema into its plain form. What is inside it is brought there by itself.
pub(super) fn make_plain(schema: &mut Schema) {
    join_words(schema);
    unwrap_lone_reference(schema);
    set_text_pattern(schema);
}

/// A choice between words becomes one enumeration. What each word means goes into the description.
fn join_words(schema: &mut Schema) {
    let Some(Value::Array(branches)) = schema.get("oneOf") else { return };
    let words: Option<Vec<(Vec<Value>, Option<String>)>> = branches.iter().map(words_of).collect();
    let Some(words) = words else { return };
    let mut meanings = String::new();
    for (words, meaning) in &words {
        if let ([Value::String(word)], Some(meaning)) = (words.as_slice(), meaning) {
            let _ = write!(meanings, "\n- `{word}`: {meaning}");
        }
    }
    let words: Vec<Value> = words.into_iter().flat_map(|(words, _)| words).collect();
    schema.remove("oneOf");
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), words.into());
    if !meanings.is_empty() {
        describe(schema.ensure_object(), &meanings);
    }
}

/// The words of a branch that is nothing but words, and what it says of them.
fn words_of(branch: &Value) -> Option<(Vec<Value>, Option<String>)> {
    let branch = branch.as_object()?;
    let is_plain = branch.keys().all(|key| ["type", "enum", "description"].contains(&key.as_str()));
    let words = branch.get("enum")?.as_array()?;
    let is_text = branch.get("type").is_some_and(|kind| kind == "string");
    let meaning = branch.get("description").and_then(Value::as_str).map(str::to_owned);
    (is_plain && is_text).then(|| (words.clone(), meaning))
}

/// `{allOf: [one]}` with nothing beside it is that one.
fn unwrap_lone_reference(schema: &mut Schema) {
    let Some(map) = schema.as_object_mut() else { return };
    if map.len() == 1
        && let Some(Value::Array(parts)) = map.get("allOf")
        && let [Value::Object(only)] = parts.as_slice()
    {
        *map = only.clone();
    }
}

fn set_text_pattern(schema: &mut Schema) {
    let is_text = schema.get("type").is_some_and(|kind| kind == "string");
    let is_bound = ["enum", "format"].iter().any(|keyword| schema.get(*keyword).is_some());
    if !is_text || is_bound {
        return;
    }
    match schema.get("pattern").and_then(Value::as_str) {
        None => schema.insert("pattern".to_owned(), TEXT.into()),
        Some(FILLED) => schema.insert("pattern".to_owned(), FILLED_TEXT.into()),
        Some(_) => None,
    };
}

/// Moves the defaults of an object's fields into their descriptions.
///
/// Generators read `default` as "always there", also in what is sent, and cannot use one for an object.
pub(super) fn describe_defaults(schema: &mut Schema) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties {
        let Value::Object(property) = property else { continue };
        let Some(default) = property.remove("default") else { continue };
        let is_told = property.get("description").is_some_and(|text| text.to_string().contains("efault"));
        let is_optional = !required.iter().any(|required| required == name);
        if is_optional && !is_told && !default.is_null() {
            describe(property, &format!(" Default: `{default}`."));
        }
    }
}

/// Adds to a description, or begins one.
fn describe(schema: &mut Map<String, Value>, more: &str) {
    let text = match schema.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text}{more}"),
        None => more.trim_start().to_owned(),
    };
    schema.insert("description".to_owned(), text.into());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(change: fn(&mut Schema), from: Value, expected: &Value) {
        let mut schema = Schema::try_from(from).unwrap();
        change(&mut schema);
        assert_eq!(schema.as_value(), expected);
    }

    #[test]
    fn a_choice_between_words_is_one_enumeration() {
        check(
            make_plain,
            json!({ "description": "Who.", "oneOf": [
                { "type": "string", "enum": ["a", "b"] }, { "type": "string", "enum": ["c"], "description": "See." },
            ] }),
            &json!({ "description": "Who.\n- `c`: See.", "type": "string", "enum": ["a", "b", "c"] }),
        );
        let objects = json!({ "oneOf": [{ "type": "object" }, { "type": "string", "enum": ["c"] }] });
        check(make_plain, objects.clone(), &objects);
    }

    #[test]
    fn a_lone_reference_needs_no_wrapper() {
        let reference = json!({ "$ref": "#/components/schemas/A" });
        check(make_plain, json!({ "allOf": [reference] }), &reference);
        let described = json!({ "allOf": [reference], "description": "An a." });
        check(make_plain, described.clone(), &described);
    }

    #[test]
    fn texts_have_no_nul() {
        check(make_plain, json!({ "type": "string" }), &json!({ "type": "string", "pattern": TEXT }));
        check(
            make_plain,
            json!({ "type": "string", "pattern": "\\S" }),
            &json!({ "type": "string", "pattern": FILLED_TEXT }),
        );
        for bound in [
            json!({ "type": "string", "enum": ["a"] }),
            json!({ "type": "string", "format": "uuid" }),
            json!({ "type": "string", "pattern": "^[a-z]+$" }),
            json!({ "type": "integer" }),
        ] {
            check(make_plain, bound.clone(), &bound);
        }
    }

    #[test]
    fn defaults_are_told_and_not_declared() {
        check(
            describe_defaults,
            json!({ "required": ["sure"], "properties": {
                "sure": { "type": "boolean", "default": true },
                "force": { "type": "boolean", "default": false, "description": "Also run." },
                "told": { "type": "string", "default": "x", "description": "Default: the slug." },
                "api": { "allOf": [{ "$ref": "#/A" }], "default": { "on": true } },
            } }),
            &json!({ "required": ["sure"], "properties": {
                "sure": { "type": "boolean" },
                "force": { "type": "boolean", "description": "Also run. Default: `false`." },
                "told": { "type": "string", "description": "Default: the slug." },
                "api": { "allOf": [{ "$ref": "#/A" }], "description": "Default: `{\"on\":true}`." },
            } }),
        );
    }
}
