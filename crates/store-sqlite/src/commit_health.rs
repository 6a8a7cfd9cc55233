//! Whether commits reach the disk: the last one failed, or one has been waiting for the disk for long.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_store::{Result, StoreError, WriteHealth};
use rusqlite::Connection;

use crate::convert::backend;

/// A commit that takes longer waits for a disk that does not answer.
const COMMIT_TIME_MAX: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct CommitHealth {
    writes: WriteHealth,
    committing_since: Mutex<Option<Instant>>,
}

impl CommitHealth {
    /// Commits, and is seen to do so.
    pub(crate) fn watch<T>(&self, commit: impl FnOnce() -> T) -> T {
        *self.committing_since.lock() = Some(SystemClock.monotonic());
        let committed = commit();
        *self.committing_since.lock() = None;
        committed
    }

    pub(crate) fn note(&self, outcome: &Result<()>) {
        self.writes.note(outcome);
    }

    pub(crate) fn wants_probe(&self) -> bool {
        self.writes.wants_probe(SystemClock.monotonic())
    }

    pub(crate) fn check(&self) -> Result<()> {
        let waiting = self.committing_since.lock().map(|since| since.elapsed());
        match waiting.filter(|time| *time > COMMIT_TIME_MAX) {
            Some(time) => {
                let words = format!("a write has been waiting for the disk for {} s", time.as_secs());
                Err(StoreError::StorageFailed(words.into()))
            }
            None => self.writes.check(),
        }
    }
}

/// Writes a page of the file, with what it holds already: it fails as any other write would.
pub(crate) fn touch(connection: &Connection) -> Result<()> {
    let version: u32 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(backend)?;
    connection.pragma_update(None, "user_version", version).map_err(backend)
}
