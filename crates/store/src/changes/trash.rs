//! Rows that go to the trash and come back.

use std::sync::Arc;

use rowmill_model::plan::{Block, Mark, PlanChange, block_of, place_of};
use rowmill_model::record::Slot;
use rowmill_model::row::RowView;
use rowmill_model::{CellStates, Deletion, Project};

use super::raw_row::PartRow;
use super::row_changes::{OpenEntry, OpenTrash, RowChanges, byte_change, not_loaded};
use super::write_set::TrashEntry;
use crate::error::Result;

/// The slots of columns that are back from the trash in a project that is saved.
pub fn came_back(old: &Project, new: &Project) -> Vec<Slot> {
    let is_there = |slot: &Slot| new.table.columns.iter().any(|column| column.slot == *slot);
    old.trash.slots().filter(is_there).collect()
}

/// The columns whose results may or may not be stale when some came back: these, and those that ask otherwise now.
pub fn refreshed(came_back: &[Slot], change: &PlanChange) -> Vec<Slot> {
    let mut slots = came_back.to_vec();
    slots.extend(change.redefined.iter().map(|redefined| redefined.slot));
    slots.sort_unstable();
    slots.dedup();
    slots
}

impl<V: Copy> RowChanges<V> {
    pub fn is_trash_open(&self, block: u64) -> bool {
        self.trash.contains_key(&block)
    }

    /// Takes what of a block is in the trash: the marks as they are stored, and the entries. A row that goes there needs
    /// no entries.
    pub fn open_trash(
        &mut self,
        block: u64,
        stored: Vec<u8>,
        entries: impl IntoIterator<Item = TrashEntry>,
    ) -> Result<()> {
        let marks = if stored.is_empty() { Block::default() } else { Block::decode(&stored)? };
        let open = |entry| OpenEntry { entry, is_new: false, is_changed: false };
        let entries = entries.into_iter().map(open).collect();
        self.trash.insert(block, OpenTrash { marks, stored, entries });
        Ok(())
    }

    /// Moves a row to the trash. Its block must be loaded, what of the block is there already, and its values where rows
    /// are matched on any.
    pub fn trash(&mut self, position: u64, deletion: Deletion) -> Result<()> {
        let (block, place, batch) = (block_of(position), place_of(position), self.change_seq + 1);
        let marks = self.take_out(position)?;
        let open = self.trash.get_mut(&block).ok_or_else(not_loaded)?;
        for (slot, mark) in marks {
            open.marks.set(slot, place, mark);
        }
        if let Some(new) = open.entries.iter_mut().find(|open| open.is_new) {
            new.entry.places.insert(place);
        } else {
            let entry = TrashEntry { batch, block, places: std::iter::once(place).collect(), deletion };
            open.entries.push(OpenEntry { entry, is_new: true, is_changed: true });
        }
        self.writes.rows_trashed.push(position);
        self.trashed_count += 1;
        Ok(())
    }

    /// Whether a row is in the trash, as far as its block is loaded. One that was emptied out of it is not.
    pub fn is_trashed(&self, position: u64) -> bool {
        let open = self.trash.get(&block_of(position));
        open.is_some_and(|open| {
            open.entries.iter().any(|open| open.entry.places.contains(place_of(position)))
        })
    }

    /// Brings a row back from the trash. Its block must be loaded, and what of the block is in the trash.
    pub fn restore(&mut self, row: &PartRow) -> Result<()> {
        let row = &row.clone().note_in(&self.missed);
        let position = row.position;
        let (block, place) = (block_of(position), place_of(position));
        let open = self.trash.get_mut(&block).ok_or_else(not_loaded)?;
        let entry = open.entries.iter_mut().find(|open| open.entry.places.contains(place));
        let entry = entry.ok_or_else(not_loaded)?;
        entry.entry.places.remove(place);
        entry.is_changed = true;
        let marks = open.marks.take(place);
        self.reindex(position, None, Some(&row.values.cells()?), |_| true);
        self.writes.rows_restored.push(position);
        self.live.add(position, 1);
        self.row_count += 1;
        self.value_bytes_change += byte_change(0, row.values.bytes()?);
        self.trashed_count = self.trashed_count.saturating_sub(1);
        if self.restored_count == 0 {
            // So a table that rows came back to never has the numbers that it had before.
            self.next_position += 1;
        }
        self.restored_count += 1;
        self.note_move(position);
        self.touch(position);
        if let Some(outbox) = &mut self.outbox {
            outbox.restored(row)?;
        }
        self.restore_marks(row, marks)
    }

    fn restore_marks(&mut self, row: &PartRow, mut marks: Vec<(Slot, Mark)>) -> Result<()> {
        let (plan, project) = (Arc::clone(&self.plan), Arc::clone(&self.project));
        marks.retain(|(slot, _)| plan.slots().chain(project.trash.slots()).any(|kept| kept == *slot));
        if marks.is_empty() {
            return Ok(());
        }
        let states = &CellStates::IDLE;
        let view = RowView::new(&project.table, row.values.cells()?, states);
        let place = place_of(row.position);
        let (open, tally) = self.open(block_of(row.position))?;
        for (slot, mark) in marks {
            open.block.set(slot, place, plan.restored(slot, mark, &view, &row.details));
        }
        tally.add(&plan, &open.block, place);
        Ok(())
    }

    /// Finds out anew whether results are stale: their columns came back from the trash, or refer again to one that did.
    /// The row's block must be loaded.
    pub fn refresh(&mut self, row: &PartRow, slots: &[Slot]) -> Result<()> {
        let row = &row.clone().note_in(&self.missed);
        let (plan, project) = (Arc::clone(&self.plan), Arc::clone(&self.project));
        let states = &CellStates::IDLE;
        let view = RowView::new(&project.table, row.values.cells()?, states);
        let place = place_of(row.position);
        let (open, tally) = self.open(block_of(row.position))?;
        tally.remove(&plan, &open.block, place);
        for slot in slots {
            let mark = open.block.get(*slot, place);
            open.block.set(*slot, place, plan.restored(*slot, mark, &view, &row.details));
        }
        tally.add(&plan, &open.block, place);
        Ok(())
    }

    pub(super) fn close_trash(&mut self) {
        for (block, OpenTrash { marks, stored, entries }) in std::mem::take(&mut self.trash) {
            let marks = marks.encode();
            if marks != stored {
                self.writes.trash_marks.push((block, marks));
            }
            for OpenEntry { entry, is_new, .. } in entries.into_iter().filter(|open| open.is_changed) {
                match (is_new, entry.places.is_empty()) {
                    (true, true) => {}
                    (true, false) => self.writes.trash_made.push(entry),
                    (false, _) => self.writes.trash_changed.push(entry),
                }
            }
        }
    }
}
