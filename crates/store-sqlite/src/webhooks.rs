//! Outbound webhooks: what teams have set up, and the outbox of deliveries.

use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::{ProjectId, TeamId, WebhookId};
use rowmill_store::changes::Subscribed;
use rowmill_store::webhooks::{
    Backlog, ClaimDeliveries, DELIVERIES_AT_ONCE, Delivery, DeliveryId, DeliveryOutcome, DeliveryRecord,
    DeliverySettlement, DeliveryStatus, KeepDeliveries, NewDelivery, Replay, Subscription, TeamWebhooks,
    WebhooksSave, read_attempts, with_attempt,
};
use rowmill_store::{Result, StoreError};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::convert::{backend, damaged, uuid_of};

/// Who is to be told of a change that this transaction makes; `None` if nobody is.
pub(crate) fn subscribed(connection: &Connection, team: TeamId) -> Result<Option<Subscribed>> {
    let found: Option<Option<String>> = connection
        .prepare_cached("SELECT subscriptions FROM webhooks WHERE team = ?1")
        .and_then(|mut query| query.query_row([team.0.as_bytes()], |row| row.get(0)).optional())
        .map_err(backend)?;
    let Some(text) = found.flatten() else { return Ok(None) };
    let subscriptions = Subscription::read(&text)?;
    Ok(Some(Subscribed { subscriptions, now_ms: SystemClock.now_ms() }))
}

/// Writes deliveries into the outbox.
pub(crate) fn add(connection: &Connection, team: TeamId, deliveries: &[NewDelivery]) -> Result<()> {
    if deliveries.is_empty() {
        return Ok(());
    }
    let mut insert = connection
        .prepare_cached(
            "INSERT INTO deliveries (team, webhook, event, project, seq, created_at, due_at, bytes, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8)",
        )
        .map_err(backend)?;
    for NewDelivery { webhook, event, project, seq, created_at_ms, body } in deliveries {
        let project = project.map(|project| project.uuid().into_bytes());
        let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
        insert
            .execute((
                team.0.as_bytes(),
                webhook.uuid().as_bytes(),
                event,
                project,
                seq,
                created_at_ms,
                bytes,
                body,
            ))
            .map_err(backend)?;
    }
    Ok(())
}

pub(crate) fn webhooks(connection: &Connection, team: TeamId) -> Result<TeamWebhooks> {
    let found: Option<(u64, String)> = connection
        .prepare_cached("SELECT version, document FROM webhooks WHERE team = ?1")
        .and_then(|mut query| {
            query.query_row([team.0.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(backend)?;
    let Some((version, document)) = found else { return Ok(TeamWebhooks::default()) };
    Ok(TeamWebhooks { version, webhooks: serde_json::from_str(&document).map_err(damaged)? })
}

pub(crate) fn teams(connection: &Connection) -> Result<Vec<TeamId>> {
    connection
        .prepare_cached("SELECT team FROM webhooks WHERE document <> '[]' ORDER BY team")
        .and_then(|mut query| query.query_map((), |row| uuid_of(row, 0).map(TeamId))?.collect())
        .map_err(backend)
}

pub(crate) fn save(connection: &Connection, save: &WebhooksSave) -> Result<()> {
    let (document, subscriptions) = save.to_texts()?;
    let WebhooksSave { team, version, webhooks: _, deliveries } = save;
    let written = connection
        .execute(
            "INSERT INTO webhooks (team, version, document, subscriptions) SELECT ?1, ?2 + 1, ?3, ?4 \
             WHERE ?2 = 0 OR EXISTS (SELECT 1 FROM webhooks WHERE team = ?1 AND version = ?2) \
             ON CONFLICT DO UPDATE SET version = excluded.version, document = excluded.document, \
             subscriptions = excluded.subscriptions WHERE version = ?2",
            (team.0.as_bytes(), version, document, subscriptions),
        )
        .map_err(backend)?;
    if written == 0 {
        return Err(StoreError::Stale);
    }
    add(connection, *team, deliveries)
}

pub(crate) fn claim(connection: &Connection, claim: &ClaimDeliveries) -> Result<Vec<Delivery>> {
    let mut claimed = Vec::new();
    let mut take = connection
        .prepare_cached(
            "SELECT num, created_at, team, webhook, body, attempts FROM deliveries \
             WHERE webhook = ?1 AND due_at <= ?2 ORDER BY due_at, num LIMIT ?3",
        )
        .map_err(backend)?;
    let mut lease =
        connection.prepare_cached("UPDATE deliveries SET due_at = ?2 WHERE num = ?1").map_err(backend)?;
    for (webhook, room) in claim.shares(with_due(connection, claim.now_ms)?) {
        let found: Vec<Delivery> = take
            .query_map((webhook.uuid().as_bytes(), claim.now_ms, room), |row| {
                Ok(Delivery {
                    id: DeliveryId { num: row.get(0)?, created_at_ms: row.get(1)? },
                    team: TeamId(uuid_of(row, 2)?),
                    webhook: WebhookId::from_uuid(uuid_of(row, 3)?),
                    body: row.get(4)?,
                    attempts: row.get(5)?,
                    leased_until_ms: claim.leased_until_ms,
                })
            })
            .and_then(Iterator::collect)
            .map_err(backend)?;
        for delivery in &found {
            lease.execute((delivery.id.num, claim.leased_until_ms)).map_err(backend)?;
        }
        claimed.extend(found);
    }
    Ok(claimed)
}

/// The webhooks with anything that waits, found by leaping from one to the next.
fn waiting(connection: &Connection) -> Result<Vec<WebhookId>> {
    let mut next = connection
        .prepare_cached(
            "SELECT webhook FROM deliveries INDEXED BY deliveries_due \
             WHERE due_at IS NOT NULL AND webhook > ?1 ORDER BY webhook LIMIT 1",
        )
        .map_err(backend)?;
    let mut webhooks = Vec::new();
    let mut last = Vec::new();
    while let Some(found) = next.query_row([&last], |row| uuid_of(row, 0)).optional().map_err(backend)? {
        webhooks.push(WebhookId::from_uuid(found));
        last = found.as_bytes().to_vec();
    }
    Ok(webhooks)
}

/// Those with a delivery that is due.
fn with_due(connection: &Connection, now_ms: i64) -> Result<Vec<WebhookId>> {
    let mut first = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM deliveries INDEXED BY deliveries_due WHERE webhook = ?1 AND due_at <= ?2)",
        )
        .map_err(backend)?;
    let mut webhooks = waiting(connection)?;
    let mut failure = None;
    webhooks.retain(|webhook| {
        let is_due = first.query_row((webhook.uuid().as_bytes(), now_ms), |row| row.get(0));
        is_due.unwrap_or_else(|error| {
            failure = Some(error);
            false
        })
    });
    failure.map_or(Ok(webhooks), |error| Err(backend(error)))
}

/// Whether a delivery is due that there is room for.
pub(crate) fn is_any_due(connection: &Connection, claim: &ClaimDeliveries) -> Result<bool> {
    Ok(with_due(connection, claim.now_ms)?.into_iter().any(|webhook| claim.room(webhook) > 0))
}

pub(crate) fn settle(connection: &Connection, done: Vec<DeliverySettlement>) -> Result<()> {
    for DeliverySettlement { id, leased_until_ms, attempt, outcome } in done {
        let (due_at, status) = match outcome {
            DeliveryOutcome::Delivered => (None, DeliveryStatus::Delivered),
            DeliveryOutcome::GivenUp => (None, DeliveryStatus::Failed),
            DeliveryOutcome::Retry(at_ms) => (Some(at_ms), DeliveryStatus::Pending),
            DeliveryOutcome::Forgotten => {
                connection
                    .prepare_cached("DELETE FROM deliveries WHERE num = ?1 AND due_at = ?2")
                    .and_then(|mut delete| delete.execute((id.num, leased_until_ms)))
                    .map_err(backend)?;
                continue;
            }
        };
        let log: Option<Option<String>> = connection
            .prepare_cached("SELECT log FROM deliveries WHERE num = ?1 AND due_at = ?2")
            .and_then(|mut query| query.query_row((id.num, leased_until_ms), |row| row.get(0)).optional())
            .map_err(backend)?;
        // Without one somebody else has the delivery.
        let Some(log) = log else { continue };
        let tried = i64::from(attempt.is_some());
        connection
            .prepare_cached(
                "UPDATE deliveries SET due_at = ?2, status = ?3, attempts = attempts + ?4, log = ?5 WHERE num = ?1",
            )
            .and_then(|mut update| {
                let log = with_attempt(log.as_deref(), attempt).unwrap_or_default();
                update.execute((id.num, due_at, status.number(), tried, log))
            })
            .map_err(backend)?;
    }
    Ok(())
}

const RECORD: &str = "num, created_at, event, project, seq, status, due_at, log, body";

pub(crate) fn deliveries(
    connection: &Connection,
    webhook: WebhookId,
    before: Option<u64>,
    status: Option<DeliveryStatus>,
    limit: u32,
) -> Result<Vec<DeliveryRecord>> {
    let before = before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
    let status = status.map(DeliveryStatus::number);
    let sql = format!(
        "SELECT {RECORD} FROM deliveries WHERE webhook = ?1 AND num < ?2 AND (?3 IS NULL OR status = ?3) \
         ORDER BY num DESC LIMIT ?4"
    );
    let mut query = connection.prepare_cached(&sql).map_err(backend)?;
    let mut found = query.query((webhook.uuid().as_bytes(), before, status, limit)).map_err(backend)?;
    let mut records = Vec::new();
    while let Some(row) = found.next().map_err(backend)? {
        records.push(record(row)?);
    }
    Ok(records)
}

pub(crate) fn delivery(
    connection: &Connection,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<Option<DeliveryRecord>> {
    let sql = format!("SELECT {RECORD} FROM deliveries WHERE num = ?1 AND webhook = ?2 AND created_at = ?3");
    let mut query = connection.prepare_cached(&sql).map_err(backend)?;
    let mut found = query.query((id.num, webhook.uuid().as_bytes(), id.created_at_ms)).map_err(backend)?;
    found.next().map_err(backend)?.map(record).transpose()
}

fn record(row: &Row<'_>) -> Result<DeliveryRecord> {
    let project: Option<[u8; 16]> = row.get(3).map_err(backend)?;
    let log: Option<String> = row.get(7).map_err(backend)?;
    Ok(DeliveryRecord {
        id: DeliveryId { num: row.get(0).map_err(backend)?, created_at_ms: row.get(1).map_err(backend)? },
        event: row.get(2).map_err(backend)?,
        project: project.map(|bytes| ProjectId::from_uuid(uuid::Uuid::from_bytes(bytes))),
        seq: row.get(4).map_err(backend)?,
        status: DeliveryStatus::of_number(row.get(5).map_err(backend)?)?,
        due_at_ms: row.get(6).map_err(backend)?,
        attempts: read_attempts(log.as_deref())?,
        body: row.get(8).map_err(backend)?,
    })
}

pub(crate) fn replay(connection: &Connection, webhook: WebhookId, replay: Replay) -> Result<Vec<u64>> {
    let webhook = webhook.uuid();
    let num = |row: &Row<'_>| row.get(0);
    let replayed = match replay {
        Replay::One(id) => connection
            .prepare_cached(
                "UPDATE deliveries SET due_at = 0, status = 0, attempts = 0 \
                 WHERE num = ?1 AND webhook = ?2 AND created_at = ?3 RETURNING num",
            )
            .and_then(|mut update| {
                update.query_map((id.num, webhook.as_bytes(), id.created_at_ms), num)?.collect()
            }),
        Replay::Since { at_ms, only_failed, after } => connection
            .prepare_cached(
                "UPDATE deliveries SET due_at = 0, status = 0, attempts = 0 WHERE num IN \
                 (SELECT num FROM deliveries WHERE webhook = ?1 AND num > ?5 AND due_at IS NULL \
                 AND created_at >= ?2 AND (status = 2 OR NOT ?3) ORDER BY num LIMIT ?4) RETURNING num",
            )
            .and_then(|mut update| {
                let asked = (webhook.as_bytes(), at_ms, only_failed, DELIVERIES_AT_ONCE, after);
                update.query_map(asked, num)?.collect()
            }),
    };
    replayed.map_err(backend)
}

pub(crate) fn backlogs(connection: &Connection) -> Result<Vec<Backlog>> {
    let mut backlogs = Vec::new();
    for webhook in waiting(connection)? {
        let found = connection
            .prepare_cached(
                "SELECT (SELECT sum(bytes) FROM deliveries INDEXED BY deliveries_due \
                 WHERE webhook = ?1 AND due_at IS NOT NULL), team FROM deliveries \
                 WHERE webhook = ?1 AND due_at IS NOT NULL LIMIT 1",
            )
            .and_then(|mut query| {
                query
                    .query_row([webhook.uuid().as_bytes()], |row| {
                        Ok(Backlog { team: TeamId(uuid_of(row, 1)?), webhook, bytes: row.get(0)? })
                    })
                    .optional()
            })
            .map_err(backend)?;
        backlogs.extend(found);
    }
    Ok(backlogs)
}

pub(crate) fn trim(connection: &Connection, webhook: WebhookId, keep: KeepDeliveries) -> Result<bool> {
    let KeepDeliveries { count, bytes, since_ms } = keep;
    let last: Option<i64> = connection
        .prepare_cached(
            "SELECT max(num) FROM (SELECT num, created_at, sum(bytes) OVER kept AS total, \
             row_number() OVER kept AS place FROM deliveries WHERE webhook = ?1 AND due_at IS NULL \
             WINDOW kept AS (ORDER BY num DESC)) WHERE place > ?2 OR total > ?3 OR created_at < ?4",
        )
        .and_then(|mut query| {
            query.query_row((webhook.uuid().as_bytes(), count, bytes, since_ms), |row| row.get(0))
        })
        .map_err(backend)?;
    let Some(last) = last else { return Ok(false) };
    let deleted = connection
        .prepare_cached(
            "DELETE FROM deliveries WHERE num IN (SELECT num FROM deliveries \
             WHERE webhook = ?1 AND num <= ?2 AND due_at IS NULL ORDER BY num LIMIT ?3)",
        )
        .and_then(|mut delete| delete.execute((webhook.uuid().as_bytes(), last, DELIVERIES_AT_ONCE)))
        .map_err(backend)?;
    Ok(u32::try_from(deleted).is_ok_and(|deleted| deleted == DELIVERIES_AT_ONCE))
}

pub(crate) fn forget(connection: &Connection, webhook: WebhookId) -> Result<bool> {
    let deleted = connection
        .prepare_cached(
            "DELETE FROM deliveries WHERE num IN (SELECT num FROM deliveries WHERE webhook = ?1 LIMIT ?2)",
        )
        .and_then(|mut delete| delete.execute((webhook.uuid().as_bytes(), DELIVERIES_AT_ONCE)))
        .map_err(backend)?;
    Ok(u32::try_from(deleted).is_ok_and(|deleted| deleted == DELIVERIES_AT_ONCE))
}
