//! Bulk filtering: a filter applied to all values of a column.
//!
//! What a filter means is `model`'s to say, and it is asked value by value, by all processors, each value
//! once however many rows have it. Only what is asked of plain text most often is done here, many values at
//! a time, and checked against `model` by the tests.

use std::ops::Range;

use fixedbitset::FixedBitSet;
use jiff::Timestamp;
use memchr::memmem::Finder;
use rowmill_model::filter::{Leaf, PlainTest, Search, SizeTest};

use crate::parallel;
use crate::values::Values;

const BITS: usize = usize::BITS as usize;
/// Texts are folded this many bytes at a time: few enough to stay close to the processor.
const FOLD_BYTES: usize = 1 << 15;

/// Something that is asked of values.
pub(crate) trait ValuePredicate: Sync {
    /// Asks it of one; null is the empty text.
    fn holds(&self, raw: &str) -> bool;

    /// The same for plain text, and whether the opposite is asked.
    fn plain(&self) -> Option<(PlainTest<'_>, bool)>;

    /// The same for how large values are.
    fn sizes(&self) -> Option<SizeTest> {
        None
    }
}

/// A filter, asked at a time.
pub(crate) struct FilterPredicate<'f>(pub(crate) &'f Leaf, pub(crate) Timestamp);

impl ValuePredicate for FilterPredicate<'_> {
    fn holds(&self, raw: &str) -> bool {
        self.0.holds_for((!raw.is_empty()).then_some(raw), self.1)
    }

    fn plain(&self) -> Option<(PlainTest<'_>, bool)> {
        self.0.plain_test()
    }

    fn sizes(&self) -> Option<SizeTest> {
        self.0.size_test()
    }
}

impl ValuePredicate for Search {
    fn holds(&self, raw: &str) -> bool {
        !raw.is_empty() && self.is_in(raw)
    }

    fn plain(&self) -> Option<(PlainTest<'_>, bool)> {
        Some((PlainTest::Contains { part: self.text(), case_sensitive: false }, false))
    }
}

/// The values for which it holds.
pub(crate) fn bulk_filter(values: &Values, ask: &impl ValuePredicate) -> FixedBitSet {
    let found = parallel::map(&parallel::parts(values.len()), |part| {
        let mut words = vec![0_usize; part.len().div_ceil(BITS)];
        bulk_filter_part(values, part.clone(), ask, &mut words);
        words
    });
    FixedBitSet::with_capacity_and_blocks(values.len(), found.concat())
}

/// Sets the bits of values in `part` for which it holds, the first value's being the first.
fn bulk_filter_part(values: &Values, part: Range<usize>, ask: &impl ValuePredicate, words: &mut [usize]) {
    let mut bits = Bits { words, start: part.start };
    if let Some(test) = ask.sizes() {
        let sizes = values.sizes(test.measure).get(part.clone()).unwrap_or_default();
        for (number, size) in part.zip(sizes) {
            if test.holds(*size).unwrap_or_else(|| ask.holds(values.get(number))) {
                bits.set(number);
            }
        }
        return;
    }
    // The empty text is part of everything, and of what is empty, too.
    let plain = ask.plain().filter(|(test, _)| !is_about_nothing(test));
    let Some((test, negated)) = plain else {
        for number in part {
            if ask.holds(values.get(number)) {
                bits.set(number);
            }
        }
        return;
    };
    test_plain(values, part.clone(), &test, &mut bits);
    if negated {
        bits.turn_round(part.len());
    }
    recheck_odd(values, part.clone(), ask, &test, &mut bits);
    if matches!(test, PlainTest::Equals { .. }) {
        recheck_readable(values, part, ask, &mut bits);
    }
}

/// Sets the bits of values that pass a test of plain text. What is not plain text is tested as if it were.
fn test_plain(values: &Values, part: Range<usize>, test: &PlainTest<'_>, bits: &mut Bits<'_>) {
    match *test {
        PlainTest::Contains { part: wanted, case_sensitive } => {
            find(values, part, wanted, case_sensitive, bits);
        }
        PlainTest::StartsWith { part: wanted, case_sensitive } => {
            compare(values, part, bits, |inner| {
                inner.get(..wanted.len()).is_some_and(|start| same(start, wanted, case_sensitive))
            });
        }
        PlainTest::EndsWith { part: wanted, case_sensitive } => {
            compare(values, part, bits, |inner| {
                let start = inner.len().checked_sub(wanted.len());
                start
                    .and_then(|start| inner.get(start..))
                    .is_some_and(|end| same(end, wanted, case_sensitive))
            });
        }
        PlainTest::Matches(pattern) => {
            // Threads that share one wait for each other.
            let pattern = pattern.clone();
            for number in part {
                let raw = values.get(number);
                let inner = raw.get(1..raw.len().saturating_sub(1));
                if inner.is_some_and(|inner| pattern.is_match(inner)) {
                    bits.set(number);
                }
            }
        }
        PlainTest::Equals { text: Some(wanted), case_sensitive } => {
            compare(values, part, bits, |inner| {
                inner.len() == wanted.len() && same(inner, wanted, case_sensitive)
            });
        }
        PlainTest::Equals { text: None, .. } => {}
    }
}

/// Asks again of values that are no plain text.
fn recheck_odd(
    values: &Values,
    part: Range<usize>,
    ask: &impl ValuePredicate,
    test: &PlainTest<'_>,
    bits: &mut Bits<'_>,
) {
    for number in values.odd_in(part) {
        let raw = values.get(number);
        // Numbers were searched as text is.
        if !(matches!(test, PlainTest::Contains { .. }) && is_bare(raw.as_bytes())) {
            bits.put(number, ask.holds(raw));
        }
    }
}

/// Asks again of text that may read as a number or date: that is no text, though it stands in quotes.
fn recheck_readable(values: &Values, part: Range<usize>, ask: &impl ValuePredicate, bits: &mut Bits<'_>) {
    for number in part {
        let second = values.texts().get(values.start(number) + 1);
        let reads = second.is_some_and(|byte| byte.is_ascii_digit() || b"+- \t\n\r\x0b\x0c".contains(byte));
        if reads && !values.is_odd(number) {
            bits.put(number, ask.holds(values.get(number)));
        }
    }
}

fn is_about_nothing(test: &PlainTest<'_>) -> bool {
    match test {
        PlainTest::Contains { part, .. }
        | PlainTest::StartsWith { part, .. }
        | PlainTest::EndsWith { part, .. } => part.is_empty(),
        PlainTest::Equals { .. } | PlainTest::Matches(_) => false,
    }
}

/// Whether a value is its own text: a number without blanks around it.
fn is_bare(raw: &[u8]) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    (is_digit(raw.first()) || raw.first() == Some(&b'-')) && is_digit(raw.last())
}

fn same(a: &[u8], b: &str, case_sensitive: bool) -> bool {
    if case_sensitive { a == b.as_bytes() } else { a.eq_ignore_ascii_case(b.as_bytes()) }
}

/// Sets the bits of values whose text, without the quotes, is right. What is not plain is seen as well.
fn compare(values: &Values, part: Range<usize>, bits: &mut Bits<'_>, is_right: impl Fn(&[u8]) -> bool) {
    let texts = values.texts();
    let mut start = values.start(part.start);
    for (number, end) in part.clone().zip(values.ends_from(part.start)) {
        let end = *end as usize;
        let inner = texts.get(start + 1..end.saturating_sub(1));
        if inner.is_some_and(&is_right) {
            bits.set(number);
        }
        start = end;
    }
}

/// Sets the bits of values that have this text within their quotes, searching many at once.
fn find(values: &Values, part: Range<usize>, text: &str, case_sensitive: bool, bits: &mut Bits<'_>) {
    let finder = Finder::new(text);
    let ends = values.ends_from(part.start).get(..part.len()).unwrap_or_default();
    let mut folded = Vec::with_capacity(FOLD_BYTES * 2);
    let mut first = 0;
    while first < ends.len() {
        let start = values.start(part.start + first);
        let rest = ends.get(first..).unwrap_or_default();
        // Whole values, at least one.
        let count = rest.partition_point(|end| *end as usize <= start + FOLD_BYTES).max(1);
        let chunk = rest.get(..count).unwrap_or_default();
        let end = chunk.last().copied().unwrap_or_default() as usize;
        let texts = values.texts().get(start..end).unwrap_or_default();
        let haystack = if case_sensitive {
            texts
        } else {
            folded.clear();
            folded.extend_from_slice(texts);
            folded.make_ascii_lowercase();
            &folded
        };
        find_in(haystack, start, chunk, &finder, |index| bits.set(part.start + first + index));
        first += count;
    }
}

/// Tells the index of each value that has the text. `ends` are those of the values, which begin at `start`.
fn find_in(haystack: &[u8], start: usize, ends: &[u32], finder: &Finder<'_>, mut found: impl FnMut(usize)) {
    let mut from = 0;
    let mut index = 0;
    while let Some(hit) = haystack.get(from..).and_then(|rest| finder.find(rest)) {
        let hit = from + hit;
        let rest = ends.get(index..).unwrap_or_default();
        // Hits are close together or far apart: look near first.
        let near = rest.iter().take(8).position(|end| *end as usize - start > hit);
        index += near.unwrap_or_else(|| rest.partition_point(|end| *end as usize - start <= hit));
        let end = ends.get(index).map_or(haystack.len(), |end| *end as usize - start);
        let value = index.checked_sub(1).and_then(|before| ends.get(before));
        let value_start = value.map_or(0, |end| *end as usize - start);
        let quotes = usize::from(!haystack.get(value_start..end).is_some_and(is_bare));
        let is_within = hit >= value_start + quotes && hit + finder.needle().len() + quotes <= end;
        if is_within {
            found(index);
            from = end;
        } else {
            from = hit + 1;
        }
    }
}

/// Bits by number of the value.
struct Bits<'w> {
    words: &'w mut [usize],
    start: usize,
}

impl Bits<'_> {
    fn set(&mut self, number: usize) {
        let index = number - self.start;
        if let Some(word) = self.words.get_mut(index / BITS) {
            *word |= 1 << (index % BITS);
        }
    }

    fn put(&mut self, number: usize, bit: bool) {
        let index = number - self.start;
        if let Some(word) = self.words.get_mut(index / BITS) {
            *word = *word & !(1 << (index % BITS)) | usize::from(bit) << (index % BITS);
        }
    }

    fn turn_round(&mut self, len: usize) {
        for word in self.words.iter_mut() {
            *word = !*word;
        }
        if !len.is_multiple_of(BITS)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (len % BITS)) - 1;
        }
    }
}
