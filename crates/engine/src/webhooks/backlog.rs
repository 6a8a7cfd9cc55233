//! Keeps the outbox within its bounds: where too much waits, events are dropped until it does not, and the log of
//! deliveries that are done is trimmed.

use std::sync::Arc;
use std::time::Duration;

use rowmill_model::webhook::{GAP_EVENT, Gap};
use rowmill_model::{TeamId, Webhook, WebhookId};
use rowmill_store::changes::timestamp;
use rowmill_store::webhooks::{KeepDeliveries, NewDelivery, WebhooksSave};
use rowmill_store::{Result, StoreError};
use serde_json::json;

use super::shared::Shared;

/// How often it is looked at how much waits.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the log is trimmed, in looks.
const TRIM_EVERY: u32 = 10;

pub(super) async fn watch(shared: Arc<Shared>) {
    let mut looks = 0_u32;
    let mut knows_all = false;
    loop {
        if !knows_all {
            knows_all = find_dropping(&shared).await.is_ok();
        }
        if let Err(error) = look(&shared).await {
            tracing::debug!(%error, "could not look at the webhooks' backlogs");
        }
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(TRIM_EVERY)
            && let Err(error) = trim(&shared).await
        {
            tracing::debug!(%error, "could not trim the log of webhook deliveries");
        }
        shared.clock.sleep(LOOK_EVERY).await;
    }
}

/// Which webhooks drop events since before this process began.
async fn find_dropping(shared: &Shared) -> Result<()> {
    for team in shared.store.webhook_teams().await? {
        for webhook in shared.store.webhooks(team).await?.webhooks {
            if webhook.dropping_since_ms.is_some() {
                shared.dropping.lock().insert(webhook.id, team);
            }
        }
    }
    Ok(())
}

async fn look(shared: &Shared) -> Result<()> {
    let max = shared.config.backlog_bytes_max;
    let backlogs = shared.store.backlogs().await?;
    for backlog in backlogs.iter().filter(|backlog| backlog.bytes > max) {
        set_dropping(shared, backlog.team, backlog.webhook, true).await?;
        shared.dropping.lock().insert(backlog.webhook, backlog.team);
    }
    let dropping: Vec<(WebhookId, TeamId)> =
        shared.dropping.lock().iter().map(|(webhook, team)| (*webhook, *team)).collect();
    for (webhook, team) in dropping {
        let waiting = backlogs.iter().find(|backlog| backlog.webhook == webhook);
        if waiting.is_none_or(|backlog| backlog.bytes <= max / 2) {
            set_dropping(shared, team, webhook, false).await?;
            shared.dropping.lock().remove(&webhook);
        }
    }
    Ok(())
}

/// Begins or ends to drop a webhook's events. When it ends, the receiver is told.
async fn set_dropping(shared: &Shared, team: TeamId, id: WebhookId, is_dropping: bool) -> Result<()> {
    let mut stored = shared.store.webhooks(team).await?;
    let now_ms = shared.clock.now_ms();
    let webhook = stored.webhooks.iter_mut().find(|webhook| webhook.id == id);
    let Some(webhook) = webhook else { return Ok(()) };
    let mut deliveries = Vec::new();
    match (webhook.dropping_since_ms, is_dropping) {
        (None, true) => {
            tracing::warn!(%team, webhook = %id, "too many events wait for a webhook; new ones are dropped");
            webhook.dropping_since_ms = Some(now_ms);
        }
        (Some(from_ms), false) => {
            webhook.dropping_since_ms = None;
            let gap = Gap { from_ms, to_ms: now_ms };
            webhook.last_gap = Some(gap);
            deliveries.push(told(webhook, gap));
        }
        (Some(_), true) | (None, false) => return Ok(()),
    }
    let (version, webhooks) = (stored.version, stored.webhooks);
    match shared.store.save_webhooks(WebhooksSave { team, version, webhooks, deliveries }).await {
        // Another node does the same, or somebody changes it: the next look will tell.
        Err(StoreError::Stale) => Ok(()),
        outcome => outcome,
    }
}

fn told(webhook: &Webhook, gap: Gap) -> NewDelivery {
    let body = json!({
        "type": GAP_EVENT,
        "timestamp": timestamp(gap.to_ms),
        "data": { "from": timestamp(gap.from_ms), "to": timestamp(gap.to_ms) },
    });
    NewDelivery {
        webhook: webhook.id,
        event: GAP_EVENT.to_owned(),
        project: None,
        seq: 0,
        created_at_ms: gap.to_ms,
        body: body.to_string(),
    }
}

async fn trim(shared: &Shared) -> Result<()> {
    let kept_for_ms = i64::try_from(shared.config.kept_for.as_millis()).unwrap_or(i64::MAX);
    let keep = KeepDeliveries {
        count: shared.config.kept_count,
        bytes: shared.config.kept_bytes,
        since_ms: shared.clock.now_ms().saturating_sub(kept_for_ms),
    };
    let touched = std::mem::take(&mut *shared.touched.lock());
    for webhook in touched {
        while shared.store.trim_deliveries(webhook, keep).await? {}
    }
    Ok(())
}
