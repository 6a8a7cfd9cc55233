//! The run condition of a column in a plan.

use jiff::Timestamp;

use crate::cell_status::{CellError, ErrorCode};
use crate::filter::{Filters, Predicate};
use crate::row::{RowView, Sources};
use crate::weight::Weight;

/// What the compiled conditions of one project may take. A list of values takes some 70 times its text.
const COMPILED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A condition, compiled once if it is not large.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    Compiled(Predicate),
    /// Compiled for each row that is asked for, because the conditions together would take too much.
    Text(Filters),
}

/// What is left for the compiled conditions of a project.
#[derive(Debug)]
pub(super) struct ConditionRoom(usize);

impl Default for ConditionRoom {
    fn default() -> Self {
        Self(COMPILED_BYTES_MAX)
    }
}

impl Condition {
    pub(super) fn of(filters: &Filters, sources: &mut Sources<'_>, room: &mut ConditionRoom) -> Option<Self> {
        if filters.is_empty() {
            return None;
        }
        let compiled = Predicate::compile_with(filters, sources);
        let mut weight = Weight::default();
        compiled.weigh(&mut weight);
        Some(match room.0.checked_sub(weight.bytes()) {
            Some(left) => {
                room.0 = left;
                Self::Compiled(compiled)
            }
            None => Self::Text(filters.clone()),
        })
    }

    /// Why a row's cell is skipped, if the condition does not hold for it.
    pub(super) fn refusal(&self, row: &RowView<'_>, now: Timestamp) -> Option<CellError> {
        let refusal =
            |condition: &Predicate| (!condition.holds(row, now)).then(|| condition_not_met(condition));
        match self {
            Self::Compiled(condition) => refusal(condition),
            Self::Text(filters) => refusal(&Predicate::compile(filters, row.table())),
        }
    }

    /// How much text is looked through to judge a row with so many bytes. Compiling takes as long as looking through some
    /// times the text.
    pub(super) fn judging_bytes(&self, row_bytes: usize) -> usize {
        const COMPILING_TIMES: usize = 16;
        match self {
            Self::Compiled(condition) => condition.leaves().saturating_mul(row_bytes),
            Self::Text(filters) => {
                let compiling = filters.bytes().saturating_mul(COMPILING_TIMES);
                filters.columns().len().saturating_mul(row_bytes).saturating_add(compiling)
            }
        }
    }

    /// Adds what it takes besides itself. The text of operands is the project's.
    pub(super) fn weigh(&self, weight: &mut Weight) {
        match self {
            Self::Compiled(condition) => condition.weigh(weight),
            Self::Text(filters) => weight.add(filters.bytes()),
        }
    }
}

/// The column is not meant for the row.
pub fn condition_not_met(condition: &Predicate) -> CellError {
    let message = if condition.is_usable() {
        "The column's run condition is not met for this row."
    } else {
        "The column's run condition has a filter that cannot be used any more, so it is met for no row. Change it."
    };
    CellError { code: ErrorCode::ConditionNotMet, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cell::CellStates;
    use crate::ids::ColumnId;
    use crate::record::Record;
    use crate::table::Table;

    #[test]
    fn a_large_condition_is_compiled_when_it_is_asked() {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("col_a"), "A");
        let filters: Filters =
            serde_json::from_value(json!([{"columnId": "col_a", "operator": "in", "value": [1, 2]}]))
                .unwrap();
        let values = Record::pack([(1, "2")]);
        let other = Record::pack([(1, "3")]);
        let states = CellStates::IDLE;
        for (room, is_compiled) in [(COMPILED_BYTES_MAX, true), (1, false)] {
            let mut room = ConditionRoom(room);
            let condition = Condition::of(&filters, &mut Sources::of(&table), &mut room).unwrap();
            assert_eq!(matches!(condition, Condition::Compiled(_)), is_compiled);
            for (values, holds) in [(&values, true), (&other, false)] {
                let row = RowView::new(&table, values.cells().unwrap(), &states);
                assert_eq!(condition.refusal(&row, Timestamp::UNIX_EPOCH).is_none(), holds);
            }
        }
        assert!(
            Condition::of(&Filters::default(), &mut Sources::of(&table), &mut ConditionRoom(0)).is_none()
        );
    }
}
