//! The values of a column in order, so that sorting rows is sorting numbers.
//!
//! Each value gets a label: a number that is less than another's exactly if the value comes first, and the
//! same if neither does. Which comes first is said by `model`'s sort keys, once a value. Labels leave room
//! between them, so that a value that comes later finds its place without moving the others.

use rowmill_model::sort::{Direction, is_empty_key, write_key};

use crate::chunked_list::{ChunkedList, ListPosition};
use crate::value_sort::{SortedValue, sort};
use crate::values::Values;

#[derive(Debug, Default)]
pub(crate) struct Ranks {
    /// By number of the value.
    labels: Vec<u32>,
    /// The numbers of the values, in order; of those that are the same, in the order of their numbers.
    sorted: ChunkedList,
    /// Whether any two values are the same.
    has_ties: bool,
}

/// The label of empty values, which come last in both directions.
pub(crate) const EMPTY: u32 = u32::MAX;

impl Ranks {
    /// Puts all values in order.
    pub(crate) fn of(values: &Values) -> Self {
        let sorted = sort(values);
        let groups = sorted.iter().filter(|value| value.is_first && !value.is_empty).count();
        let gap = gap_between(u32::try_from(groups).unwrap_or(u32::MAX));
        let mut labels = vec![EMPTY; values.len()];
        let mut next = 0_u32;
        for SortedValue { number, is_first, is_empty } in &sorted {
            if *is_empty {
                continue;
            }
            if *is_first {
                next = next.saturating_add(gap).min(EMPTY - 1);
            }
            if let Some(label) = labels.get_mut(*number as usize) {
                *label = next;
            }
        }
        let has_ties = sorted.iter().any(|value| !value.is_first);
        let sorted: Vec<u32> = sorted.into_iter().map(|value| value.number).collect();
        Self { labels, sorted: sorted.into(), has_ties }
    }

    pub(crate) fn label(&self, number: usize) -> u32 {
        self.labels.get(number).copied().unwrap_or(EMPTY)
    }

    pub(crate) fn has_ties(&self) -> bool {
        self.has_ties
    }

    /// The numbers of all values in this order, in groups: within one they stay as they are whatever the order.
    /// Forwards they come so by themselves, and need not be handed out in groups.
    pub(crate) fn in_order(&self, direction: Direction, in_groups: bool, mut take: impl FnMut(&[u32])) {
        let filled = self.sorted.partition_point(|number| !self.is_empty(number));
        let parts = self.sorted.parts_up_to(filled);
        match direction {
            // Where all values differ, no two need be kept together.
            Direction::Asc if !(self.has_ties && in_groups) => parts.for_each(&mut take),
            Direction::Desc if !self.has_ties => {
                parts.rev().flat_map(|part| part.iter().rev()).for_each(|number| take(&[*number]));
            }
            Direction::Asc => self.each_group(parts.flatten(), &mut take),
            Direction::Desc => {
                let mut group = Vec::new();
                self.each_group(parts.flatten().rev(), |backwards| {
                    group.clear();
                    group.extend(backwards.iter().rev());
                    take(&group);
                });
            }
        }
        // Last in both directions.
        let empty: Vec<u32> = self.sorted.iter_from(filled).collect();
        take(&empty);
    }

    /// The place of each value's group in this order, by number, and how many places there are.
    pub(crate) fn places(&self, direction: Direction) -> (Vec<u32>, u32) {
        let mut places = vec![0; self.labels.len()];
        let (mut place, mut last) = (0, None);
        for number in self.sorted.iter() {
            let label = self.label(number as usize);
            place += u32::from(last.replace(label).is_some_and(|last| last != label));
            if let Some(at) = places.get_mut(number as usize) {
                *at = place;
            }
        }
        let empty = if last == Some(EMPTY) { place } else { place + 1 };
        if direction == Direction::Desc {
            for at in places.iter_mut().filter(|at| **at < empty) {
                *at = empty - 1 - *at;
            }
        }
        (places, empty + 1)
    }

    /// Hands out values that are the same together.
    fn each_group<'n>(&self, numbers: impl Iterator<Item = &'n u32>, mut take: impl FnMut(&[u32])) {
        let (mut group, mut last) = (Vec::new(), None);
        for number in numbers {
            let label = self.label(*number as usize);
            if last.replace(label).is_some_and(|last| last != label) {
                take(&group);
                group.clear();
            }
            group.push(*number);
        }
        take(&group);
    }

    /// Takes in the values that were added since.
    pub(crate) fn extend(&mut self, values: &Values) {
        let (known, len) = (self.labels.len(), values.len());
        if len - known > 64.max(known / 32) {
            *self = Self::of(values);
            return;
        }
        for number in known..len {
            self.insert(number, values);
        }
    }

    fn insert(&mut self, number: usize, values: &Values) {
        let Ok(entry) = u32::try_from(number) else { return };
        let key = key_of(values, number);
        // Found by the keys of the others, made anew for the few that are looked at. Behind those that are the
        // same, so that these stay in the order of their numbers.
        let place = self.sorted.partition_point(|other| key_of(values, other as usize) <= key);
        let before = self.sorted.before(place);
        let is_same = before.is_some_and(|before| key_of(values, before as usize) == key);
        let label = match before.map(|before| self.label(before as usize)) {
            Some(label) if is_same => label,
            _ if is_empty_key(&key) => EMPTY,
            _ => self.room_at(place).unwrap_or_else(|| {
                self.make_room_at(place);
                self.room_at(place).unwrap_or(EMPTY - 1)
            }),
        };
        self.has_ties |= is_same;
        self.sorted.insert(place, entry);
        self.labels.push(label);
    }

    /// A label between the value before this place and the one at it, if there is one.
    fn room_at(&self, place: ListPosition) -> Option<u32> {
        let label_of = |number: u32| self.label(number as usize);
        let before = self.sorted.before(place).map(label_of).unwrap_or_default();
        let next = self.sorted.get(place).map_or(EMPTY, label_of);
        let room = next.saturating_sub(before) / 2;
        // Behind the last there is much room, most of which is left for what comes later.
        let step = if next == EMPTY { room.min(LAST_GAP) } else { room };
        before.checked_add(step).filter(|_| room > 0)
    }

    /// Puts labels around a place further apart: as few of them as will do, and more room the more it takes, so
    /// that it is not soon needed again.
    fn make_room_at(&mut self, place: ListPosition) {
        let index = self.sorted.index_of(place);
        let (mut reach, mut gap) = (16, ROOM_MIN);
        while reach < self.sorted.len() {
            if self.spread_between(index.saturating_sub(reach), index.saturating_add(reach), gap) {
                return;
            }
            reach *= 2;
            gap += gap / 4;
        }
        self.spread();
    }

    /// Puts the labels of some values as far apart as can be, unless that is less than this.
    fn spread_between(&mut self, start: usize, end: usize, gap_min: u32) -> bool {
        let first = self.sorted.place_at(start);
        let label_of = |number: u32| self.label(number as usize);
        let low = self.sorted.before(first).map(label_of).unwrap_or_default();
        let high = self.sorted.get(self.sorted.place_at(end)).map_or(EMPTY, label_of);
        let numbers: Vec<u32> = self.sorted.iter_from(first).take(end - start).collect();
        // Those that are the same as one outside stay with it.
        let is_inside = |label: u32| low < label && label < high;
        let groups = numbers
            .chunk_by(|a, b| label_of(*a) == label_of(*b))
            .filter(|group| group.first().is_some_and(|number| is_inside(label_of(*number))))
            .count();
        let groups = u32::try_from(groups).unwrap_or(u32::MAX);
        let gap = high.saturating_sub(low) / groups.saturating_add(1);
        if gap < gap_min {
            return false;
        }
        let gap = if high == EMPTY { gap.min(LAST_GAP) } else { gap };
        let (mut last, mut next) = (None, low);
        for number in numbers {
            let Some(label) = self.labels.get_mut(number as usize).filter(|label| is_inside(**label)) else {
                continue;
            };
            if last.replace(*label) != Some(*label) {
                next += gap;
            }
            *label = next;
        }
        true
    }

    /// Puts all labels as far apart as can be.
    fn spread(&mut self) {
        let (mut groups, mut last) = (0_u32, None);
        for number in self.sorted.iter() {
            let label = self.label(number as usize);
            groups += u32::from(label != EMPTY && last.replace(label) != Some(label));
        }
        let gap = gap_between(groups);
        let (mut last, mut next) = (None, 0_u32);
        for number in self.sorted.iter() {
            let Some(label) = self.labels.get_mut(number as usize).filter(|label| **label != EMPTY) else {
                continue;
            };
            if last.replace(*label) != Some(*label) {
                next = next.saturating_add(gap).min(EMPTY - 1);
            }
            *label = next;
        }
    }

    fn is_empty(&self, number: u32) -> bool {
        self.label(number as usize) == EMPTY
    }

    pub(crate) fn bytes(&self) -> usize {
        self.labels.capacity() * 4 + self.sorted.bytes()
    }
}

/// How far apart values are that come one behind the other, as times do.
const LAST_GAP: u32 = 1 << 10;

/// How far apart labels are put where there are so many of them. Half of the room is left for what comes behind the last.
fn gap_between(groups: u32) -> u32 {
    (EMPTY / 2 / groups.saturating_add(1)).max(1)
}

/// How far apart the fewest labels are put that are moved to make room.
const ROOM_MIN: u32 = 8;

fn key_of(values: &Values, number: usize) -> Vec<u8> {
    let mut key = Vec::new();
    write_key(values.get(number), &mut key);
    key
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cell() -> impl Strategy<Value = String> {
        prop_oneof![
            Just(String::new()),
            Just("[]".to_owned()),
            "-?(0|[1-9][0-9]{0,3})",
            "\"[aAbB0-9 ä]{0,12}\"",
            "\"https://www[.]example[.]com/[ab0-9]{0,12}\"",
            "\"20[0-9]{2}-0[1-9]-1[0-9]\"",
            "(true|false)",
            "\\{\"a\":[0-9]\\}",
        ]
    }

    proptest! {
        #[test]
        fn labels_compare_as_keys_do(cells in proptest::collection::vec(cell(), 1..80), more in proptest::collection::vec(cell(), 0..80)) {
            let mut values = Values::default();
            for raw in &cells {
                values.push(raw).unwrap();
            }
            let mut ranks = Ranks::of(&values);
            for raw in &more {
                values.push(raw).unwrap();
                ranks.extend(&values);
            }
            for a in 0..values.len() {
                for b in 0..values.len() {
                    let by_key = key_of(&values, a).cmp(&key_of(&values, b));
                    prop_assert_eq!(ranks.label(a).cmp(&ranks.label(b)), by_key, "{} and {}", values.get(a), values.get(b));
                }
                prop_assert_eq!(ranks.label(a) == EMPTY, is_empty_key(&key_of(&values, a)));
            }
        }
    }

    #[test]
    fn many_values_at_one_place_find_room() {
        let mut values = Values::default();
        for raw in ["\"a\"", "\"b\"", ""] {
            values.push(raw).unwrap();
        }
        let mut ranks = Ranks::of(&values);
        // Each between the last one and "b", and each behind all.
        for number in 0..200 {
            values.push(&format!("\"a{}\"", "z".repeat(number))).unwrap();
            ranks.extend(&values);
            values.push(&format!("\"c{number}\"")).unwrap();
            ranks.extend(&values);
        }
        let mut last = 0;
        for number in ranks.sorted.iter() {
            let label = ranks.label(number as usize);
            assert!(label >= last);
            last = label;
        }
        let distinct: std::collections::HashSet<u32> = ranks.labels.iter().copied().collect();
        assert_eq!(distinct.len(), 402, "\"a\" came twice");
    }
}
