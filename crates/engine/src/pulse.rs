//! Signs of life, and the search for those who give none.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::{CellError, ErrorCode};
use rowmill_store::{CellResult, Settlement, Ticket};

use crate::engine::Shared;
use crate::registry::Strays;

/// Whether this worker can tell who is lost. When the store could not be reached for a while nobody could say that
/// they live, and all of them seem lost when it is back. Who has missed a sign of its own then waits until the others
/// had time to give theirs.
#[derive(Debug)]
pub(crate) struct Pulse(Mutex<Signs>);

#[derive(Debug)]
struct Signs {
    last: Timestamp,
    wary_until: Option<Timestamp>,
}

impl Pulse {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self(Mutex::new(Signs { last: now, wary_until: None }))
    }

    /// This worker's sign has reached the store.
    fn given(&self, now: Timestamp, lease: Duration) {
        let mut signs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if is_late(signs.last, now, lease) {
            signs.wary_until = now.checked_add(lease).ok();
        }
        signs.last = now;
    }

    fn can_judge(&self, now: Timestamp, lease: Duration) -> bool {
        let signs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !is_late(signs.last, now, lease) && signs.wary_until.is_none_or(|until| until <= now)
    }
}

/// Signs are given three times in a lease.
fn is_late(last: Timestamp, now: Timestamp, lease: Duration) -> bool {
    last.checked_add(lease * 2 / 3).is_ok_and(|due| due < now)
}

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
                shared.pulse.given(shared.clock.now(), shared.config.lease);
                let held: BTreeSet<Ticket> = held.into_iter().collect();
                shared.registry.keep_only(&known, &held);
                shared.wake.notify_one();
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
        let now = shared.clock.now();
        if shared.pulse.can_judge(now, shared.config.lease) {
            match shared.store.requeue_lost(now.as_millisecond()).await {
                Ok(0) => {}
                Ok(cells) => tracing::warn!(cells, "a worker was lost: its cells are queued again"),
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
        let pulse = Pulse::new(at(0));
        assert!(pulse.can_judge(at(0), lease), "what a crash left is found at once");
        pulse.given(at(10), lease);
        pulse.given(at(20), lease);
        assert!(pulse.can_judge(at(40), lease));
        assert!(!pulse.can_judge(at(41), lease), "its own sign is missing");
        pulse.given(at(70), lease);
        pulse.given(at(80), lease);
        pulse.given(at(90), lease);
        assert!(!pulse.can_judge(at(99), lease), "others may not have been heard again yet");
        assert!(pulse.can_judge(at(100), lease));
    }
}
