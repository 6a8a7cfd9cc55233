//! `rowmill check` on PostgreSQL finds everything that is wrong.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use rowmill_store::check::{Problem, ProblemKind, check};
use rowmill_store::conformance::CASES;
use rowmill_store::{Store as _, StoreError};
use rowmill_store_postgres::{Inspector, Options, PostgresStore};
use rowmill_test_postgres::{client, server};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn open(address: &str) -> PostgresStore {
    PostgresStore::connect(address, Options::default()).await.unwrap()
}

/// The problems, but for teams: the cases of the suite make projects of teams that do not exist.
async fn problems(address: &str) -> Vec<Problem> {
    let report = check(&Inspector::connect(address).await.unwrap(), &|_| {}).await.unwrap();
    let is_of_team = |problem: &Problem| problem.message.contains("team that does not exist");
    report.problems.into_iter().filter(|problem| !is_of_team(problem)).collect()
}

const MATCHED: &str = "the_match_follows_every_write";
const PROCESSED: &str = "a_run_goes_through_every_column";
const LISTED: &str = "rows_keep_the_order_they_were_sent_in";
const WIDE: &str = "many_rows_have_wide_values";

/// A case, a change to what it leaves, and what is found.
const FAULTS: &[(&str, &str, ProblemKind, &str)] = &[
    (
        LISTED,
        "UPDATE rowmill.counters SET row_count = row_count + 1",
        ProblemKind::WrongCount,
        "the row count is",
    ),
    (
        LISTED,
        "UPDATE rowmill.counters SET value_bytes = value_bytes + 7",
        ProblemKind::WrongCount,
        "the values take",
    ),
    (
        LISTED,
        "UPDATE rowmill.counters SET trashed_count = trashed_count + 1",
        ProblemKind::WrongCount,
        "the trash has",
    ),
    (LISTED, "UPDATE rowmill.counters SET next_position = 1", ProblemKind::WrongCount, "next position is 1"),
    (
        LISTED,
        "UPDATE rowmill.live SET count = count - 1 WHERE level = 2",
        ProblemKind::WrongCount,
        "(level 2)",
    ),
    (
        LISTED,
        "UPDATE rowmill.rows SET vals = '\\xffff' WHERE position = 0",
        ProblemKind::Undecodable,
        "unpacked",
    ),
    (LISTED, "UPDATE rowmill.projects SET document = '{'", ProblemKind::Undecodable, "its document"),
    (LISTED, "UPDATE rowmill.projects SET title = 'other'", ProblemKind::Index, "what lists show"),
    (LISTED, "INSERT INTO rowmill.graves SELECT project + 1 FROM rowmill.projects", ProblemKind::Stray, ""),
    (
        LISTED,
        "INSERT INTO rowmill.live (project, level, segment, count) VALUES (99, 0, 0, 1)",
        ProblemKind::Stray,
        "project number 99",
    ),
    (
        WIDE,
        "DELETE FROM rowmill.wide_values WHERE position = 2",
        ProblemKind::Undecodable,
        "are not those that it notes",
    ),
    (
        WIDE,
        "UPDATE rowmill.wide_values SET value = '\\xff' WHERE position = 2",
        ProblemKind::Undecodable,
        "wide values cannot be read",
    ),
    (
        WIDE,
        "UPDATE rowmill.rows SET wide_bytes = 5 WHERE position = 2",
        ProblemKind::Undecodable,
        "other bytes than it notes",
    ),
    (
        WIDE,
        "UPDATE rowmill.rows SET wide = NULL WHERE position = 2",
        ProblemKind::Undecodable,
        "does not note",
    ),
    (
        WIDE,
        "INSERT INTO rowmill.wide_values SELECT project, 5000, 1, '1' FROM rowmill.projects",
        ProblemKind::Stray,
        "1 wide values of rows that do not exist",
    ),
    (MATCHED, "DELETE FROM rowmill.lookups WHERE position = 0", ProblemKind::Index, "match index"),
    (
        MATCHED,
        "INSERT INTO rowmill.lookups SELECT project, slot, 4711, 0 FROM rowmill.lookups LIMIT 1",
        ProblemKind::Index,
        "too many",
    ),
    (
        PROCESSED,
        "UPDATE rowmill.counters SET tally = replace(tally, '\"completed\":', '\"completed\":1')",
        ProblemKind::WrongCount,
        "counting gives",
    ),
    (PROCESSED, "UPDATE rowmill.blocks SET marks = '\\x01'", ProblemKind::Undecodable, "cell states"),
    (PROCESSED, "DELETE FROM rowmill.rows", ProblemKind::Stray, "but no row"),
];

#[test]
fn every_fault_is_found() {
    let Some(server) = server() else { return };
    for (case, sql, kind, words) in FAULTS {
        runtime().block_on(async {
            let address = server.database().await;
            let store = open(&address).await;
            let (_, case) = CASES.iter().find(|(name, _)| name == case).unwrap();
            case(&store).await;
            store.close().await.unwrap();
            assert_eq!(problems(&address).await, []);
            assert!(client(&address).await.execute(*sql, &[]).await.unwrap() > 0, "{sql}");
            let found = problems(&address).await;
            // What is being removed is no stray.
            let is_harmless = words.is_empty();
            let is_it = |problem: &Problem| problem.kind == *kind && problem.message.contains(words);
            assert_eq!(found.iter().any(is_it), !is_harmless, "{sql}: {found:?}");
        });
    }
}

#[test]
fn what_is_no_installation_is_told() {
    let Some(server) = server() else { return };
    runtime().block_on(async {
        let error = Inspector::connect(&server.database().await).await.unwrap_err();
        assert!(matches!(error, StoreError::Missing(_)), "{error}");
    });
}
