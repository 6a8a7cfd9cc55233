//! Writing rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use rowmill_model::cell::{Detail, Details};
use rowmill_model::plan::{StartedBy, block_of, place_of};
use rowmill_model::record::Slot;
use rowmill_model::value::{self, Value};
use rowmill_model::{ProjectId, Record, RowId};

use super::change::Changes;
use super::project::Row;
use super::state::State;
use crate::changes::{LeftoverFields, RowWrites, writes_into_guest, writes_into_match};
use crate::error::{Result, StoreError};
use crate::lookup::{self, Ambiguity, CANDIDATES_MAX, column_of};
use crate::types::{
    GuestWrite, GuestsWritten, Inserted, NewRow, NewRows, RowAction, WriteCells, WrittenCells,
};
use crate::value_bytes::check_new_bytes;

impl State {
    pub(super) fn insert_rows(&mut self, changes: &mut Changes, batch: NewRows) -> Result<Inserted> {
        let NewRows { project: id, version, rows, match_on, project_save, .. } = batch;
        let NewRows { ignored_keys, kept_input, new_rows_max, new_bytes_max, now_ms, once, import, .. } =
            batch;
        self.once(once, |state| {
            state.entry_at(id, version)?;
            let bytes_before = state.bytes_if(id, new_bytes_max)?;
            if let Some(project) = project_save {
                state.write_document(changes, &project)?;
            }
            let (mut outcomes, mut ambiguous) = (Vec::new(), Vec::new());
            let mut leftover = LeftoverFields::default();
            for (index, row) in rows.iter().enumerate() {
                let matches = match match_on {
                    Some(slot) => state.matches(id, slot, row)?,
                    None => Ok(Vec::new()),
                };
                match matches.as_deref() {
                    Ok([]) => {
                        leftover.insert(&state.entry(id)?.project.table, row)?;
                        outcomes.push(state.insert_row(changes, id, row, now_ms)?);
                    }
                    Ok([position]) => {
                        let entry = state.entry(id)?;
                        let Some(stored) = entry.rows.get(position) else { continue };
                        let (table, index) = (&entry.project.table, match_on.unwrap_or_default());
                        let writes =
                            writes_into_match(table, index, &stored.values.cells()?, row, &mut leftover)?;
                        outcomes.push(state.update_row(changes, (id, *position), &writes, now_ms)?);
                    }
                    Ok(_) => ambiguous.push((index, Ambiguity::Several)),
                    Err(why) => ambiguous.push((index, *why)),
                }
            }
            Inserted::check_new(&outcomes, new_rows_max)?;
            check_new_bytes(state.bytes_if(id, new_bytes_max)? - bytes_before, new_bytes_max)?;
            let inserted = match match_on {
                Some(_) => leftover.into_inserted(outcomes, ignored_keys, kept_input),
                None => Inserted { rows: outcomes, ignored_keys, kept_input },
            };
            if !ambiguous.is_empty() {
                return Err(StoreError::AmbiguousMatch(ambiguous));
            }
            if let Some(step) = &import {
                state.checkpoint_import(step, inserted.counts())?;
            }
            Ok(inserted)
        })
    }

    /// The rows whose value in a slot is the sent one. An empty value matches nothing.
    fn matches(
        &self,
        id: ProjectId,
        slot: Slot,
        sent: &NewRow,
    ) -> Result<std::result::Result<Vec<u64>, Ambiguity>> {
        let cells = sent.values.cells()?;
        let Some(wanted) = cells.get(column_of(slot)).filter(|raw| !Value::parse(raw).is_empty()) else {
            return Ok(Ok(Vec::new()));
        };
        let (mut found, mut candidates) = (Vec::new(), Vec::new());
        let hash = lookup::hash_of(slot, &cells);
        for (position, row) in &self.entry(id)?.rows {
            if hash.is_some() && lookup::hash_of(slot, &row.values.cells()?) == hash {
                candidates.push(*position);
            }
            let stored = row.values.cells()?.get(column_of(slot));
            if stored.is_some_and(|raw| lookup::matches(slot, raw, wanted)) {
                found.push(*position);
            }
        }
        Ok(if candidates.len() > CANDIDATES_MAX { Err(Ambiguity::TooMany) } else { Ok(found) })
    }

    fn insert_row(
        &mut self,
        changes: &mut Changes,
        id: ProjectId,
        row: &NewRow,
        now_ms: i64,
    ) -> Result<(RowId, RowAction)> {
        let entry = self.entry_mut(id)?;
        let position = entry.next_position;
        entry.next_position += 1;
        let filled: Vec<Slot> = row.values.cells()?.iter().map(|(slot, _)| slot).collect();
        let by_hand: Vec<Slot> = filled.iter().copied().filter(|slot| entry.is_processed(*slot)).collect();
        let mut details = Details::default();
        for slot in &by_hand {
            details.set(*slot, &Detail { updated_at_ms: Some(now_ms), ..Detail::default() })?;
        }
        let runs = entry.plan.plays() || !by_hand.is_empty();
        entry.rows.insert(position, Row { id: row.id, values: row.values.clone(), details });
        changes.of(id).written.insert(position);
        if runs {
            self.step(changes, (id, position), Some(now_ms), |steps| steps.made(filled))?;
        }
        Ok((row.id, RowAction::Inserted))
    }

    /// Writes what was sent over a row, unless that changes nothing.
    fn update_row(
        &mut self,
        changes: &mut Changes,
        (id, position): (ProjectId, u64),
        writes: &RowWrites<'_>,
        now_ms: i64,
    ) -> Result<(RowId, RowAction)> {
        let stored = self.entry(id)?.rows.get(&position).cloned().ok_or(StoreError::UnknownProject)?;
        let old = stored.values.cells()?;
        let differing = writes
            .iter()
            .map(|(slot, raw)| (*slot, &**raw))
            .filter(|(slot, raw)| !value::same(old.get(*slot).unwrap_or("null"), raw));
        let differing: Vec<(Slot, &str)> = differing.collect();
        if differing.is_empty() {
            return Ok((stored.id, RowAction::Unchanged));
        }
        self.write_row(changes, (id, position), &differing, now_ms)?;
        Ok((stored.id, RowAction::Updated))
    }

    /// Writes cells of one row by hand.
    fn write_row(
        &mut self,
        changes: &mut Changes,
        (id, position): (ProjectId, u64),
        writes: &[(Slot, &str)],
        now_ms: i64,
    ) -> Result<()> {
        let entry = self.entry_mut(id)?;
        let (project, plan) = (Arc::clone(&entry.project), Arc::clone(&entry.plan));
        let Some(row) = entry.rows.get_mut(&position) else { return Ok(()) };
        let new = row.values.with(writes.iter().copied())?;
        let old = std::mem::replace(&mut row.values, new.clone());
        let (old, new) = (old.cells()?, new.cells()?);
        let slots: Vec<Slot> = writes.iter().map(|(slot, _)| *slot).collect();
        for slot in slots.iter().filter(|slot| plan.slots().any(|planned| planned == **slot)) {
            let is_null = new.get(*slot).is_none();
            let detail = Detail { updated_at_ms: (!is_null).then_some(now_ms), ..Detail::default() };
            row.details.set(*slot, &detail)?;
        }
        let details = row.details.clone();
        changes.of(id).written.insert(position);
        if slots.iter().any(|slot| plan.concerns(*slot)) {
            self.step(changes, (id, position), Some(now_ms), |steps| {
                steps.written(&project.table, &slots, &old, &new, &details);
            })?;
        }
        Ok(())
    }

    pub(super) fn write_cells(&mut self, changes: &mut Changes, batch: WriteCells) -> Result<WrittenCells> {
        let WriteCells {
            project: id,
            version,
            project_save,
            cells,
            expected,
            new_bytes_max,
            now_ms,
            returning,
        } = batch;
        let entry = self.entry_at(id, version)?;
        if let Some(expected) = expected
            && entry.position(expected.id).and_then(|position| entry.row(position)).as_ref()
                != Some(&*expected)
        {
            return Err(StoreError::Stale);
        }
        if let Some(project) = project_save {
            self.write_document(changes, &project)?;
        }
        let bytes_before = self.bytes_if(id, new_bytes_max)?;
        let entry = self.entry(id)?;
        let mut unknown: Vec<RowId> = Vec::new();
        let mut by_position: BTreeMap<u64, Vec<(Slot, &str)>> = BTreeMap::new();
        for cell in &cells {
            match entry.position(cell.row) {
                Some(position) => by_position.entry(position).or_default().push((cell.slot, &cell.value)),
                None if unknown.contains(&cell.row) => {}
                None => unknown.push(cell.row),
            }
        }
        for row in &returning {
            if entry.position(*row).is_none() && !unknown.contains(row) {
                unknown.push(*row);
            }
        }
        if !unknown.is_empty() {
            return Err(StoreError::UnknownRows(unknown));
        }
        for (position, writes) in by_position {
            self.write_row(changes, (id, position), &writes, now_ms)?;
        }
        check_new_bytes(self.bytes_if(id, new_bytes_max)? - bytes_before, new_bytes_max)?;
        let entry = self.entry(id)?;
        let rows = returning.into_iter().filter_map(|row| entry.row(entry.position(row)?)).collect();
        Ok(WrittenCells { rows })
    }

    pub(super) fn delete_rows(
        &mut self,
        changes: &mut Changes,
        id: ProjectId,
        rows: &[RowId],
    ) -> Result<u64> {
        self.entry(id)?;
        let mut deleted = 0;
        for row in rows {
            let entry = self.entry_mut(id)?;
            let Some(position) = entry.position(*row) else { continue };
            let (plan, place) = (Arc::clone(&entry.plan), place_of(position));
            if let Some(block) = entry.blocks.get_mut(&block_of(position)) {
                entry.tally.remove(&plan, block, place);
                block.clear(place);
            }
            entry.rows.remove(&position);
            deleted += 1;
            changes.of(id).deleted.push(*row);
            changes.of(id).left.push(position);
            self.revoke_row(changes, id, position);
            self.retries.retain(|(_, lane, at)| lane.project != id || *at != position);
        }
        Ok(deleted)
    }

    pub(super) fn upsert_guests(
        &mut self,
        changes: &mut Changes,
        guests: Vec<GuestWrite>,
    ) -> Result<GuestsWritten> {
        let mut written = GuestsWritten::default();
        for guest in guests {
            match self.upsert_guest(changes, &guest)? {
                Some(RowAction::Inserted) => written.rows_created += 1,
                Some(RowAction::Updated) => written.rows_updated += 1,
                Some(RowAction::Unchanged) | None => continue,
            }
            changes.of(guest.project).started_by = Some(StartedBy::Webhook);
        }
        Ok(written)
    }

    /// What became of a guest's row; none if its event is older than the one last taken.
    fn upsert_guest(&mut self, changes: &mut Changes, guest: &GuestWrite) -> Result<Option<RowAction>> {
        let (id, now_ms) = (guest.project, guest.now_ms);
        let GuestWrite { version, guest_id, event_at_ms, may_create, new_bytes_max, row, .. } = guest;
        let bytes_before = self.bytes_if(id, *new_bytes_max)?;
        let entry = self.entry_at(id, *version)?;
        let known = entry.guests.get(guest_id).copied();
        let last_event_at = known.map_or(i64::MIN, |(_, event_at)| event_at);
        let event_at = event_at_ms.unwrap_or(last_event_at.max(now_ms));
        if event_at < last_event_at {
            return Ok(None);
        }
        let position = known.and_then(|(row, _)| entry.position(row));
        let (row, action) = match position {
            Some(position) => {
                let stored = entry.rows.get(&position).map(|row| row.values.clone()).unwrap_or_default();
                let writes = writes_into_guest(&entry.project.table, &stored.cells()?, guest)?;
                self.update_row(changes, (id, position), &writes, now_ms)?
            }
            None if !may_create => return Err(StoreError::Full),
            None => self.insert_row(changes, id, row, now_ms)?,
        };
        check_new_bytes(self.bytes_if(id, *new_bytes_max)? - bytes_before, *new_bytes_max)?;
        let entry = self.entry_mut(id)?;
        let before = entry.guests.insert(guest_id.clone(), (row, event_at));
        if let Some((before, _)) = before.filter(|(before, _)| *before != row) {
            entry.past_guests.insert(before, guest_id.clone());
        }
        Ok(Some(action))
    }

    /// The values of a row, for whoever changes them.
    pub(super) fn values(&self, id: ProjectId, position: u64) -> Option<&Record> {
        self.projects.get(&id)?.rows.get(&position).map(|row| &row.values)
    }
}
