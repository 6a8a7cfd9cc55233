//! What teams keep sealed.

use rowmill_model::TeamId;
use rowmill_store::{Result, Sealed, SealedKind, StoreError};
use tokio_postgres::Row;

use crate::transaction::Tx;

pub(crate) async fn put(tx: &mut Tx, team: TeamId, sealed: &Sealed, count_max: u32) -> Result<()> {
    let Sealed { kind, name, bytes, updated_at_ms } = sealed;
    // Of two that would each be the last there is room for, one must see the other.
    let lock = i64::from_le_bytes(team.0.as_u64_pair().1.to_le_bytes());
    tx.query("SELECT pg_advisory_xact_lock($1)", &[&lock]).await?;
    let others = tx
        .query(
            "SELECT count(*) FROM rowmill.sealed WHERE team = $1 AND kind = $2 AND name <> $3",
            &[&team.0, &kind.word(), name],
        )
        .await?;
    if others.first().map_or(0, |row| row.get::<_, i64>(0)) >= i64::from(count_max) {
        return Err(StoreError::Full);
    }
    tx.query(
        "INSERT INTO rowmill.sealed (team, kind, name, bytes, updated_at) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (team, kind, name) DO UPDATE SET bytes = excluded.bytes, updated_at = excluded.updated_at",
        &[&team.0, &kind.word(), name, bytes, updated_at_ms],
    )
    .await
    .map(|_| ())
}

pub(crate) async fn list(tx: &mut Tx, team: TeamId) -> Result<Vec<Sealed>> {
    // By bytes, and not by the rules of a language.
    let sql = "SELECT kind, name, bytes, updated_at FROM rowmill.sealed WHERE team = $1 \
               ORDER BY kind COLLATE \"C\", name COLLATE \"C\"";
    tx.query(sql, &[&team.0]).await?.iter().map(read).collect()
}

pub(crate) async fn delete(tx: &mut Tx, team: TeamId, kind: SealedKind, name: &str) -> Result<bool> {
    let sql = "DELETE FROM rowmill.sealed WHERE team = $1 AND kind = $2 AND name = $3 RETURNING 1";
    Ok(!tx.query(sql, &[&team.0, &kind.word(), &name]).await?.is_empty())
}

pub(crate) fn read(row: &Row) -> Result<Sealed> {
    let word: &str = row.get(0);
    let kind = SealedKind::ALL.into_iter().find(|kind| kind.word() == word);
    let kind = kind.ok_or_else(|| StoreError::Damaged("not a kind".to_owned()))?;
    Ok(Sealed { kind, name: row.get(1), bytes: row.get(2), updated_at_ms: row.get(3) })
}
