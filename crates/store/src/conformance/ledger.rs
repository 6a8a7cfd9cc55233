//! The ledger: what was paid to whom, and that old lines go.

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::plan::Pick;
use rowmill_model::{Amount, CellError, ErrorCode, TeamId};
use serde_json::json;
use uuid::Uuid;

use super::make::{ANSWER, create, insert, numbered, processed};
use crate::spending::{LedgerEntry, LedgerLine};
use crate::store::Store;
use crate::work::{CellResult, Claim, Claimed, Lane, Rows, Settlement, Trigger, WorkerId};

const WORKER: WorkerId = WorkerId(Uuid::from_u128(1));
const TEAM: TeamId = TeamId(Uuid::from_u128(1));
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

fn meta(meta: &serde_json::Value) -> Meta {
    meta.as_object().cloned().unwrap_or_default()
}

/// Rows whose first column is claimed.
async fn claimed(store: &dyn Store, rows: u128) -> Vec<Claimed> {
    let project = create(store, processed(1, 1)).await.project.id;
    insert(store, project, numbered(1, rows)).await;
    let trigger =
        Trigger { project, rows: Rows::All, pick: Pick::default(), limit: None, dry_run: false, now_ms: 5 };
    store.trigger(trigger).await.unwrap();
    let claim = Claim {
        worker: WORKER,
        expires_at_ms: 1_000,
        now: Timestamp::from_millisecond(10).unwrap(),
        asks: vec![(Lane { project, slot: ANSWER }, 100)],
        bytes_max: usize::MAX,
    };
    store.claim(claim).await.unwrap()
}

/// Provider, calls, tries, thousand-millionths of a dollar, and credits.
async fn lines(store: &dyn Store) -> Vec<(String, u64, u64, Option<i64>, Option<f64>)> {
    let lines = store.ledger(TEAM, 0, 100).await.unwrap();
    let line = |LedgerLine { entry, .. }: LedgerLine| {
        let LedgerEntry { provider, spent, tries, .. } = entry;
        let usd = spent.dollars().map(Amount::parts);
        (provider, spent.usage.attempts, tries, usd, spent.credits.map(Amount::number))
    };
    lines.into_iter().map(line).collect()
}

pub(super) async fn what_was_paid_to_each_is_on_its_line(store: &dyn Store) {
    let cells = claimed(store, 4).await;
    let error = || CellError { code: ErrorCode::RateLimited, message: String::new() };
    let paid = |cost: f64| {
        meta(
            &json!({"provider": "openai", "cost": cost, "listCost": 0.5, "credits": 2, "inputTokens": 7, "paid": [
                {"provider": "openai", "calls": 3, "cost": cost, "inputTokens": 7},
                {"provider": "tavily", "calls": 2, "listCost": 0.5, "credits": 2},
            ]}),
        )
    };
    let results = [
        CellResult::Value("1".into(), paid(0.25)),
        CellResult::Retry { at_ms: 5_000, error: error(), meta: paid(0.25) },
        // Nothing was tried to its end, but something was paid.
        CellResult::Later { at_ms: 5_000, error: None, ends_at_ms: None, meta: paid(0.5) },
        CellResult::Later { at_ms: 5_000, error: None, ends_at_ms: None, meta: Meta::new() },
    ];
    let results = cells.iter().zip(results);
    let results = results.map(|(cell, result)| Settlement { ticket: cell.ticket, result }).collect();
    store.settle(WORKER, 11, results).await.unwrap();
    let expected = [
        ("openai".to_owned(), 9, 2, Some(1_000_000_000), None),
        ("tavily".to_owned(), 6, 0, Some(1_500_000_000), Some(6.0)),
    ];
    assert_eq!(lines(store).await, expected);
    let status = store.processing_status(cells[0].ticket.lane.project).await.unwrap().unwrap();
    let spent = status.tally.run().spent;
    assert_eq!(spent.dollars().map(Amount::number), Some(2.5), "the run has it, too: {spent:?}");
    assert_eq!(spent.usage.attempts, 2, "to be put off is no try");
}

pub(super) async fn old_lines_are_swept(store: &dyn Store) {
    let cells = claimed(store, 3).await;
    for (day, cell) in (1..).zip(&cells) {
        let result = CellResult::Value("1".into(), meta(&json!({"provider": "openai", "cost": 0.25})));
        let results = vec![Settlement { ticket: cell.ticket, result }];
        store.settle(WORKER, day * DAY_MS, results).await.unwrap();
    }
    let days = async || -> Vec<i64> {
        store.ledger(TEAM, 0, 100).await.unwrap().iter().map(|line| line.entry.day).collect()
    };
    assert_eq!(days().await, [1, 2, 3]);
    while store.sweep_ledger(3).await.unwrap() {}
    assert_eq!(days().await, [3]);
    assert!(!store.sweep_ledger(3).await.unwrap());
}
