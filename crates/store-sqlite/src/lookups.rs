//! Finding the rows that hold a value, for columns that rows are matched on.
//!
//! The first match on a column indexes it (`lookup_build.rs`); from then on every write keeps the index.

use rowmill_model::record::{Cells, Slot};
use rowmill_store::Result;
use rowmill_store::lookup::{self, CANDIDATES_MAX};
use rusqlite::Connection;

use crate::convert::backend;

/// The columns of a project whose index is kept, those included that are still being indexed.
pub(crate) fn slots(connection: &Connection, project: i64) -> Result<Vec<Slot>> {
    slots_by(connection, project, "SELECT slot FROM lookup_columns WHERE project = ?1 ORDER BY slot")
}

/// The columns of a project that are indexed whole.
pub(crate) fn whole_slots(connection: &Connection, project: i64) -> Result<Vec<Slot>> {
    let sql = "SELECT slot FROM lookup_columns WHERE project = ?1 AND next_position IS NULL ORDER BY slot";
    slots_by(connection, project, sql)
}

pub(crate) fn slots_by(connection: &Connection, project: i64, sql: &str) -> Result<Vec<Slot>> {
    let mut query = connection.prepare_cached(sql).map_err(backend)?;
    let slots = query.query_map([project], |row| row.get(0)).map_err(backend)?;
    slots.collect::<rusqlite::Result<_>>().map_err(backend)
}

/// The entries of columns that are indexed whole.
pub(crate) fn count(connection: &Connection, project: i64) -> Result<u64> {
    connection
        .prepare_cached(
            "SELECT count(*) FROM lookups WHERE project = ?1 \
             AND slot IN (SELECT slot FROM lookup_columns WHERE project = ?1 AND next_position IS NULL)",
        )
        .and_then(|mut query| query.query_row([project], |row| row.get(0)))
        .map_err(backend)
}

/// Whether a column is indexed whole.
pub(crate) fn is_whole(connection: &Connection, project: i64, slot: Slot) -> Result<bool> {
    Ok(whole_slots(connection, project)?.contains(&slot))
}

/// Notes where a new row's values stand.
pub(crate) fn add(
    connection: &Connection,
    project: i64,
    slots: &[Slot],
    position: u64,
    cells: &Cells<'_>,
) -> Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO lookups (project, slot, hash, position) VALUES (?1, ?2, ?3, ?4)")
        .map_err(backend)?;
    for slot in slots {
        if let Some(hash) = lookup::hash_of(*slot, cells) {
            insert.execute((project, slot, hash, position)).map_err(backend)?;
        }
    }
    Ok(())
}

/// The positions at which a value with this hash may stand: as many as are compared, and one more if there is one.
pub(crate) fn positions(connection: &Connection, project: i64, slot: Slot, hash: i64) -> Result<Vec<u64>> {
    connection
        .prepare_cached(
            "SELECT position FROM lookups WHERE project = ?1 AND slot = ?2 AND hash = ?3 ORDER BY position LIMIT ?4",
        )
        .and_then(|mut query| {
            query.query_map((project, slot, hash, CANDIDATES_MAX + 1), |row| row.get(0))?.collect()
        })
        .map_err(backend)
}
