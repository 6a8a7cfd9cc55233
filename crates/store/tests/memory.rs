//! The store in memory keeps every promise of the seam.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use proptest::prelude::*;
use rowmill_store::Store;
use rowmill_store::conformance::{CASES, MemoryStore, against_a_plain_map, counts_stay_true, events, steps};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

#[test]
fn every_promise_is_kept() {
    for (name, case) in CASES {
        eprintln!("{name}");
        runtime().block_on(case(&MemoryStore::new()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_agree_with_a_plain_map(steps in steps()) {
        let reopen = |old: Option<Arc<dyn Store>>| old.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        runtime().block_on(against_a_plain_map(steps, reopen));
    }

    #[test]
    fn counts_are_true_whatever_happens(events in events()) {
        let reopen = |old: Option<Arc<dyn Store>>| old.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        runtime().block_on(counts_stay_true(events, reopen));
    }
}
