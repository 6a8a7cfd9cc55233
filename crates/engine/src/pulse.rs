//! Signs of life, and the search for those who give none.

use std::collections::BTreeSet;
use std::sync::Arc;

use rowmill_model::{CellError, ErrorCode};
use rowmill_store::{CellResult, Settlement, Ticket};

use crate::engine::Shared;
use crate::registry::Strays;

/// Says in time that this worker lives, and lets go of what it does not hold any more.
pub(crate) async fn beat(shared: Arc<Shared>) {
    let mut strays = Strays::new();
    loop {
        tokio::select! {
            biased;
            () = shared.doubt.notified() => {}
            () = shared.clock.sleep(shared.config.lease / 3) => {}
        }
        // Only what ran before the question can be missing in the answer.
        let known = shared.registry.running();
        match shared.store.heartbeat(shared.worker, shared.expires_at_ms()).await {
            Ok(held) => {
                let held: BTreeSet<Ticket> = held.into_iter().collect();
                shared.registry.keep_only(&known, &held);
                strays = give_back_strays(&shared, &strays, &held);
            }
            Err(error) => shared.store_failed("heartbeat", &error).await,
        }
    }
}

/// A claim whose answer was lost leaves cells in this worker's name that it does not know of. Seen twice, and once
/// no claim can bring them any more, they are such and are put back.
fn give_back_strays(shared: &Shared, before: &Strays, held: &BTreeSet<Ticket>) -> Strays {
    let (lost, strays) = shared.registry.strays(held, before);
    for ticket in lost {
        let message = "The server lost sight of this cell and begins it anew.".to_owned();
        let error = CellError { code: ErrorCode::ProviderError, message };
        let result = CellResult::Later(shared.clock.now().as_millisecond(), error);
        shared.registry.give_back(Settlement { ticket, result });
    }
    strays
}

/// Queues again what lost workers held.
pub(crate) async fn find_lost(shared: Arc<Shared>) {
    loop {
        let now_ms = shared.clock.now().as_millisecond();
        match shared.store.requeue_lost(now_ms).await {
            Ok(0) => {}
            Ok(cells) => tracing::warn!(cells, "a worker was lost: its cells are queued again"),
            Err(error) => shared.store_failed("requeue_lost", &error).await,
        }
        shared.clock.sleep(shared.config.lease / 2).await;
    }
}
