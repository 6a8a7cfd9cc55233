//! The operations: what each takes, does and answers, whatever the version.

pub(crate) mod cell_image;
pub(crate) mod cells;
pub(crate) mod columns;
pub(crate) mod comparisons;
pub(crate) mod copies;
pub(crate) mod events;
pub(crate) mod exports;
pub(crate) mod find;
pub(crate) mod format_guesses;
pub(crate) mod groups;
pub(crate) mod hooks;
pub(crate) mod import_jobs;
pub(crate) mod imports;
pub(crate) mod inbound_deliveries;
pub(crate) mod keys;
pub(crate) mod outbound_webhooks;
pub(crate) mod projects;
pub(crate) mod providers;
pub(crate) mod receive_hook;
pub(crate) mod row;
pub(crate) mod row_patches;
pub(crate) mod row_queries;
pub(crate) mod rows;
pub(crate) mod run_history;
pub(crate) mod runs;
pub(crate) mod secrets;
pub(crate) mod sessions;
pub(crate) mod spending;
pub(crate) mod spending_usage;
pub(crate) mod summary;
pub(crate) mod team;
pub(crate) mod trash;
pub(crate) mod trials;
pub(crate) mod usage;
pub(crate) mod views;
pub(crate) mod webhook;
pub(crate) mod webhook_deliveries;

use rowmill_model::Limits;
use schemars::JsonSchema;
use serde::Deserialize;

/// Names a project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectPath {
    /// The project's id, with or without `proj_`, with or without hyphens.
    #[schemars(length(min = 1, max = 64), extend("example" = "proj_0190f0e0a1b27c3d8e4f0123456789ab"))]
    project_id: String,
}

/// Names a column of a project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ColumnPath {
    /// The project's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "proj_0190f0e0a1b27c3d8e4f0123456789ab"))]
    project_id: String,
    /// The column's id; `_trigger` is the input column.
    #[schemars(length(min = 1, max = 64), extend("example" = "col_4fJq0ZtR9xWb"))]
    column_id: String,
}

/// Names a row of a project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RowPath {
    /// The project's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "proj_0190f0e0a1b27c3d8e4f0123456789ab"))]
    project_id: String,
    /// The row's id, with or without `row_`, with or without hyphens.
    #[schemars(length(min = 1, max = 64), extend("example" = "row_0190f0e0b3c47d5e8f60123456789abc"))]
    row_id: String,
}

/// Names a cell of a project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names are those of the API")]
pub(crate) struct CellPath {
    /// The project's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "proj_0190f0e0a1b27c3d8e4f0123456789ab"))]
    project_id: String,
    /// The row's id, with or without `row_`, with or without hyphens.
    #[schemars(length(min = 1, max = 64), extend("example" = "row_0190f0e0b3c47d5e8f60123456789abc"))]
    row_id: String,
    /// The column's id; `_trigger` is the input column.
    #[schemars(length(min = 1, max = 64), extend("example" = "col_4fJq0ZtR9xWb"))]
    column_id: String,
}

/// Names a view of a project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ViewPath {
    /// The project's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "proj_0190f0e0a1b27c3d8e4f0123456789ab"))]
    project_id: String,
    /// The view's id, with or without `view_`, with or without hyphens.
    #[schemars(length(min = 1, max = 64), extend("example" = "view_0190f0e0c5d67e8f80123456789abcde"))]
    view_id: String,
}

/// How many entries a page has when the caller names no size.
pub(crate) fn page_size(asked: Option<u32>, limits: &Limits) -> u32 {
    asked.unwrap_or(limits.page_size_default).clamp(1, limits.page_size_max)
}
