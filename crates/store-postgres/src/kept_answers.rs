//! Answers of providers that are used again.

use async_trait::async_trait;
use rowmill_model::TeamId;
use rowmill_store::kept_answers::{ANSWERS_AT_ONCE, AnswerLimits, KeptAnswer};
use rowmill_store::{AnswerStore, Result};

use crate::convert::{signed, unexpected_answer, unsigned};
use crate::database::CommitDoubt::Repeat;
use crate::store::PostgresStore;
use crate::transaction::Tx;

#[async_trait]
impl AnswerStore for PostgresStore {
    async fn kept_answer(&self, name: [u8; 32], now_ms: i64) -> Result<Option<String>> {
        let sql = "SELECT answer FROM rowmill.kept_answers WHERE name = $1 AND expires_at > $2";
        let found = self.node.database.ask(sql, &[&name.as_slice(), &now_ms]).await?;
        Ok(found.first().map(|row| row.get(0)))
    }

    async fn keep_answer(&self, kept: KeptAnswer) -> Result<()> {
        self.node().write(Repeat, kept, |tx, kept| Box::pin(keep(tx, kept))).await
    }

    async fn trim_answers(&self, team: TeamId, limits: AnswerLimits) -> Result<bool> {
        // No transaction is begun while there is nothing to do. What another node removes meanwhile is gone, too.
        let sql = "SELECT count(*), coalesce(sum(bytes), 0)::int8 FROM rowmill.kept_answers WHERE team = $1";
        let totals = self.node.database.ask(sql, &[&team.0]).await?;
        let totals = totals.first().ok_or_else(unexpected_answer)?;
        let (count, bytes) = (unsigned(totals.get(0)), unsigned(totals.get(1)));
        if limits.are_kept(count, bytes) {
            return Ok(false);
        }
        let sql = "SELECT name, bytes FROM rowmill.kept_answers WHERE team = $1 ORDER BY at LIMIT $2";
        let oldest = self.node.database.ask(sql, &[&team.0, &i64::from(ANSWERS_AT_ONCE)]).await?;
        let sized = |row: &tokio_postgres::Row| {
            let name = row.get::<_, &[u8]>(0).try_into().map_err(|_| unexpected_answer())?;
            Ok((name, unsigned(row.get(1))))
        };
        let oldest = oldest.iter().map(sized).collect::<Result<Vec<([u8; 32], u64)>>>()?;
        let going = limits.too_old(count, bytes, oldest);
        self.node().write(Repeat, going, |tx, going| Box::pin(remove(tx, going))).await?;
        Ok(true)
    }

    async fn sweep_answers(&self, now_ms: i64) -> Result<bool> {
        let sql = "SELECT 1 FROM rowmill.kept_answers WHERE expires_at <= $1 LIMIT 1";
        if self.node.database.ask(sql, &[&now_ms]).await?.is_empty() {
            return Ok(false);
        }
        self.node().write(Repeat, now_ms, |tx, now_ms| Box::pin(sweep(tx, *now_ms))).await?;
        Ok(true)
    }
}

async fn keep(tx: &mut Tx, kept: &KeptAnswer) -> Result<()> {
    let KeptAnswer { team, name, at_ms, expires_at_ms, answer } = kept;
    let sql = "INSERT INTO rowmill.kept_answers (name, team, at, expires_at, bytes, answer) \
               VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO UPDATE SET at = excluded.at, \
               expires_at = excluded.expires_at, bytes = excluded.bytes, answer = excluded.answer";
    let bytes = signed(kept.bytes());
    tx.query(sql, &[&name.as_slice(), &team.0, at_ms, expires_at_ms, &bytes, answer]).await.map(|_| ())
}

async fn remove(tx: &mut Tx, names: &[[u8; 32]]) -> Result<()> {
    let names: Vec<&[u8]> = names.iter().map(<[u8; 32]>::as_slice).collect();
    tx.query("DELETE FROM rowmill.kept_answers WHERE name = ANY($1)", &[&names]).await.map(|_| ())
}

async fn sweep(tx: &mut Tx, now_ms: i64) -> Result<()> {
    let sql = "DELETE FROM rowmill.kept_answers WHERE name IN (SELECT name FROM rowmill.kept_answers \
               WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)";
    tx.query(sql, &[&now_ms, &i64::from(ANSWERS_AT_ONCE)]).await.map(|_| ())
}
