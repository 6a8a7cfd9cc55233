//! Rows that this node's workers have cells of, as they were when the cells were taken, so that they need not be read
//! again when the results are written. What is kept here may be old: whoever writes over such a row says which
//! version it knows.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rowmill_model::ProjectId;
use rowmill_store::Spans;

use crate::pages::RawRow;
use crate::versions::Version;

/// Beyond that all is forgotten, and read again where it is needed.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// A row and which version of it this is.
pub(crate) type Known = (RawRow, Version);

#[derive(Debug, Default)]
pub(crate) struct Taken(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    rows: HashMap<ProjectId, BTreeMap<u64, Known>>,
    bytes: usize,
}

/// Rows of several projects.
pub(crate) type TakenRows = BTreeMap<ProjectId, Vec<Known>>;

impl Taken {
    pub(crate) fn put_all(&self, rows: TakenRows) {
        let mut kept = self.kept();
        for (project, known) in
            rows.into_iter().flat_map(|(id, rows)| rows.into_iter().map(move |row| (id, row)))
        {
            if kept.bytes > BYTES_MAX {
                *kept = Kept::default();
            }
            kept.bytes += bytes_of(&known);
            let before = kept.rows.entry(project).or_default().insert(known.0.position, known);
            kept.bytes -= before.as_ref().map_or(0, bytes_of);
        }
    }

    /// Takes out those of these rows that are known.
    pub(crate) fn take(&self, project: ProjectId, positions: impl IntoIterator<Item = u64>) -> Vec<Known> {
        let mut kept = self.kept();
        let Some(rows) = kept.rows.get_mut(&project) else { return Vec::new() };
        let known: Vec<Known> = positions.into_iter().filter_map(|position| rows.remove(&position)).collect();
        kept.let_go(project, known.iter().map(bytes_of).sum());
        known
    }

    /// Forgets rows that have changed.
    pub(crate) fn forget(&self, project: ProjectId, changed: &Spans) {
        let mut kept = self.kept();
        let Some(rows) = kept.rows.get_mut(&project) else { return };
        let mut bytes = 0;
        for (first, last) in changed.iter() {
            while let Some(position) = rows.range(first..=last).next().map(|(position, _)| *position) {
                bytes += rows.remove(&position).as_ref().map_or(0, bytes_of);
            }
        }
        kept.let_go(project, bytes);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn let_go(&mut self, project: ProjectId, bytes: usize) {
        self.bytes -= bytes;
        if self.rows.get(&project).is_some_and(BTreeMap::is_empty) {
            self.rows.remove(&project);
        }
    }
}

/// What a row takes, about.
fn bytes_of((row, _): &Known) -> usize {
    let details = row.details.as_bytes().map_or(0, <[u8]>::len);
    size_of::<Known>() + row.values.as_bytes().len() + details
}

#[cfg(test)]
mod tests {
    use rowmill_model::cell::Details;
    use rowmill_model::{Record, RowId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_let_go_is_no_longer_counted() {
        let project = ProjectId::from_uuid(Uuid::from_u128(1));
        let row = |position| {
            let (id, values) = (RowId::from_uuid(Uuid::from_u128(position)), Record::pack([(1, "\"a\"")]));
            let position = u64::try_from(position).unwrap();
            (RawRow { id, position, values, details: Details::default() }, Version::default())
        };
        let taken = Taken::default();
        let positions = |rows: Vec<Known>| rows.iter().map(|(row, _)| row.position).collect::<Vec<_>>();
        taken.put_all([(project, (0..10).map(row).collect())].into());
        taken.put_all([(project, vec![row(3)])].into());
        assert_eq!(positions(taken.take(project, [3, 4, 11])), [3, 4]);
        taken.forget(project, &Spans::of([(0, 2), (6, 8)]));
        assert_eq!(positions(taken.take(project, 0..9)), [5]);
        taken.forget(project, &Spans::all());
        let kept = taken.kept();
        assert_eq!((kept.bytes, kept.rows.len()), (0, 0));
    }
}
