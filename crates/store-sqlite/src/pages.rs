//! Reading rows.

use std::ops::ControlFlow;

use rowmill_model::{CellStates, ProjectId, Record, RowId};
use rowmill_store::{PageStart, Result, RowRef, RowsPage, StoreError, StoredRow, Visit};
use rusqlite::{Connection, Row};

use crate::positions::{key, key_range, locate, split};
use crate::projects::State;
use crate::{SHORT_PAGE_ROWS, backend, damaged, projects, rows, uuid_of};

pub(crate) fn page(
    connection: &Connection,
    project: ProjectId,
    start: PageStart,
    limit: u32,
) -> Result<RowsPage> {
    let State { head, counters, .. } =
        projects::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let total = counters.row_count;
    let first = match start {
        PageStart::After(position) => Some(key(head.num, position).saturating_add(1)),
        PageStart::Offset(offset) if offset >= total => None,
        PageStart::Offset(offset) => locate(connection, head.num, offset, counters.next_position)?,
    };
    let Some(first) = first else { return Ok(RowsPage { rows: Vec::new(), total, more: false }) };
    let mut query = connection
        .prepare_cached(
            "SELECT key, id, vals, states FROM rows WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3",
        )
        .map_err(backend)?;
    // One row more than asked for tells whether any follow.
    let mut found = query.query((first, key_range(head.num).end(), u64::from(limit) + 1)).map_err(backend)?;
    let mut rows = Vec::with_capacity(usize::try_from(limit.min(SHORT_PAGE_ROWS)).unwrap_or_default() + 1);
    while let Some(row) = found.next().map_err(backend)? {
        rows.push(stored_row(row)?);
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > limit;
    rows.truncate(limit);
    Ok(RowsPage { rows, total, more })
}

pub(crate) fn at(connection: &Connection, project: ProjectId, positions: &[u64]) -> Result<Vec<StoredRow>> {
    let head = projects::head(connection, project)?.ok_or(StoreError::UnknownProject)?;
    positions
        .iter()
        .filter_map(|position| read_row(connection, key(head.num, *position)).transpose())
        .collect()
}

pub(crate) fn one(connection: &Connection, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
    let head = projects::head(connection, project)?.ok_or(StoreError::UnknownProject)?;
    rows::find_row(connection, head, row)
}

pub(crate) fn scan(
    connection: &Connection,
    project: ProjectId,
    after: Option<u64>,
    mut visit: Visit,
) -> Result<()> {
    let head = projects::head(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let first = after.map_or(key(head.num, 0), |position| key(head.num, position).saturating_add(1));
    let mut query = connection
        .prepare_cached("SELECT key, id, vals, states FROM rows WHERE key BETWEEN ?1 AND ?2 ORDER BY key")
        .map_err(backend)?;
    let mut found = query.query((first, key_range(head.num).end())).map_err(backend)?;
    while let Some(row) = found.next().map_err(backend)? {
        let (_, position) = split(row.get(0).map_err(backend)?);
        let states = decode_states(row)?;
        let seen = RowRef {
            id: RowId::from_uuid(uuid_of(row, 1).map_err(backend)?),
            position,
            values: row.get_ref(2).and_then(|vals| Ok(vals.as_blob()?)).map_err(backend)?,
            states: states.as_ref(),
        };
        if visit(seen) == ControlFlow::Break(()) {
            break;
        }
    }
    Ok(())
}

/// The row at a key, if there is one.
pub(crate) fn read_row(connection: &Connection, key: i64) -> Result<Option<StoredRow>> {
    let mut query = connection
        .prepare_cached("SELECT key, id, vals, states FROM rows WHERE key = ?1")
        .map_err(backend)?;
    let mut found = query.query([key]).map_err(backend)?;
    found.next().map_err(backend)?.map(stored_row).transpose()
}

pub(crate) fn stored_row(row: &Row<'_>) -> Result<StoredRow> {
    let (_, position) = split(row.get(0).map_err(backend)?);
    let vals = row.get_ref(2).and_then(|vals| Ok(vals.as_blob()?)).map_err(backend)?;
    Ok(StoredRow {
        id: RowId::from_uuid(uuid_of(row, 1).map_err(backend)?),
        position,
        values: Record::from_bytes(vals),
        states: decode_states(row)?.unwrap_or_default(),
    })
}

/// `None` where every cell is idle.
fn decode_states(row: &Row<'_>) -> Result<Option<CellStates>> {
    match row.get_ref(3).and_then(|states| Ok(states.as_blob_or_null()?)).map_err(backend)? {
        Some(states) => serde_json::from_slice(states).map(Some).map_err(damaged),
        None => Ok(None),
    }
}
