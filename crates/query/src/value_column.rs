//! One column's values in memory, by row.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

use crate::ranks::Ranks;
use crate::values::{Full, Values};

/// Values by row. Where values repeat, each is kept once and rows name it by number; where they do not, the
/// value of row n is value n.
#[derive(Debug)]
pub(crate) struct ValueColumn {
    pub(crate) values: Values,
    rows: usize,
    /// The number of each row's value; `None` while it is the row's own.
    numbers: Option<Vec<u32>>,
    /// Values by their hash, while they are shared.
    by_hash: Option<ValuesByHash>,
    /// The values in order, once somebody sorts by them.
    pub(crate) ranks: Option<Ranks>,
    /// What rows had before.
    pub(crate) replaced: Replaced,
}

/// The values that were replaced by others, by number. Their labels are kept: orders find rows by them.
#[derive(Debug, Default)]
pub(crate) struct Replaced {
    /// All that were replaced from this change of the snapshot on.
    since: u64,
    /// In the order of the changes.
    list: Vec<PreviousValue>,
}

/// A row's value before a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PreviousValue {
    epoch: u64,
    pub(crate) row: u32,
    pub(crate) number: u32,
}

impl Replaced {
    /// Forgets all before a change.
    pub(crate) fn start(&mut self, epoch: u64) {
        *self = Self { since: epoch, list: Vec::new() };
    }

    /// Forgets what was replaced before a change.
    pub(crate) fn forget_before(&mut self, epoch: u64) {
        let gone = self.list.partition_point(|previous| previous.epoch < epoch);
        self.list.drain(..gone);
        self.since = self.since.max(epoch);
    }

    /// What was replaced since a change; `None` if not all of that is known.
    pub(crate) fn since(&self, epoch: u64) -> Option<&[PreviousValue]> {
        let from = self.list.partition_point(|previous| previous.epoch < epoch);
        self.list.get(from..).filter(|_| self.since <= epoch)
    }
}

type ValuesByHash = HashMap<u64, u32, BuildHasherDefault<IdentityHasher>>;

impl Default for ValueColumn {
    fn default() -> Self {
        Self {
            values: Values::default(),
            rows: 0,
            numbers: Some(Vec::new()),
            by_hash: Some(ValuesByHash::default()),
            ranks: None,
            replaced: Replaced::default(),
        }
    }
}

impl ValueColumn {
    /// Values are shared while there are no more of them than this, or than a quarter of the rows.
    /// Few in tests, so that their small tables have both.
    const SHARED_MIN: usize = if cfg!(test) { 4 } else { 4_096 };
    /// How often it is looked whether they are.
    const LOOK_EVERY: usize = if cfg!(test) { 8 } else { 16_384 };

    /// The number of a row's value.
    pub(crate) fn number(&self, row: usize) -> usize {
        match &self.numbers {
            None => row,
            Some(numbers) => numbers.get(row).copied().unwrap_or_default() as usize,
        }
    }

    /// Whether several rows may have one value by number.
    pub(crate) fn is_shared(&self) -> bool {
        self.by_hash.is_some()
    }

    /// The numbers of all rows' values; `None` if that of row n is n.
    pub(crate) fn numbers(&self) -> Option<&[u32]> {
        self.numbers.as_deref()
    }

    pub(crate) fn raw(&self, row: usize) -> &str {
        self.values.get(self.number(row))
    }

    pub(crate) fn set(&mut self, row: usize, raw: &str, epoch: u64) -> Result<(), Full> {
        if row < self.rows {
            if self.raw(row) == raw {
                return Ok(());
            }
            let number = self.add(raw)?;
            let rows = u32::try_from(self.rows).map_err(|_| Full)?;
            let numbers = self.numbers.get_or_insert_with(|| (0..rows).collect());
            if let Some(old) = numbers.get_mut(row) {
                let previous = std::mem::replace(old, number);
                let row = u32::try_from(row).map_err(|_| Full)?;
                self.replaced.list.push(PreviousValue { epoch, row, number: previous });
            }
            return Ok(());
        }
        self.push_at(raw, epoch)
    }

    /// Adds a row to a column that nothing was changed in yet.
    pub(crate) fn push(&mut self, raw: &str) -> Result<(), Full> {
        self.push_at(raw, 0)
    }

    fn push_at(&mut self, raw: &str, epoch: u64) -> Result<(), Full> {
        let number = self.add(raw)?;
        self.rows += 1;
        if let Some(numbers) = &mut self.numbers {
            numbers.push(number);
        }
        if self.rows.is_multiple_of(Self::LOOK_EVERY) {
            self.stop_sharing_in_vain(epoch)?;
        }
        Ok(())
    }

    /// Makes room for so many columns like this one, if it does not fit in as it is; for no more than so many bytes.
    pub(crate) fn make_room(&mut self, part: &Self, parts: usize, bytes_max: usize) {
        if !self.is_shared() && !part.is_shared() {
            self.values.make_room(&part.values, parts, bytes_max);
        }
        if let Some(numbers) = &mut self.numbers
            && numbers.capacity() - numbers.len() < part.rows
        {
            numbers.reserve_exact((part.rows * parts).min(bytes_max / size_of::<u32>()));
        }
    }

    /// Removes all rows. A column whose values were found to repeat too little does not look for it again.
    pub(crate) fn clear(&mut self) {
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        let kept = if self.is_shared() {
            Self::default()
        } else {
            Self { by_hash: None, numbers: None, ..Self::default() }
        };
        *self = Self { values, ..kept };
    }

    /// Adds the rows of another column. Nothing was changed in either of them yet.
    pub(crate) fn append(&mut self, other: &Self) -> Result<(), Full> {
        if self.rows == 0 && other.rows > 0 && !other.is_shared() {
            (self.by_hash, self.numbers) = (None, None);
        }
        match (&other.numbers, &mut self.numbers) {
            (None, None) => {
                self.values.append(&other.values)?;
                self.rows += other.rows;
                Ok(())
            }
            (Some(numbers), Some(_)) => {
                let here: Vec<u32> = (0..other.values.len())
                    .map(|number| self.add(other.values.get(number)))
                    .collect::<Result<_, _>>()?;
                let number_here = |number: &u32| here.get(*number as usize).copied().unwrap_or_default();
                if let Some(own) = &mut self.numbers {
                    own.extend(numbers.iter().map(number_here));
                }
                self.rows += other.rows;
                self.stop_sharing_in_vain(0)
            }
            // Values that repeat in some parts of a table only.
            _ => (0..other.rows).try_for_each(|row| self.push(other.raw(row))),
        }
    }

    /// The number of a value, which is added if it is not known.
    fn add(&mut self, raw: &str) -> Result<u32, Full> {
        let Some(by_hash) = &mut self.by_hash else { return self.values.push(raw) };
        let hash = xxh3_64(raw.as_bytes());
        match by_hash.get(&hash) {
            Some(number) if self.values.get(*number as usize) == raw => Ok(*number),
            // Two values of one hash: the second is known to nobody, and stands once a row.
            Some(_) => self.values.push(raw),
            None => {
                let number = self.values.push(raw)?;
                by_hash.insert(hash, number);
                Ok(number)
            }
        }
    }

    fn stop_sharing_in_vain(&mut self, epoch: u64) -> Result<(), Full> {
        let len = self.values.len();
        if self.by_hash.is_none() || len <= Self::SHARED_MIN || len <= self.rows / 4 {
            return Ok(());
        }
        self.by_hash = None;
        let Some(numbers) = self.numbers.take() else { return Ok(()) };
        let shared = std::mem::take(&mut self.values);
        for number in numbers {
            self.values.push(shared.get(number as usize))?;
        }
        if self.ranks.is_some() {
            self.ranks = Some(Ranks::of(&self.values));
        }
        // The numbers of old values mean nothing any more.
        self.replaced.start(epoch + 1);
        Ok(())
    }

    /// How many values no row has any more, at least.
    pub(crate) fn wasted(&self) -> usize {
        self.values.len().saturating_sub(self.rows)
    }

    pub(crate) fn shrink(&mut self) {
        self.values.shrink();
        if let Some(numbers) = &mut self.numbers {
            numbers.shrink_to_fit();
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let numbers = self.numbers.as_ref().map_or(0, |numbers| numbers.capacity() * 4);
        let by_hash = self.by_hash.as_ref().map_or(0, |by_hash| by_hash.capacity() * 2 * 16);
        let replaced = self.replaced.list.capacity() * size_of::<PreviousValue>();
        self.values.bytes() + numbers + by_hash + replaced + self.ranks.as_ref().map_or(0, Ranks::bytes)
    }
}

/// Hashes are hashed by leaving them as they are.
#[derive(Debug, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
