//! Finding the rows that hold a value, for columns that rows are matched on.
//!
//! The first match on a column indexes it; from then on every write keeps the index.

use rowmill_model::record::{Cells, Slot};
use rowmill_store::{Result, lookup};
use rusqlite::Connection;

use crate::convert::backend;
use crate::positions::{key_range, split};

/// Rows that are looked at for one value.
const CANDIDATES_MAX: u32 = 64;

/// The columns of a project that are indexed.
pub(crate) fn slots(connection: &Connection, project: i64) -> Result<Vec<Slot>> {
    let mut query = connection
        .prepare_cached("SELECT slot FROM lookup_columns WHERE project = ?1 ORDER BY slot")
        .map_err(backend)?;
    let slots = query.query_map([project], |row| row.get(0)).map_err(backend)?;
    slots.collect::<rusqlite::Result<_>>().map_err(backend)
}

/// Indexes a column that is not indexed yet.
pub(crate) fn ensure(connection: &Connection, project: i64, slot: Slot) -> Result<()> {
    let added = connection
        .execute(
            "INSERT INTO lookup_columns (project, slot) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            (project, slot),
        )
        .map_err(backend)?;
    if added == 0 {
        return Ok(());
    }
    let keys = key_range(project);
    let mut rows = connection
        .prepare_cached("SELECT key, vals FROM rows WHERE key BETWEEN ?1 AND ?2")
        .map_err(backend)?;
    let mut rows = rows.query((keys.start(), keys.end())).map_err(backend)?;
    while let Some(row) = rows.next().map_err(backend)? {
        let (_, position) = split(row.get(0).map_err(backend)?);
        let cells = Cells::unpack(row.get_ref(1).and_then(|vals| Ok(vals.as_blob()?)).map_err(backend)?)?;
        add(connection, project, &[slot], position, &cells)?;
    }
    Ok(())
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

/// The positions at which a value with this hash may stand, the first of them. Two rows that hold the value say all
/// there is to say, and more than these do not share a hash by chance.
pub(crate) fn positions(connection: &Connection, project: i64, slot: Slot, hash: i64) -> Result<Vec<u64>> {
    connection
        .prepare_cached(
            "SELECT position FROM lookups WHERE project = ?1 AND slot = ?2 AND hash = ?3 ORDER BY position LIMIT ?4",
        )
        .and_then(|mut query| {
            query.query_map((project, slot, hash, CANDIDATES_MAX), |row| row.get(0))?.collect()
        })
        .map_err(backend)
}
