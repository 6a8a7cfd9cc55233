//! The schema of a change: the same fields, none required, each of them null to clear it.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// Describes a partial `T`. Objects within are partial too, because they are merged field by field;
/// arrays are replaced whole, so what is in them is as it always is.
#[derive(Debug)]
pub(crate) struct Patch<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Patch<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Patch", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut settings = generator.settings().clone();
        settings.inline_subschemas = true;
        // Transforms run once, when the schema this becomes part of is finished.
        settings.transforms.clear();
        let mut whole = settings.into_generator().into_root_schema_for::<T>();
        whole.remove("$schema");
        whole.remove("title");
        let mut partial = whole.to_value();
        loosen(&mut partial);
        Schema::try_from(partial).unwrap_or_default()
    }
}

/// Makes an object's fields optional and nullable, and so on within them.
fn loosen(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    for branch in branches(schema) {
        loosen(branch);
    }
    // A map of names, such as headers: null takes an entry out.
    if let Some(entry) = schema.get_mut("additionalProperties").filter(|entry| entry.is_object()) {
        loosen(entry);
        allow_null(entry);
    }
    if !schema.contains_key("properties") {
        return;
    }
    schema.remove("required");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            loosen(property);
            allow_null(property);
        }
    }
}

fn branches(schema: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    schema.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten()
}

fn allow_null(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    map.remove("default");
    if let Some(Value::Array(values)) = map.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match map.get_mut("type") {
        Some(Value::Array(types)) => {
            if !types.contains(&json!("null")) {
                types.push("null".into());
            }
        }
        Some(one) => *one = json!([one.clone(), "null"]),
        None => {
            if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
                branches.push(json!({ "type": "null" }));
            }
        }
    }
}
