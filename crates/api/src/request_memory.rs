//! A budget for the memory of requests in flight: bodies that are being read and parsed, of all callers together.
//!
//! Without it a hundred bodies of 31 MB at once take 3 GB. A request is charged three times the bytes of its body,
//! which is the most that reading and parsing it takes, and is refused before it is read where that does not fit.
//!
//! Shares are fair: the first request of a team gets in wherever there is room, and further ones of that team only
//! while they leave the others as much as the team itself holds. All callers without a key count as one team.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rowmill_fairness::Tenant;

use crate::error::Error;

/// What a body takes at most while it is read and parsed, for each of its bytes.
const CHARGE_FACTOR: usize = 3;

/// Less than this would refuse ordinary requests.
const BYTES_MIN: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct RequestMemory {
    bytes_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    /// What each tenant holds; a tenant that holds nothing has no entry.
    held: HashMap<Tenant, usize>,
}

/// A request's part of the budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    memory: Arc<RequestMemory>,
    tenant: Tenant,
    charged: usize,
}

impl RequestMemory {
    pub(crate) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { bytes_max: bytes_max.max(BYTES_MIN), state: Mutex::default() })
    }

    /// The budget's part for the tenant that is served now, nothing so far.
    pub(crate) fn reserve(self: &Arc<Self>) -> Reservation {
        Reservation { memory: Arc::clone(self), tenant: Tenant::current(), charged: 0 }
    }

    /// What a body of so many bytes is charged. One body never takes more than half, so that the largest gets in
    /// where the budget is small, and others beside it.
    fn charge(&self, body_bytes: usize) -> usize {
        body_bytes.saturating_mul(CHARGE_FACTOR).min(self.bytes_max / 2)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Holds enough for a body of so many bytes, or refuses it. Never less than before.
    pub(crate) fn grow_to(&mut self, body_bytes: usize) -> Result<(), Error> {
        let more = self.memory.charge(body_bytes).saturating_sub(self.charged);
        if more == 0 {
            return Ok(());
        }
        let mut state = self.memory.state();
        let held = state.held.get(&self.tenant).copied().unwrap_or(0);
        let is_only = held == self.charged;
        let others = state.used - held;
        let fits = state.used + more <= self.memory.bytes_max;
        let is_fair = is_only || held + more <= (self.memory.bytes_max - others) / 2;
        if !(fits && is_fair) {
            return Err(Error::Busy);
        }
        state.used += more;
        *state.held.entry(self.tenant).or_default() += more;
        self.charged += more;
        metrics::gauge!("rowmill_request_memory_bytes").set(gauge(state.used));
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.charged == 0 {
            return;
        }
        let mut state = self.memory.state();
        state.used -= self.charged;
        if let Some(held) = state.held.get_mut(&self.tenant) {
            *held -= self.charged;
            if *held == 0 {
                state.held.remove(&self.tenant);
            }
        }
        metrics::gauge!("rowmill_request_memory_bytes").set(gauge(state.used));
    }
}

#[expect(clippy::cast_precision_loss, reason = "a measurement of bytes needs no more than 53 bits")]
fn gauge(bytes: usize) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1024 * 1024;

    /// A budget of 120 MB, so that a body of 20 MB takes half of it.
    struct Bench(Arc<RequestMemory>);

    impl Bench {
        async fn admit(&self, team: u128, body_bytes: usize) -> Option<Reservation> {
            Tenant::team(team)
                .scope(async {
                    let mut reservation = self.0.reserve();
                    reservation.grow_to(body_bytes).ok().map(|()| reservation)
                })
                .await
        }
    }

    #[tokio::test]
    async fn a_team_leaves_the_others_as_much_as_it_holds() {
        let bench = Bench(RequestMemory::new(120 * MB));
        let first = bench.admit(1, 10 * MB).await.unwrap();
        let second = bench.admit(1, 10 * MB).await.unwrap();
        assert!(bench.admit(1, MB).await.is_none(), "half is the most of one team");
        let other = bench.admit(2, 10 * MB).await.unwrap();
        assert!(bench.admit(1, 1).await.is_none());
        assert!(bench.admit(2, MB).await.is_none(), "half of what the first left");
        let third = bench.admit(3, 5 * MB).await.unwrap();
        drop((first, second));
        assert!(bench.admit(2, 4 * MB).await.is_some());
        drop((other, third));
        let state = bench.0.state();
        assert_eq!((state.used, state.held.len()), (0, 0));
    }

    #[tokio::test]
    async fn the_largest_body_gets_in_and_leaves_room() {
        let bench = Bench(RequestMemory::new(1));
        assert_eq!(bench.0.bytes_max, BYTES_MIN);
        let large = bench.admit(1, 32 * MB).await.unwrap();
        assert!(bench.admit(2, MB).await.is_some());
        assert!(bench.admit(1, 1).await.is_none());
        drop(large);
        assert!(bench.admit(1, 1).await.is_some());
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_charged_as_it_grows() {
        let bench = Bench(RequestMemory::new(120 * MB));
        let _others = bench.admit(1, 20 * MB).await.unwrap();
        let mut growing = bench.admit(2, MB).await.unwrap();
        growing.grow_to(20 * MB).unwrap();
        growing.grow_to(10 * MB).unwrap();
        assert_eq!(growing.charged, 60 * MB);
        assert!(bench.admit(3, 1).await.is_none());
        drop(growing);
        assert!(bench.admit(3, 1).await.is_some());
    }
}
