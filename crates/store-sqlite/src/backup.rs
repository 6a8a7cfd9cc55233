//! Copying the database of a data folder into a file (`rowmill backup`), while a process may serve it.
//!
//! The copy is made in one read transaction with `VACUUM INTO`. Writers go on; the log is not folded into the file until
//! the copy is done. SQLite's backup in steps would begin anew with every commit, and never end.

use std::fs::File;
use std::path::Path;

use rowmill_store::{Result, StoreError};
use rusqlite::Connection;

use crate::carry::check_finished;
use crate::connection::{READER_CACHE_KIB, connect, immutable, uri};
use crate::convert::{backend, unusable};
use crate::data_dir::{DATABASE_FILE, check_restored};
use crate::integrity::integrity;
use crate::page_checksums::NEW_PARAMETER;
use crate::{free_pages, page_checksums, schema};

/// What a backup holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupContent {
    pub bytes: u64,
    pub projects: u64,
    pub rows: u64,
    /// Whether a version of now made it. An older database is migrated when a server starts on it.
    pub is_current: bool,
    /// Whether as many rows are there as the counters say.
    pub adds_up: bool,
}

/// Copies the database of a data folder into a new file, syncs it, and verifies the copy.
pub fn back_up(data_dir: &Path, to: &Path) -> Result<BackupContent> {
    copy(data_dir, to)?;
    verify(to)
}

/// Copies the database of a data folder into a new file and syncs it. Every page that is read is checked.
pub(crate) fn copy(data_dir: &Path, to: &Path) -> Result<()> {
    check_restored(data_dir)?;
    let file = data_dir.join(DATABASE_FILE);
    if !std::fs::metadata(&file).is_ok_and(|file| file.len() > 0) {
        let words = format!("there is no database to back up: {} does not exist or is empty", file.display());
        return Err(StoreError::Missing(words));
    }
    let failed = |error: std::io::Error| unusable(to, &error);
    let made = new_file(to).map_err(failed)?;
    let has_checksums = i32::from(page_checksums::are_in(&file));
    let target = uri(to, &format!("{}={has_checksums}", NEW_PARAMETER.to_string_lossy()))?;
    let connection = connect(&file, READER_CACHE_KIB)?;
    schema::is_current(&connection)?;
    check_finished(&connection)?;
    free_pages::prepare(&connection)?;
    connection.execute("VACUUM INTO ?1", [target]).map_err(backend)?;
    drop(connection);
    made.sync_all().map_err(failed)
}

/// Verifies a file: every page, every index, and the number of rows.
pub fn verify(file: &Path) -> Result<BackupContent> {
    let bytes = std::fs::metadata(file).map_err(|error| unusable(file, &error))?.len();
    let connection = immutable(file)?;
    let is_current = schema::is_current(&connection)?;
    check_finished(&connection)?;
    if let Some(words) = integrity(&connection, 1)?.into_iter().next() {
        return Err(StoreError::Damaged(words));
    }
    let count = |sql: &str| one(&connection, sql);
    Ok(BackupContent {
        bytes,
        projects: count("SELECT count(*) FROM projects")?,
        rows: count("SELECT coalesce(sum(row_count), 0) FROM counters JOIN projects ON num = project")?,
        is_current,
        adds_up: count(COUNTERS_THAT_ARE_WRONG)? == 0,
    })
}

/// Whether the pages of a file carry checksums.
pub fn has_checksums(file: &Path) -> bool {
    page_checksums::are_in(file)
}

/// A project's rows have a run of keys.
const COUNTERS_THAT_ARE_WRONG: &str = "SELECT count(*) FROM counters JOIN projects ON num = project WHERE row_count <> \
     (SELECT count(*) FROM rows WHERE key BETWEEN project << 40 AND (project + 1 << 40) - 1)";

fn one(connection: &Connection, sql: &str) -> Result<u64> {
    connection.query_row(sql, (), |row| row.get(0)).map_err(backend)
}

/// For its owner alone: it holds the teams' data.
fn new_file(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
