//! Heartbeats: this worker renews its lease, and requeues the cells of workers whose lease ran out.

use std::collections::BTreeSet;
use std::sync::Arc;

use rowmill_model::cell::Meta;
use rowmill_store::{CellResult, Settlement, Ticket};

use crate::in_flight::OrphanedTickets;
use crate::shared::Shared;

/// Says in time that this worker lives, and lets go of what it does not hold any more.
pub(crate) async fn send_heartbeats(shared: Arc<Shared>) {
    let mut orphans = OrphanedTickets::new();
    loop {
        tokio::select! {
            biased;
            () = shared.recheck.notified() => {}
            () = shared.clock.sleep(shared.config.lease / 3) => {}
        }
        // Only what ran before the question can be missing in the answer.
        let known = shared.in_flight.running();
        match shared.store.heartbeat(shared.worker, shared.expires_at_ms()).await {
            Ok(held) => {
                shared.heartbeat.sent(shared.clock.now(), shared.config.lease);
                let held: BTreeSet<Ticket> = held.into_iter().collect();
                shared.in_flight.abort_unheld(&known, &held);
                shared.wake.notify_one();
                orphans = give_back_orphans(&shared, &orphans, &held);
            }
            Err(error) => shared.store_failed("heartbeat", &error).await,
        }
    }
}

/// A claim whose answer was lost leaves cells in this worker's name that it does not know of. Seen twice, and once
/// no claim can bring them any more, they are such and are put back.
fn give_back_orphans(shared: &Shared, before: &OrphanedTickets, held: &BTreeSet<Ticket>) -> OrphanedTickets {
    let (lost, orphans) = shared.in_flight.orphans(held, before);
    for ticket in lost {
        let at_ms = shared.clock.now().as_millisecond();
        let result = CellResult::Later { at_ms, error: None, ends_at_ms: None, meta: Meta::new() };
        shared.in_flight.give_back(Settlement { ticket, result });
    }
    orphans
}

/// Queues again what lost workers held.
pub(crate) async fn requeue_lost_workers(shared: Arc<Shared>) {
    loop {
        let now = shared.clock.now();
        if shared.heartbeat.can_expire_others(now, shared.config.lease) {
            match shared.store.requeue_lost(now.as_millisecond()).await {
                Ok(0) => {}
                Ok(cells) => tracing::warn!(cells, "a worker was lost; its cells are queued again"),
                Err(error) => shared.store_failed("requeue_lost", &error).await,
            }
        }
        shared.clock.sleep(shared.config.lease / 2).await;
    }
}
