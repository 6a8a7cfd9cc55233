//! `rowmill check` on the embedded store finds everything that is wrong, and a backup is what was backed up.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use rowmill_store::StoreError;
use rowmill_store::check::{Problem, ProblemKind, Report, check};
use rowmill_store::conformance::CASES;
use rowmill_store_sqlite::{
    Access, DATABASE_FILE, Inspector, SqliteStore, accept_checksums, back_up, has_checksums, page_findings,
    verify,
};
use rusqlite::Connection;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn checked(data_dir: &Path) -> Report {
    runtime().block_on(check(&Inspector::of_data_dir(data_dir).unwrap(), &|_| {})).unwrap()
}

/// The problems, but for teams: the cases of the suite make projects of teams that do not exist.
fn problems(data_dir: &Path) -> Vec<Problem> {
    let is_of_team = |problem: &Problem| problem.message.contains("team that does not exist");
    checked(data_dir).problems.into_iter().filter(|problem| !is_of_team(problem)).collect()
}

fn run(data_dir: &Path, case: &str) {
    let store = SqliteStore::open(data_dir, Access::Serve).unwrap();
    let (_, case) = CASES.iter().find(|(name, _)| *name == case).unwrap();
    runtime().block_on(case(&store));
}

/// A change to a database that check must find.
struct Fault {
    case: &'static str,
    sql: &'static str,
    kind: ProblemKind,
    words: &'static str,
}

const MATCHED: &str = "the_match_follows_every_write";
const PROCESSED: &str = "a_run_goes_through_every_column";
const LISTED: &str = "rows_keep_the_order_they_were_sent_in";
const WIDE: &str = "many_rows_have_wide_values";

const fn fault(case: &'static str, sql: &'static str, kind: ProblemKind, words: &'static str) -> Fault {
    Fault { case, sql, kind, words }
}

const FAULTS: &[Fault] = &[
    fault(
        LISTED,
        "UPDATE counters SET row_count = row_count + 1",
        ProblemKind::WrongCount,
        "the row count is",
    ),
    fault(
        LISTED,
        "UPDATE counters SET value_bytes = value_bytes + 7",
        ProblemKind::WrongCount,
        "the values take",
    ),
    fault(
        LISTED,
        "UPDATE counters SET trashed_count = trashed_count + 1",
        ProblemKind::WrongCount,
        "the trash has",
    ),
    fault(LISTED, "UPDATE counters SET next_position = 1", ProblemKind::WrongCount, "next position is 1"),
    fault(LISTED, "DELETE FROM counters", ProblemKind::WrongCount, "counters are missing"),
    fault(LISTED, "UPDATE live SET count = count - 1 WHERE level = 1", ProblemKind::WrongCount, "(level 1)"),
    fault(LISTED, "DELETE FROM live WHERE level = 0", ProblemKind::WrongCount, "(level 0) is 0"),
    fault(
        LISTED,
        "INSERT INTO live (project, level, segment, count) SELECT num, 0, 77, 3 FROM projects",
        ProblemKind::WrongCount,
        "is 3, but there are 0",
    ),
    fault(
        LISTED,
        "UPDATE rows SET vals = x'ffff' WHERE key IN (SELECT key FROM rows LIMIT 1)",
        ProblemKind::Undecodable,
        "unpacked",
    ),
    fault(
        LISTED,
        "UPDATE rows SET vals = x'010102227b' WHERE key IN (SELECT key FROM rows LIMIT 1)",
        ProblemKind::Undecodable,
        "is not JSON",
    ),
    fault(
        LISTED,
        "UPDATE rows SET details = x'ffff' WHERE key IN (SELECT key FROM rows LIMIT 1)",
        ProblemKind::Undecodable,
        "details",
    ),
    fault(
        LISTED,
        "UPDATE rows SET id = x'01' WHERE key IN (SELECT key FROM rows LIMIT 1)",
        ProblemKind::Undecodable,
        "its id",
    ),
    fault(LISTED, "UPDATE projects SET document = '{'", ProblemKind::Undecodable, "its document"),
    fault(LISTED, "UPDATE projects SET views = '{'", ProblemKind::Undecodable, "its views"),
    fault(LISTED, "UPDATE projects SET title = 'other'", ProblemKind::Index, "what lists show"),
    fault(
        LISTED,
        "INSERT INTO rows (key, id, vals) VALUES (99 << 40, x'00', x'')",
        ProblemKind::Stray,
        "project number 99",
    ),
    fault(
        LISTED,
        "INSERT INTO retries (at, project, slot, position) VALUES (1, 98, 1, 1)",
        ProblemKind::Stray,
        "retries of project number 98",
    ),
    fault(
        LISTED,
        "INSERT INTO guests (project, guest_id, position, event_at) SELECT num, 'g', 1000000, 1 FROM projects",
        ProblemKind::Stray,
        "guests name a row",
    ),
    fault(
        WIDE,
        "DELETE FROM wide_values WHERE key IN (SELECT max(key) FROM wide_values)",
        ProblemKind::Undecodable,
        "are not those that it notes",
    ),
    fault(
        WIDE,
        "UPDATE wide_values SET value = x'ff'",
        ProblemKind::Undecodable,
        "wide values cannot be read",
    ),
    fault(
        WIDE,
        "UPDATE wide_values SET value = x'7b'",
        ProblemKind::Undecodable,
        "other bytes than it notes",
    ),
    fault(WIDE, "UPDATE rows SET wide = x'00'", ProblemKind::Undecodable, "note of wide values"),
    fault(
        WIDE,
        "UPDATE rows SET wide = NULL WHERE wide IS NOT NULL",
        ProblemKind::Undecodable,
        "does not note",
    ),
    fault(
        WIDE,
        "INSERT INTO wide_values (key, slot, value) SELECT key + 5000, 1, x'31' FROM rows LIMIT 3",
        ProblemKind::Stray,
        "3 wide values of rows that do not exist",
    ),
    fault(
        WIDE,
        "INSERT INTO wide_values (key, slot, value) VALUES (97 << 40, 1, x'31')",
        ProblemKind::Stray,
        "wide values of project number 97",
    ),
    fault(
        MATCHED,
        "DELETE FROM lookups WHERE position IN (SELECT min(position) FROM lookups)",
        ProblemKind::Index,
        "match index",
    ),
    fault(
        MATCHED,
        "INSERT INTO lookups (project, slot, hash, position) SELECT project, slot, 4711, 0 FROM lookup_columns",
        ProblemKind::Index,
        "too many",
    ),
    fault(
        PROCESSED,
        "UPDATE tallies SET tally = replace(tally, '\"completed\":', '\"completed\":1')",
        ProblemKind::WrongCount,
        "counting gives",
    ),
    fault(PROCESSED, "UPDATE tallies SET tally = '{'", ProblemKind::Undecodable, "its counts"),
    fault(PROCESSED, "UPDATE blocks SET marks = x'01'", ProblemKind::Undecodable, "cell states"),
    fault(PROCESSED, "DELETE FROM rows", ProblemKind::Stray, "but no row"),
    fault(
        PROCESSED,
        "INSERT INTO ready (project, slot, block) SELECT num, 1, 900 FROM projects",
        ProblemKind::Index,
        "cells to run has 1 entries too many",
    ),
];

#[test]
fn every_fault_is_found() {
    for Fault { case, sql, kind, words } in FAULTS {
        let dir = tempfile::tempdir().unwrap();
        run(dir.path(), case);
        // Opened before, so that this one writes checksums, too.
        let before = problems(dir.path());
        assert_eq!(before, [], "{case}");
        let connection = Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
        assert!(connection.execute(sql, ()).unwrap() > 0, "{sql}");
        drop(connection);
        let found = problems(dir.path());
        let is_it = |problem: &Problem| problem.kind == *kind && problem.message.contains(words);
        assert!(found.iter().any(is_it), "{sql}: {found:?}");
        assert!(!checked(dir.path()).ok);
    }
}

#[test]
fn a_column_that_was_indexed_in_parts_is_indexed_whole() {
    const INDEXED: &str = "a_column_is_indexed_while_others_write";
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), INDEXED);
    assert_eq!(problems(dir.path()), []);
    // As if the server had ended in the middle: what is indexed by half is no fault, and is finished.
    let connection = Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
    let half = "DELETE FROM lookups WHERE position >= 1000; UPDATE lookup_columns SET next_position = 1000";
    connection.execute_batch(half).unwrap();
    drop(connection);
    assert_eq!(problems(dir.path()), []);
}

#[test]
fn a_missing_index_entry_of_the_database_is_found() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), LISTED);
    assert_eq!(problems(dir.path()), []);
    let connection = Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
    // The index is taken for another table while rows are deleted from this one.
    connection
        .execute_batch(
            "PRAGMA writable_schema = on; \
             UPDATE sqlite_schema SET name = 'hidden', sql = 'CREATE TABLE hidden (id PRIMARY KEY, key) WITHOUT ROWID', \
             type = 'table', tbl_name = 'hidden' WHERE name = 'rows_by_id'; \
             PRAGMA writable_schema = reset",
        )
        .unwrap();
    drop(connection);
    let connection = Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
    assert_eq!(
        connection.execute("DELETE FROM hidden WHERE id IN (SELECT id FROM hidden LIMIT 1)", ()).unwrap(),
        1
    );
    connection
        .execute_batch(
            "PRAGMA writable_schema = on; \
             UPDATE sqlite_schema SET name = 'rows_by_id', sql = 'CREATE UNIQUE INDEX rows_by_id ON rows (id)', \
             type = 'index', tbl_name = 'rows' WHERE name = 'hidden'; \
             PRAGMA writable_schema = reset",
        )
        .unwrap();
    drop(connection);
    let found = problems(dir.path());
    let has = |kind: ProblemKind, words: &str| {
        found.iter().any(|problem| problem.kind == kind && problem.message.contains(words))
    };
    assert!(has(ProblemKind::Index, "is not found by its id"), "{found:?}");
    assert!(has(ProblemKind::Damaged, "rows_by_id"), "SQLite's own check finds it, too: {found:?}");
}

/// A database that is closed, and its file.
fn closed(data_dir: &Path) -> PathBuf {
    run(data_dir, LISTED);
    data_dir.join(DATABASE_FILE)
}

fn flip(file: &Path, at: usize) {
    let mut bytes = std::fs::read(file).unwrap();
    *bytes.get_mut(at).unwrap() ^= 1;
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_page_is_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = closed(dir.path());
    flip(&file, 4096 + 2000);
    let found = problems(dir.path());
    assert!(found.iter().any(|problem| problem.message.contains("checksum: 2.")), "{found:?}");
    assert!(matches!(verify(&file), Err(StoreError::Damaged(_))));
}

#[test]
fn checksums_are_made_anew_only_where_the_file_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let file = closed(dir.path());
    assert!(has_checksums(&file));
    let page = 4096;
    let whole = std::fs::read(&file).unwrap();
    // As another program leaves it, which writes a page and no checksum.
    for offset in (page..whole.len()).step_by(page) {
        flip(&file, offset + page - 1);
    }
    assert!(matches!(Inspector::of_data_dir(dir.path()), Err(StoreError::Damaged(_))));
    let pages = page_findings(&file).unwrap();
    assert!(pages.len() == 1 && pages.iter().any(|words| words.contains("--accept-checksums")), "{pages:?}");
    assert_eq!(accept_checksums(dir.path()).unwrap(), (whole.len() / page - 1) as u64);
    assert!(std::fs::read(&file).unwrap() == whole, "the checksums are what they were");
    assert_eq!(problems(dir.path()), []);
    assert_eq!(accept_checksums(dir.path()).unwrap(), 0);

    let store = SqliteStore::open(dir.path(), Access::Serve).unwrap();
    assert!(matches!(accept_checksums(dir.path()), Err(StoreError::InUse(_))));
    drop(store);
    // The header of a page in the middle.
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[page..page + 8].fill(0x77);
    std::fs::write(&file, bytes).unwrap();
    assert!(matches!(accept_checksums(dir.path()), Err(StoreError::Damaged(_))));
}

#[test]
fn a_backup_is_the_database_with_its_checksums() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), LISTED);
    // More than a cache holds, so that pages are written before the first one is.
    let connection = Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
    let receipts = "INSERT INTO receipts (name, fingerprint, outcome, expires_at) \
                    WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 1000) \
                    SELECT randomblob(32), randomblob(32), '\"' || hex(randomblob(6000)) || '\"', 1 FROM n";
    connection.execute(receipts, ()).unwrap();
    drop(connection);
    let store = SqliteStore::open(dir.path(), Access::Serve).unwrap();
    let copy = dir.path().join("copy#%?.db");
    let content = back_up(dir.path(), &copy).unwrap();
    assert!(content.adds_up && content.is_current && content.rows > 0 && content.projects == 1);
    assert!(has_checksums(&copy));
    assert!(matches!(back_up(dir.path(), &copy), Err(StoreError::Backend(_))), "it exists");
    let inspector = Inspector::of_backup(&copy).unwrap();
    let report = runtime().block_on(check(&inspector, &|_| {})).unwrap();
    assert_eq!(report.rows, content.rows);
    assert_eq!(
        std::fs::read_dir(dir.path())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("copy") })
            .count(),
        1,
        "nothing is left beside it"
    );
    drop(store);
}
