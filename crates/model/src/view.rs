//! A saved view: which rows, in which order, which columns shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::filter::Filters;
use crate::ids::{ColumnId, ViewId};
use crate::sort::Sorting;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    pub id: ViewId,
    pub name: String,
    pub emoji: String,
    /// Unix milliseconds.
    #[serde(rename = "createdAt")]
    pub created_at_ms: i64,
    #[serde(default)]
    pub filters: Filters,
    #[serde(default)]
    pub sorting: Sorting,
    /// For display only: a hidden column is still listed.
    #[serde(default)]
    pub column_visibility: BTreeMap<ColumnId, bool>,
}

impl View {
    pub const EMOJI_DEFAULT: &str = "📋";
}
