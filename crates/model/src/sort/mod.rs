//! Sorting: in which order rows are shown.
//!
//! [`Sorting`] is the document as it is sent and stored, [`Order`] the same made ready to make a [`Key`]
//! of each row. What comes before what is written once, in `key.rs`.

mod direction;
mod key;
mod reader;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::column::Column;
use crate::format::TypedOrder;
use crate::ids::ColumnId;
use crate::row::{RowView, Source, Sources};
use crate::table::Table;

pub use direction::Direction;
pub use key::{Key, is_empty_key, write_key};

/// The most columns rows are sorted by.
pub const SORT_KEYS_MAX: usize = 20;

/// Sort keys, the most important first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sorting(pub Vec<SortKey>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SortKey {
    pub column_id: ColumnId,
    pub direction: Direction,
}

impl Sorting {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The columns sorted by, the most important first.
    pub fn columns(&self) -> Vec<&ColumnId> {
        self.0.iter().map(|key| &key.column_id).collect()
    }

    /// The sorting without a column; `None` if it does not sort by it.
    pub fn without(&self, column: &str) -> Option<Self> {
        let kept = self.0.iter().filter(|key| key.column_id.as_str() != column).cloned().collect();
        let kept = Self(kept);
        (kept != *self).then_some(kept)
    }
}

/// A compiled sorting.
#[derive(Debug, Clone)]
pub struct Order(Vec<(Source, Direction)>);

impl Order {
    /// A column that is gone, or a reference that leads nowhere, is empty in every row, and so changes no order.
    pub fn compile(sorting: &Sorting, table: &Table) -> Self {
        Self::compile_with(sorting, &mut Sources::of(table))
    }

    /// The same, for whoever compiles more of the table.
    pub fn compile_with(sorting: &Sorting, sources: &mut Sources<'_>) -> Self {
        let keys = sorting.0.iter().filter_map(|key| {
            let column = sources.table().by_id(key.column_id.as_str())?;
            let source = sources.source(column);
            source.slot()?;
            Some(typed_keys(column, source, key.direction, sources))
        });
        Self(keys.flatten().collect())
    }

    /// What a row is sorted by.
    pub fn key(&self, row: &RowView<'_>) -> Key {
        let mut key = key::KeyWriter::default();
        for (source, direction) in &self.0 {
            key.push(source.value(row).as_deref(), *direction);
        }
        key.finish()
    }

    /// Sort keys, the most important first.
    pub fn keys(&self) -> &[(Source, Direction)] {
        &self.0
    }

    /// Which of two rows comes first. Equal keys are left to the caller, who knows the rows' positions.
    pub fn compare(&self, a: &Key, b: &Key) -> Ordering {
        a.cmp(b)
    }
}

/// The keys of one column. A type has its own order; what does not fit comes last in both directions, so that a
/// descending order has two keys.
fn typed_keys(
    column: &Column,
    source: Source,
    direction: Direction,
    sources: &mut Sources<'_>,
) -> Vec<(Source, Direction)> {
    let Some(format) = sources.format(column).filter(|format| format.has_order()) else {
        return vec![(source, direction)];
    };
    let place = (source.sorted_as(TypedOrder::place(&format)), direction);
    match direction {
        Direction::Asc => vec![place],
        Direction::Desc => vec![(source.sorted_as(TypedOrder::fitness(&format)), Direction::Asc), place],
    }
}

#[cfg(test)]
mod tests;
