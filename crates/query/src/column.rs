//! One column of a project, held in memory.

use std::sync::Arc;

use rowmill_model::format::TypedOrder;
use rowmill_model::path::Path;
use rowmill_model::record::{Cells, Slot};
use rowmill_model::weight::Weight;
use rowmill_model::{CellError, CellState, CellStates, CellStatus, ErrorCode};

use crate::value_column::ValueColumn;
use crate::values::Full;

/// What a column holds of each row. Slots are never used twice, so a name means the same for ever.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnKey {
    /// The value in a slot, or what paths lead to from there. If it is sorted by and has a type, what the type makes
    /// of it.
    Value { slot: Slot, paths: Vec<Arc<Path>>, typed: Option<TypedOrder> },
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

    /// Makes room for so many columns like this one, if it does not fit in as it is; for no more than so many bytes.
    pub(crate) fn make_room(&mut self, part: &Self, parts: usize, bytes_max: usize) {
        match (self, part) {
            (Self::Values(column), Self::Values(part)) => column.make_room(part, parts, bytes_max),
            (Self::States(column), Self::States(part)) => {
                let room = (part.len() * parts).min(bytes_max / size_of::<StateFacts>());
                column.reserve_exact(if column.capacity() - column.len() < part.len() { room } else { 0 });
            }
            _ => {}
        }
    }

    /// Adds the rows of another column of its kind. Nothing was changed in either of them yet.
    pub(crate) fn append(&mut self, part: &Self) -> Result<(), Full> {
        match (self, part) {
            (Self::Values(column), Self::Values(part)) => column.append(part)?,
            (Self::States(column), Self::States(part)) => column.extend_from_slice(part),
            _ => {}
        }
        Ok(())
    }

    /// Removes all rows, and keeps memory for others.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Values(column) => column.clear(),
            Self::States(state_facts) => state_facts.clear(),
        }
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
    /// Adds what it takes besides itself.
    pub(crate) fn weigh(&self, weight: &mut Weight) {
        let Self::Value { slot: _, paths, typed } = self else { return };
        weight.add(size_of_val(paths.as_slice()));
        for path in paths {
            weight.add_path(path);
        }
        if let Some(typed) = typed {
            typed.weigh(weight);
        }
    }

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
