//! Where a field of a file goes.

use rowmill_model::record::Slot;
use rowmill_model::{Column, ColumnId, DataShape, Format, Limits};
use serde::{Deserialize, Serialize};

use crate::rows::layout::too_large;

/// A field of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportField {
    /// What the mapping calls it.
    pub name: String,
    /// What a column made of it is called.
    pub header: String,
}

/// Where a field's values go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportColumn {
    pub(super) id: ColumnId,
    pub(super) slot: Slot,
    takes_json: bool,
    /// If the column refuses what does not fit: its header and its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strict: Option<(String, Format)>,
}

impl ImportColumn {
    pub(super) fn of(column: &Column) -> Self {
        let takes_json = column.data_shape != DataShape::Text || column.id.as_str() == ColumnId::TRIGGER;
        let strict = column.format.clone().filter(|format| format.strict);
        let strict = strict.map(|format| (column.header.clone(), format));
        Self { id: column.id.clone(), slot: column.slot, takes_json, strict }
    }

    /// Why a value cannot be written, if it cannot.
    pub(super) fn refusal(&self, value: &str, limits: &Limits) -> Option<String> {
        let misfit = || {
            let (header, format) = self.strict.as_ref()?;
            format.refusal(value).map(|words| format!("the value in {header:?} {words}"))
        };
        too_large(value, limits).map(|words| format!("a cell {words}")).or_else(misfit)
    }

    /// Text as a cell's raw JSON. It stays text, leading zeros and all, save where a column holds JSON.
    pub fn value_of(&self, text: &str) -> String {
        let is_container = text.starts_with(['{', '[']);
        if self.takes_json
            && is_container
            && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
        {
            return text.to_owned();
        }
        serde_json::Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_save_where_a_column_holds_json() {
        let check = |takes_json: bool, text: &str, expected: &str| {
            let column = ImportColumn { id: ColumnId::trigger(), slot: 0, takes_json, strict: None };
            assert_eq!(column.value_of(text), expected);
        };
        check(false, "0123", "\"0123\"");
        check(true, "0123", "\"0123\"");
        check(false, "{\"a\":1}", "\"{\\\"a\\\":1}\"");
        check(true, "{\"a\": 1}", "{\"a\": 1}");
        check(true, "{broken", "\"{broken\"");
    }
}
