//! A project: a table with a name, settings and, perhaps, an event behind it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hook::Hook;
use crate::ids::{ProjectId, TeamId};
use crate::table::Table;
use crate::trash::Trash;
use crate::unfinished_copy::Copying;

/// Everything known of a project but its rows and views.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    pub id: ProjectId,
    pub team: TeamId,
    pub title: String,
    pub autoplay: bool,
    pub folder_id: Option<String>,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub settings: ProjectSettings,
    pub table: Table,
    #[serde(default, skip_serializing_if = "Trash::is_empty")]
    pub trash: Trash,
    /// Oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// Set while the rows of another project are copied into this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copying: Option<Copying>,
    /// Unix milliseconds.
    #[serde(rename = "createdAt")]
    pub created_at_ms: i64,
    /// Unix milliseconds.
    #[serde(rename = "updatedAt")]
    pub updated_at_ms: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectSettings {
    #[serde(default)]
    pub api: ApiSettings,
}

/// API settings of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiSettings {
    /// If false, every call on the project returns 403, except the one that enables it again.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// If false, v3 reads need no API key.
    #[serde(default = "yes")]
    pub require_key: bool,
    /// If true, unknown fields in a row body become columns.
    #[serde(default)]
    pub create_columns_from_keys: bool,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self { enabled: true, require_key: true, create_columns_from_keys: false }
    }
}

fn yes() -> bool {
    true
}
