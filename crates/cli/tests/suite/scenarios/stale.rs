//! Contract section 7: results that are out of date, because an input changed or the column asks something else.

use std::time::Duration;

use serde_json::{Value, json};

use super::processing::{asks, ended, last, run, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Scenario, StubServer, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("stale", Own:
    a_changed_column_makes_its_results_stale,
    a_cell_that_was_running_stores_a_stale_result,
    an_undone_edit_leaves_nothing_stale,
    an_undone_change_of_a_column_leaves_nothing_stale,
    conditions_are_watched,
    many_rows_become_stale_at_once,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("stale", Nodes:
    every_node_shows_what_is_stale,
);

const TIME_MAX: Duration = Duration::from_mins(1);

fn patch(table: &Table, column: &str, body: Value) {
    table.patch(&format!("/columns/{column}"), body).ok();
}

fn stale(table: &Table, column: &str) -> u64 {
    table.get("/status").ok()["columns"][column]["stale"].as_u64().unwrap()
}

fn an_undone_change_of_a_column_leaves_nothing_stale() {
    let stub_server = StubServer::start(|seen, _| ok(json!(seen.path)));
    let mut server = started(&[]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Told", &stub_server, "/1/@{Name}", json!({}));
    let ids = table.insert(json!([{ "Name": "a" }, { "Name": "b" }, { "Name": "c" }]));
    run(&table, json!({}));
    let url = |table: &Table, path: &str| {
        patch(table, &column, json!({ "apiConfig": { "url": stub_server.url(path) } }));
        stale(table, &column)
    };
    assert_eq!(url(&table, "/2/@{Name}"), 3);
    assert_eq!(url(&table, "/1/@{Name}"), 0, "undone");
    assert_eq!(url(&table, "/2/@{Name}"), 3);
    assert_eq!(url(&table, "/3/@{Name}"), 3);
    server.crash_and_restart();
    let table = table.through(&server.api());
    assert_eq!(url(&table, "/1/@{Name}"), 0, "undone after two changes and a crash");
    assert_eq!(table.cells(&ids[0])[&column].get("stale"), None);
    // One runs with what the column asks in between, and another has another input.
    assert_eq!(url(&table, "/2/@{Name}"), 3);
    assert_eq!(run(&table, json!({ "rowIds": [ids[0]] })), 1);
    table.patch(&format!("/rows/{}", ids[1]), json!({ "Name": "other" })).ok();
    assert_eq!(url(&table, "/1/@{Name}"), 2);
    assert_eq!(table.cells(&ids[2])[&column].get("stale"), None);
    assert_eq!(url(&table, "/2/@{Name}"), 2, "the first is up to date again, the third is not");
    assert_eq!(table.cells(&ids[0])[&column].get("stale"), None);
    assert_eq!(run(&table, json!({})), 2);
    assert_eq!(stale(&table, &column), 0);
}

fn every_node_shows_what_is_stale() {
    let stub_server = StubServer::start(|seen, _| ok(json!(seen.path)));
    let here = super::nodes::first(&[]);
    let other = here.beside("serve", &[]);
    let table = here.api().table(&["Name"]);
    let there = table.through(&other.api());
    let column = asks(&table, "Told", &stub_server, "/1/@{Name}", json!({}));
    let ids = table.insert((0..300).map(|number| json!({ "Name": number })).collect());
    run(&table, json!({}));
    let filters = json!([{ "columnId": column, "operator": "isStale" }]).to_string();
    for (node, other, path, count) in
        [(&table, &there, "/2/", 300), (&there, &table, "/1/", 0), (&table, &there, "/3/", 300)]
    {
        patch(node, &column, json!({ "apiConfig": { "url": stub_server.url(&format!("{path}@{{Name}}")) } }));
        for shown in [node, other] {
            assert_eq!(stale(shown, &column), count, "{path}");
            assert_eq!(shown.cells(&ids[299])[&column].get("stale").is_some(), count > 0);
            let listed = shown.rows(&[("filters", &filters), ("pageSize", "1000")]);
            assert_eq!(listed["rows"].as_array().unwrap().len() as u64, count, "{path}");
        }
    }
    assert_eq!(run(&there, json!({})), 300);
    assert_eq!((stale(&table, &column), stale(&there, &column)), (0, 0));
}

fn a_changed_column_makes_its_results_stale() {
    let stub_server = StubServer::start(|seen, _| ok(json!(seen.path)));
    let mut server = started(&[]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Told", &stub_server, "/1/@{Name}", json!({}));
    let ids = table.insert(json!([{ "Name": "a" }, { "Name": "b" }, { "Name": "c", "Told": "mine" }]));
    run(&table, json!({}));
    for unimportant in [
        json!({ "header": "Said" }),
        json!({ "order": 1 }),
        json!({ "retry": { "maxAttempts": 2 } }),
        json!({ "rateLimit": { "requests": 1000, "perSeconds": 1 } }),
        json!({ "cacheTtlSeconds": 5 }),
        json!({ "apiConfig": { "timeoutSeconds": 20 } }),
        json!({ "apiConfig": { "url": stub_server.url("/1/@{Name}") } }),
    ] {
        patch(&table, &column, unimportant.clone());
        assert_eq!(stale(&table, &column), 0, "{unimportant}");
    }
    for asked in [
        json!({ "apiConfig": { "url": stub_server.url("/2/@{Name}") } }),
        json!({ "apiConfig": { "headers": { "X-Kind": "1" } } }),
        json!({ "apiConfig": { "query": { "q": "@{Name}" } } }),
        json!({ "apiConfig": { "method": "POST" } }),
        json!({ "apiConfig": { "body": { "a": 1 } } }),
        json!({ "runCondition": [{ "columnId": table.column("Name"), "operator": "isNotEmpty" }] }),
    ] {
        patch(&table, &column, asked.clone());
        assert_eq!(stale(&table, &column), 2, "{asked}");
        let listed = table.rows(&[("withState", "true")]);
        let cell = |row: usize| listed["rows"][row]["cells"][&column].clone();
        assert_eq!((&cell(0)["stale"], &cell(0)["status"]), (&json!(true), &json!("completed")));
        assert_eq!(
            (cell(2).get("stale"), &cell(2)["manual"]),
            (None, &json!(true)),
            "hand-written ones apart"
        );
        let filters = json!([{ "columnId": column, "operator": "isStale" }]).to_string();
        assert_eq!(table.rows(&[("filters", &filters)])["rows"].as_array().unwrap().len(), 2);
        assert_eq!(run(&table, json!({ "statuses": ["completed"] })), 2, "a trigger runs them");
        assert_eq!(stale(&table, &column), 0);
    }
    assert!(table.value(&ids[0], &column).as_str().unwrap().starts_with("/2/a"));
    // It is kept over a restart.
    patch(&table, &column, json!({ "apiConfig": { "url": stub_server.url("/3/@{Name}") } }));
    server.crash_and_restart();
    let table = table.through(&server.api());
    assert_eq!(stale(&table, &column), 2);
    assert_eq!(table.cells(&ids[1])[&column]["stale"], true);
}

fn a_cell_that_was_running_stores_a_stale_result() {
    let stub_server =
        StubServer::start(|seen, _| if last(seen) == "slow" { Reply::Hanging } else { ok(json!(1)) });
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Told", &stub_server, "/@{Name}", json!({}));
    let ids = table.insert(json!([{ "Name": "slow" }]));
    table.post("/trigger", json!({})).ok();
    eventually("it is asked", TIME_MAX, || (stub_server.count() == 1).then_some(()));
    patch(&table, &column, json!({ "apiConfig": { "headers": { "X-Kind": "1" } } }));
    stub_server.release();
    ended(&table);
    let cell = table.cells(&ids[0])[&column].clone();
    assert_eq!((&cell["status"], &cell["stale"]), (&json!("completed"), &json!(true)), "{cell}");
    assert_eq!(run(&table, json!({})), 1);
    assert_eq!(table.cells(&ids[0])[&column].get("stale"), None);
    assert_eq!(stub_server.seen()[1].headers["x-kind"], "1");
}

fn an_undone_edit_leaves_nothing_stale() {
    let stub_server = StubServer::start(|seen, _| ok(json!(last(seen))));
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    let first = asks(&table, "First", &stub_server, "/@{Name}", json!({}));
    let second = asks(&table, "Second", &stub_server, "/@{First}", json!({}));
    let ids = table.insert(json!([{ "Name": "Ada" }]));
    run(&table, json!({}));
    let row = format!("/rows/{}", ids[0]);
    let is_stale = |column: &str| table.cells(&ids[0])[column]["stale"] == true;
    table.patch(&row, json!({ "Name": "Eve" })).ok();
    assert!(is_stale(&first) && !is_stale(&second));
    table.patch(&row, json!({ "Name": "Ada" })).ok();
    assert!(!is_stale(&first), "its input is the same again");
    assert_eq!(run(&table, json!({})), 0);
    table.patch(&row, json!({ "Name": "Eve" })).ok();
    patch(&table, &first, json!({ "apiConfig": { "headers": { "X-Kind": "1" } } }));
    table.patch(&row, json!({ "Name": "Ada" })).ok();
    assert!(is_stale(&first), "the column asks something else since");
    assert_eq!(run(&table, json!({})), 1);
    assert!(!is_stale(&first) && !is_stale(&second));
}

fn conditions_are_watched() {
    let stub_server = StubServer::start(|seen, _| ok(json!(last(seen))));
    let server = started(&[]);
    let table = server.api().table(&["Name", "Country"]);
    let condition = json!([{ "columnId": table.column("Country"), "operator": "equals", "value": "DE" }]);
    let column = asks(&table, "Told", &stub_server, "/@{Name}", json!({ "runCondition": condition }));
    let ids = table.insert(json!([{ "Name": "a", "Country": "FR" }]));
    run(&table, json!({}));
    let row = format!("/rows/{}", ids[0]);
    let status = || table.cells(&ids[0])[&column]["status"].clone();
    assert_eq!(status(), "skipped");
    table.patch(&row, json!({ "Country": "DE" })).ok();
    ended(&table);
    assert_eq!(status(), "skipped", "autoplay is off");
    table.patch("", json!({ "autoplay": true })).ok();
    table.patch(&row, json!({ "Country": "IT" })).ok();
    ended(&table);
    assert_eq!(status(), "skipped");
    table.patch(&row, json!({ "Country": "DE" })).ok();
    eventually("it runs by itself", TIME_MAX, || (status() == "completed").then_some(()));
    table.patch(&row, json!({ "Country": "FR" })).ok();
    ended(&table);
    let cell = table.cells(&ids[0])[&column].clone();
    assert_eq!((&cell["status"], cell.get("stale")), (&json!("completed"), None), "it has its result");
}

fn many_rows_become_stale_at_once() {
    let stub_server = StubServer::start(|_, _| ok(json!(1)));
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    // One request serves all rows.
    let column = asks(&table, "Told", &stub_server, "/", json!({ "cacheTtlSeconds": 600 }));
    for _ in 0..2 {
        table.insert((0..1_500).map(|_| json!({ "Name": "a" })).collect());
    }
    table.post("/trigger", json!({})).ok();
    eventually("all have run", TIME_MAX, || {
        (table.get("/status").ok()["columns"][&column]["complete"] == 3_000).then_some(())
    });
    ended(&table);
    patch(&table, &column, json!({ "apiConfig": { "headers": { "X-Kind": "1" } } }));
    assert_eq!(stale(&table, &column), 3_000);
}
