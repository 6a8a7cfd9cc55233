//! An import that runs in the background, on the wire.

use rowmill_app::{ImportJob, ImportProgress, ImportStatus};
use rowmill_model::Offence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::timestamp;

/// An import that runs in the background.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ImportJob")]
pub(crate) struct ImportJobOut {
    #[schemars(length(max = 64))]
    id: String,
    pub(crate) status: JobStatus,
    /// When the file was here in full, or nearly.
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// Null while it is queued.
    #[schemars(extend("format" = "date-time"))]
    started_at: Option<String>,
    /// Null while it is queued or running.
    #[schemars(extend("format" = "date-time"))]
    ended_at: Option<String>,
    /// Size of the file, as it was sent.
    file_bytes: u64,
    /// How many of these bytes were taken from the file so far. It runs ahead of the rows, because the file is read in large
    /// pieces; `rowsRead` says what is imported or rejected for sure.
    bytes_read: u64,
    /// Number of rows that were read so far.
    rows_read: u64,
    /// Number of inserted rows so far.
    imported_count: u64,
    /// Number of existing rows that changed so far (with `matchOn`).
    updated_count: u64,
    /// Number of existing rows that did not change so far (with `matchOn`).
    unchanged_count: u64,
    /// Number of rejected rows so far.
    rejected_count: u64,
    /// Number of rows so far without a filled cell in any imported field.
    skipped_count: u64,
    /// Why it failed. Only with the status `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "JobFailure")]
    error: Option<JobFailure>,
}

/// `failed`: the file could not be read to its end. Rows that were imported before that, or before it was cancelled, are
/// kept.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ImportStatus")]
pub(crate) enum JobStatus {
    Queued,
    Running,
    Finished,
    Failed,
    Cancelled,
}

/// Why an import failed, as the response to it would say.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "ImportFailure")]
pub(crate) struct JobFailure {
    #[schemars(length(max = 10_000))]
    pub(crate) error: String,
    #[schemars(length(max = 64), regex(pattern = "^[a-z_]+$"))]
    pub(crate) code: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1_000))]
    pub(crate) details: Vec<Offence>,
}

/// How an import ended, as it is kept.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct JobOutcome {
    #[serde(default)]
    pub(crate) stopped: bool,
    #[serde(default)]
    pub(crate) error: Option<JobFailure>,
}

impl JobOutcome {
    pub(crate) fn of(job: &ImportJob) -> Self {
        job.outcome.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl From<&ImportJob> for ImportJobOut {
    fn from(job: &ImportJob) -> Self {
        let ImportProgress { rows_read, bytes_read, inserted, updated, unchanged, rejected, .. } =
            job.progress;
        let outcome = JobOutcome::of(job);
        let is_read = job.status == ImportStatus::Finished && !outcome.stopped;
        Self {
            id: job.id.to_string(),
            status: match job.status {
                ImportStatus::Queued => JobStatus::Queued,
                ImportStatus::Running => JobStatus::Running,
                ImportStatus::Finished => JobStatus::Finished,
                ImportStatus::Failed => JobStatus::Failed,
                ImportStatus::Cancelled => JobStatus::Cancelled,
            },
            created_at: timestamp(job.created_at_ms),
            started_at: job.started_at_ms.map(timestamp),
            ended_at: job.ended_at_ms.map(timestamp),
            file_bytes: job.file_bytes,
            // What follows the last row is not noted.
            bytes_read: if is_read { job.file_bytes } else { bytes_read },
            rows_read,
            imported_count: inserted,
            updated_count: updated,
            unchanged_count: unchanged,
            rejected_count: rejected,
            skipped_count: rows_read.saturating_sub(inserted + updated + unchanged + rejected),
            error: outcome.error,
        }
    }
}
