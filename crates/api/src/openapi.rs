//! The document: OpenAPI, exactly 3.0.3, assembled from the operations that are mounted.

mod components;
mod conditions;
mod scopes;
mod tag;

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use rowmill_model::Scopes;
use serde_json::{Map, Value, json};

use crate::definition::OwnHeaders;
use crate::endpoint::{Access, Examples, Repeats, RequestHeader};
use crate::error::{Failure, WebhookFailure};
use crate::schema::{LIMIT_KEY, Param, Schemas, TypeSchema};

pub(crate) use tag::Tag;

const TITLE: &str = "Rowmill";
const DESCRIPTION: &str =
    "Tables whose columns fill themselves: store projects with rows and columns, and enrich them over HTTP.

**Authentication.** Send an API key as `Authorization: Bearer <key>`. The key identifies the team.

**Scopes.** A key may be restricted to scopes: `read`, `write`, `run`, `schema`, `admin`. Each operation names those that \
it needs (`x-scopes`); without one of them the response is 403 `missing_scope`. A key can also be restricted to projects \
(others are 404), to a time and to addresses.

**Responses.** Every response is JSON with `success`. An error has `error` (a sentence), `code` (a stable \
identifier) and, if the body or query is invalid, `details` with every problem and its location. Every response \
has an `X-Request-Id`; send your own to find the request in the server log.

**Ids** are accepted with or without their prefix, with or without hyphens, in any letter case. Responses use \
the prefixed lower-case form.

**Idempotency.** Send an `Idempotency-Key` with any POST that supports it: the first response is stored for 24 \
hours and returned again for the same key, path, query and body, with `Idempotent-Replayed: true`.

**Concurrency.** Reads of a project, column, view or row return an `ETag`, as do writes. Send it back as `If-Match` with \
a PATCH or DELETE: if somebody changed the thing meanwhile, the response is 412 `changed_meanwhile` and nothing is \
written. Send it as `If-None-Match` with a read to get 304 if nothing changed. The tag of a list of columns or views is \
accepted for each of them.

**Pages.** Lists of rows, and lists of projects if a page was requested, return a `Link` header with the addresses of \
the `next`, `prev`, `first` and `last` page, as far as they are known and the header stays below 3 KiB.

**Limits.** `GET /v4/limits` returns all current limits. This document contains the same values.";

/// One operation, as the document needs to know it.
#[derive(Debug)]
pub(crate) struct Operation {
    pub method: Method,
    /// What an `Idempotency-Key` does.
    pub repeats: Repeats,
    pub path: String,
    pub id: String,
    pub tag: String,
    pub summary: &'static str,
    pub description: &'static str,
    pub access: Access,
    /// What a key must be allowed to do.
    pub scopes: Scopes,
    pub statuses: Vec<StatusCode>,
    pub reads_rows: bool,
    pub request_headers: &'static [RequestHeader],
    /// The headers of success beside those that every answer has.
    pub answer_headers: &'static [&'static str],
    pub headers: OwnHeaders,
    /// Whether it answers 503 while the server cannot serve.
    pub may_be_unavailable: bool,
    /// Whether it can ask for a token that is not an API key.
    pub needs_token: bool,
    pub path_params: Vec<Param>,
    pub query_params: Vec<Param>,
    pub body: Option<BodySpec>,
    pub answer: AnswerSpec,
    pub examples: Examples,
}

#[derive(Debug)]
pub(crate) struct BodySpec {
    pub schema: Value,
    pub is_required: bool,
    pub media_types: &'static [&'static str],
}

#[derive(Debug)]
pub(crate) struct AnswerSpec {
    pub media_type: &'static str,
    pub media_type_also: Option<&'static str>,
    pub schema: Value,
    /// Whether `success: true` stands before the schema's own fields.
    pub is_enveloped: bool,
}

impl AnswerSpec {
    pub(crate) fn enveloped(schema: Value) -> Self {
        Self { media_type: "application/json", media_type_also: None, schema, is_enveloped: true }
    }
}

/// The document. What is wrong with the definitions is added to `faults`.
pub(crate) fn assemble(
    tags: &[Tag],
    servers: &Value,
    mut operations: Vec<Operation>,
    schemas: &mut Schemas,
    faults: &mut Vec<String>,
) -> Value {
    schemas.answer(TypeSchema::of::<Failure>());
    schemas.answer(TypeSchema::of::<WebhookFailure>());
    let schemas = merge_components(&mut operations, schemas, faults);
    faults.extend(definition_faults(tags, &operations));
    let mut paths = Map::new();
    for operation in &operations {
        let item = paths.entry(operation.path.clone()).or_insert_with(|| json!({}));
        if let Value::Object(item) = item {
            item.insert(operation.method.as_str().to_ascii_lowercase(), describe(operation));
        }
    }
    let tags: Vec<_> = tags.iter().map(Tag::entry).collect();
    let document = json!({
        "openapi": "3.0.3",
        "info": {
            "title": TITLE,
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "contact": { "name": "The Rowmill project" },
            "license": { "name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0" },
        },
        "servers": servers,
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": components::responses(),
            "parameters": components::parameters(),
            "headers": components::headers(),
            "securitySchemes": components::security_schemes(),
        },
    });
    if mentions(&document, &|key, _| key == LIMIT_KEY) {
        faults.push(format!("an {LIMIT_KEY} names a limit that does not exist"));
    }
    document
}

/// Where the service is.
pub(crate) fn servers(url: &str) -> Value {
    json!([{ "url": url, "description": "This server" }])
}

fn describe(operation: &Operation) -> Value {
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.full_description(),
        "security": security(operation.access),
    });
    let Value::Object(map) = &mut described else { return described };
    map.extend(operation.scope_names());
    let parameters = parameters(operation);
    if !parameters.is_empty() {
        map.insert("parameters".to_owned(), parameters.into());
    }
    if operation.headers.deprecated_at.is_some() {
        map.insert("deprecated".to_owned(), true.into());
    }
    if let Some(body) = &operation.body {
        let content = media(body.media_types, &body.schema, operation.examples.body.as_ref());
        map.insert("requestBody".to_owned(), json!({ "required": body.is_required, "content": content }));
    }
    map.insert("responses".to_owned(), responses(operation));
    described
}

fn security(access: Access) -> Value {
    match access {
        Access::Key => json!([{ "bearer": [] }]),
        Access::OpenRead => json!([{ "bearer": [] }, {}]),
        Access::Webhook | Access::Hook | Access::Open => json!([]),
    }
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let in_path = operation.path_params.iter().map(|param| parameter(param, "path", true));
    let in_query = operation.query_params.iter().map(|param| parameter(param, "query", param.is_required));
    let key = operation.takes_key().then(|| json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
    let is_read = operation.reads_rows && operation.method == Method::GET;
    let sequence = is_read.then(|| json!({ "$ref": "#/components/parameters/Sequence" }));
    let own = operation.request_headers.iter().map(|header| components::parameter_reference(*header));
    let precondition =
        operation.precondition().map(|name| json!({ "$ref": format!("#/components/parameters/{name}") }));
    in_path.chain(in_query).chain(key).chain(sequence).chain(own).chain(precondition).collect()
}

fn parameter(param: &Param, place: &str, is_required: bool) -> Value {
    let mut schema = param.schema.clone();
    // An example of a parameter is read beside its description more often than inside its schema.
    let example = schema.as_object_mut().and_then(|schema| schema.remove("example"));
    let mut described = json!({ "name": param.name, "in": place, "required": is_required, "schema": schema });
    if let Value::Object(map) = &mut described {
        map.extend(param.description.clone().map(|text| ("description".to_owned(), text.into())));
        map.extend(example.map(|example| ("example".to_owned(), example)));
    }
    described
}

fn responses(operation: &Operation) -> Value {
    let mut responses = Map::new();
    let unchanged = operation.is_tagged_read().then_some(StatusCode::NOT_MODIFIED);
    for status in operation.statuses.iter().copied().chain(unchanged) {
        responses.insert(status.as_str().to_owned(), success(operation, status));
    }
    for status in failures(operation) {
        let described = match operation.access {
            Access::Webhook if !components::is_unreadable(status) => components::webhook_failure(status),
            _ => json!({ "$ref": format!("#/components/responses/{}", components::failure(status).0) }),
        };
        responses.insert(status.as_str().to_owned(), described);
    }
    responses.into()
}

fn success(operation: &Operation, status: StatusCode) -> Value {
    let description = match status {
        StatusCode::CREATED => "Created",
        StatusCode::ACCEPTED => "Accepted",
        StatusCode::NOT_MODIFIED => "Not modified",
        _ => "Success",
    };
    let is_limited = operation.access != Access::Open;
    let mut described =
        json!({ "description": description, "headers": components::header_references(is_limited, false) });
    let own = operation.own_headers().chain(operation.answer_headers.iter().copied());
    if let Some(Value::Object(headers)) = described.get_mut("headers") {
        headers.extend(own.map(components::header_reference));
    }
    if status != StatusCode::NOT_MODIFIED
        && let Value::Object(map) = &mut described
    {
        let example = operation.examples.answer.clone().map(|example| {
            if operation.answer.is_enveloped { with_success(example, &json!(true)) } else { example }
        });
        let media_types: Vec<&str> =
            std::iter::once(operation.answer.media_type).chain(operation.answer.media_type_also).collect();
        let content = media(&media_types, &operation.answer.schema, example.as_ref());
        map.insert("content".to_owned(), content);
    }
    described
}

/// Which failures an operation can answer with follows from what it takes.
fn failures(operation: &Operation) -> Vec<StatusCode> {
    let needs_key = matches!(operation.access, Access::Key | Access::OpenRead);
    let is_limited = operation.access != Access::Open;
    let has_body = operation.body.is_some();
    let is_webhook = operation.access == Access::Webhook;
    [
        (StatusCode::BAD_REQUEST, true),
        (StatusCode::UNAUTHORIZED, needs_key || is_webhook || operation.needs_token),
        (StatusCode::FORBIDDEN, needs_key),
        (StatusCode::NOT_FOUND, !operation.path_params.is_empty()),
        // Only a repeated key is a conflict.
        (StatusCode::CONFLICT, operation.takes_key()),
        (StatusCode::PRECONDITION_FAILED, operation.precondition().is_some()),
        (StatusCode::PAYLOAD_TOO_LARGE, has_body),
        (StatusCode::URI_TOO_LONG, true),
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, has_body),
        (StatusCode::TOO_MANY_REQUESTS, is_limited),
        (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, true),
        (StatusCode::INTERNAL_SERVER_ERROR, true),
        (StatusCode::SERVICE_UNAVAILABLE, operation.may_be_unavailable),
        (StatusCode::INSUFFICIENT_STORAGE, is_limited && operation.method != Method::GET),
    ]
    .into_iter()
    .filter_map(|(status, applies)| applies.then_some(status))
    .collect()
}

fn media(media_types: &[&str], schema: &Value, example: Option<&Value>) -> Value {
    let mut described = json!({ "schema": schema });
    if let (Value::Object(map), Some(example)) = (&mut described, example) {
        map.insert("example".to_owned(), example.clone());
    }
    media_types.iter().map(|media_type| ((*media_type).to_owned(), described.clone())).collect()
}

/// Requests and answers of one name share a component where they are alike; else what is sent gets a
/// name of its own.
fn merge_components(
    operations: &mut [Operation],
    schemas: &mut Schemas,
    faults: &mut Vec<String>,
) -> Map<String, Value> {
    let (mut requests, mut answers) = schemas.take_components();
    let renamed = clashes(&requests, &answers, &enveloped_names(operations));
    requests.values_mut().for_each(|schema| rename_references(schema, &renamed));
    for body in operations.iter_mut().filter_map(|operation| operation.body.as_mut()) {
        rename_references(&mut body.schema, &renamed);
    }
    envelope(operations, &mut answers, faults);
    for (name, schema) in requests {
        let name = if renamed.contains(&name) { input_name(&name) } else { name };
        answers.entry(name).or_insert(schema);
    }
    answers.sort_keys();
    answers
}

fn input_name(name: &str) -> String {
    format!("{name}Input")
}

/// The components that `success` will be put into.
fn enveloped_names(operations: &[Operation]) -> BTreeSet<String> {
    let answers = operations.iter().map(|operation| &operation.answer).filter(|answer| answer.is_enveloped);
    answers.filter_map(|answer| answer.schema.get("$ref").and_then(reference)).map(str::to_owned).collect()
}

/// The names that mean one thing when sent and another when answered, themselves or by what they contain.
fn clashes(
    requests: &Map<String, Value>,
    answers: &Map<String, Value>,
    enveloped: &BTreeSet<String>,
) -> BTreeSet<String> {
    let differs = |name: &String| answers.get(name).is_some_and(|answer| requests.get(name) != Some(answer));
    let is_clash = |name: &&String| enveloped.contains(*name) || differs(name);
    let mut clashing: BTreeSet<String> = requests.keys().filter(is_clash).cloned().collect();
    loop {
        let contains_clash = |schema: &Value| {
            mentions(schema, &|key, value| {
                key == "$ref" && reference(value).is_some_and(|name| clashing.contains(name))
            })
        };
        let more: BTreeSet<String> = requests
            .iter()
            .filter(|(name, schema)| {
                !clashing.contains(*name) && answers.contains_key(*name) && contains_clash(schema)
            })
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return clashing;
        }
        clashing.extend(more);
    }
}

fn reference(value: &Value) -> Option<&str> {
    value.as_str()?.strip_prefix("#/components/schemas/")
}

fn rename_references(schema: &mut Value, renamed: &BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match reference(value) {
                    Some(name) if key == "$ref" && renamed.contains(name) => {
                        *value = format!("#/components/schemas/{}", input_name(name)).into();
                    }
                    _ => rename_references(value, renamed),
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| rename_references(entry, renamed)),
        _ => {}
    }
}

/// Puts `success: true` into the schema of every answer that carries it.
fn envelope(operations: &mut [Operation], answers: &mut Map<String, Value>, faults: &mut Vec<String>) {
    let mut done = BTreeSet::new();
    for answer in
        operations.iter_mut().map(|operation| &mut operation.answer).filter(|answer| answer.is_enveloped)
    {
        let Some(name) = answer.schema.get("$ref").and_then(reference).map(str::to_owned) else {
            add_success(&mut answer.schema);
            continue;
        };
        if !done.insert(name.clone()) {
            continue;
        }
        if answers
            .values()
            .any(|schema| mentions(schema, &|key, value| key == "$ref" && reference(value) == Some(&name)))
        {
            faults.push(format!("{name} is an answer and also a part of another: wrap it in a struct"));
        }
        if let Some(schema) = answers.get_mut(&name) {
            add_success(schema);
        }
    }
}

fn add_success(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    schema.entry("type").or_insert_with(|| "object".into());
    let success = json!({ "type": "boolean", "enum": [true], "description": "Always true." });
    let properties = schema.remove("properties").unwrap_or_else(|| json!({}));
    schema.insert("properties".to_owned(), with_success(properties, &success));
    let mut required = vec![json!("success")];
    if let Some(Value::Array(others)) = schema.remove("required") {
        required.extend(others);
    }
    schema.insert("required".to_owned(), required.into());
}

fn with_success(object: Value, success: &Value) -> Value {
    let mut map = Map::new();
    map.insert("success".to_owned(), success.clone());
    if let Value::Object(fields) = object {
        map.extend(fields);
    }
    map.into()
}

fn definition_faults(tags: &[Tag], operations: &[Operation]) -> Vec<String> {
    let mut ids = BTreeSet::new();
    let mut faults = Vec::new();
    for operation in operations {
        if !ids.insert(&operation.id) {
            faults.push(format!("the operation id {} is used twice", operation.id));
        }
        if !tags.iter().any(|tag| tag.name == operation.tag) {
            faults.push(format!("{}: the tag {} is not defined", operation.id, operation.tag));
        }
    }
    faults
}

/// Whether some key and its value anywhere in a document are what is looked for.
fn mentions(document: &Value, sought: &dyn Fn(&str, &Value) -> bool) -> bool {
    match document {
        Value::Object(map) => map.iter().any(|(key, value)| sought(key, value) || mentions(value, sought)),
        Value::Array(entries) => entries.iter().any(|entry| mentions(entry, sought)),
        _ => false,
    }
}
