//! A project's columns, in order.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::column::{Column, ColumnType, DataShape, Retry};
use crate::filter::document::Filters;
use crate::format::Format;
use crate::ids::ColumnId;
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
