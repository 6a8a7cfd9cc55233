//! Permits for running cells, which teams take turns to get.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rowmill_fairness::{FairSemaphore, Permit, Tenant};
use tokio::sync::Notify;

/// One part in so many of a team's places is there besides, for the cells of other teams.
const RESERVE_PART: usize = 8;

/// A place for each cell that may run at once. Claimed cells wait here for theirs.
#[derive(Debug)]
pub(crate) struct CellPermits {
    semaphore: Arc<FairSemaphore>,
    is_closed: AtomicBool,
    closing: Notify,
    reserve: usize,
}

impl CellPermits {
    /// So many for a team. There are some more in all: whoever comes while one team's slow cells hold all of
    /// theirs need not wait for one of them to end.
    pub(crate) fn new(team_max: usize) -> Self {
        let reserve = (team_max / RESERVE_PART).max(1);
        Self {
            semaphore: FairSemaphore::new(team_max.saturating_add(reserve), team_max),
            is_closed: AtomicBool::new(false),
            closing: Notify::new(),
            reserve,
        }
    }

    /// Waits for a place. `None` once nothing more is to begin.
    pub(crate) async fn take(&self, tenant: Tenant) -> Option<Permit> {
        // Before the look, so that closing in between is not missed.
        let closing = self.closing.notified();
        if self.is_closed() {
            return None;
        }
        if let Some(place) = self.semaphore.try_acquire(tenant) {
            return Some(place);
        }
        tokio::select! {
            biased;
            () = closing => None,
            place = self.semaphore.acquire(tenant) => Some(place),
        }
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.closing.notify_waiters();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Permits beyond those that one team can have.
    pub(crate) fn reserve(&self) -> usize {
        self.reserve
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn one_team_leaves_room_for_another() {
        let places = CellPermits::new(16);
        let mut held = Vec::new();
        for _ in 0..16 {
            held.push(places.take(Tenant::team(1)).now_or_never().flatten().unwrap());
        }
        assert!(places.take(Tenant::team(1)).now_or_never().is_none());
        assert_eq!(places.reserve(), 2);
        held.push(places.take(Tenant::team(2)).now_or_never().flatten().unwrap());
        held.push(places.take(Tenant::team(2)).now_or_never().flatten().unwrap());
        assert!(places.take(Tenant::team(2)).now_or_never().is_none());
    }

    #[tokio::test]
    async fn who_waits_is_told_that_nothing_more_begins() {
        let places = Arc::new(CellPermits::new(1));
        let _held = places.take(Tenant::team(1)).await;
        let waiting = {
            let places = Arc::clone(&places);
            tokio::spawn(async move { places.take(Tenant::team(1)).await.is_none() })
        };
        tokio::task::yield_now().await;
        places.close();
        assert!(waiting.await.unwrap());
        assert!(places.take(Tenant::team(2)).await.is_none());
    }
}
