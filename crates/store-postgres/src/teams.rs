//! Teams and their keys.

use rowmill_model::{KeyId, Slug, TeamId};
use rowmill_store::{ApiKey, Result, StoreError, Team};
use tokio_postgres::Row;

use crate::transaction::Tx;

/// Names the lock under which nodes that start at once make the first team (`team`).
const BOOTSTRAP_LOCK: i64 = 0x7465_616d;

pub(crate) async fn create_team(tx: &mut Tx, team: &Team) -> Result<()> {
    let inserted = tx
        .query(
            "INSERT INTO rowmill.teams (id, slug, name, created_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (slug) DO NOTHING RETURNING 1",
            &[&team.id.0, &team.slug.as_str(), &team.name, &team.created_at_ms],
        )
        .await?;
    if inserted.is_empty() { Err(StoreError::SlugTaken) } else { Ok(()) }
}

/// Says whether the store was empty and now has its first team and key.
pub(crate) async fn bootstrap(tx: &mut Tx, team: &Team, key: &ApiKey) -> Result<bool> {
    tx.query("SELECT pg_advisory_xact_lock($1)", &[&BOOTSTRAP_LOCK]).await?;
    if !tx.query("SELECT 1 FROM rowmill.teams LIMIT 1", &[]).await?.is_empty() {
        return Ok(false);
    }
    create_team(tx, team).await?;
    create_key(tx, key).await?;
    Ok(true)
}

pub(crate) async fn teams(tx: &mut Tx) -> Result<Vec<Team>> {
    let sql = "SELECT id, slug, name, created_at FROM rowmill.teams ORDER BY created_at, slug";
    tx.query(sql, &[]).await?.iter().map(read_team).collect()
}

pub(crate) async fn team(tx: &mut Tx, id: TeamId) -> Result<Option<Team>> {
    let sql = "SELECT id, slug, name, created_at FROM rowmill.teams WHERE id = $1";
    tx.query(sql, &[&id.0]).await?.first().map(read_team).transpose()
}

pub(crate) async fn team_by_slug(tx: &mut Tx, slug: &Slug) -> Result<Option<Team>> {
    let sql = "SELECT id, slug, name, created_at FROM rowmill.teams WHERE slug = $1";
    tx.query(sql, &[&slug.as_str()]).await?.first().map(read_team).transpose()
}

pub(crate) async fn rename_team(tx: &mut Tx, id: TeamId, name: &str) -> Result<bool> {
    let sql = "UPDATE rowmill.teams SET name = $2 WHERE id = $1 RETURNING 1";
    Ok(!tx.query(sql, &[&id.0, &name]).await?.is_empty())
}

pub(crate) async fn create_key(tx: &mut Tx, key: &ApiKey) -> Result<()> {
    tx.query(
        "INSERT INTO rowmill.keys (id, team, name, hash, created_at, last_used_at) \
         VALUES ($1, $2, $3, $4, $5, $6)",
        &[&key.id.uuid(), &key.team.0, &key.name, &&key.hash[..], &key.created_at_ms, &key.last_used_at_ms],
    )
    .await
    .map(|_| ())
}

pub(crate) async fn keys(tx: &mut Tx) -> Result<Vec<ApiKey>> {
    let sql =
        "SELECT id, team, name, hash, created_at, last_used_at FROM rowmill.keys ORDER BY created_at, id";
    tx.query(sql, &[]).await?.iter().map(read_key).collect()
}

pub(crate) async fn key(tx: &mut Tx, id: KeyId) -> Result<Option<ApiKey>> {
    let sql = "SELECT id, team, name, hash, created_at, last_used_at FROM rowmill.keys WHERE id = $1";
    tx.query(sql, &[&id.uuid()]).await?.first().map(read_key).transpose()
}

pub(crate) async fn revoke_key(tx: &mut Tx, id: KeyId) -> Result<bool> {
    tx.query("DELETE FROM rowmill.sessions WHERE key = $1", &[&id.uuid()]).await?;
    let deleted = tx.query("DELETE FROM rowmill.keys WHERE id = $1 RETURNING 1", &[&id.uuid()]).await?;
    Ok(!deleted.is_empty())
}

pub(crate) async fn touch_key(tx: &mut Tx, id: KeyId, used_at_ms: i64) -> Result<()> {
    let sql = "UPDATE rowmill.keys SET last_used_at = greatest(last_used_at, $2) WHERE id = $1";
    tx.query(sql, &[&id.uuid(), &used_at_ms]).await.map(|_| ())
}

pub(crate) fn read_team(row: &Row) -> Result<Team> {
    let slug = Slug::parse(row.get(1)).ok_or_else(|| StoreError::Damaged("not a slug".to_owned()))?;
    Ok(Team { id: TeamId(row.get(0)), slug, name: row.get(2), created_at_ms: row.get(3) })
}

pub(crate) fn read_key(row: &Row) -> Result<ApiKey> {
    let hash = row.get::<_, &[u8]>(3).try_into();
    Ok(ApiKey {
        id: KeyId::from_uuid(row.get(0)),
        team: TeamId(row.get(1)),
        name: row.get(2),
        hash: hash.map_err(|_| StoreError::Damaged("not a key's hash".to_owned()))?,
        created_at_ms: row.get(4),
        last_used_at_ms: row.get(5),
    })
}
