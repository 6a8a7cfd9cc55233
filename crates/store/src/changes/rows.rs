//! Writing rows by hand: what is inserted, matched, changed, or the same as before.

use std::collections::HashMap;
use std::sync::Arc;

use rowmill_model::cell::{Detail, Details};
use rowmill_model::plan::{Mark, block_of, place_of};
use rowmill_model::record::{Cells, Slot};
use rowmill_model::{RowId, value};

use super::matched::{LeftoverFields, RowWrites, writes_into_guest, writes_into_match};
use super::raw_row::PartRow;
use super::row_changes::{Fate, LoadedRow, RowChanges, byte_change, bytes_of, not_loaded};
use crate::error::{Result, StoreError};
use crate::lookup::{self, Ambiguity, CANDIDATES_MAX, COMPARED_BYTES_MAX, column_of};
use crate::row_values::RowValues;
use crate::types::{CellWrite, GuestWrite, NewRow, RowAction};

/// Where a guest's row lies, and when the last event came that was taken, in Unix milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct GuestRow {
    pub position: u64,
    pub event_at_ms: i64,
}

/// The rows that match a sent one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Matching {
    None,
    One(u64),
    Unclear(Ambiguity),
}

impl<V: Copy> RowChanges<V> {
    /// Inserts a row behind all others. Its block must be loaded if any column is processed.
    pub fn insert(&mut self, row: NewRow, now_ms: i64) -> Result<(RowId, RowAction)> {
        let NewRow { id, values, cleared: _, leftover_bytes_max: _ } = row;
        let position = self.next_position;
        let cells = values.cells()?;
        let by_hand: Vec<Slot> = match self.plan.slots().next() {
            Some(_) => self.plan.slots().filter(|slot| cells.get(*slot).is_some()).collect(),
            None => Vec::new(),
        };
        let mut details = Details::default();
        for slot in &by_hand {
            details.set(*slot, &written_at(now_ms))?;
        }
        self.reindex(position, None, Some(&cells), |_| true);
        let value_bytes = values.as_bytes().len();
        let row = PartRow::new(id, position, values.into(), details);
        self.bytes += bytes_of(&row);
        self.value_bytes_change += byte_change(0, value_bytes);
        self.rows.insert(position, LoadedRow { row, fate: Fate::Inserted, value_bytes, version: None });
        self.live.add(position, 1);
        self.next_position += 1;
        self.row_count += 1;
        self.touch(position);
        if let Some(outbox) = &mut self.outbox {
            outbox.created(position);
        }
        if self.plan.plays() || !by_hand.is_empty() {
            self.step(position, |steps| steps.made(by_hand))?;
        }
        Ok((id, RowAction::Inserted))
    }

    /// Updates the row whose value in an index is the same, or inserts one. Neither if several rows match, or if so many
    /// rows may match that they are not all compared: a row that is there must not be inserted again.
    pub fn upsert(
        &mut self,
        index: Slot,
        row: NewRow,
        leftover: &mut LeftoverFields,
        now_ms: i64,
    ) -> Result<std::result::Result<(RowId, RowAction), Ambiguity>> {
        let matching = match row.values.cells()?.get(column_of(index)) {
            Some(raw) => self.matching(index, &row.values.cells()?, raw)?,
            None => Matching::None,
        };
        let project = Arc::clone(&self.project);
        match matching {
            Matching::None => {
                leftover.insert(&project.table, &row)?;
                self.insert(row, now_ms).map(Ok)
            }
            Matching::One(position) => {
                let stored = self.row(position).ok_or_else(not_loaded)?.values.clone();
                let writes = writes_into_match(&project.table, index, &stored.cells()?, &row, leftover)?;
                self.update(position, &writes, now_ms).map(Ok)
            }
            Matching::Unclear(why) => Ok(Err(why)),
        }
    }

    /// The row whose value in an index is the same as that of `sent`. An empty value matches nothing.
    fn matching(&mut self, index: Slot, sent: &Cells<'_>, raw: &str) -> Result<Matching> {
        let Some(hash) = lookup::hash_of(index, sent) else { return Ok(Matching::None) };
        let candidates = self.matches.get(&(index, hash)).ok_or_else(not_loaded)?;
        let (mut matching, mut compared_bytes) = (Matching::None, self.compared_bytes);
        if candidates.len() > CANDIDATES_MAX {
            return Ok(Matching::Unclear(Ambiguity::TooMany));
        }
        for position in candidates {
            if compared_bytes > COMPARED_BYTES_MAX {
                matching = Matching::Unclear(Ambiguity::TooLong);
                break;
            }
            let Some(row) = self.row(*position) else { continue };
            let cells = row.values.cells()?;
            let Some(stored) = cells.get(column_of(index)) else { continue };
            // Two values may share a hash; the row itself decides.
            let is_match = lookup::matches(index, stored, raw);
            let in_vain = if is_match { stored.len().saturating_sub(raw.len()) } else { stored.len() };
            compared_bytes = compared_bytes.saturating_add(in_vain);
            if !is_match {
                continue;
            }
            if matching != Matching::None {
                matching = Matching::Unclear(Ambiguity::Several);
                break;
            }
            matching = Matching::One(*position);
        }
        self.compared_bytes = compared_bytes;
        Ok(matching)
    }

    /// Writes what was sent over a stored row, unless that changes nothing.
    pub fn update(
        &mut self,
        position: u64,
        writes: &RowWrites<'_>,
        now_ms: i64,
    ) -> Result<(RowId, RowAction)> {
        let stored = self.row(position).ok_or_else(not_loaded)?.clone();
        let old = stored.values.cells()?;
        let changed: Vec<(Slot, &str)> = writes
            .iter()
            .map(|(slot, raw)| (*slot, &**raw))
            .filter(|(slot, raw)| !value::same(old.get(*slot).unwrap_or("null"), raw))
            .collect();
        if changed.is_empty() {
            return Ok((stored.id, RowAction::Unchanged));
        }
        self.write(position, &changed, now_ms)?;
        Ok((stored.id, RowAction::Updated))
    }

    /// Takes a guest's event: `None` if it is older than the one last taken. A row that somebody deleted comes back
    /// with the guest's next event.
    pub fn upsert_guest(
        &mut self,
        known: Option<GuestRow>,
        guest: &GuestWrite,
    ) -> Result<Option<(GuestRow, RowAction)>> {
        let GuestWrite { event_at_ms, may_create, new_bytes_max, now_ms, row, .. } = guest;
        let last_event_at_ms = known.map_or(i64::MIN, |known| known.event_at_ms);
        let event_at_ms = event_at_ms.unwrap_or(last_event_at_ms.max(*now_ms));
        if event_at_ms < last_event_at_ms {
            return Ok(None);
        }
        let position = known.map(|known| known.position).filter(|position| self.has_row(*position));
        let (position, (_, action)) = match position {
            Some(position) => {
                let stored = self.row(position).ok_or_else(not_loaded)?.values.clone();
                let project = Arc::clone(&self.project);
                let writes = writes_into_guest(&project.table, &stored.cells()?, guest)?;
                (position, self.update(position, &writes, *now_ms)?)
            }
            None if !may_create => return Err(StoreError::Full),
            None => (self.next_position, self.insert(row.clone(), *now_ms)?),
        };
        self.check_new_bytes(*new_bytes_max)?;
        Ok(Some((GuestRow { position, event_at_ms }, action)))
    }

    /// Writes cells of a row by hand.
    pub fn write(&mut self, position: u64, writes: &[(Slot, &str)], now_ms: i64) -> Result<()> {
        let stored = self.row(position).ok_or_else(not_loaded)?;
        let values = stored.values.with(writes.iter().copied())?;
        let slots: Vec<Slot> = writes.iter().map(|(slot, _)| *slot).collect();
        let mut details = stored.details.clone();
        for slot in self.plan.slots().filter(|slot| slots.contains(slot)) {
            let is_null = values.cells()?.get(slot).is_none();
            details.set(slot, &if is_null { Detail::default() } else { written_at(now_ms) })?;
        }
        if self.outbox.is_some() {
            let (old, new) = (stored.values.cells()?, values.cells()?);
            let of = |cells: &Cells<'_>, slot| cells.get(slot).unwrap_or("null").to_owned();
            let is_other = |slot: &Slot| !value::same(&of(&old, *slot), &of(&new, *slot));
            let changed: Vec<Slot> = slots.iter().copied().filter(is_other).collect();
            if let Some(outbox) = &mut self.outbox {
                outbox.written(position, changed);
            }
        }
        let concerns = self.concerns(&slots);
        let new = concerns.then(|| values.clone());
        let kept = if concerns { details.clone() } else { Details::default() };
        let old = self.put(position, values, details, &slots)?;
        if let Some(new) = new {
            let (old, new) = (old.cells()?, new.cells()?);
            let project = Arc::clone(&self.project);
            self.step(position, |steps| steps.written(&project.table, &slots, &old, &new, &kept))?;
        }
        Ok(())
    }

    /// Writes a row's values, which differ in these slots only, and its details, and whatever follows from the values
    /// alone. Says what the values were.
    pub(super) fn put(
        &mut self,
        position: u64,
        values: RowValues,
        details: Details,
        slots: &[Slot],
    ) -> Result<RowValues> {
        let is_indexed = self.lookup_slots.iter().any(|index| slots.contains(&column_of(*index)));
        let loaded = self.loaded(position)?;
        let new = is_indexed.then(|| values.clone());
        let value_bytes = values.bytes()?;
        let bytes_before = std::mem::replace(&mut loaded.value_bytes, value_bytes);
        let old = std::mem::replace(&mut loaded.row.values, values);
        loaded.row.details = details;
        if loaded.fate == Fate::Read {
            loaded.fate = Fate::Updated;
        }
        self.value_bytes_change += byte_change(bytes_before, value_bytes);
        if let Some(new) = new {
            let is_written = |slot: Slot| slots.contains(&slot);
            self.reindex(position, Some(&old.cells()?), Some(&new.cells()?), is_written);
        }
        self.touch(position);
        Ok(old)
    }

    /// Deletes a row. Its block must be loaded, and its values where rows are matched on any.
    pub fn delete(&mut self, position: u64) -> Result<()> {
        self.take_out(position)?;
        self.writes.rows_deleted.push(position);
        Ok(())
    }

    /// Takes a row out of the table, with all that is kept with it. What waits or runs is stopped. Returns the marks of
    /// its cells.
    pub(super) fn take_out(&mut self, position: u64) -> Result<Vec<(Slot, Mark)>> {
        let LoadedRow { row: PartRow { id, values, .. }, value_bytes, .. } =
            self.rows.remove(&position).ok_or_else(not_loaded)?;
        self.value_bytes_change += byte_change(value_bytes, 0);
        self.by_id.remove(&id);
        if self.deletes_by_value() {
            self.reindex(position, Some(&values.cells()?), None, |_| true);
        }
        self.live.add(position, -1);
        self.row_count = self.row_count.saturating_sub(1);
        self.touched.push(position);
        self.note_move(position);
        self.name(|_, deleted| deleted.push(id));
        if let Some(outbox) = &mut self.outbox {
            outbox.deleted(position, id);
        }
        if !self.has_marks(block_of(position)) {
            return Ok(Vec::new());
        }
        self.step(position, |steps| steps.stop(None))?;
        let plan = Arc::clone(&self.plan);
        let (open, tally) = self.open(block_of(position))?;
        tally.remove(&plan, &open.block, place_of(position));
        Ok(open.block.take(place_of(position)))
    }

    /// Notes that a row left or came back.
    pub(super) fn note_move(&mut self, position: u64) {
        self.moved_from = Some(self.moved_from.map_or(position, |first| first.min(position)));
    }

    /// Keeps the lookups over a row that changed from `old` to `new` in these columns.
    pub(super) fn reindex(
        &mut self,
        position: u64,
        old: Option<&Cells<'_>>,
        new: Option<&Cells<'_>>,
        is_changed: impl Fn(Slot) -> bool,
    ) {
        for slot in self.lookup_slots.iter().filter(|index| is_changed(column_of(**index))) {
            let hash_of = |cells: Option<&Cells<'_>>| lookup::hash_of(*slot, cells?);
            let (old, new) = (hash_of(old), hash_of(new));
            if old == new {
                continue;
            }
            for (hash, is_there) in [(old, false), (new, true)] {
                let Some(hash) = hash else { continue };
                self.writes.lookups.insert((*slot, hash, position), is_there);
                if let Some(positions) = self.matches.get_mut(&(*slot, hash)) {
                    if is_there {
                        positions.insert(position)
                    } else {
                        positions.remove(&position)
                    };
                }
            }
        }
    }
}

/// The writes of each row together, rows in the order they are first named.
pub fn writes_by_row(cells: &[CellWrite]) -> Vec<(RowId, Vec<(Slot, &str)>)> {
    let mut indexes = HashMap::with_capacity(cells.len());
    let mut rows: Vec<(RowId, Vec<(Slot, &str)>)> = Vec::new();
    for cell in cells {
        let index = *indexes.entry(cell.row).or_insert(rows.len());
        match rows.get_mut(index) {
            Some((_, writes)) => writes.push((cell.slot, &cell.value)),
            None => rows.push((cell.row, vec![(cell.slot, &cell.value)])),
        }
    }
    rows
}

fn written_at(now_ms: i64) -> Detail {
    Detail { updated_at_ms: Some(now_ms), ..Detail::default() }
}
