//! Writing rows.

use std::collections::HashMap;

use rowmill_model::record::{Cells, Slot};
use rowmill_model::{CellState, CellStates, ProjectId, Record, RowId, value};
use rowmill_store::{
    CellWrite, Inserted, NewRow, NewRows, Result, RowAction, StoreError, StoredRow, WriteCells, WrittenCells,
};
use rusqlite::{CachedStatement, Connection, OptionalExtension};

use crate::pages::{read_row, stored_row};
use crate::positions::{LiveDelta, key, split};
use crate::projects::{self, Head};
use crate::{backend, damaged, lookups, receipts};

pub(crate) fn insert(connection: &Connection, batch: NewRows) -> Result<Inserted> {
    let NewRows { project, version, rows, match_on, project_save, ignored_keys, once } = batch;
    receipts::once(connection, once.as_ref(), || {
        let head = projects::head_at(connection, project, version)?;
        if let Some(project) = project_save {
            projects::write_document(connection, head, &project)?;
        }
        if let Some(slot) = match_on {
            lookups::ensure(connection, head.num, slot)?;
        }
        let mut inserter = Inserter::begin(connection, head)?;
        let outcomes = match match_on {
            Some(slot) => upsert_all(&mut inserter, &rows, slot)?,
            None => rows.iter().map(|row| inserter.insert(row)).collect::<Result<_>>()?,
        };
        inserter.finish()?;
        Ok(Inserted { rows: outcomes, ignored_keys })
    })
}

fn upsert_all(inserter: &mut Inserter<'_>, rows: &[NewRow], slot: Slot) -> Result<Vec<(RowId, RowAction)>> {
    let mut outcomes = Vec::with_capacity(rows.len());
    let mut ambiguous = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let wanted = row.values.cells()?.get(slot).map(str::to_owned);
        let matches = match wanted {
            Some(raw) => lookups::find(inserter.connection, inserter.head.num, slot, &raw)?,
            None => Vec::new(),
        };
        match matches.as_slice() {
            [] => outcomes.push(inserter.insert(row)?),
            [position] => outcomes.push(inserter.update(*position, row)?),
            _ => ambiguous.push(index),
        }
    }
    if ambiguous.is_empty() { Ok(outcomes) } else { Err(StoreError::AmbiguousMatch(ambiguous)) }
}

/// Inserts rows one after another and keeps what must be kept with them.
pub(crate) struct Inserter<'c> {
    connection: &'c Connection,
    head: Head,
    counters: projects::Counters,
    live: LiveDelta,
    updater: Updater<'c>,
    insert: CachedStatement<'c>,
}

impl<'c> Inserter<'c> {
    pub(crate) fn begin(connection: &'c Connection, head: Head) -> Result<Self> {
        Ok(Self {
            connection,
            head,
            counters: projects::counters(connection, head.num)?,
            live: LiveDelta::default(),
            updater: Updater::begin(connection, head)?,
            insert: connection
                .prepare_cached("INSERT INTO rows (key, id, vals, states) VALUES (?1, ?2, ?3, ?4)")
                .map_err(backend)?,
        })
    }

    /// Where the next row goes.
    pub(crate) fn next_position(&self) -> u64 {
        self.counters.next_position
    }

    pub(crate) fn insert(&mut self, row: &NewRow) -> Result<(RowId, RowAction)> {
        let position = self.counters.next_position;
        self.insert
            .execute((
                key(self.head.num, position),
                row.id.uuid().as_bytes(),
                row.values.as_bytes(),
                encode_states(&row.states)?,
            ))
            .map_err(backend)?;
        if !self.updater.lookup_slots.is_empty() {
            let cells = row.values.cells()?;
            lookups::change(
                self.connection,
                self.head.num,
                &self.updater.lookup_slots,
                position,
                None,
                Some(&cells),
            )?;
        }
        self.live.add(position, 1);
        self.counters.next_position += 1;
        self.counters.row_count += 1;
        Ok((row.id, RowAction::Inserted))
    }

    /// Writes what was sent over a stored row, unless that changes nothing.
    pub(crate) fn update(&mut self, position: u64, sent: &NewRow) -> Result<(RowId, RowAction)> {
        let stored = read_row(self.connection, key(self.head.num, position))?
            .ok_or_else(|| StoreError::Damaged("an indexed row is missing".to_owned()))?;
        let old = stored.values.cells()?;
        let sent_cells = sent.values.cells()?;
        let cleared = sent.cleared.iter().map(|slot| (*slot, "null"));
        let changed: Vec<(Slot, &str)> = sent_cells
            .iter()
            .chain(cleared)
            .filter(|(slot, raw)| !value::same(old.get(*slot).unwrap_or("null"), raw))
            .collect();
        if changed.is_empty() {
            return Ok((stored.id, RowAction::Unchanged));
        }
        let mut states = stored.states.clone();
        for (slot, _) in &changed {
            states.set(*slot, sent.states.get(*slot).cloned().unwrap_or_default());
        }
        let values = stored.values.with(changed.iter().copied())?;
        self.updater.write(&stored, &values, &states)?;
        Ok((stored.id, RowAction::Updated))
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.live.write(self.connection, self.head.num)?;
        projects::write_counters(self.connection, self.head.num, self.counters)
    }
}

pub(crate) fn write_cells(connection: &Connection, batch: WriteCells) -> Result<WrittenCells> {
    let WriteCells { project, version, project_save, cells, returning } = batch;
    let head = projects::head_at(connection, project, version)?;
    if let Some(project) = project_save {
        projects::write_document(connection, head, &project)?;
    }
    let mut updater = Updater::begin(connection, head)?;
    let mut unknown = Vec::new();
    for (row, writes) in by_row(&cells) {
        match find_row(connection, head, row)? {
            Some(stored) => updater.write_over(&stored, &writes)?,
            None => unknown.push(row),
        }
    }
    let mut rows = Vec::with_capacity(returning.len());
    for row in returning {
        match find_row(connection, head, row)? {
            Some(stored) => rows.push(stored),
            None if unknown.contains(&row) => {}
            None => unknown.push(row),
        }
    }
    if !unknown.is_empty() {
        return Err(StoreError::UnknownRows(unknown));
    }
    projects::write_counters(connection, head.num, projects::counters(connection, head.num)?)?;
    Ok(WrittenCells { rows })
}

/// The writes of each row together, rows in the order they are first named.
fn by_row(cells: &[CellWrite]) -> Vec<(RowId, Vec<&CellWrite>)> {
    let mut places = HashMap::with_capacity(cells.len());
    let mut rows: Vec<(RowId, Vec<&CellWrite>)> = Vec::new();
    for cell in cells {
        let place = *places.entry(cell.row).or_insert(rows.len());
        match rows.get_mut(place) {
            Some((_, writes)) => writes.push(cell),
            None => rows.push((cell.row, vec![cell])),
        }
    }
    rows
}

/// Writes over stored rows and keeps what must be kept with them.
struct Updater<'c> {
    connection: &'c Connection,
    head: Head,
    lookup_slots: Vec<Slot>,
    update: CachedStatement<'c>,
}

impl<'c> Updater<'c> {
    fn begin(connection: &'c Connection, head: Head) -> Result<Self> {
        Ok(Self {
            connection,
            head,
            lookup_slots: lookups::slots(connection, head.num)?,
            update: connection
                .prepare_cached("UPDATE rows SET vals = ?2, states = ?3 WHERE key = ?1")
                .map_err(backend)?,
        })
    }

    fn write_over(&mut self, stored: &StoredRow, writes: &[&CellWrite]) -> Result<()> {
        let values = stored.values.with(writes.iter().map(|write| (write.slot, &*write.value)))?;
        let mut states = stored.states.clone();
        for CellWrite { slot, state, .. } in writes {
            states.set(*slot, CellState::clone(state));
        }
        self.write(stored, &values, &states)
    }

    fn write(&mut self, stored: &StoredRow, values: &Record, states: &CellStates) -> Result<()> {
        let row_key = key(self.head.num, stored.position);
        self.update.execute((row_key, values.as_bytes(), encode_states(states)?)).map_err(backend)?;
        if self.lookup_slots.is_empty() {
            return Ok(());
        }
        let (old, new) = (stored.values.cells()?, values.cells()?);
        lookups::change(
            self.connection,
            self.head.num,
            &self.lookup_slots,
            stored.position,
            Some(&old),
            Some(&new),
        )
    }
}

pub(crate) fn delete(connection: &Connection, project: ProjectId, rows: &[RowId]) -> Result<u64> {
    let head = projects::head(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let lookup_slots = lookups::slots(connection, head.num)?;
    let mut live = LiveDelta::default();
    let mut deleted = 0_u64;
    for row in rows {
        let Some(row_key) = find_key(connection, head, *row)? else { continue };
        let (_, position) = split(row_key);
        if !lookup_slots.is_empty() {
            let vals: Vec<u8> = connection
                .prepare_cached("SELECT vals FROM rows WHERE key = ?1")
                .and_then(|mut query| query.query_row([row_key], |row| row.get(0)))
                .map_err(backend)?;
            let cells = Cells::unpack(&vals)?;
            lookups::change(connection, head.num, &lookup_slots, position, Some(&cells), None)?;
        }
        connection
            .prepare_cached("DELETE FROM rows WHERE key = ?1")
            .and_then(|mut delete| delete.execute([row_key]))
            .map_err(backend)?;
        live.add(position, -1);
        deleted += 1;
    }
    live.write(connection, head.num)?;
    let mut counters = projects::counters(connection, head.num)?;
    counters.row_count = counters.row_count.saturating_sub(deleted);
    projects::write_counters(connection, head.num, counters)?;
    Ok(deleted)
}

/// A row of this project.
pub(crate) fn find_row(connection: &Connection, head: Head, row: RowId) -> Result<Option<StoredRow>> {
    let mut query =
        connection.prepare_cached("SELECT key, id, vals, states FROM rows WHERE id = ?1").map_err(backend)?;
    let mut found = query.query([row.uuid().as_bytes()]).map_err(backend)?;
    let Some(found) = found.next().map_err(backend)? else { return Ok(None) };
    let (project, _) = split(found.get(0).map_err(backend)?);
    if project == head.num { stored_row(found).map(Some) } else { Ok(None) }
}

fn find_key(connection: &Connection, head: Head, row: RowId) -> Result<Option<i64>> {
    let key: Option<i64> = connection
        .prepare_cached("SELECT key FROM rows WHERE id = ?1")
        .and_then(|mut query| query.query_row([row.uuid().as_bytes()], |row| row.get(0)).optional())
        .map_err(backend)?;
    Ok(key.filter(|key| split(*key).0 == head.num))
}

/// `None` where every cell is idle, which is most rows.
fn encode_states(states: &CellStates) -> Result<Option<Vec<u8>>> {
    if states.is_empty() {
        return Ok(None);
    }
    serde_json::to_vec(states).map(Some).map_err(damaged)
}
