//! Saving projects, and steps of their rows.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rowmill_model::plan::{Plan, RowTransitions, Tally, block_of, place_of};
use rowmill_model::{Project, ProjectId, View};

use super::change::Changes;
use super::project::MemoryProject;
use super::state::State;
use crate::error::{Result, StoreError};
use crate::types::{ProjectSave, SavedProject};
use crate::work::Lane;

impl State {
    pub(super) fn save_project(&mut self, changes: &mut Changes, save: ProjectSave) -> Result<SavedProject> {
        let ProjectSave { project, views, version, row_count, subject, fixes, once } = save;
        self.once(once, |state| {
            match version {
                None => state.create_project(&project, &views),
                Some(version) => {
                    let entry = state.entry_at(project.id, version)?;
                    if row_count.is_some_and(|count| count != entry.rows.len() as u64) {
                        return Err(StoreError::Stale);
                    }
                    entry.views = Arc::new(views.clone());
                    state.write_document(changes, &project)?;
                }
            }
            Ok(SavedProject { project, views, subject, fixes })
        })
    }

    fn create_project(&mut self, project: &Project, views: &[View]) {
        self.projects_made += 1;
        let entry = MemoryProject {
            project: Arc::new(project.clone()),
            views: Arc::new(views.to_vec()),
            plan: Arc::new(Plan::of(project)),
            number: self.projects_made,
            version: 1,
            change_seq: 0,
            next_position: 0,
            rows: BTreeMap::new(),
            guests: HashMap::new(),
            blocks: BTreeMap::new(),
            tally: Tally::default(),
            processed_at_ms: None,
        };
        self.projects.insert(project.id, entry);
    }

    /// Writes a changed document and moves the version on.
    pub(super) fn write_document(&mut self, changes: &mut Changes, project: &Project) -> Result<()> {
        let entry = self.entry_mut(project.id)?;
        let plan = Arc::new(Plan::of(project));
        let before = std::mem::replace(&mut entry.plan, Arc::clone(&plan));
        entry.project = Arc::new(project.clone());
        entry.version += 1;
        if let Some(change) = plan.change_since(&before) {
            entry.replan(&change.asked);
            changes.of(project.id).all = true;
            let is_gone =
                |lane: Lane| lane.project == project.id && !plan.slots().any(|slot| slot == lane.slot);
            self.revoke_claims(changes, is_gone);
        }
        Ok(())
    }

    /// Takes one row through something that happens to it, with all that is kept beside it.
    pub(super) fn step<T>(
        &mut self,
        changes: &mut Changes,
        (id, position): (ProjectId, u64),
        now_ms: Option<i64>,
        happen: impl FnOnce(&mut RowTransitions<'_>) -> T,
    ) -> Result<T> {
        let entry = self.entry_mut(id)?;
        let (plan, place) = (Arc::clone(&entry.plan), place_of(position));
        let block = entry.blocks.entry(block_of(position)).or_default();
        let (outcome, revoked) = entry.tally.step(&plan, block, place, happen);
        entry.processed_at_ms = now_ms.or(entry.processed_at_ms);
        if let Some(row) = entry.rows.get_mut(&position) {
            for slot in plan.slots().filter(|slot| !block.get(*slot, place).is_pending()) {
                row.forget_tries(slot)?;
            }
        }
        changes.of(id).written.insert(position);
        for slot in revoked {
            self.revoke(changes, Lane { project: id, slot }, position);
        }
        Ok(outcome)
    }
}
