//! Claims deliveries as receivers have room for them, and hands each to a task of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rowmill_model::{TeamId, Webhook, WebhookId};
use rowmill_store::Result;
use rowmill_store::webhooks::{ClaimDeliveries, Delivery};

use super::receivers::WINDOW_START;
use super::send;
use super::shared::Shared;

/// How long to wait after the store failed.
const STORE_PAUSE: Duration = Duration::from_millis(500);
/// How long deliveries gather once all that were due are claimed. Every look into the outbox takes several statements, so
/// one for many deliveries leaves the database to the cells that they tell of.
pub(super) const GATHERED_FOR: Duration = Duration::from_millis(20);

pub(super) async fn dispatch(shared: Arc<Shared>) {
    loop {
        let pause = match claim(&shared).await {
            Ok(Claimed::SomeOfMore) => continue,
            Ok(claimed) => {
                if claimed == Claimed::All {
                    shared.clock.sleep(GATHERED_FOR).await;
                }
                let rested = shared.receivers.next_rested(shared.clock.monotonic());
                shared.config.look_every.min(rested.unwrap_or(Duration::MAX))
            }
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

/// What a claim found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claimed {
    /// Nothing is due, or there is no room for it.
    Nothing,
    /// All that was due and had room.
    All,
    /// As much as there was room for: more may be due.
    SomeOfMore,
}

impl Claimed {
    fn of(claim: &ClaimDeliveries, claimed: &[Delivery]) -> Self {
        if claimed.is_empty() {
            return Self::Nothing;
        }
        let mut counts: HashMap<WebhookId, u32> = HashMap::new();
        for delivery in claimed {
            *counts.entry(delivery.webhook).or_default() += 1;
        }
        let is_full = |(webhook, count): (&WebhookId, &u32)| *count >= claim.room(*webhook);
        let in_all: u32 = counts.values().sum();
        if in_all >= claim.most || counts.iter().any(is_full) { Self::SomeOfMore } else { Self::All }
    }
}

/// Claims what there is room for and begins it.
async fn claim(shared: &Arc<Shared>) -> Result<Claimed> {
    let free = shared.config.at_once_max.saturating_sub(shared.in_flight.load(Ordering::Acquire));
    if free == 0 {
        return Ok(Claimed::Nothing);
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
    let claimed = shared.store.claim_deliveries(claim.clone()).await?;
    let found = Claimed::of(&claim, &claimed);
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
    Ok(found)
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

#[cfg(test)]
mod tests {
    use rowmill_store::webhooks::DeliveryId;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn deliveries_gather_only_when_none_is_held_back() {
        let id = |number| WebhookId::from_uuid(Uuid::from_u128(number));
        let claimed = |counts: &[(u128, u32)], most: u32| {
            let claim = ClaimDeliveries {
                now_ms: 0,
                leased_until_ms: 9,
                each: 4,
                rooms: vec![(id(2), 32), (id(3), 0)],
                most,
            };
            let delivery = |webhook| Delivery {
                id: DeliveryId { num: 1, created_at_ms: 0 },
                team: TeamId(Uuid::nil()),
                webhook,
                body: String::new(),
                attempts: 0,
                leased_until_ms: 9,
            };
            let of = |(number, count): &(u128, u32)| vec![delivery(id(*number)); *count as usize];
            Claimed::of(&claim, &counts.iter().flat_map(of).collect::<Vec<_>>())
        };
        assert_eq!(claimed(&[], 512), Claimed::Nothing);
        assert_eq!(claimed(&[(1, 3), (2, 31)], 512), Claimed::All);
        assert_eq!(claimed(&[(1, 4), (2, 1)], 512), Claimed::SomeOfMore);
        assert_eq!(claimed(&[(1, 1), (2, 32)], 512), Claimed::SomeOfMore);
        assert_eq!(claimed(&[(1, 1), (2, 2)], 3), Claimed::SomeOfMore, "there is no room at all");
    }
}
