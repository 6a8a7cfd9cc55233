//! Puts the values of a column in order by `model`'s sort keys, on all processors.

use std::cmp::Ordering;

use rowmill_model::sort::write_key;

use crate::parallel;
use crate::values::Values;

/// A value at its place in the order.
pub(crate) struct SortedValue {
    pub(crate) number: u32,
    /// Whether the one before is another.
    pub(crate) is_first: bool,
    pub(crate) is_empty: bool,
}

/// All values in order; equal ones by number.
pub(crate) fn sort(values: &Values) -> Vec<SortedValue> {
    let parts = parallel::parts(values.len());
    let keys = parallel::map(&parts, |part| Keys::of(values, part.clone()));
    let part_len = parts.first().map_or(1, |part| part.len().max(1));
    let key_of = |number: u32| {
        let number = number as usize;
        keys.get(number / part_len).map(|keys| keys.get(number % part_len)).unwrap_or_default()
    };
    // Each thread takes the values between two of a sample, so that nothing need be merged.
    let bounds = sample(values.len(), parts.len(), &key_of);
    let halves = parallel::map(&parts, |part| {
        let mut shares: Vec<Vec<Entry>> = vec![Vec::new(); bounds.len() + 1];
        for number in part.clone().filter_map(|number| u32::try_from(number).ok()) {
            let key = key_of(number);
            let bytes = word(key, 0);
            let is_up_to = |(bound, whole): &(u64, Vec<u8>)| match bound.cmp(&bytes) {
                Ordering::Equal => whole.as_slice() <= key,
                order => order == Ordering::Less,
            };
            if let Some(share) = shares.get_mut(bounds.partition_point(is_up_to)) {
                share.push(Entry { bytes, number, is_first: true });
            }
        }
        shares
    });
    let shares: Vec<usize> = (0..=bounds.len()).collect();
    let sorted = parallel::map(&shares, |share| {
        let mut entries: Vec<Entry> =
            halves.iter().filter_map(|half| half.get(*share)).flatten().copied().collect();
        // Empty values come last, and share their only byte with no other.
        let empty = |entry: &Entry| entry.bytes == EMPTY_WORD;
        entries.sort_unstable_by_key(|entry| (entry.bytes, entry.number));
        let filled = entries.partition_point(|entry| !empty(entry));
        sort_ties(&mut entries, 0, &key_of);
        // What is the same is in one thread's part.
        let sorted = entries.into_iter().enumerate();
        sorted
            .map(|(place, Entry { number, is_first, .. })| SortedValue {
                number,
                is_first,
                is_empty: place >= filled,
            })
            .collect::<Vec<SortedValue>>()
    });
    sorted.into_iter().flatten().collect()
}

/// Keys that begin with so many bytes of another's are compared whole. Going through them by words takes room on the stack.
const BY_WORDS_MAX: usize = 256;

/// Sort keys of a run of values, one after another.
struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    fn of(values: &Values, numbers: std::ops::Range<usize>) -> Self {
        let mut keys = Self { bytes: Vec::new(), ends: Vec::with_capacity(numbers.len()) };
        for number in numbers {
            write_key(values.get(number), &mut keys.bytes);
            keys.ends.push(keys.bytes.len());
        }
        keys
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(index).copied().unwrap_or_default();
        self.bytes.get(start.unwrap_or_default()..end).unwrap_or_default()
    }
}

/// A value by eight bytes of its key.
#[derive(Clone, Copy)]
struct Entry {
    bytes: u64,
    number: u32,
    /// Whether the one before is another.
    is_first: bool,
}

/// What [`word`] makes of the key of an empty value.
const EMPTY_WORD: u64 = 0xff << 56;

/// Keys that cut all values into parts of about the same size, each behind its first bytes.
fn sample<'k>(len: usize, parts: usize, key_of: &impl Fn(u32) -> &'k [u8]) -> Vec<(u64, Vec<u8>)> {
    const SAMPLES: usize = 1_024;
    if parts < 2 {
        return Vec::new();
    }
    let step = (len / SAMPLES).max(1);
    let numbers = (0..len).step_by(step).filter_map(|number| u32::try_from(number).ok());
    let mut keys: Vec<&[u8]> = numbers.map(key_of).collect();
    keys.sort_unstable();
    let bounds = (1..parts).filter_map(|part| keys.get(keys.len() * part / parts));
    bounds.map(|key| (word(key, 0), key.to_vec())).collect()
}

/// Puts in order what is sorted by eight bytes of the keys, and is the same in all bytes before; says what is the same in
/// all. Only ties look at their keys again: these lie anywhere in memory, so that takes long.
fn sort_ties<'k>(entries: &mut [Entry], depth: usize, key_of: &impl Fn(u32) -> &'k [u8]) {
    for run in entries.chunk_by_mut(|a, b| a.bytes == b.bytes) {
        if run.len() < 2 {
            continue;
        }
        let deeper = depth + 8;
        // No key is the start of another, so keys alike up to where one ends are the same.
        let is_over = run.first().is_none_or(|entry| key_of(entry.number).len() <= deeper);
        if !is_over && deeper < BY_WORDS_MAX {
            for entry in run.iter_mut() {
                entry.bytes = word(key_of(entry.number), deeper);
            }
            run.sort_unstable_by_key(|entry| (entry.bytes, entry.number));
            sort_ties(run, deeper, key_of);
            continue;
        }
        if !is_over {
            run.sort_unstable_by(|a, b| key_of(a.number).cmp(key_of(b.number)).then(a.number.cmp(&b.number)));
        }
        let mut last = None;
        for entry in run {
            entry.is_first = last.is_none_or(|last| !is_over && key_of(last) != key_of(entry.number));
            last = Some(entry.number);
        }
    }
}

/// Eight bytes of a key, as a number that compares as they do.
fn word(key: &[u8], from: usize) -> u64 {
    let rest = key.get(from..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => rest
            .iter()
            .zip((0..8).rev())
            .fold(0, |word, (byte, place)| word | u64::from(*byte) << (place * 8)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_that_begin_alike_are_put_in_order() {
        let begins = "Alike".repeat(200_000);
        let mut values = Values::default();
        for end in ["b", "a", "", "b", "9", "10", "B"] {
            values.push(&format!("\"{begins}{end}\"")).unwrap();
        }
        values.push("\"A\"").unwrap();
        let sorted: Vec<(u32, bool)> =
            sort(&values).into_iter().map(|value| (value.number, value.is_first)).collect();
        let expected =
            [(7, true), (2, true), (4, true), (5, true), (1, true), (0, true), (3, false), (6, false)];
        assert_eq!(sorted, expected);
    }
}
