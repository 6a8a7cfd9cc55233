//! A fair semaphore: waiting tenants take turns, and none may hold more than its share.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::tenant::Tenant;

/// Permits that tenants take turns to get.
///
/// A freed permit goes to the tenant that was served least recently (round robin), and among the requests of
/// one tenant to the oldest. A tenant holds at most `each_max` permits, so that with `each_max < permits` a
/// newcomer need not wait until somebody's long work ends.
#[derive(Debug)]
pub struct FairSemaphore {
    each_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: usize,
    /// Permits in use, by tenant; a tenant without any has no entry.
    held: HashMap<Tenant, usize>,
    waiting: HashMap<Tenant, VecDeque<oneshot::Sender<Permit>>>,
    /// Tenants that wait, the next one to be served first. Each has an entry in `waiting`.
    turns: VecDeque<Tenant>,
}

/// The right to go on, given back when it is dropped.
#[derive(Debug)]
pub struct Permit {
    tenant: Tenant,
    /// `None` once it was given back.
    semaphore: Option<Arc<FairSemaphore>>,
}

impl FairSemaphore {
    /// `each_max` is at least 1 and at most `permits`, whatever is asked for.
    pub fn new(permits: usize, each_max: usize) -> Arc<Self> {
        let state = State { free: permits.max(1), ..State::default() };
        Arc::new(Self { each_max: each_max.clamp(1, permits.max(1)), state: Mutex::new(state) })
    }

    /// Waits for this tenant's turn. Dropping the future gives up the place in the queue.
    pub async fn acquire(self: &Arc<Self>, tenant: Tenant) -> Permit {
        let turn = {
            let mut state = self.state();
            if let Some(permit) = self.take_free(&mut state, tenant) {
                return permit;
            }
            let (sender, receiver) = oneshot::channel();
            let line = state.waiting.entry(tenant).or_default();
            let is_new = line.is_empty();
            line.push_back(sender);
            if is_new {
                state.turns.push_back(tenant);
            }
            receiver
        };
        match turn.await {
            Ok(permit) => permit,
            // Cannot happen: a waiting sender is dropped only with the semaphore, which `self` holds.
            Err(_) => Permit { tenant, semaphore: None },
        }
    }

    /// A permit if one is to be had at once, without overtaking this tenant's own requests that wait.
    pub fn try_acquire(self: &Arc<Self>, tenant: Tenant) -> Option<Permit> {
        self.take_free(&mut self.state(), tenant)
    }

    fn take_free(self: &Arc<Self>, state: &mut State, tenant: Tenant) -> Option<Permit> {
        let is_within_share = state.held.get(&tenant).copied().unwrap_or(0) < self.each_max;
        let nobody_before = !state.waiting.contains_key(&tenant);
        (state.free > 0 && is_within_share && nobody_before).then(|| self.grant(state, tenant))
    }

    fn grant(self: &Arc<Self>, state: &mut State, tenant: Tenant) -> Permit {
        state.free -= 1;
        *state.held.entry(tenant).or_default() += 1;
        Permit { tenant, semaphore: Some(Arc::clone(self)) }
    }

    fn release(self: &Arc<Self>, tenant: Tenant) {
        let mut state = self.state();
        state.give_back(tenant);
        while state.free > 0
            && let Some((tenant, waiter)) = state.next_waiter(self.each_max)
        {
            let permit = self.grant(&mut state, tenant);
            // Who gave up waiting leaves the permit to the next.
            if let Err(mut permit) = waiter.send(permit) {
                permit.semaphore = None;
                state.give_back(tenant);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn give_back(&mut self, tenant: Tenant) {
        self.free += 1;
        if let Some(held) = self.held.get_mut(&tenant) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&tenant);
            }
        }
    }

    /// The first in the line of the tenant whose turn it is, among those below their share. That tenant's next
    /// turn comes after everybody else's.
    fn next_waiter(&mut self, each_max: usize) -> Option<(Tenant, oneshot::Sender<Permit>)> {
        let may = |tenant: &Tenant| self.held.get(tenant).copied().unwrap_or(0) < each_max;
        let at = self.turns.iter().position(may)?;
        let tenant = self.turns.remove(at)?;
        let line = self.waiting.get_mut(&tenant)?;
        let waiter = line.pop_front();
        if line.is_empty() {
            self.waiting.remove(&tenant);
        } else {
            self.turns.push_back(tenant);
        }
        Some((tenant, waiter?))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(semaphore) = self.semaphore.take() {
            semaphore.release(self.tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};

    use futures_util::FutureExt as _;

    use super::*;

    fn team(number: u128) -> Tenant {
        Tenant::team(number)
    }

    /// Polls once: the permit, if it is there.
    fn poll(wait: Pin<&mut impl Future<Output = Permit>>) -> Option<Permit> {
        wait.now_or_never()
    }

    #[tokio::test]
    async fn tenants_take_turns() {
        let semaphore = FairSemaphore::new(1, 1);
        let first = semaphore.acquire(team(1)).await;
        let (a, b) = (semaphore.acquire(team(1)), semaphore.acquire(team(1)));
        let (mut a, mut b, mut quiet) = (pin!(a), pin!(b), pin!(semaphore.acquire(team(2))));
        assert!(poll(a.as_mut()).is_none() && poll(b.as_mut()).is_none() && poll(quiet.as_mut()).is_none());

        drop(first);
        let second = poll(a.as_mut()).unwrap();
        assert!(poll(b.as_mut()).is_none() && poll(quiet.as_mut()).is_none());
        drop(second);
        let third = poll(quiet.as_mut()).unwrap();
        assert!(poll(b.as_mut()).is_none(), "the second tenant comes before the first one's third request");
        drop(third);
        assert!(poll(b.as_mut()).is_some());
    }

    #[tokio::test]
    async fn nobody_holds_more_than_their_share() {
        let semaphore = FairSemaphore::new(3, 2);
        let (_one, two) = (semaphore.acquire(team(1)).await, semaphore.acquire(team(1)).await);
        assert!(semaphore.try_acquire(team(1)).is_none());
        let mut third = pin!(semaphore.acquire(team(1)));
        assert!(poll(third.as_mut()).is_none());
        assert!(semaphore.try_acquire(team(2)).is_some(), "a newcomer finds a permit at once");
        drop(two);
        assert!(poll(third.as_mut()).is_some());
    }

    #[tokio::test]
    async fn who_gives_up_loses_no_permit() {
        let semaphore = FairSemaphore::new(1, 1);
        let held = semaphore.acquire(team(1)).await;
        {
            let mut gone = pin!(semaphore.acquire(team(2)));
            assert!(poll(gone.as_mut()).is_none());
        }
        let mut last = pin!(semaphore.acquire(team(3)));
        assert!(poll(last.as_mut()).is_none());
        drop(held);
        drop(poll(last.as_mut()).unwrap());

        let held = semaphore.acquire(team(1)).await;
        {
            // Given the permit, but dropped before it took it.
            let mut gone = pin!(semaphore.acquire(team(2)));
            assert!(poll(gone.as_mut()).is_none());
            drop(held);
        }
        assert!(semaphore.try_acquire(team(3)).is_some());
        let state = semaphore.state();
        assert!(state.held.is_empty() && state.waiting.is_empty() && state.turns.is_empty());
    }
}
