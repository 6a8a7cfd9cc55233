//! Reading rows.

use std::ops::ControlFlow;

use rowmill_model::cell::Details;
use rowmill_model::plan::{Block, block_of, place_of};
use rowmill_model::{CellStates, ProjectId, Record, RowId};
use rowmill_store::changes::RawRow;
use rowmill_store::{Look, PageStart, Result, RowRef, RowsAt, RowsPage, Spans, StoreError, StoredRow, Visit};
use rusqlite::{Connection, Row};

use crate::blocks::read_block;
use crate::positions::{POSITION_MAX, key, key_range, locate, split};
use crate::projects::{Head, State};
use crate::{SHORT_PAGE_ROWS, backend, projects, rows, uuid_of};

/// The blocks of a project, read as rows come by in order.
pub(crate) struct Blocks<'c> {
    connection: &'c Connection,
    project: i64,
    last: Option<(u64, Option<Block>)>,
}

impl<'c> Blocks<'c> {
    pub(crate) fn of(connection: &'c Connection, project: i64) -> Self {
        Self { connection, project, last: None }
    }

    /// The states of a row's cells; `None` where every cell is idle.
    fn states(&mut self, position: u64, details: &Details) -> Result<Option<CellStates>> {
        let number = block_of(position);
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            self.last = Some((number, read_block(self.connection, self.project, number)?));
        }
        let block = self.last.as_ref().and_then(|(_, block)| block.as_ref());
        let states = block.map(|block| CellStates::of(block, place_of(position), details));
        Ok(states.filter(|states| !states.is_empty()))
    }

    pub(crate) fn complete(&mut self, row: RawRow) -> Result<StoredRow> {
        let RawRow { id, position, values, details } = row;
        let states = self.states(position, &details)?.unwrap_or_default();
        Ok(StoredRow { id, position, values, states })
    }
}

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
            "SELECT key, id, vals, details FROM rows WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3",
        )
        .map_err(backend)?;
    // One row more than asked for tells whether any follow.
    let mut found = query.query((first, key_range(head.num).end(), u64::from(limit) + 1)).map_err(backend)?;
    let mut rows = Vec::with_capacity(usize::try_from(limit.min(SHORT_PAGE_ROWS)).unwrap_or_default() + 1);
    let mut blocks = Blocks::of(connection, head.num);
    while let Some(row) = found.next().map_err(backend)? {
        rows.push(blocks.complete(raw_row(row)?)?);
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > limit;
    rows.truncate(limit);
    Ok(RowsPage { rows, total, more })
}

pub(crate) fn at(connection: &Connection, project: ProjectId, positions: &[u64]) -> Result<RowsAt> {
    let State { head, change_seq, .. } =
        projects::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let mut blocks = Blocks::of(connection, head.num);
    let mut rows = Vec::with_capacity(positions.len());
    for position in positions {
        if let Some(row) = read_raw(connection, key(head.num, *position))? {
            rows.push(blocks.complete(row)?);
        }
    }
    Ok(RowsAt { rows, change_seq })
}

pub(crate) fn one(connection: &Connection, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
    let head = projects::head(connection, project)?.ok_or(StoreError::UnknownProject)?;
    find(connection, head, row)
}

/// A row of this project, whole.
pub(crate) fn find(connection: &Connection, head: Head, row: RowId) -> Result<Option<StoredRow>> {
    let found = rows::find_row(connection, head.num, row)?;
    found.map(|row| Blocks::of(connection, head.num).complete(row)).transpose()
}

pub(crate) fn scan(
    connection: &Connection,
    project: ProjectId,
    spans: Spans,
    look: Look,
    mut visit: Visit,
) -> Result<u64> {
    let State { head, change_seq, .. } =
        projects::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let mut query = connection
        .prepare_cached(match look {
            Look::Values => "SELECT key, id, vals FROM rows WHERE key BETWEEN ?1 AND ?2 ORDER BY key",
            Look::Whole => "SELECT key, id, vals, details FROM rows WHERE key BETWEEN ?1 AND ?2 ORDER BY key",
        })
        .map_err(backend)?;
    let mut blocks = Blocks::of(connection, head.num);
    for (first, last) in spans.tidied().iter().filter(|(first, _)| *first <= POSITION_MAX) {
        let keys = (key(head.num, first), key(head.num, last.min(POSITION_MAX)));
        let mut found = query.query(keys).map_err(backend)?;
        while let Some(row) = found.next().map_err(backend)? {
            let (_, position) = split(row.get(0).map_err(backend)?);
            let states = match look {
                Look::Values => None,
                Look::Whole => blocks.states(position, &decode_details(row)?)?,
            };
            let seen = RowRef {
                id: RowId::from_uuid(uuid_of(row, 1).map_err(backend)?),
                position,
                values: row.get_ref(2).and_then(|vals| Ok(vals.as_blob()?)).map_err(backend)?,
                states: states.as_ref(),
            };
            if visit(seen) == ControlFlow::Break(()) {
                return Ok(change_seq);
            }
        }
    }
    Ok(change_seq)
}

/// The row at a key, if there is one.
pub(crate) fn read_raw(connection: &Connection, key: i64) -> Result<Option<RawRow>> {
    let mut query = connection
        .prepare_cached("SELECT key, id, vals, details FROM rows WHERE key = ?1")
        .map_err(backend)?;
    let mut found = query.query([key]).map_err(backend)?;
    found.next().map_err(backend)?.map(raw_row).transpose()
}

pub(crate) fn raw_row(row: &Row<'_>) -> Result<RawRow> {
    let (_, position) = split(row.get(0).map_err(backend)?);
    let vals = row.get_ref(2).and_then(|vals| Ok(vals.as_blob()?)).map_err(backend)?;
    Ok(RawRow {
        id: RowId::from_uuid(uuid_of(row, 1).map_err(backend)?),
        position,
        values: Record::from_bytes(vals),
        details: decode_details(row)?,
    })
}

pub(crate) fn decode_details(row: &Row<'_>) -> Result<Details> {
    match row.get_ref(3).and_then(|details| Ok(details.as_blob_or_null()?)).map_err(backend)? {
        Some(details) => Ok(Details::from_bytes(details)?),
        None => Ok(Details::default()),
    }
}
