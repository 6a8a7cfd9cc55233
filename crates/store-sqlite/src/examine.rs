//! A quick look at a data folder, which changes nothing (`rowmill doctor`). A process may serve the folder meanwhile.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rowmill_store::{Result, StoreError};
use rusqlite::{Connection, ErrorCode};

use crate::carry::check_finished;
use crate::connection::read_only;
use crate::convert::backend;
use crate::data_dir::{DATABASE_FILE, LOCK_FILE, check_restored};
use crate::{page_checksums, schema};

/// How many findings of SQLite's own check are told.
const FINDINGS_MAX: u32 = 10;

/// What the look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// Whether the next start migrates the database.
    pub needs_migration: bool,
    /// Whether its pages have checksums.
    pub has_checksums: bool,
    /// What SQLite finds wrong. `None` if that would have taken too long.
    pub findings: Option<Vec<String>>,
}

/// Looks at the database of a data folder, for this long at most.
pub fn examine(data_dir: &Path, within: Duration) -> Result<Examined> {
    check_restored(data_dir)?;
    let file = data_dir.join(DATABASE_FILE);
    let connection = read_only(&file)?;
    let needs_migration = !schema::is_current(&connection)?;
    if !needs_migration {
        check_finished(&connection)?;
    }
    let has_checksums = page_checksums::are_in(&file);
    Ok(Examined { needs_migration, has_checksums, findings: quick_check(&connection, within)? })
}

/// Whether a process serves the data folder.
pub fn is_served(data_dir: &Path) -> bool {
    let lock = File::options().write(true).open(data_dir.join(LOCK_FILE));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}

/// As `integrity_check`, without comparing the indexes.
fn quick_check(connection: &Connection, within: Duration) -> Result<Option<Vec<String>>> {
    let interrupt = connection.get_interrupt_handle();
    let (done, is_done) = mpsc::channel::<()>();
    let timer = std::thread::spawn(move || {
        if is_done.recv_timeout(within) == Err(mpsc::RecvTimeoutError::Timeout) {
            interrupt.interrupt();
        }
    });
    let found = findings(connection);
    drop(done);
    // It cannot panic, and there is nothing to be had from it.
    let _ = timer.join();
    match found {
        Ok(found) => Ok(Some(found.into_iter().filter(|words| words != "ok").collect())),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => Ok(None),
        Err(error) => match backend(error) {
            StoreError::Damaged(words) => Ok(Some(vec![words])),
            other => Err(other),
        },
    }
}

fn findings(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut check = connection.prepare(&format!("PRAGMA quick_check({FINDINGS_MAX})"))?;
    let found = check.query_map((), |row| row.get(0))?;
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Access, SqliteStore};

    #[tokio::test]
    async fn a_folder_is_looked_at_without_being_changed() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), Access::Serve).unwrap();
        assert!(is_served(folder.path()));
        let found = examine(folder.path(), Duration::from_mins(1)).unwrap();
        let expected = Examined { needs_migration: false, has_checksums: true, findings: Some(Vec::new()) };
        assert_eq!(found, expected);
        drop(store);
        assert!(!is_served(folder.path()));
    }
}
