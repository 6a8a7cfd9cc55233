//! Checkpoints in the background: a thread folds the write-ahead log into the file, so that writes do not wait for it.
//!
//! SQLite itself would do this in the thread that commits, which then keeps everybody waiting for megabytes of other people's
//! pages. A log that is still being written to cannot start again at its beginning, so the writer does the last few pages: not
//! within its commit but after it, because readers see what was committed and wait until they are told of it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use rowmill_store::{Result, StoreError};
use rusqlite::Connection;
use rusqlite::hooks::Wal;

use crate::connection::{READER_CACHE_KIB, connect};
use crate::convert::backend;

/// The log is folded whenever it has grown by so many pages: 8 MiB.
const FOLD_PAGES: u32 = 2_000;
/// A log of so many pages starts again at its beginning as soon as it is folded: 32 MiB.
const RESTART_PAGES: u32 = 8_000;
/// At so many pages the thread is too slow, and the writer folds the log itself: 128 MiB. More than that is there only while
/// a reader needs it.
const LOG_PAGES_MAX: u32 = 32_000;

#[derive(Debug)]
pub(crate) struct Checkpointer {
    log: Arc<WriteAheadLog>,
    thread: Option<JoinHandle<()>>,
}

/// What the writer and the thread tell each other about the log.
#[derive(Debug, Default)]
pub(crate) struct WriteAheadLog {
    state: Mutex<State>,
    grown: Condvar,
    /// Set when the writer is to fold what is left, so that the log starts again.
    to_restart: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    pages: u32,
    folded: u32,
    is_closed: bool,
}

impl Checkpointer {
    /// Takes over the checkpoints of the connection that writes.
    pub(crate) fn start(file: &Path, writing: &mut Connection) -> Result<Self> {
        let log = Arc::<WriteAheadLog>::default();
        let noting = Arc::clone(&log);
        let committed = move |_: &mut Wal, pages: i32| {
            noting.note(pages.unsigned_abs());
            Ok(())
        };
        writing.wal_hook(Some(committed)).map_err(backend)?;
        let folding = connect(file, READER_CACHE_KIB)?;
        let watched = Arc::clone(&log);
        let thread = std::thread::Builder::new()
            .name("rowmill-checkpointer".to_owned())
            .spawn(move || run(&folding, &watched))
            .map_err(|error| StoreError::Backend(error.into()))?;
        Ok(Self { log, thread: Some(thread) })
    }

    pub(crate) fn log(&self) -> Arc<WriteAheadLog> {
        Arc::clone(&self.log)
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.log.state.lock().is_closed = true;
        self.log.grown.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl WriteAheadLog {
    /// Folds what is left if the log is to start again, or if the thread is too slow. For the writer, between two transactions.
    pub(crate) fn restart_if_due(&self, writing: &Connection) {
        let is_due =
            self.to_restart.swap(false, Ordering::AcqRel) || self.state.lock().pages >= LOG_PAGES_MAX;
        // What fails here is tried again after the next commit.
        if is_due && let Err(failure) = fold(writing) {
            tracing::warn!(%failure, "a checkpoint failed; the log is kept, and nothing is lost");
        }
    }

    /// Notes how many pages the log has after a commit.
    fn note(&self, pages: u32) {
        let mut state = self.state.lock();
        if pages < state.pages {
            state.folded = 0;
        }
        state.pages = pages;
        if state.is_due() {
            self.grown.notify_one();
        }
    }

    /// Waits until there is enough to fold; `false` at the end.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        while !state.is_closed && !state.is_due() {
            self.grown.wait(&mut state);
        }
        // Also if folding fails: then the log is folded when it has grown by as much again.
        state.folded = state.pages;
        !state.is_closed
    }
}

impl State {
    fn is_due(&self) -> bool {
        self.pages >= self.folded + FOLD_PAGES
    }
}

fn run(connection: &Connection, log: &WriteAheadLog) {
    while log.wait() {
        match fold(connection) {
            Ok(pages) if pages >= RESTART_PAGES => log.to_restart.store(true, Ordering::Release),
            Ok(_) => {}
            Err(failure) => {
                tracing::warn!(%failure, "a checkpoint failed; the log is kept, and nothing is lost");
            }
        }
    }
}

/// Folds what no reader needs, and returns how many pages the log has.
fn fold(connection: &Connection) -> Result<u32> {
    // An empty log counts as -1.
    let sql = "PRAGMA wal_checkpoint(passive)";
    let pages: i64 = connection.query_row(sql, (), |row| row.get(1)).map_err(backend)?;
    Ok(u32::try_from(pages.max(0)).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::connection::WRITER_CACHE_KIB;

    fn log_bytes(dir: &Path) -> u64 {
        std::fs::metadata(dir.join("test.db-wal")).map_or(0, |file| file.len())
    }

    fn fill(connection: &Connection, checkpointer: &Checkpointer, commits: u32) {
        for _ in 0..commits {
            let sql = "WITH RECURSIVE n(k) AS (VALUES (1) UNION ALL SELECT k + 1 FROM n WHERE k < 100) \
                       INSERT INTO t SELECT zeroblob(4000) FROM n";
            connection.execute(sql, ()).unwrap();
            checkpointer.log().restart_if_due(connection);
        }
    }

    #[test]
    fn the_log_is_folded_beside_writes_and_starts_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("test.db");
        let mut writing = connect(&file, WRITER_CACHE_KIB).unwrap();
        writing.execute_batch("CREATE TABLE t (v BLOB)").unwrap();
        let checkpointer = Checkpointer::start(&file, &mut writing).unwrap();
        // Half a gigabyte, many times what the log may have.
        fill(&writing, &checkpointer, 1_300);
        let most = u64::from(LOG_PAGES_MAX + FOLD_PAGES) * 4_200;
        assert!(log_bytes(dir.path()) < most, "{} bytes", log_bytes(dir.path()));
        drop(checkpointer);
        let rows: u32 = writing.query_row("SELECT count(*) FROM t", (), |row| row.get(0)).unwrap();
        assert_eq!(rows, 130_000);
    }

    #[test]
    fn a_reader_keeps_its_snapshot_while_the_log_grows_and_is_folded_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("test.db");
        let mut writing = connect(&file, WRITER_CACHE_KIB).unwrap();
        writing.execute_batch("CREATE TABLE t (v BLOB)").unwrap();
        let checkpointer = Checkpointer::start(&file, &mut writing).unwrap();
        fill(&writing, &checkpointer, 1);
        let reading = connect(&file, READER_CACHE_KIB).unwrap();
        let rows = |connection: &Connection| -> u32 {
            connection.query_row("SELECT count(*) FROM t", (), |row| row.get(0)).unwrap()
        };
        reading.execute_batch("BEGIN").unwrap();
        assert_eq!(rows(&reading), 100);
        fill(&writing, &checkpointer, 30);
        assert_eq!(rows(&reading), 100);
        reading.execute_batch("COMMIT").unwrap();
        assert_eq!(rows(&reading), 3_100);
        fill(&writing, &checkpointer, 30);
        let is_folded = || std::fs::metadata(&file).unwrap().len() > 4_000 * 4_096;
        for _ in 0..1_000 {
            if is_folded() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the log was not folded within 10 seconds");
    }
}
