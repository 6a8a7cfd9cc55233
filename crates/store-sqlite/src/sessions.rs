//! Browsers that are signed in.

use rowmill_model::{KeyId, TeamId};
use rowmill_store::{Result, SESSIONS_MAX, Session};
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use crate::convert::{backend, uuid_of};

const COLUMNS: &str = "id, team, key, browser, created_at, seen_at, expires_at";

/// Keeps a session, in place of those that have expired and of the team's oldest if it has too many.
pub(crate) fn create(connection: &Connection, session: &Session) -> Result<()> {
    let Session { id, team, key, browser, created_at_ms, seen_at_ms, expires_at_ms } = session;
    let act = || {
        connection.execute("DELETE FROM sessions WHERE expires_at <= ?1", [created_at_ms])?;
        connection.execute(
            "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE team = ?1 \
             ORDER BY created_at DESC, id LIMIT -1 OFFSET ?2)",
            (team.0.as_bytes(), SESSIONS_MAX - 1),
        )?;
        connection.execute(
            "INSERT INTO sessions (id, team, key, browser, created_at, seen_at, expires_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                id.as_bytes(),
                team.0.as_bytes(),
                key.uuid().as_bytes(),
                browser,
                created_at_ms,
                seen_at_ms,
                expires_at_ms,
            ),
        )
    };
    act().map(|_| ()).map_err(backend)
}

pub(crate) fn find(connection: &Connection, id: Uuid) -> Result<Option<Session>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1"))
        .and_then(|mut query| query.query_row([id.as_bytes()], read).optional())
        .map_err(backend)
}

pub(crate) fn list(connection: &Connection, team: TeamId, now_ms: i64) -> Result<Vec<Session>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM sessions WHERE team = ?1 AND expires_at > ?2 AND key IN (SELECT id FROM keys) \
         ORDER BY created_at DESC, id"
    );
    connection
        .prepare_cached(&sql)
        .and_then(|mut query| query.query_map((team.0.as_bytes(), now_ms), read)?.collect())
        .map_err(backend)
}

pub(crate) fn touch(connection: &Connection, id: Uuid, seen_at_ms: i64) -> Result<()> {
    connection
        .execute("UPDATE sessions SET seen_at = max(seen_at, ?2) WHERE id = ?1", (id.as_bytes(), seen_at_ms))
        .map(|_| ())
        .map_err(backend)
}

pub(crate) fn delete(connection: &Connection, team: TeamId, ids: &[Uuid]) -> Result<u64> {
    let mut deleted = 0;
    for id in ids {
        let count = connection
            .prepare_cached("DELETE FROM sessions WHERE id = ?1 AND team = ?2")
            .and_then(|mut delete| delete.execute((id.as_bytes(), team.0.as_bytes())))
            .map_err(backend)?;
        deleted += u64::try_from(count).unwrap_or_default();
    }
    Ok(deleted)
}

pub(crate) fn delete_all(connection: &Connection) -> Result<()> {
    connection.execute("DELETE FROM sessions", ()).map(|_| ()).map_err(backend)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: uuid_of(row, 0)?,
        team: TeamId(uuid_of(row, 1)?),
        key: KeyId::from_uuid(uuid_of(row, 2)?),
        browser: row.get(3)?,
        created_at_ms: row.get(4)?,
        seen_at_ms: row.get(5)?,
        expires_at_ms: row.get(6)?,
    })
}
