//! Rows in a selection's order: made, kept, and put right when few of them changed.

use std::cmp::Ordering;

use fixedbitset::FixedBitSet;
use jiff::Timestamp;
use rowmill_model::sort::Direction;

use crate::column::ValueColumn;
use crate::plan::Plan;
use crate::ranks::{EMPTY, Ranks};
use crate::snapshot::Snapshot;

/// Changed rows that are looked for one by one; more are looked for together.
const FEW: usize = 4;

/// Fewer rows than this share of all are sorted for themselves.
const FEW_SHARE: usize = 8;

/// What rows of a snapshot are sorted by.
pub(crate) struct Keys<'s>(Vec<Key<'s>>);

struct Key<'s> {
    column: &'s ValueColumn,
    ranks: &'s Ranks,
    direction: Direction,
}

impl<'s> Keys<'s> {
    /// `None` if a column is not there, or not in order.
    pub(crate) fn of(plan: &Plan, snapshot: &'s Snapshot) -> Option<Self> {
        let key = |(name, direction): &(_, Direction)| {
            let column = snapshot.values(name)?;
            Some(Key { column, ranks: column.ranks.as_ref()?, direction: *direction })
        };
        plan.keys.iter().map(key).collect::<Option<_>>().map(Self)
    }

    /// Ties are broken by order of creation, in both directions.
    fn compare(&self, a: u32, b: u32) -> Ordering {
        let by_key = self.0.iter().map(|key| key.label(a).cmp(&key.label(b)));
        by_key.fold(Ordering::Equal, Ordering::then).then(a.cmp(&b))
    }

    /// How many of these ordered rows come up to a row.
    pub(crate) fn rows_up_to(&self, rows: &[u32], row: u32) -> usize {
        rows.partition_point(|other| self.compare(*other, row).is_le())
    }

    /// Puts rows in order.
    fn sort(&self, matching: &FixedBitSet) -> Vec<u32> {
        // The least important first: each sort leaves equal rows as they are.
        let mut keys = self.0.as_slice();
        let walked = keys.split_last().and_then(|(last, others)| Some((last.walk(matching)?, others)));
        let mut rows = match walked {
            Some((rows, others)) => {
                keys = others;
                rows
            }
            None => matching.ones().filter_map(|row| u32::try_from(row).ok()).collect(),
        };
        for key in keys.iter().rev() {
            rows = key.sort(&rows);
        }
        rows
    }
}

impl Key<'_> {
    /// Many rows by a column in which each row has a value of its own: the values are in order already.
    fn walk(&self, matching: &FixedBitSet) -> Option<Vec<u32>> {
        let Self { column, ranks, direction } = self;
        let count = matching.count_ones(..);
        if column.is_shared() || count < matching.len() / FEW_SHARE {
            return None;
        }
        let rows_by_number = column.numbers().map(|numbers| {
            let mut rows = vec![u32::MAX; column.values.len()];
            for (row, number) in (0..).zip(numbers) {
                if let Some(place) = rows.get_mut(*number as usize) {
                    *place = row;
                }
            }
            rows
        });
        let mut rows = Vec::with_capacity(count);
        match &rows_by_number {
            None => ranks.in_order(*direction, |group| {
                rows.extend(group.iter().copied().filter(|row| matching.contains(*row as usize)));
            }),
            Some(by_number) => ranks.in_order(*direction, |group| {
                let start = rows.len();
                let found = group.iter().filter_map(|number| by_number.get(*number as usize).copied());
                rows.extend(found.filter(|row| matching.contains(*row as usize)));
                // A value that came later may be an earlier row's.
                if ranks.has_ties()
                    && let Some(same) = rows.get_mut(start..)
                {
                    same.sort_unstable();
                }
            }),
        }
        Some(rows)
    }

    /// Sorts rows, equal ones staying as they are.
    fn sort(&self, rows: &[u32]) -> Vec<u32> {
        let keyed = |key: &dyn Fn(u32) -> u32| {
            rows.iter().map(|row| u64::from(key(*row)) << 32 | u64::from(*row)).collect()
        };
        if rows.len() < self.column.values.len() / FEW_SHARE {
            return sort_by_upper_half(keyed(&|row| self.label(row)), u32::BITS);
        }
        // Places are smaller numbers than labels, which makes for fewer passes.
        let (places, count) = self.ranks.places(self.direction);
        let place = |row: u32| places.get(self.column.number(row as usize)).copied().unwrap_or_default();
        sort_by_upper_half(keyed(&place), u32::BITS - count.leading_zeros())
    }

    fn label(&self, row: u32) -> u32 {
        let label = self.ranks.label(self.column.number(row as usize));
        match self.direction {
            Direction::Asc => label,
            Direction::Desc if label == EMPTY => EMPTY,
            Direction::Desc => EMPTY - 1 - label,
        }
    }
}

/// All rows of a selection, in its order.
pub(crate) fn make(plan: &Plan, snapshot: &Snapshot, now: Timestamp) -> Option<Vec<u32>> {
    let keys = Keys::of(plan, snapshot)?;
    let matching = plan.matching(snapshot, now);
    Some(keys.sort(&matching))
}

/// Puts an order right after some rows changed.
pub(crate) fn patch(
    plan: &Plan,
    snapshot: &Snapshot,
    now: Timestamp,
    rows: &mut Vec<u32>,
    changed: &[u32],
) -> Option<()> {
    let keys = Keys::of(plan, snapshot)?;
    let mut changed = changed.to_vec();
    changed.sort_unstable();
    changed.dedup();
    if changed.len() > (rows.len() / 8).max(64) {
        *rows = make(plan, snapshot, now)?;
        return Some(());
    }
    remove(rows, &changed, snapshot.len());
    changed.retain(|row| plan.holds(snapshot, *row as usize, now));
    changed.sort_unstable_by(|a, b| keys.compare(*a, *b));
    insert(rows, &changed, &keys);
    Some(())
}

fn remove(rows: &mut Vec<u32>, gone: &[u32], len: usize) {
    if gone.len() <= FEW {
        for row in gone {
            if let Some(place) = rows.iter().position(|other| other == row) {
                rows.remove(place);
            }
        }
        return;
    }
    let mut is_gone = FixedBitSet::with_capacity(len);
    for row in gone {
        is_gone.insert(*row as usize);
    }
    rows.retain(|row| !is_gone.contains(*row as usize));
}

/// Inserts rows that are in order themselves.
fn insert(rows: &mut Vec<u32>, new: &[u32], keys: &Keys<'_>) {
    if new.len() <= FEW {
        for row in new {
            let place = keys.rows_up_to(rows, *row);
            rows.insert(place, *row);
        }
        return;
    }
    let mut merged = Vec::with_capacity(rows.len() + new.len());
    let mut rest = rows.as_slice();
    for row in new {
        let (before, behind) = rest.split_at(keys.rows_up_to(rest, *row));
        merged.extend_from_slice(before);
        merged.push(*row);
        rest = behind;
    }
    merged.extend_from_slice(rest);
    *rows = merged;
}

/// Sorts numbers by so many bits of their upper halves, equal ones staying as they are, and gives the lower
/// halves.
fn sort_by_upper_half(mut keyed: Vec<u64>, bits: u32) -> Vec<u32> {
    const DIGIT_BITS: u32 = 11;
    const DIGITS: usize = 1 << DIGIT_BITS;
    let lower = |number: &u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
    if keyed.len() < DIGITS {
        keyed.sort_by_key(|number| number >> 32);
        return keyed.iter().map(lower).collect();
    }
    let mut other = vec![0_u64; keyed.len()];
    for shift in (0..bits.div_ceil(DIGIT_BITS)).map(|digit| 32 + digit * DIGIT_BITS) {
        let digit = |number: u64| usize::try_from(number >> shift).unwrap_or_default() & (DIGITS - 1);
        let mut places = vec![0_usize; DIGITS];
        for number in &keyed {
            if let Some(count) = places.get_mut(digit(*number)) {
                *count += 1;
            }
        }
        let mut before = 0;
        for place in &mut places {
            before += std::mem::replace(place, before);
        }
        for number in &keyed {
            if let Some(place) = places.get_mut(digit(*number)) {
                if let Some(to) = other.get_mut(*place) {
                    *to = *number;
                }
                *place += 1;
            }
        }
        std::mem::swap(&mut keyed, &mut other);
    }
    keyed.iter().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_sorted_as_few_are() {
        for len in [0_u64, 5, 3_000, 50_000] {
            // Scattered, with ties.
            let keyed: Vec<u64> =
                (0..len).map(|row| (row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) << 40 | row).collect();
            let mut expected = keyed.clone();
            expected.sort_by_key(|number| number >> 32);
            let expected: Vec<u32> = expected.iter().map(|number| (number & 0xffff_ffff) as u32).collect();
            assert_eq!(sort_by_upper_half(keyed, u32::BITS), expected);
        }
    }
}
