//! A cache of row offsets: where the n-th row is in projects with deleted rows.
//!
//! The database knows how many rows are live in each run of 256 positions. Adding them up for every page takes longer
//! than reading it, so a node remembers the sums. They hold as long as no row comes or goes, and that can be told by
//! two numbers: a new row always moves the next position on, and without new rows each deletion lowers the count.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rowmill_model::ProjectId;
use rowmill_store::Result;

use crate::convert::unsigned;
use crate::database::Database;

/// Projects in the cache. When there are more, it is cleared.
const PROJECTS_MAX: usize = 64;
/// A project with more runs is not cached: some 16 million rows.
const RUNS_MAX: usize = 65_536;

/// How many rows there are, and the position of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableShape {
    pub(crate) row_count: u64,
    pub(crate) next_position: u64,
}

/// Runs that have rows, with how many rows come before each.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OffsetMap {
    pub(crate) shape: TableShape,
    runs: Vec<(u64, u64)>,
}

/// A range of rows: between which positions they are, and how many other rows come before them there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RowRange {
    pub(crate) first: u64,
    pub(crate) past: u64,
    pub(crate) passed: u64,
}

#[derive(Debug, Clone)]
enum CacheEntry {
    /// The shape when a page was last read.
    Seen(TableShape),
    Mapped(Arc<OffsetMap>),
}

#[derive(Debug, Default)]
pub(crate) struct OffsetCache(Mutex<HashMap<ProjectId, CacheEntry>>);

impl OffsetCache {
    pub(crate) fn get(&self, project: ProjectId) -> Option<Arc<OffsetMap>> {
        match self.lock().get(&project) {
            Some(CacheEntry::Mapped(map)) => Some(Arc::clone(map)),
            _ => None,
        }
    }

    /// Whether rows of this project were missing when a page was last read.
    pub(crate) fn has_holes(&self, project: ProjectId) -> bool {
        self.lock().contains_key(&project)
    }

    pub(crate) fn forget(&self, project: ProjectId) {
        self.lock().remove(&project);
    }

    /// Records a project with missing rows. If its shape is the same for the second time, its offsets are loaded.
    pub(crate) async fn note(
        &self,
        database: &Database,
        project: ProjectId,
        shape: TableShape,
    ) -> Result<()> {
        if !self.is_second_look(project, shape) {
            return Ok(());
        }
        let sql = "SELECT c.row_count, c.next_position, l.segment, l.count FROM rowmill.counters c \
                   JOIN rowmill.live l ON l.project = c.project AND l.level = 0 WHERE c.id = $1 ORDER BY l.segment";
        let found = database.ask(sql, &[&project.uuid()]).await?;
        let Some(first) = found.first() else { return Ok(()) };
        let shape = TableShape { row_count: unsigned(first.get(0)), next_position: unsigned(first.get(1)) };
        let map = OffsetMap::of(shape, found.iter().map(|row| (unsigned(row.get(2)), unsigned(row.get(3)))));
        self.lock().insert(project, CacheEntry::Mapped(Arc::new(map)));
        Ok(())
    }

    fn is_second_look(&self, project: ProjectId, shape: TableShape) -> bool {
        let mut known = self.lock();
        if known.len() >= PROJECTS_MAX && !known.contains_key(&project) {
            known.clear();
        }
        let before = known.insert(project, CacheEntry::Seen(shape));
        let is_small = usize::try_from(shape.next_position >> 8).is_ok_and(|runs| runs < RUNS_MAX);
        is_small && matches!(before, Some(CacheEntry::Seen(before)) if before == shape)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProjectId, CacheEntry>> {
        self.0.lock()
    }
}

impl OffsetMap {
    /// Makes a map of runs and how many rows each has.
    fn of(shape: TableShape, counts: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut before = 0;
        let runs = counts.map(|(run, count)| {
            let entry = (run, before);
            before += count;
            entry
        });
        Self { shape, runs: runs.collect() }
    }

    /// Where `count` rows from the n-th on are.
    pub(crate) fn find(&self, nth: u64, count: u64) -> Option<RowRange> {
        let run_of = |nth: u64| {
            let place = self.runs.partition_point(|(_, before)| *before <= nth).checked_sub(1)?;
            self.runs.get(place).copied()
        };
        let (first, before) = run_of(nth)?;
        let (last, _) = run_of(nth.saturating_add(count.saturating_sub(1)))?;
        Some(RowRange { first: first << 8, past: (last + 1) << 8, passed: nth - before })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_in_their_runs() {
        let shape = TableShape { row_count: 30, next_position: 2_000 };
        let map = OffsetMap::of(shape, [(0, 10), (2, 5), (3, 15)].into_iter());
        let check = |nth, count, (first, past, passed)| {
            assert_eq!(map.find(nth, count), Some(RowRange { first, past, passed }), "{count} from {nth}");
        };
        check(0, 1, (0, 256, 0));
        check(9, 1, (0, 256, 9));
        check(9, 2, (0, 768, 9));
        check(10, 5, (512, 768, 0));
        check(14, 1, (512, 768, 4));
        check(14, 2, (512, 1_024, 4));
        check(15, 15, (768, 1_024, 0));
        check(29, 100, (768, 1_024, 14));
        check(0, 30, (0, 1_024, 0));
        assert_eq!(OffsetMap::of(shape, std::iter::empty()).find(0, 1), None);
    }

    #[test]
    fn what_looks_the_same_twice_is_mapped() {
        let (maps, project) = (OffsetCache::default(), ProjectId::from_uuid(uuid::Uuid::from_u128(1)));
        let shape = |row_count| TableShape { row_count, next_position: 9 };
        assert!(!maps.has_holes(project));
        assert!(!maps.is_second_look(project, shape(5)));
        assert!(!maps.is_second_look(project, shape(4)));
        assert!(maps.is_second_look(project, shape(4)));
        assert!(maps.has_holes(project) && maps.get(project).is_none());
        maps.forget(project);
        assert!(!maps.has_holes(project));
    }
}
