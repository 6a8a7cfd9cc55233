//! From Rust types to JSON Schema: once for the document (OpenAPI 3.0.3) and once for the check
//! (draft 2020-12), from the same definitions, so that what is promised is what is checked.
//!
//! Three extension keys steer it, all gone from what is published:
//! - `x-limit: {"maxItems": "insertRowsMax"}` takes the number from the [`Limits`] in force;
//! - `x-unchecked: true` documents a value whose check is done by hand elsewhere;
//! - `x-document: {"maxLength": 255}` documents bounds that are checked by hand elsewhere, where the
//!   check is finer than a schema can say. A bound that is null takes the keyword away.

mod plain;

use std::sync::Arc;

use rowmill_model::Limits;
use rowmill_model::bounded_json::CountBound;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

pub(crate) const LIMIT_KEY: &str = "x-limit";
/// Where a schema that values are checked against keeps the names of its limits.
pub(crate) const LIMIT_NAMES_KEY: &str = "x-limit-names";
const UNCHECKED_KEY: &str = "x-unchecked";
const DOCUMENT_KEY: &str = "x-document";

/// The largest integer every JSON reader keeps exact.
const INTEGER_MAX: i64 = 9_007_199_254_740_991;

/// One parameter of a path or query.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub name: String,
    pub description: Option<String>,
    pub is_required: bool,
    pub schema: Value,
}

/// A type's schema without the type, so that what reads it is compiled once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypeSchema {
    reference: fn(&mut SchemaGenerator) -> Schema,
    root: fn(SchemaGenerator) -> Schema,
}

impl TypeSchema {
    pub(crate) fn of<T: JsonSchema>() -> Self {
        Self {
            reference: SchemaGenerator::subschema_for::<T>,
            root: SchemaGenerator::into_root_schema_for::<T>,
        }
    }
}

/// The schemas of one operation at a time, with the limits in force. A clone shares them.
#[derive(Debug, Clone)]
pub(crate) struct SchemaLimits(Arc<Map<String, Value>>);

impl SchemaLimits {
    pub(crate) fn new(limits: &Limits) -> Self {
        match serde_json::to_value(limits) {
            Ok(Value::Object(map)) => Self(Arc::new(map)),
            _ => Self(Arc::default()),
        }
    }

    /// The fields of a type, as parameters: each complete in itself, and never null.
    pub(crate) fn params(&self, of: TypeSchema) -> Vec<Param> {
        let generator =
            document_settings(&self.0).with(|settings| settings.inline_subschemas = true).into_generator();
        let root = (of.root)(generator);
        let required = root.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let Some(Value::Object(properties)) = root.get("properties") else { return Vec::new() };
        properties.iter().map(|(name, schema)| param(name, schema, &required)).collect()
    }

    /// The schema a type is checked against: self-contained, draft 2020-12.
    pub(crate) fn checked(&self, of: TypeSchema) -> Value {
        let limits = Arc::clone(&self.0);
        let generator = SchemaSettings::draft2020_12()
            .with_transform(RecursiveTransform(move |schema: &mut Schema| for_check(schema, &limits)))
            .into_generator();
        (of.root)(generator).to_value()
    }

    /// The lists in a type whose entries are counted while they are parsed.
    pub(crate) fn count_bounds(&self, of: TypeSchema) -> Vec<CountBound> {
        let root = (of.root)(SchemaSettings::draft2020_12().into_generator());
        let fields = root.get("properties").and_then(Value::as_object).into_iter().flatten();
        let bounds = fields.filter_map(|(field, schema)| {
            // Filters and groups of them are counted apart, by who reads them: as many of each.
            let (limit, factor) = match schema.get(LIMIT_KEY).and_then(|limit| limit.get("maxItems")) {
                Some(limit) => (limit.as_str()?, 1),
                None if field == "filters" => ("filtersMax", 2),
                None => return None,
            };
            let entries_max = usize::try_from(self.0.get(limit)?.as_u64()?).ok()?.saturating_mul(factor);
            Some(CountBound { field: field.clone(), entries_max, limit: limit.to_owned() })
        });
        bounds.collect()
    }
}

/// The schemas of a document, which refer to components that they share.
pub(crate) struct Schemas {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Schemas {
    pub(crate) fn new(limits: &SchemaLimits) -> Self {
        let components = || {
            let describe_defaults = RecursiveTransform(plain::describe_defaults as fn(&mut Schema));
            document_settings(&limits.0).with_transform(describe_defaults)
        };
        let requests = components().into_generator();
        let answers = components().for_serialize().into_generator();
        Self { requests, answers }
    }

    /// The document's schema of what is sent.
    pub(crate) fn request(&mut self, of: TypeSchema) -> Value {
        named(of, &mut self.requests)
    }

    /// The document's schema of what is answered.
    pub(crate) fn answer(&mut self, of: TypeSchema) -> Value {
        named(of, &mut self.answers)
    }

    /// The component schemas that requests and answers refer to.
    pub(crate) fn take_components(&mut self) -> (Map<String, Value>, Map<String, Value>) {
        (self.requests.take_definitions(true), self.answers.take_definitions(true))
    }
}

fn document_settings(limits: &Arc<Map<String, Value>>) -> SchemaSettings {
    let limits = Arc::clone(limits);
    SchemaSettings::openapi3()
        .with_transform(RecursiveTransform(move |schema: &mut Schema| for_document(schema, &limits)))
}

/// A reference for a type with a name, else the schema itself.
fn named(of: TypeSchema, generator: &mut SchemaGenerator) -> Value {
    let mut schema = (of.reference)(generator);
    for transform in generator.transforms_mut() {
        transform.transform(&mut schema);
    }
    schema.to_value()
}

fn param(name: &str, schema: &Value, required: &[Value]) -> Param {
    let mut schema = schema.clone();
    let mut description = None;
    if let Some(Value::Array(branches)) = schema.get("anyOf")
        && let [only] = branches.iter().filter(|branch| !is_null(branch)).collect::<Vec<_>>()[..]
    {
        schema = only.clone();
    }
    if let Value::Object(map) = &mut schema {
        map.remove("nullable");
        description = map.remove("description").and_then(|text| text.as_str().map(str::to_owned));
    }
    let is_required = required.iter().any(|required| required == name);
    Param { name: name.to_owned(), description, is_required, schema }
}

fn is_null(schema: &Value) -> bool {
    schema.get("enum").is_some_and(|values| *values == json!([null]))
}

fn for_check(schema: &mut Schema, limits: &Map<String, Value>) {
    if schema.get(UNCHECKED_KEY) == Some(&Value::Bool(true)) {
        *schema = Schema::from(true);
        return;
    }
    schema.remove(DOCUMENT_KEY);
    if let Some(names) = schema.get(LIMIT_KEY).cloned() {
        schema.insert(LIMIT_NAMES_KEY.to_owned(), names);
    }
    set_limits(schema, limits);
    set_integer_bounds(schema);
}

fn for_document(schema: &mut Schema, limits: &Map<String, Value>) {
    schema.remove(UNCHECKED_KEY);
    if let Some(Value::Object(bounds)) = schema.remove(DOCUMENT_KEY) {
        for (keyword, bound) in bounds {
            if bound.is_null() {
                schema.remove(&keyword)
            } else {
                schema.insert(keyword, bound)
            };
        }
    }
    set_limits(schema, limits);
    set_integer_bounds(schema);
    set_string_bound(schema, limits);
    // What draft 2020-12 can say and OpenAPI 3.0 cannot.
    for keyword in
        ["$schema", "$defs", "propertyNames", "patternProperties", "contentEncoding", "contentMediaType"]
    {
        schema.remove(keyword);
    }
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    // Only null: `nullable` says nothing without a type, so it gets one that no other value of it passes.
    if is_null(schema.as_value()) {
        schema.insert("type".to_owned(), "string".into());
    }
    for (keyword, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(number) = schema.get(keyword).filter(|value| value.is_number()).cloned() {
            schema.insert(bound.to_owned(), number);
            schema.insert(keyword.to_owned(), true.into());
        }
    }
    if let Some(Value::Array(types)) = schema.get("type").cloned() {
        schema.remove("type");
        let branches: Vec<_> = types.iter().map(|kind| json!({ "type": kind })).collect();
        schema.insert("anyOf".to_owned(), branches.into());
    }
    plain::make_plain(schema);
}

/// An `x-limit` that names no limit stays, and is found when the document is finished.
fn set_limits(schema: &mut Schema, limits: &Map<String, Value>) {
    let Some(Value::Object(wanted)) = schema.get(LIMIT_KEY).cloned() else { return };
    for (keyword, name) in &wanted {
        let Some(number) = name.as_str().and_then(|name| limits.get(name)) else { return };
        schema.insert(keyword.clone(), number.clone());
    }
    schema.remove(LIMIT_KEY);
}

/// Every integer has both bounds, and a format that OpenAPI knows.
fn set_integer_bounds(schema: &mut Schema) {
    if !has_type(schema, "integer") || schema.get("enum").is_some() {
        return;
    }
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    let (low, high, format) = match format {
        "int8" => (i8::MIN.into(), i8::MAX.into(), "int32"),
        "uint8" => (0, u8::MAX.into(), "int32"),
        "int16" => (i16::MIN.into(), i16::MAX.into(), "int32"),
        "uint16" => (0, u16::MAX.into(), "int32"),
        "int32" => (i32::MIN.into(), i32::MAX.into(), "int32"),
        "uint32" => (0, u32::MAX.into(), "int64"),
        "uint64" | "uint" => (0, INTEGER_MAX, "int64"),
        _ => (-INTEGER_MAX, INTEGER_MAX, "int64"),
    };
    schema.insert("format".to_owned(), format.into());
    schema.ensure_object().entry("minimum").or_insert_with(|| low.into());
    schema.ensure_object().entry("maximum").or_insert_with(|| high.into());
}

/// Every string has a longest length; where its type names none, it is that of a body.
fn set_string_bound(schema: &mut Schema, limits: &Map<String, Value>) {
    let is_bounded =
        ["enum", "const", "format", "maxLength"].iter().any(|keyword| schema.get(*keyword).is_some());
    if has_type(schema, "string")
        && !is_bounded
        && let Some(bytes_max) = limits.get("bodyBytesMax")
    {
        schema.insert("maxLength".to_owned(), bytes_max.clone());
    }
}

fn has_type(schema: &Schema, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[schemars(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Sample {
        #[schemars(length(max = 255))]
        name: String,
        count: u32,
        note: Option<String>,
        inner: Option<Inner>,
        #[schemars(extend("x-limit" = { "maxItems": "insertRowsMax" }))]
        rows: Vec<String>,
        #[schemars(extend("x-unchecked" = true))]
        filters: Vec<Inner>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Inner {
        #[schemars(range(min = 1, max = 5))]
        stars: i64,
    }

    #[test]
    fn the_document_says_what_openapi_can_say() {
        let mut schemas = Schemas::new(&SchemaLimits::new(&Limits::default()));
        assert_eq!(
            schemas.request(TypeSchema::of::<Sample>()),
            json!({ "$ref": "#/components/schemas/Sample" })
        );
        let (requests, _) = schemas.take_components();
        let expected = json!({
            "name": { "type": "string", "maxLength": 255, "pattern": "^[^\\u0000]*$" },
            "count": { "type": "integer", "format": "int64", "minimum": 0, "maximum": 4_294_967_295_u32 },
            "note": {
                "type": "string", "nullable": true, "maxLength": 33_554_432, "pattern": "^[^\\u0000]*$",
            },
            "inner": { "anyOf": [{ "$ref": "#/components/schemas/Inner" }, { "type": "string", "enum": [null], "nullable": true }] },
            "rows": { "type": "array", "maxItems": 10_000, "items": {
                "type": "string", "maxLength": 33_554_432, "pattern": "^[^\\u0000]*$",
            } },
            "filters": { "type": "array", "items": { "$ref": "#/components/schemas/Inner" } },
        });
        assert_eq!(requests["Sample"]["properties"], expected);
        assert_eq!(requests["Sample"]["additionalProperties"], false);
    }

    #[test]
    fn the_check_leaves_out_what_is_unchecked() {
        let schema = SchemaLimits::new(&Limits::default()).checked(TypeSchema::of::<Sample>());
        assert_eq!(schema["properties"]["filters"], true);
        assert_eq!(schema["properties"]["rows"]["maxItems"], 10_000);
        assert_eq!(schema["properties"]["note"]["type"], json!(["string", "null"]));
    }

    #[test]
    fn lists_with_a_limit_are_counted() {
        let bounds = SchemaLimits::new(&Limits::default()).count_bounds(TypeSchema::of::<Sample>());
        let told: Vec<_> =
            bounds.iter().map(|at| (at.field.as_str(), at.entries_max, at.limit.as_str())).collect();
        assert_eq!(told, [("rows", 10_000, "insertRowsMax"), ("filters", 200, "filtersMax")]);
    }

    #[test]
    fn parameters_are_never_null() {
        let params = SchemaLimits::new(&Limits::default()).params(TypeSchema::of::<Sample>());
        let note = params.iter().find(|param| param.name == "note").unwrap();
        let text = json!({ "type": "string", "maxLength": 33_554_432, "pattern": "^[^\\u0000]*$" });
        assert_eq!(note.schema, text);
        assert!(!note.is_required);
        let inner = params.iter().find(|param| param.name == "inner").unwrap();
        assert_eq!(inner.schema["type"], "object");
    }
}
