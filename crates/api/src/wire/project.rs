//! Projects on the wire.

use rowmill_app::{Caller, Correcting, NewProject, ProjectChanges, ProjectSummary};
use rowmill_model::{Project, ProjectSettings, integration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::column::{ColumnCreate, ColumnFull};
use super::metadata::Metadata;
use super::patch::Patch;
use super::{present, timestamp};

/// A project in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectItem {
    #[schemars(length(max = 37), regex(pattern = "^proj_[0-9a-f]{32}$"))]
    id: String,
    #[schemars(length(min = 1, max = 255))]
    title: String,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    autoplay: bool,
    /// Including the input column.
    column_count: u32,
    #[schemars(length(max = 255))]
    folder_id: Option<String>,
}

impl From<ProjectSummary> for ProjectItem {
    fn from(summary: ProjectSummary) -> Self {
        let ProjectSummary { id, title, created_at_ms, autoplay, column_count, folder_id } = summary;
        Self {
            id: id.to_string(),
            title,
            created_at: timestamp(created_at_ms),
            autoplay,
            column_count,
            folder_id,
        }
    }
}

/// A project with its settings, without its columns. Returned by an update.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectHead {
    #[schemars(length(max = 37), regex(pattern = "^proj_[0-9a-f]{32}$"))]
    id: String,
    #[schemars(length(min = 1, max = 255))]
    title: String,
    /// Whether rows are processed automatically.
    autoplay: bool,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    #[schemars(extend("format" = "date-time"))]
    updated_at: String,
    /// Including the input column.
    column_count: usize,
    #[schemars(length(max = 255))]
    folder_id: Option<String>,
    #[schemars(with = "Metadata")]
    metadata: Map<String, Value>,
    settings: ProjectSettings,
    /// Present while the rows of another project are copied into this one. Until then it can only be read and deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ProjectCopying")]
    copying: Option<ProjectCopying>,
}

/// How many rows a copy will have.
#[derive(Debug, Serialize, JsonSchema)]
struct ProjectCopying {
    /// The rows of the other project when the copy was begun. `rowCount` says how many are there already.
    rows: u64,
}

impl ProjectHead {
    pub(crate) fn new(project: &Project) -> Self {
        let Project {
            id,
            team: _,
            title,
            autoplay,
            folder_id,
            metadata,
            settings,
            table,
            trash: _,
            hooks: _,
            copying,
            created_at_ms,
            updated_at_ms,
        } = project;
        Self {
            id: id.to_string(),
            title: title.clone(),
            autoplay: *autoplay,
            created_at: timestamp(*created_at_ms),
            updated_at: timestamp(*updated_at_ms),
            column_count: table.columns.len(),
            folder_id: folder_id.clone(),
            metadata: integration::masked(metadata),
            settings: settings.clone(),
            copying: copying.as_ref().map(|copying| ProjectCopying { rows: copying.rows }),
        }
    }
}

/// A project with everything except its rows and views.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Project")]
pub(crate) struct ProjectFull {
    #[serde(flatten)]
    head: ProjectHead,
    row_count: u64,
    /// In order.
    columns: Vec<ColumnFull>,
}

impl ProjectFull {
    pub(crate) fn seen_by(caller: Caller, project: &Project, row_count: u64) -> Self {
        let table = &project.table;
        let columns = table.columns.iter().map(|column| ColumnFull::seen_by(caller, table, column)).collect();
        Self { head: ProjectHead::new(project), row_count, columns }
    }

    /// As a version shows it.
    pub(crate) fn in_version(mut self, has_formats: bool) -> Self {
        self.columns = self.columns.into_iter().map(|column| column.in_version(has_formats)).collect();
        self
    }
}

/// A project to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProjectCreate {
    /// 1 to 255 characters, not counting leading and trailing spaces.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 255, "pattern": "\\S" }))]
    title: String,
    /// Whether rows are processed automatically.
    #[serde(default)]
    autoplay: bool,
    #[serde(default)]
    #[schemars(length(max = 255))]
    folder_id: Option<String>,
    #[serde(default)]
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    settings: Option<ProjectSettings>,
    /// Columns to create after the input column.
    #[serde(default)]
    #[schemars(extend("x-limit" = { "maxItems": "columnsMax" }))]
    columns: Vec<ColumnCreate>,
}

impl From<ProjectCreate> for NewProject {
    fn from(body: ProjectCreate) -> Self {
        let ProjectCreate { title, autoplay, folder_id, metadata, settings, columns } = body;
        Self {
            title,
            autoplay,
            folder_id,
            metadata: metadata.unwrap_or_default(),
            settings: settings.unwrap_or_default(),
            columns: columns.into_iter().map(|column| column.0).collect(),
            correcting: Correcting::Freely,
        }
    }
}

/// Changes to a project.
#[expect(clippy::option_option, reason = "a field that is null is not a field that was left out")]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProjectPatch {
    /// 1 to 255 characters, not counting leading and trailing spaces.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", extend("x-document" = { "minLength": 1, "maxLength": 255, "pattern": "\\S" }))]
    title: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "bool")]
    autoplay: Option<bool>,
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<String>", length(max = 255))]
    folder_id: Option<Option<String>>,
    /// Replaced as a whole.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Option<Map<String, Value>>>,
    /// Merged field by field. Null puts the defaults back.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<Patch<ProjectSettings>>")]
    settings: Option<Value>,
}

impl From<ProjectPatch> for ProjectChanges {
    fn from(body: ProjectPatch) -> Self {
        let ProjectPatch { title, autoplay, folder_id, metadata, settings } = body;
        Self { title, autoplay, folder_id, metadata: metadata.map(Option::unwrap_or_default), settings }
    }
}
