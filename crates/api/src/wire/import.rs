//! The result of an import on the wire.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::import_job::{ImportJobOut, JobStatus};

/// The result of an import.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ImportResult")]
pub(crate) struct FileOutcome {
    /// Only in a 202 answer: the import goes on in the background, and nothing below is known yet. `Location` and `job` say
    /// where its result will be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "JobStatus")]
    pub(crate) status: Option<JobStatus>,
    /// Number of inserted rows.
    pub(crate) imported_count: u64,
    /// Number of existing rows that changed (with `matchOn`).
    pub(crate) updated_count: u64,
    /// Number of existing rows that did not change (with `matchOn`).
    pub(crate) unchanged_count: u64,
    /// Number of rejected rows.
    pub(crate) rejected_count: u64,
    /// Number of rows without a filled cell in any imported field, and of rows that were read after the import stopped.
    /// With the four numbers above it makes the number of rows that were read.
    pub(crate) skipped_count: u64,
    /// Columns created by the import.
    pub(crate) columns_created: Vec<CreatedColumn>,
    /// Fields of the file that were ignored.
    #[schemars(inner(length(max = 1_048_576), regex(pattern = r"^[\s\S]*$")))]
    pub(crate) fields_ignored: Vec<String>,
    /// Fields that were ignored or became columns and may be misspelt, and the headers they resemble.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) hints: BTreeMap<String, String>,
    /// The rejected rows.
    #[schemars(extend("x-limit" = { "maxItems": "importRejectedMax" }))]
    pub(crate) rejected: Vec<Rejected>,
    /// Whether the import stopped early because of too many rejected rows.
    pub(crate) stopped: bool,
    /// Only in a 202 answer: the import in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ImportJobOut")]
    pub(crate) job: Option<ImportJobOut>,
}

impl FileOutcome {
    /// How many of the rows that were read are in no other number.
    pub(crate) fn skipped_of(&self, rows_read: u64) -> u64 {
        let told = self.imported_count + self.updated_count + self.unchanged_count + self.rejected_count;
        rows_read.saturating_sub(told)
    }
}

/// The result of an import that ran in the background.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportOutcome")]
pub(crate) struct JobResult {
    #[serde(flatten)]
    pub(crate) outcome: FileOutcome,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportedColumn")]
pub(crate) struct CreatedColumn {
    #[schemars(length(max = 64))]
    pub(crate) id: String,
    #[schemars(length(max = 255))]
    pub(crate) header: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub(crate) struct Rejected {
    /// The line at which the row starts, from 1.
    pub(crate) line: u64,
    /// The reason.
    #[schemars(length(max = 10_000), regex(pattern = r"^[\s\S]*$"))]
    pub(crate) reason: String,
    /// The row's cells, or the line; truncated or omitted if very long.
    #[schemars(inner(length(max = 8_388_608), regex(pattern = r"^[\s\S]*$")))]
    pub(crate) values: Vec<String>,
}
