//! When this worker may take another one for lost.

use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

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
    pub(crate) fn sent(&self, now: Timestamp, lease: Duration) {
        let mut beats = self.0.lock();
        if is_late(beats.last, now, lease) {
            beats.grace_until = now.checked_add(lease).ok();
        }
        beats.last = now;
    }

    pub(crate) fn can_expire_others(&self, now: Timestamp, lease: Duration) -> bool {
        let beats = self.0.lock();
        !is_late(beats.last, now, lease) && beats.grace_until.is_none_or(|until| until <= now)
    }
}

/// Signs are given three times in a lease.
fn is_late(last: Timestamp, now: Timestamp, lease: Duration) -> bool {
    last.checked_add(lease * 2 / 3).is_ok_and(|due| due < now)
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
