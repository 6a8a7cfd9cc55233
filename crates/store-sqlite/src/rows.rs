//! Writing rows.

use rowmill_model::plan::block_of;
use rowmill_model::record::Slot;
use rowmill_model::{Project, ProjectId, RowId};
use rowmill_store::changes::{LeftoverFields, Look, slots_of, writes_by_row};
use rowmill_store::{
    Change, Inserted, NewRow, NewRows, Result, RowAction, StoreError, WriteCells, WrittenCells, lookup,
};
use rusqlite::Connection;

use crate::documents::{self, Documents};
use crate::positions::{find_key, split};
use crate::project_state::{self, State};
use crate::row_changes::OpenProject;
use crate::{import_jobs, lookup_build, pages, receipts};

pub(crate) fn insert(
    connection: &Connection,
    documents: &Documents,
    batch: NewRows,
) -> Result<(Inserted, Vec<Change>)> {
    let NewRows { project, version, rows, match_on, project_save, .. } = batch;
    let NewRows { ignored_keys, kept_input, new_rows_max, new_bytes_max, now_ms, once, import, .. } = batch;
    let mut changes = Vec::new();
    let inserted = receipts::once(connection, once.as_ref(), || {
        let state = project_state::state_at(connection, project, version)?;
        if let Some(slot) = match_on {
            lookup_build::ensure(connection, state.head.num, slot)?;
        }
        let mut open = open(connection, documents, state, project_save)?;
        let inserted = match match_on {
            Some(slot) => {
                let (rows, leftover) = upsert_all(&mut open, rows, slot, now_ms)?;
                leftover.into_inserted(rows, ignored_keys, kept_input)
            }
            None => Inserted { rows: insert_all(&mut open, rows, now_ms)?, ignored_keys, kept_input },
        };
        Inserted::check_new(&inserted.rows, new_rows_max)?;
        open.changes.check_new_bytes(new_bytes_max)?;
        if let Some(step) = &import {
            import_jobs::checkpoint(connection, step, inserted.counts())?;
        }
        changes.push(open.finish(now_ms)?);
        Ok(inserted)
    })?;
    Ok((inserted, changes))
}

/// Opens a project, saving it first if it changed.
fn open<'c>(
    connection: &'c Connection,
    documents: &Documents,
    state: State,
    changed: Option<Box<Project>>,
) -> Result<OpenProject<'c>> {
    match changed {
        Some(project) => {
            documents::write_document(connection, state.head, &project)?;
            OpenProject::open_saved(connection, state, *project)
        }
        None => OpenProject::open(connection, documents, state),
    }
}

fn insert_all(open: &mut OpenProject<'_>, rows: Vec<NewRow>, now_ms: i64) -> Result<Vec<(RowId, RowAction)>> {
    let mut outcomes = Vec::with_capacity(rows.len());
    for row in rows {
        open.load_block_of_new()?;
        outcomes.push(open.changes.insert(row, now_ms)?);
        open.flush_if_large()?;
    }
    Ok(outcomes)
}

fn upsert_all(
    open: &mut OpenProject<'_>,
    rows: Vec<NewRow>,
    slot: Slot,
    now_ms: i64,
) -> Result<(Vec<(RowId, RowAction)>, LeftoverFields)> {
    let mut outcomes = Vec::with_capacity(rows.len());
    let mut ambiguous = Vec::new();
    let mut leftover = LeftoverFields::default();
    for (index, row) in rows.into_iter().enumerate() {
        open.load_block_of_new()?;
        if let Some(hash) = lookup::hash_of(slot, &row.values.cells()?) {
            open.load_matches(slot, hash, &slots_of(&row, Some(slot))?)?;
        }
        match open.changes.upsert(slot, row, &mut leftover, now_ms)? {
            Ok(outcome) => outcomes.push(outcome),
            Err(why) => ambiguous.push((index, why)),
        }
        // Nothing of the batch is written: what comes behind is not even loaded.
        if open.changes.compared_too_much() {
            return Err(StoreError::AmbiguousMatch(if ambiguous.is_empty() {
                vec![(index, lookup::Ambiguity::TooLong)]
            } else {
                ambiguous
            }));
        }
        open.flush_if_large()?;
    }
    if ambiguous.is_empty() { Ok((outcomes, leftover)) } else { Err(StoreError::AmbiguousMatch(ambiguous)) }
}

pub(crate) fn write_cells(
    connection: &Connection,
    documents: &Documents,
    batch: &WriteCells,
) -> Result<(WrittenCells, Vec<Change>)> {
    let WriteCells { project, version, project_save, cells, expected, new_bytes_max, now_ms, returning } =
        batch;
    let now_ms = *now_ms;
    let state = project_state::state_at(connection, *project, *version)?;
    if let Some(expected) = expected
        && pages::find(connection, state.head, expected.id)?.as_ref() != Some(&**expected)
    {
        return Err(StoreError::Stale);
    }
    let mut open = open(connection, documents, state, project_save.clone())?;
    let mut unknown = Vec::new();
    for (row, writes) in writes_by_row(cells) {
        let Some(position) = open.load_row_by_id(row)? else {
            unknown.push(row);
            continue;
        };
        let slots: Vec<Slot> = writes.iter().map(|(slot, _)| *slot).collect();
        if open.changes.concerns(&slots) {
            open.load_block(block_of(position))?;
        }
        open.load_values(position, Look::Write(&slots))?;
        open.changes.write(position, &writes, now_ms)?;
        open.flush_if_large()?;
    }
    open.changes.check_new_bytes(*new_bytes_max)?;
    let change = open.finish(now_ms)?;
    let mut rows = Vec::with_capacity(returning.len());
    for row in returning.iter().copied() {
        match pages::find(connection, state.head, row)? {
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

/// Opens a project with what is needed of rows that are to be deleted.
pub(crate) fn open_for_deletion<'c>(
    connection: &'c Connection,
    documents: &Documents,
    project: ProjectId,
    rows: &[RowId],
) -> Result<OpenProject<'c>> {
    let state = project_state::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let num = state.head.num;
    let mut open = OpenProject::open(connection, documents, state)?;
    for row in rows {
        let Some(row_key) = find_key(connection, num, *row)? else { continue };
        let matched = open.changes.matched_slots();
        let values = open.changes.deletes_by_value().then(|| pages::read_raw(connection, row_key, &matched));
        let values = values.transpose()?.flatten().map(|row| row.values);
        let value_bytes = pages::value_bytes(connection, row_key)?;
        open.changes.know_for_deletion((*row, split(row_key).1), values.as_ref(), value_bytes, ())?;
    }
    Ok(open)
}

pub(crate) fn delete(
    connection: &Connection,
    documents: &Documents,
    project: ProjectId,
    rows: &[RowId],
) -> Result<(u64, Vec<Change>)> {
    let mut open = open_for_deletion(connection, documents, project, rows)?;
    let mut deleted = 0_u64;
    for row in rows {
        // A row that is named twice is gone the second time.
        let Some(position) = open.changes.position(*row) else { continue };
        open.load_block(block_of(position))?;
        open.changes.delete(position)?;
        deleted += 1;
    }
    Ok((deleted, vec![open.finish(None)?]))
}

pub(crate) fn positions(
    connection: &Connection,
    project: ProjectId,
    rows: &[RowId],
) -> Result<Vec<Option<u64>>> {
    let head = project_state::head(connection, project)?.ok_or(StoreError::UnknownProject)?;
    rows.iter().map(|row| Ok(find_key(connection, head.num, *row)?.map(|key| split(key).1))).collect()
}
