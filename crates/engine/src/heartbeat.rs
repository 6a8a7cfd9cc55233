//! Heartbeats: this worker renews its lease, and requeues the cells of workers whose lease ran out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::{CellError, ErrorCode};
use rowmill_store::{CellResult, Settlement, Ticket};

use crate::engine::Shared;
use crate::in_flight::OrphanedTickets;

/// Whether this worker can tell who is lost. When the store could not be reached for a while nobody could say that
/// they live, and all of them seem lost when it is back. Who has missed a sign of its own then waits until the others
/// had time to give theirs.
#[derive(Debug)]
pub(crate) struct Heartbeat(Mutex<Beats>);

#[derive(Debug)]
struct Beats {
    last: Timestamp,
    grace_until: Option<Timestamp>,
}

impl Heartbeat {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self(Mutex::new(Beats { last: now, grace_until: None }))
    }

    /// This worker's sign has reached the store.
    fn sent(&self, now: Timestamp, lease: Duration) {
        let mut beats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_late(beats.last, now, lease) {
            beats.grace_until = now.checked_add(lease).ok();
        }
        beats.last = now;
    }

    fn can_expire_others(&self, now: Timestamp, lease: Duration) -> bool {
        let beats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !is_late(beats.last, now, lease) && beats.grace_until.is_none_or(|until| until <= now)
    }
}

/// Signs are given three times in a lease.
fn is_late(last: Timestamp, now: Timestamp, lease: Duration) -> bool {
    last.checked_add(lease * 2 / 3).is_ok_and(|due| due < now)
}

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
        let message = "The worker was lost. The cell is queued again.".to_owned();
        let error = CellError { code: ErrorCode::ProviderError, message };
        let result = CellResult::Later(shared.clock.now().as_millisecond(), error);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_cut_off_judges_nobody_until_all_had_time_to_be_heard() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let lease = Duration::from_secs(30);
        let heartbeat = Heartbeat::new(at(0));
        assert!(heartbeat.can_expire_others(at(0), lease), "what a crash left is found at once");
        heartbeat.sent(at(10), lease);
        heartbeat.sent(at(20), lease);
        assert!(heartbeat.can_expire_others(at(40), lease));
        assert!(!heartbeat.can_expire_others(at(41), lease), "its own sign is missing");
        heartbeat.sent(at(70), lease);
        heartbeat.sent(at(80), lease);
        heartbeat.sent(at(90), lease);
        assert!(!heartbeat.can_expire_others(at(99), lease), "others may not have been heard again yet");
        assert!(heartbeat.can_expire_others(at(100), lease));
    }
}
