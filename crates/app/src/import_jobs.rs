//! Imports that run in the background.
//!
//! A file is received part by part, kept in the store, and read from there by whoever claims its job
//! ([`rowmill_store::ImportStore`] has the drawing). Here is what may be received, who may see it, and how leases are
//! kept. Reading a file is up to `api`, which reads the same files as they come in.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use rowmill_model::{ColumnId, ImportId, KeyId, ProjectId, Scopes};
use rowmill_store::{ImportClaim, ImportJob, ImportPart, ImportStatus, ImportStep, NewImport, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::app::App;
use crate::caller::{Caller, Principal};
use crate::error::{Error, Noun, Result};
use crate::ids::uuid;
use crate::imports::{Import, ImportColumn, ImportOptions};

/// How long a sender is waited for between two parts. Its own deadline is shorter.
const UPLOAD_LEASE_MS: i64 = 5 * 60 * 1000;
/// How long a job is left to its holder without a word from it.
const LEASE_MS: i64 = 15_000;
/// How often a holder gives a word.
pub const IMPORT_RENEWAL: Duration = Duration::from_secs(3);
/// How often a node looks for jobs that others have queued.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// For how many days imports that have ended are shown.
pub const IMPORT_DAYS: u32 = 7;
const KEPT_MS: i64 = IMPORT_DAYS as i64 * 24 * 60 * 60 * 1000;
const SWEEP_EVERY: Duration = Duration::from_secs(30);
/// A pause between two slices, so that nobody waits for the sweep.
const SWEEP_PAUSE: Duration = Duration::from_millis(20);

/// A file that is being received.
#[derive(Debug)]
pub struct ImportUpload {
    id: ImportId,
    project: ProjectId,
    parts: u32,
    bytes_max: u64,
}

/// What is noted of a file's fields, so that another process finds the same columns.
#[derive(Debug, Default, Serialize, Deserialize)]
struct NotedFields {
    targets: HashMap<String, Option<ImportColumn>>,
    created: Vec<(ColumnId, String)>,
    ignored: Vec<String>,
    headers: Vec<String>,
}

impl App {
    /// Begins to receive a file. What can be known of it beforehand has been checked.
    pub async fn begin_upload(
        &self,
        caller: Caller,
        project: &str,
        request: String,
        bytes_expected: Option<u64>,
    ) -> Result<ImportUpload> {
        let project = self.project_to_change(caller, project).await?.project;
        let now_ms = self.clock.now_ms();
        let id = ImportId::from_uuid(uuid(now_ms)?);
        let jobs_max = self.limits.import_jobs_max;
        // A file becomes rows: one that cannot is not taken.
        let quota = self.new_bytes_max(project.team).await?.unwrap_or(u64::MAX);
        let bytes_max = quota.min(self.limits.import_jobs_bytes_max.into());
        let new = NewImport {
            id,
            team: project.team,
            project: project.id,
            request,
            bytes_expected: bytes_expected.unwrap_or_default(),
            jobs_max,
            bytes_max,
            now_ms,
            lease_until_ms: now_ms + UPLOAD_LEASE_MS,
        };
        match self.store.create_import(new).await {
            Ok(()) => Ok(ImportUpload { id, project: project.id, parts: 0, bytes_max }),
            Err(StoreError::Full) => Err(Error::limit(
                "",
                format!(
                    "{jobs_max} imports of the team are waiting or running (importJobsMax); send the file when one has finished"
                ),
            )),
            Err(failure) => Err(self.upload_error(failure, bytes_max)),
        }
    }

    /// Takes the next bytes of the file.
    pub async fn put_part(&self, upload: &mut ImportUpload, bytes: Vec<u8>) -> Result<()> {
        let ImportUpload { id, parts, bytes_max, .. } = upload;
        let lease_until_ms = self.clock.now_ms() + UPLOAD_LEASE_MS;
        let part = ImportPart { id: *id, number: *parts, bytes, bytes_max: *bytes_max, lease_until_ms };
        let is_awaited = self.store.put_import_part(part).await;
        *parts += 1;
        match is_awaited {
            Ok(true) => Ok(()),
            Ok(false) => Err(gone()),
            Err(failure) => Err(self.upload_error(failure, *bytes_max)),
        }
    }

    /// The file is here: its job is queued.
    pub async fn end_upload(&self, upload: &ImportUpload) -> Result<ImportJob> {
        if !self.store.queue_import(upload.id).await? {
            return Err(gone());
        }
        // Each slot looks, because not every one may take every import; and so does one that is about to wait.
        self.import_queued.notify_waiters();
        self.import_queued.notify_one();
        self.store.import(upload.project, upload.id).await?.ok_or_else(gone)
    }

    /// Forgets a file that did not come to its end.
    pub async fn drop_upload(&self, upload: &ImportUpload) -> Result<()> {
        Ok(self.store.drop_import(upload.id, self.clock.now_ms()).await?)
    }

    fn upload_error(&self, failure: StoreError, bytes_max: u64) -> Error {
        if !matches!(failure, StoreError::BytesFull) || bytes_max < self.limits.import_jobs_bytes_max.into() {
            return self.quota_error(failure);
        }
        let words = format!(
            "the files of the team's imports that are waiting or running would have more than {bytes_max} bytes \
             (importJobsBytesMax); send this one when another has finished"
        );
        Error::limit("", words)
    }

    /// A project's imports, newest first.
    pub async fn import_jobs(&self, caller: Caller, project: &str) -> Result<Vec<ImportJob>> {
        let project = self.project_to_change(caller, project).await?.project.id;
        Ok(self.store.imports(project).await?)
    }

    pub async fn import_job(&self, caller: Caller, project: &str, id: &str) -> Result<ImportJob> {
        let project = self.project_to_change(caller, project).await?.project.id;
        let job = match ImportId::parse(id) {
            Some(id) => self.store.import(project, id).await?,
            None => None,
        };
        job.ok_or(Error::NotFound(Noun::Import))
    }

    /// What was noted of the rows that an import rejected.
    pub async fn rejected_rows(&self, job: &ImportJob) -> Result<Vec<String>> {
        Ok(self.store.rejected_of_import(job.id).await?)
    }

    /// Cancels an import that waits or runs. One that is over stays what it is.
    pub async fn cancel_import(&self, caller: Caller, project: &str, id: &str) -> Result<ImportJob> {
        let job = self.import_job(caller, project, id).await?;
        self.store.cancel_import(job.project, job.id, self.clock.now_ms()).await?;
        self.import_job(caller, project, id).await
    }

    /// Takes the job that is next, or waits a little for one. Teams that have more than `running_max` running are
    /// passed over.
    pub async fn claim_import(&self, holder: Uuid, running_max: u32) -> Result<Option<ImportJob>> {
        let now_ms = self.clock.now_ms();
        let claim = ImportClaim { holder, now_ms, lease_until_ms: now_ms + LEASE_MS, running_max };
        let claimed = self.store.claim_import(claim).await?;
        if claimed.is_none() {
            let _ = tokio::time::timeout(LOOK_EVERY, self.import_queued.notified()).await;
        }
        Ok(claimed)
    }

    /// Says that a holder still works on a job; hears whether it is still its own.
    pub async fn renew_import(&self, job: &ImportJob, holder: Uuid) -> Result<bool> {
        let lease_until_ms = self.clock.now_ms() + LEASE_MS;
        Ok(self.store.renew_import(job.id, holder, lease_until_ms, false).await?)
    }

    /// Lets anybody go on with a job after a pause. `forgives` says that the job was not the reason.
    pub async fn put_off_import(
        &self,
        job: &ImportJob,
        holder: Uuid,
        pause: Duration,
        forgives: bool,
    ) -> Result<()> {
        let pause_ms = i64::try_from(pause.as_millis()).unwrap_or(LEASE_MS);
        self.store.renew_import(job.id, holder, self.clock.now_ms() + pause_ms, forgives).await?;
        Ok(())
    }

    pub async fn end_import(
        &self,
        job: &ImportJob,
        holder: Uuid,
        status: ImportStatus,
        outcome: String,
    ) -> Result<bool> {
        Ok(self.store.end_import(job.id, holder, status, outcome, self.clock.now_ms()).await?)
    }

    /// Lets others go on at once with what a holder has that ends.
    pub async fn leave_imports(&self, holder: Uuid) -> Result<()> {
        Ok(self.store.leave_imports(holder).await?)
    }

    /// A part of a job's file; none behind the last.
    pub async fn import_part(&self, id: ImportId, number: u32) -> Result<Option<Vec<u8>>> {
        Ok(self.store.import_part(id, number).await?)
    }

    /// Goes on with an import where it is. Its key had these scopes, and reached the project, when the file was taken.
    pub async fn resume_import(
        &self,
        job: &ImportJob,
        key: KeyId,
        scopes: Scopes,
        options: ImportOptions,
    ) -> Result<Import> {
        let principal = Principal { team: job.team, key, session: None, scopes, is_limited: false };
        let caller = Caller::Key(principal);
        let mut import = self.begin_import(caller, &job.project.to_string(), options).await?;
        import.job = Some(job.id);
        if let Some(noted) = &job.fields {
            import.restore(noted)?;
        }
        Ok(import)
    }

    /// What to note with the next rows.
    pub fn import_step(&self, job: &ImportJob, holder: Uuid, step: u64) -> ImportStep {
        ImportStep {
            id: job.id,
            holder,
            after: step,
            rows_read: 0,
            bytes_read: 0,
            fields: None,
            rejected: None,
            lease_until_ms: self.clock.now_ms() + LEASE_MS,
        }
    }

    /// Removes files and jobs that are not needed any more, for as long as the process runs.
    pub async fn keep_imports_swept(&self) {
        loop {
            let now_ms = self.clock.now_ms();
            let pause = match self.store.sweep_imports(now_ms, now_ms - KEPT_MS).await {
                Ok(true) => SWEEP_PAUSE,
                Ok(false) => SWEEP_EVERY,
                Err(failure) => {
                    tracing::warn!(%failure, "could not remove what is left of imports; it is tried again");
                    SWEEP_EVERY
                }
            };
            self.clock.sleep(pause).await;
        }
    }
}

/// The sender took so long that nobody waited for it.
fn gone() -> Error {
    Error::Unavailable("the file came too slowly and was forgotten".into())
}

impl Import {
    /// What is to be noted of the fields, if it is not what was noted last.
    pub fn fields_to_note(&self, noted_count: usize) -> Result<Option<String>> {
        if self.targets.len() == noted_count && noted_count > 0 {
            return Ok(None);
        }
        let noted = NotedFields {
            targets: self.targets.clone(),
            created: self.created.clone(),
            ignored: self.ignored.clone(),
            headers: self.headers.clone(),
        };
        serde_json::to_string(&noted).map(Some).map_err(|error| Error::Internal(error.into()))
    }

    /// Fields to column ids, or to nothing, as the options say.
    pub fn mapping(&self) -> &BTreeMap<String, Option<String>> {
        &self.options.mapping
    }

    /// How many fields have found their columns, or go nowhere.
    pub fn fields_count(&self) -> usize {
        self.targets.len()
    }

    /// Where the fields went, as it was noted.
    pub fn noted(options: ImportOptions, job: &ImportJob) -> Result<Self> {
        let caller = Caller::Anyone(job.team);
        let mut import = Self::new(caller, job.project.to_string(), options, Vec::new());
        if let Some(noted) = &job.fields {
            import.restore(noted)?;
        }
        Ok(import)
    }

    fn restore(&mut self, noted: &str) -> Result<()> {
        let noted: NotedFields =
            serde_json::from_str(noted).map_err(|error| Error::Damaged(error.to_string()))?;
        let NotedFields { targets, created, ignored, headers } = noted;
        self.names_bytes = targets.keys().map(String::len).sum();
        (self.targets, self.created, self.ignored, self.headers) = (targets, created, ignored, headers);
        Ok(())
    }

    /// The id of the column that a job makes of a field. It is always the same, so that a process that goes on with the
    /// job finds the column that another made just before it died.
    pub(crate) fn column_id_of(&self, field: &str) -> Option<ColumnId> {
        let job = self.job?;
        let hash = Sha256::new().chain_update(job.uuid().as_bytes()).chain_update(field).finalize();
        let mut bytes = [0; ColumnId::RANDOM_LEN];
        bytes.iter_mut().zip(hash).for_each(|(byte, hashed)| *byte = hashed);
        Some(ColumnId::from_random(bytes))
    }
}
