//! Cell values one after another: raw JSON texts in one run of memory.

use std::sync::OnceLock;

use fixedbitset::FixedBitSet;
use rowmill_model::filter::Measure;

use crate::parallel;

/// Values by number, in the order they were added. Null is the empty text.
#[derive(Debug, Default)]
pub(crate) struct Values {
    texts: String,
    ends: Vec<u32>,
    /// Values that are not plain: anything but text in ASCII that is neither empty nor escaped.
    odd: FixedBitSet,
    /// How large each value is, once somebody asks for that.
    numbers: OnceLock<Vec<f64>>,
    instants: OnceLock<Vec<f64>>,
}

/// There is no room for more: texts are found by 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

impl Values {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a value; says its number.
    pub(crate) fn push(&mut self, raw: &str) -> Result<u32, Full> {
        let number = u32::try_from(self.ends.len()).map_err(|_| Full)?;
        let end = u32::try_from(self.texts.len() + raw.len()).map_err(|_| Full)?;
        self.texts.push_str(raw);
        self.ends.push(end);
        if !is_plain(raw) {
            self.odd.grow_and_insert(number as usize);
        }
        for (measure, sizes) in [(Measure::Number, &mut self.numbers), (Measure::Instant, &mut self.instants)]
        {
            if let Some(sizes) = sizes.get_mut() {
                sizes.push(measure.of(raw));
            }
        }
        Ok(number)
    }

    /// Makes room for so many parts like this one, and a little more, if it does not fit in as it is; for no more than so
    /// many bytes.
    pub(crate) fn make_room(&mut self, part: &Self, parts: usize, bytes_max: usize) {
        let room = |len: usize| len.saturating_mul(parts).saturating_add(len / 16);
        if self.texts.capacity() - self.texts.len() < part.texts.len() {
            self.texts.reserve_exact(room(part.texts.len()).min(bytes_max));
        }
        if self.ends.capacity() - self.ends.len() < part.ends.len() {
            self.ends.reserve_exact(room(part.ends.len()).min(bytes_max / size_of::<u32>()));
        }
    }

    /// Removes all values, and keeps memory for others.
    pub(crate) fn clear(&mut self) {
        self.texts.clear();
        self.ends.clear();
        (self.odd, self.numbers, self.instants) = (FixedBitSet::new(), OnceLock::new(), OnceLock::new());
    }

    /// Adds all values of another. Nobody has asked for the sizes of these yet.
    pub(crate) fn append(&mut self, other: &Self) -> Result<(), Full> {
        let (numbers, start) = (self.ends.len(), self.texts.len());
        u32::try_from(numbers + other.ends.len()).map_err(|_| Full)?;
        u32::try_from(start + other.texts.len()).map_err(|_| Full)?;
        let start = u32::try_from(start).map_err(|_| Full)?;
        self.texts.push_str(&other.texts);
        self.ends.extend(other.ends.iter().map(|end| start + end));
        for number in other.odd.ones() {
            self.odd.grow_and_insert(numbers + number);
        }
        (self.numbers, self.instants) = (OnceLock::new(), OnceLock::new());
        Ok(())
    }

    /// How large the values are.
    pub(crate) fn sizes(&self, measure: Measure) -> &[f64] {
        let sizes = match measure {
            Measure::Number => &self.numbers,
            Measure::Instant => &self.instants,
        };
        sizes.get_or_init(|| {
            let parts = parallel::map(&parallel::parts(self.len()), |part| {
                part.clone().map(|number| measure.of(self.get(number))).collect::<Vec<f64>>()
            });
            parts.concat()
        })
    }

    /// The raw JSON of a value; empty for null.
    pub(crate) fn get(&self, number: usize) -> &str {
        let end = self.ends.get(number).copied().unwrap_or_default() as usize;
        self.texts.get(self.start(number)..end).unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let end = *end as usize;
            self.texts.get(std::mem::replace(&mut start, end)..end).unwrap_or_default()
        })
    }

    /// Where a value's text starts among all texts.
    pub(crate) fn start(&self, number: usize) -> usize {
        let before = number.checked_sub(1).and_then(|before| self.ends.get(before));
        before.copied().unwrap_or_default() as usize
    }

    /// Where the values from this one on end.
    pub(crate) fn ends_from(&self, number: usize) -> &[u32] {
        self.ends.get(number..).unwrap_or_default()
    }

    /// All texts, one after another.
    pub(crate) fn texts(&self) -> &[u8] {
        self.texts.as_bytes()
    }

    pub(crate) fn is_odd(&self, number: usize) -> bool {
        self.odd.contains(number)
    }

    /// The numbers of values that are not plain, from one number up to another.
    pub(crate) fn odd_in(&self, numbers: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
        const BITS: usize = usize::BITS as usize;
        let words = self.odd.as_slice();
        let range = numbers.clone();
        let blocks = numbers.start / BITS..numbers.end.div_ceil(BITS).min(words.len());
        let words = words.get(blocks.clone()).unwrap_or_default().iter().zip(blocks);
        let all = words.flat_map(|(word, block)| {
            std::iter::successors(Some(*word), |word| Some(word & word.wrapping_sub(1)))
                .take_while(|word| *word != 0)
                .map(move |word| block * BITS + word.trailing_zeros() as usize)
        });
        all.filter(move |number| range.contains(number))
    }

    /// Gives back what was taken in advance.
    pub(crate) fn shrink(&mut self) {
        self.texts.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    pub(crate) fn bytes(&self) -> usize {
        let sizes = [&self.numbers, &self.instants].into_iter().filter_map(OnceLock::get);
        let sizes: usize = sizes.map(|sizes| sizes.capacity() * size_of::<f64>()).sum();
        self.texts.capacity() + self.ends.capacity() * 4 + self.odd.len() / 8 + sizes
    }
}

fn is_plain(raw: &str) -> bool {
    let [b'"', inner @ .., b'"'] = raw.as_bytes() else { return false };
    // No byte ends this early, so that the processor looks at many in one step.
    let odd = inner.iter().filter(|byte| !byte.is_ascii() || matches!(byte, b'\\' | b'"')).count();
    !inner.is_empty() && odd == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out_and_what_is_not_plain_is_known() {
        let mut values = Values::default();
        let raws = ["\"plain text\"", "", "12.50", "\"\"", "\"ä\"", "\"a\\n\"", "\"x\"", "[1]", "true", "\""];
        for (number, raw) in (0..).zip(raws) {
            assert_eq!(values.push(raw), Ok(number));
        }
        assert_eq!(values.iter().collect::<Vec<_>>(), raws);
        assert!(raws.iter().enumerate().all(|(number, raw)| values.get(number) == *raw));
        assert_eq!(values.odd_in(0..raws.len()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 7, 8, 9]);
        assert_eq!(values.odd_in(2..5).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!((values.is_odd(0), values.is_odd(1), values.is_odd(99)), (false, true, false));
        assert_eq!(values.get(99), "");
    }
}
