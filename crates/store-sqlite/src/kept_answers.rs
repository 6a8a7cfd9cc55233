//! Answers of providers that are used again.

use async_trait::async_trait;
use rowmill_model::TeamId;
use rowmill_store::kept_answers::{ANSWERS_AT_ONCE, AnswerLimits, KeptAnswer};
use rowmill_store::{AnswerStore, Result};
use rusqlite::{Connection, OptionalExtension};

use crate::convert::backend;
use crate::readers::ReadKind;
use crate::store::SqliteStore;

#[async_trait]
impl AnswerStore for SqliteStore {
    async fn kept_answer(&self, name: [u8; 32], now_ms: i64) -> Result<Option<String>> {
        self.readers.read(|connection| find(connection, name, now_ms))
    }

    async fn keep_answer(&self, kept: KeptAnswer) -> Result<()> {
        self.writer.write(move |connection| keep(connection, &kept)).await
    }

    async fn trim_answers(&self, team: TeamId, limits: AnswerLimits) -> Result<bool> {
        // The writer is not troubled with counting.
        let going = self
            .readers
            .read_long(ReadKind::List, move |connection| too_old(connection, team, limits))
            .await?;
        if going.is_empty() {
            return Ok(false);
        }
        self.writer.write(move |connection| remove(connection, &going)).await?;
        Ok(true)
    }

    async fn sweep_answers(&self, now_ms: i64) -> Result<bool> {
        let going = self.readers.read(|connection| expired(connection, now_ms))?;
        if going.is_empty() {
            return Ok(false);
        }
        self.writer.write(move |connection| remove(connection, &going)).await?;
        Ok(true)
    }
}

fn find(connection: &Connection, name: [u8; 32], now_ms: i64) -> Result<Option<String>> {
    connection
        .prepare_cached("SELECT answer FROM kept_answers WHERE name = ?1 AND expires_at > ?2")
        .and_then(|mut query| query.query_row((name, now_ms), |row| row.get(0)).optional())
        .map_err(backend)
}

fn keep(connection: &Connection, kept: &KeptAnswer) -> Result<()> {
    let KeptAnswer { team, name, at_ms, expires_at_ms, answer } = kept;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO kept_answers (name, team, at, expires_at, bytes, answer) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .and_then(|mut insert| {
            insert.execute((name, team.0.as_bytes(), at_ms, expires_at_ms, kept.bytes(), answer))
        })
        .map(|_| ())
        .map_err(backend)
}

fn too_old(connection: &Connection, team: TeamId, limits: AnswerLimits) -> Result<Vec<[u8; 32]>> {
    let (count, bytes): (u64, u64) = connection
        .prepare_cached("SELECT count(*), coalesce(sum(bytes), 0) FROM kept_answers WHERE team = ?1")
        .and_then(|mut query| query.query_row([team.0.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(backend)?;
    if limits.are_kept(count, bytes) {
        return Ok(Vec::new());
    }
    let oldest: Vec<([u8; 32], u64)> = connection
        .prepare_cached("SELECT name, bytes FROM kept_answers WHERE team = ?1 ORDER BY at LIMIT ?2")
        .and_then(|mut query| {
            let params = (team.0.as_bytes(), ANSWERS_AT_ONCE);
            query.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
        .map_err(backend)?;
    Ok(limits.too_old(count, bytes, oldest))
}

fn expired(connection: &Connection, now_ms: i64) -> Result<Vec<[u8; 32]>> {
    connection
        .prepare_cached("SELECT name FROM kept_answers WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2")
        .and_then(|mut query| query.query_map((now_ms, ANSWERS_AT_ONCE), |row| row.get(0))?.collect())
        .map_err(backend)
}

fn remove(connection: &Connection, names: &[[u8; 32]]) -> Result<()> {
    let mut delete =
        connection.prepare_cached("DELETE FROM kept_answers WHERE name = ?1").map_err(backend)?;
    for name in names {
        delete.execute([name]).map_err(backend)?;
    }
    Ok(())
}
