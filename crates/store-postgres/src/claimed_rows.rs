//! A cache of the rows that this node's workers have claimed cells of, so that they need not be read again when the
//! results are written. What is cached may be old: whoever writes over such a row says which version it knows
//! (optimistic concurrency).

use std::collections::{BTreeMap, HashMap};

use parking_lot::{Mutex, MutexGuard};
use rowmill_model::ProjectId;
use rowmill_store::Spans;
use rowmill_store::changes::PartRow;

use crate::row_version::RowVersion;

/// Beyond that all is forgotten, and read again where it is needed.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// A row and which version of it this is.
pub(crate) type VersionedRow = (PartRow, RowVersion);

#[derive(Debug, Default)]
pub(crate) struct ClaimedRows(Mutex<Cache>);

#[derive(Debug, Default)]
struct Cache {
    rows: HashMap<ProjectId, BTreeMap<u64, VersionedRow>>,
    bytes: usize,
}

/// Rows of several projects.
pub(crate) type RowsByProject = BTreeMap<ProjectId, Vec<VersionedRow>>;

impl ClaimedRows {
    pub(crate) fn put_all(&self, rows: RowsByProject) {
        let mut cache = self.cache();
        for (project, known) in
            rows.into_iter().flat_map(|(id, rows)| rows.into_iter().map(move |row| (id, row)))
        {
            if cache.bytes > BYTES_MAX {
                *cache = Cache::default();
            }
            cache.bytes += bytes_of(&known);
            let before = cache.rows.entry(project).or_default().insert(known.0.position, known);
            cache.bytes -= before.as_ref().map_or(0, bytes_of);
        }
    }

    /// Takes out those of these rows that are known.
    pub(crate) fn take(
        &self,
        project: ProjectId,
        positions: impl IntoIterator<Item = u64>,
    ) -> Vec<VersionedRow> {
        let mut cache = self.cache();
        let Some(rows) = cache.rows.get_mut(&project) else { return Vec::new() };
        let known: Vec<VersionedRow> =
            positions.into_iter().filter_map(|position| rows.remove(&position)).collect();
        cache.count_out(project, known.iter().map(bytes_of).sum());
        known
    }

    /// Forgets rows that have changed.
    pub(crate) fn forget(&self, project: ProjectId, changed: &Spans) {
        let mut cache = self.cache();
        let Some(rows) = cache.rows.get_mut(&project) else { return };
        let mut bytes = 0;
        for (first, last) in changed.iter() {
            while let Some(position) = rows.range(first..=last).next().map(|(position, _)| *position) {
                bytes += rows.remove(&position).as_ref().map_or(0, bytes_of);
            }
        }
        cache.count_out(project, bytes);
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.0.lock()
    }
}

impl Cache {
    fn count_out(&mut self, project: ProjectId, bytes: usize) {
        self.bytes -= bytes;
        if self.rows.get(&project).is_some_and(BTreeMap::is_empty) {
            self.rows.remove(&project);
        }
    }
}

/// What a row takes, about.
fn bytes_of((row, _): &VersionedRow) -> usize {
    let details = row.details.as_bytes().map_or(0, <[u8]>::len);
    size_of::<VersionedRow>() + row.values.read_bytes() + details
}

#[cfg(test)]
mod tests {
    use rowmill_model::cell::Details;
    use rowmill_model::{Record, RowId};
    use rowmill_store::wide_values::WideSlots;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_taken_out_is_no_longer_counted() {
        let project = ProjectId::from_uuid(Uuid::from_u128(1));
        let row = |position| {
            let (id, values) = (RowId::from_uuid(Uuid::from_u128(position)), Record::pack([(1, "\"a\"")]));
            let position = u64::try_from(position).unwrap();
            let row = PartRow::stored((id, position), values, Details::default(), (&WideSlots::default(), 0));
            (row.unwrap(), RowVersion::default())
        };
        let taken = ClaimedRows::default();
        let positions =
            |rows: Vec<VersionedRow>| rows.iter().map(|(row, _)| row.position).collect::<Vec<_>>();
        taken.put_all([(project, (0..10).map(row).collect())].into());
        taken.put_all([(project, vec![row(3)])].into());
        assert_eq!(positions(taken.take(project, [3, 4, 11])), [3, 4]);
        taken.forget(project, &Spans::of([(0, 2), (6, 8)]));
        assert_eq!(positions(taken.take(project, 0..9)), [5]);
        taken.forget(project, &Spans::all());
        let cache = taken.cache();
        assert_eq!((cache.bytes, cache.rows.len()), (0, 0));
    }
}
