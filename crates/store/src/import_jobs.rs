//! Imports that run in the background.
//!
//! ```text
//! receiving → queued → running → finished | failed | cancelled
//!     └→ dropped          ↺ another node goes on when the lease is over
//! ```
//!
//! The file is kept in parts, as it was sent, until its job has ended. Whoever claims a job reads the file from its
//! beginning, passes over the rows that are done, and writes the others batch by batch. How far it has come is written
//! in the same transaction as the rows ([`crate::NewRows::import`]), and only by the holder of the lease and from the
//! step it knows of: so each row is taken exactly once, whoever goes on after a crash.

use async_trait::async_trait;
use rowmill_model::{ImportId, ProjectId, TeamId};
use uuid::Uuid;

use crate::error::Result;

/// Jobs that have ended are kept, the newest so many of a team.
pub const ENDED_IMPORTS_MAX: u32 = 100;
/// Parts of files that are removed at once.
pub const SWEEP_PARTS: u32 = 8;

/// How far an import is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportStatus {
    Queued,
    Running,
    Finished,
    Failed,
    Cancelled,
}

impl ImportStatus {
    /// How it is written down.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// `None` for one whose file is not here in full: nobody is shown it.
    pub fn read(word: &str) -> Option<Self> {
        let all = [Self::Queued, Self::Running, Self::Finished, Self::Failed, Self::Cancelled];
        all.into_iter().find(|status| status.word() == word)
    }

    pub fn is_over(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Cancelled)
    }
}

/// An import whose file is about to be sent.
#[derive(Debug, Clone)]
pub struct NewImport {
    pub id: ImportId,
    pub team: TeamId,
    pub project: ProjectId,
    /// How the file is to be read: JSON of whoever reads it.
    pub request: String,
    /// What is known of its bytes beforehand.
    pub bytes_expected: u64,
    /// More imports of the team that wait or run are [`StoreError::Full`](crate::StoreError::Full).
    pub jobs_max: u32,
    /// More bytes of the team's files are [`StoreError::BytesFull`](crate::StoreError::BytesFull).
    pub bytes_max: u64,
    pub now_ms: i64,
    /// Until when the sender is waited for.
    pub lease_until_ms: i64,
}

/// A part of a file that is being sent.
#[derive(Debug, Clone)]
pub struct ImportPart {
    pub id: ImportId,
    /// From 0.
    pub number: u32,
    pub bytes: Vec<u8>,
    /// As in [`NewImport`].
    pub bytes_max: u64,
    pub lease_until_ms: i64,
}

/// An import as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportJob {
    pub id: ImportId,
    pub team: TeamId,
    pub project: ProjectId,
    pub status: ImportStatus,
    pub request: String,
    pub file_bytes: u64,
    pub created_at_ms: i64,
    pub started_at_ms: Option<i64>,
    pub ended_at_ms: Option<i64>,
    /// How often it was claimed since it last came on.
    pub claims: u32,
    pub progress: ImportProgress,
    /// What it found out about the file's fields: JSON of whoever reads it.
    pub fields: Option<String>,
    /// How it ended: JSON of whoever ended it.
    pub outcome: Option<String>,
}

/// How far an import has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportProgress {
    /// Counts the transactions.
    pub step: u64,
    /// Rows of the file that are done, one way or another.
    pub rows_read: u64,
    /// Bytes of the file that were read for them.
    pub bytes_read: u64,
    pub inserted: u64,
    pub updated: u64,
    pub unchanged: u64,
    pub rejected: u64,
}

/// What is noted together with a batch of rows.
#[derive(Debug, Clone)]
pub struct ImportStep {
    pub id: ImportId,
    pub holder: Uuid,
    /// The step that this one follows. If it is another by now, or the lease is another's, nothing is written:
    /// [`StoreError::ImportLost`](crate::StoreError::ImportLost).
    pub after: u64,
    pub rows_read: u64,
    pub bytes_read: u64,
    /// If they are others now.
    pub fields: Option<String>,
    /// How many rows were rejected since the last step, and which: JSON of whoever reads it.
    pub rejected: Option<(u64, String)>,
    pub lease_until_ms: i64,
}

/// Why a database with so many imports that are not over cannot be moved.
pub fn open_imports(count: u64) -> String {
    let (are, them) = if count == 1 { ("1 import is", "it") } else { ("imports are", "them") };
    let count = if count == 1 { String::new() } else { format!("{count} ") };
    format!(
        "{count}{are} not finished: start the server, let {them} finish or cancel {them}, and move everything then"
    )
}

/// What a check says of a file without an import.
pub fn stray_file(id: ImportId) -> String {
    format!("there is a file of the import {id}, which does not exist")
}

/// What a check says of an import whose file is not what it was.
pub fn cut_file(id: ImportId) -> String {
    format!("the file of the import {id} does not have as many bytes as were sent")
}

/// Keeps imports that run in the background.
/// Who takes the next import, and which it may take.
#[derive(Debug, Clone, Copy)]
pub struct ImportClaim {
    pub holder: Uuid,
    pub now_ms: i64,
    pub lease_until_ms: i64,
    /// Teams that have more running than this are passed over. With 0, a slot is reserved for teams that have none.
    pub running_max: u32,
}

#[async_trait]
pub trait ImportStore: Send + Sync {
    /// Begins to take a file.
    async fn create_import(&self, import: NewImport) -> Result<()>;

    /// Takes a part of it. Says whether it is still waited for.
    async fn put_import_part(&self, part: ImportPart) -> Result<bool>;

    /// The file is here: the job may run. Says whether it was still waited for.
    async fn queue_import(&self, id: ImportId) -> Result<bool>;

    /// Gives up on a file that does not come.
    async fn drop_import(&self, id: ImportId, now_ms: i64) -> Result<()>;

    /// A project's imports, newest first.
    async fn imports(&self, project: ProjectId) -> Result<Vec<ImportJob>>;

    async fn import(&self, project: ProjectId, id: ImportId) -> Result<Option<ImportJob>>;

    /// What was noted of rejected rows, in order.
    async fn rejected_of_import(&self, id: ImportId) -> Result<Vec<String>>;

    /// A part of a file; none behind the last.
    async fn import_part(&self, id: ImportId, number: u32) -> Result<Option<Vec<u8>>>;

    /// Takes the job that is next, for as long as the lease lasts: of the team with the fewest that run, the oldest. A
    /// project has one that runs at a time.
    async fn claim_import(&self, claim: ImportClaim) -> Result<Option<ImportJob>>;

    /// Says whether the holder still has the job. A lease that is over by then lets another have it; `forgives` counts
    /// the claim as if it had not been.
    async fn renew_import(
        &self,
        id: ImportId,
        holder: Uuid,
        lease_until_ms: i64,
        forgives: bool,
    ) -> Result<bool>;

    /// Notes how far a job has come, where no row is written with it.
    async fn checkpoint_import(&self, step: ImportStep) -> Result<()>;

    /// Says whether the holder still had the job.
    async fn end_import(
        &self,
        id: ImportId,
        holder: Uuid,
        status: ImportStatus,
        outcome: String,
        now_ms: i64,
    ) -> Result<bool>;

    /// Ends a job that waits or runs: no batch is written from then on.
    async fn cancel_import(&self, project: ProjectId, id: ImportId, now_ms: i64) -> Result<()>;

    /// Lets others have what a holder has that ends.
    async fn leave_imports(&self, holder: Uuid) -> Result<()>;

    /// Removes some of what is not needed any more: files of jobs that have ended or were not sent to their end, and jobs
    /// that ended before a time, or that are too many. Says whether there may be more.
    async fn sweep_imports(&self, now_ms: i64, ended_before_ms: i64) -> Result<bool>;
}
