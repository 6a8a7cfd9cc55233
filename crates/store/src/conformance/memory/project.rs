//! One project of the memory store: its rows, and the marks of their cells.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rowmill_model::cell::{Detail, Details};
use rowmill_model::plan::{Block, Mark, Plan, RowTransitions, Tally, block_of, place_of};
use rowmill_model::record::Slot;
use rowmill_model::{CellStates, Project, ProjectId, Record, RowId, View};

use super::State;
use super::change::Changes;
use crate::{Lane, ProjectSave, ProjectSummary, Result, SavedProject, StoredProject, StoredRow};

#[derive(Debug, Clone)]
pub(super) struct MemoryProject {
    pub(super) project: Arc<Project>,
    pub(super) views: Arc<Vec<View>>,
    pub(super) plan: Arc<Plan>,
    /// The how-manieth project it is.
    pub(super) number: u64,
    pub(super) version: u64,
    pub(super) change_seq: u64,
    pub(super) next_position: u64,
    pub(super) rows: BTreeMap<u64, Row>,
    /// Each guest's row and the time of the last event taken.
    pub(super) guests: HashMap<String, (RowId, i64)>,
    pub(super) blocks: BTreeMap<u64, Block>,
    pub(super) tally: Tally,
    pub(super) processed_at_ms: Option<i64>,
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) id: RowId,
    pub(super) values: Record,
    pub(super) details: Details,
}

impl MemoryProject {
    pub(super) fn row_count(&self) -> u64 {
        self.rows.len() as u64
    }

    pub(super) fn position(&self, id: RowId) -> Option<u64> {
        self.rows.iter().find(|(_, row)| row.id == id).map(|(position, _)| *position)
    }

    pub(super) fn row(&self, position: u64) -> Option<StoredRow> {
        let Row { id, values, details } = self.rows.get(&position)?;
        let states = self.states(position, details);
        Some(StoredRow { id: *id, position, values: values.clone(), states })
    }

    pub(super) fn states(&self, position: u64, details: &Details) -> CellStates {
        let block = self.blocks.get(&block_of(position));
        block.map_or(CellStates::IDLE, |block| CellStates::of(block, place_of(position), details))
    }

    pub(super) fn mark(&self, slot: Slot, position: u64) -> Mark {
        self.blocks
            .get(&block_of(position))
            .map(|block| block.get(slot, place_of(position)))
            .unwrap_or_default()
    }

    pub(super) fn is_processed(&self, slot: Slot) -> bool {
        self.plan.slots().any(|planned| planned == slot)
    }

    pub(super) fn stored(&self) -> StoredProject {
        StoredProject {
            project: Arc::clone(&self.project),
            views: Arc::clone(&self.views),
            version: self.version,
            row_count: self.row_count(),
            change_seq: self.change_seq,
        }
    }

    pub(super) fn summary(&self) -> ProjectSummary {
        let Project { id, title, created_at_ms, autoplay, table, folder_id, .. } = &*self.project;
        ProjectSummary {
            id: *id,
            title: title.clone(),
            created_at_ms: *created_at_ms,
            autoplay: *autoplay,
            column_count: u32::try_from(table.columns.len()).unwrap_or(u32::MAX),
            folder_id: folder_id.clone(),
        }
    }

    /// Goes over every row after the columns were changed.
    fn replan(&mut self) {
        self.tally = self.tally.recounting();
        let plan = Arc::clone(&self.plan);
        self.blocks.values_mut().for_each(|block| block.keep_only(plan.slots()));
        for position in self.rows.keys() {
            let block = self.blocks.entry(block_of(*position)).or_default();
            RowTransitions::new(&plan, block, place_of(*position)).look_around();
            self.tally.add(&plan, block, place_of(*position));
        }
    }
}

impl State {
    pub(super) fn save_project(&mut self, changes: &mut Changes, save: ProjectSave) -> Result<SavedProject> {
        let ProjectSave { project, views, version, subject, fixes, once } = save;
        self.once(once, |state| {
            match version {
                None => state.create_project(&project, &views),
                Some(version) => {
                    state.entry_at(project.id, version)?.views = Arc::new(views.clone());
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
        if !plan.is_like(&before) {
            entry.replan();
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

impl Row {
    /// The tries of a run are forgotten when it ends.
    fn forget_tries(&mut self, slot: Slot) -> Result<()> {
        if self.details.trying(slot).is_some() {
            let detail = self.details.get(slot).unwrap_or_default();
            self.details.set(slot, &Detail { trying: None, ..detail })?;
        }
        Ok(())
    }
}
