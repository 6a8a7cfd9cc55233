//! How many rows are left in each run of positions, so that the n-th row is found without counting.

use std::collections::BTreeMap;

/// The sizes of the counted runs, as powers of two: level 0, level 1 and so on. A run holds 64 of the level
/// below, so that walking to one of them is short.
pub const LIVE_LEVEL_BITS: [u32; 3] = [8, 14, 20];

/// Changes to the live counts of one project, gathered and then written together.
#[derive(Debug, Default)]
pub struct LiveDelta(BTreeMap<u64, i64>);

impl LiveDelta {
    /// One row more or less at a position.
    pub fn add(&mut self, position: u64, change: i64) {
        *self.0.entry(position >> LIVE_LEVEL_BITS[0]).or_default() += change;
    }

    /// The changes as level, segment and difference.
    pub fn by_level(self) -> Vec<(i64, u64, i64)> {
        let mut changes = Vec::new();
        for (level, bits) in (0..).zip(LIVE_LEVEL_BITS) {
            let mut counts = BTreeMap::<u64, i64>::new();
            for (segment, change) in &self.0 {
                *counts.entry(segment >> (bits - LIVE_LEVEL_BITS[0])).or_default() += change;
            }
            changes.extend(counts.into_iter().map(|(segment, change)| (level, segment, change)));
        }
        changes
    }
}
