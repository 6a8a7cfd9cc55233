//! Views on the wire.

use std::collections::BTreeMap;

use rowmill_app::{ViewChanges, ViewSaved};
use rowmill_model::View;
use rowmill_model::filter::Filters;
use rowmill_model::sort::Sorting;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::filter::{FiltersSchema, SortingSchema, exact_filters};
use super::place::{AnyPlace, any_place};
use super::{present, timestamp};

/// A saved view.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "View")]
pub(crate) struct ViewFull {
    #[schemars(length(max = 37), regex(pattern = "^view_[0-9a-f]{32}$"))]
    id: String,
    #[schemars(length(min = 1, max = 255))]
    name: String,
    /// An icon name or an emoji.
    #[schemars(length(max = 64))]
    emoji: String,
    /// The view's position, from 0.
    order: usize,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    #[schemars(with = "FiltersSchema")]
    filters: Filters,
    #[schemars(with = "SortingSchema")]
    sorting: Sorting,
    /// Which columns are visible. Rows still contain hidden columns.
    column_visibility: BTreeMap<String, bool>,
}

impl ViewFull {
    pub(crate) fn new(view: View, order: usize) -> Self {
        let View { id, name, emoji, created_at_ms, filters, sorting, column_visibility } = view;
        Self {
            id: id.to_string(),
            name,
            emoji,
            order,
            created_at: timestamp(created_at_ms),
            filters,
            sorting,
            column_visibility: column_visibility
                .into_iter()
                .map(|(id, shown)| (id.to_string(), shown))
                .collect(),
        }
    }
}

impl From<ViewSaved> for ViewFull {
    fn from(ViewSaved { view, order }: ViewSaved) -> Self {
        Self::new(view, order)
    }
}

/// A view to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ViewCreate {
    /// 1 to 255 characters, not counting leading and trailing spaces.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 255, "pattern": "\\S" }))]
    name: String,
    /// An icon name or an emoji. Default: "📋".
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", extend("x-document" = { "maxLength": 64 }))]
    emoji: Option<String>,
    #[serde(default, deserialize_with = "exact_filters")]
    #[schemars(with = "FiltersSchema", extend("x-unchecked" = true))]
    filters: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "SortingSchema", extend("x-unchecked" = true))]
    sorting: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "BTreeMap<String, bool>")]
    column_visibility: Option<BTreeMap<String, bool>>,
}

impl From<ViewCreate> for ViewChanges {
    fn from(body: ViewCreate) -> Self {
        let ViewCreate { name, emoji, filters, sorting, column_visibility } = body;
        Self { name: Some(name), emoji, filters, sorting, column_visibility, order: None, strict: false }
    }
}

/// Changes to a view. Each given field replaces the old value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ViewPatch {
    /// 1 to 255 characters, not counting leading and trailing spaces.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", extend("x-document" = { "minLength": 1, "maxLength": 255, "pattern": "\\S" }))]
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", extend("x-document" = { "maxLength": 64 }))]
    emoji: Option<String>,
    #[serde(default, deserialize_with = "exact_filters")]
    #[schemars(with = "FiltersSchema", extend("x-unchecked" = true))]
    filters: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "SortingSchema", extend("x-unchecked" = true))]
    sorting: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "BTreeMap<String, bool>")]
    column_visibility: Option<BTreeMap<String, bool>>,
    /// Moves the view to this position; one beyond the end is the end.
    #[serde(default, deserialize_with = "any_place")]
    #[schemars(with = "AnyPlace")]
    order: Option<u32>,
}

impl From<ViewPatch> for ViewChanges {
    fn from(body: ViewPatch) -> Self {
        let ViewPatch { name, emoji, filters, sorting, column_visibility, order } = body;
        Self { name, emoji, filters, sorting, column_visibility, order, strict: false }
    }
}
