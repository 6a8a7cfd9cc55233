//! The first page of an order whose columns were read a moment ago: found by top-k selection, before all of their values are
//! put in order.

use jiff::Timestamp;
use rowmill_model::sort::{Direction, Key, write_row_key};

use crate::column::ValueColumn;
use crate::cursor::SortedBy;
use crate::order_cache::{Slice, SliceOf};
use crate::page::Start;
use crate::parallel;
use crate::plan::Plan;
use crate::snapshot::Snapshot;
use crate::top_k::TopK;

/// Pages that end behind so many rows are found by putting all rows in order.
const ROWS_MAX: u64 = 1_000;
/// Columns of fewer rows are in order sooner than anybody notices.
const PROJECT_ROWS_MIN: u64 = if cfg!(test) { 1 } else { 1 << 16 };

/// How many rows it takes to answer this; `None` if they are too many, or there is nothing to gain.
pub(crate) fn rows_needed(plan: &Plan, part: &SliceOf, rows_about: u64) -> Option<usize> {
    let Start::Offset(offset) = part.start else { return None };
    let needed = offset.saturating_add(u64::try_from(part.limit).unwrap_or(u64::MAX));
    let is_first = needed <= ROWS_MAX && rows_about >= PROJECT_ROWS_MIN && !plan.keys.is_empty();
    // One more says whether rows follow.
    usize::try_from(needed).ok().filter(|_| is_first).map(|needed| needed + 1)
}

/// Finds the rows; `None` if a column is not there any more.
pub(crate) fn find(
    plan: &Plan,
    snapshot: &Snapshot,
    now: Timestamp,
    part: &SliceOf,
    needed: usize,
) -> Option<Slice> {
    let keys: Vec<(&ValueColumn, Direction)> = plan
        .keys
        .iter()
        .map(|(name, direction)| Some((snapshot.values(name)?, *direction)))
        .collect::<Option<_>>()?;
    let matching = plan.matching(snapshot, now);
    let picked = parallel::map(&parallel::parts(snapshot.len()), |rows| {
        let mut first = TopK::new(needed);
        let mut key = Vec::new();
        for row in rows.clone().filter(|row| matching.contains(*row)) {
            key.clear();
            write_row_key(keys.iter().map(|(column, direction)| (column.raw(row), *direction)), &mut key);
            if first.takes(&key) {
                first.push(Key::from_bytes(&key), row);
            }
        }
        first.into_rows()
    });
    let mut found: Vec<(Key, usize)> = picked.into_iter().flatten().collect();
    found.sort_unstable();
    let skipped = needed.saturating_sub(1).saturating_sub(part.limit);
    let mut found = found.into_iter().skip(skipped).map(|(key, row)| {
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        (key, snapshot.position(row))
    });
    let rows: Vec<(Key, u64)> = found.by_ref().take(part.limit).collect();
    let next = found.next();
    let sorted =
        plan.sorting.zip(rows.last()).zip(next.as_ref()).map(|((sorting, (last, _)), (key, position))| {
            SortedBy::behind(sorting, last, Some((key, *position)))
        });
    let positions = rows.into_iter().map(|(_, position)| position).collect();
    let total = matching.count_ones(..) as u64;
    Some(Slice { seq: snapshot.seq, positions, total, more: next.is_some(), sorted })
}
