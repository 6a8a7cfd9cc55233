//! One project of the memory store: its rows, and the marks of their cells.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rowmill_model::cell::{Detail, Details};
use rowmill_model::plan::{
    Block, EndedRun, Mark, Plan, Redefined, RowTransitions, StaleChange, StartedBy, Tally, Verdict, block_of,
    place_of,
};
use rowmill_model::record::Slot;
use rowmill_model::row::RowView;
use rowmill_model::{CellStates, Deletion, Project, Record, RowId, View};
use rowmill_telemetry::TraceContext;

use crate::error::Result;
use crate::processing_status::ProcessingStatus;
use crate::types::{ProjectSummary, StoredProject, StoredRow};
use crate::work::{ENDED_RUNS_KEPT_MS, ENDED_RUNS_MAX, Lane};

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
    /// Rows in the trash whose guests got others.
    pub(super) past_guests: HashMap<RowId, String>,
    pub(super) trash: BTreeMap<u64, Trashed>,
    pub(super) blocks: BTreeMap<u64, Block>,
    pub(super) tally: Tally,
    /// Oldest first.
    pub(super) ended_runs: Vec<EndedRun>,
    pub(super) processed_at_ms: Option<i64>,
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) id: RowId,
    pub(super) values: Record,
    pub(super) details: Details,
}

/// A deleted row, with the marks of its cells.
#[derive(Debug, Clone)]
pub(super) struct Trashed {
    pub(super) row: Row,
    pub(super) marks: Vec<(Slot, Mark)>,
    pub(super) batch: u64,
    pub(super) deletion: Deletion,
}

impl MemoryProject {
    /// What is to be done with a ready cell; none if its row has vanished.
    pub(super) fn judge(
        &self,
        lane: Lane,
        position: u64,
        now: jiff::Timestamp,
    ) -> Result<Option<(Verdict, Record, RowId)>> {
        let Some(row) = self.rows.get(&position) else { return Ok(None) };
        let block: &Block = match self.blocks.get(&block_of(position)) {
            Some(block) => block,
            None => return Ok(None),
        };
        let states: CellStates = self.states(position, &row.details);
        let view = RowView::new(&self.project.table, row.values.cells()?, &states);
        let verdict = self.plan.judge(lane.slot, place_of(position), block, &view, now);
        Ok(Some((verdict, row.values.clone(), row.id)))
    }

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

    pub(super) fn processing_status(&self) -> ProcessingStatus {
        ProcessingStatus {
            project: Arc::clone(&self.project),
            plan: Arc::clone(&self.plan),
            tally: self.tally.clone(),
            row_count: self.row_count(),
            updated_at_ms: self.processed_at_ms,
            batches: Vec::new(),
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

    /// Keeps the runs that ended, and forgets those that are too old.
    pub(super) fn keep_runs(&mut self, now_ms: i64, by: &StartedBy, is_stop: bool) {
        let trace = TraceContext::current().map(|context| context.to_string());
        let ended = self.tally.note_runs(now_ms, by, trace.as_deref(), is_stop);
        if ended.is_empty() {
            return;
        }
        self.ended_runs.extend(ended);
        let spare =
            self.ended_runs.len().saturating_sub(usize::try_from(ENDED_RUNS_MAX).unwrap_or(usize::MAX));
        self.ended_runs.drain(..spare);
        self.ended_runs.retain(|run| run.ended_at_ms >= now_ms - ENDED_RUNS_KEPT_MS);
    }

    /// Goes over every row after the columns were changed.
    pub(super) fn replan(&mut self, redefined: &[Redefined]) {
        self.tally = self.tally.recounting();
        let refilings = self.tally.askings.change(redefined);
        let plan = Arc::clone(&self.plan);
        let trashed: Vec<Slot> = self.project.trash.slots().collect();
        for block in self.blocks.values_mut() {
            block.keep_only(plan.slots().chain(trashed.iter().copied()));
            for slot in &trashed {
                block.stop_column(*slot);
            }
        }
        for refiling in refilings {
            let mut count = StaleChange::default();
            self.blocks.values_mut().for_each(|block| count += block.redefine(refiling));
            if count.stale == 0 {
                self.tally.askings.forget(refiling);
            }
        }
        for position in self.rows.keys() {
            let block = self.blocks.entry(block_of(*position)).or_default();
            RowTransitions::new(&plan, block, place_of(*position)).look_around();
            self.tally.add(&plan, block, place_of(*position));
        }
    }
}

impl Row {
    /// The tries of a run are forgotten when it ends.
    pub(super) fn forget_tries(&mut self, slot: Slot) -> Result<()> {
        if self.details.trying(slot).is_some() {
            let detail = self.details.get(slot).unwrap_or_default();
            self.details.set(slot, &Detail { trying: None, ..detail })?;
        }
        Ok(())
    }
}
