//! The document that a server publishes, as the judge of everything it answers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use jsonschema::Validator;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::http::{Request, Response};

/// An OpenAPI 3.0 document, ready to judge.
pub(crate) struct Document {
    root: Value,
    /// The components as JSON Schema.
    components: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// Documents by their text: servers with the same settings share one.
static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Document>>>> = LazyLock::new(Mutex::default);
/// Operations that have answered with success.
static USED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The operations of all documents that no scenario has used with success.
pub(crate) fn unused_operations() -> BTreeSet<String> {
    let known = KNOWN.lock();
    let all: BTreeSet<String> = known.values().flat_map(|document| document.operation_ids()).collect();
    assert!(!all.is_empty(), "no document was read");
    all.difference(&USED.lock()).cloned().collect()
}

impl Document {
    pub(crate) fn of(text: &str) -> Arc<Self> {
        let mut known = KNOWN.lock();
        Arc::clone(known.entry(text.to_owned()).or_insert_with(|| {
            let root: Value = serde_json::from_str(text).expect("the document is JSON");
            let components = json!({ "schemas": to_json_schema(&root["components"]["schemas"]) });
            Arc::new(Self { root, components, validators: Mutex::default() })
        }))
    }

    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    fn operation_ids(&self) -> Vec<String> {
        let paths = self.root["paths"].as_object().expect("paths");
        let operations = paths.values().flat_map(|item| item.as_object().expect("a path item").values());
        operations.filter_map(|operation| operation["operationId"].as_str().map(str::to_owned)).collect()
    }

    /// Panics where an answer is none that the document promises.
    #[track_caller]
    pub(crate) fn judge(&self, request: &Request, response: &Response, text: &str) {
        let told = format!("{} {} -> {}", request.method, request.path, response.status);
        // A server may put a request off, or say what is the matter with its disk, as the document does.
        let is_told = [503, 507].contains(&response.status) || text.contains(r#""code":"damaged""#);
        assert!(response.status < 500 || is_told, "{told}: the server failed\n{text}");
        let Some((template, item)) = self.path_item(&request.path) else {
            assert_eq!(response.status, 404, "{told}: the document has no such path");
            return self.judge_failure(&told, text);
        };
        let Some(operation) = item.get(request.method.to_ascii_lowercase()) else {
            assert_eq!(response.status, 405, "{told}: the document has no such method");
            return self.judge_failure(&told, text);
        };
        let promised = &operation["responses"][response.status.to_string()];
        assert!(promised.is_object(), "{told}: a status the document does not know\n{text}");
        let promised = self.resolve(promised);
        self.judge_headers(&told, promised, response);
        let place = format!("{} {template}", request.method);
        self.judge_body(&place, &told, promised, response, text);
        if (200..300).contains(&response.status) {
            let id = operation["operationId"].as_str().expect("an operationId");
            USED.lock().insert(id.to_owned());
            self.judge_request(&place, &told, operation, request);
        }
    }

    fn judge_headers(&self, told: &str, promised: &Value, response: &Response) {
        for (name, header) in promised["headers"].as_object().unwrap_or(&Map::new()) {
            let header = self.resolve(header);
            let Some(sent) = response.header(name) else {
                assert_ne!(header["required"], true, "{told}: no header {name}");
                continue;
            };
            let value = if header["schema"]["type"] == "integer" {
                sent.parse::<u64>().map_or(Value::Null, Value::from)
            } else {
                Value::from(sent)
            };
            self.check(&format!("header {name}"), told, &header["schema"], &value);
        }
    }

    fn judge_body(&self, place: &str, told: &str, promised: &Value, response: &Response, text: &str) {
        let Some(content) = promised["content"].as_object() else {
            assert_eq!(text, "", "{told}: a body that the document does not know");
            return;
        };
        let media_type = response.header("content-type").unwrap_or_default();
        let content = content.get(media_type).unwrap_or_else(|| panic!("{told}: sent as {media_type:?}"));
        let place = format!("{place} {}", response.status);
        if media_type == "text/event-stream" {
            for event in text.split("\n\n").filter(|event| !event.trim_matches([':', '\n']).is_empty()) {
                let fields = event.lines().filter_map(|line| line.split_once(": "));
                let parsed = |name: &str, text: &str| match name {
                    "data" => {
                        serde_json::from_str(text).unwrap_or_else(|error| panic!("{told}: {error}\n{text}"))
                    }
                    _ => Value::from(text),
                };
                let event = fields.map(|(name, text)| (name.to_owned(), parsed(name, text))).collect();
                self.check(&place, told, &content["schema"]["x-event"], &Value::Object(event));
            }
            return;
        }
        let value = if media_type == "application/json" {
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{told}: {error}\n{text}"))
        } else {
            Value::from(text)
        };
        self.check(&place, told, &content["schema"], &value);
    }

    /// What was accepted must be something the document says is accepted.
    fn judge_request(&self, place: &str, told: &str, operation: &Value, request: &Request) {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
        if let Some(body) = body.filter(|_| schema.is_object()) {
            self.check(&format!("{place} request"), &format!("{told}: accepted"), schema, &body);
        }
    }

    fn judge_failure(&self, told: &str, text: &str) {
        let value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{told}: {error}\n{text}"));
        self.check("a failure", told, &json!({ "$ref": "#/components/schemas/Failure" }), &value);
    }

    fn check(&self, place: &str, told: &str, schema: &Value, value: &Value) {
        let validator = {
            let mut validators = self.validators.lock();
            Arc::clone(validators.entry(place.to_owned()).or_insert_with(|| Arc::new(self.compile(schema))))
        };
        let faults: Vec<String> =
            validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(faults.is_empty(), "{told}: not as the document says:\n{}\n{value}", faults.join("\n"));
    }

    fn compile(&self, schema: &Value) -> Validator {
        let whole = json!({ "allOf": [to_json_schema(schema)], "components": self.components });
        let options = jsonschema::draft4::options().should_validate_formats(true);
        options.build(&whole).expect("a valid schema")
    }

    /// The path item that a path belongs to: the one with the fewest parameters that fits.
    fn path_item(&self, path: &str) -> Option<(&str, &Value)> {
        let path = path.split('?').next().unwrap_or_default();
        let fits = |template: &str| {
            let (template, path) = (template.split('/'), path.split('/'));
            template.clone().count() == path.clone().count()
                && template
                    .zip(path)
                    .all(|(part, sent)| part == sent || part.starts_with('{') && !sent.is_empty())
        };
        let items = self.root["paths"].as_object().expect("paths");
        let fitting: BTreeMap<usize, _> = items
            .iter()
            .filter(|(template, _)| fits(template))
            .map(|(template, item)| (template.matches('{').count(), (template.as_str(), item)))
            .collect();
        fitting.into_values().next()
    }

    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.root.pointer(reference.trim_start_matches('#')).expect("a reference"),
            None => value,
        }
    }
}

/// An OpenAPI 3.0 schema in the words of JSON Schema draft 4, of which it is a dialect.
fn to_json_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut fields: Map<String, Value> =
                fields.iter().map(|(name, value)| (name.clone(), to_json_schema(value))).collect();
            fields.remove("example");
            match fields.remove("nullable") {
                Some(Value::Bool(true)) => json!({ "anyOf": [fields, { "enum": [null] }] }),
                Some(property) if property.is_object() => {
                    fields.insert("nullable".to_owned(), property);
                    Value::Object(fields)
                }
                _ => Value::Object(fields),
            }
        }
        Value::Array(entries) => entries.iter().map(to_json_schema).collect(),
        other => other.clone(),
    }
}
