//! This store keeps every promise of the seam.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use proptest::prelude::*;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_store::carry::{Carry as _, Items, PageLimit, Section};
use rowmill_store::check::{Problem, check};
use rowmill_store::conformance::{CASES, OUTBOX_CASES, against_a_plain_map, counts_stay_true, events, steps};
use rowmill_store::{PageStart, RowRef, ScanDetail, Spans, Store, StoreError, ValueBytesStore as _};
use rowmill_store_sqlite::{Access, Carrier, DATABASE_FILE, Inspector, SqliteStore};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn every_promise_is_kept() {
    for (name, case) in CASES.iter().chain(OUTBOX_CASES) {
        eprintln!("{name}");
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), Access::Serve).unwrap();
        runtime().block_on(case(&store));
        check_all(dir.path());
    }
}

/// `rowmill check` finds nothing, but that the projects are of teams that do not exist.
fn check_all(data_dir: &std::path::Path) {
    let inspector = Inspector::of_data_dir(data_dir).unwrap();
    let report = runtime().block_on(check(&inspector, &|_| {})).unwrap();
    let is_of_team = |problem: &Problem| problem.message.contains("team that does not exist");
    assert!(report.problems.iter().all(is_of_team) && report.notes.is_empty(), "{report:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_agree_with_a_plain_map(steps in steps()) {
        let dir = tempfile::tempdir().unwrap();
        let reopen = |old: Option<Arc<dyn Store>>| -> Arc<dyn Store> {
            drop(old);
            Arc::new(SqliteStore::open(dir.path(), Access::Serve).unwrap())
        };
        runtime().block_on(against_a_plain_map(steps, reopen));
        check_all(dir.path());
    }

    #[test]
    fn counts_are_true_whatever_happens(events in events()) {
        let dir = tempfile::tempdir().unwrap();
        let reopen = |old: Option<Arc<dyn Store>>| -> Arc<dyn Store> {
            drop(old);
            Arc::new(SqliteStore::open(dir.path(), Access::Serve).unwrap())
        };
        runtime().block_on(counts_stay_true(events, reopen));
        check_all(dir.path());
    }
}

#[test]
fn a_data_dir_is_served_once() {
    let dir = tempfile::tempdir().unwrap();
    let first = SqliteStore::open(dir.path(), Access::Serve).unwrap();
    let second = SqliteStore::open(dir.path(), Access::Serve).unwrap_err();
    assert!(matches!(&second, StoreError::InUse(words) if words.contains("--data-dir")), "{second}");
    SqliteStore::open(dir.path(), Access::Visit).unwrap();
    drop(first);
    SqliteStore::open(dir.path(), Access::Serve).unwrap();
}

#[test]
fn a_file_that_is_no_database_is_a_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(DATABASE_FILE), "not a database, but long enough to be taken for one")
        .unwrap();
    let error = SqliteStore::open(dir.path(), Access::Serve).unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");
}

#[test]
fn rows_that_are_missing_are_damage_and_not_a_shorter_list() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), Access::Serve).unwrap();
    let case = CASES.iter().find(|(name, _)| *name == "rows_keep_the_order_they_were_sent_in").unwrap().1;
    runtime().block_on(case(&store));
    let connection = rusqlite::Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
    let project: [u8; 16] = connection.query_row("SELECT id FROM projects", (), |row| row.get(0)).unwrap();
    let project = rowmill_model::ProjectId::from_uuid(uuid::Uuid::from_bytes(project));
    let read =
        || runtime().block_on(store.rows_within(project, PageStart::Offset(0), 1_000, usize::MAX.into()));
    let scan = || {
        let visit = Box::new(|_: RowRef<'_>| std::ops::ControlFlow::Continue(()));
        runtime().block_on(store.scan(project, Spans::all(), ScanDetail::Values.into(), visit))
    };
    read().unwrap();
    scan().unwrap();
    assert_eq!(
        connection.execute("DELETE FROM rows WHERE key = (SELECT min(key) FROM rows)", ()).unwrap(),
        1
    );
    assert!(matches!(read(), Err(StoreError::Damaged(_))));
    assert!(matches!(scan(), Err(StoreError::Damaged(_))));
}

#[test]
fn a_missing_row_is_damage_wherever_rows_were_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), Access::Serve).unwrap();
    let case = CASES.iter().find(|(name, _)| *name == "listeners_hear_where_rows_were_touched").unwrap().1;
    runtime().block_on(case(&store));
    let connection = rusqlite::Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
    let project: [u8; 16] = connection.query_row("SELECT id FROM projects", (), |row| row.get(0)).unwrap();
    let project = rowmill_model::ProjectId::from_uuid(uuid::Uuid::from_bytes(project));
    let page = |start, limit| runtime().block_on(store.rows_within(project, start, limit, usize::MAX.into()));
    let scan = |spans, rows_max: usize| {
        let mut left = rows_max;
        let visit = Box::new(move |_: RowRef<'_>| {
            left -= 1;
            if left == 0 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        });
        runtime().block_on(store.scan(project, spans, ScanDetail::Values.into(), visit))
    };
    let all = page(PageStart::Offset(0), 100_000).unwrap().rows;
    assert!(all.len() > 600);
    // Every seventh is deleted as it should be.
    let gone = all.iter().step_by(7).map(|row| row.id).collect();
    runtime().block_on(store.delete_rows(project, gone)).unwrap();
    let reads = [
        ("to the end", &(|| page(PageStart::After(100), 100_000).map(|_| ())) as &dyn Fn() -> _),
        ("with more behind", &|| page(PageStart::After(200), 100).map(|_| ())),
        ("a run of positions", &|| scan(Spans::run(210, 400), usize::MAX).map(|_| ())),
        ("up to a row", &|| scan(Spans::after(Some(130)), 200).map(|_| ())),
    ];
    for (name, read) in reads {
        assert!(read().is_ok(), "{name}");
    }
    for start in [0, 5, 255, 256, 257, 300, 599] {
        page(PageStart::After(start), 3).unwrap();
        scan(Spans::run(start, start + 20), usize::MAX).unwrap();
    }
    let (_, lost) = all.iter().enumerate().find(|(place, _)| *place > 250 && place % 7 == 1).unwrap();
    let sql = "DELETE FROM rows WHERE id = ?1";
    assert_eq!(connection.execute(sql, [lost.id.uuid().as_bytes()]).unwrap(), 1);
    for (name, read) in reads {
        let outcome = read();
        assert!(matches!(outcome, Err(StoreError::Damaged(_))), "{name}: {outcome:?}");
    }
}

#[test]
fn the_bytes_of_a_project_of_an_earlier_version_are_counted_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), Access::Serve).unwrap();
    let case = CASES.iter().find(|(name, _)| *name == "rows_keep_the_order_they_were_sent_in").unwrap().1;
    runtime().block_on(case(&store));
    let connection = rusqlite::Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
    let (id, team): ([u8; 16], [u8; 16]) = connection
        .query_row("SELECT id, team FROM projects", (), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let project = rowmill_model::ProjectId::from_uuid(uuid::Uuid::from_bytes(id));
    let team = rowmill_model::TeamId(uuid::Uuid::from_bytes(team));
    let counted = || runtime().block_on(store.team_bytes(team)).unwrap();
    let right = counted();
    assert!(right.bytes > 0 && right.uncounted.is_empty());
    // As the migration leaves it, with writes since then.
    connection.execute("UPDATE counters SET value_bytes = -5, value_bytes_before = NULL", ()).unwrap();
    assert_eq!(counted().uncounted, [project]);
    runtime().block_on(store.count_bytes(project)).unwrap();
    assert_eq!(counted(), right);
}

#[test]
fn rows_of_a_deleted_project_are_swept_up() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), Access::Serve).unwrap();
    let case = CASES.iter().find(|(name, _)| *name == "a_deleted_project_takes_its_rows_along").unwrap().1;
    runtime().block_on(case(&store));
    let connection = rusqlite::Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
    let count = |sql: &str| connection.query_row(sql, (), |row| row.get::<_, u64>(0)).unwrap();
    let started = SystemClock.monotonic();
    while count("SELECT count(*) FROM graves") > 0 {
        assert!(started.elapsed().as_secs() < 20, "the sweeper does not come to an end");
        std::thread::yield_now();
    }
    assert_eq!(count("SELECT count(*) FROM rows"), 3);
    assert_eq!(count("SELECT count(*) FROM counters"), 1);
}

#[test]
fn what_is_half_moved_is_opened_by_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let target = Carrier::target(dir.path()).unwrap();
    runtime().block_on(target.begin("half".to_owned())).unwrap();
    assert!(matches!(Carrier::target(dir.path()), Err(StoreError::InUse(_))), "one move at a time");
    drop(target);
    for access in [Access::Serve, Access::Visit] {
        let error = SqliteStore::open(dir.path(), access).unwrap_err();
        assert!(matches!(error, StoreError::Unfinished), "{error}");
    }
    assert!(matches!(Carrier::source(dir.path()), Err(StoreError::Unfinished)));
    let target = Carrier::target(dir.path()).unwrap();
    assert_eq!(runtime().block_on(target.checkpoint()).unwrap().as_deref(), Some("half"));
    runtime().block_on(target.finish()).unwrap();
    drop(target);
    SqliteStore::open(dir.path(), Access::Serve).unwrap();
}

#[test]
fn nobody_changes_what_is_moved() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Carrier::source(dir.path()), Err(StoreError::Missing(_))));
    let store = SqliteStore::open(dir.path(), Access::Serve).unwrap();
    assert!(matches!(Carrier::source(dir.path()), Err(StoreError::InUse(_))), "it is served");
    let case = CASES.iter().find(|(name, _)| *name == "rows_keep_the_order_they_were_sent_in").unwrap().1;
    runtime().block_on(case(&store));
    drop(store);
    let connection = rusqlite::Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
    // Details as they were once written, in one row.
    let legacy = br#"{"3":{"attempts":2}}"#;
    let change = "UPDATE rows SET details = ?1 WHERE key = (SELECT min(key) FROM rows)";
    connection.execute(change, [legacy]).unwrap();
    let source = Carrier::source(dir.path()).unwrap();
    connection.busy_timeout(std::time::Duration::ZERO).unwrap();
    let error = connection.execute("UPDATE rows SET details = NULL", ()).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy));
    let all = PageLimit { items: 100, bytes: usize::MAX };
    let page = runtime().block_on(async {
        let id = source.projects().await.unwrap().pop().unwrap();
        source.read(Section::Rows(id), None, all).await.unwrap()
    });
    let Items::Rows(rows) = page else { panic!("{page:?}") };
    let details =
        rowmill_model::cell::Details::from_bytes(rows.first().unwrap().details.as_ref().unwrap()).unwrap();
    assert_eq!(details.get(3).unwrap().attempts, 2);
    assert_ne!(rows.first().unwrap().details.as_deref(), Some(&legacy[..]), "they are packed on the way");
    drop(source);
    connection.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(Carrier::source(dir.path()), Err(StoreError::Newer { .. })));
}
