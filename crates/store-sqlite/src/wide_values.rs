//! Values that are stored apart from their rows. [`rowmill_store::wide_values`] says which.
//!
//! They lie under their row's key with the project's number positive, also while the row is in the trash: a position is
//! never used again, so they need not move when the row goes there or comes back.

use std::sync::Arc;

use rowmill_model::Record;
use rowmill_model::record::{Damaged, Slot};
use rowmill_store::wide_values::WideSlots;
use rowmill_store::{Result, RowWrite, StoreError, WantedSlots};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use crate::convert::backend;
use crate::positions::{key, split};

/// What the values of a row take, or of all rows that a statement finds.
macro_rules! value_bytes {
    () => {
        "octet_length(vals) + coalesce(wide_bytes, 0)"
    };
    (sum) => {
        "coalesce(sum(octet_length(vals) + coalesce(wide_bytes, 0)), 0)"
    };
}
pub(crate) use value_bytes;

/// Where the wide values of a row lie.
fn key_of(row_key: i64) -> i64 {
    let (num, position) = split(row_key);
    key(num.abs(), position)
}

/// What a row notes of its wide values.
pub(crate) fn noted(row: &Row<'_>, column: usize) -> Result<WideSlots> {
    match row.get_ref(column).map_err(backend)? {
        ValueRef::Null => Ok(WideSlots::default()),
        note => WideSlots::from_bytes(note.as_blob().map_err(|error| backend(error.into()))?),
    }
}

/// A row's values: those inside it, and those of its wide ones that are wanted.
pub(crate) fn join(
    connection: &Connection,
    row_key: i64,
    near: &[u8],
    slots: &WideSlots,
    wanted: &WantedSlots,
) -> Result<Record> {
    let mut read: Vec<(Slot, Vec<u8>)> = Vec::new();
    let mut query = connection
        .prepare_cached("SELECT value FROM wide_values WHERE key = ?1 AND slot = ?2")
        .map_err(backend)?;
    for slot in slots.wanted(wanted) {
        let mut found = query.query((key_of(row_key), slot)).map_err(backend)?;
        if let Some(row) = found.next().map_err(backend)? {
            read.push((slot, row.get(0).map_err(backend)?));
        }
    }
    slots.join(near, wanted, &read)
}

/// Reads one of them.
pub(crate) fn one(connection: &Connection, row_key: i64, slot: Slot) -> Result<Arc<str>> {
    let mut query = connection
        .prepare_cached("SELECT value FROM wide_values WHERE key = ?1 AND slot = ?2")
        .map_err(backend)?;
    let mut found = query.query((key_of(row_key), slot)).map_err(backend)?;
    let missing = || StoreError::Damaged("a wide value of a row is missing".to_owned());
    let row = found.next().map_err(backend)?.ok_or_else(missing)?;
    let value = row.get_ref(0).and_then(|value| Ok(value.as_blob()?)).map_err(backend)?;
    Ok(std::str::from_utf8(value).map_err(|_| Damaged)?.into())
}

/// How many bytes the wide values take that are wanted. SQLite knows that without reading them.
pub(crate) fn bytes(
    connection: &Connection,
    row_key: i64,
    slots: &WideSlots,
    wanted: &WantedSlots,
) -> Result<usize> {
    let mut query = connection
        .prepare_cached("SELECT octet_length(value) FROM wide_values WHERE key = ?1 AND slot = ?2")
        .map_err(backend)?;
    let mut bytes = 0_usize;
    for slot in slots.wanted(wanted) {
        let mut found = query.query((key_of(row_key), slot)).map_err(backend)?;
        if let Some(row) = found.next().map_err(backend)? {
            bytes = bytes.saturating_add(row.get(0).map_err(backend)?);
        }
    }
    Ok(bytes)
}

/// All that is stored apart from a row, in the order of slots.
pub(crate) fn all(connection: &Connection, row_key: i64) -> Result<Vec<(Slot, Vec<u8>)>> {
    connection
        .prepare_cached("SELECT slot, value FROM wide_values WHERE key = ?1 ORDER BY slot")
        .and_then(|mut query| {
            query.query_map([key_of(row_key)], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
        .map_err(backend)
}

/// Writes what of a row is stored apart from it.
pub(crate) fn write(connection: &Connection, row_key: i64, row: &RowWrite) -> Result<()> {
    if row.wide.is_none() {
        return Ok(());
    }
    let mut delete =
        connection.prepare_cached("DELETE FROM wide_values WHERE key = ?1 AND slot = ?2").map_err(backend)?;
    for slot in row.gone() {
        delete.execute((key_of(row_key), slot)).map_err(backend)?;
    }
    let mut put = connection
        .prepare_cached(
            "INSERT INTO wide_values (key, slot, value) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET value = excluded.value",
        )
        .map_err(backend)?;
    for (slot, value) in row.put() {
        put.execute((key_of(row_key), slot, value.as_bytes())).map_err(backend)?;
    }
    Ok(())
}

/// Deletes what is stored apart from a row that is deleted for good.
pub(crate) fn delete(connection: &Connection, row_key: i64) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM wide_values WHERE key = ?1")
        .and_then(|mut delete| delete.execute([key_of(row_key)]))
        .map(|_| ())
        .map_err(backend)
}

/// How many values belong to rows that do not exist, neither in their table nor in its trash.
pub(crate) fn orphans(connection: &Connection) -> Result<u64> {
    // The key of a row in the trash has its project's number turned negative.
    let sql = "SELECT count(*) FROM wide_values w \
               WHERE NOT EXISTS (SELECT 1 FROM rows WHERE key = w.key) \
               AND NOT EXISTS (SELECT 1 FROM rows WHERE key = w.key - ((w.key >> 40) << 41))";
    connection.query_row(sql, (), |row| row.get(0)).map_err(backend)
}
