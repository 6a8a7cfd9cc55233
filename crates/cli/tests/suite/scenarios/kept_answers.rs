//! Results that are kept to be reused: a team has so many at most, and the oldest go first.

use serde_json::{Value, json};

use super::processing::{run, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::ok;
use crate::harness::{Scenario, StubServer};

pub(crate) const OWN: &[Scenario] = &scenarios!("kept_answers", Own:
    the_oldest_results_are_not_kept_any_more,
);

fn the_oldest_results_are_not_kept_any_more() {
    let model = StubServer::start(|_, _| {
        ok(json!({ "choices": [{ "message": { "content": "Yes." }, "finish_reason": "stop" }] }))
    });
    let mut server = started(&[
        ("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")),
        ("ROWMILL_AI_MODEL", "small-1"),
        ("ROWMILL_KEPT_ANSWERS_MAX", "8"),
    ]);
    let api = server.api();
    let limits = api.get("/v4/limits").ok()["limits"].clone();
    assert_eq!((&limits["keptAnswersMax"], &limits["keptAnswersBytesMax"]), (&json!(8), &json!(268_435_456)));
    let table = api.table(&["Name"]);
    let column = table
        .add_column(json!({ "templateId": "ai-text", "header": "Answer", "cacheTtlSeconds": 3_600,
        "aiConfig": { "prompt": "@{Name}?" } }));
    let names = |from: usize, to: usize| -> Value {
        (from..to).map(|number| json!({ "Name": format!("row {number}") })).collect()
    };
    let first = table.insert(names(0, 20));
    run(&table, json!({}));
    let last = table.insert(names(20, 24));
    run(&table, json!({}));
    assert_eq!(model.count(), 24);
    // What this process knows by heart is gone.
    server.crash_and_restart();
    let table = table.through(&server.api());
    run(&table, json!({ "rowIds": last, "force": true }));
    assert_eq!(model.count(), 24, "the newest are kept");
    assert_eq!(table.cells(&last[0])[&column]["meta"]["cached"], true);
    run(&table, json!({ "rowIds": first, "force": true }));
    let asked_again = model.count() - 24;
    assert!((16..=20).contains(&asked_again), "of twenty, four are kept at most: {asked_again}");
}
