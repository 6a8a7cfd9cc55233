//! What inbound webhooks received.

use async_trait::async_trait;
use rowmill_model::{HookId, ProjectId, TeamId};
use rowmill_store::received::{
    KeepReceived, NewReceived, RECEIVED_AT_ONCE, ReceivedFilter, ReceivedHead, ReceivedOutcome,
    ReceivedRecord, ReceivedSource, ReceivedStatus, ReceivedTexts, making_room,
};
use rowmill_store::webhooks::DeliveryId;
use rowmill_store::{ReceivedStore, Result};
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use crate::convert::{backend, uuid_of};
use crate::readers::ReadKind;
use crate::store::SqliteStore;

#[async_trait]
impl ReceivedStore for SqliteStore {
    async fn keep_received(&self, mut new: Vec<NewReceived>, keep: KeepReceived) -> Result<()> {
        // A stable sort: the order of a team's own deliveries stays.
        new.sort_by_key(|new| new.team);
        self.writer
            .write(move |connection| {
                new.chunk_by(|one, other| one.team == other.team)
                    .try_for_each(|of_team| keep_of_team(connection, of_team, keep))
            })
            .await
    }

    async fn received(
        &self,
        team: TeamId,
        filter: ReceivedFilter,
        limit: u32,
    ) -> Result<Vec<ReceivedRecord>> {
        self.readers.read_long(ReadKind::List, move |connection| list(connection, team, filter, limit)).await
    }

    async fn received_one(&self, team: TeamId, id: DeliveryId) -> Result<Option<ReceivedRecord>> {
        // A body may be large.
        self.readers.read_long(ReadKind::List, move |connection| find(connection, team, id)).await
    }

    async fn add_outcome(&self, team: TeamId, id: DeliveryId, outcome: ReceivedOutcome) -> Result<bool> {
        self.writer.write(move |connection| add_outcome(connection, team, id, &outcome)).await
    }

    async fn sweep_received(&self, before_ms: i64) -> Result<bool> {
        // The writer is not troubled when there is nothing to do.
        if self.readers.read(|connection| team_with_old(connection, before_ms))?.is_none() {
            return Ok(false);
        }
        self.writer.write(move |connection| sweep(connection, before_ms)).await
    }
}

/// Room is made once for all of a team's deliveries: to look for the oldest for each of them cost more than the rows did.
fn keep_of_team(connection: &Connection, new: &[NewReceived], keep: KeepReceived) -> Result<()> {
    let Some(team) = new.first().map(|new| new.team) else { return Ok(()) };
    let texts = new.iter().map(NewReceived::to_texts).collect::<Result<Vec<_>>>()?;
    let bytes: u64 = texts.iter().map(|texts| texts.bytes).sum();
    let sql = "INSERT INTO received_totals (team, count, bytes) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE \
               SET count = count + excluded.count, bytes = bytes + excluded.bytes RETURNING count, bytes";
    let params = (team.0.as_bytes(), new.len() as u64, bytes);
    let totals: (u64, u64) = connection
        .prepare_cached(sql)
        .and_then(|mut update| update.query_row(params, |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(backend)?;
    make_room(connection, team, totals, keep)?;
    new.iter().zip(&texts).try_for_each(|(new, texts)| keep_one(connection, new, texts))
}

fn keep_one(connection: &Connection, new: &NewReceived, texts: &ReceivedTexts) -> Result<()> {
    let NewReceived { team, hook, project, received_at_ms, head: _, outcome, body } = new;
    let sql = "INSERT INTO received (team, hook, project, received_at, status, bytes, body_bytes, head, log, body) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let params = rusqlite::params![
        team.0.as_bytes(),
        hook.map(|hook| hook.uuid().into_bytes()),
        project.map(|project| project.uuid().into_bytes()),
        received_at_ms,
        outcome.status.number(),
        texts.bytes,
        body.len() as u64,
        texts.head,
        texts.log,
        body
    ];
    connection.prepare_cached(sql).and_then(|mut insert| insert.execute(params)).map(|_| ()).map_err(backend)
}

/// Removes the oldest where there are too many. The new ones are counted, but not there yet.
fn make_room(
    connection: &Connection,
    team: TeamId,
    (count, total): (u64, u64),
    keep: KeepReceived,
) -> Result<()> {
    let Some((over_count, over_bytes)) = keep.over(count, total) else { return Ok(()) };
    let sql = "SELECT num, bytes FROM received WHERE team = ?1 ORDER BY num LIMIT ?2";
    let oldest: Vec<(u64, u64)> = connection
        .prepare_cached(sql)
        .and_then(|mut query| {
            let params = (team.0.as_bytes(), RECEIVED_AT_ONCE);
            query.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
        .map_err(backend)?;
    let Some((last, count, freed)) = making_room(oldest, over_count, over_bytes) else { return Ok(()) };
    connection
        .prepare_cached("DELETE FROM received WHERE team = ?1 AND num <= ?2")
        .and_then(|mut delete| delete.execute((team.0.as_bytes(), last)))
        .map_err(backend)?;
    uncount(connection, team, count, freed)
}

fn uncount(connection: &Connection, team: TeamId, count: u64, bytes: u64) -> Result<()> {
    let sql =
        "UPDATE received_totals SET count = max(0, count - ?2), bytes = max(0, bytes - ?3) WHERE team = ?1";
    connection
        .prepare_cached(sql)
        .and_then(|mut update| update.execute((team.0.as_bytes(), count, bytes)))
        .map_err(backend)?;
    let sql = "DELETE FROM received_totals WHERE team = ?1 AND count = 0";
    connection
        .prepare_cached(sql)
        .and_then(|mut delete| delete.execute([team.0.as_bytes()]))
        .map(|_| ())
        .map_err(backend)
}

const LISTED: &str = "num, received_at, hook, project, status, body_bytes, head, log";

fn list(
    connection: &Connection,
    team: TeamId,
    filter: ReceivedFilter,
    limit: u32,
) -> Result<Vec<ReceivedRecord>> {
    let ReceivedFilter { source, status, before } = filter;
    let before = before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT {LISTED} FROM received WHERE team = ?1 AND num < ?2 AND (?3 IS NULL OR status = ?3) \
         AND (?5 IS NULL OR (hook IS NOT NULL) = ?5) AND (?6 IS NULL OR hook = ?6) ORDER BY num DESC LIMIT ?4"
    );
    let mut query = connection.prepare_cached(&sql).map_err(backend)?;
    let status = status.map(ReceivedStatus::number);
    let of_hooks = source.map(ReceivedSource::is_of_hooks);
    let hook = source.and_then(ReceivedSource::hook).map(|hook| hook.uuid().into_bytes());
    let params = (team.0.as_bytes(), before, status, limit, of_hooks, hook);
    let mut found = query.query(params).map_err(backend)?;
    let mut records = Vec::new();
    while let Some(row) = found.next().map_err(backend)? {
        records.push(record(row)?);
    }
    Ok(records)
}

fn find(connection: &Connection, team: TeamId, id: DeliveryId) -> Result<Option<ReceivedRecord>> {
    let sql =
        format!("SELECT {LISTED}, body FROM received WHERE num = ?1 AND team = ?2 AND received_at = ?3");
    let mut query = connection.prepare_cached(&sql).map_err(backend)?;
    let mut found = query.query((id.num, team.0.as_bytes(), id.created_at_ms)).map_err(backend)?;
    let Some(row) = found.next().map_err(backend)? else { return Ok(None) };
    Ok(Some(ReceivedRecord { body: Some(row.get(8).map_err(backend)?), ..record(row)? }))
}

fn record(row: &Row<'_>) -> Result<ReceivedRecord> {
    let (hook, project): (Option<[u8; 16]>, Option<[u8; 16]>) =
        (row.get(2).map_err(backend)?, row.get(3).map_err(backend)?);
    let head: String = row.get(6).map_err(backend)?;
    let log: String = row.get(7).map_err(backend)?;
    Ok(ReceivedRecord {
        id: DeliveryId { num: row.get(0).map_err(backend)?, created_at_ms: row.get(1).map_err(backend)? },
        hook: hook.map(|bytes| HookId::from_uuid(Uuid::from_bytes(bytes))),
        project: project.map(|bytes| ProjectId::from_uuid(Uuid::from_bytes(bytes))),
        status: ReceivedStatus::of_number(row.get(4).map_err(backend)?)?,
        body_bytes: row.get(5).map_err(backend)?,
        head: ReceivedHead::read(&head)?,
        outcomes: ReceivedOutcome::read_all(&log)?,
        body: None,
    })
}

fn add_outcome(
    connection: &Connection,
    team: TeamId,
    id: DeliveryId,
    outcome: &ReceivedOutcome,
) -> Result<bool> {
    let sql = "SELECT log FROM received WHERE num = ?1 AND team = ?2 AND received_at = ?3";
    let log: Option<String> = connection
        .prepare_cached(sql)
        .and_then(|mut query| {
            query.query_row((id.num, team.0.as_bytes(), id.created_at_ms), |row| row.get(0)).optional()
        })
        .map_err(backend)?;
    let Some(log) = log else { return Ok(false) };
    let params = (id.num, outcome.status.number(), outcome.added_to(&log)?);
    connection
        .prepare_cached("UPDATE received SET status = ?2, log = ?3 WHERE num = ?1")
        .and_then(|mut update| update.execute(params))
        .map_err(backend)?;
    Ok(true)
}

/// A team with a delivery that came in before a time.
fn team_with_old(connection: &Connection, before_ms: i64) -> Result<Option<TeamId>> {
    let sql = "SELECT team FROM received WHERE received_at < ?1 ORDER BY received_at LIMIT 1";
    connection
        .prepare_cached(sql)
        .and_then(|mut query| query.query_row([before_ms], |row| uuid_of(row, 0).map(TeamId)).optional())
        .map_err(backend)
}

fn sweep(connection: &Connection, before_ms: i64) -> Result<bool> {
    let Some(team) = team_with_old(connection, before_ms)? else { return Ok(false) };
    let sql = "DELETE FROM received WHERE num IN (SELECT num FROM received \
               WHERE team = ?1 AND received_at < ?2 ORDER BY num LIMIT ?3) RETURNING bytes";
    let removed: Vec<u64> = connection
        .prepare_cached(sql)
        .and_then(|mut delete| {
            delete.query_map((team.0.as_bytes(), before_ms, RECEIVED_AT_ONCE), |row| row.get(0))?.collect()
        })
        .map_err(backend)?;
    uncount(connection, team, removed.len() as u64, removed.iter().sum())?;
    Ok(true)
}
