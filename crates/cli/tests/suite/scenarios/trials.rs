//! Trying before keeping: a column on one row, a credential on its provider. And the sample, and what is used.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen, ok};
use crate::harness::{Api, Request, Scenario, Server, StubServer, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("trials", Own:
    a_column_is_tried_on_a_row_and_nothing_is_kept,
    what_would_be_sent_is_shown_without_secrets,
    a_credential_is_tested,
);
pub(crate) const SHARED: &[Scenario] = &scenarios!("trials", Shared:
    the_sample_runs_without_a_key,
    usage_counts_rows_and_cells,
);

const LOOPBACK: (&str, &str) = ("ROWMILL_ALLOW_PRIVATE", "127.0.0.1/32");

#[track_caller]
fn attempt(table: &Table, row: &str, column: Value, dry_run: bool) -> Value {
    table.post("/try", json!({ "rowId": row, "column": column, "dryRun": dry_run })).ok()
}

fn a_column_is_tried_on_a_row_and_nothing_is_kept() {
    let stub_server = StubServer::start(|seen: &Seen, _| match seen.path.as_str() {
        "/broken" => Reply::Json(500, json!({ "message": "no" })),
        _ => ok(json!({ "path": seen.path, "n": 1.50 })),
    });
    let server = Server::start(&[LOOPBACK]);
    let table = server.api().table(&["Name"]);
    let ids = table.insert(json!([{ "Name": "a b" }, {}]));
    let before = table.get("").ok();
    let column = |path: &str| {
        let url = format!("{}{path}", stub_server.url("/"));
        json!({ "templateId": "http-api", "header": "Try", "apiConfig": { "url": url } })
    };
    let tried = attempt(&table, &ids[0], column("@{Name}"), false);
    assert_eq!(tried["result"]["status"], "completed", "{tried}");
    assert_eq!(tried["result"]["value"]["path"], "/a%20b");
    assert_eq!(tried["resolved"]["url"], stub_server.url("/a%20b"));
    assert_eq!(tried["resolved"]["method"], "GET");
    assert!(tried["appliedFixes"].as_array().is_some_and(|fixes| !fixes.is_empty()), "a header became an id");
    assert_eq!(tried["result"]["meta"]["provider"], "http-api");

    let calls = stub_server.count();
    let dry = attempt(&table, &ids[0], column("@{Name}"), true);
    assert_eq!((dry.get("result"), stub_server.count()), (None, calls), "nobody is called: {dry}");
    let empty = attempt(&table, &ids[1], column("@{Name}"), false);
    assert_eq!(empty["result"]["status"], "skipped", "{empty}");
    assert_eq!((&empty["result"]["error"]["code"], stub_server.count()), (&json!("missing_input"), calls));
    let broken = attempt(&table, &ids[0], column("broken"), false);
    assert_eq!(
        (&broken["result"]["status"], &broken["result"]["error"]["code"]),
        (&json!("error"), &json!("provider_error"))
    );
    let mut conditional = column("@{Name}");
    conditional["runCondition"] =
        json!([{ "columnId": table.column("Name"), "operator": "equals", "value": "z" }]);
    assert_eq!(attempt(&table, &ids[0], conditional, false)["result"]["error"]["code"], "condition_not_met");
    assert_eq!(table.get("").ok(), before, "nothing was kept");

    // A column that is there already, edited.
    let kept = table.add_column(column("kept"));
    let edited = json!({ "rowId": ids[0], "columnId": kept, "column": { "templateId": "http-api", "apiConfig": { "query": { "q": "@{Name}" } } } });
    let tried = table.post("/try", edited).ok();
    assert_eq!(tried["result"]["value"]["path"], "/kept?q=a+b", "{tried}");
    let reference = json!({ "templateId": "reference", "referenceConfig": { "columnId": table.column("Name"), "path": "" } });
    assert_eq!(attempt(&table, &ids[0], reference, false)["result"]["value"], "a b");

    let refused = |body: Value| table.post("/try", body);
    refused(json!({ "rowId": "row_nope", "column": column("x") })).refused(404, "row_not_found");
    refused(json!({ "rowId": ids[0], "column": column("x"), "columnId": "col_nope" }))
        .refused(404, "column_not_found");
    refused(json!({ "rowId": ids[0], "column": { "templateId": "manual" } })).offends(&["column.templateId"]);
    refused(json!({ "rowId": ids[0], "column": { "templateId": "nope" } })).offends(&["column.templateId"]);
}

fn what_would_be_sent_is_shown_without_secrets() {
    let server = Server::start(&[("ROWMILL_OPENAI_API_KEY", "sk-canary"), ("ROWMILL_AI_MODEL", "small-1")]);
    let api = server.api();
    api.send(Request::new("PUT", "/v4/team/secrets/TOKEN").json(&json!({ "value": "canary" }))).ok();
    let table = api.table(&["Name", "Site"]);
    let row = table.insert(json!([{ "Name": "Ada Lovelace", "Site": "https://x.example" }])).remove(0);
    let shown = |column: Value| {
        let tried = attempt(&table, &row, column, true);
        assert!(!tried.to_string().contains("canary"), "{tried}");
        tried["resolved"].clone()
    };
    let ai = shown(
        json!({ "templateId": "ai-text", "aiConfig": { "prompt": "Who is @{Name}?", "system": "Brief: @{Site}" } }),
    );
    assert_eq!(
        ai,
        json!({ "system": "Brief: https://x.example", "prompt": "Who is Ada Lovelace?", "provider": "openai", "model": "small-1" })
    );
    let http = shown(json!({ "templateId": "http-api", "apiConfig": {
        "method": "POST", "url": "@{Site}/x", "headers": { "Authorization": "Bearer @{secret.TOKEN}" },
        "query": { "q": "@{Name}" }, "body": { "name": "@{Name}" },
    } }));
    assert_eq!(
        http,
        json!({
            "method": "POST", "url": "https://x.example/x", "headers": { "Authorization": "Bearer ***" },
            "query": { "q": "Ada Lovelace" }, "body": { "name": "Ada Lovelace" },
        })
    );
    let page = shown(
        json!({ "templateId": "web-scraper", "taskConfig": { "taskType": "webScraper", "webScraper": { "url": "@{Site}" } } }),
    );
    assert_eq!(page, json!({ "url": "https://x.example" }));
    let found = shown(
        json!({ "templateId": "waterfall-email", "taskConfig": { "taskType": "waterfallEmail", "waterfallEmail": {
        "inputMapping": { "first_name": "", "last_name": "", "full_name": "@{Name}", "domain": "@{Site}" }, "providers": [],
    } } }),
    );
    assert_eq!((&found["fullName"], &found["domain"]), (&json!("Ada Lovelace"), &json!("https://x.example")));
}

fn a_credential_is_tested() {
    let model = StubServer::start(|seen: &Seen, _| {
        match seen.headers.get("authorization").map(String::as_str) {
            Some("Bearer right") => ok(
                json!({ "model": "small-1", "choices": [{ "message": { "content": "OK" }, "finish_reason": "stop" }] }),
            ),
            _ => Reply::Json(401, json!({ "error": { "message": "wrong key wrong-canary" } })),
        }
    });
    let server = Server::start(&[LOOPBACK]);
    let api = server.api();
    let test = |provider: &str| api.send(Request::post(format!("/v4/team/providers/{provider}/test")));
    let set = |key: &str| {
        let body = json!({ "apiKey": key, "baseUrl": model.url("/v1"), "model": "small-1" });
        api.send(Request::new("PUT", "/v4/team/providers/openai").json(&body)).ok();
    };
    let unset = test("openai").ok();
    assert_eq!(unset["ok"], false, "{unset}");
    set("right");
    // What a team has set is known within a second.
    let tested = eventually("the credential is used", Duration::from_secs(5), || {
        Some(test("openai").ok()).filter(|tested| tested["ok"] == true)
    });
    assert!(
        tested["message"].as_str().unwrap().contains("small-1") && tested["milliseconds"].is_u64(),
        "{tested}"
    );
    set("wrong-canary");
    let tested = eventually("the credential is used", Duration::from_secs(5), || {
        Some(test("openai").ok()).filter(|tested| tested["ok"] == false)
    });
    assert!(!tested.to_string().contains("canary"), "{tested}");
    assert_eq!(test("pattern").ok()["ok"], true);
    assert_eq!(test("hunter").ok()["ok"], false);
    test("nobody").refused(404, "provider_not_found");
}

fn the_sample_runs_without_a_key(api: &Api) {
    let made = api.send(Request::post("/v4/projects/sample")).created();
    let project = &made["project"];
    assert_eq!(project["rowCount"], 10, "{project}");
    let table = Table::new(api.clone(), project);
    let headers = table.headers();
    assert_eq!(headers, ["Website", "Page", "Title", "Description", "Company data", "City", "Employees"]);
    let (pages, cities, staff) = (table.column("Title"), table.column("City"), table.column("Employees"));
    table.post("/trigger", json!({})).ok();
    eventually("the sample has run", Duration::from_mins(1), || {
        Some(table.get("/status").ok()).filter(|status| status["rows"]["complete"] == 10)
    });
    let rows = table.rows(&[]);
    let first = &rows["rows"][0]["cells"];
    assert_eq!(
        (&first[pages], &first[cities], &first[staff]),
        (&json!("Alder & Finch"), &json!("Bath"), &json!(14))
    );
    let page = &first[table.column("Page")];
    assert!(page["markdown"].as_str().unwrap().contains("sewn, not glued"), "{page}");
    assert!(rows["rows"].as_array().unwrap().iter().all(|row| row["cells"][pages].is_string()));
}

fn usage_counts_rows_and_cells(api: &Api) {
    let table = api.table(&["A"]);
    table.add_column(json!({ "templateId": "http-api", "apiConfig": { "url": "https://x.example/@{A}" } }));
    table.insert(json!([{}, {}, {}]));
    let usage = api.get("/v4/usage").ok();
    let own = usage["projects"].as_array().unwrap().iter().find(|project| project["id"] == table.id).unwrap();
    assert_eq!((&own["rows"], &own["name"]), (&json!(3), &json!("Test")));
    assert_eq!(
        own["cells"],
        json!({ "idle": 3, "queued": 0, "generating": 0, "completed": 0, "error": 0, "skipped": 0 })
    );
    assert!(
        usage["totals"]["rows"].as_u64().unwrap() >= 3
            && usage["totals"]["cells"]["idle"].as_u64().unwrap() >= 3
    );
}
