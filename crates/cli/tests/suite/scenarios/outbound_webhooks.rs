//! Outbound webhooks: how they are set up, and what receivers are told.

use std::time::Duration;

use serde_json::{Value, json};
use standardwebhooks::Webhook;

use super::processing::{asks, run};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen, ok};
use crate::harness::{Api, Request, Scenario, Server, StubServer, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("outbound_webhooks", Own:
    every_event_is_told_signed_and_gathered,
    a_run_that_is_stopped_is_told,
    a_webhook_tells_only_what_it_is_about,
    a_webhook_is_set_up_changed_and_deleted,
    columns_are_those_of_the_projects,
    a_webhook_whose_columns_are_deleted_says_so,
    both_secrets_sign_while_they_overlap,
);

pub(super) const TIME_MAX: Duration = Duration::from_secs(30);
const ALL: [&str; 9] = [
    "row.created",
    "row.updated",
    "row.deleted",
    "cell.completed",
    "cell.failed",
    "run.started",
    "run.finished",
    "run.stopped",
    "spend.limit_reached",
];

/// A server that may call loopback and does not wait long.
pub(super) fn started(variables: &[(&str, &str)]) -> Server {
    let own = [
        ("ROWMILL_ALLOW_PRIVATE", "127.0.0.1/32"),
        ("ROWMILL_RETRY_BASE_MILLISECONDS", "1"),
        ("ROWMILL_LEASE_SECONDS", "2"),
        ("ROWMILL_WEBHOOK_TIMEOUT_SECONDS", "2"),
        ("ROWMILL_WEBHOOK_RETRY_MILLISECONDS", "20"),
    ];
    let all: Vec<_> = own.iter().chain(variables).copied().collect();
    Server::start(&all)
}

/// A receiver that takes everything.
pub(super) fn receiver() -> StubServer {
    StubServer::start(|_, _| ok(json!({ "taken": true })))
}

/// Sets up a webhook: its id and its secret.
pub(super) fn hook(api: &Api, body: Value) -> (String, String) {
    let made = api.post("/v4/team/webhooks", body).created();
    (made["webhook"]["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
}

pub(super) fn hook_for(api: &Api, receiver: &StubServer, events: &[&str]) -> (String, String) {
    hook(api, json!({ "url": receiver.url("/in"), "events": events }))
}

/// Checks the signature with the library of the specification, and gives the payload.
pub(super) fn verified(seen: &Seen, secret: &str) -> Value {
    let mut headers = http::HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        headers.insert(name, seen.headers[name].parse().unwrap());
    }
    Webhook::new(secret).unwrap().verify(seen.body.as_bytes(), &headers).expect("the signature is right");
    assert_eq!(seen.method, "POST");
    assert!(seen.body.len() < 20_000, "{} bytes", seen.body.len());
    let payload = seen.json();
    assert!(payload["timestamp"].as_str().unwrap().ends_with('Z'), "{payload}");
    payload
}

/// What a receiver was told of one type, in the order of the change sequence.
pub(super) fn told(receiver: &StubServer, kind: &str) -> Vec<Value> {
    let mut told: Vec<Value> =
        receiver.seen().iter().map(Seen::json).filter(|payload| payload["type"] == kind).collect();
    told.sort_by_key(|payload| payload["data"]["sequence"].as_u64());
    told.into_iter().map(|mut payload| payload["data"].take()).collect()
}

/// Waits until a receiver was told as many rows of one type.
pub(super) fn rows_told(receiver: &StubServer, kind: &str, count: usize) -> Vec<Value> {
    eventually(&format!("{count} rows of {kind}"), TIME_MAX, || {
        let rows: Vec<Value> = told(receiver, kind)
            .iter()
            .flat_map(|data| data["rows"].as_array().cloned().unwrap_or_default())
            .collect();
        (rows.len() >= count).then_some(rows)
    })
}

fn runs_told(receiver: &StubServer, kind: &str, count: usize) -> Vec<Value> {
    eventually(&format!("{count} of {kind}"), TIME_MAX, || {
        let runs = told(receiver, kind);
        (runs.len() >= count).then_some(runs)
    })
}

fn every_event_is_told_signed_and_gathered() {
    let (server, receiver) = (started(&[]), receiver());
    let provider = StubServer::start(|seen, _| {
        if seen.path.contains("bad") {
            Reply::Json(400, json!({ "error": "no such" }))
        } else {
            ok(json!("found"))
        }
    });
    let api = server.api();
    let table = api.table(&["Name", "Note"]);
    table.insert(json!({ "Name": "before" }));
    let (_, secret) = hook_for(&api, &receiver, &ALL);
    let rows: Vec<Value> =
        (0..250).map(|number| json!({ "Name": format!("n{number}"), "Note": number })).collect();
    let ids = table.insert(json!(rows));
    let created = rows_told(&receiver, "row.created", 250);
    assert_eq!(created.len(), 250, "nothing from before");
    let seventh = created.iter().find(|row| row["id"] == ids[7]).unwrap();
    assert_eq!(*seventh, json!({ "id": ids[7], "cells": { "Name": "n7", "Note": 7 } }));
    let deliveries = told(&receiver, "row.created");
    assert!(deliveries.iter().all(|data| data["rows"].as_array().unwrap().len() <= 100));
    assert_eq!(deliveries[0]["projectId"], table.id);
    let sequence = deliveries[0]["sequence"].as_u64().unwrap();

    let cell = |column: &str, value: &str| json!({ "rowId": ids[0], "columnId": table.column(column), "value": value });
    table.patch("/cells", json!({ "cells": [cell("Name", "n0"), cell("Note", "new")] })).ok();
    let updated = rows_told(&receiver, "row.updated", 1);
    let expected = json!({ "id": ids[0], "cells": { "Name": "n0", "Note": "new" }, "changed": ["Note"] });
    assert_eq!(updated, [expected], "what is the same did not change");
    assert!(told(&receiver, "row.updated")[0]["sequence"].as_u64().unwrap() > sequence);
    table.delete_rows(&ids[1..3]).ok();
    let deleted = rows_told(&receiver, "row.deleted", 2);
    assert_eq!(deleted, [json!({ "id": ids[1] }), json!({ "id": ids[2] })]);

    let good = asks(&table, "Good", &provider, "/good/@{Name}", json!({}));
    let bad = asks(&table, "Bad", &provider, "/bad/@{Name}", json!({}));
    run(&table, json!({ "rowIds": [ids[3], ids[4]], "columnIds": [good, bad] }));
    let mut completed = rows_told(&receiver, "cell.completed", 2);
    completed.sort_by_key(|row| row["id"].to_string());
    assert_eq!(completed[0]["cells"], json!({ "Good": "found" }));
    let failed = rows_told(&receiver, "cell.failed", 2);
    assert_eq!(failed[0]["errors"]["Bad"]["code"], "provider_error", "{failed:?}");
    let started = runs_told(&receiver, "run.started", 1);
    assert_eq!(started[0]["run"]["startedBy"]["type"], "key", "{started:?}");
    let finished = runs_told(&receiver, "run.finished", 1);
    let run = &finished[0]["run"];
    assert_eq!((&run["id"], &run["done"], &run["failed"]), (&started[0]["run"]["id"], &json!(2), &json!(2)));
    for seen in receiver.seen() {
        verified(&seen, &secret);
    }
}

fn a_run_that_is_stopped_is_told() {
    let (server, receiver) = (started(&[]), receiver());
    let provider = StubServer::start(|_, _| Reply::Hanging);
    let api = server.api();
    let table = api.table(&["Name"]);
    let ids = table.insert(json!([{ "Name": "a" }, { "Name": "b" }]));
    asks(&table, "Slow", &provider, "/@{Name}", json!({}));
    hook_for(&api, &receiver, &["run.started", "run.finished", "run.stopped"]);
    table.post("/trigger", json!({ "rowIds": ids })).ok();
    eventually("a cell runs", TIME_MAX, || (provider.count() > 0).then_some(()));
    table.post("/stop", json!({})).ok();
    let stopped = runs_told(&receiver, "run.stopped", 1);
    let run = &stopped[0]["run"];
    assert_eq!((&run["status"], &run["stopped"]), (&json!("stopped"), &json!(2)), "{run}");
    assert_eq!(runs_told(&receiver, "run.started", 1)[0]["run"]["id"], run["id"]);
    assert!(told(&receiver, "run.finished").is_empty());
}

fn a_webhook_tells_only_what_it_is_about() {
    let (server, receiver) = (started(&[]), receiver());
    let api = server.api();
    let (table, other) = (api.table(&["Name", "Note"]), api.table(&["Name"]));
    let of_project = StubServer::start(|_, _| ok(json!({})));
    hook(&api, json!({ "url": of_project.url("/"), "events": ["row.created"], "projectIds": [other.id] }));
    let note = table.column("Note");
    hook(
        &api,
        json!({ "url": receiver.url("/"), "events": ["row.updated"], "projectIds": [table.id], "columnIds": [note] }),
    );
    let id = table.insert(json!({ "Name": "a" })).remove(0);
    other.insert(json!({ "Name": "elsewhere" }));
    let patch = |body: Value| table.patch(&format!("/rows/{id}"), body).ok();
    patch(json!({ "Name": "b" }));
    patch(json!({ "Note": "x".repeat(20_000) }));
    patch(json!({ "Note": "short" }));
    let updated = rows_told(&receiver, "row.updated", 2);
    assert_eq!(updated[0], json!({ "id": id, "truncated": true }));
    assert_eq!(updated[1]["changed"], json!(["Note"]));
    let created = rows_told(&of_project, "row.created", 1);
    assert_eq!(created[0]["cells"], json!({ "Name": "elsewhere" }));
    assert_eq!((receiver.count(), of_project.count()), (2, 1));
}

fn a_webhook_is_set_up_changed_and_deleted() {
    let server = started(&[("ROWMILL_WEBHOOKS_MAX", "2")]);
    let (api, receiver) = (server.api(), receiver());
    let path = "/v4/team/webhooks";
    assert_eq!(api.get(path).ok()["webhooks"], json!([]));
    api.post(path, json!({ "url": "ftp://x", "events": ["row.created"] })).offends(&["url"]);
    api.post(path, json!({ "url": "https://a:b@example.com", "events": [] })).offends(&["url", "events"]);
    api.post(path, json!({ "url": "https://example.com", "events": ["row.eaten"] })).offends(&["events[0]"]);
    let unknown =
        json!({ "url": "https://example.com", "events": ["row.created"], "projectIds": ["proj_x"] });
    api.post(path, unknown).offends(&["projectIds[0]"]);
    let (id, secret) = hook(
        &api,
        json!({ "url": receiver.url("/a"), "events": ["row.deleted", "row.created", "row.created"], "description": "CRM" }),
    );
    assert!(id.starts_with("hook_") && secret.starts_with("whsec_"));
    let one = format!("{path}/{id}");
    let stored = api.get(&one).ok();
    assert_eq!(stored["webhook"]["events"], json!(["row.created", "row.deleted"]));
    assert_eq!(
        (&stored["webhook"]["enabled"], &stored["webhook"]["description"]),
        (&json!(true), &json!("CRM"))
    );
    assert!(!stored.to_string().contains("whsec_"), "a secret is shown once");
    hook_for(&api, &receiver, &["run.finished"]);
    api.post(path, json!({ "url": "https://example.com", "events": ["row.created"] })).exceeds("webhooksMax");
    assert_eq!(api.get(path).ok()["webhooks"].as_array().unwrap().len(), 2);

    api.send(Request::post(format!("{one}/test"))).success(202);
    eventually("the test event", TIME_MAX, || (!told(&receiver, "webhook.test").is_empty()).then_some(()));
    let changed = api
        .patch(&one, json!({ "enabled": false, "url": receiver.url("/b"), "events": ["row.created"] }))
        .ok();
    assert_eq!(changed["webhook"]["disabled"]["reason"], "team");
    api.send(Request::post(format!("{one}/test"))).offends(&["webhookId"]);
    let table = api.table(&["Name"]);
    table.insert(json!({ "Name": "while it is disabled" }));
    api.patch(&one, json!({ "enabled": true })).ok();
    table.insert(json!({ "Name": "now" }));
    let created = rows_told(&receiver, "row.created", 1);
    assert_eq!(created[0]["cells"], json!({ "Name": "now" }));
    assert_eq!(receiver.seen().last().unwrap().path, "/b");

    let stranger = server.team("other");
    stranger.get(&one).refused(404, "webhook_not_found");
    stranger.delete(&one).refused(404, "webhook_not_found");
    assert_eq!(stranger.get(path).ok()["webhooks"], json!([]));
    assert_eq!(api.delete(&one).ok()["deletedCount"], 1);
    api.get(&one).refused(404, "webhook_not_found");
    api.get(format!("{one}/deliveries")).refused(404, "webhook_not_found");
}

fn columns_are_those_of_the_projects() {
    let server = started(&[]);
    let api = server.api();
    let path = "/v4/team/webhooks";
    let (one, other) = (api.table(&["Name"]), api.table(&["Name"]));
    let stranger = server.team("stranger").table(&["Name"]).column("Name").to_owned();
    let (own, others) = (one.column("Name").to_owned(), other.column("Name").to_owned());
    let body = |projects: Value, columns: Value| json!({ "url": "https://example.com", "events": ["row.updated"], "projectIds": projects, "columnIds": columns });
    let projects = json!([one.id]);
    api.post(path, body(projects.clone(), json!([own, "col_x", others])))
        .offends(&["columnIds[1]", "columnIds[2]"]);
    // Without projects, those of the team count.
    api.post(path, body(Value::Null, json!(["col_x", others, stranger])))
        .offends(&["columnIds[0]", "columnIds[2]"]);
    let (id, _) = hook(&api, body(Value::Null, json!([own, others])));
    let webhook = format!("{path}/{id}");
    api.patch(&webhook, json!({ "columnIds": ["col_x"] })).offends(&["columnIds[0]"]);
    // What is named already must fit the projects that are named now.
    api.patch(&webhook, json!({ "projectIds": projects })).offends(&["columnIds[1]"]);
    let fitting = api.patch(&webhook, json!({ "projectIds": projects, "columnIds": [own] })).ok();
    assert_eq!(fitting["webhook"]["columnIds"], json!([own]));
    api.delete(one.path(&format!("/columns/{own}"))).ok();
    api.patch(&webhook, json!({ "description": "A column is gone." })).ok();
}

fn a_webhook_whose_columns_are_deleted_says_so() {
    let (server, receiver) = (started(&[]), receiver());
    let api = server.api();
    let (table, other) = (api.table(&["Name", "Note"]), api.table(&["Name"]));
    let (name, note) = (table.column("Name"), table.column("Note"));
    let settings =
        |columns: Value| json!({ "url": receiver.url("/"), "events": ["row.updated"], "columnIds": columns });
    let (one, _) = hook(&api, settings(json!([note])));
    let (both, _) = hook(&api, settings(json!([name, note])));
    let (of_other, _) = hook(
        &api,
        json!({ "url": receiver.url("/"), "events": ["row.updated"], "projectIds": [table.id, other.id] }),
    );
    let problems = |id: &str| {
        let listed = api.get("/v4/team/webhooks").ok();
        let listed = listed["webhooks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|webhook| webhook["id"] == id)
            .unwrap()
            .clone();
        let seen = api.get(format!("/v4/team/webhooks/{id}")).ok()["webhook"].clone();
        assert_eq!(seen["problems"], listed["problems"]);
        serde_json::from_value::<Vec<String>>(seen["problems"].clone()).unwrap()
    };
    assert!(problems(&one).is_empty() && problems(&of_other).is_empty());

    let deleted = table.delete(&format!("/columns/{note}")).ok();
    let fixes: Vec<String> = serde_json::from_value(deleted["appliedFixes"].clone()).unwrap();
    assert_eq!(fixes.len(), 2, "{fixes:?}");
    assert!(fixes[0].contains(&one) && fixes[0].contains("tells of no cell"), "{fixes:?}");
    assert!(fixes[1].contains(&both) && fixes[1].contains("other columns"), "{fixes:?}");
    for id in [&one, &both] {
        let told = problems(id);
        assert!(told.len() == 1 && told[0].contains("\"Note\"") && told[0].contains("trash"), "{told:?}");
    }
    table.post("/trash/restore", json!({ "columnIds": [note] })).ok();
    assert!(problems(&one).is_empty() && problems(&both).is_empty());
    let id = table.insert(json!({ "Name": "a" })).remove(0);
    table.patch(&format!("/rows/{id}"), json!({ "Note": "n" })).ok();
    assert_eq!(rows_told(&receiver, "row.updated", 3).len(), 3, "it is told of again");

    other.delete("").ok();
    let told = problems(&of_other);
    assert!(told.len() == 1 && told[0].contains(&other.id), "{told:?}");
}

fn both_secrets_sign_while_they_overlap() {
    let (server, receiver) = (started(&[]), receiver());
    let api = server.api();
    let (id, old) = hook_for(&api, &receiver, &["row.created"]);
    let rotate = |body: Value| {
        let rotated = api.post(format!("/v4/team/webhooks/{id}/rotate"), body).ok();
        (rotated["secret"].as_str().unwrap().to_owned(), rotated["webhook"]["oldSecretUntil"].clone())
    };
    let (new, until) = rotate(json!({}));
    assert!(until.is_string() && new != old);
    let table = api.table(&["Name"]);
    table.insert(json!({ "Name": "a" }));
    rows_told(&receiver, "row.created", 1);
    let seen = receiver.seen().remove(0);
    verified(&seen, &old);
    verified(&seen, &new);
    let (last, until) = rotate(json!({ "overlapHours": 0 }));
    assert!(until.is_null());
    table.insert(json!({ "Name": "b" }));
    rows_told(&receiver, "row.created", 2);
    let seen = receiver.seen().remove(1);
    verified(&seen, &last);
    assert_eq!(seen.headers["webhook-signature"].split(' ').count(), 1);
}
