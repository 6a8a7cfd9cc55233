//! Finding the rows that hold a value, for columns that rows are matched on.
//!
//! The first match on a column indexes it, in slices between other writes; from then on every write keeps the index.

use rowmill_model::record::{Cells, Slot};
use rowmill_store::{Result, lookup};
use rusqlite::Connection;

use crate::convert::backend;
use crate::positions::{key, key_range, split};

/// Rows that are looked at for one value.
const CANDIDATES_MAX: u32 = 64;
/// How much is indexed in one transaction: other writes wait for no longer than that takes.
const SLICE_ROWS: usize = 1_024;
const SLICE_BYTES: usize = 1024 * 1024;

/// The columns of a project whose index is kept, those included that are still being indexed.
pub(crate) fn slots(connection: &Connection, project: i64) -> Result<Vec<Slot>> {
    slots_by(connection, project, "SELECT slot FROM lookup_columns WHERE project = ?1 ORDER BY slot")
}

/// The columns of a project that are indexed whole.
pub(crate) fn whole_slots(connection: &Connection, project: i64) -> Result<Vec<Slot>> {
    let sql = "SELECT slot FROM lookup_columns WHERE project = ?1 AND next_position IS NULL ORDER BY slot";
    slots_by(connection, project, sql)
}

fn slots_by(connection: &Connection, project: i64, sql: &str) -> Result<Vec<Slot>> {
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

/// Indexes a column that is not indexed yet, or the rest of it.
pub(crate) fn ensure(connection: &Connection, project: i64, slot: Slot) -> Result<()> {
    while !index_slice(connection, project, slot)? {}
    Ok(())
}

/// Indexes some more rows of a column, and begins it if nobody has; says whether all rows are indexed. From the beginning on
/// every write keeps the index, so a row may be indexed before its turn.
pub(crate) fn index_slice(connection: &Connection, project: i64, slot: Slot) -> Result<bool> {
    connection
        .prepare_cached(
            "INSERT INTO lookup_columns (project, slot, next_position) VALUES (?1, ?2, 0) ON CONFLICT DO NOTHING",
        )
        .and_then(|mut insert| insert.execute((project, slot)))
        .map_err(backend)?;
    let first: Option<u64> = connection
        .prepare_cached("SELECT next_position FROM lookup_columns WHERE project = ?1 AND slot = ?2")
        .and_then(|mut query| query.query_row((project, slot), |row| row.get(0)))
        .map_err(backend)?;
    let Some(first) = first else { return Ok(true) };
    let Slice { mut entries, next_position } = read_slice(connection, project, slot, first)?;
    // In the order of the index, so that neighbours are written together.
    entries.sort_unstable();
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO lookups (project, slot, hash, position) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
        )
        .map_err(backend)?;
    for (hash, position) in entries {
        insert.execute((project, slot, hash, position)).map_err(backend)?;
    }
    connection
        .prepare_cached("UPDATE lookup_columns SET next_position = ?3 WHERE project = ?1 AND slot = ?2")
        .and_then(|mut update| update.execute((project, slot, next_position)))
        .map_err(backend)?;
    Ok(next_position.is_none())
}

/// Some rows' values in a column.
struct Slice {
    /// Hashes and positions.
    entries: Vec<(i64, u64)>,
    /// Where the next slice begins, if rows may follow.
    next_position: Option<u64>,
}

fn read_slice(connection: &Connection, project: i64, slot: Slot, first: u64) -> Result<Slice> {
    let (start, end) = (key(project, first), *key_range(project).end());
    let mut rows = connection
        .prepare_cached("SELECT key, vals FROM rows WHERE key BETWEEN ?1 AND ?2 ORDER BY key")
        .map_err(backend)?;
    let mut rows = rows.query((start, end)).map_err(backend)?;
    let (mut entries, mut count, mut bytes) = (Vec::new(), 0, 0);
    while let Some(row) = rows.next().map_err(backend)? {
        let (_, position) = split(row.get(0).map_err(backend)?);
        if count == SLICE_ROWS || bytes >= SLICE_BYTES {
            return Ok(Slice { entries, next_position: Some(position) });
        }
        let values = row.get_ref(1).and_then(|vals| Ok(vals.as_blob()?)).map_err(backend)?;
        (count, bytes) = (count + 1, bytes + values.len());
        if let Some(hash) = lookup::hash_of(slot, &Cells::unpack(values)?) {
            entries.push((hash, position));
        }
    }
    Ok(Slice { entries, next_position: None })
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
