//! Every run has an id, and is kept: who started it, what came of it, how it ended.

use std::time::Duration;

use serde_json::{Value, json};

use super::nodes::first;
use super::processing::{asks, ended, run, started};
use super::webhook::{deliver, following, guest};
use crate::harness::api::Version;
use crate::harness::http::exchange;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Api, Request, Scenario, StubServer, Table, eventually};

pub(crate) const VERSIONS: &[Scenario] = &scenarios!("runs", Versions:
    a_run_has_an_id,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("runs", Own:
    runs_are_listed_newest_first,
    a_run_tells_what_came_of_it_and_outlives_a_crash,
    a_run_says_who_started_it,
    a_run_that_goes_on_outlives_a_crash,
    a_run_stays_though_nothing_of_it_is_left_to_count,
    strangers_read_no_names,
    a_run_tells_why_cells_failed_and_were_skipped,
    a_run_tells_which_rate_limit_holds_it_back,
);
pub(crate) const NODES: &[Scenario] = &scenarios!("runs", Nodes:
    every_node_knows_the_runs,
);

fn runs(table: &Table) -> Vec<Value> {
    table.get("/runs").ok()["runs"].as_array().unwrap().clone()
}

fn newest(table: &Table) -> Value {
    runs(table).first().cloned().unwrap_or_default()
}

/// What a run says, without its times.
fn told(run: &Value, fields: &[&str]) -> Vec<Value> {
    fields.iter().map(|field| run[*field].clone()).collect()
}

fn a_run_has_an_id(api: &Api) {
    let table = api.table(&["Name"]);
    table.add_column(
        json!({ "templateId": "ai-text", "header": "Answer", "aiConfig": { "prompt": "@{Name}" } }),
    );
    assert_eq!(table.get("/runs").ok()["runs"], json!([]));
    assert_eq!(table.get("/status").ok().get("runId"), None);
    let ids = table.insert(json!([{ "Name": "a" }, { "Name": "b" }]));
    assert_eq!(table.post("/trigger", json!({ "dryRun": true })).ok().get("runId"), None);
    assert_eq!(table.post("/trigger", json!({ "rowIds": [] })).ok().get("runId"), None, "nothing is queued");
    let first = table.post("/trigger", json!({ "rowIds": [ids[0]] })).ok();
    assert_eq!((&first["triggeredCount"], &first["runId"]), (&json!(1), &json!("run_1")));
    let status = ended(&table);
    assert_eq!(status["runId"], "run_1", "{status}");
    let told_once = table.get("/runs/run_1").ok()["run"].clone();
    assert_eq!((&told_once["id"], &told_once["cells"]), (&json!("run_1"), &json!(1)), "{told_once}");
    assert_eq!(table.get("/runs/RUN_1").ok()["run"], told_once);
    assert_eq!(table.get("/runs/1").ok()["run"], told_once);
    for unknown in ["run_2", "run_0", "run_01", "run_", "x", "run_99999999999999999999"] {
        table.get(&format!("/runs/{unknown}")).refused(404, "run_not_found");
    }
    table.get("/runs?cursor=x").offends(&["cursor"]);
    table.get("/runs?pageSize=0").offends(&["pageSize"]);
}

fn runs_are_listed_newest_first() {
    let stub_server = StubServer::start(|_, _| ok(json!(1)));
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    asks(&table, "Told", &stub_server, "/", json!({}));
    table.insert(json!({ "Name": "a" }));
    for _ in 0..5 {
        run(&table, json!({ "force": true }));
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = table.get(&format!("/runs?pageSize=2{cursor}")).ok();
        let ids = page["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned());
        seen.extend(ids);
        // A newer run moves nothing.
        run(&table, json!({ "force": true }));
        match page["pagination"]["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["run_5", "run_4", "run_3", "run_2", "run_1"]);
    let once = || {
        let request = Request::post(table.path("/trigger")).json(&json!({ "force": true }));
        server.api().send(request.header("Idempotency-Key", "same")).ok()
    };
    let first = once();
    ended(&table);
    assert_eq!(once(), first, "the answer is given again");
}

fn a_run_tells_what_came_of_it_and_outlives_a_crash() {
    let stub_server = StubServer::start(|seen, _| match seen.path.as_str() {
        "/none" => Reply::Json(404, json!({})),
        "/bad" => Reply::Json(400, json!({})),
        "/held" => Reply::Hanging,
        _ => ok(json!("told")),
    });
    let mut server = started(&[]);
    let table = server.api().table(&["Name"]);
    asks(&table, "Told", &stub_server, "/@{Name}", json!({}));
    let names = ["a", "none", "bad", ""].map(|name| json!({ "Name": name }));
    table.insert(names.to_vec().into());
    run(&table, json!({}));
    let fields = ["id", "status", "cells", "queued", "done", "empty", "failed", "skipped", "stopped"];
    let finished = vec![
        json!("run_1"),
        json!("finished"),
        json!(4),
        json!(0),
        json!(1),
        json!(1),
        json!(1),
        json!(1),
        json!(0),
    ];
    let run = newest(&table);
    assert_eq!(told(&run, &fields), finished, "{run}");
    assert_eq!(run["usage"], json!({ "attempts": 3, "inputTokens": 0, "outputTokens": 0 }));
    assert!(run["startedAt"].as_str() <= run["endedAt"].as_str(), "{run}");
    // One that is stopped.
    table.insert(json!([{ "Name": "held" }, { "Name": "held" }]));
    assert_eq!(table.post("/trigger", json!({ "statuses": ["idle"] })).ok()["runId"], "run_2");
    let running = table.get("/runs/run_2").ok()["run"].clone();
    assert_eq!(
        told(&running, &["status", "cells", "queued", "endedAt"]),
        [json!("running"), json!(2), json!(2), Value::Null]
    );
    assert_eq!(newest(&table)["id"], "run_2");
    table.post("/stop", json!({})).ok();
    let stopped = newest(&table);
    assert_eq!(
        told(&stopped, &["id", "status", "cells", "stopped"]),
        [json!("run_2"), json!("stopped"), json!(2), json!(2)]
    );
    let before = runs(&table);
    server.crash_and_restart();
    let table = table.through(&server.api());
    assert_eq!(runs(&table), before, "a run that is over is kept");
    stub_server.release();
}

fn a_run_tells_why_cells_failed_and_were_skipped() {
    let stub_server = StubServer::start(|seen, _| match seen.path.as_str() {
        "/bad" => Reply::Json(400, json!({})),
        "/key" => Reply::Json(401, json!({})),
        _ => ok(json!("told")),
    });
    let mut server = started(&[]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Told", &stub_server, "/@{Name}", json!({}));
    let names = ["a", "bad", "key", "bad", "", ""].map(|name| json!({ "Name": name }));
    let ids = table.insert(names.to_vec().into());
    run(&table, json!({}));
    let code = |row: usize| table.cells(&ids[row])[&column]["error"]["code"].clone();
    let (bad, key) = (code(1), code(2));
    assert_ne!(bad, key);
    let failures = json!([{ "code": bad, "cells": 2 }, { "code": key, "cells": 1 }]);
    let skips = json!([{ "code": "missing_input", "cells": 2 }]);
    let told = newest(&table);
    assert_eq!((&told["failures"], &told["skips"]), (&failures, &skips), "{told}");
    assert_eq!(table.get("/runs/run_1").ok()["run"], told);
    server.crash_and_restart();
    let table = table.through(&server.api());
    assert_eq!(newest(&table), told, "it is kept");
    // Those of one cause are tried again, and the next run counts anew.
    assert_eq!(run(&table, json!({ "statuses": ["error"], "errorCodes": [key] })), 1);
    let again = newest(&table);
    assert_eq!(again["failures"], json!([{ "code": key, "cells": 1 }]), "{again}");
    assert_eq!(again["skips"], json!([]));
}

fn a_run_tells_which_rate_limit_holds_it_back() {
    let stub_server = StubServer::start(|_, _| ok(json!(1)));
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    asks(&table, "Quick", &stub_server, "/@{Name}", json!({}));
    let rate = json!({ "rateLimit": { "requests": 1, "perSeconds": 60 } });
    let slow = asks(&table, "Slow", &stub_server, "/slow/@{Name}", rate);
    let names: Value = (0..5).map(|number| json!({ "Name": format!("n{number}") })).collect();
    table.insert(names);
    table.post("/trigger", json!({})).ok();
    let running = table.get("/runs/run_1").ok()["run"].clone();
    let limit = &running["rateLimit"];
    let fields = ["scope", "columnId", "header", "requests", "perSeconds"];
    let expected = [json!("column"), json!(slow), json!("Slow"), json!(1), json!(60)];
    assert_eq!(told(limit, &fields), expected, "{running}");
    let (cells, seconds) = (limit["cells"].as_u64().unwrap(), limit["seconds"].as_u64().unwrap());
    assert!((4..=5).contains(&cells) && seconds == 60 * cells, "{limit}");
    assert_eq!(newest(&table).get("rateLimit"), None, "lists leave it out");
    table.post("/stop", json!({})).ok();
    assert_eq!(table.get("/runs/run_1").ok()["run"].get("rateLimit"), None, "it is over");
}

fn a_run_that_goes_on_outlives_a_crash() {
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let mut server = started(&[]);
    let table = server.api().table(&["Name"]);
    asks(&table, "Told", &stub_server, "/@{Name}", json!({}));
    table.insert(json!([{ "Name": "a" }, { "Name": "b" }]));
    table.post("/trigger", json!({})).ok();
    let running = newest(&table);
    server.crash_and_restart();
    let table = table.through(&server.api());
    let fields = ["id", "status", "startedAt", "startedBy", "cells"];
    assert_eq!(told(&newest(&table), &fields), told(&running, &fields), "it is the same run");
    table.post("/stop", json!({})).ok();
    assert_eq!(told(&newest(&table), &["id", "status"]), [json!("run_1"), json!("stopped")]);
    stub_server.release();
}

fn a_run_stays_though_nothing_of_it_is_left_to_count() {
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let mut server = started(&[]);
    let begun = |table: &Table| {
        let column = asks(table, "Told", &stub_server, "/@{Name}", json!({}));
        let row = table.insert(json!([{ "Name": "a" }])).remove(0);
        table.post("/trigger", json!({})).ok();
        eventually("it runs", Duration::from_secs(30), || {
            (table.cells(&row)[&column]["status"] == "generating").then_some(())
        });
        (row, column)
    };
    // A value is written by hand, or the column is deleted.
    let end = |table: &Table, row: &str, column: &str, written: Option<Value>| match written {
        Some(value) => {
            let cell = json!({ "rowId": row, "columnId": column, "value": value });
            table.patch("/cells", json!({ "cells": [cell] })).ok();
        }
        None => drop(table.delete(&format!("/columns/{column}")).ok()),
    };
    let check = |table: &Table| {
        let status = table.get("/status").ok();
        assert_eq!((&status["runId"], &status["run"]["cells"]), (&json!("run_1"), &json!(0)), "{status}");
        assert_eq!(status["processing"], false);
        assert_eq!(
            told(&newest(table), &["id", "status", "cells"]),
            [json!("run_1"), json!("finished"), json!(0)]
        );
        assert_eq!(table.get("/runs/run_1").ok()["run"]["queued"], 0);
    };
    let mut tables = Vec::new();
    for written in [Some(json!("mine")), Some(Value::Null), None] {
        let table = server.api().table(&["Name"]);
        let (row, column) = begun(&table);
        end(&table, &row, &column, written);
        check(&table);
        tables.push(table);
    }
    server.crash_and_restart();
    for table in &tables {
        check(&table.through(&server.api()));
    }
    stub_server.release();
}

fn a_run_says_who_started_it() {
    let stub_server = StubServer::start(|_, _| ok(json!(1)));
    let server = started(&[]);
    let api = server.api();
    let table = following(&api, "evt-runs", &json!({}));
    asks(&table, "Told", &stub_server, "/", json!({}));
    table.insert(json!({}));
    run(&table, json!({}));
    let key = newest(&table);
    assert_eq!(key["startedBy"]["type"], "key", "{key}");
    assert!(!key["startedBy"]["name"].as_str().unwrap().is_empty(), "{key}");
    // A person in the browser.
    let made = server.command(&["key", "create", "--team", "default", "--name", "Ada's laptop"]);
    let key = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let own = |request: Request| request.header("Sec-Fetch-Site", "same-origin");
    let signed_in =
        exchange(&server.address, &own(Request::post("/session").json(&json!({ "key": key })))).unwrap();
    let cookie = signed_in.header("set-cookie").unwrap().split_once(';').unwrap().0.to_owned();
    let path = table.path("/trigger");
    let trigger = own(Request::post(path).json(&json!({ "force": true }))).header("Cookie", &cookie);
    assert_eq!(exchange(&server.address, &trigger).unwrap().status, 200);
    ended(&table);
    assert_eq!(newest(&table)["startedBy"], json!({ "type": "session", "name": "Ada's laptop" }));
    // By themselves.
    table.patch("", json!({ "autoplay": true })).ok();
    table.insert(json!({}));
    ended(&table);
    assert_eq!(newest(&table)["startedBy"], json!({ "type": "autoplay" }));
    deliver(&api, &guest("evt-runs", "gst-1", "approved", None)).ok();
    ended(&table);
    assert_eq!(newest(&table)["startedBy"], json!({ "type": "webhook" }));
    assert_eq!(runs(&table).len(), 4);
}

fn strangers_read_no_names() {
    let server = started(&[]);
    let table = server.api().in_version(Version::V3).table(&["Name"]);
    table.add_column(
        json!({ "templateId": "ai-text", "header": "Answer", "aiConfig": { "prompt": "@{Name}" } }),
    );
    table.insert(json!({ "Name": "a" }));
    run(&table, json!({}));
    assert!(newest(&table)["startedBy"]["name"].is_string());
    table.patch("", json!({ "settings": { "api": { "requireKey": false } } })).ok();
    let stranger = exchange(&server.address, &Request::get(table.path("/runs"))).unwrap();
    assert_eq!(stranger.status, 200);
    let told: Value = serde_json::from_slice(&stranger.body).unwrap();
    assert_eq!(told["runs"][0]["startedBy"], json!({ "type": "key" }));
}

fn every_node_knows_the_runs() {
    let stub_server = StubServer::start(|seen, _| match seen.path.as_str() {
        "/n7" | "/n170" => Reply::Json(400, json!({})),
        _ => ok(json!(1)),
    });
    let here = first(&[("ROWMILL_NO_WORKERS", "true")]);
    let _working = here.beside("worker", &[]);
    let reading = here.beside("serve", &[]);
    let table = here.api().table(&["Name"]);
    let there = table.through(&reading.api());
    asks(&table, "Told", &stub_server, "/@{Name}", json!({}));
    let names: Value = (0..300).map(|number| json!({ "Name": format!("n{number}") })).collect();
    table.insert(names);
    for number in 1..=3 {
        let triggered = there.post("/trigger", json!({ "force": true })).ok();
        assert_eq!(triggered["runId"], format!("run_{number}"));
        assert_eq!(table.get("/status").ok()["runId"], triggered["runId"], "on every node at once");
        ended(&table);
        let run = there.get(&format!("/runs/run_{number}")).ok()["run"].clone();
        assert_eq!(
            told(&run, &["status", "cells", "done"]),
            [json!("finished"), json!(300), json!(298)],
            "{run}"
        );
        assert_eq!(run["failures"][0]["cells"], 2, "{run}");
    }
    assert_eq!(runs(&table), runs(&there));
    assert_eq!(runs(&table).len(), 3);
}
