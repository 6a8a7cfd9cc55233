//! How the n-th row is found without counting.
//!
//! Deleting leaves holes; the `live` table says how many rows are left in each run of 2^8, 2^14 and 2^20
//! positions, and the n-th row is found by adding those up (`pages.rs`).

use std::collections::BTreeMap;

use crate::signed;

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
