//! JSON out of a model's text, checked against a schema.

use rowmill_model::AnswerSchema;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::bounded_value::bounded_value;

/// The JSON in a model's text, its digits kept; or what is wrong with it, in words a model understands.
pub fn read_json(text: &str, schema: Option<&AnswerSchema>) -> Result<Box<RawValue>, Vec<String>> {
    let (raw, value) = parse(text).ok_or_else(|| vec!["It is not one JSON value.".to_owned()])?;
    match schema.map(|schema| schema.problems(&value)) {
        Some(problems) if !problems.is_empty() => Err(problems),
        _ => Ok(raw),
    }
}

/// Whether a model's text is JSON that ends too early.
pub fn is_cut_json(text: &str) -> bool {
    let start = text.find(['{', '[']).and_then(|start| text.get(start..)).unwrap_or_default();
    parse(text).is_none()
        && serde_json::from_str::<Value>(start).is_err_and(|error| error.is_eof())
        && !start.is_empty()
}

/// Models wrap JSON in fences and pleasantries, even when told not to.
fn parse(text: &str) -> Option<(Box<RawValue>, Value)> {
    let text = text.trim();
    let between = |open: char, close: char| text.get(text.find(open)?..=text.rfind(close)?);
    [Some(text), unfenced(text), between('{', '}'), between('[', ']')].into_iter().flatten().find_map(
        |text| {
            let value = bounded_value(text.as_bytes()).ok()?;
            Some((serde_json::from_str::<Box<RawValue>>(text).ok()?, value))
        },
    )
}

fn unfenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let (_, rest) = rest.split_once('\n')?;
    let (inner, _) = rest.rsplit_once("```")?;
    Some(inner.trim())
}

/// Whether a schema lies in OpenAI's strict subset: every object closed, every property required.
pub(super) fn is_strict(schema: &Value) -> bool {
    let is_object = |value: &Value| value.get("type").and_then(Value::as_str) == Some("object");
    is_object(schema) && closed(schema)
}

fn closed(schema: &Value) -> bool {
    let object = match schema {
        Value::Object(object) => object,
        Value::Array(items) => return items.iter().all(closed),
        _ => return true,
    };
    let describes_object = object.get("type").and_then(Value::as_str) == Some("object");
    let properties = object.get("properties").and_then(Value::as_object);
    let required: Vec<&str> = object
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let all_required =
        properties.is_none_or(|properties| properties.keys().all(|name| required.contains(&name.as_str())));
    let is_closed = object.get("additionalProperties") == Some(&Value::Bool(false));
    if (describes_object || properties.is_some()) && !(is_closed && all_required) {
        return false;
    }
    let within_properties = properties.is_none_or(|properties| properties.values().all(closed));
    let elsewhere = ["items", "anyOf", "$defs", "definitions"].iter().filter_map(|key| object.get(*key));
    within_properties && elsewhere.into_iter().all(closed_definitions)
}

/// `$defs` maps names to schemas; the others are a schema or a list of them.
fn closed_definitions(value: &Value) -> bool {
    match value {
        Value::Object(map) if !map.contains_key("type") && map.values().all(Value::is_object) => {
            map.values().all(closed)
        }
        other => closed(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_in_what_models_write() {
        for (text, expected) in [
            ("{\"a\": 1.10}", Some("{\"a\": 1.10}")),
            ("  [1, 2] \n", Some("[1, 2]")),
            ("```json\n{\"a\":1}\n```", Some("{\"a\":1}")),
            ("Sure!\n```\n{\"a\":1}\n```\nAnything else?", Some("{\"a\":1}")),
            ("Here you go: {\"a\":{\"b\":2}} Cheers", Some("{\"a\":{\"b\":2}}")),
            ("The list is [1,2].", Some("[1,2]")),
            ("\"text\"", Some("\"text\"")),
            ("no json", None),
            ("{\"a\":", None),
            ("} {", None),
            ("", None),
        ] {
            assert_eq!(read_json(text, None).ok().as_deref().map(RawValue::get), expected, "{text}");
        }
    }

    #[test]
    fn json_that_ends_too_early_is_told_from_other_text() {
        for (text, expected) in [
            ("{\"a\":", true),
            ("```json\n{\"a\": [1, 2", true),
            ("[\"half a te", true),
            ("{\"a\": 1}", false),
            ("{\"a\": nonsense}", false),
            ("no json", false),
            ("", false),
        ] {
            assert_eq!(is_cut_json(text), expected, "{text}");
        }
    }

    #[test]
    fn problems_name_their_place() {
        let schema =
            json!({"type": "object", "required": ["name"], "properties": {"age": {"type": "integer"}}});
        let schema = AnswerSchema::compile(&schema).unwrap();
        assert!(read_json(r#"{"name":"Ada","age":36}"#, Some(&schema)).is_ok());
        let problems = read_json(r#"{"age":"x"}"#, Some(&schema)).unwrap_err();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems.iter().any(|problem| problem.starts_with("/age: ")), "{problems:?}");
    }

    #[test]
    fn strictness_is_seen() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
            "additionalProperties": false});
        let nested = json!({"type": "object", "properties": {"b": {"type": "array", "items": closed}},
            "required": ["b"], "additionalProperties": false});
        for (schema, expected) in [
            (closed.clone(), true),
            (nested, true),
            (json!({"type": "array", "items": closed}), false),
            (json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}), false),
            (json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}), false),
            (
                json!({"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"],
                    "additionalProperties": false}),
                false,
            ),
            (json!({}), false),
        ] {
            assert_eq!(is_strict(&schema), expected, "{schema}");
        }
    }
}
