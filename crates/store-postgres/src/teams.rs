//! Teams and their keys.

use rowmill_model::{KeyId, Restrictions, Slug, TeamId};
use rowmill_store::{ApiKey, LastUse, Result, StoreError, Team};
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

/// The columns that [`read_key`] reads.
macro_rules! key_columns {
    () => {
        "id, team, name, hash, created_at, last_used_at, last_used_from, expires_at, restrictions"
    };
}
pub(crate) use key_columns;

pub(crate) async fn create_key(tx: &mut Tx, key: &ApiKey) -> Result<()> {
    let ApiKey { id, team, name, hash, created_at_ms, last_used, expires_at_ms, restrictions } = key;
    let used_at_ms = last_used.map(|last| last.at_ms);
    let used_from = last_used.and_then(|last| last.from).map(|from| from.to_string());
    let restrictions = restrictions.to_stored();
    tx.query(
        concat!(
            "INSERT INTO rowmill.keys (",
            key_columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        ),
        &[
            &id.uuid(),
            &team.0,
            name,
            &&hash[..],
            created_at_ms,
            &used_at_ms,
            &used_from,
            expires_at_ms,
            &restrictions,
        ],
    )
    .await
    .map(|_| ())
}

pub(crate) async fn keys(tx: &mut Tx) -> Result<Vec<ApiKey>> {
    let sql = concat!("SELECT ", key_columns!(), " FROM rowmill.keys ORDER BY created_at, id");
    tx.query(sql, &[]).await?.iter().map(read_key).collect()
}

pub(crate) async fn key(tx: &mut Tx, id: KeyId) -> Result<Option<ApiKey>> {
    let sql = concat!("SELECT ", key_columns!(), " FROM rowmill.keys WHERE id = $1");
    tx.query(sql, &[&id.uuid()]).await?.first().map(read_key).transpose()
}

pub(crate) async fn rotate_key(tx: &mut Tx, old: KeyId, expires_at_ms: i64, new: &ApiKey) -> Result<bool> {
    let sql = "UPDATE rowmill.keys SET expires_at = least(expires_at, $2) WHERE id = $1 RETURNING 1";
    let found = !tx.query(sql, &[&old.uuid(), &expires_at_ms]).await?.is_empty();
    if found {
        create_key(tx, new).await?;
    }
    Ok(found)
}

pub(crate) async fn revoke_key(tx: &mut Tx, id: KeyId) -> Result<bool> {
    tx.query("DELETE FROM rowmill.sessions WHERE key = $1", &[&id.uuid()]).await?;
    let deleted = tx.query("DELETE FROM rowmill.keys WHERE id = $1 RETURNING 1", &[&id.uuid()]).await?;
    Ok(!deleted.is_empty())
}

pub(crate) async fn touch_key(tx: &mut Tx, id: KeyId, last_use: LastUse) -> Result<()> {
    let from = last_use.from.map(|from| from.to_string());
    // Nodes write in any order: the latest use stays.
    let sql = "UPDATE rowmill.keys SET last_used_at = $2, last_used_from = $3 \
               WHERE id = $1 AND coalesce(last_used_at <= $2, true)";
    tx.query(sql, &[&id.uuid(), &last_use.at_ms, &from]).await.map(|_| ())
}

pub(crate) fn read_team(row: &Row) -> Result<Team> {
    let slug = Slug::parse(row.get(1)).ok_or_else(|| StoreError::Damaged("not a slug".to_owned()))?;
    Ok(Team { id: TeamId(row.get(0)), slug, name: row.get(2), created_at_ms: row.get(3) })
}

pub(crate) fn read_key(row: &Row) -> Result<ApiKey> {
    let hash = row.get::<_, &[u8]>(3).try_into();
    let from: Option<&str> = row.get(6);
    Ok(ApiKey {
        id: KeyId::from_uuid(row.get(0)),
        team: TeamId(row.get(1)),
        name: row.get(2),
        hash: hash.map_err(|_| StoreError::Damaged("not a key's hash".to_owned()))?,
        created_at_ms: row.get(4),
        last_used: row
            .get::<_, Option<i64>>(5)
            .map(|at_ms| LastUse { at_ms, from: from.and_then(|from| from.parse().ok()) }),
        expires_at_ms: row.get(7),
        restrictions: Restrictions::from_stored(row.get(8))
            .map_err(|error| StoreError::Damaged(format!("a key's restrictions: {error}")))?,
    })
}
