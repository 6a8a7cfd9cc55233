//! Patterns and all else that plans keep: what it takes is counted, and nobody waits while patterns are compiled.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rowmill_store::WantedSlots;
use serde_json::json;

use super::made::{now, selection_of};
use super::memory::{ask, filled};
use crate::page::{PageOf, Start};
use crate::plan::Plan;
use crate::query::Query;
use crate::selection::Selection;

/// About 900 kB once compiled.
fn with_patterns(search: &str) -> Selection {
    let pattern = json!({ "columnId": "col_a", "operator": "matches", "value": "\\w{8}" });
    selection_of(&json!([pattern, pattern]), &json!([]), Some(search))
}

#[tokio::test]
async fn the_patterns_of_orders_are_counted() {
    const ORDERS_BYTES: usize = 4 << 20;
    let (store, project) = filled(200).await;
    let query = Query::with_memory(Arc::clone(&store), ORDERS_BYTES * 4);
    let cached = || query.loader.cache.entry(project.project.id);
    ask(&query, &project, with_patterns("0")).await;
    let of_one = cached().orders.bytes();
    assert!(of_one > 800_000, "{of_one} bytes");
    for number in 1..12 {
        ask(&query, &project, with_patterns(&number.to_string())).await;
        let (kept, bytes) = (cached().orders.len(), cached().orders.bytes());
        assert!(kept >= 1 && bytes <= ORDERS_BYTES, "{kept} orders of {bytes} bytes");
    }
    assert!(query.memory_bytes() > of_one);
    // One that is too large alone is not kept, and asked for all the same.
    query.set_memory(2 << 20);
    let of = PageOf {
        selection: with_patterns(""),
        start: Start::Offset(0),
        limit: 1,
        include_total: true,
        slots: WantedSlots::none(),
        now: now(),
    };
    assert_eq!(query.page(&project, of).await.unwrap().total, Some(200));
    assert_eq!((cached().orders.len(), cached().orders.bytes()), (0, 0));
}

#[tokio::test]
async fn what_plans_keep_is_counted_and_kept_once() {
    const OPTIONS: usize = 500;
    let format_bytes = OPTIONS * 200;
    let options: Vec<_> = (0..OPTIONS).map(|number| json!({ "value": format!("{number:0200}") })).collect();
    let (_store, project) = filled(0).await;
    let mut table = project.project.table.clone();
    let format = json!({ "type": "multiSelect", "options": options });
    table.columns.get_mut(1).unwrap().format = Some(serde_json::from_value(format).unwrap());
    let id = table.columns.get(1).unwrap().id.as_str().to_owned();
    let bytes = |filters: &[serde_json::Value]| {
        let sorting = json!([{ "columnId": id, "direction": "asc" }]);
        Plan::compile(&selection_of(&json!(filters), &sorting, Some("s")), &table).bytes()
    };
    let is_not_empty = json!({ "columnId": id, "operator": "isNotEmpty" });
    let (of_one, of_many) =
        (bytes(std::slice::from_ref(&is_not_empty)), bytes(&vec![is_not_empty.clone(); 100]));
    // The options, and what finds them.
    assert!(of_one > 2 * format_bytes && of_one < 3 * format_bytes, "{of_one} bytes");
    assert!(of_many > of_one && of_many < of_one + format_bytes, "{of_many} bytes");
    let (text, path) = ("x".repeat(900), "y".repeat(900));
    for filter in [
        json!({ "operator": "contains", "value": text }),
        json!({ "operator": "equals", "value": text }),
        json!({ "operator": "in", "value": [text] }),
        json!({ "operator": "greaterThan", "value": "1".repeat(900) }),
        json!({ "operator": "isEmpty", "path": path }),
    ] {
        let mut filter = filter;
        filter["columnId"] = json!("col_guest");
        let of_it = bytes(&[filter.clone()]);
        assert!(of_it > bytes(&[]) + 900, "{of_it} bytes for {filter}");
    }
}

#[test]
fn patterns_are_compiled_where_nobody_waits() {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let (patterns, plain) = (with_patterns("a"), selection_of(&json!([]), &json!([]), Some("a")));
    runtime.block_on(async {
        let (_store, project) = filled(1).await;
        // The only thread for such work is busy.
        let busy = tokio::task::spawn_blocking(move || gate.recv());
        let mut context = Context::from_waker(Waker::noop());
        assert!(pin!(Plan::of(&plain, &project)).poll(&mut context).is_ready());
        let mut compiled = pin!(Plan::of(&patterns, &project));
        assert!(matches!(compiled.as_mut().poll(&mut context), Poll::Pending));
        open.send(()).unwrap();
        assert!(compiled.await.unwrap().bytes() > 800_000);
        busy.await.unwrap().unwrap();
    });
}
