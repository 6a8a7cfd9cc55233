//! Idempotency keys: a request is carried out once, however often it is sent.

use rowmill_store::{IdempotentRequest, Result, StoreError};
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::convert::{backend, damaged};

/// The outcome kept for a request that is not yet forgotten.
pub(crate) fn recall(connection: &Connection, once: &IdempotentRequest) -> Result<Option<String>> {
    let kept: Option<([u8; 32], String)> = connection
        .prepare_cached("SELECT fingerprint, outcome FROM receipts WHERE name = ?1 AND expires_at > ?2")
        .and_then(|mut query| {
            query.query_row((once.name, once.now_ms), |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(backend)?;
    match kept {
        Some((fingerprint, _)) if fingerprint != once.fingerprint => Err(StoreError::OnceConflict),
        Some((_, outcome)) => Ok(Some(outcome)),
        None => Ok(None),
    }
}

/// Does `work` and keeps its outcome, or gives back the outcome kept before. Both are one transaction:
/// after a crash either the work is done and remembered, or neither.
pub(crate) fn once<T: Serialize + DeserializeOwned>(
    connection: &Connection,
    once: Option<&IdempotentRequest>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let Some(once) = once else { return work() };
    if let Some(outcome) = recall(connection, once)? {
        return serde_json::from_str(&outcome).map_err(damaged);
    }
    let outcome = work()?;
    keep(connection, once, &serde_json::to_string(&outcome).map_err(damaged)?)?;
    Ok(outcome)
}

/// Keeps an outcome, and forgets those whose time is over. The first one kept stays.
pub(crate) fn keep(connection: &Connection, once: &IdempotentRequest, outcome: &str) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM receipts WHERE expires_at <= ?1")
        .and_then(|mut delete| delete.execute([once.now_ms]))
        .map_err(backend)?;
    connection
        .prepare_cached(
            "INSERT INTO receipts (name, fingerprint, outcome, expires_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT DO NOTHING",
        )
        .and_then(|mut insert| insert.execute((once.name, once.fingerprint, outcome, once.expires_at_ms)))
        .map(|_| ())
        .map_err(backend)
}

/// Forgets outcomes before their time is over.
pub(crate) fn forget(connection: &Connection, names: &[[u8; 32]]) -> Result<()> {
    let mut delete = connection.prepare_cached("DELETE FROM receipts WHERE name = ?1").map_err(backend)?;
    for name in names {
        delete.execute([name]).map_err(backend)?;
    }
    Ok(())
}
