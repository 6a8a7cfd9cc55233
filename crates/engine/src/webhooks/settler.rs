//! Writes what became of deliveries, many at once.

use std::sync::Arc;
use std::time::Duration;

use rowmill_store::webhooks::DeliverySettlement;
use tokio::sync::mpsc::UnboundedReceiver;

use super::dispatch::GATHERED_FOR;
use super::shared::Shared;

/// Outcomes written in one transaction.
const AT_ONCE_MAX: usize = 500;
/// How often the store is asked to write some, and how long to wait in between.
const TRIES_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn settle(shared: Arc<Shared>, mut outcomes: UnboundedReceiver<DeliverySettlement>) {
    let mut done = Vec::with_capacity(AT_ONCE_MAX);
    while outcomes.recv_many(&mut done, AT_ONCE_MAX).await > 0 {
        let some = std::mem::take(&mut done);
        for tried in 1..=TRIES_MAX {
            let Err(error) = shared.store.settle_deliveries(some.clone()).await else { break };
            // What is not written is delivered again.
            tracing::warn!(%error, tried, deliveries = some.len(), "could not save what became of webhook deliveries");
            shared.clock.sleep(PAUSE).await;
        }
        // The next ones gather meanwhile: one transaction for many costs the database less.
        if some.len() < AT_ONCE_MAX {
            shared.clock.sleep(GATHERED_FOR).await;
        }
    }
}
