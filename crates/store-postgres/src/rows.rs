//! Writing rows.

use std::collections::{BTreeSet, HashMap};

use rowmill_model::plan::block_of;
use rowmill_model::record::Slot;
use rowmill_model::{Project, ProjectId, RowId, value};
use rowmill_store::{
    CellWrite, Change, Inserted, NewRow, NewRows, Result, RowAction, StoreError, WriteCells, WrittenCells,
};

use crate::database::Tx;
use crate::desk::Desk;
use crate::projects::{self, Documents, State};
use crate::{lookups, receipts};

pub(crate) async fn insert(
    tx: &mut Tx,
    documents: &Documents,
    batch: &NewRows,
) -> Result<(Inserted, Vec<Change>)> {
    let NewRows { project, version, rows, match_on, project_save, ignored_keys, now_ms, once } = batch;
    if let Some(kept) = receipts::begin(tx, once.as_ref()).await? {
        return Ok((kept, Vec::new()));
    }
    let state = projects::lock_at(tx, *project, *version).await?;
    let mut desk = open(tx, documents, state, project_save.as_deref()).await?;
    let outcomes = if let Some(slot) = match_on {
        upsert_all(tx, &mut desk, rows, *slot, *now_ms).await?
    } else {
        let blocks = desk.blocks_of_new(rows.len());
        desk.load(tx, [], blocks).await?;
        rows.iter().map(|row| desk.insert(row, *now_ms)).collect::<Result<_>>()?
    };
    let change = desk.finish(tx, *now_ms)?;
    let inserted = Inserted { rows: outcomes, ignored_keys: ignored_keys.clone() };
    receipts::end(tx, once.as_ref(), &inserted)?;
    Ok((inserted, vec![change]))
}

async fn open(tx: &mut Tx, documents: &Documents, state: State, saved: Option<&Project>) -> Result<Desk> {
    match saved {
        Some(project) => Desk::open_saved(tx, state, project.clone()),
        None => Desk::open(tx, documents, state).await,
    }
}

async fn upsert_all(
    tx: &mut Tx,
    desk: &mut Desk,
    rows: &[NewRow],
    slot: Slot,
    now_ms: i64,
) -> Result<Vec<(RowId, RowAction)>> {
    lookups::ensure(tx, desk, slot).await?;
    let mut hashes = BTreeSet::new();
    for row in rows {
        let wanted = row.values.cells()?.get(slot).and_then(value::match_key);
        hashes.extend(wanted.map(u64::cast_signed));
    }
    lookups::load(tx, desk, slot, hashes, rows.len()).await?;
    let mut outcomes = Vec::with_capacity(rows.len());
    let mut ambiguous = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let matches = match row.values.cells()?.get(slot) {
            Some(raw) => lookups::find(desk, slot, raw)?,
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

pub(crate) async fn write_cells(
    tx: &mut Tx,
    documents: &Documents,
    batch: &WriteCells,
) -> Result<(WrittenCells, Vec<Change>)> {
    let WriteCells { project, version, project_save, cells, now_ms, returning } = batch;
    let state = projects::lock_at(tx, *project, *version).await?;
    let mut desk = open(tx, documents, state, project_save.as_deref()).await?;
    let by_row = by_row(cells);
    let ids: Vec<RowId> = by_row.iter().map(|(row, _)| *row).chain(returning.iter().copied()).collect();
    desk.load_ids(tx, &ids).await?;
    let slots: Vec<Slot> = cells.iter().map(|cell| cell.slot).collect();
    let needed = if desk.concern(&slots) { ids.as_slice() } else { returning.as_slice() };
    let blocks: Vec<u64> = needed.iter().filter_map(|id| desk.position(*id)).map(block_of).collect();
    desk.load(tx, [], blocks).await?;
    let mut unknown = Vec::new();
    for (row, writes) in by_row {
        match desk.position(row) {
            Some(position) => desk.write(position, &writes, *now_ms)?,
            None => unknown.push(row),
        }
    }
    let mut rows = Vec::with_capacity(returning.len());
    for row in returning {
        match desk.position(*row).and_then(|position| desk.stored(position)) {
            Some(stored) => rows.push(stored),
            None if unknown.contains(row) => {}
            None => unknown.push(*row),
        }
    }
    if !unknown.is_empty() {
        return Err(StoreError::UnknownRows(unknown));
    }
    let change = desk.finish(tx, *now_ms)?;
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

pub(crate) async fn delete(
    tx: &mut Tx,
    documents: &Documents,
    project: ProjectId,
    rows: &[RowId],
) -> Result<(u64, Vec<Change>)> {
    let state = projects::lock_one(tx, project).await?;
    let mut desk = Desk::open(tx, documents, state).await?;
    desk.load_ids(tx, rows).await?;
    let blocks: Vec<u64> = rows.iter().filter_map(|id| desk.position(*id)).map(block_of).collect();
    desk.load(tx, [], blocks).await?;
    let mut deleted = 0_u64;
    for row in rows {
        // A row that is named twice is gone the second time.
        let Some(position) = desk.position(*row) else { continue };
        desk.delete(position)?;
        deleted += 1;
    }
    Ok((deleted, vec![desk.finish(tx, None)?]))
}
