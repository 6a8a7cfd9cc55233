//! Values that are stored apart from their rows: nobody touches them who need not, none is left behind, and rows of
//! before there were any are what they were.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ops::ControlFlow;
use std::path::Path;

use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::record::{Record, Slot};
use rowmill_model::{Deletion, ProjectId, RowId};
use rowmill_store::check::{Problem, check};
use rowmill_store::conformance::CASES;
use rowmill_store::lookup::Ambiguity;
use rowmill_store::{
    CellWrite, KeptInput, NewRow, NewRows, PageStart, RowRef, ScanDetail, ScanLook, Spans, Store, StoreError,
    StoredRow, TrashStore as _, ValueBytesStore as _, Wanted, WantedSlots, WriteCells,
};
use rowmill_store_sqlite::{Access, DATABASE_FILE, Inspector, SqliteStore};
use rusqlite::Connection;

const NAME: Slot = 1;
const MAIL: Slot = 2;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A database that a case of the suite leaves.
fn after(data_dir: &Path, case: &str) -> (SqliteStore, Connection) {
    let store = SqliteStore::open(data_dir, Access::Serve).unwrap();
    run((CASES.iter().find(|(name, _)| *name == case).unwrap().1)(&store));
    (store, Connection::open(data_dir.join(DATABASE_FILE)).unwrap())
}

/// Every third of 300 rows has a wide name, and all have a short mail.
fn filled(data_dir: &Path) -> (SqliteStore, Connection, ProjectId) {
    let (store, connection) = after(data_dir, "many_rows_have_wide_values");
    let id: [u8; 16] = connection.query_row("SELECT id FROM projects", (), |row| row.get(0)).unwrap();
    (store, connection, ProjectId::from_uuid(uuid::Uuid::from_bytes(id)))
}

fn rows(store: &SqliteStore, id: ProjectId) -> Vec<StoredRow> {
    run(store.rows(id, PageStart::Offset(0), 1_000)).unwrap().rows
}

fn write(store: &SqliteStore, project: ProjectId, cells: &[(&StoredRow, Slot, &str)]) {
    let cell = |(row, slot, value): &(&StoredRow, Slot, &str)| CellWrite {
        row: row.id,
        slot: *slot,
        value: (*value).into(),
    };
    run(store.write_cells(writes(store, project, cells.iter().map(cell).collect()))).unwrap();
}

fn writes(store: &SqliteStore, project: ProjectId, cells: Vec<CellWrite>) -> WriteCells {
    let version = run(store.project(project)).unwrap().unwrap().version;
    WriteCells {
        project,
        version,
        project_save: None,
        cells,
        expected: None,
        new_bytes_max: None,
        now_ms: 20,
        returning: Vec::new(),
    }
}

fn count(connection: &Connection, sql: &str) -> u64 {
    connection.query_row(sql, (), |row| row.get(0)).unwrap()
}

fn check_all(data_dir: &Path) {
    let report = run(check(&Inspector::of_data_dir(data_dir).unwrap(), &|_| {})).unwrap();
    let is_of_team = |problem: &Problem| problem.message.contains("team that does not exist");
    assert!(report.problems.iter().all(is_of_team), "{report:?}");
}

#[test]
fn another_cell_is_written_without_them() {
    let dir = tempfile::tempdir().unwrap();
    let (store, connection, id) = filled(dir.path());
    for event in ["UPDATE", "INSERT", "DELETE"] {
        let sql = format!(
            "CREATE TRIGGER on_{event} BEFORE {event} ON wide_values BEGIN SELECT RAISE(ABORT, 'touched'); END"
        );
        connection.execute_batch(&sql).unwrap();
    }
    let before = rows(&store, id);
    write(&store, id, &[(&before[2], MAIL, "7"), (&before[3], NAME, "\"x\"")]);
    // The same value again is no reason to write it.
    let name = before[5].values.cells().unwrap().get(NAME).unwrap();
    write(&store, id, &[(&before[5], NAME, name)]);
    let after = rows(&store, id);
    assert_eq!(after[2].values, before[2].values.with([(MAIL, "7")]).unwrap());
    assert_eq!(after[5].values, before[5].values);
    // To the trash and back they do not move either.
    run(store.trash_rows(id, vec![after[2].id], Deletion { at_ms: 30, by: None })).unwrap();
    run(store.restore_rows(id, vec![after[2].id], 31)).unwrap();
    assert_eq!(rows(&store, id), after);
}

#[test]
fn who_wants_other_columns_does_not_read_them() {
    let dir = tempfile::tempdir().unwrap();
    let (store, connection, id) = filled(dir.path());
    let whole = rows(&store, id);
    assert_eq!(connection.execute("DELETE FROM wide_values", ()).unwrap(), 100);
    let mail = |row: &StoredRow| row.values.cells().unwrap().get(MAIL).map(str::to_owned);
    let wanted = |slot| Wanted { bytes_max: usize::MAX, slots: WantedSlots::only([slot]) };
    let page = |wanted| run(store.rows_within(id, PageStart::Offset(0), 1_000, wanted));
    let found = page(wanted(MAIL)).unwrap().rows;
    assert_eq!(found.iter().map(mail).collect::<Vec<_>>(), whole.iter().map(mail).collect::<Vec<_>>());
    let scan = |slot| {
        let visit = Box::new(|_: RowRef<'_>| ControlFlow::Continue(()));
        let look = ScanLook { detail: ScanDetail::Values, slots: WantedSlots::only([slot]) };
        run(store.scan(id, Spans::all(), look, visit))
    };
    scan(MAIL).unwrap();
    // And who wants them is told of the damage.
    for outcome in [page(Wanted::ALL).map(|_| ()), page(wanted(NAME)).map(|_| ()), scan(NAME).map(|_| ())] {
        assert!(matches!(outcome, Err(StoreError::Damaged(_))), "{outcome:?}");
    }
}

#[test]
fn who_changes_other_cells_does_not_read_them() {
    let dir = tempfile::tempdir().unwrap();
    let (store, connection, id) = filled(dir.path());
    let whole = rows(&store, id);
    assert_eq!(connection.execute("DELETE FROM wide_values", ()).unwrap(), 100);
    // The third row has a wide name, and the fourth a wide mail.
    write(&store, id, &[(&whole[2], MAIL, "7"), (&whole[3], NAME, "\"x\"")]);
    write(&store, id, &[(&whole[2], MAIL, "null")]);
    let rows = vec![whole[2].id, whole[3].id];
    run(store.trash_rows(id, rows.clone(), Deletion { at_ms: 30, by: None })).unwrap();
    assert_eq!(run(store.restore_rows(id, rows.clone(), 31)).unwrap().rows, 2);
    run(store.delete_rows(id, rows)).unwrap();
    // Who needs them is told of the damage, and nothing is written.
    let cell = CellWrite { row: whole[5].id, slot: NAME, value: "1".into() };
    let outcome = run(store.write_cells(writes(&store, id, vec![cell])));
    assert!(matches!(outcome, Err(StoreError::Damaged(_))), "{outcome:?}");
}

#[test]
fn nothing_is_left_of_rows_that_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let (store, connection, id) = filled(dir.path());
    let all = rows(&store, id);
    assert_eq!(count(&connection, "SELECT count(*) FROM wide_values"), 100);
    run(store.delete_rows(id, all[..30].iter().map(|row| row.id).collect())).unwrap();
    assert_eq!(count(&connection, "SELECT count(*) FROM wide_values"), 90);
    run(store.trash_rows(
        id,
        all[30..60].iter().map(|row| row.id).collect(),
        Deletion { at_ms: 30, by: None },
    ))
    .unwrap();
    assert_eq!(count(&connection, "SELECT count(*) FROM wide_values"), 90);
    while run(store.sweep_trash(30)).unwrap() {}
    assert_eq!(count(&connection, "SELECT count(*) FROM wide_values"), 80);
    run(store.trash_rows(
        id,
        all[60..90].iter().map(|row| row.id).collect(),
        Deletion { at_ms: 30, by: None },
    ))
    .unwrap();
    check_all(dir.path());
    assert!(run(store.delete_project(id, None)).unwrap());
    let started = SystemClock.monotonic();
    while count(&connection, "SELECT count(*) FROM graves") > 0 {
        assert!(started.elapsed().as_secs() < 20, "the sweeper does not come to an end");
        std::thread::yield_now();
    }
    for table in ["rows", "wide_values"] {
        assert_eq!(count(&connection, &format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
}

/// Puts all values back into their rows, as the version before there were wide values left them.
fn as_before(connection: &Connection, rows: &[StoredRow]) {
    connection.execute("DELETE FROM wide_values", ()).unwrap();
    for row in rows {
        let sql = "UPDATE rows SET vals = ?2, wide = NULL, wide_bytes = NULL WHERE id = ?1";
        connection.execute(sql, (row.id.uuid().as_bytes(), row.values.as_bytes())).unwrap();
    }
}

#[test]
fn rows_of_an_earlier_version_are_what_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let (store, connection, id) = filled(dir.path());
    let team = run(store.project(id)).unwrap().unwrap().project.team;
    let bytes = || run(store.team_bytes(team)).unwrap().bytes;
    let (before, bytes_before) = (rows(&store, id), bytes());
    as_before(&connection, &before);
    assert_eq!(rows(&store, id), before);
    check_all(dir.path());
    let wide = "\"".to_owned() + &"w".repeat(9_000) + "\"";
    write(&store, id, &[(&before[2], MAIL, "7"), (&before[5], NAME, "\"short\""), (&before[8], NAME, &wide)]);
    write(&store, id, &[(&before[11], NAME, "null"), (&before[14], MAIL, &wide), (&before[1], MAIL, &wide)]);
    let after = rows(&store, id);
    let expected = |at: usize, slot, value: &str| before[at].values.with([(slot, value)]).unwrap();
    assert_eq!(after[2].values, expected(2, MAIL, "7"));
    assert_eq!(after[5].values, expected(5, NAME, "\"short\""));
    assert_eq!(after[8].values, expected(8, NAME, &wide));
    assert_eq!(after[11].values, expected(11, NAME, "null"));
    assert_eq!(after[14].values, expected(14, MAIL, &wide));
    assert_eq!(after[1].values, expected(1, MAIL, &wide));
    // What was written is stored as it is now, and nothing else is.
    assert_eq!(count(&connection, "SELECT count(*) FROM wide_values"), 5);
    assert_eq!(count(&connection, "SELECT count(*) FROM rows WHERE wide IS NOT NULL"), 4);
    run(store.trash_rows(id, vec![before[17].id, after[2].id], Deletion { at_ms: 30, by: None })).unwrap();
    check_all(dir.path());
    run(store.restore_rows(id, vec![before[17].id, after[2].id], 31)).unwrap();
    assert_eq!(rows(&store, id), after);
    check_all(dir.path());
    let cells = |rows: &[StoredRow]| rows.iter().map(|row| row.values.as_bytes().len() as u64).sum::<u64>();
    assert_eq!(bytes() - cells(&after), bytes_before - cells(&before));
}

fn insert(store: &SqliteStore, id: ProjectId, keys: &[String]) -> Result<usize, StoreError> {
    let rows = keys.iter().map(|text| NewRow {
        id: RowId::from_uuid(uuid::Uuid::from_u128(1 << 100 | text.len() as u128)),
        values: Record::pack([(NAME, text.as_str())]),
        cleared: Vec::new(),
        leftover_bytes_max: None,
    });
    let inserted = store.insert_rows(NewRows {
        project: id,
        version: run(store.project(id)).unwrap().unwrap().version,
        rows: rows.collect(),
        match_on: Some(NAME),
        project_save: None,
        ignored_keys: Vec::new(),
        new_rows_max: None,
        new_bytes_max: None,
        kept_input: KeptInput::default(),
        now_ms: 30,
        once: None,
        import: None,
    });
    run(inserted).map(|inserted| inserted.rows.len())
}

/// Texts that read as one number have one hash. Each is compared with all others, which must not go on for long.
#[test]
fn few_of_them_are_compared_in_vain() {
    const LEN: usize = 1_000_000;
    let dir = tempfile::tempdir().unwrap();
    let (store, _, id) = filled(dir.path());
    let spelling = |blanks: usize| format!("\"{}123456\"", " ".repeat(blanks));
    for more in 0..6 {
        assert_eq!(insert(&store, id, &[spelling(LEN + more)]).unwrap(), 1);
    }
    let few: Vec<String> = (1..=2).map(spelling).collect();
    assert_eq!(insert(&store, id, &few).unwrap(), 2);
    // The third row compares more than 16 MiB; those behind it are not even loaded.
    let many: Vec<String> = (11..=30).map(spelling).collect();
    let refused = insert(&store, id, &many);
    assert!(
        matches!(&refused, Err(StoreError::AmbiguousMatch(rows)) if rows == &[(2, Ambiguity::TooLong)]),
        "{refused:?}"
    );
    assert_eq!(insert(&store, id, &few).unwrap(), 2);
    check_all(dir.path());
}
