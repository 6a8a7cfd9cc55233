//! What a trigger would do to a row, without doing it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block::Block;
use super::dependencies::Plan;
use super::transitions::Pick;
use crate::cell_status::CellStatus;
use crate::record::Slot;

/// Cells that a trigger is about and leaves as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CellsNotRun")]
pub struct LeftCells {
    /// Completed and up to date.
    pub done: u64,
    /// Their value was written by a person or program.
    pub manual: u64,
    /// Waiting or running already.
    pub pending: u64,
}

impl LeftCells {
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let Self { done, manual, pending } = self;
        Self { done: done + other.done, manual: manual + other.manual, pending: pending + other.pending }
    }
}

/// What a trigger would do to rows, as they are looked at.
#[derive(Debug, Clone)]
pub struct Rehearsal {
    /// Rows with at least one cell that would be queued.
    pub rows: u64,
    pub left: LeftCells,
    /// Cells that would be queued, of each column of the plan.
    cells: Vec<u64>,
}

impl Rehearsal {
    pub fn new(plan: &Plan) -> Self {
        Self { rows: 0, left: LeftCells::default(), cells: vec![0; plan.columns.len()] }
    }

    /// Counts what would become of a row.
    pub fn look(&mut self, pick: &Pick, plan: &Plan, block: &Block, place: u8) {
        let Self { rows, left, cells } = self;
        let mut any = false;
        for (column, count) in plan.columns.iter().zip(cells) {
            let mark = block.get(column.slot, place);
            if pick.takes(column.slot, mark) {
                any = true;
                *count += 1;
            } else if pick.means(column.slot, mark) {
                match mark.status {
                    CellStatus::Queued | CellStatus::Generating => left.pending += 1,
                    _ if mark.manual => left.manual += 1,
                    _ => left.done += 1,
                }
            }
        }
        *rows += u64::from(any);
    }

    /// How many cells of each column would be queued, as far as any would.
    pub fn cells(&self, plan: &Plan) -> BTreeMap<Slot, u64> {
        let counted = plan.columns.iter().map(|column| column.slot).zip(self.cells.iter().copied());
        counted.filter(|(_, count)| *count > 0).collect()
    }
}
