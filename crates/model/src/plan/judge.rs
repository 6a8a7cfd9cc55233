//! Whether a cell whose turn has come may run.

use jiff::Timestamp;

use super::block::Block;
use super::dependencies::Plan;
use super::prompt_inputs::PromptInput;
use crate::cell_status::{CellError, CellStatus, ErrorCode};
use crate::column::Column;
use crate::path::TooMuchFound;
use crate::record::Slot;
use crate::row::{RowView, Sources};
use crate::value::Value;

/// What is to be done with a cell whose dependencies have settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Run,
    Skip(CellError),
}

impl Plan {
    /// How much text is looked through to judge a cell of a row with so many bytes.
    pub fn judging_bytes(&self, slot: Slot, row_bytes: usize) -> usize {
        let condition = self.column(slot).and_then(|index| self.columns.get(index)?.condition.as_ref());
        condition.map_or(0, |condition| condition.judging_bytes(row_bytes))
    }

    /// Looks at a row for one of its cells. `now` is what the condition's dates count from.
    pub fn judge(&self, slot: Slot, place: u8, block: &Block, row: &RowView<'_>, now: Timestamp) -> Verdict {
        let Some(column) = self.column(slot).and_then(|index| self.columns.get(index)) else {
            let message = "This column is no longer processed.".to_owned();
            return Verdict::Skip(CellError { code: ErrorCode::InvalidInput, message });
        };
        for input in column.inputs.iter().filter(|input| input.required) {
            let source = input.processed.and_then(|index| self.columns.get(index));
            let status = source.map(|source| block.get(source.slot, place).status);
            if let Some(status @ (CellStatus::Error | CellStatus::Skipped)) = status {
                let words = match status {
                    CellStatus::Error => "failed",
                    _ => "was skipped",
                };
                let message = format!("The required input “{}” {words}.", input.header);
                return Verdict::Skip(CellError { code: ErrorCode::DependencyError, message });
            }
            let value = input.source.value(row);
            if value.is_none_or(|raw| Value::parse(&raw).is_empty()) {
                let found = input.source.too_much_found(row);
                return Verdict::Skip(found.map_or_else(
                    || missing_input(&input.header),
                    |found| too_much_input(&input.header, found),
                ));
            }
        }
        if let Some(label) = column.prompt_inputs.iter().find_map(|input| input.missing(row)) {
            return Verdict::Skip(missing_input(label));
        }
        let refusal = column.condition.as_ref().and_then(|condition| condition.refusal(row, now));
        refusal.map_or(Verdict::Run, Verdict::Skip)
    }
}

/// What a column's prompt lacks in one row. A plan knows it for many.
pub fn missing_prompt_input(column: &Column, row: &RowView<'_>) -> Option<CellError> {
    let inputs = PromptInput::of(column, &mut Sources::of(row.table()));
    inputs.iter().find_map(|input| input.missing(row)).map(missing_input)
}

/// A column that must have a value has none.
pub fn missing_input(header: &str) -> CellError {
    let message = format!("The required input “{header}” is empty.");
    CellError { code: ErrorCode::MissingInput, message }
}

/// A column that must have a value has none, because its path finds too much.
fn too_much_input(header: &str, found: TooMuchFound) -> CellError {
    let message = format!("The required input “{header}” is empty: its path {found}.");
    CellError { code: ErrorCode::MissingInput, message }
}
