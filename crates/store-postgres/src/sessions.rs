//! Browsers that are signed in.

use rowmill_model::{KeyId, TeamId};
use rowmill_store::{Result, SESSIONS_MAX, Session};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::transaction::Tx;

/// Keeps a session, in place of those that have expired and of the team's oldest if it has too many.
pub(crate) async fn create(tx: &mut Tx, session: &Session) -> Result<()> {
    let Session { id, team, key, browser, created_at_ms, seen_at_ms, expires_at_ms } = session;
    tx.query(
        "DELETE FROM rowmill.sessions WHERE id IN (SELECT id FROM rowmill.sessions WHERE expires_at <= $1 \
         ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED)",
        &[created_at_ms],
    )
    .await?;
    tx.query(
        "DELETE FROM rowmill.sessions WHERE id IN (SELECT id FROM rowmill.sessions WHERE team = $1 \
         ORDER BY created_at DESC, id OFFSET $2)",
        &[&team.0, &i64::from(SESSIONS_MAX - 1)],
    )
    .await?;
    tx.query(
        "INSERT INTO rowmill.sessions (id, team, key, browser, created_at, seen_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[id, &team.0, &key.uuid(), browser, created_at_ms, seen_at_ms, expires_at_ms],
    )
    .await
    .map(|_| ())
}

pub(crate) async fn find(tx: &mut Tx, id: Uuid) -> Result<Option<Session>> {
    let sql =
        "SELECT id, team, key, browser, created_at, seen_at, expires_at FROM rowmill.sessions WHERE id = $1";
    Ok(tx.query(sql, &[&id]).await?.first().map(read))
}

pub(crate) async fn list(tx: &mut Tx, team: TeamId, now_ms: i64) -> Result<Vec<Session>> {
    let sql = "SELECT id, team, key, browser, created_at, seen_at, expires_at FROM rowmill.sessions \
               WHERE team = $1 AND expires_at > $2 AND key IN (SELECT id FROM rowmill.keys) \
               ORDER BY created_at DESC, id";
    Ok(tx.query(sql, &[&team.0, &now_ms]).await?.iter().map(read).collect())
}

pub(crate) async fn touch(tx: &mut Tx, id: Uuid, seen_at_ms: i64) -> Result<()> {
    let sql = "UPDATE rowmill.sessions SET seen_at = greatest(seen_at, $2) WHERE id = $1";
    tx.query(sql, &[&id, &seen_at_ms]).await.map(|_| ())
}

pub(crate) async fn delete(tx: &mut Tx, team: TeamId, ids: &[Uuid]) -> Result<u64> {
    let sql = "DELETE FROM rowmill.sessions WHERE id = ANY($1) AND team = $2 RETURNING 1";
    let deleted = tx.query(sql, &[&ids, &team.0]).await?;
    Ok(u64::try_from(deleted.len()).unwrap_or_default())
}

pub(crate) async fn delete_all(tx: &mut Tx) -> Result<()> {
    tx.query("DELETE FROM rowmill.sessions", &[]).await.map(|_| ())
}

fn read(row: &Row) -> Session {
    Session {
        id: row.get(0),
        team: TeamId(row.get(1)),
        key: KeyId::from_uuid(row.get(2)),
        browser: row.get(3),
        created_at_ms: row.get(4),
        seen_at_ms: row.get(5),
        expires_at_ms: row.get(6),
    }
}
