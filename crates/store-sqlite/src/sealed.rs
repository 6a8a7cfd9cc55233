//! What teams keep sealed.

use rowmill_model::TeamId;
use rowmill_store::{Result, Sealed, SealedKind, StoreError};
use rusqlite::{Connection, Row};

use crate::convert::backend;

pub(crate) fn put(connection: &Connection, team: TeamId, sealed: &Sealed, count_max: u32) -> Result<()> {
    let Sealed { kind, name, bytes, updated_at_ms } = sealed;
    let others: u32 = connection
        .query_row(
            "SELECT count(*) FROM sealed WHERE team = ?1 AND kind = ?2 AND name <> ?3",
            (team.0.as_bytes(), kind.word(), name),
            |row| row.get(0),
        )
        .map_err(backend)?;
    if others >= count_max {
        return Err(StoreError::Full);
    }
    connection
        .execute(
            "INSERT INTO sealed (team, kind, name, bytes, updated_at) VALUES (?1, ?2, ?3, ?4, ?5) \
             ON CONFLICT DO UPDATE SET bytes = excluded.bytes, updated_at = excluded.updated_at",
            (team.0.as_bytes(), kind.word(), name, bytes, updated_at_ms),
        )
        .map(|_| ())
        .map_err(backend)
}

pub(crate) fn list(connection: &Connection, team: TeamId) -> Result<Vec<Sealed>> {
    let mut query = connection
        .prepare_cached(
            "SELECT kind, name, bytes, updated_at FROM sealed WHERE team = ?1 ORDER BY kind, name",
        )
        .map_err(backend)?;
    let sealed = query.query_map([team.0.as_bytes()], read).map_err(backend)?;
    sealed.collect::<rusqlite::Result<_>>().map_err(backend)
}

pub(crate) fn delete(connection: &Connection, team: TeamId, kind: SealedKind, name: &str) -> Result<bool> {
    let deleted = connection
        .execute(
            "DELETE FROM sealed WHERE team = ?1 AND kind = ?2 AND name = ?3",
            (team.0.as_bytes(), kind.word(), name),
        )
        .map_err(backend)?;
    Ok(deleted > 0)
}

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Sealed> {
    let word: String = row.get(0)?;
    let kind = SealedKind::ALL.into_iter().find(|kind| kind.word() == word).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, "not a kind".into())
    })?;
    Ok(Sealed { kind, name: row.get(1)?, bytes: row.get(2)?, updated_at_ms: row.get(3)? })
}
