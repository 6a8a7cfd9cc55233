//! Pages of rows, and a project as it was at one moment.

use async_trait::async_trait;
use rowmill_model::Record;

use super::project::MemoryProject;
use crate::error::Result;
use crate::store::Snapshot;
use crate::types::{PageStart, RowsAt, RowsPage, Wanted, WantedSlots};

impl MemoryProject {
    pub(super) fn page(&self, start: PageStart, limit: u32, wanted: &Wanted) -> RowsPage {
        let (after, skip) = match start {
            PageStart::Offset(offset) => (0, usize::try_from(offset).unwrap_or(usize::MAX)),
            PageStart::After(position) => (position.saturating_add(1), 0),
        };
        let mut found = self.rows.range(after..).skip(skip).map(|(position, _)| *position);
        let positions = found.by_ref().take(limit as usize).collect();
        let RowsAt { rows, rest, change_seq } = self.at(positions, wanted);
        RowsPage { rows, rest, total: self.row_count(), more: found.next().is_some(), change_seq }
    }

    pub(super) fn at(&self, positions: Vec<u64>, wanted: &Wanted) -> RowsAt {
        let mut found = RowsAt { rows: Vec::new(), rest: Vec::new(), change_seq: self.change_seq };
        let mut bytes = 0_usize;
        for mut row in positions.into_iter().filter_map(|position| self.row(position)) {
            if bytes < wanted.bytes_max {
                row.values = only(row.values, &wanted.slots);
                bytes = bytes.saturating_add(row.values.as_bytes().len());
                found.rows.push(row);
            } else {
                found.rest.push(row.position);
            }
        }
        found
    }
}

/// What is wanted of a row's values and nothing else, so that whoever asks for too little notices.
pub(super) fn only(values: Record, wanted: &WantedSlots) -> Record {
    match wanted {
        WantedSlots::All => values,
        WantedSlots::Only(_) => {
            let cells = values.cells().unwrap();
            Record::pack(cells.iter().filter(|(slot, _)| wanted.contains(*slot)))
        }
    }
}

#[async_trait]
impl Snapshot for MemoryProject {
    async fn rows_within(&mut self, start: PageStart, limit: u32, wanted: Wanted) -> Result<RowsPage> {
        Ok(self.page(start, limit, &wanted))
    }

    async fn rows_at_within(&mut self, positions: Vec<u64>, wanted: Wanted) -> Result<RowsAt> {
        Ok(self.at(positions, &wanted))
    }
}
