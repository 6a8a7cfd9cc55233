//! Rows in a selection's order: made, kept, and put right when few of them changed.

use std::cmp::Ordering;
use std::collections::HashMap;

use fixedbitset::FixedBitSet;
use jiff::Timestamp;
use rowmill_model::sort::{Direction, Key as SortKey};

use crate::chunked_list::{ChunkedList, Coming, ListPosition};
use crate::plan::Plan;
use crate::ranks::{EMPTY, Ranks};
use crate::snapshot::Snapshot;
use crate::value_column::ValueColumn;

/// Up to this many changed rows, or this share of all rows, are put in their places one by one.
/// Few in tests, so that their short orders are merged, too.
const MOVED_MAX: usize = if cfg!(test) { 4 } else { 64 };
const MOVED_SHARE: usize = 4_096;

/// Up to this share of all rows, changed rows are merged into the order in one pass; beyond it, the order is made anew.
const MERGED_SHARE: usize = if cfg!(test) { 2 } else { 16 };

/// Fewer rows than this share of all are sorted for themselves.
const FEW_SHARE: usize = 8;

/// Values of more bytes than this on average are long.
const LONG_BYTES: usize = 2_048;

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

    /// A row's key, as [`rowmill_model::sort::Order::key`] makes it of the row itself.
    pub(crate) fn key(&self, row: u32) -> SortKey {
        SortKey::of(self.0.iter().map(|key| (key.column.raw(row as usize), key.direction)))
    }

    /// Whether making keys takes so long that nobody should wait for it on this thread.
    pub(crate) fn are_long(&self) -> bool {
        self.0.iter().any(|key| key.column.values.texts().len() / LONG_BYTES > key.column.values.len())
    }

    /// Whether a row comes before another. Most are told apart by their first labels.
    fn is_before(&self, row: LabelledRow, other: u32) -> bool {
        match row.label.cmp(&self.first_label(other)) {
            Ordering::Equal => self.compare(row.row, other).is_lt(),
            different => different.is_lt(),
        }
    }

    fn first_label(&self, row: u32) -> u32 {
        self.0.first().map_or(EMPTY, |key| key.label(row))
    }

    fn labelled(&self, row: u32) -> LabelledRow {
        LabelledRow { label: self.first_label(row), row }
    }

    /// The place behind a row among ordered ones.
    fn behind(&self, rows: &ChunkedList, row: u32) -> ListPosition {
        rows.partition_point(|other| self.compare(other, row).is_le())
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

/// A row with its label in the column that is sorted by first.
#[derive(Debug, Clone, Copy)]
struct LabelledRow {
    label: u32,
    row: u32,
}

impl Coming for LabelledRow {
    fn number(&self) -> u32 {
        self.row
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
            None => ranks.in_order(*direction, false, |group| {
                rows.extend(group.iter().copied().filter(|row| matching.contains(*row as usize)));
            }),
            Some(by_number) => ranks.in_order(*direction, true, |group| {
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
        self.label_of(self.column.number(row as usize))
    }

    /// The label of a value by its number.
    fn label_of(&self, number: usize) -> u32 {
        let label = self.ranks.label(number);
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

/// Puts an order right that was right when the snapshot had seen so many changes.
pub(crate) fn patch(
    plan: &Plan,
    snapshot: &Snapshot,
    now: Timestamp,
    rows: &mut ChunkedList,
    epoch: u64,
) -> Option<()> {
    let keys = Keys::of(plan, snapshot)?;
    // A change that neither the filter nor the order asks for moves nothing.
    let changed = snapshot.changed_in(&plan.names(), epoch);
    let mut changed = changed.or_else(|| Some(snapshot.changed_since(epoch)?.to_vec()))?;
    changed.sort_unstable();
    changed.dedup();
    let is_many = |share| changed.len() > MOVED_MAX.max(snapshot.len() / share);
    if is_many(MERGED_SHARE) {
        *rows = keys.sort(&plan.matching(snapshot, now)).into();
        return Some(());
    }
    let row_plan = plan.for_rows();
    let holds = |row: &u32| row_plan.holds(snapshot, *row as usize, now);
    if is_many(MOVED_SHARE) {
        let is_gone: FixedBitSet = changed.iter().map(|row| *row as usize).collect();
        let coming = keys.sort(&changed.iter().filter(|row| holds(row)).map(|row| *row as usize).collect());
        let coming: Vec<LabelledRow> = coming.into_iter().map(|row| keys.labelled(row)).collect();
        let is_kept = |row: u32| !is_gone.contains(row as usize);
        rows.merge(is_kept, &coming, |row, other| keys.is_before(*row, other));
        return Some(());
    }
    if let Some(past) = PreviousKeys::of(&keys, epoch) {
        past.remove(rows, &changed);
    } else {
        let is_gone: FixedBitSet = changed.iter().map(|row| *row as usize).collect();
        rows.retain(|row| !is_gone.contains(row as usize));
    }
    for row in changed.into_iter().filter(holds) {
        rows.insert(keys.behind(rows, row), row);
    }
    Some(())
}

/// What rows were sorted by when an order was made.
struct PreviousKeys<'s> {
    keys: &'s Keys<'s>,
    /// By key: the values that rows had which have others now.
    replaced: Vec<HashMap<u32, u32>>,
}

impl<'s> PreviousKeys<'s> {
    /// `None` if that is not known any more.
    fn of(keys: &'s Keys<'s>, epoch: u64) -> Option<Self> {
        let replaced = keys.0.iter().map(|key| {
            // What was replaced first is what was there.
            let replaced = key.column.replaced.since(epoch)?.iter().rev();
            Some(replaced.map(|previous| (previous.row, previous.number)).collect())
        });
        Some(Self { keys, replaced: replaced.collect::<Option<_>>()? })
    }

    fn compare(&self, a: u32, b: u32) -> Ordering {
        let label = |key: &Key<'_>, replaced: &HashMap<u32, u32>, row: u32| match replaced.get(&row) {
            Some(number) => key.label_of(*number as usize),
            None => key.label(row),
        };
        let by_key = self.keys.0.iter().zip(&self.replaced);
        let by_key = by_key.map(|(key, replaced)| label(key, replaced, a).cmp(&label(key, replaced, b)));
        by_key.fold(Ordering::Equal, Ordering::then).then(a.cmp(&b))
    }

    /// Removes those of some rows that are there.
    fn remove(&self, rows: &mut ChunkedList, gone: &[u32]) {
        for row in gone {
            let place = rows.partition_point(|other| self.compare(other, *row).is_lt());
            if rows.get(place) == Some(*row) {
                rows.remove(place);
            }
        }
    }
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
