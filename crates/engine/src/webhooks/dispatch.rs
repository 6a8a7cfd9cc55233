//! Claims deliveries as receivers have room for them, and hands each to a task of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rowmill_model::{TeamId, Webhook};
use rowmill_store::Result;
use rowmill_store::webhooks::{ClaimDeliveries, Delivery};

use super::receivers::WINDOW_START;
use super::send;
use super::shared::Shared;

/// How long to wait after the store failed.
const STORE_PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn dispatch(shared: Arc<Shared>) {
    loop {
        let pause = match claim(&shared).await {
            Ok(0) => {
                let rested = shared.receivers.next_rested(shared.clock.monotonic());
                shared.config.look_every.min(rested.unwrap_or(Duration::MAX))
            }
            Ok(_) => continue,
            Err(error) => {
                tracing::warn!(%error, "could not claim webhook deliveries; will retry");
                STORE_PAUSE
            }
        };
        tokio::select! {
            () = shared.wake.notified() => {}
            () = shared.clock.sleep(pause) => {}
        }
    }
}

/// Claims what there is room for and begins it; says how many.
async fn claim(shared: &Arc<Shared>) -> Result<usize> {
    let free = shared.config.at_once_max.saturating_sub(shared.in_flight.load(Ordering::Acquire));
    if free == 0 {
        return Ok(0);
    }
    let now_ms = shared.clock.now_ms();
    let lease = shared.config.timeout + shared.config.lease;
    let claim = ClaimDeliveries {
        now_ms,
        leased_until_ms: now_ms + i64::try_from(lease.as_millis()).unwrap_or(i64::MAX / 4),
        each: WINDOW_START,
        rooms: shared.receivers.rooms(shared.clock.monotonic()),
        most: u32::try_from(free).unwrap_or(u32::MAX),
    };
    let claimed = shared.store.claim_deliveries(claim).await?;
    let count = claimed.len();
    let mut teams: HashMap<TeamId, Vec<Webhook>> = HashMap::new();
    for delivery in claimed {
        let team = delivery.team;
        if let std::collections::hash_map::Entry::Vacant(vacant) = teams.entry(team) {
            // What was claimed and is not begun is due again when the lease ends.
            vacant.insert(shared.store.webhooks(team).await?.webhooks);
        }
        let webhooks = teams.get(&team).map(Vec::as_slice).unwrap_or_default();
        let webhook = webhooks.iter().find(|webhook| webhook.id == delivery.webhook).cloned();
        begin(shared, delivery, webhook);
    }
    Ok(count)
}

fn begin(shared: &Arc<Shared>, delivery: Delivery, webhook: Option<Webhook>) {
    if webhook.as_ref().is_some_and(|webhook| webhook.dropping_since_ms.is_some()) {
        shared.dropping.lock().insert(delivery.webhook, delivery.team);
    }
    shared.receivers.begin(delivery.webhook);
    shared.in_flight.fetch_add(1, Ordering::AcqRel);
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let webhook_id = delivery.webhook;
        let (done, health) = send::deliver(&shared, delivery, webhook).await;
        shared.settle(done);
        shared.touched.lock().insert(webhook_id);
        shared.receivers.end(webhook_id, health, shared.clock.monotonic());
        shared.in_flight.fetch_sub(1, Ordering::AcqRel);
        shared.wake.notify_one();
    });
}
