//! What providers take: told in the cell, and summed up in the run.

use serde_json::{Value, json};

use super::nodes::first;
use super::processing::{asks, ended, run, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Scenario, StubServer, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("paid", Own:
    what_is_paid_is_told_and_summed_up,
    what_finders_take_is_added_up,
    every_cell_of_a_run_is_counted_once,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("paid", Nodes:
    nodes_sum_up_one_run,
);

/// A model that takes half a cent for an answer, and says nothing for the question `free`.
fn model() -> StubServer {
    StubServer::start(|seen, _| {
        let cost = if seen.body.contains("free") { Value::Null } else { json!(0.005) };
        ok(json!({
            "choices": [{ "message": { "content": "Yes." }, "finish_reason": "stop" }], "usage": { "cost": cost },
        }))
    })
}

fn variables(model: &StubServer) -> [(&'static str, String); 3] {
    [
        ("ROWMILL_OPENAI_BASE_URL", model.url("/v1")),
        ("ROWMILL_OPENAI_API_KEY", "sk-1".to_owned()),
        ("ROWMILL_AI_MODEL", "small-1".to_owned()),
    ]
}

fn asks_model(table: &Table, more: Value) -> String {
    let mut body =
        json!({ "templateId": "ai-text", "header": "Answer", "aiConfig": { "prompt": "@{Name}?" } });
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        body[name] = value;
    }
    table.add_column(body)
}

fn what_is_paid_is_told_and_summed_up() {
    let model = model();
    let variables = variables(&model);
    let mut server = started(&variables.each_ref().map(|(name, value)| (*name, value.as_str())));
    let table = server.api().table(&["Name"]);
    let column = asks_model(&table, json!({ "cacheTtlSeconds": 600 }));
    assert_eq!(table.get("/status").ok().get("run"), None, "nothing ever ran");
    let ids = table.insert(json!([{ "Name": "a" }, { "Name": "b" }, { "Name": "free" }, { "Name": "a" }]));
    run(&table, json!({ "rowIds": ids[..3] }));
    assert_eq!(table.cells(&ids[0])[&column]["meta"]["cost"], 0.005);
    assert_eq!(table.cells(&ids[2])[&column]["meta"].get("cost"), None, "what is not told is not known");
    let summed =
        json!({ "cells": 3, "done": 3, "empty": 0, "failed": 0, "skipped": 0, "stopped": 0, "cost": 0.01 });
    assert_eq!(table.get("/status").ok()["run"], summed);
    server.crash_and_restart();
    let table = table.through(&server.api());
    assert_eq!(table.get("/status").ok()["run"], summed, "it is kept with the counts");
    // The next run begins at nothing, and what is kept of the one before costs nothing.
    let before = model.count();
    run(&table, json!({ "rowIds": [ids[0]], "force": true }));
    assert_eq!(table.get("/status").ok()["run"].get("cost"), None);
    let meta = table.cells(&ids[0])[&column]["meta"].clone();
    assert_eq!((&meta["cached"], model.count()), (&json!(true), before), "answers survive a restart: {meta}");
    run(&table, json!({ "rowIds": [ids[3]] }));
    let meta = table.cells(&ids[3])[&column]["meta"].clone();
    assert_eq!((&meta["cached"], meta.get("cost")), (&json!(true), None), "{meta}");
    let status = table.get("/status").ok();
    assert_eq!((&status["run"]["done"], status["run"].get("cost")), (&json!(1), None), "{status}");
}

fn what_finders_take_is_added_up() {
    let leadmagic = StubServer::start(|_, _| {
        ok(json!({ "status": "not_found", "email": null, "credits_consumed": 0.5 }))
    });
    let anymail = StubServer::start(|_, _| {
        ok(json!({ "email_status": "valid", "email": "ada@acme.test", "credits_charged": 1 }))
    });
    let server = started(&[
        ("ROWMILL_LEADMAGIC_BASE_URL", &leadmagic.url("")),
        ("ROWMILL_LEADMAGIC_API_KEY", "l"),
        ("ROWMILL_ANYMAILFINDER_BASE_URL", &anymail.url("")),
        ("ROWMILL_ANYMAILFINDER_API_KEY", "a"),
    ]);
    let (table, column) = super::provider_columns::waterfall(&server, &["leadmagic", "anymailfinder"]);
    let ids = table
        .insert(json!([{ "Name": "Ada L", "Domain": "a.test" }, { "Name": "Bob M", "Domain": "b.test" }]));
    run(&table, json!({}));
    let meta = table.cells(&ids[0])[&column]["meta"].clone();
    assert_eq!((&meta["credits"], meta.get("cost")), (&json!(1.5), None), "{meta}");
    let tried: Vec<&Value> =
        meta["tried"].as_array().unwrap().iter().map(|entry| &entry["credits"]).collect();
    assert_eq!(tried, [&json!(0.5), &json!(1.0)]);
    let run = table.get("/status").ok()["run"].clone();
    assert_eq!((&run["credits"], run.get("cost")), (&json!(3.0), None), "{run}");
}

fn every_cell_of_a_run_is_counted_once() {
    let stub_server = StubServer::start(|seen, _| match seen.path.as_str() {
        "/none" => Reply::Json(404, json!({ "error": "No such thing" })),
        "/bad" => Reply::Json(400, json!({ "error": "No" })),
        "/a" => ok(json!("told")),
        _ => Reply::Hanging,
    });
    let server = started(&[("ROWMILL_WORKER_CONCURRENCY", "3")]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Told", &stub_server, "/@{Name}", json!({}));
    let names = ["a", "none", "bad", "", "held", "held too"].map(|name| json!({ "Name": name }));
    let ids = table.insert(names.to_vec().into());
    table.post("/trigger", json!({})).ok();
    crate::harness::eventually("all but two have ended", std::time::Duration::from_secs(30), || {
        let run = table.get("/status").ok()["run"].clone();
        let ended = ["done", "empty", "failed", "skipped"].iter().filter_map(|way| run[*way].as_u64());
        (ended.sum::<u64>() == 4).then_some(())
    });
    let running = table.get("/status").ok();
    assert_eq!(running["run"]["cells"], 6, "{running}");
    table.post("/stop", json!({})).ok();
    stub_server.release();
    let told = ended(&table)["run"].clone();
    let expected = json!({ "cells": 6, "done": 1, "empty": 1, "failed": 1, "skipped": 1, "stopped": 2 });
    assert_eq!(told, expected, "calls that were aborted are stopped, too");
    let none = table.cells(&ids[1])[&column].clone();
    assert_eq!((&none["outcome"], &none["meta"]["status"]), (&json!("no_data"), &json!(404)), "{none}");
}

fn nodes_sum_up_one_run() {
    let model = model();
    let variables = variables(&model);
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let here = first(&variables);
    let there = here.beside("worker", &[]);
    let table = here.api().table(&["Name"]);
    asks_model(&table, json!({}));
    let names: Value = (0..200).map(|number| json!({ "Name": format!("n{number}") })).collect();
    table.insert(names);
    run(&table, json!({}));
    let told = table.get("/status").ok()["run"].clone();
    assert_eq!(
        (&told["cells"], &told["done"], &told["cost"]),
        (&json!(200), &json!(200), &json!(1.0)),
        "{told}"
    );
    drop(there);
}
