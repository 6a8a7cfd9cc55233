//! Whether a cell whose turn has come may run.

use jiff::Timestamp;

use super::{Block, Plan};
use crate::cell::{CellError, CellStatus, ErrorCode};
use crate::record::Slot;
use crate::row::RowView;
use crate::value::Value;

/// What is to be done with a cell whose dependencies have settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Run,
    Skip(CellError),
}

impl Plan {
    /// Looks at a row for one of its cells. `now` is what the condition's dates count from.
    pub fn judge(&self, slot: Slot, place: u8, block: &Block, row: &RowView<'_>, now: Timestamp) -> Verdict {
        let Some(column) = self.column(slot).and_then(|index| self.columns.get(index)) else {
            return skip(ErrorCode::InvalidInput, "The column is not processed any more.".to_owned());
        };
        for input in column.inputs.iter().filter(|input| input.required) {
            let source = input.processed.and_then(|index| self.columns.get(index));
            let status = source.map(|source| block.get(source.slot, place).status);
            if let Some(status @ (CellStatus::Error | CellStatus::Skipped)) = status {
                let words = match status {
                    CellStatus::Error => "ended in an error",
                    _ => "was skipped",
                };
                return skip(
                    ErrorCode::DependencyError,
                    format!("“{}”, which is required, {words}.", input.header),
                );
            }
            let value = input.source.value(row);
            if value.is_none_or(|raw| Value::parse(&raw).is_empty()) {
                return skip(
                    ErrorCode::MissingInput,
                    format!("“{}”, which is required, is empty.", input.header),
                );
            }
        }
        match &column.condition {
            Some(condition) if !condition.holds(row, now) => {
                skip(ErrorCode::ConditionNotMet, "The run condition does not hold for this row.".to_owned())
            }
            _ => Verdict::Run,
        }
    }
}

fn skip(code: ErrorCode, message: String) -> Verdict {
    Verdict::Skip(CellError { code, message })
}
