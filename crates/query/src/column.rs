//! One column of a project, held in memory.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rowmill_model::format::TypedOrder;
use rowmill_model::path::Path;
use rowmill_model::record::{Cells, Slot};
use rowmill_model::{CellError, CellState, CellStates, CellStatus, ErrorCode};
use xxhash_rust::xxh3::xxh3_64;

use crate::ranks::Ranks;
use crate::values::{Full, Values};

/// What a column holds of each row. Slots are never used twice, so a name means the same for ever.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnKey {
    /// The value in a slot, or what paths lead to from there. If it is sorted by and has a type, what the type makes
    /// of it.
    Value { slot: Slot, paths: Vec<Path>, typed: Option<TypedOrder> },
    /// The state of the cell in a slot.
    State { slot: Slot },
}

/// A column's cells, by row.
#[derive(Debug)]
pub(crate) enum Column {
    Values(Box<ValueColumn>),
    States(Vec<StateFacts>),
}

impl Column {
    pub(crate) fn new(name: &ColumnKey) -> Self {
        match name {
            ColumnKey::Value { .. } => Self::Values(Box::default()),
            ColumnKey::State { .. } => Self::States(Vec::new()),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Values(column) => column.bytes(),
            Self::States(state_facts) => state_facts.capacity() * size_of::<StateFacts>(),
        }
    }

    pub(crate) fn shrink(&mut self) {
        match self {
            Self::Values(column) => column.shrink(),
            Self::States(state_facts) => state_facts.shrink_to_fit(),
        }
    }

    /// The rows of several columns, one behind the other.
    pub(crate) fn concat(name: &ColumnKey, parts: &[&Self]) -> Result<Self, Full> {
        let mut all = Self::new(name);
        match &mut all {
            Self::Values(all) => {
                let parts = || parts.iter().filter_map(|part| part.values());
                all.reserve(parts());
                parts().try_for_each(|part| all.append(part))?;
                all.shrink();
            }
            Self::States(all) => {
                let parts = parts.iter().filter_map(|part| match part {
                    Self::States(state_facts) => Some(state_facts.as_slice()),
                    Self::Values(_) => None,
                });
                *all = parts.collect::<Vec<_>>().concat();
            }
        }
        Ok(all)
    }

    pub(crate) fn values(&self) -> Option<&ValueColumn> {
        match self {
            Self::Values(column) => Some(column),
            Self::States(_) => None,
        }
    }

    /// Adds a copy of a row of another column; an empty cell if there is no such row.
    pub(crate) fn push_from(&mut self, other: &Self, row: Option<usize>) -> Result<(), Full> {
        match self {
            Self::Values(column) => {
                let raw = row.and_then(|row| Some(other.values()?.raw(row))).unwrap_or_default();
                column.push(raw)
            }
            Self::States(column) => {
                let state_facts = match other {
                    Self::States(others) => row.and_then(|row| others.get(row)).copied(),
                    Self::Values(_) => None,
                };
                column.push(state_facts.unwrap_or_default());
                Ok(())
            }
        }
    }

    /// Adds rows with empty cells.
    pub(crate) fn grow(&mut self, rows: usize) -> Result<(), Full> {
        match self {
            Self::Values(column) => {
                (0..rows).try_for_each(|_| column.push(""))?;
                let ValueColumn { values, ranks, .. } = &mut **column;
                if let Some(ranks) = ranks {
                    ranks.extend(values);
                }
            }
            Self::States(column) => column.resize(column.len() + rows, StateFacts::default()),
        }
        Ok(())
    }

    /// Writes a row's cell with a change of the snapshot; the row behind the last is a new one.
    pub(crate) fn set(&mut self, row: usize, cell: &Cell, epoch: u64) -> Result<(), Full> {
        match (self, cell) {
            (Self::Values(column), Cell::Value(raw)) => column.set(row, raw, epoch),
            (Self::Values(column), Cell::State(_)) => column.set(row, "", epoch),
            (Self::States(column), cell) => {
                let state_facts =
                    if let Cell::State(state_facts) = cell { *state_facts } else { StateFacts::default() };
                match column.get_mut(row) {
                    Some(old) => *old = state_facts,
                    None => column.push(state_facts),
                }
                Ok(())
            }
        }
    }
}

/// What a column holds of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Raw JSON; empty for null.
    Value(Box<str>),
    State(StateFacts),
}

impl ColumnKey {
    /// The slot whose value is read, if one is.
    pub(crate) fn value_slot(&self) -> Option<Slot> {
        match self {
            Self::Value { slot, .. } => Some(*slot),
            Self::State { .. } => None,
        }
    }

    /// What the column holds of the value in its slot, which is `None` where that is null; nothing for a column of states.
    pub(crate) fn read_value<T>(&self, raw: Option<&str>, take: impl FnOnce(&str) -> T) -> T {
        let Self::Value { paths, typed, .. } = self else { return take("") };
        let take = |raw: &str| match typed {
            Some(typed) => take(&typed.of(raw)),
            None => take(raw),
        };
        match (raw, paths.as_slice()) {
            (None, _) => take(""),
            (Some(raw), []) => take(raw),
            (Some(raw), [first, rest @ ..]) => {
                let found = first.resolve(raw).and_then(|found| {
                    rest.iter().try_fold(found.into_owned(), |raw, path| {
                        path.resolve(&raw).map(std::borrow::Cow::into_owned)
                    })
                });
                take(found.as_deref().unwrap_or_default())
            }
        }
    }

    /// What the column holds of a cell's state.
    pub(crate) fn read_state(&self, states: &CellStates) -> StateFacts {
        match self {
            Self::State { slot } => states.get(*slot).map(StateFacts::of).unwrap_or_default(),
            Self::Value { .. } => StateFacts::default(),
        }
    }

    pub(crate) fn cell(&self, cells: &Cells<'_>, states: &CellStates) -> Cell {
        match self {
            Self::Value { slot, .. } => self.read_value(cells.get(*slot), |raw| Cell::Value(raw.into())),
            Self::State { .. } => Cell::State(self.read_state(states)),
        }
    }
}

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

    /// A column that does not look whether values repeat.
    pub(crate) fn unshared() -> Self {
        Self { numbers: None, by_hash: None, ..Self::default() }
    }

    /// Makes room for the rows of other columns.
    fn reserve<'c>(&mut self, others: impl Iterator<Item = &'c Self>) {
        let (mut rows, mut values, mut bytes, mut is_shared) = (0, 0, 0, false);
        for other in others {
            rows += other.rows;
            values += other.values.len();
            bytes += other.values.texts().len();
            is_shared |= other.is_shared();
        }
        if is_shared {
            self.numbers.get_or_insert_default().reserve_exact(rows);
        } else {
            self.values.reserve(values, bytes);
        }
    }

    /// Adds the rows of another column. Nothing was changed in either of them yet.
    fn append(&mut self, other: &Self) -> Result<(), Full> {
        if self.rows == 0 && !other.is_shared() {
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

    fn shrink(&mut self) {
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

/// What filters may ask of a cell's state, in two bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StateFacts(u16);

impl StateFacts {
    /// Where the error begins.
    const ERROR_SHIFT: u16 = 5;
    /// How many there can be: with each of the errors, and with none.
    const COUNT: usize = (ErrorCode::ALL.len() + 1) << Self::ERROR_SHIFT;

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT).filter_map(|number| u16::try_from(number).ok()).map(Self)
    }

    pub(crate) fn of(state: &CellState) -> Self {
        let place_of = |place: Option<usize>| u16::try_from(place.unwrap_or_default()).unwrap_or_default();
        let status = place_of(CellStatus::ALL.iter().position(|status| *status == state.status));
        let error = state
            .error
            .as_ref()
            .map_or(0, |error| place_of(ErrorCode::ALL.iter().position(|code| *code == error.code)) + 1);
        Self(status | u16::from(state.stale) << 3 | u16::from(state.manual) << 4 | error << Self::ERROR_SHIFT)
    }

    /// A state that every filter takes for the one these were made of.
    pub(crate) fn state(self) -> CellState {
        let status = CellStatus::ALL.get(usize::from(self.0 & 7)).copied().unwrap_or_default();
        let code =
            usize::from(self.0 >> Self::ERROR_SHIFT).checked_sub(1).and_then(|code| ErrorCode::ALL.get(code));
        CellState {
            status,
            stale: self.0 >> 3 & 1 == 1,
            manual: self.0 >> 4 & 1 == 1,
            error: code.map(|code| CellError { code: *code, message: String::new() }),
            ..CellState::default()
        }
    }

    pub(crate) fn number(self) -> usize {
        usize::from(self.0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_number_that_is_not_too_large() {
        let errors = ErrorCode::ALL.map(|code| Some(CellError { code, message: String::new() }));
        for error in errors.into_iter().chain([None]) {
            for status in CellStatus::ALL {
                let error = error.clone();
                let state = CellState { status, stale: true, manual: true, error, ..CellState::default() };
                let facts = StateFacts::of(&state);
                assert!(facts.number() < StateFacts::COUNT, "{state:?}");
                assert_eq!((facts.state().status, facts.state().error), (state.status, state.error));
            }
        }
        assert_eq!(StateFacts::all().count(), StateFacts::COUNT);
    }
}
