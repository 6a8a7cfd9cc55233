//! Idempotency keys: a request is carried out once, however often it is sent and to however many nodes.

use std::future::{Ready, ready};

use rowmill_store::{IdempotentRequest, Result, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::convert::damaged;
use crate::transaction::Tx;

/// Receipts forgotten in one go.
const FORGET_MAX: i64 = 500;

/// The outcome kept for a request that is not yet forgotten.
pub(crate) async fn recall(tx: &mut Tx, once: &IdempotentRequest) -> Result<Option<String>> {
    let sql = "SELECT fingerprint, outcome FROM rowmill.receipts WHERE name = $1 AND expires_at > $2";
    let kept = tx.query(sql, &[&&once.name[..], &once.now_ms]).await?;
    match kept.first() {
        Some(row) if row.get::<_, &[u8]>(0) != once.fingerprint => Err(StoreError::OnceConflict),
        Some(row) => Ok(Some(row.get(1))),
        None => Ok(None),
    }
}

/// The outcome kept before, if there is one. If not, no other node can begin the same request before this
/// transaction ends: they wait here.
pub(crate) async fn begin<T: DeserializeOwned>(
    tx: &mut Tx,
    once: Option<&IdempotentRequest>,
) -> Result<Option<T>> {
    let Some(once) = once else { return Ok(None) };
    let lock = once.name.first_chunk().copied().map(i64::from_le_bytes);
    tx.query("SELECT pg_advisory_xact_lock($1)", &[&lock]).await?;
    let outcome = recall(tx, once).await?;
    outcome.map(|outcome| serde_json::from_str(&outcome).map_err(damaged)).transpose()
}

/// Keeps the outcome with the work itself: after a crash there are both or neither.
pub(crate) fn end<T: Serialize>(tx: &mut Tx, once: Option<&IdempotentRequest>, outcome: &T) -> Result<()> {
    let Some(once) = once else { return Ok(()) };
    keep(tx, once, serde_json::to_string(outcome).map_err(damaged)?);
    Ok(())
}

/// Keeps an outcome, and forgets some of those whose time is over. The first one kept stays.
pub(crate) fn keep(tx: &mut Tx, once: &IdempotentRequest, outcome: String) {
    tx.at_last(
        "DELETE FROM rowmill.receipts WHERE name IN (SELECT name FROM rowmill.receipts WHERE expires_at <= $1 \
         ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        vec![Box::new(once.now_ms), Box::new(FORGET_MAX)],
    );
    tx.at_last(
        "INSERT INTO rowmill.receipts AS kept (name, fingerprint, outcome, expires_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, outcome = excluded.outcome, \
         expires_at = excluded.expires_at WHERE kept.expires_at <= $5",
        vec![
            Box::new(once.name.to_vec()),
            Box::new(once.fingerprint.to_vec()),
            Box::new(outcome),
            Box::new(once.expires_at_ms),
            Box::new(once.now_ms),
        ],
    );
}

/// Forgets outcomes before their time is over.
pub(crate) async fn forget(tx: &mut Tx, names: &[[u8; 32]]) -> Result<()> {
    let names: Vec<&[u8]> = names.iter().map(<[u8; 32]>::as_slice).collect();
    tx.query("DELETE FROM rowmill.receipts WHERE name = ANY($1)", &[&names]).await.map(|_| ())
}

/// Keeps an outcome by itself.
pub(crate) fn remember(tx: &mut Tx, once: &IdempotentRequest, outcome: &str) -> Ready<Result<()>> {
    keep(tx, once, outcome.to_owned());
    ready(Ok(()))
}
