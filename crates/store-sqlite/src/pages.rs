//! Reading rows.

use std::ops::ControlFlow;

use rowmill_model::cell::Details;
use rowmill_model::plan::{Block, block_of, place_of};
use rowmill_model::{CellStates, ProjectId, Record, RowId};
use rowmill_store::changes::{PartRow, RawRow};
use rowmill_store::{
    PageStart, Result, RowRef, RowVisitor, RowsAt, RowsPage, ScanDetail, ScanLook, Spans, StoreError,
    StoredRow, Wanted, WantedSlots,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::blocks::read_block;
use crate::convert::{backend, uuid_of};
use crate::live_counts::{self, incomplete};
use crate::positions::{POSITION_MAX, find_key, key, key_range, locate, split};
use crate::project_state::{self, Head, State};
use crate::wide_values::{self, value_bytes};

/// A page of up to this many rows is a short read.
pub(crate) const SHORT_PAGE_ROWS: u32 = 200;

/// A scan of more runs than this is of rows that changed just now. To check each of them would take longer than reading.
const RUNS_CHECKED_MAX: usize = 64;

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

/// How much is read of what was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    /// Reading ends with the row that reaches this.
    pub(crate) bytes_max: usize,
    /// A row larger than this ends reading before it, even if it is the first.
    pub(crate) row_bytes_max: usize,
    /// Of which columns.
    pub(crate) slots: WantedSlots,
}

impl Bounds {
    pub(crate) fn of(wanted: Wanted) -> Self {
        let Wanted { bytes_max, slots } = wanted;
        Self { bytes_max, row_bytes_max: usize::MAX, slots }
    }

    /// SQLite knows the length of a value without reading it; one that is too long comes as NULL.
    fn row_bytes_max(&self) -> i64 {
        i64::try_from(self.row_bytes_max).unwrap_or(i64::MAX)
    }
}

pub(crate) fn page(
    connection: &Connection,
    project: ProjectId,
    start: PageStart,
    limit: u32,
    bounds: &Bounds,
) -> Result<RowsPage> {
    let State { head, counters, change_seq, .. } =
        project_state::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let total = counters.row_count;
    let first = match start {
        PageStart::After(position) => Some(key(head.num, position).saturating_add(1)),
        PageStart::Offset(offset) if offset >= total => None,
        PageStart::Offset(offset) => {
            let found = locate(connection, head.num, offset, counters.next_position)?;
            Some(found.ok_or_else(|| incomplete(0, total - offset))?)
        }
    };
    let mut page = RowsPage { rows: Vec::new(), rest: Vec::new(), total, more: false, change_seq };
    let Some(first) = first else { return Ok(page) };
    let mut query = connection
        .prepare_cached(
            "SELECT key, id, iif(octet_length(vals) <= ?4, vals, NULL), details, wide FROM rows \
             WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3",
        )
        .map_err(backend)?;
    let (last, wanted) = (*key_range(head.num).end(), u64::from(limit));
    // One row more than asked for tells whether any follow.
    let mut found = query.query((first, last, wanted + 1, bounds.row_bytes_max())).map_err(backend)?;
    page.rows.reserve(usize::try_from(limit.min(SHORT_PAGE_ROWS)).unwrap_or_default());
    let mut blocks = Blocks::of(connection, head.num);
    let (mut next, mut bytes) = (first, 0);
    let mut is_over = false;
    while bytes < bounds.bytes_max && !is_over {
        match found.next().map_err(backend)? {
            Some(_) if page.rows.len() as u64 == wanted => (page.more, is_over) = (true, true),
            Some(row) => {
                let Some(raw) = raw_row_within(connection, row, bounds)? else { break };
                next = key(head.num, raw.position).saturating_add(1);
                let row = blocks.complete(raw)?;
                bytes = bytes.saturating_add(row.values.as_bytes().len());
                page.rows.push(row);
            }
            None => is_over = true,
        }
    }
    drop(found);
    if !is_over {
        let left = wanted.saturating_sub(page.rows.len() as u64);
        page.rest = positions_from(connection, (next, last), left + 1)?;
        page.more = page.rest.len() as u64 > left;
        page.rest.truncate(usize::try_from(left).unwrap_or(usize::MAX));
    }
    let found = (page.rows.len() + page.rest.len()) as u64;
    if let PageStart::Offset(offset) = start {
        let counted = total.saturating_sub(offset);
        if found != counted.min(wanted) || page.more != (counted > wanted) {
            return Err(incomplete(found, counted));
        }
    }
    // A position behind all others may be that of another project.
    let first = Some(split(first)).filter(|(num, _)| *num == head.num).map_or(u64::MAX, |(_, first)| first);
    let last = page.rest.last().copied().or_else(|| page.rows.last().map(|row| row.position));
    let past = if page.more { last.map_or(first, |last| last + 1) } else { counters.next_position };
    live_counts::check(connection, head.num, first..past, found)?;
    Ok(page)
}

/// Where the next rows lie, by their keys.
fn positions_from(connection: &Connection, (first, last): (i64, i64), limit: u64) -> Result<Vec<u64>> {
    let mut query = connection
        .prepare_cached("SELECT key FROM rows WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3")
        .map_err(backend)?;
    let mut found = query.query((first, last, limit)).map_err(backend)?;
    let mut positions = Vec::new();
    while let Some(row) = found.next().map_err(backend)? {
        positions.push(split(row.get(0).map_err(backend)?).1);
    }
    Ok(positions)
}

pub(crate) fn at(
    connection: &Connection,
    project: ProjectId,
    positions: &[u64],
    bounds: &Bounds,
) -> Result<RowsAt> {
    let State { head, change_seq, .. } =
        project_state::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let mut blocks = Blocks::of(connection, head.num);
    let mut rows = Vec::with_capacity(positions.len());
    let mut bytes = 0;
    let mut unread = positions;
    while let [position, others @ ..] = unread
        && bytes < bounds.bytes_max
    {
        match read_within(connection, key(head.num, *position), bounds)? {
            Found::TooLarge => break,
            Found::Nothing => {}
            Found::Row(row) => {
                let row = blocks.complete(row)?;
                bytes = bytes.saturating_add(row.values.as_bytes().len());
                rows.push(row);
            }
        }
        unread = others;
    }
    let mut exists = connection.prepare_cached("SELECT 1 FROM rows WHERE key = ?1").map_err(backend)?;
    let mut rest = Vec::with_capacity(unread.len());
    for position in unread {
        if exists.exists([key(head.num, *position)]).map_err(backend)? {
            rest.push(*position);
        }
    }
    Ok(RowsAt { rows, rest, change_seq })
}

enum Found {
    Nothing,
    Row(RawRow),
    TooLarge,
}

fn read_within(connection: &Connection, key: i64, bounds: &Bounds) -> Result<Found> {
    let mut query = connection
        .prepare_cached(
            "SELECT key, id, iif(octet_length(vals) <= ?2, vals, NULL), details, wide FROM rows WHERE key = ?1",
        )
        .map_err(backend)?;
    let mut found = query.query((key, bounds.row_bytes_max())).map_err(backend)?;
    let Some(row) = found.next().map_err(backend)? else { return Ok(Found::Nothing) };
    Ok(raw_row_within(connection, row, bounds)?.map_or(Found::TooLarge, Found::Row))
}

/// A row, or none where its values are too large; those inside it were left out then.
fn raw_row_within(connection: &Connection, row: &Row<'_>, bounds: &Bounds) -> Result<Option<RawRow>> {
    let near = match row.get_ref(2).map_err(backend)? {
        ValueRef::Null => return Ok(None),
        near => near.as_blob().map_err(|error| backend(error.into()))?.len(),
    };
    if bounds.row_bytes_max < usize::MAX {
        let slots = wide_values::noted(row, 4)?;
        if !slots.is_empty() {
            let row_key = row.get(0).map_err(backend)?;
            let bytes = wide_values::bytes(connection, row_key, &slots, &bounds.slots)?;
            if near.saturating_add(bytes) > bounds.row_bytes_max {
                return Ok(None);
            }
        }
    }
    raw_row(connection, row, &bounds.slots).map(Some)
}

/// What there is under a row's id.
pub(crate) enum OneRow {
    Nothing,
    Row(Box<StoredRow>),
    TooLarge,
}

pub(crate) fn one(
    connection: &Connection,
    project: ProjectId,
    row: RowId,
    bounds: &Bounds,
) -> Result<OneRow> {
    let head = project_state::head(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let Some(key) = find_key(connection, head.num, row)? else { return Ok(OneRow::Nothing) };
    Ok(match read_within(connection, key, bounds)? {
        Found::Nothing => OneRow::Nothing,
        Found::TooLarge => OneRow::TooLarge,
        Found::Row(row) => OneRow::Row(Box::new(Blocks::of(connection, head.num).complete(row)?)),
    })
}

/// A row of this project, whole.
pub(crate) fn find(connection: &Connection, head: Head, row: RowId) -> Result<Option<StoredRow>> {
    let mut query = connection
        .prepare_cached("SELECT key, id, vals, details, wide FROM rows WHERE id = ?1")
        .map_err(backend)?;
    let mut found = query.query([row.uuid().as_bytes()]).map_err(backend)?;
    let Some(found) = found.next().map_err(backend)? else { return Ok(None) };
    if split(found.get(0).map_err(backend)?).0 != head.num {
        return Ok(None);
    }
    let row = raw_row(connection, found, &WantedSlots::All)?;
    Blocks::of(connection, head.num).complete(row).map(Some)
}

pub(crate) fn scan(
    connection: &Connection,
    project: ProjectId,
    spans: Spans,
    look: &ScanLook,
    mut visit: RowVisitor,
) -> Result<u64> {
    let State { head, counters, change_seq } =
        project_state::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let mut query = connection
        .prepare_cached(match look.detail {
            // Each column takes its time, a million times over.
            ScanDetail::Values => "SELECT key, vals, wide FROM rows WHERE key BETWEEN ?1 AND ?2 ORDER BY key",
            ScanDetail::Whole => {
                "SELECT key, vals, wide, id, details FROM rows WHERE key BETWEEN ?1 AND ?2 ORDER BY key"
            }
        })
        .map_err(backend)?;
    let mut blocks = Blocks::of(connection, head.num);
    let mut seen = 0_u64;
    let spans = spans.tidied();
    let is_checked = spans.iter().count() <= RUNS_CHECKED_MAX;
    for (first, last) in spans.iter().filter(|(first, _)| *first <= POSITION_MAX) {
        let seen_before = seen;
        let mut past = counters.next_position.min(last.saturating_add(1));
        let is_all = first == 0 && past == counters.next_position;
        let keys = (key(head.num, first), key(head.num, last.min(POSITION_MAX)));
        let mut found = query.query(keys).map_err(backend)?;
        let mut is_enough = false;
        while !is_enough && let Some(row) = found.next().map_err(backend)? {
            seen += 1;
            let row_key = row.get(0).map_err(backend)?;
            let (_, position) = split(row_key);
            let near = row.get_ref(1).and_then(|vals| Ok(vals.as_blob()?)).map_err(backend)?;
            let slots = wide_values::noted(row, 2)?;
            let joined = match slots.wanted(&look.slots).next() {
                Some(_) => Some(wide_values::join(connection, row_key, near, &slots, &look.slots)?),
                None => None,
            };
            let (id, states) = match look.detail {
                ScanDetail::Values => (None, None),
                ScanDetail::Whole => {
                    let id = RowId::from_uuid(uuid_of(row, 3).map_err(backend)?);
                    (Some(id), blocks.states(position, &details_at(row, 4)?)?)
                }
            };
            let row = RowRef {
                id,
                position,
                values: joined.as_ref().map_or(near, Record::as_bytes),
                states: states.as_ref(),
            };
            is_enough = visit(row) == ControlFlow::Break(());
            if is_enough {
                past = position + 1;
            }
        }
        if is_checked {
            live_counts::check(connection, head.num, first..past, seen - seen_before)?;
        }
        if is_enough {
            break;
        }
        if is_all && seen != counters.row_count {
            return Err(incomplete(seen, counters.row_count));
        }
    }
    Ok(change_seq)
}

/// How many bytes of values lie there, with those that are stored apart. SQLite knows that without reading them.
pub(crate) fn bytes(connection: &Connection, project: ProjectId, spans: &Spans) -> Result<u64> {
    let head = project_state::head(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let mut query = connection
        .prepare_cached(concat!("SELECT ", value_bytes!(sum), " FROM rows WHERE key BETWEEN ?1 AND ?2"))
        .map_err(backend)?;
    let mut bytes = 0_u64;
    for (first, last) in spans.clone().tidied().iter().filter(|(first, _)| *first <= POSITION_MAX) {
        let keys = (key(head.num, first), key(head.num, last.min(POSITION_MAX)));
        bytes = bytes.saturating_add(query.query_row(keys, |row| row.get(0)).map_err(backend)?);
    }
    Ok(bytes)
}

/// What a row's values take; 0 if there is no such row.
pub(crate) fn value_bytes(connection: &Connection, key: i64) -> Result<usize> {
    connection
        .prepare_cached(concat!("SELECT ", value_bytes!(), " FROM rows WHERE key = ?1"))
        .and_then(|mut query| query.query_row([key], |row| row.get(0)).optional())
        .map(Option::unwrap_or_default)
        .map_err(backend)
}

/// The row at a key, if there is one, with the wide values that are wanted.
pub(crate) fn read_raw(connection: &Connection, key: i64, wanted: &WantedSlots) -> Result<Option<RawRow>> {
    let mut query = connection
        .prepare_cached("SELECT key, id, vals, details, wide FROM rows WHERE key = ?1")
        .map_err(backend)?;
    let mut found = query.query([key]).map_err(backend)?;
    let row = found.next().map_err(backend)?;
    row.map(|row| raw_row(connection, row, wanted)).transpose()
}

/// Reads key, id, vals, details and wide, and of the values that are stored apart those that are wanted.
pub(crate) fn raw_row(connection: &Connection, row: &Row<'_>, wanted: &WantedSlots) -> Result<RawRow> {
    let row_key = row.get(0).map_err(backend)?;
    let vals = row.get_ref(2).and_then(|vals| Ok(vals.as_blob()?)).map_err(backend)?;
    let slots = wide_values::noted(row, 4)?;
    let values = match slots.wanted(wanted).next() {
        Some(_) => wide_values::join(connection, row_key, vals, &slots, wanted)?,
        None => Record::from_bytes(vals),
    };
    Ok(RawRow {
        id: RowId::from_uuid(uuid_of(row, 1).map_err(backend)?),
        position: split(row_key).1,
        values,
        details: decode_details(row)?,
    })
}

/// The columns that [`part_row`] reads.
macro_rules! part_columns {
    () => {
        "key, id, vals, details, wide, wide_bytes"
    };
}
pub(crate) use part_columns;

/// Reads a row that may change. Its wide values are read where they are looked at.
pub(crate) fn part_row(row: &Row<'_>) -> Result<PartRow> {
    let (_, position) = split(row.get(0).map_err(backend)?);
    let id = RowId::from_uuid(uuid_of(row, 1).map_err(backend)?);
    let near = Record::from_bytes(row.get_ref(2).and_then(|vals| Ok(vals.as_blob()?)).map_err(backend)?);
    let wide_bytes: Option<usize> = row.get(5).map_err(backend)?;
    let wide = (&wide_values::noted(row, 4)?, wide_bytes.unwrap_or_default());
    PartRow::stored((id, position), near, decode_details(row)?, wide)
}

/// A row that may change, if there is one at a key.
pub(crate) fn read_part(connection: &Connection, key: i64) -> Result<Option<PartRow>> {
    let mut query = connection
        .prepare_cached(concat!("SELECT ", part_columns!(), " FROM rows WHERE key = ?1"))
        .map_err(backend)?;
    let mut found = query.query([key]).map_err(backend)?;
    found.next().map_err(backend)?.map(part_row).transpose()
}

/// A row of a project that may change, by its id.
pub(crate) fn find_part(connection: &Connection, num: i64, row: RowId) -> Result<Option<PartRow>> {
    let mut query = connection
        .prepare_cached(concat!("SELECT ", part_columns!(), " FROM rows WHERE id = ?1"))
        .map_err(backend)?;
    let mut found = query.query([row.uuid().as_bytes()]).map_err(backend)?;
    let Some(found) = found.next().map_err(backend)? else { return Ok(None) };
    let (project, _) = split(found.get(0).map_err(backend)?);
    if project == num { part_row(found).map(Some) } else { Ok(None) }
}

pub(crate) fn decode_details(row: &Row<'_>) -> Result<Details> {
    details_at(row, 3)
}

fn details_at(row: &Row<'_>, column: usize) -> Result<Details> {
    match row.get_ref(column).and_then(|details| Ok(details.as_blob_or_null()?)).map_err(backend)? {
        Some(details) => Ok(Details::from_bytes(details)?),
        None => Ok(Details::default()),
    }
}
