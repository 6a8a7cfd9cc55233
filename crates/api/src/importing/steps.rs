//! How an import that runs in the background notes with each batch how far it has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rowmill_app::{App, Import, ImportJob, ImportRow, ImportStep, ImportedBatch};
use uuid::Uuid;

use crate::wire::import::{FileOutcome, Rejected};

/// What the rows that one step notes as rejected may hold of their values: a page of them is shown at once.
const VALUES_BYTES_MAX: usize = 64 * 1024;

/// The steps of a job, by the one who holds it.
pub(crate) struct JobSteps<'c> {
    job: &'c ImportJob,
    holder: Uuid,
    /// Steps that were taken.
    step: u64,
    rows_read: u64,
    fields_noted: usize,
    /// Rejected rows that were noted since the job was claimed.
    pub(super) rejected_noted: usize,
    /// Bytes that were read of the file.
    bytes_read: Arc<AtomicU64>,
}

/// What became of the rows since the last step, as far as it is known before they are written.
pub(super) struct Batch<'a> {
    /// Rows of the file so far.
    pub(super) rows_read: u64,
    /// Rows that are rejected already.
    pub(super) rejected: &'a [Rejected],
    /// How many more can be rejected.
    pub(super) rejected_max: u64,
    /// The line and the values of each row that is written.
    pub(super) lines: &'a [(u64, Vec<String>)],
}

impl<'c> JobSteps<'c> {
    pub(crate) fn new(job: &'c ImportJob, holder: Uuid, import: &Import, bytes_read: Arc<AtomicU64>) -> Self {
        let (step, rows_read) = (job.progress.step, job.progress.rows_read);
        let fields_noted = import.fields_count();
        Self { job, holder, step, rows_read, fields_noted, rejected_noted: 0, bytes_read }
    }

    /// Rows that were done before the job was claimed.
    pub(super) fn rows_before(&self) -> u64 {
        self.job.progress.rows_read
    }

    /// What was done before, as the result begins.
    pub(super) fn told(&self) -> FileOutcome {
        let progress = self.job.progress;
        FileOutcome {
            imported_count: progress.inserted,
            updated_count: progress.updated,
            unchanged_count: progress.unchanged,
            rejected_count: progress.rejected,
            ..FileOutcome::default()
        }
    }

    pub(super) async fn write(
        &mut self,
        app: &App,
        import: &Import,
        rows: Vec<ImportRow>,
        batch: Batch<'_>,
    ) -> rowmill_app::Result<ImportedBatch> {
        if batch.rows_read <= self.rows_read.max(self.rows_before()) {
            return Ok(ImportedBatch::default());
        }
        let fields = import.fields_to_note(self.fields_noted)?;
        let bytes_read = self.bytes_read.load(Ordering::Relaxed);
        let step = |refused: &[(usize, String)]| ImportStep {
            rows_read: batch.rows_read,
            bytes_read,
            fields: fields.clone(),
            rejected: rejected(&batch, refused),
            ..app.import_step(self.job, self.holder, self.step)
        };
        let written = app.import_rows(import, rows, Some(&step)).await?;
        self.step += 1;
        self.rows_read = batch.rows_read;
        self.fields_noted = import.fields_count();
        Ok(written)
    }
}

/// How many rows are rejected with a batch, and which.
fn rejected(batch: &Batch<'_>, refused: &[(usize, String)]) -> Option<(u64, String)> {
    let refused = refused.iter().map(|(place, reason)| {
        let (line, values) = batch.lines.get(*place).cloned().unwrap_or_default();
        Rejected { line, reason: reason.clone(), values }
    });
    let most = usize::try_from(batch.rejected_max).unwrap_or(usize::MAX);
    let mut all: Vec<Rejected> = batch.rejected.iter().cloned().chain(refused.take(most)).collect();
    all.sort_by_key(|rejected| rejected.line);
    let mut bytes = 0;
    for rejected in &mut all {
        bytes += rejected.values.iter().map(String::len).sum::<usize>();
        if bytes > VALUES_BYTES_MAX {
            rejected.values.clear();
        }
    }
    let count = u64::try_from(all.len()).unwrap_or(u64::MAX);
    (count > 0).then(|| (count, serde_json::to_string(&all).unwrap_or_default()))
}
