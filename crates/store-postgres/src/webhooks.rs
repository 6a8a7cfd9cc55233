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
use tokio_postgres::Row;
use uuid::Uuid;

use crate::convert::{damaged, signed, unsigned};
use crate::database::Database;
use crate::transaction::Tx;

/// The webhooks with anything that waits, found by a loose index scan.
const WITH_DUE: &str = "WITH RECURSIVE found (webhook) AS ( \
     (SELECT webhook FROM rowmill.deliveries WHERE due_at IS NOT NULL ORDER BY webhook LIMIT 1) UNION ALL \
     SELECT next.webhook FROM found CROSS JOIN LATERAL (SELECT webhook FROM rowmill.deliveries d \
     WHERE d.due_at IS NOT NULL AND d.webhook > found.webhook ORDER BY d.webhook LIMIT 1) next) \
     SELECT webhook FROM found WHERE EXISTS (SELECT 1 FROM rowmill.deliveries d \
     WHERE d.webhook = found.webhook AND d.due_at <= $1)";

/// Who is to be told of a change; `None` if nobody is.
pub(crate) fn subscribed(subscriptions: Option<&str>) -> Result<Option<Subscribed>> {
    let Some(text) = subscriptions else { return Ok(None) };
    let subscriptions = Subscription::read(text)?;
    Ok(Some(Subscribed { subscriptions, now_ms: SystemClock.now_ms() }))
}

/// Writes deliveries into the outbox, together with the commit.
pub(crate) fn add(tx: &mut Tx, team: TeamId, deliveries: Vec<NewDelivery>) {
    if deliveries.is_empty() {
        return;
    }
    let webhooks: Vec<Uuid> = deliveries.iter().map(|delivery| delivery.webhook.uuid()).collect();
    let projects: Vec<Option<Uuid>> =
        deliveries.iter().map(|delivery| delivery.project.map(ProjectId::uuid)).collect();
    let seqs: Vec<i64> = deliveries.iter().map(|delivery| signed(delivery.seq)).collect();
    let times: Vec<i64> = deliveries.iter().map(|delivery| delivery.created_at_ms).collect();
    let bytes = |delivery: &NewDelivery| i64::try_from(delivery.body.len()).unwrap_or(i64::MAX);
    let bytes: Vec<i64> = deliveries.iter().map(bytes).collect();
    let (events, bodies): (Vec<String>, Vec<String>) =
        deliveries.into_iter().map(|delivery| (delivery.event, delivery.body)).unzip();
    tx.at_last(
        "INSERT INTO rowmill.deliveries (team, webhook, event, project, seq, created_at, due_at, bytes, body) \
         SELECT $1, new.webhook, new.event, new.project, new.seq, new.created_at, 0, new.bytes, new.body \
         FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::int8[], $6::int8[], $7::int8[], $8::text[]) \
         WITH ORDINALITY new (webhook, event, project, seq, created_at, bytes, body, place) ORDER BY new.place",
        vec![
            Box::new(team.0),
            Box::new(webhooks),
            Box::new(events),
            Box::new(projects),
            Box::new(seqs),
            Box::new(times),
            Box::new(bytes),
            Box::new(bodies),
        ],
    );
}

pub(crate) async fn webhooks(tx: &mut Tx, team: TeamId) -> Result<TeamWebhooks> {
    let found =
        tx.query("SELECT version, document FROM rowmill.webhooks WHERE team = $1", &[&team.0]).await?;
    let Some(row) = found.first() else { return Ok(TeamWebhooks::default()) };
    Ok(TeamWebhooks {
        version: unsigned(row.get(0)),
        webhooks: serde_json::from_str(row.get(1)).map_err(damaged)?,
    })
}

pub(crate) async fn teams(tx: &mut Tx) -> Result<Vec<TeamId>> {
    let found =
        tx.query("SELECT team FROM rowmill.webhooks WHERE document <> '[]' ORDER BY team", &[]).await?;
    Ok(found.iter().map(|row| TeamId(row.get(0))).collect())
}

pub(crate) async fn save(tx: &mut Tx, save: &WebhooksSave) -> Result<()> {
    let (document, subscriptions) = save.to_texts()?;
    let WebhooksSave { team, version, webhooks: _, deliveries } = save;
    let version = signed(*version);
    let sql = if version == 0 {
        "INSERT INTO rowmill.webhooks (team, version, document, subscriptions) VALUES ($1, $2::int8 + 1, $3, $4) \
         ON CONFLICT (team) DO NOTHING RETURNING 1"
    } else {
        "UPDATE rowmill.webhooks SET version = $2::int8 + 1, document = $3, subscriptions = $4 \
         WHERE team = $1 AND version = $2 RETURNING 1"
    };
    let written = tx.query(sql, &[&team.0, &version, &document, &subscriptions]).await?;
    if written.is_empty() {
        return Err(StoreError::Stale);
    }
    add(tx, *team, deliveries.clone());
    Ok(())
}

/// The webhooks with a delivery that is due.
pub(crate) async fn with_due(database: &Database, now_ms: i64) -> Result<Vec<WebhookId>> {
    let found = database.ask(WITH_DUE, &[&now_ms]).await?;
    Ok(found.iter().map(|row| WebhookId::from_uuid(row.get(0))).collect())
}

pub(crate) async fn claim(
    tx: &mut Tx,
    shares: &[(WebhookId, u32)],
    claim: &ClaimDeliveries,
) -> Result<Vec<Delivery>> {
    let (webhooks, shares): (Vec<Uuid>, Vec<i64>) =
        shares.iter().map(|(webhook, share)| (webhook.uuid(), i64::from(*share))).unzip();
    let ClaimDeliveries { now_ms, leased_until_ms, .. } = claim;
    let found = tx
        .query(
            "WITH due AS (SELECT d.num, d.due_at FROM unnest($1::uuid[], $2::int8[]) ask (webhook, share) \
             CROSS JOIN LATERAL (SELECT num, due_at FROM rowmill.deliveries \
             WHERE webhook = ask.webhook AND due_at <= $3 ORDER BY due_at, num LIMIT ask.share \
             FOR UPDATE SKIP LOCKED) d) \
             UPDATE rowmill.deliveries d SET due_at = $4 FROM due WHERE d.num = due.num \
             RETURNING d.num, d.created_at, d.team, d.webhook, d.body, d.attempts, due.due_at",
            &[&webhooks, &shares, now_ms, leased_until_ms],
        )
        .await?;
    let mut claimed: Vec<(i64, Delivery)> = found
        .iter()
        .map(|row| {
            let delivery = Delivery {
                id: DeliveryId { num: unsigned(row.get(0)), created_at_ms: row.get(1) },
                team: TeamId(row.get(2)),
                webhook: WebhookId::from_uuid(row.get(3)),
                body: row.get(4),
                attempts: u32::try_from(row.get::<_, i64>(5)).unwrap_or(u32::MAX),
                leased_until_ms: *leased_until_ms,
            };
            (row.get(6), delivery)
        })
        .collect();
    claimed.sort_by_key(|(due_at_ms, delivery)| (*due_at_ms, delivery.id.num));
    Ok(claimed.into_iter().map(|(_, delivery)| delivery).collect())
}

pub(crate) async fn settle(tx: &mut Tx, done: &[DeliverySettlement]) -> Result<()> {
    let nums: Vec<i64> = done.iter().map(|done| signed(done.id.num)).collect();
    let found = tx
        .query(
            // Not locked: only who has the lease writes, and the writes below ask for it again.
            "SELECT num, due_at, log FROM rowmill.deliveries WHERE num = ANY($1)",
            &[&nums],
        )
        .await?;
    let (mut settled, mut leases, mut due, mut statuses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut tried, mut logs, mut forgotten) = (Vec::new(), Vec::new(), (Vec::new(), Vec::new()));
    for row in &found {
        let (num, lease): (i64, Option<i64>) = (row.get(0), row.get(1));
        // Whoever has the delivery now has another lease.
        let is_own =
            |done: &&DeliverySettlement| signed(done.id.num) == num && lease == Some(done.leased_until_ms);
        let Some(done) = done.iter().find(is_own) else { continue };
        let (due_at, status) = match done.outcome {
            DeliveryOutcome::Delivered => (None, DeliveryStatus::Delivered),
            DeliveryOutcome::GivenUp => (None, DeliveryStatus::Failed),
            DeliveryOutcome::Retry(at_ms) => (Some(at_ms), DeliveryStatus::Pending),
            DeliveryOutcome::Forgotten => {
                forgotten.0.push(num);
                forgotten.1.push(lease);
                continue;
            }
        };
        settled.push(num);
        leases.push(lease);
        due.push(due_at);
        statuses.push(status.number());
        tried.push(i64::from(done.attempt.is_some()));
        logs.push(with_attempt(row.get(2), done.attempt.clone()).unwrap_or_default());
    }
    tx.at_last(
        "UPDATE rowmill.deliveries d SET due_at = new.due_at, status = new.status, \
         attempts = d.attempts + new.tried, log = new.log \
         FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::text[]) \
         new (num, lease, due_at, status, tried, log) WHERE d.num = new.num AND d.due_at = new.lease",
        vec![
            Box::new(settled),
            Box::new(leases),
            Box::new(due),
            Box::new(statuses),
            Box::new(tried),
            Box::new(logs),
        ],
    );
    let (forgotten, leases) = forgotten;
    if !forgotten.is_empty() {
        tx.at_last(
            "DELETE FROM rowmill.deliveries d USING unnest($1::int8[], $2::int8[]) gone (num, lease) \
             WHERE d.num = gone.num AND d.due_at = gone.lease",
            vec![Box::new(forgotten), Box::new(leases)],
        );
    }
    Ok(())
}

pub(crate) async fn deliveries(
    tx: &mut Tx,
    webhook: WebhookId,
    before: Option<u64>,
    status: Option<DeliveryStatus>,
    limit: u32,
) -> Result<Vec<DeliveryRecord>> {
    let sql = "SELECT num, created_at, event, project, seq, status, due_at, log, body FROM rowmill.deliveries \
               WHERE webhook = $1 AND num < $2 AND ($3::int8 IS NULL OR status = $3) ORDER BY num DESC LIMIT $4";
    let (before, status) = (before.map_or(i64::MAX, signed), status.map(DeliveryStatus::number));
    let found = tx.query(sql, &[&webhook.uuid(), &before, &status, &i64::from(limit)]).await?;
    found.iter().map(record).collect()
}

pub(crate) async fn delivery(
    tx: &mut Tx,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<Option<DeliveryRecord>> {
    let sql = "SELECT num, created_at, event, project, seq, status, due_at, log, body FROM rowmill.deliveries \
               WHERE num = $1 AND webhook = $2 AND created_at = $3";
    let found = tx.query(sql, &[&signed(id.num), &webhook.uuid(), &id.created_at_ms]).await?;
    found.first().map(record).transpose()
}

fn record(row: &Row) -> Result<DeliveryRecord> {
    Ok(DeliveryRecord {
        id: DeliveryId { num: unsigned(row.get(0)), created_at_ms: row.get(1) },
        event: row.get(2),
        project: row.get::<_, Option<Uuid>>(3).map(ProjectId::from_uuid),
        seq: unsigned(row.get(4)),
        status: DeliveryStatus::of_number(row.get(5))?,
        due_at_ms: row.get(6),
        attempts: read_attempts(row.get(7))?,
        body: row.get(8),
    })
}

pub(crate) async fn replay(tx: &mut Tx, webhook: WebhookId, replay: Replay) -> Result<Vec<u64>> {
    let replayed = match replay {
        Replay::One(id) => {
            let sql = "UPDATE rowmill.deliveries SET due_at = 0, status = 0, attempts = 0 \
                       WHERE num = $1 AND webhook = $2 AND created_at = $3 RETURNING num";
            tx.query(sql, &[&signed(id.num), &webhook.uuid(), &id.created_at_ms]).await?
        }
        Replay::Since { at_ms, only_failed, after } => {
            let sql = "UPDATE rowmill.deliveries SET due_at = 0, status = 0, attempts = 0 WHERE num IN \
                       (SELECT num FROM rowmill.deliveries WHERE webhook = $1 AND num > $5 AND due_at IS NULL \
                       AND created_at >= $2 AND (status = 2 OR NOT $3) ORDER BY num LIMIT $4 \
                       FOR UPDATE) RETURNING num";
            let most = i64::from(DELIVERIES_AT_ONCE);
            tx.query(sql, &[&webhook.uuid(), &at_ms, &only_failed, &most, &signed(after)]).await?
        }
    };
    Ok(replayed.iter().map(|row| unsigned(row.get(0))).collect())
}

pub(crate) async fn backlogs(database: &Database) -> Result<Vec<Backlog>> {
    let sql = "SELECT team, webhook, sum(bytes)::int8 FROM rowmill.deliveries WHERE due_at IS NOT NULL \
               GROUP BY team, webhook";
    let backlog = |row: &Row| Backlog {
        team: TeamId(row.get(0)),
        webhook: WebhookId::from_uuid(row.get(1)),
        bytes: unsigned(row.get(2)),
    };
    Ok(database.ask(sql, &[]).await?.iter().map(backlog).collect())
}

pub(crate) async fn trim(tx: &mut Tx, webhook: WebhookId, keep: KeepDeliveries) -> Result<bool> {
    let KeepDeliveries { count, bytes, since_ms } = keep;
    let deleted = tx
        .query(
            "DELETE FROM rowmill.deliveries WHERE num IN (SELECT num FROM (SELECT num, created_at, \
             sum(bytes) OVER kept AS total, row_number() OVER kept AS place FROM rowmill.deliveries \
             WHERE webhook = $1 AND due_at IS NULL WINDOW kept AS (ORDER BY num DESC)) done \
             WHERE place > $2::int8 OR total > $3::int8 OR created_at < $4::int8 ORDER BY num LIMIT $5) \
             AND due_at IS NULL RETURNING 1",
            &[&webhook.uuid(), &signed(count), &signed(bytes), &since_ms, &i64::from(DELIVERIES_AT_ONCE)],
        )
        .await?;
    Ok(is_all(&deleted))
}

pub(crate) async fn forget(tx: &mut Tx, webhook: WebhookId) -> Result<bool> {
    let sql = "DELETE FROM rowmill.deliveries WHERE num IN \
               (SELECT num FROM rowmill.deliveries WHERE webhook = $1 LIMIT $2) RETURNING 1";
    Ok(is_all(&tx.query(sql, &[&webhook.uuid(), &i64::from(DELIVERIES_AT_ONCE)]).await?))
}

/// Whether there were as many as are taken at once.
fn is_all(rows: &[Row]) -> bool {
    u32::try_from(rows.len()).is_ok_and(|count| count == DELIVERIES_AT_ONCE)
}
