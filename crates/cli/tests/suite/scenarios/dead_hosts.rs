//! Contract section 7: hosts that are not there, and credentials that are refused, cost little time and few calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::processing::{asks, ended, run, started};
use super::provider_columns::waterfall;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Request, Scenario, StubServer, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("dead_hosts", Own:
    rows_of_a_dead_host_end_together_and_say_why,
    a_host_that_answers_with_errors_is_waited_for,
    a_refused_credential_is_not_asked_for_every_row,
    a_finder_with_a_wrong_key_is_asked_once_in_a_run,
);

/// Half a minute is the promise; the rest is for a busy machine.
const TIME_MAX: Duration = Duration::from_mins(2);

fn names(count: usize) -> Value {
    (0..count).map(|number| json!({ "Name": format!("n{number}") })).collect()
}

fn rows(table: &Table) -> Vec<Value> {
    let page = table.get("/rows?withState=true&pageSize=1000").ok();
    page["rows"].as_array().unwrap().clone()
}

fn cell<'a>(row: &'a Value, column: &str) -> &'a Value {
    &row["cells"][column]
}

fn rows_of_a_dead_host_end_together_and_say_why() {
    let server = started(&[]);
    let hosts = ["127.0.0.1:1", "does-not-exist.invalid"];
    let tables = hosts.map(|host| {
        let table = server.api().table(&["Name"]);
        let column = table.add_column(json!({
            "templateId": "http-api", "header": "Answer",
            "apiConfig": { "url": format!("http://{host}/@{{Name}}") },
        }));
        table.insert(names(200));
        table.post("/trigger", json!({})).ok();
        (table, column)
    });
    let began = Instant::now();
    for ((table, column), host) in tables.iter().zip(hosts) {
        let host = host.split(':').next().unwrap();
        let says_why = |cell: &Value| {
            assert_eq!(cell["error"]["code"], "provider_error", "{cell}");
            assert!(cell["error"]["message"].as_str().unwrap().contains(host), "{cell}");
        };
        // While it lasts every cell that waits for another try says what for.
        eventually("some cells wait", TIME_MAX, || {
            let rows = rows(table);
            let waiting: Vec<&Value> =
                rows.iter().map(|row| cell(row, column)).filter(|cell| cell["retryAt"].is_string()).collect();
            for cell in &waiting {
                says_why(cell);
            }
            (waiting.len() > 20).then_some(())
        });
    }
    for ((table, column), host) in tables.iter().zip(hosts) {
        eventually("the dead host's cells end", TIME_MAX, || {
            (table.get("/status").ok()["processing"] == false).then_some(())
        });
        for row in rows(table) {
            let cell = cell(&row, column);
            assert_eq!(
                (&cell["status"], &cell["error"]["code"]),
                (&json!("error"), &json!("provider_error"))
            );
            assert!(cell["error"]["message"].as_str().unwrap().contains(host.split(':').next().unwrap()));
        }
    }
    assert!(began.elapsed() < TIME_MAX);
}

fn a_host_that_answers_with_errors_is_waited_for() {
    // It fails until it has been seen to rest, and then is well.
    let is_well = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_well);
    let host = StubServer::start(move |_, _| {
        if seen.load(Ordering::Relaxed) { ok(json!(1)) } else { Reply::Json(500, json!("Down.")) }
    });
    let server = started(&[("ROWMILL_WORKER_CONCURRENCY", "10")]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Answer", &host, "/@{Name}", json!({ "retry": { "maxAttempts": 10 } }));
    table.insert(names(30));
    table.post("/trigger", json!({})).ok();
    eventually("waiting cells say what for", TIME_MAX, || {
        let rows = rows(&table);
        let waiting: Vec<&Value> =
            rows.iter().map(|row| cell(row, &column)).filter(|cell| cell["retryAt"].is_string()).collect();
        for cell in &waiting {
            assert_eq!(cell["error"]["code"], "provider_error", "{cell}");
            assert!(cell["error"]["message"].as_str().unwrap().contains("500"), "{cell}");
        }
        (waiting.len() >= 20).then_some(())
    });
    is_well.store(true, Ordering::Relaxed);
    ended(&table);
    assert!(rows(&table).iter().all(|row| cell(row, &column)["value"] == 1));
}

fn a_refused_credential_is_not_asked_for_every_row() {
    for (status, code) in [(401, "invalid_credentials"), (402, "out_of_credits")] {
        let model =
            StubServer::start(move |_, _| Reply::Json(status, json!({ "error": { "message": "No." } })));
        let server = started(&[
            ("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")),
            ("ROWMILL_OPENAI_API_KEY", "sk-1"),
            ("ROWMILL_AI_MODEL", "small-1"),
        ]);
        let table = server.api().table(&["Name"]);
        let column = table.add_column(json!({
            "templateId": "ai-text", "header": "Answer", "aiConfig": { "prompt": "@{Name}" },
        }));
        let other = table.add_column(json!({
            "templateId": "ai-text", "header": "Other", "aiConfig": { "prompt": "Or @{Name}" },
        }));
        table.insert(names(150));
        let mut asked = 0;
        for run in 1..=2 {
            table.post("/trigger", json!({})).ok();
            ended(&table);
            for row in rows(&table) {
                for column in [&column, &other] {
                    let cell = cell(&row, column);
                    assert_eq!((&cell["status"], &cell["error"]["code"]), (&json!("error"), &json!(code)));
                }
            }
            let calls = model.seen().len() - asked;
            assert_eq!(calls, 1, "run {run}");
            asked += calls;
        }
    }
}

fn a_finder_with_a_wrong_key_is_asked_once_in_a_run() {
    let hunter = StubServer::start(|seen, _| {
        if seen.headers.get("x-api-key").is_some_and(|key| key == "right") {
            return ok(
                json!({ "data": { "email": "ada@acme.test", "score": 99, "verification": { "status": "valid" } } }),
            );
        }
        Reply::Json(
            401,
            json!({ "errors": [{ "id": "authentication_failed", "code": 401, "details": "No such key" }] }),
        )
    });
    let server =
        started(&[("ROWMILL_HUNTER_BASE_URL", &hunter.url("")), ("ROWMILL_HUNTER_API_KEY", "wrong")]);
    let (table, column) = waterfall(&server, &["hunter"]);
    let people = (0..60).map(|number| json!({ "Name": format!("Ada L{number}"), "Domain": "acme.test" }));
    table.insert(people.collect());
    for runs in 1..=2 {
        run(&table, json!({}));
        assert_eq!(hunter.seen().len(), runs, "once in each run");
        assert!(rows(&table).iter().all(|row| cell(row, &column)["error"]["code"] == "invalid_credentials"));
    }
    for (key, calls) in [("another", 3), ("right", 63)] {
        let credential = json!({ "apiKey": key, "baseUrl": hunter.url("") });
        server.api().send(Request::new("PUT", "/v4/team/providers/hunter").json(&credential)).ok();
        run(&table, json!({}));
        assert_eq!(hunter.seen().len(), calls, "a new credential is another one");
    }
    assert!(rows(&table).iter().all(|row| cell(row, &column)["value"] == "ada@acme.test"));
}
