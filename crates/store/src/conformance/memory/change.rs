//! What a transaction has done so far, to be told once it is over.

use std::collections::{BTreeMap, BTreeSet};

use rowmill_model::plan::{StartedBy, block_of, place_of};
use rowmill_model::{ProjectId, RowId};

use super::project::MemoryProject;
use super::state::State;
use crate::spans::Spans;
use crate::work::{Change, ChangedRows, Ticket};

#[derive(Debug, Default)]
pub(super) struct Changes(BTreeMap<ProjectId, Touched>);

#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Who starts a run that begins here; autoplay if nobody is named.
    pub(super) started_by: Option<StartedBy>,
    pub(super) is_stop: bool,
    pub(super) written: BTreeSet<u64>,
    pub(super) deleted: Vec<RowId>,
    /// Where those lay.
    pub(super) left: Vec<u64>,
    /// Where rows came back.
    pub(super) restored: Vec<u64>,
    pub(super) revoked: Vec<Ticket>,
    /// Every row may be another.
    pub(super) all: bool,
}

impl Changes {
    pub(super) fn of(&mut self, project: ProjectId) -> &mut Touched {
        self.0.entry(project).or_default()
    }

    /// Moves the sequences on and says what is to be told.
    pub(super) fn finish(self, state: &mut State) -> Vec<Change> {
        let tell = |(id, touched): (ProjectId, Touched)| {
            let (seq, ready) = match state.projects.get_mut(&id) {
                Some(entry) => {
                    entry.change_seq += 1;
                    let by = touched.started_by.clone().unwrap_or(StartedBy::Autoplay);
                    let at_ms = entry.processed_at_ms.unwrap_or_default();
                    entry.keep_runs(at_ms, &by, touched.is_stop);
                    (entry.change_seq, touched.is_ready(entry))
                }
                None => (0, false),
            };
            let Touched { started_by: _, is_stop: _, written, deleted, left, restored, revoked, all } =
                touched;
            let is_few = !all && written.len() + deleted.len() <= ChangedRows::NAMED_MAX;
            let mut spans = Spans::default();
            written.iter().chain(&left).for_each(|position| spans.push(*position));
            let rows = if is_few {
                ChangedRows::These { written: written.into_iter().collect(), deleted }
            } else {
                ChangedRows::Many
            };
            let moved_from = left.iter().chain(&restored).chain(all.then_some(&0)).min().copied();
            Change {
                project: id,
                seq,
                rows,
                touched: spans,
                moved_from,
                restated: all,
                revoked,
                ready,
                told: false,
            }
        };
        self.0.into_iter().map(tell).collect()
    }
}

impl Touched {
    /// Whether a cell of the touched rows may be claimed.
    fn is_ready(&self, entry: &MemoryProject) -> bool {
        let ready = |position: u64| {
            let block = entry.blocks.get(&block_of(position));
            block.is_some_and(|block| {
                entry.plan.slots().any(|slot| block.get(slot, place_of(position)).is_ready())
            })
        };
        if self.all {
            entry.rows.keys().any(|position| ready(*position))
        } else {
            self.written.iter().any(|position| ready(*position))
        }
    }
}
