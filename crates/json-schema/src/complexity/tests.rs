//! Schemas that pass, and schemas that would take the stack, the memory or forever.

use serde_json::json;

use super::*;

fn refusal(schema: &Value) -> String {
    Complexity::of(schema).expect_err(&schema.to_string())
}

/// Definitions, each made of the reference to the next.
fn chain(links: usize, link: impl Fn(&str) -> Value) -> Value {
    let mut definitions = Map::new();
    for number in 0..links {
        definitions.insert(number.to_string(), link(&format!("#/$defs/{}", number + 1)));
    }
    definitions.insert(links.to_string(), json!({ "type": "integer" }));
    json!({ "$ref": "#/$defs/0", "$defs": definitions })
}

#[test]
fn ordinary_schemas_pass() {
    let address =
        json!({ "type": "object", "properties": { "city": { "type": "string", "pattern": "^[A-Z]" } } });
    let reference = json!({ "$ref": "#/$defs/address" });
    let plain = json!({
        "type": "object",
        "properties": { "home": reference, "work": reference, "tags": { "items": { "type": "string" } } },
        "$defs": { "address": address }
    });
    assert_eq!(Complexity::of(&plain), Ok(Complexity { depth: 4, is_recursive: false }));
    let fields: Map<String, Value> =
        (0..1_000).map(|number| (number.to_string(), json!({ "type": "string" }))).collect();
    assert!(Complexity::of(&json!({ "properties": fields })).is_ok());
    assert!(Complexity::of(&json!(true)).is_ok());
}

#[test]
fn trees_pass_up_to_a_depth() {
    let child = json!({ "anyOf": [{ "type": "null" }, { "$ref": "#" }] });
    let tree = json!({ "properties": { "left": child, "right": child }, "additionalProperties": false });
    let complexity = Complexity::of(&tree).unwrap();
    assert!(complexity.is_recursive);
    let nested = |depth| (0..depth).fold(json!({}), |inner, _| json!({ "left": inner }));
    assert!(!complexity.is_too_deep(&nested(20)));
    assert!(complexity.is_too_deep(&nested(120)));
}

#[test]
fn what_would_take_the_stack_is_refused() {
    assert!(Complexity::of(&chain(50, |next| json!({ "$ref": next }))).is_ok());
    assert!(refusal(&chain(600, |next| json!({ "$ref": next }))).contains("inside each other"));
    let circle = chain(600, |next| json!({ "items": { "$ref": next.replace("/600", "/0") } }));
    assert!(refusal(&circle).contains("inside each other"));
}

#[test]
fn what_would_take_forever_is_refused() {
    let doubling = chain(16, |next| json!({ "anyOf": [{ "$ref": next }, { "$ref": next }] }));
    assert!(refusal(&doubling).contains("written out"));
    let itself = json!({ "$ref": "#" });
    for schema in [
        json!({ "anyOf": [{ "properties": { "a": itself } }, { "properties": { "a": itself } }] }),
        json!({ "items": itself, "contains": itself }),
        json!({ "properties": { "a": itself }, "patternProperties": { "a": itself } }),
        json!({ "allOf": [itself, itself] }),
    ] {
        assert!(refusal(&schema).contains("refers to itself"), "{schema}");
    }
}

#[test]
fn patterns_are_few_and_references_plain() {
    let patterns = |count| (0..count).map(|_| json!({ "pattern": "a" })).collect::<Vec<_>>();
    assert!(Complexity::of(&json!({ "allOf": patterns(30) })).is_ok());
    assert!(refusal(&json!({ "allOf": patterns(31) })).contains("patterns"));
    for reference in ["#name", "other.json", "https://example.com/x", "#/nowhere"] {
        assert!(refusal(&json!({ "$ref": reference })).contains("refers to"), "{reference}");
    }
    let inner = json!({ "properties": { "a": { "$id": "x" } } });
    assert!(refusal(&inner).contains("$id inside"));
}
