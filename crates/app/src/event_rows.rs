//! The rows of an event: which they are is known, and they are read piece by piece when their reader is ready.

use std::sync::Arc;

use rowmill_model::{ProjectId, RowId};
use rowmill_store::{StoredProject, StoredRow};

use crate::app::App;
use crate::error::Result;
use crate::event_hub::ChangesSince;

/// How many rows one event brings at most.
const ROWS_MAX: usize = 200;
/// How many bytes of values one event brings at most, unless a single row has more.
pub(crate) const ROWS_BYTES_MAX: usize = 1024 * 1024;
/// By how much more is read at once as long as rows turn out to be small.
const GROWTH: usize = 4;

/// Rows that changed in a project, and how many of them were told.
#[derive(Debug, Clone)]
pub struct RowsChanged {
    pub project: StoredProject,
    after: u64,
    news: Arc<ChangesSince>,
    told: usize,
}

/// What is the same for all readers that are equally far: they can be told the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowsKey {
    project: ProjectId,
    version: u64,
    after: u64,
    seq: u64,
    told: usize,
}

/// What one event tells.
#[derive(Debug, Default)]
pub struct ChangedRowsRead {
    pub rows: Vec<StoredRow>,
    pub deleted: Vec<RowId>,
    /// Bytes of the rows' values.
    pub bytes: usize,
    /// How many of the rows that changed this is about; some may be gone by now.
    pub told: usize,
}

impl RowsChanged {
    pub(crate) fn new(project: StoredProject, after: u64, news: Arc<ChangesSince>) -> Self {
        Self { project, after, news, told: 0 }
    }

    pub fn key(&self) -> RowsKey {
        let (project, version) = (self.project.project.id, self.project.version);
        RowsKey { project, version, after: self.after, seq: self.news.seq, told: self.told }
    }

    pub(crate) fn seq(&self) -> u64 {
        self.news.seq
    }

    /// What is deleted is told with the first rows.
    pub(crate) fn has_more(&self) -> bool {
        self.told < self.steps()
    }

    pub(crate) fn advance(&mut self, rows: usize) {
        self.told = self.told.saturating_add(rows.max(1)).min(self.steps());
    }

    /// Without rows there is still one event to tell if any were deleted.
    fn steps(&self) -> usize {
        self.news.written.len().max(usize::from(!self.news.deleted.is_empty()))
    }
}

impl App {
    /// The next rows to tell, as they are now: as many as one event brings.
    pub async fn changed_rows(&self, changed: &RowsChanged) -> Result<ChangedRowsRead> {
        let id = changed.project.project.id;
        let mut read = ChangedRowsRead::default();
        if changed.told == 0 {
            read.deleted = self.still_deleted(id, &changed.news).await?;
        }
        let positions = changed.news.written.get(changed.told..).unwrap_or_default();
        let mut row_bytes = self.hub.row_bytes(id);
        let mut count_max = if row_bytes.is_some() { ROWS_MAX } else { 1 };
        let mut is_full = false;
        while let Some(rest) = positions.get(read.told..).filter(|rest| !rest.is_empty() && !is_full) {
            let room = (ROWS_BYTES_MAX - read.bytes) / row_bytes.unwrap_or(1).max(1);
            let count = room.clamp(1, count_max).min(ROWS_MAX - read.told).min(rest.len());
            let wanted = rest.get(..count).unwrap_or_default();
            let rows = self.store.rows_at(id, wanted.to_vec()).await?.rows;
            row_bytes = rows.iter().map(|row| row.values.as_bytes().len()).max().or(row_bytes);
            is_full = read.take(wanted, rows);
            count_max = count_max.saturating_mul(GROWTH);
        }
        if let Some(bytes) = row_bytes {
            self.hub.note_row_bytes(id, bytes);
        }
        Ok(read)
    }
}

impl App {
    /// The rows that were deleted and did not come back since. One that did is told with what was written.
    async fn still_deleted(&self, project: ProjectId, news: &ChangesSince) -> Result<Vec<RowId>> {
        if news.written.is_empty() || news.deleted.is_empty() {
            return Ok(news.deleted.clone());
        }
        let positions = self.store.positions(project, news.deleted.clone()).await?;
        let gone = news.deleted.iter().zip(positions).filter(|(_, position)| position.is_none());
        Ok(gone.map(|(id, _)| *id).collect())
    }
}

impl ChangedRowsRead {
    /// Adds rows as far as there is room, and says whether there is none for more.
    fn take(&mut self, wanted: &[u64], rows: Vec<StoredRow>) -> bool {
        for row in rows {
            let bytes = row.values.as_bytes().len();
            if !self.rows.is_empty() && self.bytes + bytes > ROWS_BYTES_MAX {
                // Those before this one were told, or are gone.
                self.told += wanted.iter().take_while(|position| **position < row.position).count();
                return true;
            }
            self.bytes += bytes;
            self.rows.push(row);
        }
        self.told += wanted.len();
        self.told >= ROWS_MAX || self.bytes >= ROWS_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::Record;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_event_is_bounded_in_rows_and_bytes() {
        let row = |position: u64, bytes: usize| StoredRow {
            id: RowId::from_uuid(Uuid::from_u128(position.into())),
            position,
            values: Record::from_bytes(vec![0; bytes]),
            states: rowmill_model::CellStates::default(),
        };
        let check = |wanted: &[u64], rows: &[(u64, usize)], told: usize, count: usize, is_full: bool| {
            let mut read = ChangedRowsRead::default();
            let rows = rows.iter().map(|(position, bytes)| row(*position, *bytes)).collect();
            assert_eq!(read.take(wanted, rows), is_full, "{wanted:?}");
            assert_eq!((read.told, read.rows.len()), (told, count), "{wanted:?}");
        };
        check(&[1, 2, 3], &[(1, 10), (3, 10)], 3, 2, false);
        check(&[1, 2, 3], &[(1, 10), (3, ROWS_BYTES_MAX)], 2, 1, true);
        check(&[1], &[(1, 2 * ROWS_BYTES_MAX)], 1, 1, true);
        check(&[], &[], 0, 0, false);
    }
}
