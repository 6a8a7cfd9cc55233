//! AI columns with `processing: "batch"`: what goes to the provider, what comes back, and what may go wrong.

use std::time::Duration;

use serde_json::{Value, json};

use super::processing::{ended, run, started};
use crate::harness::batch_provider::{BatchProvider, MadeBatch, answer, answers};
use crate::harness::faults::sized;
use crate::harness::runner::scenarios;
use crate::harness::{Request, Scenario, Server, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("batches", Own:
    large_tables_take_several_batches_in_little_memory,
    cells_are_answered_in_batches_at_half_the_price,
    a_batch_whose_creation_is_not_confirmed_is_not_made_twice,
    a_crash_between_creation_and_commit_pays_once,
    what_is_stopped_is_cancelled_and_late_results_are_dropped,
    a_hand_beats_a_batch,
    hostile_results_do_no_harm,
    what_expires_goes_into_another_batch,
    a_batch_that_is_refused_fails_or_waits,
    a_batch_that_never_ends_is_given_up,
    limits_of_cells_and_bytes_are_kept,
    columns_that_cannot_go_through_batches_are_refused,
);

/// How long a batch may take on a busy machine.
pub(super) const TIME_MAX: Duration = Duration::from_mins(1);

pub(super) fn server(provider: &BatchProvider, more: &[(&str, &str)]) -> Server {
    let own = provider.settings();
    let mut settings: Vec<(&str, &str)> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
    settings.extend([
        ("ROWMILL_AI_MODEL", "small-1"),
        ("ROWMILL_BATCH_COLLECT_SECONDS", "0"),
        ("ROWMILL_BATCH_POLL_SECONDS", "1"),
        ("ROWMILL_LEASE_SECONDS", "2"),
    ]);
    settings.extend(more);
    started(&settings)
}

pub(super) fn column(table: &Table, more: Value) -> String {
    let mut body = json!({ "templateId": "ai-text", "header": "Answer", "retry": { "maxAttempts": 1 },
        "aiConfig": { "prompt": "Hello @{Name}!", "model": "small-1", "processing": "batch" } });
    for (key, value) in more.as_object().cloned().unwrap_or_default() {
        body[key] = value;
    }
    table.add_column(body)
}

pub(super) fn names(count: usize) -> Value {
    (0..count).map(|number| json!({ "Name": format!("n{number}") })).collect()
}

#[track_caller]
pub(super) fn settled(table: &Table) {
    eventually("nothing waits or runs any more", TIME_MAX, || {
        (table.get("/status").ok()["processing"] == false).then_some(())
    });
}

#[track_caller]
fn run_all(table: &Table) {
    table.post("/trigger", json!({})).ok();
    settled(table);
}

#[track_caller]
pub(super) fn check_answers(table: &Table, column: &str, rows: &[String]) {
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(table.value(row, column), format!("re: Hello n{number}!"), "{}", table.cells(row)[column]);
    }
}

#[track_caller]
pub(super) fn gone(table: &Table) {
    eventually("no batch is left", TIME_MAX, || {
        table.get("/status").ok().get("batches").is_none().then_some(())
    });
}

fn cells_are_answered_in_batches_at_half_the_price() {
    for is_anthropic in [false, true] {
        let provider = BatchProvider::honest(is_anthropic);
        provider.hold(true);
        let server = server(&provider, &[]);
        let api = server.api();
        let prices = json!({ "models": { "small-1": { "input": 2.0, "output": 4.0 } } });
        api.send(Request::new("PUT", "/v4/team/spending").json(&prices)).ok();
        let table = api.table(&["Name"]);
        let column = column(&table, json!({}));
        let rows = table.insert(names(5));
        let estimate = table.post("/trigger", json!({ "dryRun": true })).ok()["estimate"].clone();
        assert_eq!(
            (&estimate["batch"]["cells"], &estimate["batch"]["secondsMax"]),
            (&json!(5), &json!(86_400))
        );
        let (saved, usd) = (&estimate["batch"]["savedUsd"], &estimate["usd"]["likely"]);
        assert!(saved.as_f64().unwrap() > 0.0 && saved == usd, "half the price is saved: {estimate}");
        table.post("/trigger", json!({})).ok();
        let status = eventually("the batch waits", TIME_MAX, || {
            let status = table.get("/status").ok();
            (status["batches"][0]["state"] == "waiting").then_some(status)
        });
        let batch = &status["batches"][0];
        assert_eq!((&batch["columnId"], &batch["cells"]), (&json!(column), &json!(5)), "{status}");
        assert!(batch["since"].as_str() < batch["until"].as_str(), "{batch}");
        assert_eq!(status["columns"][&column]["generating"], 5);
        provider.hold(false);
        settled(&table);
        check_answers(&table, &column, &rows);
        let meta = table.cells(&rows[0])[&column]["meta"].clone();
        assert_eq!((&meta["processing"], &meta["model"]), (&json!("batch"), &json!("small-1")));
        // 1,000 tokens at 2 dollars a million and 500 at 4, halved.
        assert_eq!(meta["listCost"], 0.002, "{meta}");
        assert_eq!(table.get("/status").ok()["run"]["listCost"], 0.01);
        let made = provider.batches();
        assert_eq!((made.len(), made[0].requests.len()), (1, 5));
        assert!(made[0].requests.iter().all(|(name, body)| name.len() <= 64 && body.get("stream").is_none()));
        gone(&table);
        if !is_anthropic {
            eventually("files are deleted", TIME_MAX, || (provider.deleted_files() == 3).then_some(()));
        }
    }
}

fn a_batch_whose_creation_is_not_confirmed_is_not_made_twice() {
    for is_anthropic in [false, true] {
        let provider = BatchProvider::honest(is_anthropic);
        provider.lose_creations(1);
        let server = server(&provider, &[]);
        let table = server.api().table(&["Name"]);
        let column = column(&table, json!({}));
        let rows = table.insert(names(4));
        run_all(&table);
        check_answers(&table, &column, &rows);
        assert_eq!(provider.batches().len(), 1);
        gone(&table);
    }
}

fn a_crash_between_creation_and_commit_pays_once() {
    for is_anthropic in [false, true] {
        let provider = BatchProvider::honest(is_anthropic);
        provider.hang_creations(true);
        let mut server = server(&provider, &[]);
        let table = server.api().table(&["Name"]);
        let column = column(&table, json!({}));
        let rows = table.insert(names(4));
        table.post("/trigger", json!({})).ok();
        eventually("the batch is there", TIME_MAX, || (provider.batches().len() == 1).then_some(()));
        server.crash_and_restart();
        provider.hang_creations(false);
        let table = table.through(&server.api());
        settled(&table);
        check_answers(&table, &column, &rows);
        assert_eq!(provider.batches().len(), 1, "nothing is paid for twice");
        gone(&table);
    }
}

fn what_is_stopped_is_cancelled_and_late_results_are_dropped() {
    for is_anthropic in [false, true] {
        let provider = BatchProvider::honest(is_anthropic);
        provider.hold(true);
        let server = server(&provider, &[]);
        let api = server.api();
        let table = api.table(&["Name"]);
        let column = column(&table, json!({}));
        let rows = table.insert(names(3));
        table.post("/trigger", json!({})).ok();
        eventually("the batch waits", TIME_MAX, || {
            (table.get("/status").ok()["batches"][0]["state"] == "waiting").then_some(())
        });
        assert_eq!(table.post("/stop", json!({})).ok()["stoppedCells"], 3);
        assert_eq!(table.get("/status").ok()["processing"], false);
        eventually("it is cancelled", TIME_MAX, || (provider.cancelled() == 1).then_some(()));
        gone(&table);
        for row in &rows {
            assert_eq!(table.value(row, &column), Value::Null, "a late result is dropped");
        }
        // What the provider did is paid for all the same.
        let lines = api.get("/v4/usage/spending?groupBy=provider").ok()["lines"].clone();
        assert_eq!(
            (&lines[0]["inputTokens"], &lines[0]["outputTokens"]),
            (&json!(3_000), &json!(1_500)),
            "{lines}"
        );
        provider.hold(false);
        run_all(&table);
        check_answers(&table, &column, &rows);
        assert_eq!(provider.batches().len(), 2);
    }
}

fn a_hand_beats_a_batch() {
    let provider = BatchProvider::honest(false);
    provider.hold(true);
    let server = server(&provider, &[]);
    let table = server.api().table(&["Name"]);
    let column = column(&table, json!({}));
    let rows = table.insert(names(2));
    table.post("/trigger", json!({})).ok();
    eventually("the batch waits", TIME_MAX, || {
        (table.get("/status").ok()["batches"][0]["state"] == "waiting").then_some(())
    });
    table.patch(&format!("/rows/{}", rows[0]), json!({ column.clone(): "By hand" })).ok();
    provider.hold(false);
    settled(&table);
    assert_eq!(table.value(&rows[0], &column), "By hand");
    assert_eq!(table.value(&rows[1], &column), "re: Hello n1!");
    assert_eq!(provider.cancelled(), 0, "the other cell is still wanted");
}

/// Everything that a file of results can do wrong, with the first question answered well.
fn hostile(batch: &MadeBatch) -> (String, String) {
    let line = |place: usize| answer(&batch.requests[place].0, &batch.requests[place].1, false);
    let stranger = answer("0-0-0-0-0", &json!({}), false);
    let forged =
        answer(&format!("{}-ffff-1-0-0", batch.requests[0].0.split('-').next().unwrap()), &json!({}), false);
    let other = answer(&batch.requests[0].0, &json!({ "messages": [{ "content": "another" }] }), false);
    let long = format!("{{\"custom_id\":\"{}\",\"x\":\"{}\"}}", batch.requests[1].0, "x".repeat(9 << 20));
    let refused = json!({ "custom_id": batch.requests[2].0, "response": { "status_code": 400,
        "body": { "error": { "message": "No such model" } } }, "error": null });
    let busy = json!({ "custom_id": batch.requests[3].0, "response": null,
        "error": { "code": "server_error", "message": "Oops" } });
    let odd =
        json!({ "custom_id": batch.requests[4].0, "response": { "status_code": 200, "body": [1, "two"] } });
    let lines = [
        "not json".to_owned(),
        "[]".to_owned(),
        "{\"custom_id\": 5}".to_owned(),
        String::new(),
        line(0),
        other,
        stranger,
        forged,
        long,
        refused.to_string(),
        odd.to_string(),
        line(5),
    ];
    // The last line is cut off.
    let cut = line(6);
    (format!("{}\n{}", lines.join("\n"), &cut[..cut.len() / 2]), busy.to_string() + "\n")
}

fn hostile_results_do_no_harm() {
    let provider = BatchProvider::start(false, |batch, _| hostile(batch));
    let server = server(&provider, &[]);
    let table = server.api().table(&["Name"]);
    let column = column(&table, json!({}));
    let rows = table.insert(names(8));
    run_all(&table);
    let cells: Vec<Value> = rows.iter().map(|row| table.cells(row)[&column].clone()).collect();
    for good in [0, 5] {
        assert_eq!(cells[good]["value"], format!("re: Hello n{good}!"), "{}", cells[good]);
    }
    for (bad, code) in [
        (1, "too_large"),
        (2, "provider_error"),
        (3, "provider_error"),
        (6, "provider_error"),
        (7, "provider_error"),
    ] {
        assert_eq!(cells[bad]["error"]["code"], code, "{}", cells[bad]);
    }
    assert_eq!(cells[4]["error"]["code"], "invalid_output", "{}", cells[4]);
    assert!(cells[2]["error"]["message"].as_str().unwrap().contains("No such model"), "{}", cells[2]);
    assert!(cells[7]["error"]["message"].as_str().unwrap().contains("without a result"), "{}", cells[7]);
    assert_eq!(provider.batches().len(), 1);
    gone(&table);
}

fn what_expires_goes_into_another_batch() {
    for is_anthropic in [false, true] {
        let provider = BatchProvider::start(is_anthropic, move |batch, place| {
            if place > 0 {
                return (answers(&batch.requests, is_anthropic), String::new());
            }
            let (done, rest) = batch.requests.split_at(2);
            let expired = rest.iter().map(|(name, _)| {
                let line = if is_anthropic {
                    json!({ "custom_id": name, "result": { "type": "expired" } })
                } else {
                    json!({ "custom_id": name, "response": null,
                        "error": { "code": "batch_expired", "message": "Too late" } })
                };
                line.to_string() + "\n"
            });
            (answers(done, is_anthropic), expired.collect())
        });
        let server = server(&provider, &[]);
        let table = server.api().table(&["Name"]);
        let column = column(&table, json!({ "retry": { "maxAttempts": 2 } }));
        let rows = table.insert(names(5));
        run_all(&table);
        check_answers(&table, &column, &rows);
        let sizes: Vec<usize> = provider.batches().iter().map(|batch| batch.requests.len()).collect();
        assert_eq!(sizes, [5, 3], "what was answered is kept");
    }
}

fn a_batch_that_is_refused_fails_or_waits() {
    let provider = BatchProvider::honest(false);
    provider.fail_with(Some(json!({ "code": "mismatched_model", "message": "One model only" })));
    let server = server(&provider, &[]);
    let table = server.api().table(&["Name"]);
    let column = column(&table, json!({}));
    let rows = table.insert(names(3));
    run_all(&table);
    let error = table.cells(&rows[0])[&column]["error"].clone();
    assert_eq!(error["code"], "provider_error", "{error}");
    assert!(error["message"].as_str().unwrap().contains("One model only"), "{error}");
    provider.fail_with(Some(json!({ "code": "token_limit_exceeded", "message": "Queue full" })));
    table.post("/trigger", json!({ "force": true })).ok();
    let waiting = eventually("cells wait", TIME_MAX, || {
        let waiting = table.get("/status").ok()["run"]["waiting"].clone();
        waiting.is_object().then_some(waiting)
    });
    assert_eq!(
        (&waiting["cells"], &waiting["reason"]["code"]),
        (&json!(3), &json!("rate_limited")),
        "{waiting}"
    );
    table.post("/stop", json!({})).ok();
}

fn a_batch_that_never_ends_is_given_up() {
    let provider = BatchProvider::honest(true);
    provider.hold(true);
    let server = server(&provider, &[("ROWMILL_BATCH_SECONDS_MAX", "2")]);
    let table = server.api().table(&["Name"]);
    let column = column(&table, json!({}));
    let rows = table.insert(names(2));
    run_all(&table);
    assert_eq!(provider.cancelled(), 1);
    // It answered after all, once it was cancelled.
    check_answers(&table, &column, &rows);
    provider.ignore_cancels();
    table.post("/trigger", json!({ "force": true })).ok();
    settled(&table);
    let error = table.cells(&rows[0])[&column]["error"].clone();
    assert_eq!(error["code"], "timed_out", "{error}");
    gone(&table);
}

fn limits_of_cells_and_bytes_are_kept() {
    let provider = BatchProvider::honest(true);
    let server = server(&provider, &[("ROWMILL_BATCH_CELLS_MAX", "40"), ("ROWMILL_BATCH_BYTES_MAX", "4000")]);
    let limits = server.api().get("/v4/limits").ok()["limits"].clone();
    assert_eq!((&limits["batchCellsMax"], &limits["batchBytesMax"]), (&json!(40), &json!(4_000)));
    let table = server.api().table(&["Name"]);
    let column = column(&table, json!({}));
    let rows = table.insert(names(100));
    run_all(&table);
    check_answers(&table, &column, &rows);
    let batches = provider.batches();
    assert!(batches.len() >= 3, "{}", batches.len());
    assert_eq!(batches.iter().map(|batch| batch.requests.len()).sum::<usize>(), 100);
    for seen in provider.server.seen().iter().filter(|seen| seen.method == "POST") {
        assert!(seen.body.len() <= 4_000 + 20, "{}", seen.body.len());
    }
}

fn columns_that_cannot_go_through_batches_are_refused() {
    let provider = BatchProvider::honest(false);
    let server = server(&provider, &[]);
    let table = server.api().table(&["Name"]);
    let config = |more: Value| {
        let mut config = json!({ "prompt": "Hello @{Name}!", "processing": "batch" });
        for (key, value) in more.as_object().cloned().unwrap_or_default() {
            config[key] = value;
        }
        config
    };
    for (template, more) in [
        ("ai-text", json!({ "fallback": { "model": "other" } })),
        ("ai-text", json!({ "attachments": ["@{Name}"] })),
        ("ai-research", json!({})),
    ] {
        let body = json!({ "templateId": template, "header": "Answer", "aiConfig": config(more) });
        table.post("/columns", body).offends(&["aiConfig.processing"]);
    }
    let column = column(&table, json!({}));
    assert_eq!(table.full_column(&column)["aiConfig"]["processing"], "batch");
    // A trial is asked at once.
    assert_eq!(run(&table, json!({})), 0);
    ended(&table);
}

fn large_tables_take_several_batches_in_little_memory() {
    let (count, cells_max) = sized((3_000, "1000"), (100_000, "25000"));
    let provider = BatchProvider::honest(false);
    let server = server(&provider, &[("ROWMILL_BATCH_CELLS_MAX", cells_max)]);
    let table = server.api().table(&["Name"]);
    let column = column(&table, json!({}));
    for first in (0..count).step_by(5_000) {
        let rows: Value =
            (first..count.min(first + 5_000)).map(|number| json!({ "Name": format!("n{number}") })).collect();
        table.insert(rows);
    }
    let before = memory(server.pid(), "VmRSS");
    table.post("/trigger", json!({})).ok();
    eventually("all cells are done", Duration::from_mins(30), || {
        let status = table.get("/status").ok();
        assert_eq!(status["columns"][&column]["error"], 0, "{status}");
        (status["processing"] == false).then_some(())
    });
    let grown = memory(server.pid(), "VmHWM").saturating_sub(before);
    let batches = provider.batches();
    assert_eq!(batches.iter().map(|batch| batch.requests.len()).sum::<usize>(), count);
    assert!(batches.len() >= count / cells_max.parse::<usize>().unwrap(), "{}", batches.len());
    eprintln!("{count} cells in {} batches took {} KiB more", batches.len(), grown);
    assert!(grown < 300 * 1_024, "{grown} KiB for {count} cells");
}

/// What a process takes, in KiB.
fn memory(pid: u32, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
