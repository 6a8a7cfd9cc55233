//! A project's columns, in order.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::column::{Column, ColumnType, DataShape, Retry};
use crate::filter::document::Filters;
use crate::format::Format;
use crate::ids::ColumnId;
use crate::nearest::{COMPARED_MAX, nearest};
use crate::record::Slot;

/// The columns of a project. A column's order is its place here; `_trigger` is always first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    pub columns: Vec<Column>,
    /// The slot the next column gets. Slots are never used twice.
    pub next_slot: Slot,
}

impl Table {
    pub const TRIGGER_HEADER: &str = "Input";
    pub const GUEST_STATUS_HEADER: &str = "Guest status";

    /// The table of a new project: its input column.
    pub fn new() -> Self {
        let mut table = Self { columns: Vec::new(), next_slot: 0 };
        table.push_manual(ColumnId::trigger(), Self::TRIGGER_HEADER);
        table
    }

    /// Adds a manual column at the end.
    pub fn push_manual(&mut self, id: ColumnId, header: &str) -> &Column {
        let slot = self.take_slot();
        self.columns.push_mut(manual(id, slot, header))
    }

    /// Adds a manual column whose values have this type.
    pub fn push_manual_of(&mut self, id: ColumnId, header: &str, format: Option<Format>) -> &Column {
        let slot = self.take_slot();
        self.columns.push_mut(Column { format, ..manual(id, slot, header) })
    }

    /// Hands out a slot for a new column.
    pub fn take_slot(&mut self) -> Slot {
        let slot = self.next_slot;
        self.next_slot += 1;
        slot
    }

    pub fn by_id(&self, id: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.id.as_str() == id)
    }

    pub fn position(&self, id: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.id.as_str() == id)
    }

    /// Finds a column by header, without regard to case and outer blanks.
    pub fn by_header(&self, header: &str) -> Option<&Column> {
        let wanted = header_key(header);
        self.columns.iter().find(|column| header_key(&column.header) == wanted)
    }

    /// The column with this id, or else with this header.
    pub fn named(&self, field: &str) -> Option<&Column> {
        self.by_id(field).or_else(|| self.by_header(field))
    }

    /// Why a name is refused that names no column. Of those that are told together the first may be misspelt; the rest would
    /// take long to compare. `earlier` is how many came before it.
    pub fn no_column(&self, name: &str, earlier: usize) -> String {
        format!("is not a column of this project{}", self.meant(name, earlier))
    }

    /// The same as a sentence of its own.
    pub fn no_such_column(&self, name: &str, earlier: usize) -> String {
        const SHOWN_CHARS: usize = 100;
        let meant = self.meant(name, earlier);
        let shown: String = name.chars().take(SHOWN_CHARS).collect();
        let cut = if shown.len() < name.len() { "…" } else { "" };
        let end = if meant.is_empty() { "." } else { &meant };
        format!("There is no column with the id or header `{shown}{cut}`{end}")
    }

    /// `; did you mean "City"?`, if a column has a header like that.
    fn meant(&self, name: &str, earlier: usize) -> String {
        let headers = self.columns.iter().map(|column| column.header.as_str());
        let near = (earlier < COMPARED_MAX).then(|| nearest(name, headers)).flatten();
        near.map(|header| format!("; did you mean {header:?}?")).unwrap_or_default()
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

/// A table's columns by what names them, for whoever looks up many. An id beats a header.
#[derive(Debug)]
pub struct ColumnNames<'t> {
    by_id: HashMap<&'t str, &'t Column>,
    by_header: HashMap<String, &'t Column>,
}

impl<'t> ColumnNames<'t> {
    pub fn of(table: &'t Table) -> Self {
        let columns = || table.columns.iter();
        Self {
            by_id: columns().map(|column| (column.id.as_str(), column)).collect(),
            by_header: columns().map(|column| (header_key(&column.header), column)).collect(),
        }
    }

    /// The column with this id, or else with this header.
    pub fn get(&self, name: &str) -> Option<&'t Column> {
        self.by_id.get(name).or_else(|| self.by_header.get(&header_key(name))).copied()
    }
}

/// What two headers are compared by.
pub fn header_key(header: &str) -> String {
    header.trim().to_lowercase()
}

fn manual(id: ColumnId, slot: Slot, header: &str) -> Column {
    Column {
        id,
        slot,
        header: header.to_owned(),
        kind: ColumnType::Manual,
        data_shape: DataShape::Text,
        format: None,
        dependencies: Vec::new(),
        ai_config: None,
        task_config: None,
        api_config: None,
        reference_config: None,
        run_condition: Filters::default(),
        retry: Retry::default(),
        rate_limit: None,
        cache_ttl_seconds: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_header_is_told_with_the_one_that_is_meant() {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("col_1"), "City");
        assert_eq!(table.no_column("Ctiy", 0), "is not a column of this project; did you mean \"City\"?");
        assert_eq!(table.no_column("Phone", 0), "is not a column of this project");
        assert_eq!(table.meant("Ctiy", 1_000), "", "of many only the first are compared");
    }
}
