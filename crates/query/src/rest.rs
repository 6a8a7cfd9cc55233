//! The rows of a page that is too large to be read at once.

use std::sync::Arc;
use std::time::Instant;

use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::ProjectId;
use rowmill_store::{Result, RowsAt, Snapshot, Store, StoreError, StoredRow, Wanted, WantedSlots};

/// Rows are read until they have this many bytes: what one reader holds, beside the last row.
pub const SLICE_BYTES: usize = 2 * 1024 * 1024;

/// How much of a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it, if need be in parts, of one moment.
    Whole,
    /// Its beginning.
    Part,
}

/// When a page was read.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) change_seq: u64,
    /// The moment itself, if it could be kept.
    pub(crate) snapshot: Option<Box<dyn Snapshot>>,
}

/// What is left of a page. Where the rows lie is settled, and all are of the page's moment: they are read in its
/// snapshot, or after that was given back for as long as the project has not changed. If it has, the rest is lost
/// ([`StoreError::Stale`]): a page is of one moment or is not told to its end.
#[derive(Debug)]
pub struct Rest {
    store: Arc<dyn Store>,
    project: ProjectId,
    /// Not read yet, in order.
    positions: Vec<u64>,
    slots: WantedSlots,
    moment: Moment,
    /// The snapshot is kept for no longer than this.
    until: Instant,
}

impl Rest {
    /// `None` if nothing is left.
    pub(crate) fn of(
        store: Arc<dyn Store>,
        project: ProjectId,
        (positions, slots): (Vec<u64>, WantedSlots),
        moment: Moment,
        until: Instant,
    ) -> Option<Self> {
        (!positions.is_empty()).then_some(Self { store, project, positions, slots, moment, until })
    }

    /// The next rows, at least one; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<StoredRow>>> {
        if self.positions.is_empty() {
            return Ok(None);
        }
        if SystemClock.monotonic() >= self.until {
            self.give_back_snapshot();
        }
        let asked = self.positions.clone();
        let count = asked.len();
        let wanted = Wanted { bytes_max: SLICE_BYTES, slots: self.slots.clone() };
        let read = match &mut self.moment.snapshot {
            Some(snapshot) => snapshot.rows_at_within(asked, wanted).await?,
            None => self.store.rows_at_within(self.project, asked, wanted).await?,
        };
        let RowsAt { rows, rest, change_seq } = read;
        if change_seq != self.moment.change_seq {
            return Err(StoreError::Stale);
        }
        if rows.is_empty() || rows.len() + rest.len() != count {
            return Err(StoreError::Damaged("rows of a page are not where they were".to_owned()));
        }
        self.positions = rest;
        Ok(Some(rows))
    }

    /// Whether a snapshot is kept, which is scarce.
    pub fn has_snapshot(&self) -> bool {
        self.moment.snapshot.is_some()
    }

    /// For who reads slowly: from now on the rest is right only while nothing changes.
    pub fn give_back_snapshot(&mut self) {
        self.moment.snapshot = None;
    }
}

/// The rows at these positions, or their beginning, and the snapshot in which the others can be read. All of them were
/// there after a change, `found_at`.
pub(crate) async fn rows_at(
    store: &Arc<dyn Store>,
    project: ProjectId,
    (positions, slots): (Vec<u64>, WantedSlots),
    found_at: u64,
    extent: Extent,
) -> Result<(RowsAt, Option<Box<dyn Snapshot>>)> {
    let count = positions.len();
    let wanted = Wanted { bytes_max: SLICE_BYTES, slots };
    let (read, snapshot) = read_at(store, project, positions, wanted, extent).await?;
    if read.change_seq == found_at && read.rows.len() + read.rest.len() != count {
        return Err(StoreError::Damaged("rows of a page are not where they were".to_owned()));
    }
    Ok((read, snapshot))
}

async fn read_at(
    store: &Arc<dyn Store>,
    project: ProjectId,
    positions: Vec<u64>,
    wanted: Wanted,
    extent: Extent,
) -> Result<(RowsAt, Option<Box<dyn Snapshot>>)> {
    let read = store.rows_at_within(project, positions.clone(), wanted.clone()).await?;
    if !read.rest.is_empty()
        && extent == Extent::Whole
        && let Some(mut snapshot) = store.snapshot(project).await?
    {
        let read = snapshot.rows_at_within(positions, wanted).await?;
        return Ok((read, Some(snapshot)));
    }
    Ok((read, None))
}
