//! Batches that others have to do with: a cap on spending, another team, a crash, and a second node.

use serde_json::{Value, json};

use super::batches::{TIME_MAX, check_answers, column, gone, names, server, settled};
use super::nodes::first;
use crate::harness::batch_provider::BatchProvider;
use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("batch_rounds", Own:
    a_cap_holds_batches_back_until_it_is_raised,
    slow_results_of_one_team_hold_nobody_else_up,
    results_are_charged_once_however_often_the_process_dies,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("batch_rounds", Nodes:
    another_node_goes_on_with_a_batch,
);

const ROWS: usize = 40;
/// At half the price, by the prices below and the tokens that the provider tells.
const CELL_USD: f64 = 0.002;

fn set_spending(api: &Api, caps: &Value) {
    let prices = json!({ "small-1": { "input": 2.0, "output": 4.0 } });
    let spending = json!({ "models": prices, "caps": caps });
    api.send(Request::new("PUT", "/v4/team/spending").json(&spending)).ok();
}

fn a_cap_holds_batches_back_until_it_is_raised() {
    let provider = BatchProvider::honest(false);
    let server = server(&provider, &[("ROWMILL_BATCH_CELLS_MAX", "5")]);
    let api = server.api();
    set_spending(&api, &json!([{ "scope": "team", "period": "day", "usd": 0.02 }]));
    let table = api.table(&["Name"]);
    let column = column(&table, json!({}));
    let rows = table.insert(names(ROWS));
    table.post("/trigger", json!({})).ok();
    let status = eventually("the run waits for money", TIME_MAX, || {
        let status = table.get("/status").ok();
        let waits = status["run"]["waiting"]["reason"]["code"] == "spend_limit";
        (waits && status["rows"]["generating"] == 0).then_some(status)
    });
    let sent: usize = provider.batches().iter().map(|batch| batch.requests.len()).sum();
    let usd = api.get("/v4/team/spending").ok()["caps"][0]["spent"].as_f64().unwrap();
    assert!(usd > 0.0 && usd <= 0.02 + 5.0 * CELL_USD, "{usd}: {status}");
    assert!(sent < ROWS, "{sent} of {ROWS} were sent");
    assert_eq!(status["columns"][&column]["queued"], ROWS - sent, "{status}");
    set_spending(&api, &json!([]));
    settled(&table);
    check_answers(&table, &column, &rows);
    let sent: usize = provider.batches().iter().map(|batch| batch.requests.len()).sum();
    assert_eq!(sent, ROWS, "none is sent twice");
}

fn slow_results_of_one_team_hold_nobody_else_up() {
    /// More than are looked after at once.
    const SLOW: usize = 20;
    let provider = BatchProvider::honest(false);
    provider.slow_down("snail");
    let server = server(&provider, &[("ROWMILL_BATCH_CELLS_MAX", "1")]);
    let table = server.api().table(&["Name"]);
    column(&table, json!({}));
    table.insert((0..SLOW).map(|number| json!({ "Name": format!("snail {number}") })).collect());
    table.post("/trigger", json!({})).ok();
    eventually("all batches of one team are made", TIME_MAX, || {
        (provider.batches().len() == SLOW).then_some(())
    });
    let table = server.team("quick").table(&["Name"]);
    let column = column(&table, json!({}));
    let rows = table.insert(names(3));
    table.post("/trigger", json!({})).ok();
    settled(&table);
    check_answers(&table, &column, &rows);
}

fn results_are_charged_once_however_often_the_process_dies() {
    const CELLS: usize = 3_000;
    const CRASHES: u64 = 4;
    let provider = BatchProvider::honest(false);
    provider.hold(true);
    let mut server = server(&provider, &[]);
    let api = server.api();
    set_spending(&api, &json!([]));
    let mut table = api.table(&["Name"]);
    let column = column(&table, json!({}));
    let rows = table.insert(names(CELLS));
    table.post("/trigger", json!({})).ok();
    eventually("the batch waits", TIME_MAX, || {
        (table.get("/status").ok()["batches"][0]["state"] == "waiting").then_some(())
    });
    provider.hold(false);
    for crash in 1..=CRASHES {
        // Groups of results are being written.
        eventually("some more results are written", TIME_MAX, || {
            let waiting = table.get("/status").ok()["columns"][&column]["generating"].as_u64();
            (waiting.unwrap_or_default() + crash * 500 <= CELLS as u64).then_some(())
        });
        server.crash_and_restart();
        table = table.through(&server.api());
    }
    settled(&table);
    gone(&table);
    check_answers(&table, &column, &rows[..3]);
    let lines = server.api().get("/v4/usage/spending?groupBy=provider").ok()["lines"].clone();
    let charged = (lines[0]["inputTokens"].as_u64(), lines[0]["calls"].as_u64());
    assert_eq!(charged, (Some(1_000 * CELLS as u64), Some(CELLS as u64)), "{lines}");
}

fn another_node_goes_on_with_a_batch() {
    let provider = BatchProvider::honest(false);
    provider.hold(true);
    let own = provider.settings();
    let mut settings: Vec<(&str, &str)> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
    settings.extend([
        ("ROWMILL_NO_WORKERS", "true"),
        ("ROWMILL_AI_MODEL", "small-1"),
        ("ROWMILL_BATCH_COLLECT_SECONDS", "0"),
        ("ROWMILL_BATCH_POLL_SECONDS", "1"),
    ]);
    let here = first(&settings);
    let table = here.api().table(&["Name"]);
    let column = column(&table, json!({}));
    let rows = table.insert(names(6));
    let one = here.beside("worker", &[]);
    table.post("/trigger", json!({})).ok();
    eventually("the batch waits", TIME_MAX, || {
        (table.get("/status").ok()["batches"][0]["state"] == "waiting").then_some(())
    });
    let other = here.beside("worker", &[]);
    one.kill();
    provider.hold(false);
    settled(&table);
    check_answers(&table, &column, &rows);
    assert_eq!(provider.batches().len(), 1, "the batch is not sent again");
    gone(&table);
    drop(other);
}
