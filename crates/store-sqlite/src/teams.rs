//! Teams and their keys.

use rowmill_model::{KeyId, Restrictions, Slug, TeamId};
use rowmill_store::{ApiKey, LastUse, Result, StoreError, Team};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::convert::{backend, uuid_of};

pub(crate) fn create_team(connection: &Connection, team: &Team) -> Result<()> {
    let inserted = connection
        .execute(
            "INSERT INTO teams (id, slug, name, created_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (slug) DO NOTHING",
            (team.id.0.as_bytes(), team.slug.as_str(), &team.name, team.created_at_ms),
        )
        .map_err(backend)?;
    if inserted == 0 { Err(StoreError::SlugTaken) } else { Ok(()) }
}

/// Says whether the store was empty and now has its first team and key.
pub(crate) fn bootstrap(connection: &Connection, team: &Team, key: &ApiKey) -> Result<bool> {
    let teams: u64 =
        connection.query_row("SELECT count(*) FROM teams", (), |row| row.get(0)).map_err(backend)?;
    if teams > 0 {
        return Ok(false);
    }
    create_team(connection, team)?;
    create_key(connection, key)?;
    Ok(true)
}

pub(crate) fn teams(connection: &Connection) -> Result<Vec<Team>> {
    let mut query = connection
        .prepare_cached("SELECT id, slug, name, created_at FROM teams ORDER BY created_at, slug")
        .map_err(backend)?;
    let teams = query.query_map((), read_team).map_err(backend)?;
    teams.collect::<rusqlite::Result<_>>().map_err(backend)
}

pub(crate) fn team(connection: &Connection, id: TeamId) -> Result<Option<Team>> {
    connection
        .prepare_cached("SELECT id, slug, name, created_at FROM teams WHERE id = ?1")
        .and_then(|mut query| query.query_row([id.0.as_bytes()], read_team).optional())
        .map_err(backend)
}

pub(crate) fn team_by_slug(connection: &Connection, slug: &Slug) -> Result<Option<Team>> {
    connection
        .prepare_cached("SELECT id, slug, name, created_at FROM teams WHERE slug = ?1")
        .and_then(|mut query| query.query_row([slug.as_str()], read_team).optional())
        .map_err(backend)
}

pub(crate) fn rename_team(connection: &Connection, id: TeamId, name: &str) -> Result<bool> {
    let renamed = connection
        .execute("UPDATE teams SET name = ?2 WHERE id = ?1", (id.0.as_bytes(), name))
        .map_err(backend)?;
    Ok(renamed > 0)
}

/// The columns that [`read_key`] reads.
macro_rules! key_columns {
    () => {
        "id, team, name, hash, created_at, last_used_at, last_used_from, expires_at, restrictions"
    };
}
pub(crate) use key_columns;

pub(crate) fn create_key(connection: &Connection, key: &ApiKey) -> Result<()> {
    let ApiKey { id, team, name, hash, created_at_ms, last_used, expires_at_ms, restrictions } = key;
    connection
        .execute(
            concat!("INSERT INTO keys (", key_columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
            (
                id.uuid().as_bytes(),
                team.0.as_bytes(),
                name,
                hash,
                created_at_ms,
                last_used.map(|last| last.at_ms),
                last_used.and_then(|last| last.from).map(|from| from.to_string()),
                expires_at_ms,
                restrictions.to_stored(),
            ),
        )
        .map(|_| ())
        .map_err(backend)
}

pub(crate) fn keys(connection: &Connection) -> Result<Vec<ApiKey>> {
    let mut query = connection
        .prepare_cached(concat!("SELECT ", key_columns!(), " FROM keys ORDER BY created_at, id"))
        .map_err(backend)?;
    let keys = query.query_map((), read_key).map_err(backend)?;
    keys.collect::<rusqlite::Result<_>>().map_err(backend)
}

pub(crate) fn key(connection: &Connection, id: KeyId) -> Result<Option<ApiKey>> {
    connection
        .prepare_cached(concat!("SELECT ", key_columns!(), " FROM keys WHERE id = ?1"))
        .and_then(|mut query| query.query_row([id.uuid().as_bytes()], read_key).optional())
        .map_err(backend)
}

pub(crate) fn rotate_key(
    connection: &Connection,
    old: KeyId,
    expires_at_ms: i64,
    new: &ApiKey,
) -> Result<bool> {
    let sql = "UPDATE keys SET expires_at = min(coalesce(expires_at, ?2), ?2) WHERE id = ?1";
    let found = connection.execute(sql, (old.uuid().as_bytes(), expires_at_ms)).map_err(backend)? > 0;
    if found {
        create_key(connection, new)?;
    }
    Ok(found)
}

pub(crate) fn revoke_key(connection: &Connection, id: KeyId) -> Result<bool> {
    let id = id.uuid();
    connection.execute("DELETE FROM sessions WHERE key = ?1", [id.as_bytes()]).map_err(backend)?;
    let deleted = connection.execute("DELETE FROM keys WHERE id = ?1", [id.as_bytes()]).map_err(backend)?;
    Ok(deleted > 0)
}

pub(crate) fn touch_key(connection: &Connection, id: KeyId, last_use: LastUse) -> Result<()> {
    let from = last_use.from.map(|from| from.to_string());
    connection
        .execute(
            "UPDATE keys SET last_used_at = ?2, last_used_from = ?3 WHERE id = ?1",
            (id.uuid().as_bytes(), last_use.at_ms, from),
        )
        .map(|_| ())
        .map_err(backend)
}

pub(crate) fn read_team(row: &Row<'_>) -> rusqlite::Result<Team> {
    let slug: String = row.get(1)?;
    Ok(Team {
        id: TeamId(uuid_of(row, 0)?),
        slug: Slug::parse(&slug).ok_or_else(|| {
            rusqlite::Error::FromSqlConversionFailure(1, rusqlite::types::Type::Text, "not a slug".into())
        })?,
        name: row.get(2)?,
        created_at_ms: row.get(3)?,
    })
}

pub(crate) fn read_key(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    let from: Option<String> = row.get(6)?;
    let restrictions: Option<String> = row.get(8)?;
    Ok(ApiKey {
        id: KeyId::from_uuid(uuid_of(row, 0)?),
        team: TeamId(uuid_of(row, 1)?),
        name: row.get(2)?,
        hash: row.get(3)?,
        created_at_ms: row.get(4)?,
        last_used: row
            .get::<_, Option<i64>>(5)?
            .map(|at_ms| LastUse { at_ms, from: from.and_then(|from| from.parse().ok()) }),
        expires_at_ms: row.get(7)?,
        restrictions: Restrictions::from_stored(restrictions.as_deref()).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(8, rusqlite::types::Type::Text, error.into())
        })?,
    })
}
