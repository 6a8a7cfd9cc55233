//! The parts of cells that a prompt reads, such as `@{company.city}`: an empty one is a missing input, as an empty
//! column is.

use crate::column::Column;
use crate::path::Path;
use crate::reference::{Reference, references};
use crate::row::{RowView, Source, Sources};
use crate::value::Value;
use crate::weight::Weight;

/// A part of a cell that must not be empty.
#[derive(Debug, Clone)]
pub(super) struct PromptInput {
    /// As people know it: the column's header and the path.
    label: String,
    source: Source,
    path: Path,
}

impl PromptInput {
    /// The parts that a column's prompt reads, except of columns that may be empty.
    pub(super) fn of(column: &Column, sources: &mut Sources<'_>) -> Vec<Self> {
        let Some(config) = &column.ai_config else { return Vec::new() };
        let texts = std::iter::once(config.prompt.as_str()).chain(config.system.as_deref());
        let texts = texts.chain(config.attachments.iter().map(String::as_str));
        let is_required = |id: &str| {
            let dependency =
                column.dependencies.iter().find(|dependency| dependency.column_id.as_str() == id);
            dependency.is_some_and(|dependency| dependency.required)
        };
        let mut read = |inner: &str| match Reference::read(inner) {
            Reference::Column { id, path } if !path.is_empty() && is_required(id) => {
                let column = sources.table().by_id(id)?;
                let label = if path.starts_with('[') {
                    format!("{}{path}", column.header)
                } else {
                    format!("{}.{path}", column.header)
                };
                Some(Self { label, source: sources.source(column), path: Path::parse(path).ok()? })
            }
            Reference::Column { .. } | Reference::Secret { .. } => None,
        };
        texts.flat_map(references).filter_map(&mut read).collect()
    }

    /// Adds what it takes besides itself.
    pub(super) fn weigh(&self, weight: &mut Weight) {
        let Self { label, source, path } = self;
        weight.add(label.len() + path.bytes());
        source.weigh(weight);
    }

    /// What is missing, if it is empty in this row.
    pub(super) fn missing(&self, row: &RowView<'_>) -> Option<&str> {
        let value = self.source.value(row);
        let part = match value.as_deref().map(|value| self.path.find(value)) {
            Some(Ok(part)) => part,
            // The call says so, with its own error.
            Some(Err(_)) => return None,
            None => None,
        };
        part.is_none_or(|raw| Value::parse(&raw).is_empty()).then_some(&self.label)
    }
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
    fn an_empty_part_is_missing_unless_its_column_may_be_empty() {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("a"), "Company");
        table.push_manual(ColumnId::new("ask"), "Ask");
        let record =
            Record::pack([(1, r#"{"city": "Ulm", "zip": "", "tags": [], "n": 0, "list": [{"x": null}]}"#)]);
        let states = CellStates::IDLE;
        let check = |prompt: &str, required: bool, expected: Option<&str>| {
            let mut column = table.columns.last().unwrap().clone();
            column.ai_config = serde_json::from_value(json!({"prompt": "x", "system": prompt})).unwrap();
            column.dependencies =
                serde_json::from_value(json!([{"columnId": "a", "required": required}])).unwrap();
            let row = RowView::new(&table, record.cells().unwrap(), &states);
            let inputs = PromptInput::of(&column, &mut Sources::of(&table));
            assert_eq!(inputs.iter().find_map(|input| input.missing(&row)), expected, "{prompt}");
        };
        check("@{a} @{a.city} @{a.n} @{a.list[0]}", true, None);
        check("@{a.city} @{a.zip}", true, Some("Company.zip"));
        check("@{a.tags}", true, Some("Company.tags"));
        check("@{a.none.deeper}", true, Some("Company.none.deeper"));
        check("@{a[0]}", true, Some("Company[0]"));
        check("@{a.zip}", false, None);
        check("@{gone.zip} @{secret.KEY}", true, None);
    }
}
