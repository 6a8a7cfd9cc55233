//! What the server's failures mean to a caller: whether to try again, and whether the connection can still be used.

use std::time::Duration;

use deadpool_postgres::PoolError;
use rowmill_store::{Result, StoreError};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Converts an error of the server to what the caller can do about it.
pub(crate) fn backend(error: Error) -> StoreError {
    let is_away = match error.code() {
        Some(code) => TRANSIENT.contains(&code) || code.code().starts_with("08"),
        // Without a code it is the connection, or what was sent over it makes no sense.
        None => error.is_closed() || is_io(&error),
    };
    let words = Box::new(ServerError(error));
    if is_away { StoreError::Unavailable(words) } else { StoreError::Backend(words) }
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
    // A primary that became a standby.
    &SqlState::READ_ONLY_SQL_TRANSACTION,
    // It took longer than a statement may.
    &SqlState::QUERY_CANCELED,
];

/// Whether trying again may help.
pub(crate) fn is_transient(failure: &StoreError) -> bool {
    matches!(failure, StoreError::Unavailable(_))
        && cause(failure).is_some_and(|error| error.code() != Some(&SqlState::QUERY_CANCELED))
}

/// Whether the server rolled the transaction back and the connection is intact.
pub(crate) fn is_refused(failure: &StoreError) -> bool {
    code(failure).is_some_and(|code| code.code().starts_with("40"))
}

/// Whether the connection can be used again once the transaction is rolled back.
pub(crate) fn is_usable(failure: &StoreError) -> bool {
    match failure {
        StoreError::Unavailable(_) => {
            code(failure).is_some_and(|code| *code != SqlState::READ_ONLY_SQL_TRANSACTION)
        }
        _ => true,
    }
}

fn cause(failure: &StoreError) -> Option<&Error> {
    match failure {
        StoreError::Unavailable(cause) | StoreError::Backend(cause) => {
            cause.downcast_ref::<ServerError>().map(|words| &words.0)
        }
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
