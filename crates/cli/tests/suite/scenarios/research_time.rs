//! The time that a research may take (`maxSeconds`): searches, failed attempts and waits count, and the last turn fits.

use std::time::Duration;

use serde_json::{Value, json};

use super::processing::run;
use super::research::{calls, kinds, research, results, says, web, with};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen};
use crate::harness::{Scenario, Server, StubServer};

pub(crate) const OWN: &[Scenario] = &scenarios!("research", Own:
    a_search_that_hangs_leaves_time_for_the_answer,
    time_that_failed_attempts_took_counts,
);

fn enough() -> Reply {
    says(&json!({ "value": "Enough", "confidence": 0.2, "sources": [] }).to_string())
}

fn is_last(seen: &Seen) -> bool {
    seen.json()["tool_choice"] == "none"
}

/// The cell of a row that was researched within these limits.
fn researched(server: &Server, limits: Value) -> Value {
    let table = server.api().table(&["Name"]);
    let column = research(&table, &json!({}), limits);
    let rows = table.insert(json!([{ "Name": "Acme" }]));
    run(&table, json!({}));
    table.cells(&rows[0])[&column].clone()
}

fn a_search_that_hangs_leaves_time_for_the_answer() {
    let hanging = StubServer::start(|_: &Seen, _| Reply::Hanging);
    let model = StubServer::start(|seen: &Seen, _| {
        if is_last(seen) { enough() } else { calls(&[("web_search", json!({ "query": "leader of Acme" }))]) }
    });
    let server = with(&model, &hanging, &[]);
    let cell = researched(&server, json!({ "maxSeconds": 2 }));
    assert_eq!((&cell["value"], &cell["attempts"]), (&json!("Enough"), &json!(1)), "{cell}");
    assert_eq!((hanging.count(), model.count()), (1, 2), "{cell}");
    let last = model.seen().remove(1);
    assert!(is_last(&last) && results(&last)[0].contains("time is over"), "{:?}", results(&last));
}

fn time_that_failed_attempts_took_counts() {
    let web = web();
    // A step was taken: from what it brought, the last turn answers.
    let model = StubServer::start(|seen: &Seen, _| match results(seen).len() {
        0 => calls(&[("web_search", json!({ "query": "leader of Acme" }))]),
        _ if is_last(seen) => enough(),
        _ => failing_slowly(),
    });
    let server = with(&model, &web, &[]);
    let cell = researched(&server, json!({ "maxSeconds": 3 }));
    assert_eq!((&cell["value"], &cell["attempts"]), (&json!("Enough"), &json!(2)), "{cell}");
    assert_eq!(kinds(&cell["meta"]), ["model", "search", "model"], "{cell}");
    assert!(cell["meta"]["milliseconds"].as_u64().unwrap() >= 2_500, "{cell}");

    // None was: there is nothing to answer from, and no more is tried.
    let model = StubServer::start(|_: &Seen, _| failing_slowly());
    let server = with(&model, &web, &[]);
    let cell = researched(&server, json!({ "maxSeconds": 3 }));
    assert_eq!((&cell["status"], model.count()), (&json!("error"), 1), "{cell}");
    let told = cell["error"]["message"].as_str().unwrap();
    assert!(told.contains("Oops") && told.contains("maxSeconds"), "{told}");
    // Another run has its own time.
    let before = model.count();
    let table = server.api().get("/v4/projects").ok()["projects"][0]["id"].as_str().unwrap().to_owned();
    server.api().post(format!("/v4/projects/{table}/trigger"), json!({ "force": true })).ok();
    crate::harness::eventually("it is asked again", Duration::from_secs(30), || {
        (model.count() > before).then_some(())
    });
}

fn failing_slowly() -> Reply {
    std::thread::sleep(Duration::from_millis(2_500));
    Reply::Json(500, json!({ "error": { "message": "Oops" } }))
}
