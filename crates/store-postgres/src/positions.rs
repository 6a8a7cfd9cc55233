//! How the n-th row is found without counting.
//!
//! Deleting leaves holes; the `live` table says how many rows are left in each run of 2^8, 2^14 and 2^20
//! positions, and the n-th row is found by adding those up.

use std::collections::BTreeMap;

use rowmill_store::Result;

use crate::database::Tx;
use crate::projects::State;
use crate::{signed, unsigned};

/// The sizes of the counted runs, as powers of two: level 0, level 1 and so on. A run holds 64 of the
/// level below, so that walking to one of them is short.
const LEVEL_BITS: [u32; 3] = [8, 14, 20];

/// Changes to the live counts of one project, gathered and then written together.
#[derive(Debug, Default)]
pub(crate) struct LiveDelta(BTreeMap<u64, i64>);

impl LiveDelta {
    /// One row more or less at a position.
    pub(crate) fn add(&mut self, position: u64, change: i64) {
        *self.0.entry(position >> LEVEL_BITS[0]).or_default() += change;
    }

    /// The changes as level, segment and count.
    pub(crate) fn by_level(self) -> Vec<(i64, i64, i64)> {
        let mut changes = Vec::new();
        for (level, bits) in (0..).zip(LEVEL_BITS) {
            let mut counts = BTreeMap::<u64, i64>::new();
            for (segment, change) in &self.0 {
                *counts.entry(segment >> (bits - LEVEL_BITS[0])).or_default() += change;
            }
            changes.extend(counts.into_iter().map(|(segment, change)| (level, signed(segment), change)));
        }
        changes
    }
}

/// The position of the row that has `offset` rows before it; `None` past the end.
pub(crate) async fn locate(tx: &mut Tx, state: &State, offset: u64) -> Result<Option<u64>> {
    let (mut first, mut last) = (0, i64::MAX);
    let mut rest = offset;
    let mut start = 0;
    for (level, bits) in [2_i64, 1, 0].into_iter().zip(LEVEL_BITS.into_iter().rev()) {
        let Some(run) = find(tx, state.num, level, first, last, rest).await? else { return Ok(None) };
        rest -= run.before;
        start = unsigned(run.segment) << bits;
        let span = state.next_position.saturating_sub(start).min(1 << bits);
        if run.count == span {
            // The run has no holes.
            return Ok(Some(start + rest));
        }
        let finer = LEVEL_BITS.into_iter().rev().find(|finer| *finer < bits).map_or(0, |finer| bits - finer);
        (first, last) = (run.segment << finer, ((run.segment + 1) << finer) - 1);
    }
    // Step over what is left of the finest run, fewer than 2^8 rows.
    let sql = "SELECT position FROM rowmill.rows WHERE project = $1 AND position >= $2 \
               ORDER BY position LIMIT 1 OFFSET $3";
    let found = tx.query(sql, &[&state.num, &signed(start), &signed(rest)]).await?;
    Ok(found.first().map(|row| unsigned(row.get(0))))
}

struct Run {
    segment: i64,
    count: u64,
    /// Rows before the run, among those asked for.
    before: u64,
}

/// The run in which the row with `offset` rows before it lies.
async fn find(tx: &mut Tx, num: i64, level: i64, first: i64, last: i64, offset: u64) -> Result<Option<Run>> {
    let sql = "SELECT segment, count, before FROM (SELECT segment, count, \
               (sum(count) OVER (ORDER BY segment) - count)::int8 AS before FROM rowmill.live \
               WHERE project = $1 AND level = $2 AND segment BETWEEN $3 AND $4) runs \
               WHERE before <= $5 AND $5 < before + count ORDER BY segment LIMIT 1";
    let found = tx.query(sql, &[&num, &level, &first, &last, &signed(offset)]).await?;
    Ok(found.first().map(|row| Run {
        segment: row.get(0),
        count: unsigned(row.get(1)),
        before: unsigned(row.get(2)),
    }))
}
