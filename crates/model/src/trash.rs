//! The trash of a project's columns and views: what was deleted and can be restored.
//!
//! It is part of the project's document. A deleted column's values stay in the rows, under its slot, and the marks of its
//! cells stay in their blocks as long as it is here.

use serde::{Deserialize, Serialize};

use crate::column::Column;
use crate::ids::{ColumnId, KeyId, ViewId};
use crate::record::Slot;
use crate::view::View;

/// When something was deleted, and with which API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Deletion {
    /// Unix milliseconds.
    #[serde(rename = "at")]
    pub at_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<KeyId>,
}

/// Deleted columns and views, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trash {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<TrashedColumn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<TrashedView>,
}

/// A deleted column, and what its deletion did to others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrashedColumn {
    pub column: Column,
    /// Its place among the columns.
    pub order: usize,
    pub deletion: Deletion,
    /// The columns that were corrected because they referred to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<Altered<Column>>,
    /// The views that were corrected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<Altered<View>>,
}

/// A deleted view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrashedView {
    pub view: View,
    /// Its place among the views.
    pub order: usize,
    pub deletion: Deletion,
}

/// Something that was corrected: as it was, and as it became.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Altered<T> {
    pub before: T,
    pub after: T,
}

impl Trash {
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty() && self.views.is_empty()
    }

    /// The slots of the deleted columns: the marks of their cells are kept.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.columns.iter().map(|trashed| trashed.column.slot)
    }

    pub fn column(&self, id: &str) -> Option<&TrashedColumn> {
        self.columns.iter().find(|trashed| trashed.column.id.as_str() == id)
    }

    pub fn view(&self, id: ViewId) -> Option<&TrashedView> {
        self.views.iter().find(|trashed| trashed.view.id == id)
    }

    /// Puts a column in. Of more than `most`, the oldest are forgotten.
    pub fn put_column(&mut self, trashed: TrashedColumn, most: usize) {
        self.columns.push(trashed);
        let excess = self.columns.len().saturating_sub(most);
        self.columns.drain(..excess);
    }

    /// Puts a view in. Of more than `most`, the oldest are forgotten.
    pub fn put_view(&mut self, trashed: TrashedView, most: usize) {
        self.views.push(trashed);
        let excess = self.views.len().saturating_sub(most);
        self.views.drain(..excess);
    }

    pub fn take_column(&mut self, id: &ColumnId) -> Option<TrashedColumn> {
        let place = self.columns.iter().position(|trashed| trashed.column.id == *id)?;
        Some(self.columns.remove(place))
    }

    pub fn take_view(&mut self, id: ViewId) -> Option<TrashedView> {
        let place = self.views.iter().position(|trashed| trashed.view.id == id)?;
        Some(self.views.remove(place))
    }

    /// When the first of what is here was deleted, in Unix milliseconds.
    pub fn oldest_ms(&self) -> Option<i64> {
        let columns = self.columns.iter().map(|trashed| trashed.deletion.at_ms);
        columns.chain(self.views.iter().map(|trashed| trashed.deletion.at_ms)).min()
    }

    /// Forgets what was deleted at this time or before.
    pub fn forget_until(&mut self, until_ms: i64) {
        self.columns.retain(|trashed| trashed.deletion.at_ms > until_ms);
        self.views.retain(|trashed| trashed.deletion.at_ms > until_ms);
    }
}
