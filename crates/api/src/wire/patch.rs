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
        patch_name(&T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut settings = generator.settings().clone();
        // Transforms run once, when the schema this becomes part of is finished.
        settings.transforms.clear();
        let mut whole_generator = settings.into_generator();
        let mut schema = T::json_schema(&mut whole_generator).to_value();
        let mut loosener = Loosener { whole: whole_generator.take_definitions(false), used: Map::new() };
        loosener.loosen(&mut schema);
        let known = generator.definitions_mut();
        for (name, definition) in loosener.used {
            known.entry(name).or_insert(definition);
        }
        Schema::try_from(schema).unwrap_or_default()
    }
}

fn patch_name(name: &str) -> String {
    format!("{name}Patch")
}

struct Loosener {
    /// The named schemas as they are in a whole.
    whole: Map<String, Value>,
    /// The named schemas that the partial one refers to: partial ones, and those that stay whole.
    used: Map<String, Value>,
}

impl Loosener {
    /// Makes an object's fields optional and nullable, and so on within them.
    fn loosen(&mut self, schema: &mut Value) {
        let Value::Object(schema) = schema else { return };
        self.loosen_reference(schema);
        for branch in schema.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten() {
            self.loosen(branch);
        }
        // A map of names, such as headers: null takes an entry out.
        if let Some(entry) = schema.get_mut("additionalProperties").filter(|entry| entry.is_object()) {
            self.loosen(entry);
            allow_null(entry);
        }
        if let Some(entry) = schema.get("items") {
            self.keep(entry);
        }
        if !schema.contains_key("properties") {
            return;
        }
        schema.remove("required");
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for property in properties.values_mut() {
                self.loosen(property);
                allow_null(property);
            }
        }
    }

    /// An object with a name becomes a partial one with a name of its own.
    fn loosen_reference(&mut self, schema: &mut Map<String, Value>) {
        let Some((path, name)) = schema.get("$ref").and_then(reference) else { return };
        let Some(mut definition) = self.whole.get(name).cloned() else { return };
        if definition.get("properties").is_none() {
            return self.keep(&Value::Object(schema.clone()));
        }
        let partial = patch_name(name);
        let place = format!("{path}/{partial}");
        if !self.used.contains_key(&partial) {
            // Known before it is done: it may contain itself.
            self.used.insert(partial.clone(), Value::Null);
            self.loosen(&mut definition);
            self.used.insert(partial, definition);
        }
        schema.insert("$ref".to_owned(), place.into());
    }

    /// Takes over what a schema that stays whole refers to.
    fn keep(&mut self, schema: &Value) {
        match schema {
            Value::Object(fields) => {
                if let Some((_, name)) = fields.get("$ref").and_then(reference)
                    && !self.used.contains_key(name)
                    && let Some(definition) = self.whole.get(name).cloned()
                {
                    self.used.insert(name.to_owned(), definition.clone());
                    self.keep(&definition);
                }
                fields.values().for_each(|field| self.keep(field));
            }
            Value::Array(entries) => entries.iter().for_each(|entry| self.keep(entry)),
            _ => {}
        }
    }
}

/// Where a reference leads: the place of the named schemas, and the name.
fn reference(value: &Value) -> Option<(&str, &str)> {
    value.as_str()?.rsplit_once('/')
}

fn allow_null(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    map.remove("default");
    if let Some(Value::Array(values)) = map.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    let nothing = json!({ "type": "null" });
    match map.get_mut("type") {
        Some(Value::Array(types)) => {
            if !types.contains(&json!("null")) {
                types.push("null".into());
            }
        }
        Some(one) => *one = json!([one.clone(), "null"]),
        None => {
            if let Some(reference) = map.remove("$ref") {
                map.insert("anyOf".to_owned(), json!([{ "$ref": reference }, nothing]));
            } else if let Some(Value::Array(branches)) = map.get_mut("anyOf")
                && !branches.contains(&nothing)
            {
                branches.push(nothing);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;

    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Whole {
        name: String,
        part: Part,
        maybe: Option<Part>,
        list: Vec<Leaf>,
        leaf: Word,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Part {
        size: u8,
        parts: Option<Box<Part>>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Leaf {
        count: u8,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    enum Word {
        One,
    }

    #[test]
    fn objects_within_are_partial_and_named() {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Patch<Whole>>();
        let schema = schema.to_value();
        let fields = &schema["properties"];
        assert_eq!(schema.get("required"), None);
        assert_eq!(fields["name"]["type"], json!(["string", "null"]));
        let part = json!([{ "$ref": "#/$defs/PartPatch" }, { "type": "null" }]);
        assert_eq!((&fields["part"]["anyOf"], &fields["maybe"]["anyOf"]), (&part, &part));
        assert_eq!(fields["list"]["items"]["$ref"], "#/$defs/Leaf");
        assert_eq!(fields["leaf"]["anyOf"][0]["$ref"], "#/$defs/Word");
        let definitions = &schema["$defs"];
        let names: Vec<&String> = definitions.as_object().unwrap().keys().collect();
        assert_eq!(names, ["PartPatch", "Leaf", "Word"]);
        assert_eq!(definitions["PartPatch"].get("required"), None);
        assert_eq!(definitions["PartPatch"]["properties"]["parts"]["anyOf"], part);
        assert_eq!(definitions["Leaf"]["required"], json!(["count"]));
    }
}
