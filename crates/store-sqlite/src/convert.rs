//! Values and errors as the rest of the service has them.

use std::path::Path;

use rowmill_store::StoreError;
use rusqlite::{ErrorCode, ffi};
use uuid::Uuid;

/// Converts an error of SQLite to what the caller can do about it.
pub(crate) fn backend(error: rusqlite::Error) -> StoreError {
    match Fault::of(&error) {
        Fault::DiskFull => StoreError::StorageFull(error.into()),
        Fault::DiskFailed => StoreError::StorageFailed(error.into()),
        Fault::Damaged => StoreError::Damaged(match error.sqlite_error() {
            Some(failure) if failure.extended_code == ffi::SQLITE_IOERR_DATA => {
                "a page of the database file does not match its checksum".to_owned()
            }
            _ => error.to_string(),
        }),
        Fault::Other => StoreError::Backend(error.into()),
    }
}

/// What is the matter with the database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    DiskFull,
    DiskFailed,
    Damaged,
    Other,
}

impl Fault {
    fn of(error: &rusqlite::Error) -> Self {
        use rusqlite::Error;
        match error {
            Error::SqliteFailure(failure, _) | Error::SqlInputError { error: failure, .. } => {
                Self::of_code(failure.code, failure.extended_code)
            }
            // We wrote it, so it was of the right type and there.
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
            | Error::QueryReturnedNoRows => Self::Damaged,
            _ => Self::Other,
        }
    }

    fn of_code(code: ErrorCode, extended: i32) -> Self {
        match (code, extended) {
            // A checksum that is wrong, or a file system that says that it is damaged.
            (_, ffi::SQLITE_IOERR_DATA | ffi::SQLITE_IOERR_CORRUPTFS) => Self::Damaged,
            // The index of the log could not be made larger.
            (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => Self::DiskFull,
            (ErrorCode::SystemIoFailure | ErrorCode::ReadOnly | ErrorCode::CannotOpen, _) => Self::DiskFailed,
            (ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => Self::Damaged,
            _ => Self::Other,
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub(crate) fn damaged(error: serde_json::Error) -> StoreError {
    StoreError::Damaged(error.to_string())
}

/// The error of a file or folder that cannot be used.
pub(crate) fn unusable(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Backend(format!("cannot use {}: {error}", path.display()).into())
}

pub(crate) fn uuid_of(row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<Uuid> {
    row.get(index).map(Uuid::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_say_what_is_the_matter() {
        let faults = [
            (ffi::SQLITE_FULL, Fault::DiskFull),
            (ffi::SQLITE_IOERR_SHMSIZE, Fault::DiskFull),
            (ffi::SQLITE_IOERR_WRITE, Fault::DiskFailed),
            (ffi::SQLITE_IOERR_FSYNC, Fault::DiskFailed),
            (ffi::SQLITE_READONLY, Fault::DiskFailed),
            (ffi::SQLITE_CANTOPEN, Fault::DiskFailed),
            (ffi::SQLITE_IOERR_DATA, Fault::Damaged),
            (ffi::SQLITE_CORRUPT_INDEX, Fault::Damaged),
            (ffi::SQLITE_NOTADB, Fault::Damaged),
            (ffi::SQLITE_BUSY, Fault::Other),
            (ffi::SQLITE_CONSTRAINT, Fault::Other),
        ];
        for (code, fault) in faults {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert_eq!(Fault::of(&error), fault, "{code}");
        }
        assert_eq!(Fault::of(&rusqlite::Error::QueryReturnedNoRows), Fault::Damaged);
    }
}
