//! Quotas: how many rows and bytes a team can have, however they come in.

use std::time::Duration;

use serde_json::{Value, json};

use super::processing::asks;
use crate::harness::http::exchange;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::ok;
use crate::harness::{Answer, Api, Request, Scenario, Server, StubServer, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("quotas", Own:
    a_team_has_no_more_rows_than_its_quota,
    a_team_stores_no_more_bytes_than_its_quota,
    results_are_written_beyond_the_quota,
);

fn a_team_has_no_more_rows_than_its_quota() {
    let server = Server::start(&[("ROWMILL_TEAM_ROWS_MAX", "5")]);
    let (api, other) = (server.api(), server.team("other"));
    assert_eq!(api.get("/v4/limits").ok()["limits"]["teamRowsMax"], 5);
    let event = json!({ "eventId": "evt-1", "webhookEnabled": true });
    let metadata = json!({ "integration": "eventplatform-event", "eventplatform": event });
    let columns = json!([{ "templateId": "manual", "header": "Name" }]);
    let first = api.table_of(json!({ "title": "A", "columns": columns, "metadata": metadata }));
    let second = api.table(&["Name"]);
    let rows = |names: &[&str]| json!(names.iter().map(|name| json!({ "Name": name })).collect::<Vec<_>>());
    let insert = |project: &str, body: Value| api.post(api.path_in(project, "/rows"), body);

    insert(&first.id, rows(&["a", "b"])).created();
    insert(&second.id, rows(&["c", "d"])).created();
    let refused = insert(&first.id, rows(&["e", "f"])).refused(400, "limit_exceeded");
    assert!(refused["error"].as_str().unwrap().contains("teamRowsMax"), "{refused}");
    insert(&first.id, rows(&["e"])).created();
    // What is there can still be changed.
    api.post(api.path_in(&first.id, "/rows?matchOn=Name"), rows(&["a", "b"])).ok();
    let file = Request::post(api.path_in(&second.id, "/import"))
        .bytes(b"Name\nx\ny\n".to_vec())
        .header("Content-Type", "text/csv");
    api.send(file).refused(400, "limit_exceeded");
    let team = api.get("/v4/team").ok()["team"]["id"].as_str().unwrap().to_owned();
    let delivery = json!({ "type": "guest.registered", "data": {
        "id": "gst-1", "user_email": "a@example.com", "approval_status": "approved",
        "registered_at": "2026-11-15T09:30:00Z", "event": { "id": "evt-1", "name": "Fair" },
    }});
    let delivery = Request::post(format!("/webhooks/eventplatform/{team}")).json(&delivery);
    let told = exchange(&server.address, &delivery).unwrap();
    let words: Value = serde_json::from_slice(&told.body).unwrap();
    assert!(told.status == 400 && words["error"].as_str().unwrap().contains("teamRowsMax"), "{words}");
    assert_eq!(api.get("/v4/usage").ok()["totals"]["rows"], 5);
    // Another team has its own.
    let table = other.table(&["Name"]);
    other.post(other.path_in(&table.id, "/rows"), rows(&["1", "2", "3", "4", "5"])).created();

    // Room that is made can be used.
    api.delete(format!("/v4/projects/{}", second.id)).ok();
    insert(&first.id, rows(&["x", "y"])).created();
    assert_eq!(exchange(&server.address, &delivery).unwrap().status, 400);
}

fn a_team_stores_no_more_bytes_than_its_quota() {
    let mut server = Server::start(&[("ROWMILL_TEAM_BYTES_MAX", "10000")]);
    let (api, other) = (server.api(), server.team("other"));
    assert_eq!(api.get("/v4/limits").ok()["limits"]["teamBytesMax"], 10_000);
    let event = json!({ "eventId": "evt-1", "webhookEnabled": true });
    let metadata = json!({ "integration": "eventplatform-event", "eventplatform": event });
    let columns = json!([{ "templateId": "manual", "header": "Name" }]);
    let first = api.table_of(json!({ "title": "A", "columns": columns, "metadata": metadata }));
    let second = api.table(&["Name"]);
    let stored = |api: &Api| api.get("/v4/usage").ok()["totals"]["storedBytes"].as_u64().unwrap();
    let row = |bytes: usize| json!({ "Name": "x".repeat(bytes) });
    let refused = |answer: Answer| {
        let told = answer.refused(400, "limit_exceeded");
        let words = told["error"].as_str().unwrap();
        assert!(words.contains("10000 (teamBytesMax)") && words.contains("Delete rows"), "{words}");
    };
    assert_eq!(stored(&api), 0);
    let id = first.insert(row(4_000)).remove(0);
    second.insert(row(4_000));
    assert!((8_000..8_100).contains(&stored(&api)), "{}", stored(&api));
    refused(first.post("/rows", row(2_000)));
    refused(first.post("/rows?matchOn=Name", json!([row(1_100), row(1_050)])));
    let name = first.column("Name");
    let cell =
        |bytes: usize| json!({ "cells": [{ "rowId": id, "columnId": name, "value": "y".repeat(bytes) }] });
    refused(first.patch("/cells", cell(6_000)));
    refused(first.patch(&format!("/rows/{id}"), row(6_000)));
    let file = Request::post(api.path_in(&second.id, "/import"));
    let file = |text: String| file.clone().bytes(text.into_bytes()).header("Content-Type", "text/csv");
    refused(api.send(file(format!("Name\n{}\n", "z".repeat(3_000)))));
    let team = api.get("/v4/team").ok()["team"]["id"].as_str().unwrap().to_owned();
    let delivery = json!({ "type": "guest.registered", "data": {
        "id": "gst-1", "user_email": "a@example.com", "user_name": "n".repeat(3_000), "approval_status": "approved",
        "registered_at": "2026-11-15T09:30:00Z", "event": { "id": "evt-1", "name": "Fair" },
    }});
    let delivery = Request::post(format!("/webhooks/eventplatform/{team}")).json(&delivery);
    let told = exchange(&server.address, &delivery).unwrap();
    let words: Value = serde_json::from_slice(&told.body).unwrap();
    assert!(told.status == 400 && words["error"].as_str().unwrap().contains("teamBytesMax"), "{words}");
    assert!((8_000..8_100).contains(&stored(&api)), "nothing was written");

    // What fits is taken, what takes less always is, and another team has its own.
    first.patch("/cells", cell(5_500)).ok();
    first.patch("/cells", cell(5_400)).ok();
    other.table(&["Name"]).insert(row(9_000));
    // The count is the same after a crash, and room that is made can be used.
    let before = stored(&api);
    server.crash_and_restart();
    let (api, first) = (server.api(), first.through(&server.api()));
    assert_eq!(stored(&api), before);
    refused(first.post("/rows", row(2_000)));
    first.delete_rows(&[&id]);
    first.insert(row(5_000));
    refused(first.post("/rows", row(2_000)));
    api.delete(format!("/v4/projects/{}", second.id)).ok();
    first.insert(row(4_000));
}

fn results_are_written_beyond_the_quota() {
    let long = "r".repeat(5_000);
    let stub_server = StubServer::start(move |_, _| ok(json!({ "answer": long })));
    let server =
        Server::start(&[("ROWMILL_TEAM_BYTES_MAX", "4000"), ("ROWMILL_ALLOW_PRIVATE", "127.0.0.1/32")]);
    let api = server.api();
    let table = api.table(&["Name"]);
    asks(&table, "Answer", &stub_server, "/x", json!({}));
    let id = table.insert(json!({ "Name": "Ada" })).remove(0);
    table.post("/trigger", json!({})).ok();
    eventually("the result", Duration::from_secs(30), || {
        table.get(&format!("/rows/{id}")).text.contains("rrrr").then_some(())
    });
    assert!(api.get("/v4/usage").ok()["totals"]["storedBytes"].as_u64().unwrap() > 5_000);
    table.post("/rows", json!({ "Name": "Grace" })).refused(400, "limit_exceeded");
    // A shorter value is taken all the same.
    table.patch(&format!("/rows/{id}"), json!({ "Name": "A" })).ok();
}
