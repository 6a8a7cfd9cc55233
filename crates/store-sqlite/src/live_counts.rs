//! Whether rows that were read are all there are, by the live counts.
//!
//! Page checksums notice a page that was written over. They do not notice one that the disk never wrote, so that an
//! earlier one is in its place, and databases of an earlier version have none.

use std::ops::Range;

use rowmill_store::changes::LIVE_LEVEL_BITS;
use rowmill_store::{Result, StoreError};
use rusqlite::Connection;

use crate::convert::backend;
use crate::positions::key;

/// Checks that a project has as many rows in a range of positions as were found there. Where no row was deleted, that
/// costs nothing.
pub(crate) fn check(connection: &Connection, num: i64, range: Range<u64>, found: u64) -> Result<()> {
    if found == range.end.saturating_sub(range.start) {
        return Ok(());
    }
    let counted = if range.is_empty() { 0 } else { within(connection, num, range)? };
    if found == counted { Ok(()) } else { Err(incomplete(found, counted)) }
}

/// Rows are missing, or there are more than were counted: a part of them is never told as if it were all.
pub(crate) fn incomplete(found: u64, counted: u64) -> StoreError {
    StoreError::Damaged(format!("{found} rows were found where the counters say there are {counted}"))
}

/// How many rows the live counts say lie there. Of the runs at both ends, the rows outside are counted.
fn within(connection: &Connection, num: i64, range: Range<u64>) -> Result<u64> {
    let [bits, ..] = LIVE_LEVEL_BITS;
    let (first, past) = (range.start, range.end);
    let (first_run, last_run) = (first >> bits, (past - 1) >> bits);
    let in_runs: u64 = connection
        .prepare_cached(
            "SELECT coalesce(sum(count), 0) FROM live WHERE project = ?1 AND level = 0 AND segment BETWEEN ?2 AND ?3",
        )
        .and_then(|mut query| query.query_row((num, first_run, last_run), |row| row.get(0)))
        .map_err(backend)?;
    let mut count = connection
        .prepare_cached("SELECT count(*) FROM rows WHERE key >= ?1 AND key < ?2")
        .map_err(backend)?;
    let mut outside = |from: u64, to: u64| -> Result<u64> {
        count.query_row((key(num, from), key(num, to)), |row| row.get(0)).map_err(backend)
    };
    let before = outside(first_run << bits, first)?;
    let behind = outside(past, (last_run + 1) << bits)?;
    Ok(in_runs.saturating_sub(before + behind))
}
