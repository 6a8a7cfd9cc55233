//! The document of the toy API: valid, exact, and true to what the kit does.

use axum::http::Method;
use rowmill_api::{Answer, Api, Call, Endpoint, Error, Nothing};
use rowmill_model::{Limits, Scopes};
use serde_json::{Value, json};

use crate::toy::{self, CreateThing, GetThing, State};

fn document() -> Value {
    toy::define().unwrap().document().unwrap()
}

#[test]
fn it_is_openapi_3_0_3() {
    let document = document();
    assert_eq!(document["openapi"], "3.0.3");
    let parsed: openapiv3::OpenAPI = serde_json::from_value(document).unwrap();
    assert_eq!(parsed.paths.paths.len(), 11);
    assert_eq!(parsed.tags.len(), 2);
}

#[test]
fn it_says_nothing_that_3_0_3_cannot() {
    fn visit(value: &Value, path: &str) {
        match value {
            Value::Object(map) => {
                for key in
                    ["const", "$schema", "$defs", "examples", "x-limit", "x-unchecked", "patternProperties"]
                {
                    assert!(!map.contains_key(key), "{path}/{key}");
                }
                assert!(!map.get("type").is_some_and(Value::is_array), "{path}/type");
                if map.get("type") == Some(&json!("integer")) {
                    assert!(map.contains_key("minimum") && map.contains_key("maximum"), "{path}");
                }
                if map.get("type") == Some(&json!("string")) && !map.contains_key("enum") {
                    assert!(map.contains_key("maxLength"), "{path}");
                }
                map.iter().for_each(|(key, value)| visit(value, &format!("{path}/{key}")));
            }
            Value::Array(entries) => entries.iter().for_each(|entry| visit(entry, &format!("{path}/*"))),
            _ => {}
        }
    }
    visit(&document(), "");
}

#[test]
fn every_reference_leads_somewhere() {
    fn visit(document: &Value, value: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
                }
                map.values().for_each(|value| visit(document, value));
            }
            Value::Array(entries) => entries.iter().for_each(|entry| visit(document, entry)),
            _ => {}
        }
    }
    let document = document();
    visit(&document, &document);
}

#[test]
fn operations_list_the_statuses_they_can_have() {
    let document = document();
    let check = |method: &str, path: &str, expected: &str| {
        let responses = document["paths"][path][method]["responses"].as_object().unwrap();
        assert_eq!(responses.keys().map(String::as_str).collect::<Vec<_>>().join(" "), expected, "{path}");
    };
    check("post", "/v4/things", "201 200 400 401 403 409 413 414 415 429 431 500 503 507");
    check("get", "/v4/things", "200 400 401 403 414 429 431 500 503");
    check("get", "/v4/things/{thingId}", "200 400 401 403 404 414 429 431 500 503");
    check("post", "/webhooks/{teamId}", "200 400 401 404 414 429 431 500 503 507");
    check("get", "/healthz", "200 400 414 431 500");
    check("get", "/readyz", "200 400 414 431 500 503");
    check("get", "/openapi.json", "200 304 400 414 431 500 503");
}

#[test]
fn bodies_and_answers() {
    let document = document();
    let operation = &document["paths"]["/v4/things"]["post"];
    assert_eq!(operation["parameters"], json!([{ "$ref": "#/components/parameters/IdempotencyKey" }]));
    assert_eq!(operation["security"], json!([{ "bearer": [] }]));
    let answer = &operation["responses"]["201"]["content"]["application/json"];
    assert_eq!(answer["example"], json!({ "success": true, "id": "thing_one", "tags": ["a"], "note": null }));
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Made"]["required"], json!(["success", "id", "tags", "note"]));
    let new = &schemas["NewThing"];
    assert_eq!((&new["required"], &new["additionalProperties"]), (&json!(["title"]), &json!(false)));
    assert_eq!(new["properties"]["tags"]["maxItems"], 2);
    let body = &document["paths"]["/v4/things"]["patch"]["requestBody"];
    assert_eq!(body["required"], false);
}

#[test]
fn what_differs_when_sent_has_a_name_of_its_own() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Part"]["required"], json!(["name", "parts"]));
    assert_eq!(schemas["PartInput"].get("required"), None);
    let items = &schemas["PartInput"]["properties"]["parts"]["items"];
    assert_eq!(items["$ref"], "#/components/schemas/PartInput");
    let filters = &schemas["NewThing"]["properties"]["filters"];
    assert_eq!(filters["items"]["$ref"], "#/components/schemas/PartInput");
    // Counted is both a body and an answer; only the answer carries success.
    assert_eq!(schemas["Counted"]["required"], json!(["success", "count"]));
    assert_eq!(schemas["CountedInput"].get("required"), None);
}

#[test]
fn scopes_are_told() {
    let document = document();
    let things = &document["paths"]["/v4/things"];
    assert_eq!(things["post"]["x-scopes"], json!(["write"]));
    assert!(things["get"]["description"].as_str().unwrap().ends_with("Needs the scope `read`."));
    assert_eq!(document["paths"]["/webhooks/{teamId}"]["post"].get("x-scopes"), None);
}

#[test]
fn parameters() {
    let document = document();
    let page = json!([{
        "name": "page", "in": "query", "required": false, "description": "Which page, from 1.", "example": 1,
        "schema": { "type": "integer", "format": "int64", "minimum": 1, "maximum": 4_294_967_295_u32 },
    }]);
    assert_eq!(document["paths"]["/v4/things"]["get"]["parameters"], page);
    let id = json!([{
        "name": "thingId", "in": "path", "required": true, "description": "The thing.", "example": "thing_one",
        "schema": { "type": "string", "maxLength": 64, "pattern": "^.+$" },
    }]);
    assert_eq!(document["paths"]["/v4/things/{thingId}"]["get"]["parameters"], id);
}

#[test]
fn mistakes_in_definitions_are_found() {
    #[track_caller]
    fn check<E: Endpoint<State>>(paths: &[&'static str], expected: &str) {
        let mut api = Api::new(Limits::default());
        for path in paths {
            api.add::<E>(*path);
        }
        let fault = api.finish().and_then(|api| api.document()).unwrap_err().to_string();
        assert!(fault.contains(expected), "{fault}");
    }
    check::<GetThing>(&["/v4/things"], "the path names {}, its type {\"thingId\"}");
    check::<CreateThing>(&["/a", "/b"], "the operation id createThing is used twice");
    check::<CreateThing>(&["/a"], "the tag Things is not defined");
    check::<ForAnyKey>(&["/a"], "needs a scope");
}

/// An operation whose author forgot who may call it.
struct ForAnyKey;

impl Endpoint<State> for ForAnyKey {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "forAnyKey";
    const SCOPES: Scopes = Scopes::NONE;
    const TAG: &'static str = "Things";
    const SUMMARY: &'static str = "Forgotten";
    const DESCRIPTION: &'static str = "Says nothing of scopes.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Nothing;

    async fn handle(_: Call<State>, _: Nothing, _: Nothing, _: Nothing) -> Result<Answer<Nothing>, Error> {
        Ok(Answer::new(Nothing {}))
    }
}
