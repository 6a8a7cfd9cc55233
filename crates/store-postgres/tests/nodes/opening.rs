//! Nodes that open, lose and leave a database.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use rowmill_model::RowId;
use rowmill_model::cell::Meta;
use rowmill_store::batches::BatchStore as _;
use rowmill_store::carry::Carry as _;
use rowmill_store::{CellResult, Claimed, PageStart, Settlement, Store as _, StoreError, WorkerId};
use rowmill_store_postgres::{Carrier, Options, PostgresStore};
use rowmill_test_postgres::client;
use uuid::Uuid;

use super::setup::{ANSWER, claim, heard_by, on_a_database, open, project, rows, trigger, until};

/// How many there are.
const MIGRATIONS: u32 = 18;

#[test]
fn nodes_that_start_at_once_migrate_once() {
    on_a_database(async |address| {
        let stores = join_all((0..8).map(|_| open(&address))).await;
        for store in &stores {
            store.ping().await.unwrap();
        }
        let sql = "SELECT count(*) FROM rowmill.migrations";
        let migrations: i64 = client(&address).await.query_one(sql, &[]).await.unwrap().get(0);
        assert_eq!(migrations, i64::from(MIGRATIONS));
    });
}

#[test]
fn a_newer_or_altered_database_is_refused() {
    on_a_database(async |address| {
        drop(open(&address).await);
        let beside = client(&address).await;
        let refused = async || PostgresStore::connect(&address, Options::default()).await.unwrap_err();
        let later = MIGRATIONS + 1;
        let add = format!("INSERT INTO rowmill.migrations VALUES ({later}, 'later', '')");
        beside.batch_execute(&add).await.unwrap();
        let is_newer = |error: &StoreError| matches!(error, StoreError::Newer { found, known } if (*found, *known) == (later, MIGRATIONS));
        let error = refused().await;
        assert!(is_newer(&error), "{error}");
        let alter = format!(
            "DELETE FROM rowmill.migrations WHERE version = {later}; UPDATE rowmill.migrations SET sql = ''"
        );
        beside.batch_execute(&alter).await.unwrap();
        assert!(matches!(refused().await, StoreError::Damaged(_)));
    });
}

/// What a newer version may do while nodes of this one run: it adds tables, and columns that have a default.
async fn migrate_as_a_newer_version(beside: &tokio_postgres::Client) {
    let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'rowmill'";
    let mut migration = vec![format!(
        "BEGIN; CREATE TABLE rowmill.later (project int8 PRIMARY KEY);
         INSERT INTO rowmill.migrations VALUES ({}, 'later', '');",
        MIGRATIONS + 1
    )];
    for table in beside.query(tables, &[]).await.unwrap() {
        let table: &str = table.get(0);
        migration.push(format!("ALTER TABLE rowmill.{table} ADD COLUMN later int8 NOT NULL DEFAULT 7;"));
    }
    migration.push("COMMIT".to_owned());
    beside.batch_execute(&migration.concat()).await.unwrap();
}

#[test]
fn running_nodes_go_on_while_a_newer_version_migrates() {
    on_a_database(async |address| {
        let (one, other) = (open(&address).await, open(&address).await);
        let id = project(&one, 1).await;
        let settle = async |node: &PostgresStore, worker: u128| {
            let claimed = claim(node, worker, id, 10).await;
            let result = |cell: &Claimed| Settlement {
                ticket: cell.ticket,
                result: CellResult::Value("\"ok\"".into(), Meta::new()),
            };
            let results = claimed.iter().map(result).collect();
            let worker = WorkerId(Uuid::from_u128(worker));
            assert_eq!(node.settle(worker, 10, results).await.unwrap(), [true; 10]);
        };
        let heard = heard_by(&other);
        // Every statement is prepared before, and used after.
        for round in 0..4_usize {
            let inserted = 1 + 100 * round as u128;
            one.insert_rows(rows(id, inserted, 20)).await.unwrap();
            trigger(&other, id).await;
            settle(&one, 7).await;
            settle(&other, 8).await;
            let gone = vec![RowId::from_uuid(Uuid::from_u128(inserted))];
            other.delete_rows(id, gone).await.unwrap();
            let page = one.rows(id, PageStart::Offset(0), 500).await.unwrap();
            assert_eq!(page.rows.len(), (round + 1) * 19);
            assert!(page.rows.iter().all(|row| row.values.cells().unwrap().get(ANSWER) == Some("\"ok\"")));
            if round == 1 {
                heard.lock().unwrap().clear();
                migrate_as_a_newer_version(&client(&address).await).await;
            }
        }
        until("it still listens", || !heard.lock().unwrap().is_empty()).await;
        let refused = PostgresStore::connect(&address, Options::default()).await.unwrap_err();
        assert!(
            matches!(refused, StoreError::Newer { .. }),
            "a node that starts later is refused: {refused}"
        );
    });
}

#[test]
fn connections_that_are_lost_are_made_anew() {
    on_a_database(async |address| {
        let store = open(&address).await;
        let id = project(&store, 1).await;
        let beside = client(&address).await;
        for round in 0..5 {
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                       WHERE application_name = 'rowmill' AND datname = current_database()";
            beside.query(cut, &[]).await.unwrap();
            store.insert_rows(rows(id, 1 + round * 10, 10)).await.unwrap();
        }
        assert_eq!(store.project(id).await.unwrap().unwrap().row_count, 50);
        let heard = heard_by(&store);
        let other = open(&address).await;
        other.insert_rows(rows(id, 1_000, 1)).await.unwrap();
        until("it listens again", || heard.lock().unwrap().iter().any(|change| change.seq == 6)).await;
    });
}

#[test]
fn a_database_is_moved_only_while_no_node_uses_it() {
    on_a_database(|address| async move {
        assert!(matches!(Carrier::source(&address).await, Err(StoreError::Missing(_))));
        let store = open(&address).await;
        let id = project(&store, 1).await;
        let words = Carrier::source(&address).await.unwrap_err().to_string();
        assert!(words.contains("127.0.0.1") && words.contains("stop all nodes"), "{words}");
        store.close().await.unwrap();
        drop(store);
        let source = Carrier::source(&address).await.unwrap();
        let impatient = Options { statement_timeout: Duration::from_millis(300), ..Options::default() };
        let late = PostgresStore::connect(&address, impatient).await.unwrap();
        late.delete_project(id, None).await.unwrap_err();
        assert_eq!(source.projects().await.unwrap(), [id]);
        drop(source);
        assert!(late.delete_project(id, None).await.unwrap(), "it is free again");
    });
}

#[test]
fn what_is_half_moved_is_used_by_no_node() {
    on_a_database(|address| async move {
        let target = Carrier::target(&address).await.unwrap();
        target.begin("half".to_owned()).await.unwrap();
        let refused = PostgresStore::connect(&address, Options::default()).await.unwrap_err();
        assert!(matches!(refused, StoreError::Unfinished), "{refused}");
        drop(target);
        assert!(matches!(Carrier::source(&address).await, Err(StoreError::Unfinished)));
        let target = Carrier::target(&address).await.unwrap();
        assert_eq!(target.checkpoint().await.unwrap().as_deref(), Some("half"));
        // A connection that is lost is told, and what was noted stays.
        let server = client(&address).await;
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND application_name = 'rowmill-move'";
        server.query(sql, &[]).await.unwrap();
        assert!(matches!(target.checkpoint().await, Err(StoreError::Unavailable(_))));
        let target = Carrier::target(&address).await.unwrap();
        target.finish().await.unwrap();
        open(&address).await.close().await.unwrap();
    });
}

#[test]
fn a_connection_does_not_wait_for_the_threads_that_first_asked_for_it() {
    on_a_database(async |address| {
        let store = Arc::new(open(&address).await);
        let of_cells = Arc::clone(&store);
        let opening = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                for answer in join_all((0..8).map(|_| of_cells.batches(None))).await {
                    answer.unwrap();
                }
            });
            runtime
        });
        // From here on it does nothing, as if its threads were busy.
        let busy = opening.join().unwrap();
        let asking = join_all((0..8).map(|_| store.batches(None)));
        for answer in tokio::time::timeout(Duration::from_secs(10), asking).await.unwrap() {
            answer.unwrap();
        }
        busy.shutdown_background();
    });
}
