//! Pages of rows, and a project as it was at one moment.

use async_trait::async_trait;

use super::project::MemoryProject;
use crate::error::Result;
use crate::store::Snapshot;
use crate::types::{PageStart, RowsAt, RowsPage};

impl MemoryProject {
    pub(super) fn page(&self, start: PageStart, limit: u32, bytes_max: usize) -> RowsPage {
        let (after, skip) = match start {
            PageStart::Offset(offset) => (0, usize::try_from(offset).unwrap_or(usize::MAX)),
            PageStart::After(position) => (position.saturating_add(1), 0),
        };
        let mut found = self.rows.range(after..).skip(skip).map(|(position, _)| *position);
        let positions = found.by_ref().take(limit as usize).collect();
        let RowsAt { rows, rest, change_seq } = self.at(positions, bytes_max);
        RowsPage { rows, rest, total: self.row_count(), more: found.next().is_some(), change_seq }
    }

    pub(super) fn at(&self, positions: Vec<u64>, bytes_max: usize) -> RowsAt {
        let mut found = RowsAt { rows: Vec::new(), rest: Vec::new(), change_seq: self.change_seq };
        let mut bytes = 0_usize;
        for row in positions.into_iter().filter_map(|position| self.row(position)) {
            if bytes < bytes_max {
                bytes = bytes.saturating_add(row.values.as_bytes().len());
                found.rows.push(row);
            } else {
                found.rest.push(row.position);
            }
        }
        found
    }
}

#[async_trait]
impl Snapshot for MemoryProject {
    async fn rows_within(&mut self, start: PageStart, limit: u32, bytes_max: usize) -> Result<RowsPage> {
        Ok(self.page(start, limit, bytes_max))
    }

    async fn rows_at_within(&mut self, positions: Vec<u64>, bytes_max: usize) -> Result<RowsAt> {
        Ok(self.at(positions, bytes_max))
    }
}
