//! Conditions that take long to judge do not hold up others: a claim ends, and the next goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use rowmill_model::CellStatus;
use rowmill_model::plan::Pick;
use serde_json::{Value, json};
use uuid::Uuid;

use super::make::{ANSWER, NAME, create, insert, load, numbered, processed, row_id, write, writes};
use crate::store::Store;
use crate::work::{Claim, Lane, Rows, Trigger, WorkerId};

const ROWS: u128 = 6;

/// A claim that takes nothing because it has judged enough says that there is more, so that nobody waits for another reason
/// to look.
pub(super) async fn what_a_claim_has_not_judged_is_looked_for_again(store: &dyn Store) {
    let filter = json!({"columnId": "col_name00000000", "operator": "contains", "value": "y"});
    let condition = vec![json!({"conjunction": "or", "filters": vec![filter; 60]})];
    let mut conditional = processed(1, 1);
    for column in conditional.table.columns.iter_mut().filter(|column| column.slot == ANSWER) {
        column.run_condition = serde_json::from_value(Value::from(condition.clone())).unwrap();
    }
    let id = create(store, conditional).await.project.id;
    insert(store, id, numbered(1, ROWS)).await;
    // Each takes more than a claim looks through.
    let name = format!("\"{}\"", "x".repeat(300_000));
    for row in 1..=ROWS {
        let version = load(store, id).await.version;
        store.write_cells(writes(id, version, vec![write(row, NAME, &name)])).await.unwrap();
    }
    let pick = Pick { slots: Some(vec![ANSWER]), ..Pick::default() };
    let trigger = Trigger { project: id, rows: Rows::All, pick, limit: None, dry_run: false, now_ms: 5 };
    assert_eq!(store.trigger(trigger).await.unwrap(), u64::try_from(ROWS).unwrap());
    let is_more = Arc::new(AtomicBool::new(true));
    let told = Arc::clone(&is_more);
    store.listen(Box::new(move |change| {
        told.fetch_or(change.ready, Ordering::Relaxed);
    }));
    let mut claims = 0;
    while !store.lanes(0).await.unwrap().ready.is_empty() {
        assert!(
            is_more.swap(false, Ordering::Relaxed),
            "{claims} claims, and nobody says that there is more"
        );
        let now = Timestamp::from_millisecond(10).unwrap();
        let asks = vec![(Lane { project: id, slot: ANSWER }, 100)];
        let worker = WorkerId(Uuid::from_u128(1));
        let claim = Claim { worker, expires_at_ms: 1_010, now, asks, bytes_max: usize::MAX };
        assert_eq!(store.claim(claim).await.unwrap().len(), 0, "the condition does not hold");
        claims += 1;
    }
    for row in 1..=ROWS {
        let row = store.row(id, row_id(row)).await.unwrap().unwrap();
        assert_eq!(row.states.get(ANSWER).unwrap().status, CellStatus::Skipped);
    }
}
