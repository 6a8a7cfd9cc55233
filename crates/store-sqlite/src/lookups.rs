//! Finding the rows that hold a value, for columns that rows are matched on.
//!
//! The first match on a column indexes it; from then on every write keeps the index.

use rowmill_model::record::{Cells, Slot};
use rowmill_model::value;
use rowmill_store::Result;
use rusqlite::Connection;

use crate::backend;
use crate::positions::{key, key_range, split};

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
        change(connection, project, &[slot], position, None, Some(&cells))?;
    }
    Ok(())
}

/// Keeps the index over a row that changed from `old` to `new`.
pub(crate) fn change(
    connection: &Connection,
    project: i64,
    slots: &[Slot],
    position: u64,
    old: Option<&Cells<'_>>,
    new: Option<&Cells<'_>>,
) -> Result<()> {
    for slot in slots {
        let hash_of =
            |cells: Option<&Cells<'_>>| cells.and_then(|cells| cells.get(*slot)).and_then(value::match_key);
        let (old, new) = (hash_of(old), hash_of(new));
        if old == new {
            continue;
        }
        if let Some(hash) = old {
            connection
                .prepare_cached(
                    "DELETE FROM lookups WHERE project = ?1 AND slot = ?2 AND hash = ?3 AND position = ?4",
                )
                .and_then(|mut delete| delete.execute((project, slot, hash.cast_signed(), position)))
                .map_err(backend)?;
        }
        if let Some(hash) = new {
            connection
                .prepare_cached("INSERT INTO lookups (project, slot, hash, position) VALUES (?1, ?2, ?3, ?4)")
                .and_then(|mut insert| insert.execute((project, slot, hash.cast_signed(), position)))
                .map_err(backend)?;
        }
    }
    Ok(())
}

/// The positions of the rows whose value in `slot` is the same as `raw`, the first two of them: more would
/// say no more. An empty value matches nothing.
pub(crate) fn find(connection: &Connection, project: i64, slot: Slot, raw: &str) -> Result<Vec<u64>> {
    let Some(hash) = value::match_key(raw) else { return Ok(Vec::new()) };
    let mut candidates = connection
        .prepare_cached(
            "SELECT position FROM lookups WHERE project = ?1 AND slot = ?2 AND hash = ?3 ORDER BY position",
        )
        .map_err(backend)?;
    let positions = candidates
        .query_map((project, slot, hash.cast_signed()), |row| row.get::<_, u64>(0))
        .map_err(backend)?;
    let mut matching = Vec::new();
    for position in positions {
        let position = position.map_err(backend)?;
        // Two values may share a hash; the row itself decides.
        let vals: Vec<u8> = connection
            .prepare_cached("SELECT vals FROM rows WHERE key = ?1")
            .and_then(|mut query| query.query_row([key(project, position)], |row| row.get(0)))
            .map_err(backend)?;
        if Cells::unpack(&vals)?.get(slot).is_some_and(|stored| value::same(stored, raw)) {
            matching.push(position);
            if matching.len() == 2 {
                break;
            }
        }
    }
    Ok(matching)
}
