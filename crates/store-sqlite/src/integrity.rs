//! SQLite's own check of a database file.

use rowmill_store::Result;
use rusqlite::Connection;

use crate::convert::backend;

/// What SQLite finds wrong, so many findings at most; nothing if all is well.
pub(crate) fn integrity(connection: &Connection, findings_max: u32) -> Result<Vec<String>> {
    let mut check =
        connection.prepare(&format!("PRAGMA integrity_check({findings_max})")).map_err(backend)?;
    let found = check.query_map((), |row| row.get(0)).map_err(backend)?;
    let found: Vec<String> = found.collect::<rusqlite::Result<_>>().map_err(backend)?;
    Ok(found.into_iter().filter(|words| words != "ok").collect())
}
