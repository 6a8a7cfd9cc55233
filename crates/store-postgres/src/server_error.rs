//! What the server's failures mean to a caller: whether to try again, and whether the connection can still be used.

use std::time::Duration;

use deadpool_postgres::PoolError;
use rowmill_store::{Result, StoreError};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Converts an error of the server to what the caller can do about it.
pub(crate) fn backend(error: Error) -> StoreError {
    let fault = match error.code() {
        Some(code) => Fault::of(code),
        // Without a code it is the connection, or what was sent over it makes no sense.
        None if error.is_closed() || is_io(&error) => Fault::Away,
        None => Fault::Other,
    };
    let words = Box::new(ServerError(error));
    match fault {
        Fault::Away => StoreError::Unavailable(words),
        Fault::DiskFull => StoreError::StorageFull(words),
        Fault::DiskFailed => StoreError::StorageFailed(words),
        Fault::Damaged => StoreError::Damaged(words.to_string()),
        Fault::Other => StoreError::Backend(words),
    }
}

/// What is the matter with the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Away,
    DiskFull,
    DiskFailed,
    Damaged,
    Other,
}

impl Fault {
    fn of(code: &SqlState) -> Self {
        match code {
            &SqlState::DISK_FULL => Self::DiskFull,
            // Read-only by a setting, or a primary that became a standby.
            &SqlState::READ_ONLY_SQL_TRANSACTION => Self::DiskFailed,
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => Self::Damaged,
            code if TRANSIENT.contains(&code) => Self::Away,
            code => match code.code().get(..2) {
                Some("08") => Self::Away,
                // The system, not the server: files that cannot be read or written.
                Some("58") => Self::DiskFailed,
                _ => Self::Other,
            },
        }
    }
}

/// An error with the server's message, which the library leaves out of its own.
#[derive(Debug)]
struct ServerError(Error);

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0.as_db_error(), std::error::Error::source(&self.0)) {
            (Some(told), _) => write!(f, "{} ({})", told.message(), told.code().code()),
            (None, Some(cause)) => write!(f, "{}: {cause}", self.0),
            (None, None) => write!(f, "{}", self.0),
        }
    }
}

impl std::error::Error for ServerError {}

/// Errors that are about the state of the server or about other transactions, not about the statement.
const TRANSIENT: &[&SqlState] = &[
    &SqlState::T_R_SERIALIZATION_FAILURE,
    &SqlState::T_R_DEADLOCK_DETECTED,
    &SqlState::ADMIN_SHUTDOWN,
    &SqlState::CRASH_SHUTDOWN,
    &SqlState::CANNOT_CONNECT_NOW,
    &SqlState::TOO_MANY_CONNECTIONS,
    // It took longer than a statement may.
    &SqlState::QUERY_CANCELED,
];

/// Whether trying again may help.
pub(crate) fn is_transient(failure: &StoreError) -> bool {
    let is_away = matches!(failure, StoreError::Unavailable(_));
    let is_canceled = code(failure) == Some(&SqlState::QUERY_CANCELED);
    // A primary that became a standby: on a new connection there may be another primary.
    is_read_only(failure) || is_away && cause(failure).is_some() && !is_canceled
}

fn is_read_only(failure: &StoreError) -> bool {
    code(failure) == Some(&SqlState::READ_ONLY_SQL_TRANSACTION)
}

/// Whether the server rolled the transaction back and the connection is intact.
pub(crate) fn is_refused(failure: &StoreError) -> bool {
    code(failure).is_some_and(|code| code.code().starts_with("40"))
}

/// Whether the connection can be used again once the transaction is rolled back.
pub(crate) fn is_usable(failure: &StoreError) -> bool {
    match failure {
        StoreError::Unavailable(_) => code(failure).is_some(),
        _ => !is_read_only(failure),
    }
}

fn cause(failure: &StoreError) -> Option<&Error> {
    match failure {
        StoreError::Unavailable(cause)
        | StoreError::StorageFull(cause)
        | StoreError::StorageFailed(cause)
        | StoreError::Backend(cause) => cause.downcast_ref::<ServerError>().map(|words| &words.0),
        _ => None,
    }
}

pub(crate) fn code(failure: &StoreError) -> Option<&SqlState> {
    cause(failure).and_then(Error::code)
}

/// Waits for the server's answer, but no longer than `wait_max`.
pub(crate) async fn answered_within<T>(
    wait_max: Duration,
    asking: impl Future<Output = Result<T, Error>>,
) -> Result<T> {
    match tokio::time::timeout(wait_max, asking).await {
        Ok(answer) => answer.map_err(backend),
        Err(_) => Err(StoreError::Unavailable("the server does not respond".into())),
    }
}

fn is_io(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

/// The error of work on another thread that panicked or was cancelled.
pub(crate) fn lost(failure: tokio::task::JoinError) -> StoreError {
    StoreError::Backend(failure.into())
}

pub(crate) fn no_connection(error: PoolError) -> StoreError {
    match error {
        PoolError::Closed => StoreError::Closed,
        PoolError::Backend(error) => backend(error),
        PoolError::Timeout(_) => {
            StoreError::Unavailable("timed out waiting for a free database connection".into())
        }
        other => StoreError::Backend(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_say_what_is_the_matter() {
        let faults = [
            ("53100", Fault::DiskFull),
            ("58030", Fault::DiskFailed),
            ("58P01", Fault::DiskFailed),
            ("25006", Fault::DiskFailed),
            ("XX001", Fault::Damaged),
            ("XX002", Fault::Damaged),
            ("57P01", Fault::Away),
            ("08006", Fault::Away),
            ("53300", Fault::Away),
            ("23505", Fault::Other),
        ];
        for (code, fault) in faults {
            assert_eq!(Fault::of(&SqlState::from_code(code)), fault, "{code}");
        }
    }
}
