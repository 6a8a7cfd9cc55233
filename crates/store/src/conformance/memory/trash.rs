//! The trash of the memory store.

use std::sync::Arc;

use async_trait::async_trait;
use rowmill_model::plan::{block_of, place_of, position_of};
use rowmill_model::record::Slot;
use rowmill_model::row::RowView;
use rowmill_model::{CellStates, Deletion, ProjectId, RowId, TeamId};

use super::MemoryStore;
use super::change::Changes;
use super::project::{MemoryProject, Trashed};
use super::state::State;
use crate::error::Result;
use crate::trash::{Restored, TrashPage, TrashPlace, TrashStore, TrashedProject, TrashedRow};
use crate::types::{ProjectPage, SeenProject};

#[async_trait]
impl TrashStore for MemoryStore {
    async fn trash_rows(&self, project: ProjectId, rows: Vec<RowId>, deletion: Deletion) -> Result<u64> {
        self.write(|state, changes| state.trash_rows(changes, project, &rows, deletion))
    }

    async fn trashed_rows(
        &self,
        project: ProjectId,
        after: Option<TrashPlace>,
        limit: u32,
        bytes_max: usize,
    ) -> Result<TrashPage> {
        self.read(|state| Ok(state.entry(project)?.trash_page(after, limit, bytes_max)))
    }

    async fn restore_rows(&self, project: ProjectId, rows: Vec<RowId>, _: i64) -> Result<Restored> {
        self.attempt(|state, changes| state.restore_rows(changes, project, &rows))
    }

    async fn empty_trash(&self, project: ProjectId) -> Result<u64> {
        self.write(|state, _| Ok(std::mem::take(&mut state.entry_mut(project)?.trash).len() as u64))
    }

    async fn trash_project(
        &self,
        id: ProjectId,
        deletion: Deletion,
        seen: Option<SeenProject>,
    ) -> Result<bool> {
        self.write(|state, changes| {
            if let (Some(seen), Some(entry)) = (seen, state.projects.get(&id)) {
                seen.check(SeenProject { version: entry.version, row_count: entry.row_count() })?;
            }
            let Some(mut entry) = state.projects.remove(&id) else { return Ok(false) };
            entry.change_seq += 1;
            state.trashed_projects.insert(id, (entry, deletion));
            state.revoke_claims(changes, |lane| lane.project == id);
            state.retries.retain(|(_, lane, _)| lane.project != id);
            Ok(true)
        })
    }

    async fn trashed_projects(&self, team: TeamId, page: ProjectPage) -> Result<Vec<TrashedProject>> {
        self.read(|state| {
            let mut found: Vec<_> = state.trashed_of(team).collect();
            found.sort_by_key(|(entry, deletion)| std::cmp::Reverse((deletion.at_ms, entry.number)));
            let offset = usize::try_from(page.offset).unwrap_or(usize::MAX);
            let trashed = |(entry, deletion): (&MemoryProject, Deletion)| TrashedProject {
                summary: entry.summary(),
                row_count: entry.row_count(),
                deletion,
            };
            Ok(found.into_iter().skip(offset).take(page.limit as usize).map(trashed).collect())
        })
    }

    async fn count_trashed_projects(&self, team: TeamId) -> Result<u64> {
        self.read(|state| Ok(state.trashed_of(team).count() as u64))
    }

    async fn restore_project(&self, team: TeamId, id: ProjectId, _: i64) -> Result<bool> {
        self.write(|state, changes| {
            if !state.trashed_of(team).any(|(entry, _)| entry.project.id == id) {
                return Ok(false);
            }
            let Some((entry, _)) = state.trashed_projects.remove(&id) else { return Ok(false) };
            let positions: Vec<u64> = entry.rows.keys().copied().collect();
            state.projects.insert(id, entry);
            for position in positions {
                state.step(changes, (id, position), None, |steps| steps.stop(None))?;
            }
            changes.of(id).all = true;
            Ok(true)
        })
    }

    async fn empty_project_trash(&self, team: TeamId) -> Result<u64> {
        self.write(|state, _| {
            let before = state.trashed_projects.len();
            state.trashed_projects.retain(|_, (entry, _)| entry.project.team != team);
            Ok((before - state.trashed_projects.len()) as u64)
        })
    }

    async fn projects_to_sweep(&self, until_ms: i64) -> Result<Vec<ProjectId>> {
        self.read(|state| {
            let is_old = |entry: &&MemoryProject| {
                entry.project.trash.oldest_ms().is_some_and(|oldest_ms| oldest_ms <= until_ms)
            };
            Ok(state.projects.values().filter(is_old).map(|entry| entry.project.id).collect())
        })
    }

    async fn sweep_trash(&self, until_ms: i64) -> Result<bool> {
        self.write(|state, _| {
            for entry in state.projects.values_mut() {
                entry.trash.retain(|_, trashed| trashed.deletion.at_ms > until_ms);
            }
            state.trashed_projects.retain(|_, (_, deletion)| deletion.at_ms > until_ms);
            Ok(false)
        })
    }
}

impl State {
    fn trashed_of(&self, team: TeamId) -> impl Iterator<Item = (&MemoryProject, Deletion)> {
        let theirs = self.trashed_projects.values().filter(move |(entry, _)| entry.project.team == team);
        theirs.map(|(entry, deletion)| (entry, *deletion))
    }

    /// How many rows a team has in the trash.
    pub(super) fn count_trashed_rows(&self, team: TeamId) -> u64 {
        let rows = self.projects_of(team, None).map(|entry| entry.trash.len());
        let projects = self.trashed_of(team).map(|(entry, _)| entry.rows.len() + entry.trash.len());
        rows.chain(projects).sum::<usize>() as u64
    }

    fn trash_rows(
        &mut self,
        changes: &mut Changes,
        id: ProjectId,
        rows: &[RowId],
        deletion: Deletion,
    ) -> Result<u64> {
        let batch = self.entry(id)?.change_seq + 1;
        let mut deleted = 0;
        for row in rows {
            let Some(position) = self.entry(id)?.position(*row) else { continue };
            self.step(changes, (id, position), None, |steps| steps.stop(None))?;
            let entry = self.entry_mut(id)?;
            let Some(row) = entry.rows.get(&position).cloned() else { continue };
            let slots: Vec<Slot> = entry.plan.slots().chain(entry.project.trash.slots()).collect();
            let marks = slots.into_iter().map(|slot| (slot, entry.mark(slot, position))).collect();
            let id_of_row = row.id;
            entry.trash.insert(position, Trashed { row, marks, batch, deletion });
            deleted += self.delete_rows(changes, id, &[id_of_row])?;
        }
        Ok(deleted)
    }

    fn restore_rows(&mut self, changes: &mut Changes, id: ProjectId, rows: &[RowId]) -> Result<Restored> {
        let mut restored = Restored::default();
        for row in rows {
            let entry = self.entry_mut(id)?;
            let found = entry.trash.iter().find(|(_, trashed)| trashed.row.id == *row);
            let Some(position) = found.map(|(position, _)| *position) else { continue };
            if !entry.may_return(*row) {
                restored.guests_elsewhere.push(*row);
                continue;
            }
            if restored.rows == 0 {
                entry.next_position += 1;
            }
            entry.restore(position)?;
            restored.rows += 1;
            changes.of(id).written.insert(position);
            changes.of(id).restored.push(position);
        }
        Ok(restored)
    }
}

impl MemoryProject {
    fn trash_page(&self, after: Option<TrashPlace>, limit: u32, bytes_max: usize) -> TrashPage {
        let place = |position: u64, trashed: &Trashed| TrashPlace { batch: trashed.batch, position };
        let mut found: Vec<TrashedRow> = self
            .trash
            .iter()
            .map(|(position, trashed)| TrashedRow {
                id: trashed.row.id,
                place: place(*position, trashed),
                values: trashed.row.values.clone(),
                deletion: trashed.deletion,
            })
            .filter(|row| after.is_none_or(|after| row.place < after))
            .collect();
        found.sort_by_key(|row| std::cmp::Reverse(row.place));
        let (mut page, mut bytes) = (TrashPage { total: self.trash.len() as u64, ..TrashPage::default() }, 0);
        for row in found {
            if page.rows.len() >= limit as usize || bytes >= bytes_max {
                page.more = true;
                break;
            }
            bytes = bytes.saturating_add(row.values.as_bytes().len());
            page.rows.push(row);
        }
        page
    }

    /// Whether no other row is the guest's by now. If so, this one is again.
    fn may_return(&mut self, row: RowId) -> bool {
        let Some(guest) = self.past_guests.get(&row).cloned() else { return true };
        let Some((other, event_at)) = self.guests.get(&guest).copied() else { return true };
        if self.position(other).is_some() {
            return false;
        }
        self.past_guests.remove(&row);
        self.past_guests.insert(other, guest.clone());
        self.guests.insert(guest, (row, event_at));
        true
    }

    fn restore(&mut self, position: u64) -> Result<()> {
        let Some(Trashed { row, marks, .. }) = self.trash.remove(&position) else { return Ok(()) };
        let (plan, project) = (Arc::clone(&self.plan), Arc::clone(&self.project));
        let states = &CellStates::IDLE;
        let view = RowView::new(&project.table, row.values.cells()?, states);
        let block = self.blocks.entry(block_of(position)).or_default();
        let is_kept = |slot: &Slot| plan.slots().chain(project.trash.slots()).any(|kept| kept == *slot);
        for (slot, mark) in marks.into_iter().filter(|(slot, _)| is_kept(slot)) {
            block.set(slot, place_of(position), plan.restored(slot, mark, &view, &row.details));
        }
        self.tally.add(&plan, block, place_of(position));
        self.rows.insert(position, row);
        Ok(())
    }

    /// Finds out anew whether results of these columns are stale.
    pub(super) fn refresh(&mut self, slots: &[Slot]) -> Result<()> {
        let (plan, project) = (Arc::clone(&self.plan), Arc::clone(&self.project));
        for (number, block) in &mut self.blocks {
            for place in 0..=u8::MAX {
                let Some(row) = self.rows.get(&position_of(*number, place)) else { continue };
                let states = &CellStates::IDLE;
                let view = RowView::new(&project.table, row.values.cells()?, states);
                self.tally.remove(&plan, block, place);
                for slot in slots {
                    let mark = plan.restored(*slot, block.get(*slot, place), &view, &row.details);
                    block.set(*slot, place, mark);
                }
                self.tally.add(&plan, block, place);
            }
        }
        Ok(())
    }
}
