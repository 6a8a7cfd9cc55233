//! Writing rows.

use std::collections::HashMap;

use rowmill_model::record::Slot;
use rowmill_model::{ProjectId, RowId};
use rowmill_store::{
    CellWrite, Change, Inserted, NewRow, NewRows, Result, RowAction, StoreError, WriteCells, WrittenCells,
};
use rusqlite::{Connection, OptionalExtension};

use crate::desk::Desk;
use crate::pages::{self, RawRow, raw_row};
use crate::positions::split;
use crate::projects::{self, Documents, Head};
use crate::{backend, lookups, receipts};

pub(crate) fn insert(
    connection: &Connection,
    documents: &Documents,
    batch: NewRows,
) -> Result<(Inserted, Vec<Change>)> {
    let NewRows { project, version, rows, match_on, project_save, ignored_keys, now_ms, once } = batch;
    let mut changes = Vec::new();
    let inserted = receipts::once(connection, once.as_ref(), || {
        let state = projects::state_at(connection, project, version)?;
        if let Some(slot) = match_on {
            lookups::ensure(connection, state.head.num, slot)?;
        }
        let mut desk = match project_save {
            Some(project) => {
                projects::write_document(connection, state.head, &project)?;
                Desk::open_saved(connection, state, *project)?
            }
            None => Desk::open(connection, documents, state)?,
        };
        let outcomes = match match_on {
            Some(slot) => upsert_all(&mut desk, &rows, slot, now_ms)?,
            None => rows.iter().map(|row| desk.insert(row, now_ms)).collect::<Result<_>>()?,
        };
        changes.push(desk.finish(now_ms)?);
        Ok(Inserted { rows: outcomes, ignored_keys })
    })?;
    Ok((inserted, changes))
}

fn upsert_all(
    desk: &mut Desk<'_>,
    rows: &[NewRow],
    slot: Slot,
    now_ms: i64,
) -> Result<Vec<(RowId, RowAction)>> {
    let mut outcomes = Vec::with_capacity(rows.len());
    let mut ambiguous = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let wanted = row.values.cells()?.get(slot).map(str::to_owned);
        let matches = match wanted {
            Some(raw) => lookups::find(desk.connection, desk.num(), slot, &raw)?,
            None => Vec::new(),
        };
        match matches.as_slice() {
            [] => outcomes.push(desk.insert(row, now_ms)?),
            [position] => outcomes.push(desk.update(*position, row, now_ms)?),
            _ => ambiguous.push(index),
        }
    }
    if ambiguous.is_empty() { Ok(outcomes) } else { Err(StoreError::AmbiguousMatch(ambiguous)) }
}

pub(crate) fn write_cells(
    connection: &Connection,
    documents: &Documents,
    batch: WriteCells,
) -> Result<(WrittenCells, Vec<Change>)> {
    let WriteCells { project, version, project_save, cells, now_ms, returning } = batch;
    let state = projects::state_at(connection, project, version)?;
    let head = state.head;
    let mut desk = match project_save {
        Some(project) => {
            projects::write_document(connection, head, &project)?;
            Desk::open_saved(connection, state, *project)?
        }
        None => Desk::open(connection, documents, state)?,
    };
    let mut unknown = Vec::new();
    for (row, writes) in by_row(&cells) {
        match find_row(connection, head, row)? {
            Some(stored) => desk.write(&stored, &writes, now_ms)?,
            None => unknown.push(row),
        }
    }
    let change = desk.finish(now_ms)?;
    let mut rows = Vec::with_capacity(returning.len());
    for row in returning {
        match pages::find(connection, head, row)? {
            Some(stored) => rows.push(stored),
            None if unknown.contains(&row) => {}
            None => unknown.push(row),
        }
    }
    if !unknown.is_empty() {
        return Err(StoreError::UnknownRows(unknown));
    }
    Ok((WrittenCells { rows }, vec![change]))
}

/// The writes of each row together, rows in the order they are first named.
fn by_row(cells: &[CellWrite]) -> Vec<(RowId, Vec<(Slot, &str)>)> {
    let mut places = HashMap::with_capacity(cells.len());
    let mut rows: Vec<(RowId, Vec<(Slot, &str)>)> = Vec::new();
    for cell in cells {
        let place = *places.entry(cell.row).or_insert(rows.len());
        match rows.get_mut(place) {
            Some((_, writes)) => writes.push((cell.slot, &cell.value)),
            None => rows.push((cell.row, vec![(cell.slot, &cell.value)])),
        }
    }
    rows
}

pub(crate) fn delete(
    connection: &Connection,
    documents: &Documents,
    project: ProjectId,
    rows: &[RowId],
) -> Result<(u64, Vec<Change>)> {
    let state = projects::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let mut desk = Desk::open(connection, documents, state)?;
    let mut deleted = 0_u64;
    for row in rows {
        let Some(row_key) = find_key(connection, state.head, *row)? else { continue };
        desk.delete(*row, split(row_key).1)?;
        deleted += 1;
    }
    Ok((deleted, vec![desk.finish(None)?]))
}

pub(crate) fn positions(
    connection: &Connection,
    project: ProjectId,
    rows: &[RowId],
) -> Result<Vec<Option<u64>>> {
    let head = projects::head(connection, project)?.ok_or(StoreError::UnknownProject)?;
    rows.iter().map(|row| Ok(find_key(connection, head, *row)?.map(|key| split(key).1))).collect()
}

/// A row of this project.
pub(crate) fn find_row(connection: &Connection, head: Head, row: RowId) -> Result<Option<RawRow>> {
    let mut query = connection
        .prepare_cached("SELECT key, id, vals, details FROM rows WHERE id = ?1")
        .map_err(backend)?;
    let mut found = query.query([row.uuid().as_bytes()]).map_err(backend)?;
    let Some(found) = found.next().map_err(backend)? else { return Ok(None) };
    let (project, _) = split(found.get(0).map_err(backend)?);
    if project == head.num { raw_row(found).map(Some) } else { Ok(None) }
}

pub(crate) fn find_key(connection: &Connection, head: Head, row: RowId) -> Result<Option<i64>> {
    let key: Option<i64> = connection
        .prepare_cached("SELECT key FROM rows WHERE id = ?1")
        .and_then(|mut query| query.query_row([row.uuid().as_bytes()], |row| row.get(0)).optional())
        .map_err(backend)?;
    Ok(key.filter(|key| split(*key).0 == head.num))
}
