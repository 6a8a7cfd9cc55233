//! Writing rows.

use std::collections::BTreeSet;

use rowmill_model::plan::block_of;
use rowmill_model::record::Slot;
use rowmill_model::{Project, ProjectId, RowId};
use rowmill_store::changes::{LeftoverFields, Look, slots_of, writes_by_row};
use rowmill_store::{
    Change, Inserted, NewRow, NewRows, Result, RowAction, StoreError, StoredRow, WriteCells, WrittenCells,
    lookup,
};

use crate::documents::Documents;
use crate::project_state::{self, State};
use crate::row_changes::OpenProject;
use crate::transaction::Tx;
use crate::{import_jobs, lookups, receipts};

pub(crate) async fn insert(
    tx: &mut Tx,
    documents: &Documents,
    batch: &NewRows,
) -> Result<(Inserted, Vec<Change>)> {
    let NewRows { project, version, rows, match_on, project_save, .. } = batch;
    let NewRows { ignored_keys, kept_input, new_rows_max, new_bytes_max, now_ms, once, import, .. } = batch;
    if let Some(kept) = receipts::begin(tx, once.as_ref()).await? {
        return Ok((kept, Vec::new()));
    }
    let state = project_state::lock_at(tx, *project, *version).await?;
    let mut open = open(tx, documents, state, project_save.as_deref()).await?;
    let (ignored_keys, kept_input) = (ignored_keys.clone(), kept_input.clone());
    let inserted = if let Some(slot) = match_on {
        let (rows, leftover) = upsert_all(tx, &mut open, rows, *slot, *now_ms).await?;
        leftover.into_inserted(rows, ignored_keys, kept_input)
    } else {
        let blocks = open.changes.blocks_of_new(rows.len());
        open.load(tx, [], blocks).await?;
        let rows = rows.iter().map(|row| open.changes.insert(row.clone(), *now_ms)).collect::<Result<_>>()?;
        Inserted { rows, ignored_keys, kept_input }
    };
    Inserted::check_new(&inserted.rows, *new_rows_max)?;
    open.changes.check_new_bytes(*new_bytes_max)?;
    if let Some(step) = import {
        import_jobs::checkpoint(tx, step, inserted.counts()).await?;
    }
    let change = open.finish(tx, *now_ms)?;
    receipts::end(tx, once.as_ref(), &inserted)?;
    Ok((inserted, vec![change]))
}

async fn open(
    tx: &mut Tx,
    documents: &Documents,
    state: State,
    saved: Option<&Project>,
) -> Result<OpenProject> {
    match saved {
        Some(project) => OpenProject::open_saved(tx, state, project.clone()),
        None => OpenProject::open(tx, documents, state).await,
    }
}

async fn upsert_all(
    tx: &mut Tx,
    open: &mut OpenProject,
    rows: &[NewRow],
    slot: Slot,
    now_ms: i64,
) -> Result<(Vec<(RowId, RowAction)>, LeftoverFields)> {
    lookups::ensure(tx, open, slot).await?;
    let mut hashes = BTreeSet::new();
    let mut slots = BTreeSet::new();
    for row in rows {
        hashes.extend(lookup::hash_of(slot, &row.values.cells()?));
        slots.extend(slots_of(row, Some(slot))?);
    }
    let slots: Vec<Slot> = slots.into_iter().collect();
    let found = lookups::load(tx, open, slot, hashes, rows.len()).await?;
    let looks: Vec<_> = found.into_iter().map(|position| (position, Look::Write(&slots))).collect();
    open.load_values(tx, &looks).await?;
    let mut outcomes = Vec::with_capacity(rows.len());
    let mut ambiguous = Vec::new();
    let mut leftover = LeftoverFields::default();
    for (index, row) in rows.iter().enumerate() {
        match open.changes.upsert(slot, row.clone(), &mut leftover, now_ms)? {
            Ok(outcome) => outcomes.push(outcome),
            Err(why) => ambiguous.push((index, why)),
        }
        if open.changes.compared_too_much() {
            return Err(StoreError::AmbiguousMatch(if ambiguous.is_empty() {
                vec![(index, lookup::Ambiguity::TooLong)]
            } else {
                ambiguous
            }));
        }
    }
    if ambiguous.is_empty() { Ok((outcomes, leftover)) } else { Err(StoreError::AmbiguousMatch(ambiguous)) }
}

pub(crate) async fn write_cells(
    tx: &mut Tx,
    documents: &Documents,
    batch: &WriteCells,
) -> Result<(WrittenCells, Vec<Change>)> {
    let WriteCells { project, version, project_save, cells, expected, new_bytes_max, now_ms, returning } =
        batch;
    let state = project_state::lock_at(tx, *project, *version).await?;
    let mut open = open(tx, documents, state, project_save.as_deref()).await?;
    let by_row = writes_by_row(cells);
    let shown: Vec<RowId> = returning.iter().copied().chain(expected.iter().map(|row| row.id)).collect();
    let ids: Vec<RowId> = by_row.iter().map(|(row, _)| *row).chain(shown.iter().copied()).collect();
    open.load_ids(tx, &ids).await?;
    let slots: Vec<Slot> = cells.iter().map(|cell| cell.slot).collect();
    let needed = if open.changes.concerns(&slots) { ids.as_slice() } else { shown.as_slice() };
    let blocks: Vec<u64> = needed.iter().filter_map(|id| open.changes.position(*id)).map(block_of).collect();
    open.load(tx, [], blocks).await?;
    let position = |id: &RowId| open.changes.position(*id);
    let written: Vec<(u64, Vec<Slot>)> = by_row
        .iter()
        .filter_map(|(id, writes)| Some((position(id)?, writes.iter().map(|(slot, _)| *slot).collect())))
        .collect();
    let mut looks: Vec<_> = written.iter().map(|(position, slots)| (*position, Look::Write(slots))).collect();
    looks.extend(shown.iter().filter_map(position).map(|position| (position, Look::Show)));
    open.load_values(tx, &looks).await?;
    if let Some(expected) = expected
        && stored(&open, expected.id)?.as_ref() != Some(&**expected)
    {
        return Err(StoreError::Stale);
    }
    let mut unknown = Vec::new();
    for (row, writes) in by_row {
        match open.changes.position(row) {
            Some(position) => open.changes.write(position, &writes, *now_ms)?,
            None => unknown.push(row),
        }
    }
    let mut rows = Vec::with_capacity(returning.len());
    for row in returning {
        match stored(&open, *row)? {
            Some(stored) => rows.push(stored),
            None if unknown.contains(row) => {}
            None => unknown.push(*row),
        }
    }
    if !unknown.is_empty() {
        return Err(StoreError::UnknownRows(unknown));
    }
    open.changes.check_new_bytes(*new_bytes_max)?;
    let change = open.finish(tx, *now_ms)?;
    Ok((WrittenCells { rows }, vec![change]))
}

/// A row as it is now, if it is loaded.
fn stored(open: &OpenProject, id: RowId) -> Result<Option<StoredRow>> {
    open.changes.position(id).map_or(Ok(None), |position| open.changes.stored(position))
}

pub(crate) async fn delete(
    tx: &mut Tx,
    documents: &Documents,
    project: ProjectId,
    rows: &[RowId],
) -> Result<(u64, Vec<Change>)> {
    let state = project_state::lock_one(tx, project).await?;
    let mut open = OpenProject::open(tx, documents, state).await?;
    open.load_for_deletion(tx, rows).await?;
    let mut deleted = 0_u64;
    for row in rows {
        // A row that is named twice is gone the second time.
        let Some(position) = open.changes.position(*row) else { continue };
        open.changes.delete(position)?;
        deleted += 1;
    }
    Ok((deleted, vec![open.finish(tx, None)?]))
}
