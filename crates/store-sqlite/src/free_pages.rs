//! Incremental vacuum: pages that deletes have freed go back to the disk, in slices while nobody writes.
//!
//! SQLite keeps free pages for rows to come. Where they are many, pages from the end of the file are moved into their places,
//! and the file is cut. A database of an earlier version cannot do that, and keeps its free pages.

use rowmill_store::Result;
use rusqlite::Connection;

use crate::convert::backend;

/// How many pages go back in one transaction: half a mebibyte, few enough that a waiting writer barely notices.
const SLICE_PAGES: u32 = 128;
/// What is kept for rows to come: this part of the file, and at least so many pages.
const KEPT_PART: i64 = 16;
const KEPT_PAGES_MIN: i64 = 1_024;
/// What SQLite calls a database that can give pages back when it is told to.
const INCREMENTAL: i64 = 2;

/// Makes pages of a database movable in which nothing has been written yet. For one that exists, it is so in its copies.
pub(crate) fn prepare(connection: &Connection) -> Result<()> {
    connection.pragma_update(None, "auto_vacuum", INCREMENTAL).map_err(backend)
}

/// Gives some pages back, and says whether there are more.
pub(crate) fn give_back_some(connection: &Connection) -> Result<bool> {
    if has_more(connection)? {
        // Each step gives one page back.
        connection.pragma(None, "incremental_vacuum", SLICE_PAGES, |_| Ok(())).map_err(backend)?;
        if has_more(connection)? {
            return Ok(true);
        }
    } else if !is_uncut(connection)? {
        return Ok(false);
    }
    // The file is cut when the log is folded into it. While another thread does that, it is tried again.
    connection.query_row("PRAGMA wal_checkpoint(passive)", (), |row| row.get(0)).map_err(backend)
}

/// Whether the file is longer than the database: pages were given back, and the log was not folded since.
fn is_uncut(connection: &Connection) -> Result<bool> {
    let pages =
        |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0)).map_err(backend);
    let bytes = pages("page_count")?.saturating_mul(pages("page_size")?);
    let file = connection.path().and_then(|path| std::fs::metadata(path).ok());
    Ok(file.is_some_and(|file| file.len() > bytes))
}

fn has_more(connection: &Connection) -> Result<bool> {
    let number =
        |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(backend);
    let (free, all) = (number("freelist_count")?, number("page_count")?);
    Ok(free > KEPT_PAGES_MIN.max(all / KEPT_PART) && number("auto_vacuum")? == INCREMENTAL)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::connection::{READER_CACHE_KIB, connect};
    use crate::integrity::integrity;

    fn filled(file: &Path) -> Connection {
        let connection = connect(file, READER_CACHE_KIB).unwrap();
        let sql = "CREATE TABLE t (k INTEGER PRIMARY KEY, v BLOB); \
                   WITH RECURSIVE n(k) AS (VALUES (1) UNION ALL SELECT k + 1 FROM n WHERE k < 4000) \
                   INSERT INTO t SELECT k, zeroblob(3000) FROM n";
        connection.execute_batch(sql).unwrap();
        connection
    }

    fn pages(connection: &Connection) -> i64 {
        connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap()
    }

    #[test]
    fn deleted_rows_give_their_pages_back() {
        let dir = tempfile::tempdir().unwrap();
        let connection = filled(&dir.path().join("test.db"));
        let before = pages(&connection);
        assert!(!give_back_some(&connection).unwrap(), "nothing is free");
        // The last rows stay, so that their pages have to move.
        connection.execute_batch("DELETE FROM t WHERE k < 3900").unwrap();
        assert_eq!(pages(&connection), before);
        let mut slices = 1;
        while give_back_some(&connection).unwrap() {
            slices += 1;
        }
        assert_eq!(slices, (before - 100 - KEPT_PAGES_MIN) / i64::from(SLICE_PAGES) + 1);
        assert!(pages(&connection) < before / 2, "{before} {}", pages(&connection));
        let length = std::fs::metadata(dir.path().join("test.db")).unwrap().len();
        assert_eq!(length, pages(&connection).unsigned_abs() * 4096);
        drop(connection);
        // Every page is read with its checksum.
        let connection = connect(&dir.path().join("test.db"), READER_CACHE_KIB).unwrap();
        assert_eq!(integrity(&connection, 5).unwrap(), Vec::<String>::new());
        let rows: i64 = connection.query_row("SELECT count(*) FROM t", (), |row| row.get(0)).unwrap();
        assert_eq!(rows, 101);
    }

    #[test]
    fn a_file_that_a_reader_kept_from_being_cut_is_cut_later() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("test.db");
        let connection = filled(&file);
        connection.execute_batch("PRAGMA wal_checkpoint(truncate)").unwrap();
        let length = || std::fs::metadata(&file).unwrap().len();
        let before = length();
        let reading = connect(&file, READER_CACHE_KIB).unwrap();
        reading.execute_batch("BEGIN; SELECT * FROM t LIMIT 1").unwrap();
        connection.execute_batch("DELETE FROM t WHERE k < 3900").unwrap();
        while give_back_some(&connection).unwrap() {}
        assert_eq!(length(), before, "the reader needs it");
        reading.execute_batch("COMMIT").unwrap();
        assert!(!give_back_some(&connection).unwrap());
        assert!(length() < before / 2, "{before} {}", length());
    }

    #[test]
    fn a_database_of_an_earlier_version_keeps_its_pages_and_its_copy_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("old.db");
        drop(Connection::open(&file).unwrap().execute_batch("CREATE TABLE old (k)"));
        let connection = filled(&file);
        connection.execute_batch("DELETE FROM t").unwrap();
        let before = pages(&connection);
        assert!(!give_back_some(&connection).unwrap());
        assert_eq!(pages(&connection), before);
        prepare(&connection).unwrap();
        let copy = dir.path().join("new.db");
        connection.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        let copy = connect(&copy, READER_CACHE_KIB).unwrap();
        let mode: i64 = copy.pragma_query_value(None, "auto_vacuum", |row| row.get(0)).unwrap();
        assert_eq!(mode, INCREMENTAL);
    }
}
