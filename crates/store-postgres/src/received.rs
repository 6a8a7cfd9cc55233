//! What inbound webhooks received.

use async_trait::async_trait;
use rowmill_model::{HookId, ProjectId, TeamId};
use rowmill_store::received::{
    KeepReceived, NewReceived, RECEIVED_AT_ONCE, ReceivedFilter, ReceivedHead, ReceivedOutcome,
    ReceivedRecord, ReceivedSource, ReceivedStatus, making_room,
};
use rowmill_store::webhooks::DeliveryId;
use rowmill_store::{ReceivedStore, Result};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::convert::{signed, unexpected_answer, unsigned};
use crate::database::CommitDoubt::{Repeat, Tell};
use crate::retryable::Attempt;
use crate::store::PostgresStore;
use crate::transaction::Tx;

#[async_trait]
impl ReceivedStore for PostgresStore {
    async fn keep_received(&self, mut new: Vec<NewReceived>, keep: KeepReceived) -> Result<()> {
        // Teams are locked in order, so that nodes do not wait for each other in a circle.
        new.sort_by_key(|new| new.team);
        self.node().write(Tell, (new, keep), |tx, (new, keep)| Box::pin(keep_all(tx, new, *keep))).await
    }

    async fn received(
        &self,
        team: TeamId,
        filter: ReceivedFilter,
        limit: u32,
    ) -> Result<Vec<ReceivedRecord>> {
        let input = (team, filter, limit);
        self.node().read(input, |tx, (team, filter, limit)| Box::pin(list(tx, *team, *filter, *limit))).await
    }

    async fn received_one(&self, team: TeamId, id: DeliveryId) -> Result<Option<ReceivedRecord>> {
        self.node().read((team, id), |tx, (team, id)| Box::pin(find(tx, *team, *id))).await
    }

    async fn add_outcome(&self, team: TeamId, id: DeliveryId, outcome: ReceivedOutcome) -> Result<bool> {
        let add: Attempt<(TeamId, DeliveryId, ReceivedOutcome), bool> =
            |tx, (team, id, outcome)| Box::pin(add_outcome(tx, *team, *id, outcome));
        self.node().write(Tell, (team, id, outcome), add).await
    }

    async fn sweep_received(&self, before_ms: i64) -> Result<bool> {
        // No transaction is begun while there is nothing to do.
        let sql = "SELECT team FROM rowmill.received WHERE received_at < $1 ORDER BY received_at LIMIT 1";
        let found = self.node.database.ask(sql, &[&before_ms]).await?;
        let Some(team) = found.first().map(|row| TeamId(row.get(0))) else { return Ok(false) };
        self.node()
            .write(Repeat, (team, before_ms), |tx, (team, before_ms)| Box::pin(sweep(tx, *team, *before_ms)))
            .await
    }
}

async fn keep_all(tx: &mut Tx, new: &[NewReceived], keep: KeepReceived) -> Result<()> {
    for of_team in new.chunk_by(|one, other| one.team == other.team) {
        if let Some(first) = of_team.first() {
            keep_of_team(tx, first.team, of_team, keep).await?;
        }
    }
    Ok(())
}

async fn keep_of_team(tx: &mut Tx, team: TeamId, new: &[NewReceived], keep: KeepReceived) -> Result<()> {
    let texts = new.iter().map(NewReceived::to_texts).collect::<Result<Vec<_>>>()?;
    let bytes: Vec<i64> = texts.iter().map(|texts| signed(texts.bytes)).collect();
    // First, because it locks: whoever removes deliveries does the same.
    let sql = "INSERT INTO rowmill.received_totals AS t (team, count, bytes) VALUES ($1, $2, $3) \
               ON CONFLICT (team) DO UPDATE SET count = t.count + excluded.count, bytes = t.bytes + excluded.bytes \
               RETURNING count, bytes";
    let totals = tx.query(sql, &[&team.0, &signed(new.len() as u64), &bytes.iter().sum::<i64>()]).await?;
    let totals = totals.first().ok_or_else(unexpected_answer)?;
    let (count, total) = (unsigned(totals.get(0)), unsigned(totals.get(1)));
    make_room(tx, team, (count, total), keep).await?;
    let hooks: Vec<Option<Uuid>> = new.iter().map(|new| new.hook.map(HookId::uuid)).collect();
    let projects: Vec<Option<Uuid>> = new.iter().map(|new| new.project.map(ProjectId::uuid)).collect();
    let times: Vec<i64> = new.iter().map(|new| new.received_at_ms).collect();
    let statuses: Vec<i64> = new.iter().map(|new| new.outcome.status.number()).collect();
    let (heads, logs): (Vec<String>, Vec<String>) =
        texts.into_iter().map(|texts| (texts.head, texts.log)).unzip();
    let bodies: Vec<&[u8]> = new.iter().map(|new| new.body.as_slice()).collect();
    let sql = "INSERT INTO rowmill.received \
               (team, hook, project, received_at, status, bytes, body_bytes, head, log, body) \
               SELECT $1, new.hook, new.project, new.received_at, new.status, new.bytes, octet_length(new.body), \
               new.head, new.log, new.body FROM unnest($2::uuid[], $3::uuid[], $4::int8[], $5::int8[], \
               $6::int8[], $7::text[], $8::text[], $9::bytea[]) WITH ORDINALITY \
               new (hook, project, received_at, status, bytes, head, log, body, place) ORDER BY new.place";
    tx.query(sql, &[&team.0, &hooks, &projects, &times, &statuses, &bytes, &heads, &logs, &bodies])
        .await
        .map(|_| ())
}

/// Removes the oldest where there are too many. The new ones are counted, but not there yet.
async fn make_room(tx: &mut Tx, team: TeamId, (count, total): (u64, u64), keep: KeepReceived) -> Result<()> {
    let Some((over_count, over_bytes)) = keep.over(count, total) else { return Ok(()) };
    let sql = "SELECT num, bytes FROM rowmill.received WHERE team = $1 ORDER BY num LIMIT $2";
    let oldest = tx.query(sql, &[&team.0, &i64::from(RECEIVED_AT_ONCE)]).await?;
    let oldest = oldest.iter().map(|row| (unsigned(row.get(0)), unsigned(row.get(1))));
    let Some((last, count, freed)) = making_room(oldest, over_count, over_bytes) else { return Ok(()) };
    let sql = "DELETE FROM rowmill.received WHERE team = $1 AND num <= $2";
    tx.query(sql, &[&team.0, &signed(last)]).await?;
    uncount(tx, team, count, freed).await
}

async fn uncount(tx: &mut Tx, team: TeamId, count: u64, bytes: u64) -> Result<()> {
    let sql = "UPDATE rowmill.received_totals SET count = greatest(0, count - $2), bytes = greatest(0, bytes - $3) \
               WHERE team = $1";
    tx.query(sql, &[&team.0, &signed(count), &signed(bytes)]).await.map(|_| ())
}

async fn list(tx: &mut Tx, team: TeamId, filter: ReceivedFilter, limit: u32) -> Result<Vec<ReceivedRecord>> {
    let ReceivedFilter { source, status, before } = filter;
    let sql = "SELECT num, received_at, hook, project, status, body_bytes, head, log FROM rowmill.received \
               WHERE team = $1 AND num < $2 AND ($3::int8 IS NULL OR status = $3) \
               AND ($5::bool IS NULL OR (hook IS NOT NULL) = $5) AND ($6::uuid IS NULL OR hook = $6) \
               ORDER BY num DESC LIMIT $4";
    let (before, status) = (before.map_or(i64::MAX, signed), status.map(ReceivedStatus::number));
    let of_hooks = source.map(ReceivedSource::is_of_hooks);
    let hook = source.and_then(ReceivedSource::hook).map(HookId::uuid);
    let found = tx.query(sql, &[&team.0, &before, &status, &i64::from(limit), &of_hooks, &hook]).await?;
    found.iter().map(record).collect()
}

async fn find(tx: &mut Tx, team: TeamId, id: DeliveryId) -> Result<Option<ReceivedRecord>> {
    let sql = "SELECT num, received_at, hook, project, status, body_bytes, head, log, body FROM rowmill.received \
               WHERE num = $1 AND team = $2 AND received_at = $3";
    let found = tx.query(sql, &[&signed(id.num), &team.0, &id.created_at_ms]).await?;
    let Some(row) = found.first() else { return Ok(None) };
    Ok(Some(ReceivedRecord { body: Some(row.get(8)), ..record(row)? }))
}

fn record(row: &Row) -> Result<ReceivedRecord> {
    Ok(ReceivedRecord {
        id: DeliveryId { num: unsigned(row.get(0)), created_at_ms: row.get(1) },
        hook: row.get::<_, Option<Uuid>>(2).map(HookId::from_uuid),
        project: row.get::<_, Option<Uuid>>(3).map(ProjectId::from_uuid),
        status: ReceivedStatus::of_number(row.get(4))?,
        body_bytes: unsigned(row.get(5)),
        head: ReceivedHead::read(row.get(6))?,
        outcomes: ReceivedOutcome::read_all(row.get(7))?,
        body: None,
    })
}

async fn add_outcome(tx: &mut Tx, team: TeamId, id: DeliveryId, outcome: &ReceivedOutcome) -> Result<bool> {
    let sql = "SELECT log FROM rowmill.received WHERE num = $1 AND team = $2 AND received_at = $3 FOR UPDATE";
    let found = tx.query(sql, &[&signed(id.num), &team.0, &id.created_at_ms]).await?;
    let Some(row) = found.first() else { return Ok(false) };
    let log = outcome.added_to(row.get(0))?;
    let sql = "UPDATE rowmill.received SET status = $2, log = $3 WHERE num = $1";
    tx.query(sql, &[&signed(id.num), &outcome.status.number(), &log]).await?;
    Ok(true)
}

async fn sweep(tx: &mut Tx, team: TeamId, before_ms: i64) -> Result<bool> {
    let sql = "SELECT 1 FROM rowmill.received_totals WHERE team = $1 FOR UPDATE";
    tx.query(sql, &[&team.0]).await?;
    let sql = "DELETE FROM rowmill.received WHERE num IN (SELECT num FROM rowmill.received \
               WHERE team = $1 AND received_at < $2 ORDER BY num LIMIT $3) RETURNING bytes";
    let removed = tx.query(sql, &[&team.0, &before_ms, &i64::from(RECEIVED_AT_ONCE)]).await?;
    let bytes = removed.iter().map(|row| unsigned(row.get(0))).sum();
    uncount(tx, team, removed.len() as u64, bytes).await?;
    Ok(true)
}
