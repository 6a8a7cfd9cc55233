//! The cells this worker has in hand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rowmill_model::{ProjectId, TeamId};
use rowmill_store::{Settlement, Ticket};
use tokio::task::AbortHandle;

use crate::settler::{Finished, Outlets};
use crate::share::Loads;

/// Which tasks run for which tickets, and which results wait to be written.
#[derive(Debug)]
pub(crate) struct Registry(Mutex<Inner>);

/// Tickets held by nobody knows whom, each with the last claim that may still bring it.
pub(crate) type Strays = BTreeMap<Ticket, u64>;

#[derive(Debug)]
struct Inner {
    hands: BTreeMap<Ticket, Hand>,
    running: usize,
    running_by_project: BTreeMap<ProjectId, usize>,
    running_by_team: BTreeMap<TeamId, usize>,
    /// The claims under way, by number: their tickets may be revoked before they are known here.
    claiming: BTreeSet<u64>,
    /// The number of the last claim that began.
    last_claim: u64,
    /// Revoked tickets that a claim may still bring, each with the last claim that may.
    revoked_early: BTreeMap<Ticket, u64>,
    /// Takes results to the settler. `None` once the engine stops.
    results: Option<Outlets>,
}

#[derive(Debug)]
enum Hand {
    Running {
        team: TeamId,
        task: AbortHandle,
        revoked: Arc<AtomicBool>,
    },
    /// It has its result, which is not written yet.
    Settling,
}

impl Registry {
    pub(crate) fn new(results: Outlets) -> Self {
        Self(Mutex::new(Inner {
            hands: BTreeMap::new(),
            running: 0,
            running_by_project: BTreeMap::new(),
            running_by_team: BTreeMap::new(),
            claiming: BTreeSet::new(),
            last_claim: 0,
            revoked_early: BTreeMap::new(),
            results: Some(results),
        }))
    }

    /// From now on revoked tickets are remembered that are not known yet. Says the claim's number.
    pub(crate) fn begin_claim(&self) -> u64 {
        let mut inner = self.lock();
        inner.last_claim += 1;
        let claim = inner.last_claim;
        inner.claiming.insert(claim);
        claim
    }

    /// All that a claim brought is in hand.
    pub(crate) fn end_claim(&self, claim: u64) {
        let mut inner = self.lock();
        inner.claiming.remove(&claim);
        match inner.claiming.first().copied() {
            Some(oldest) => inner.revoked_early.retain(|_, last| *last >= oldest),
            None => inner.revoked_early.clear(),
        }
    }

    /// Takes a claimed cell of a team in hand, unless it was revoked meanwhile. `spawn` starts its task.
    pub(crate) fn admit(
        &self,
        ticket: Ticket,
        team: TeamId,
        spawn: impl FnOnce(Arc<AtomicBool>) -> AbortHandle,
    ) {
        let mut inner = self.lock();
        if inner.revoked_early.contains_key(&ticket) || inner.results.is_none() {
            return;
        }
        let revoked = Arc::new(AtomicBool::new(false));
        // The task needs the lock to end, so it cannot end before it is known.
        let task = spawn(Arc::clone(&revoked));
        inner.hands.insert(ticket, Hand::Running { team, task, revoked });
        inner.count(ticket, team, 1);
    }

    /// Hands a result to the settler, unless the cell was revoked. Says how many others run.
    pub(crate) fn finish(&self, finished: Finished) -> usize {
        let mut inner = self.lock();
        let ticket = finished.settlement.ticket;
        if let Some(Hand::Running { team, .. }) = inner.hands.get(&ticket) {
            let team = *team;
            inner.hands.insert(ticket, Hand::Settling);
            inner.count(ticket, team, -1);
            inner.send(finished);
        }
        inner.running
    }

    /// Hands in a result for a cell that no task runs for.
    pub(crate) fn give_back(&self, settlement: Settlement) {
        let mut inner = self.lock();
        inner.hands.insert(settlement.ticket, Hand::Settling);
        inner.send(Finished { settlement, project: None });
    }

    /// Results were written, or dropped by the store.
    pub(crate) fn settled(&self, tickets: impl IntoIterator<Item = Ticket>) {
        let mut inner = self.lock();
        for ticket in tickets {
            inner.hands.remove(&ticket);
        }
    }

    /// Cells were taken away: nothing more is begun for them.
    pub(crate) fn revoke(&self, tickets: &[Ticket]) {
        let mut inner = self.lock();
        for ticket in tickets {
            inner.abort(*ticket);
            if !inner.claiming.is_empty() {
                let last_claim = inner.last_claim;
                inner.revoked_early.insert(*ticket, last_claim);
            }
        }
    }

    /// A cell is not begun after all.
    pub(crate) fn let_go(&self, ticket: Ticket) {
        let mut inner = self.lock();
        if let Some(Hand::Running { team, .. }) = inner.hands.remove(&ticket) {
            inner.count(ticket, team, -1);
        }
    }

    /// Aborts the running ones of `known` that are not held any more.
    pub(crate) fn keep_only(&self, known: &BTreeSet<Ticket>, held: &BTreeSet<Ticket>) {
        let mut inner = self.lock();
        for ticket in known.difference(held) {
            inner.abort(*ticket);
        }
    }

    /// The tickets of running cells.
    pub(crate) fn running(&self) -> BTreeSet<Ticket> {
        let inner = self.lock();
        let running = inner.hands.iter().filter(|(_, hand)| matches!(hand, Hand::Running { .. }));
        running.map(|(ticket, _)| *ticket).collect()
    }

    /// Tickets the store says are held that nobody here knows of, each with the last claim that may still bring
    /// it. Those that no claim can bring any more, of the ones seen before, are lost.
    pub(crate) fn strays(&self, held: &BTreeSet<Ticket>, before: &Strays) -> (Vec<Ticket>, Strays) {
        let inner = self.lock();
        let oldest = inner.claiming.first().copied().unwrap_or(u64::MAX);
        let (mut lost, mut strays) = (Vec::new(), Strays::new());
        for ticket in held.iter().filter(|ticket| !inner.hands.contains_key(ticket)) {
            match before.get(ticket) {
                Some(claim) if *claim < oldest => lost.push(*ticket),
                seen => drop(strays.insert(*ticket, seen.copied().unwrap_or(inner.last_claim))),
            }
        }
        (lost, strays)
    }

    /// How many cells run, and how many are in hand at all.
    pub(crate) fn load(&self) -> (usize, usize) {
        let inner = self.lock();
        (inner.running, inner.hands.len())
    }

    /// Aborts everything and takes nothing more. The settler ends when it has written what it has.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.results = None;
        let running: Vec<Ticket> = inner.hands.keys().copied().collect();
        for ticket in running {
            inner.abort(ticket);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loads for Registry {
    fn of_team(&self, team: TeamId) -> usize {
        self.lock().running_by_team.get(&team).copied().unwrap_or_default()
    }

    fn of_project(&self, project: ProjectId) -> usize {
        self.lock().running_by_project.get(&project).copied().unwrap_or_default()
    }
}

impl Inner {
    fn abort(&mut self, ticket: Ticket) {
        if let Some(Hand::Running { team, task, revoked }) = self.hands.get(&ticket) {
            let team = *team;
            revoked.store(true, Ordering::Release);
            task.abort();
            self.hands.remove(&ticket);
            self.count(ticket, team, -1);
        }
    }

    fn count(&mut self, ticket: Ticket, team: TeamId, change: isize) {
        self.running = self.running.saturating_add_signed(change);
        count_in(&mut self.running_by_project, ticket.lane.project, change);
        count_in(&mut self.running_by_team, team, change);
    }

    fn send(&self, finished: Finished) {
        if let Some(results) = &self.results {
            results.send(finished);
        }
    }
}

/// Whoever has none has no entry.
fn count_in<K: Ord + Copy>(counts: &mut BTreeMap<K, usize>, key: K, change: isize) {
    let count = counts.entry(key).or_default();
    *count = count.saturating_add_signed(change);
    if *count == 0 {
        counts.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use rowmill_store::Lane;
    use uuid::Uuid;

    use super::*;

    fn ticket(token: u64) -> Ticket {
        let lane = Lane { project: ProjectId::from_uuid(Uuid::from_u128(1)), slot: 1 };
        Ticket { token, lane, position: 0 }
    }

    #[tokio::test]
    async fn a_ticket_revoked_before_it_is_known_is_not_admitted() {
        let registry = Registry::new(Outlets::new().0);
        let team = TeamId(Uuid::from_u128(1));
        let admit = |token| registry.admit(ticket(token), team, |_| tokio::spawn(async {}).abort_handle());
        let (first, second) = (registry.begin_claim(), registry.begin_claim());
        registry.revoke(&[ticket(1), ticket(2)]);
        registry.end_claim(second);
        admit(1);
        assert_eq!(registry.load(), (0, 0), "an older claim may still bring it");
        registry.end_claim(first);
        let third = registry.begin_claim();
        admit(2);
        assert_eq!(registry.load(), (1, 1), "no claim that began later brings it");
        registry.end_claim(third);
    }

    #[test]
    fn what_nobody_knows_is_lost_once_no_claim_can_bring_it() {
        let registry = Registry::new(Outlets::new().0);
        let held = BTreeSet::from([ticket(1)]);
        let claim = registry.begin_claim();
        let (lost, seen) = registry.strays(&held, &Strays::new());
        assert_eq!((lost.len(), seen.len()), (0, 1));
        registry.begin_claim();
        let (lost, seen) = registry.strays(&held, &seen);
        assert_eq!((lost.len(), seen.len()), (0, 1), "its claim is still under way");
        registry.end_claim(claim);
        assert_eq!(registry.strays(&held, &seen), (vec![ticket(1)], Strays::new()));
    }
}
