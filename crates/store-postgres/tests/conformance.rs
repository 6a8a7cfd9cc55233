//! This store keeps every promise of the seam.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use proptest::prelude::*;
use rowmill_store::Store;
use rowmill_store::check::{Problem, check};
use rowmill_store::conformance::{CASES, OUTBOX_CASES, against_a_plain_map, counts_stay_true, events, steps};
use rowmill_store_postgres::{Inspector, Options, PostgresStore};

use rowmill_test_postgres::server;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn open(address: &str) -> PostgresStore {
    PostgresStore::connect(address, Options::default()).await.unwrap()
}

/// Opens a database again and again, as nodes that come one after the other.
fn reopen(address: String) -> impl FnMut(Option<Arc<dyn Store>>) -> Arc<dyn Store> {
    move |old| {
        drop(old);
        let opened = || tokio::runtime::Handle::current().block_on(open(&address));
        Arc::new(tokio::task::block_in_place(opened))
    }
}

/// `rowmill check` finds nothing, but that the projects are of teams that do not exist.
async fn check_all(address: &str) {
    let report = check(&Inspector::connect(address).await.unwrap(), &|_| {}).await.unwrap();
    let is_of_team = |problem: &Problem| problem.message.contains("team that does not exist");
    assert!(report.problems.iter().all(is_of_team) && report.notes.is_empty(), "{report:?}");
}

#[test]
fn every_promise_is_kept() {
    let Some(server) = server() else { return };
    for (name, case) in CASES.iter().chain(OUTBOX_CASES) {
        eprintln!("{name}");
        runtime().block_on(async {
            let address = server.database().await;
            let store = open(&address).await;
            case(&store).await;
            check_all(&address).await;
            store.close().await.unwrap();
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_agree_with_a_plain_map(steps in steps()) {
        if let Some(server) = server() {
            runtime().block_on(async {
                let address = server.database().await;
                against_a_plain_map(steps, reopen(address.clone())).await;
                check_all(&address).await;
            });
        }
    }

    #[test]
    fn counts_are_true_whatever_happens(events in events()) {
        if let Some(server) = server() {
            runtime().block_on(async {
                let address = server.database().await;
                counts_stay_true(events, reopen(address.clone())).await;
                check_all(&address).await;
            });
        }
    }
}
