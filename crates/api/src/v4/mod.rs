//! Version 4: no team in the path, the key names it.

mod cells;
mod columns;
mod projects;
mod rows;
mod team;
mod views;

use rowmill_model::Limits;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::api::Api;
use crate::rowmill::Rowmill;

/// Every operation of this version.
pub(crate) fn add(api: &mut Api<Rowmill>) {
    api.add::<projects::ListProjects>("/v4/projects")
        .add::<projects::CreateProject>("/v4/projects")
        .add::<projects::GetProject>("/v4/projects/{projectId}")
        .add::<projects::PatchProject>("/v4/projects/{projectId}")
        .add::<projects::DeleteProject>("/v4/projects/{projectId}")
        .add::<columns::ListColumns>("/v4/projects/{projectId}/columns")
        .add::<columns::ListTemplates>("/v4/projects/{projectId}/columns/templates")
        .add::<columns::CreateColumn>("/v4/projects/{projectId}/columns")
        .add::<columns::PatchColumn>("/v4/projects/{projectId}/columns/{columnId}")
        .add::<columns::DeleteColumn>("/v4/projects/{projectId}/columns/{columnId}")
        .add::<rows::ListRows>("/v4/projects/{projectId}/rows")
        .add::<rows::InsertRows>("/v4/projects/{projectId}/rows")
        .add::<rows::DeleteRows>("/v4/projects/{projectId}/rows")
        .add::<rows::GetRow>("/v4/projects/{projectId}/rows/{rowId}")
        .add::<rows::PatchRow>("/v4/projects/{projectId}/rows/{rowId}")
        .add::<cells::PatchCells>("/v4/projects/{projectId}/cells")
        .add::<views::ListViews>("/v4/projects/{projectId}/views")
        .add::<views::CreateView>("/v4/projects/{projectId}/views")
        .add::<views::PatchView>("/v4/projects/{projectId}/views/{viewId}")
        .add::<views::DeleteView>("/v4/projects/{projectId}/views/{viewId}")
        .add::<team::GetTeam>("/v4/team")
        .add::<team::GetLimits>("/v4/limits");
}

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
