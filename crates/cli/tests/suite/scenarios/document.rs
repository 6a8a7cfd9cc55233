//! The document as generators of clients read it. `cargo xtask test clients` generates some and uses them.

use serde_json::{Map, Value, json};

use crate::harness::runner::scenarios;
use crate::harness::server::DataDir;
use crate::harness::{Api, Scenario, Server, rowmill};

pub(crate) const OWN: &[Scenario] = &scenarios!("document", Own:
    it_says_where_the_server_is_and_what_its_limits_are,
);
pub(crate) const SHARED: &[Scenario] = &scenarios!("document", Shared:
    every_schema_has_a_form_that_generators_take,
    every_form_of_an_object_is_told_apart,
    texts_without_nul_alone_are_valid,
    every_status_that_can_occur_is_told_and_no_other,
    every_header_that_occurs_is_told,
    fields_that_are_always_there_are_required,
    guests_and_their_events_are_described,
    null_puts_the_settings_back,
);

/// The longest name of a schema. Generators make classes and files of them.
const NAME_CHARS_MAX: usize = 24;

/// Calls `visit` with every schema in the components, and where it is.
fn each_schema<'d>(document: &'d Value, visit: &mut dyn FnMut(&str, &'d Map<String, Value>)) {
    fn walk<'d>(at: &str, schema: &'d Value, visit: &mut dyn FnMut(&str, &'d Map<String, Value>)) {
        let Some(fields) = schema.as_object() else { return };
        visit(at, fields);
        for name in ["items", "additionalProperties"] {
            if let Some(inner) = fields.get(name) {
                walk(&format!("{at}/{name}"), inner, visit);
            }
        }
        for name in ["anyOf", "oneOf", "allOf"] {
            for inner in fields.get(name).and_then(Value::as_array).into_iter().flatten() {
                walk(&format!("{at}/{name}"), inner, visit);
            }
        }
        for (name, inner) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            walk(&format!("{at}/{name}"), inner, visit);
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        walk(name, schema, visit);
    }
}

/// Every operation with its method and path.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let items = paths.iter().flat_map(|(path, item)| {
        item.as_object()
            .unwrap()
            .iter()
            .map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    items.collect()
}

fn parameter_names(operation: &Value) -> Vec<&str> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.filter_map(|one| one["name"].as_str().or(one["$ref"].as_str())).collect()
}

fn every_schema_has_a_form_that_generators_take(api: &Api) {
    each_schema(api.document(), &mut |at, schema| {
        assert!(
            !schema.contains_key("default"),
            "{at} has a default: generators take the field for required"
        );
        let is_nullable = schema.get("nullable") == Some(&json!(true));
        let words = schema.get("enum").and_then(Value::as_array);
        let is_only_null = words.is_some_and(|words| *words == [Value::Null]);
        let is_flag = schema.get("type") == Some(&json!("boolean"));
        assert!(!(is_flag && is_nullable && words.is_some()), "{at} is a flag that has one value or none");
        assert!(!is_nullable || is_only_null || schema.contains_key("type"), "{at} is null without a type");
        let is_nameless = at.contains('/') && schema.contains_key("properties");
        assert!(!is_nameless, "{at} has fields but no name: generators make a long one");
        let is_choice = |schema: &Value| schema.get("enum").is_some();
        let choices = schema.get("oneOf").and_then(Value::as_array);
        assert!(choices.is_none_or(|all| !all.iter().all(is_choice)), "{at} is a choice between words");
    });
    let schemas = api.document()["components"]["schemas"].as_object().unwrap();
    for name in schemas.keys() {
        assert!(name.len() <= NAME_CHARS_MAX, "{name} is a long name");
    }
    assert_eq!(
        schemas["FilterGroup"]["properties"]["filters"]["items"]["anyOf"],
        json!([
            { "$ref": "#/components/schemas/Filter" }, { "$ref": "#/components/schemas/FilterGroup" },
        ])
    );
    let mapping = schemas["InputMapping"]["properties"].as_object().unwrap();
    let keys: Vec<&str> = mapping.keys().map(String::as_str).collect();
    assert_eq!(keys, ["first_name", "last_name", "full_name", "domain"]);
    assert_eq!(schemas["InputMapping"]["required"], json!(keys));
    let file = &api.document()["paths"]["/v4/projects/{projectId}/import"]["post"]["requestBody"]["content"];
    for media_type in ["text/csv", "application/x-ndjson"] {
        assert_eq!(file[media_type]["schema"], json!({ "type": "string", "format": "binary" }));
    }
}

fn every_form_of_an_object_is_told_apart(api: &Api) {
    let schemas = &api.document()["components"]["schemas"];
    let mut seen = Vec::new();
    each_schema(api.document(), &mut |at, schema| {
        let Some(forms) = schema.get("oneOf").and_then(Value::as_array) else { return };
        let told = schema.get("discriminator").unwrap_or_else(|| panic!("{at} has no discriminator"));
        let tag = told["propertyName"].as_str().unwrap();
        let mapping = told["mapping"].as_object().unwrap();
        assert_eq!(mapping.len(), forms.len(), "{at}");
        for (word, place) in mapping {
            assert!(forms.contains(&json!({ "$ref": place })), "{at}: {place}");
            let form = &schemas[place.as_str().unwrap().rsplit('/').next().unwrap()];
            assert_eq!(form["properties"][tag]["enum"], json!([word]), "{at}: {word}");
            assert!(form["required"].as_array().unwrap().contains(&json!(tag)), "{at}: {word}");
        }
        seen.push(at.to_owned());
    });
    assert_eq!(seen, ["Column", "Event", "TaskConfig"]);
}

fn texts_without_nul_alone_are_valid(api: &Api) {
    let is_bound = |schema: &Map<String, Value>| {
        let is_text = schema.get("type") == Some(&json!("string"));
        !is_text || ["enum", "format", "pattern"].iter().any(|keyword| schema.contains_key(*keyword))
    };
    let document = api.document();
    each_schema(document, &mut |at, schema| assert!(is_bound(schema), "{at} takes U+0000"));
    for (place, operation) in operations(document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let schema = parameter["schema"].as_object();
            assert!(schema.is_none_or(is_bound), "{place} {} takes U+0000", parameter["name"]);
        }
    }
    let schemas = &document["components"]["schemas"];
    let check = |schema: &Value, text: &str, expected: bool| {
        let validator = jsonschema::draft4::options().build(schema).unwrap();
        assert_eq!(validator.is_valid(&json!(text)), expected, "{text:?}: {schema}");
    };
    let title = &schemas["ProjectCreate"]["properties"]["title"];
    for (text, expected) in [(" Leads\n", true), ("Le\0ads", false), (" ", false), ("\0", false)] {
        check(title, text, expected);
    }
    let prompt = &schemas["AiConfigInput"]["properties"]["prompt"];
    for (text, expected) in [("", true), ("a\nb\u{2028}", true), ("\0", false), ("a\n\0b", false)] {
        check(prompt, text, expected);
    }
}

fn every_status_that_can_occur_is_told_and_no_other(api: &Api) {
    for (place, operation) in operations(api.document()) {
        let has = |status: &str| operation["responses"].get(status).is_some();
        let takes_key = parameter_names(operation).iter().any(|name| name.ends_with("/IdempotencyKey"));
        assert_eq!(has("409"), takes_key, "{place}: 409 comes of a repeated key alone");
        assert!(has("414") && has("431") && has("500"), "{place}");
        let takes_tag = parameter_names(operation).iter().any(|name| name.ends_with("/IfNoneMatch"));
        assert_eq!(has("304"), takes_tag, "{place}: 304 comes of a known ETag alone");
        let demands_tag = parameter_names(operation).iter().any(|name| name.ends_with("/IfMatch"));
        assert!(!demands_tag || has("412"), "{place}");
        let is_always_answered = ["get /healthz", "get /metrics"].contains(&place.as_str());
        assert_eq!(has("503"), !is_always_answered, "{place}");
    }
}

fn every_header_that_occurs_is_told(api: &Api) {
    let document = api.document();
    let check = |place: &str, request: &str, status: &str, answer: &str| {
        let (_, operation) = operations(document).into_iter().find(|(at, _)| at == place).unwrap();
        let parameters = parameter_names(operation).into_iter();
        let mut headers = parameters.map(|name| {
            document.pointer(name.trim_start_matches('#')).map_or(json!(name), |one| one["name"].clone())
        });
        assert!(request.is_empty() || headers.any(|name| name == request), "{place}: {request}");
        let response = &operation["responses"][status];
        let response = response["$ref"].as_str().map_or(response, |at| document.pointer(&at[1..]).unwrap());
        assert!(answer.is_empty() || response["headers"].get(answer).is_some(), "{place}: {status} {answer}");
    };
    check("post /webhooks/eventplatform/{teamId}", "webhook-signature", "401", "WWW-Authenticate");
    check("get /v4/projects/{projectId}/events", "Last-Event-ID", "429", "Retry-After");
    check("get /openapi.json", "If-None-Match", "304", "ETag");
    check("get /docs", "If-None-Match", "200", "ETag");
    check("get /v4/projects/{projectId}/export", "", "200", "Content-Disposition");
    check("get /v4/projects", "", "503", "Retry-After");
    check("post /v4/projects", "Idempotency-Key", "507", "Retry-After");
    check("post /v4/projects", "", "401", "WWW-Authenticate");
    check("get /v4/projects/{projectId}/rows", "X-Rowmill-Sequence", "200", "X-RateLimit-Reset");
    check("patch /v4/projects/{projectId}/cells", "", "200", "X-Rowmill-Sequence");
}

fn fields_that_are_always_there_are_required(api: &Api) {
    let schemas = &api.document()["components"]["schemas"];
    let pagination = json!(["page", "pageSize", "totalRows", "totalPages", "nextCursor"]);
    assert_eq!(schemas["Pagination"]["required"], pagination);
    let parameters = api.document()["paths"]["/v4/projects/{projectId}/rows"]["get"]["parameters"].as_array();
    let page_size = parameters.unwrap().iter().find(|one| one["name"] == "pageSize").unwrap();
    assert_eq!(
        (&page_size["schema"]["default"], &page_size["schema"]["maximum"]),
        (&json!(50), &json!(1_000))
    );
}

fn guests_and_their_events_are_described(api: &Api) {
    let schemas = &api.document()["components"]["schemas"];
    let names = |schema: &str| -> Vec<&String> {
        schemas[schema]["properties"].as_object().unwrap().keys().collect()
    };
    assert_eq!(
        names("GuestPayload"),
        ["api_id", "user_email", "approval_status", "registered_at", "event_id", "event_name", "guest"]
    );
    assert_eq!(names("Guest"), ["api_id", "email", "name", "first_name", "last_name"]);
    assert_eq!(schemas["GuestPayload"]["required"], json!(names("GuestPayload")));
    assert_eq!(schemas["EventMetadata"]["required"], json!(["integration", "eventplatform"]));
    assert_eq!(schemas["EventIntegration"]["required"], json!(["eventId", "webhookEnabled"]));
    let event = json!({ "integration": "eventplatform-event", "eventplatform": { "eventId": "e", "webhookEnabled": true } });
    for (metadata, status) in [
        (event, 201),
        (json!({ "integration": 5, "eventplatform": [1] }), 201),
        (json!({}), 201),
        (json!(null), 201),
        (json!([]), 400),
        (json!("x"), 400),
    ] {
        let made = api.post("/v4/projects", json!({ "title": "Guests", "metadata": metadata }));
        assert_eq!(made.status(), status, "{metadata}: {}", made.text);
    }
}

fn null_puts_the_settings_back(api: &Api) {
    let settings = json!({ "api": { "createColumnsFromKeys": true } });
    let made = api.post("/v4/projects", json!({ "title": "Settings", "settings": settings })).created();
    assert_eq!(made["project"]["settings"]["api"]["createColumnsFromKeys"], true);
    let path = format!("/v4/projects/{}", made["project"]["id"].as_str().unwrap());
    let changed = api.patch(path, json!({ "settings": null })).ok();
    assert_eq!(changed["project"]["settings"]["api"]["createColumnsFromKeys"], false);
}

fn it_says_where_the_server_is_and_what_its_limits_are() {
    let settings =
        [("ROWMILL_PUBLIC_URL", "https://tables.example/mill"), ("ROWMILL_PAGE_SIZE_DEFAULT", "7")];
    let server = Server::start_in(DataDir::new(), &settings);
    let published = server.api().document().clone();
    assert_eq!(published["servers"][0]["url"], "https://tables.example/mill");
    let folder = DataDir::new();
    let printed = |arguments: &[&str]| -> Value {
        let output = rowmill(&folder, &[&["openapi"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let flags = [
        "--public-url",
        "https://tables.example/mill",
        "--page-size-default",
        "7",
        "--data-dir",
        "elsewhere",
    ];
    assert!(printed(&flags) == published, "what is printed with the same settings is what is served");
    let parameters =
        &printed(&["--page-size-max", "10"])["paths"]["/v4/projects/{projectId}/rows"]["get"]["parameters"];
    let page_size = parameters.as_array().unwrap().iter().find(|it| it["name"] == "pageSize").unwrap();
    assert_eq!((&page_size["schema"]["maximum"], &page_size["schema"]["default"]), (&json!(10), &json!(10)));
    assert_eq!(printed(&[])["servers"][0]["url"], "/");
    std::fs::write(folder.path().join("rowmill.toml"), "public_url = \"http://tables.example\"\n").unwrap();
    assert_eq!(printed(&[])["servers"][0]["url"], "http://tables.example");
    let refused = rowmill(&folder, &["openapi", "--public-url", "tables"]);
    assert!(!refused.status.success() && refused.stdout.is_empty(), "{refused:?}");
}
