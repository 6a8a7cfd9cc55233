//! Contract section 7: trigger, stop, status, autoplay, and what happens to cells.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen, ok};
use crate::harness::{Api, Scenario, Server, StubServer, Table, eventually};

pub(crate) const VERSIONS: &[Scenario] = &scenarios!("processing", Versions:
    what_is_triggered_is_queued_and_what_is_stopped_is_as_it_was,
    a_trigger_says_which_cells_it_means,
    unknown_rows_and_columns_are_named_and_nothing_is_queued,
);

pub(crate) const OWN: &[Scenario] = &scenarios!("processing", Own:
    columns_fill_in_the_order_of_their_dependencies,
    a_stopped_call_is_aborted_and_no_other_begins,
    rows_of_an_autoplay_project_run_by_themselves,
    an_input_that_changes_makes_results_stale,
    a_run_follows_through_to_what_was_made_from_it,
    what_a_hand_wrote_is_overwritten_only_by_force,
    cells_are_skipped_for_a_reason,
    errors_that_may_pass_are_tried_again,
    lists_tell_which_cells_wait_to_be_tried_again,
    a_delivery_runs_what_it_made,
    every_cell_ends_right_however_often_the_process_dies,
);

/// How long a handful of cells may take on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(30);

/// A service that may call loopback, and waits next to nothing before it tries again.
pub(super) fn started(variables: &[(&str, &str)]) -> Server {
    let own = [("ROWMILL_ALLOW_PRIVATE", "127.0.0.1/32"), ("ROWMILL_RETRY_BASE_MILLISECONDS", "1")];
    Server::start(&own.iter().chain(variables).copied().collect::<Vec<_>>())
}

/// An http-api column that asks for `path`.
pub(super) fn asks(table: &Table, header: &str, stub_server: &StubServer, path: &str, more: Value) -> String {
    let mut body = json!({
        "templateId": "http-api", "header": header, "apiConfig": { "url": stub_server.url(path) },
    });
    let merge = |into: &mut Value, from: Value| {
        for (key, value) in from.as_object().cloned().unwrap_or_default() {
            into[key] = value;
        }
    };
    let mut more = more;
    if let Some(config) = more.as_object_mut().and_then(|more| more.remove("apiConfig")) {
        merge(&mut body["apiConfig"], config);
    }
    merge(&mut body, more);
    table.add_column(body)
}

#[track_caller]
pub(super) fn ended(table: &Table) -> Value {
    eventually("nothing waits or runs any more", TIME_MAX, || {
        let status = table.get("/status").ok();
        (status["processing"] == false).then_some(status)
    })
}

#[track_caller]
pub(super) fn run(table: &Table, body: Value) -> u64 {
    let count = table.post("/trigger", body).ok()["triggeredCount"].as_u64().unwrap();
    ended(table);
    count
}

/// What a path ends with.
pub(super) fn last(seen: &Seen) -> String {
    seen.path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// A table without anybody to ask: its calls are refused at once.
fn unreachable_table(api: &Api) -> (Table, String) {
    let table = api.table(&["Name"]);
    let column = table.add_column(json!({
        "templateId": "http-api", "header": "Answer", "apiConfig": { "url": "http://127.0.0.1:9/@{Name}" },
    }));
    (table, column)
}

fn what_is_triggered_is_queued_and_what_is_stopped_is_as_it_was(api: &Api) {
    let (table, column) = unreachable_table(api);
    let status = table.get("/status").ok();
    assert_eq!(
        status["rows"],
        json!({ "total": 0, "idle": 0, "queued": 0, "generating": 0, "complete": 0, "error": 0 })
    );
    assert_eq!(table.post("/trigger", json!({})).ok()["triggeredCount"], 0);
    let ids = table.insert(json!([{ "Name": "a" }, { "Name": "b" }, { "Name": "c" }]));
    assert_eq!(run(&table, json!({})), 3);
    let status = table.get("/status").ok();
    assert_eq!(status["rows"]["error"], 3, "{status}");
    let counts = &status["columns"][&column];
    assert_eq!(counts["header"], "Answer");
    assert_eq!((&counts["type"], &counts["error"], &counts["idle"]), (&json!("api"), &json!(3), &json!(0)));
    assert_eq!(status["columns"].as_object().unwrap().len(), 1, "processed columns only");
    assert_eq!(table.cells(&ids[0])[&column]["error"]["code"], "blocked", "a table reaches no loopback");
    let stopped = table.post("/stop", json!({})).ok();
    assert_eq!((&stopped["stoppedCount"], &stopped["stoppedCells"]), (&json!(0), &json!(0)));
    let nothing = table.api.send(crate::harness::Request::post(table.path("/stop")));
    assert_eq!(nothing.ok()["stoppedCount"], 0, "no body at all");
    table
        .post("/stop", json!({ "rowIds": ["row_00000000000000000000000000000000", "x"], "columnIds": ["y"] }))
        .ok();
    table.post("/trigger", json!({ "rowids": [] })).offends(&["rowids"]);
    table.post("/stop", json!({ "force": true })).offends(&["force"]);
}

fn a_trigger_says_which_cells_it_means(api: &Api) {
    let (table, column) = unreachable_table(api);
    let other = table.add_column(json!({
        "templateId": "http-api", "header": "Other", "apiConfig": { "url": "http://127.0.0.1:9/" },
    }));
    let ids = table.insert(json!([{ "Name": "a" }, { "Name": "b" }, {}, { "Name": "d" }]));
    let dry = |body: Value| {
        let mut body = body;
        body["dryRun"] = json!(true);
        table.post("/trigger", body).ok()["triggeredCount"].as_u64().unwrap()
    };
    assert_eq!(
        (dry(json!({})), dry(json!({ "rowIds": [] })), dry(json!({ "rowIds": [ids[0], ids[0]] }))),
        (4, 0, 1)
    );
    assert_eq!(table.get("/status").ok()["rows"]["idle"], 4, "a dry run changes nothing");
    assert_eq!(run(&table, json!({ "rowIds": ids, "columnIds": [column] })), 4);
    assert_eq!(table.cells(&ids[2])[&column]["error"]["code"], "missing_input");
    assert_eq!(table.cells(&ids[2])[&column]["status"], "skipped");
    assert_eq!(table.cells(&ids[0])[&other]["status"], "idle");
    for (body, count) in [
        (json!({ "columnIds": [column] }), 4),
        (json!({ "statuses": ["error"] }), 3),
        (json!({ "statuses": ["skipped"] }), 1),
        (json!({ "statuses": ["completed"] }), 0),
        (json!({ "statuses": [] }), 0),
        (json!({ "errorCodes": ["missing_input"] }), 1),
        (json!({ "errorCodes": ["blocked", "missing_input"] }), 4),
        (json!({ "errorCodes": ["timed_out"] }), 0),
        (json!({ "limit": 3 }), 3),
        (json!({ "statuses": ["error"], "limit": 1, "rowIds": [ids[1], ids[2]] }), 1),
    ] {
        assert_eq!(dry(body.clone()), count, "{body}");
    }
    let view = json!({
        "name": "Last first", "filters": [{ "columnId": table.column("Name"), "operator": "isNotEmpty" }],
        "sorting": [{ "columnId": table.column("Name"), "direction": "desc" }],
    });
    let view = table.post("/views", view).created()["view"]["id"].clone();
    assert_eq!(dry(json!({ "viewId": view })), 3);
    assert_eq!(dry(json!({ "viewId": view, "rowIds": [ids[0], ids[2]] })), 1);
    let name = table.column("Name");
    let named =
        |name: &str| json!([{ "columnId": table.column("Name"), "operator": "equals", "value": name }]);
    assert_eq!(dry(json!({ "filters": [{ "columnId": name, "operator": "isNotEmpty" }] })), 3);
    assert_eq!(dry(json!({ "viewId": view, "filters": named("b") })), 1);
    assert_eq!(dry(json!({ "search": "b" })), 1);
    assert_eq!(dry(json!({ "search": "nobody", "viewId": view })), 0);
    let unknown = json!([{ "columnId": "col_gone", "operator": "isEmpty" }]);
    table.post("/trigger", json!({ "filters": unknown })).offends(&["filters[0].columnId"]);
    assert_eq!(run(&table, json!({ "viewId": view, "columnIds": [other], "limit": 1 })), 1);
    let ran: Vec<bool> = ids.iter().map(|id| table.cells(id)[&other]["status"] == "error").collect();
    assert_eq!(ran, [false, false, false, true], "the first of the view");
    table.post("/trigger", json!({ "limit": 0 })).offends(&["limit"]);
    table.post("/trigger", json!({ "statuses": ["done"] })).offends(&["statuses[0]"]);
    table.post("/trigger", json!({ "errorCodes": ["bad"] })).offends(&["errorCodes[0]"]);
}

fn unknown_rows_and_columns_are_named_and_nothing_is_queued(api: &Api) {
    let (table, column) = unreachable_table(api);
    let ids = table.insert(json!([{ "Name": "a" }]));
    let refused = table
        .post("/trigger", json!({ "rowIds": [ids[0], "row_00000000000000000000000000000000", "x"] }))
        .refused(404, "row_not_found");
    assert_eq!(refused["details"][0]["path"], "rowIds[1]");
    assert_eq!(refused["details"][1]["path"], "rowIds[2]");
    table.post("/trigger", json!({ "columnIds": [column, "col_gone"] })).refused(404, "column_not_found");
    table.post("/trigger", json!({ "columnIds": ["_trigger"] })).offends(&["columnIds[0]"]);
    table.post("/trigger", json!({ "viewId": "view_gone" })).refused(404, "view_not_found");
    assert_eq!(table.get("/status").ok()["rows"]["idle"], 1);
}

fn columns_fill_in_the_order_of_their_dependencies() {
    let stub_server = StubServer::start(|seen, _| ok(json!({ "told": last(seen) })));
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    let first = asks(&table, "First", &stub_server, "/first/@{Name}", json!({}));
    let told = table.add_column(json!({
        "templateId": "reference", "header": "Told", "referenceConfig": { "columnId": first, "path": "told" },
    }));
    let second = asks(
        &table,
        "Second",
        &stub_server,
        "/second/@{Told}",
        json!({ "apiConfig": { "responsePath": "told" } }),
    );
    let ids = table.insert(json!([{ "Name": "Ada L" }, { "Name": "Bob" }]));
    assert_eq!(run(&table, json!({})), 2);
    let cells = table.cells(&ids[0]);
    assert_eq!(cells[&first]["value"], json!({ "told": "Ada%20L" }));
    assert_eq!((&cells[&told]["value"], &cells[&told]["status"]), (&json!("Ada%20L"), &json!("completed")));
    assert_eq!(cells[&second]["value"], "Ada%2520L", "what stands in a URL is percent-encoded");
    assert_eq!((&cells[&second]["status"], &cells[&second]["attempts"]), (&json!("completed"), &json!(1)));
    assert!(
        cells[&second]["meta"]["milliseconds"].is_u64() && cells[&second]["updatedAt"].is_string(),
        "{cells}"
    );
    assert_eq!(run(&table, json!({})), 0, "what is done is done");
    assert_eq!(stub_server.count(), 4);
    assert_eq!(run(&table, json!({ "force": true, "rowIds": [ids[1]] })), 1);
    assert_eq!(stub_server.count(), 6);
    let status = table.get("/status").ok();
    assert_eq!(
        (&status["rows"]["complete"], &status["columns"][&second]["complete"]),
        (&json!(2), &json!(2))
    );
}

fn a_stopped_call_is_aborted_and_no_other_begins() {
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let server = started(&[("ROWMILL_WORKER_CONCURRENCY", "8")]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Slow", &stub_server, "/@{Name}", json!({}));
    let rows: Vec<Value> = (0..100).map(|number| json!({ "Name": format!("n{number}") })).collect();
    let ids = table.insert(rows.into());
    assert_eq!(table.post("/trigger", json!({})).ok()["triggeredCount"], 100);
    assert_eq!(
        table.post("/trigger", json!({})).ok()["triggeredCount"],
        0,
        "triggering twice does the work once"
    );
    eventually("calls are under way", TIME_MAX, || (stub_server.count() == 8).then_some(()));
    let status = table.get("/status").ok();
    assert_eq!(
        (&status["rows"]["generating"], &status["rows"]["queued"]),
        (&json!(8), &json!(92)),
        "{status}"
    );
    let one = table.post("/stop", json!({ "rowIds": [ids[99]] })).ok();
    assert_eq!((&one["stoppedCount"], &one["stoppedCells"]), (&json!(1), &json!(1)));
    let stopped = table.post("/stop", json!({})).ok();
    assert_eq!((&stopped["stoppedCount"], &stopped["stoppedCells"]), (&json!(99), &json!(99)));
    let count = stub_server.count();
    assert_eq!(table.get("/status").ok()["rows"]["idle"], 100);
    eventually("the calls are aborted", TIME_MAX, || (stub_server.aborted() == 8).then_some(()));
    stub_server.release();
    // Whatever came back late is nobody's any more.
    table.patch("/cells", json!({ "cells": [{ "rowId": ids[0], "columnId": "_trigger", "value": 1 }] })).ok();
    assert_eq!(stub_server.count(), count, "no call begins after the stop was answered");
    for id in &ids {
        assert_eq!(table.cells(id)[&column], json!({ "value": null, "status": "idle" }));
    }
    assert_eq!(run(&table, json!({})), 100);
    assert_eq!(table.get("/status").ok()["rows"]["complete"], 100);
}

fn rows_of_an_autoplay_project_run_by_themselves() {
    let stub_server = StubServer::start(|seen, _| ok(json!(last(seen))));
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Told", &stub_server, "/@{Name}", json!({}));
    table.patch("", json!({ "autoplay": true })).ok();
    let ids = table.insert(json!([{ "Name": "Ada" }, { "Name": "Bob", "Told": "mine" }]));
    ended(&table);
    assert_eq!(table.value(&ids[0], &column), "Ada");
    assert_eq!(table.value(&ids[1], &column), "mine");
    table.patch(&format!("/rows/{}", ids[0]), json!({ "Name": "Eve" })).ok();
    ended(&table);
    assert_eq!(table.value(&ids[0], &column), "Eve");
    let count = stub_server.count();
    let again = table.post("/rows?matchOn=Name", json!([{ "Name": "Eve" }])).ok();
    assert_eq!(again["unchangedCount"], 1);
    table.patch(&format!("/rows/{}", ids[0]), json!({ "Name": "Eve" })).ok();
    ended(&table);
    assert_eq!(stub_server.count(), count, "an unchanged row runs nothing");
}

fn an_input_that_changes_makes_results_stale() {
    let stub_server = StubServer::start(|seen, _| ok(json!(last(seen))));
    let server = started(&[]);
    let table = server.api().table(&["Name", "Note"]);
    let column = asks(&table, "Told", &stub_server, "/@{Name}", json!({}));
    let ids = table.insert(json!([{ "Name": "Ada" }]));
    run(&table, json!({}));
    let row = format!("/rows/{}", ids[0]);
    table.patch(&row, json!({ "Note": "x" })).ok();
    assert_eq!(table.cells(&ids[0])[&column].get("stale"), None, "that was no input of it");
    table.patch(&row, json!({ "Name": "Eve" })).ok();
    let cell = table.cells(&ids[0])[&column].clone();
    assert_eq!(
        (&cell["stale"], &cell["value"], &cell["status"]),
        (&json!(true), &json!("Ada"), &json!("completed"))
    );
    let listed = table.rows(&[("withState", "true")])["rows"][0]["cells"][&column].clone();
    assert_eq!(listed, json!({ "value": "Ada", "status": "completed", "stale": true }));
    assert_eq!(run(&table, json!({})), 1, "stale is to be done");
    let cell = table.cells(&ids[0])[&column].clone();
    assert_eq!((cell.get("stale"), &cell["value"]), (None, &json!("Eve")));
}

fn a_run_follows_through_to_what_was_made_from_it() {
    let stub_server = StubServer::start(|_, number| ok(json!(format!("n{number}"))));
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    let first = asks(&table, "First", &stub_server, "/@{Name}", json!({}));
    let second = asks(&table, "Second", &stub_server, "/2/@{First}", json!({}));
    let third = asks(&table, "Third", &stub_server, "/3/@{First}", json!({}));
    let ids = table.insert(json!([{ "Name": "Ada" }]));
    run(&table, json!({}));
    table.patch(&format!("/rows/{}", ids[0]), json!({ "Third": "mine" })).ok();
    let before = table.value(&ids[0], &second);
    run(&table, json!({ "columnIds": [first], "force": true }));
    let cells = table.cells(&ids[0]);
    assert_ne!(cells[&second]["value"], before, "it was made from the old value");
    assert_eq!(cells[&third]["value"], "mine", "hand-written ones apart");
    assert_eq!(stub_server.count(), 5);
}

fn what_a_hand_wrote_is_overwritten_only_by_force() {
    let stub_server = StubServer::start(|_, _| ok(json!("told")));
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Told", &stub_server, "/@{Name}", json!({}));
    let ids = table.insert(json!([{ "Name": "Ada", "Told": "mine" }]));
    assert_eq!(run(&table, json!({})), 0);
    let cell = table.cells(&ids[0])[&column].clone();
    assert_eq!((&cell["manual"], &cell["value"]), (&json!(true), &json!("mine")));
    assert_eq!(run(&table, json!({ "force": true })), 1);
    let cell = table.cells(&ids[0])[&column].clone();
    assert_eq!((cell.get("manual"), &cell["value"]), (None, &json!("told")));
    table.patch("/cells", json!({ "cells": [{ "rowId": ids[0], "columnId": column, "value": null }] })).ok();
    assert_eq!(table.cells(&ids[0])[&column]["status"], "idle");
    assert_eq!(run(&table, json!({})), 1);
}

fn cells_are_skipped_for_a_reason() {
    let stub_server = StubServer::start(|seen, _| match last(seen).as_str() {
        "bad" => Reply::Json(400, json!({ "error": "No such thing" })),
        other => ok(json!(other)),
    });
    let server = started(&[]);
    let table = server.api().table(&["Name", "Country"]);
    let country = table.column("Country").to_owned();
    let condition = json!([{ "columnId": country, "operator": "equals", "value": "DE" }]);
    let first = asks(&table, "First", &stub_server, "/@{Name}", json!({ "runCondition": condition }));
    let second = asks(&table, "Second", &stub_server, "/@{First}", json!({}));
    let ids = table.insert(json!([
        { "Name": "ok", "Country": "de" }, { "Country": "DE" }, { "Name": "bad", "Country": "DE" },
        { "Name": "ok", "Country": "FR" },
    ]));
    run(&table, json!({}));
    let told = |id: &str, column: &str| {
        let cell = table.cells(id)[column].clone();
        (cell["status"].as_str().unwrap().to_owned(), cell["error"]["code"].as_str().map(str::to_owned))
    };
    let expect = |status: &str, code: &str| (status.to_owned(), Some(code.to_owned()));
    assert_eq!(told(&ids[0], &second), ("completed".to_owned(), None));
    assert_eq!(told(&ids[1], &first), expect("skipped", "missing_input"));
    assert_eq!(told(&ids[1], &second), expect("skipped", "dependency_error"));
    assert_eq!(told(&ids[2], &first), expect("error", "provider_error"));
    assert_eq!(told(&ids[2], &second), expect("skipped", "dependency_error"));
    assert_eq!(told(&ids[3], &first), expect("skipped", "condition_not_met"));
    let status = table.get("/status").ok();
    assert_eq!(
        status["rows"],
        json!({ "total": 4, "idle": 0, "queued": 0, "generating": 0, "complete": 3, "error": 1 })
    );
    assert_eq!(status["columns"][&second]["skipped"], 3);
}

fn errors_that_may_pass_are_tried_again() {
    let stub_server = StubServer::start(|seen, _| match last(seen).as_str() {
        "never" => Reply::Json(503, json!({ "error": "Busy" })),
        "limited" => Reply::With(429, vec![("Retry-After", "0".to_owned())], "{}".to_owned()),
        other => ok(json!(other)),
    });
    let flaky = StubServer::start(|_, number| match number {
        0 => Reply::Hang,
        1 => Reply::Json(500, json!({})),
        2 => Reply::With(429, vec![("Retry-After", "0".to_owned())], String::new()),
        _ => ok(json!("at last")),
    });
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Told", &stub_server, "/@{Name}", json!({ "retry": { "maxAttempts": 3 } }));
    let other = asks(&table, "Other", &flaky, "/", json!({}));
    let ids = table.insert(json!([{ "Name": "never" }, { "Name": "limited" }]));
    run(&table, json!({ "columnIds": [column] }));
    for (id, code) in [(&ids[0], "provider_error"), (&ids[1], "rate_limited")] {
        let cell = table.cells(id)[&column].clone();
        assert_eq!((&cell["status"], &cell["error"]["code"]), (&json!("error"), &json!(code)), "{cell}");
        assert_eq!(cell["attempts"], 3);
        assert!(cell["error"]["message"].as_str().is_some_and(|words| !words.is_empty()), "{cell}");
    }
    assert_eq!(stub_server.count(), 6);
    run(&table, json!({ "columnIds": [other], "limit": 1 }));
    let cell = table.cells(&ids[0])[&other].clone();
    assert_eq!((&cell["value"], &cell["attempts"], cell.get("error")), (&json!("at last"), &json!(4), None));
}

fn lists_tell_which_cells_wait_to_be_tried_again() {
    let stub_server =
        StubServer::start(|_, _| Reply::With(429, vec![("Retry-After", "60".to_owned())], "{}".to_owned()));
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Told", &stub_server, "/@{Name}", json!({}));
    let ids = table.insert(json!([{ "Name": "Ada" }]));
    table.post("/trigger", json!({})).ok();
    let cell = eventually("it waits for its time", Duration::from_mins(1), || {
        let cell = table.cells(&ids[0])[&column].clone();
        cell["retryAt"].is_string().then_some(cell)
    });
    let listed = table.rows(&[("withState", "true")])["rows"][0]["cells"][&column].clone();
    assert_eq!((&listed["status"], &listed["retryAt"]), (&json!("queued"), &cell["retryAt"]));
    assert_eq!(listed["error"]["code"], "rate_limited");
}

fn a_delivery_runs_what_it_made() {
    let stub_server = StubServer::start(|seen, _| ok(json!(last(seen))));
    let server = started(&[]);
    let api = server.api();
    let metadata = json!({
        "integration": "eventplatform-event", "eventplatform": { "eventId": "evt-1", "webhookEnabled": true },
    });
    let table = api.table_of(json!({ "title": "Guests", "autoplay": true, "metadata": metadata }));
    let email = table.add_column(json!({
        "templateId": "reference", "header": "Email",
        "referenceConfig": { "columnId": "_trigger", "path": "guest.email" },
    }));
    let column = asks(&table, "Told", &stub_server, "/@{Email}", json!({}));
    let url = api.get("/v4/team").ok()["team"]["webhookUrl"].as_str().unwrap().to_owned();
    let path = format!("/webhooks/{}", url.split_once("/webhooks/").unwrap().1);
    let deliver = |email: &str, status: &str| {
        let body = json!({ "type": "guest.updated", "data": {
            "approval_status": status, "event": { "api_id": "evt-1" },
            "guest": { "api_id": "gst-1", "email": email, "name": "Ada" },
        } });
        api.post(path.clone(), body).ok();
        ended(&table);
    };
    deliver("ada@example.com", "pending");
    let id = table.rows(&[])["rows"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(table.value(&id, &email), "ada@example.com");
    assert_eq!(table.value(&id, &column), "ada%40example.com");
    deliver("ada@example.com", "approved");
    assert_eq!(stub_server.count(), 1, "what the column reads has not changed");
    deliver("ada@example.org", "approved");
    assert_eq!((table.value(&id, &column), stub_server.count()), (json!("ada%40example.org"), 2));
}

const CRASH_ROWS: usize = 2_500;

fn every_cell_ends_right_however_often_the_process_dies() {
    let stub_server = StubServer::start(|seen, number| match number % 50 {
        0 => Reply::Json(503, json!({})),
        _ => ok(json!(format!("{}+", last(seen)))),
    });
    let mut server = started(&[("ROWMILL_WORKER_CONCURRENCY", "16")]);
    let table = server.api().table(&["Name"]);
    let first = asks(&table, "First", &stub_server, "/@{Name}", json!({ "retry": { "maxAttempts": 20 } }));
    let second = asks(&table, "Second", &stub_server, "/@{First}", json!({ "retry": { "maxAttempts": 20 } }));
    let rows: Vec<Value> = (0..CRASH_ROWS).map(|number| json!({ "Name": format!("n{number}") })).collect();
    table.insert(rows.into());
    assert_eq!(table.post("/trigger", json!({})).ok()["triggeredCount"], CRASH_ROWS);
    for round in 1..=10 {
        let enough = (round * 2 * CRASH_ROWS) / 11;
        eventually("some more calls are made", Duration::from_mins(2), || {
            (stub_server.count() >= enough).then_some(())
        });
        server.crash_and_restart();
    }
    let table = table.through(&server.api());
    let status = eventually("all has ended", Duration::from_mins(2), || {
        let status = table.get("/status").ok();
        (status["processing"] == false).then_some(status)
    });
    assert_eq!(status["rows"]["complete"], CRASH_ROWS, "{status}");
    let mut seen = BTreeMap::new();
    for page in 1..=CRASH_ROWS.div_ceil(1_000) {
        let page = table.rows(&[("pageSize", "1000"), ("page", &page.to_string())]);
        for row in page["rows"].as_array().unwrap() {
            let cells = &row["cells"];
            let name = cells[table.column("Name")].as_str().unwrap().to_owned();
            assert_eq!(cells[&first], format!("{name}+"));
            assert_eq!(cells[&second], format!("{name}%2B+"));
            *seen.entry(name).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.len(), CRASH_ROWS);
}
