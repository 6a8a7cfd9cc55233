//! One import that runs in the background.

use uuid::Uuid;

use crate::import_jobs::{ImportJob, ImportStatus};

#[derive(Debug, Clone)]
pub(super) struct MemoryImport {
    pub(super) job: ImportJob,
    /// Whether the file is still being sent; such a job is shown to nobody.
    pub(super) is_receiving: bool,
    pub(super) holder: Option<Uuid>,
    pub(super) lease_until_ms: i64,
    pub(super) parts: Vec<Vec<u8>>,
    pub(super) rejections: Vec<String>,
}

impl MemoryImport {
    pub(super) fn is_open(&self) -> bool {
        !self.job.status.is_over()
    }

    pub(super) fn runs(&self) -> bool {
        self.job.status == ImportStatus::Running
    }

    pub(super) fn end(&mut self, status: ImportStatus, now_ms: i64) {
        (self.job.status, self.job.ended_at_ms, self.holder) = (status, Some(now_ms), None);
    }
}
