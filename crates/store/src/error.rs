//! What can fail, told as what happened.

use rowmill_model::RowId;
use rowmill_model::record::Slot;

use crate::lookup::Ambiguity;

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The project changed since it was read: read it again and decide anew.
    #[error("the project has changed since it was read")]
    Stale,
    #[error("no such project")]
    UnknownProject,
    #[error("{} rows do not exist", .0.len())]
    UnknownRows(Vec<RowId>),
    /// Rows of the batch, by index, that cannot be matched with one stored row, and why.
    #[error("{} rows cannot be matched with one stored row", .0.len())]
    AmbiguousMatch(Vec<(usize, Ambiguity)>),
    #[error("the slug is already used")]
    SlugTaken,
    /// There are as many of this kind as there may be.
    #[error("the limit is reached")]
    Full,
    /// The values would take more bytes than they may.
    #[error("the limit of stored bytes is reached")]
    BytesFull,
    /// An import was cancelled, or another node goes on with it. Nothing was written.
    #[error("the import was cancelled, or another process goes on with it")]
    ImportLost,
    /// The idempotency key was used before, with another request.
    #[error("the idempotency key was used with another request")]
    OnceConflict,
    /// The data directory is served by another process.
    #[error("{0}")]
    InUse(String),
    /// There is nothing where something was looked for.
    #[error("{0}")]
    Missing(String),
    /// Something was to be moved into the database and is there in part.
    #[error(
        "a move into this database is not finished: run the same `rowmill move` again, or choose another database"
    )]
    Unfinished,
    /// The database was written by a newer version of this program.
    #[error(
        "the database has schema version {found}, but this version of Rowmill supports only up to {known}: \
         use a newer Rowmill, or choose another database"
    )]
    Newer { found: u32, known: u32 },
    /// What is stored is not what was written.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// A change looked at a value that it had not read. Nothing was written; the fault is in this program.
    #[error("a value that lies apart from its row was needed and had not been read (slot {0})")]
    Unread(Slot),
    /// There is no room on the disk for what was to be written. Nothing was written.
    #[error("the storage is full: {0}")]
    StorageFull(#[source] Cause),
    /// The disk cannot be written to or read: it is read-only, or it reports errors.
    #[error("the storage failed: {0}")]
    StorageFailed(#[source] Cause),
    /// It took longer than anybody waits.
    #[error("the read exceeded its time limit")]
    TooLong,
    #[error("the store is closed")]
    Closed,
    /// The database is away, or does not answer, for now. Nothing was written.
    #[error("the database cannot be reached: {0}")]
    Unavailable(#[source] Cause),
    /// The database went away while a write was committed: it may have been written, or not.
    #[error("the connection to the database was lost during a write: {0}")]
    InDoubt(#[source] Cause),
    #[error("the database failed: {0}")]
    Backend(#[source] Cause),
}

impl StoreError {
    /// The same failure for another caller who waited for the same thing.
    #[must_use]
    pub fn again(&self) -> Self {
        let words = |cause: &Cause| Cause::from(cause.to_string());
        match self {
            Self::Closed => Self::Closed,
            Self::Damaged(what) => Self::Damaged(what.clone()),
            Self::Unread(slot) => Self::Unread(*slot),
            Self::StorageFull(cause) => Self::StorageFull(words(cause)),
            Self::StorageFailed(cause) => Self::StorageFailed(words(cause)),
            Self::Unavailable(cause) => Self::Unavailable(words(cause)),
            Self::InDoubt(cause) => Self::InDoubt(words(cause)),
            Self::Backend(cause) => Self::Backend(words(cause)),
            other => Self::Backend(other.to_string().into()),
        }
    }

    /// Whether the disk is the reason: everything that writes will fail until somebody sees to it.
    pub fn is_of_storage(&self) -> bool {
        matches!(self, Self::StorageFull(_) | Self::StorageFailed(_))
    }
}

impl From<rowmill_model::record::Damaged> for StoreError {
    fn from(damaged: rowmill_model::record::Damaged) -> Self {
        Self::Damaged(damaged.to_string())
    }
}
