//! The cells this worker has in hand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rowmill_model::ProjectId;
use rowmill_store::{Settlement, Ticket};
use tokio::task::AbortHandle;

use crate::settler::Outlets;

/// Which tasks run for which tickets, and which results wait to be written.
#[derive(Debug)]
pub(crate) struct Registry(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    hands: BTreeMap<Ticket, Hand>,
    running: usize,
    running_by_project: BTreeMap<ProjectId, usize>,
    /// Whether a claim is under way: its tickets may be revoked before they are known here.
    claiming: bool,
    revoked_early: BTreeSet<Ticket>,
    /// Takes results to the settler. `None` once the engine stops.
    results: Option<Outlets>,
}

#[derive(Debug)]
enum Hand {
    Running {
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
            claiming: false,
            revoked_early: BTreeSet::new(),
            results: Some(results),
        }))
    }

    /// From now on revoked tickets are remembered that are not known yet.
    pub(crate) fn begin_claim(&self) {
        self.lock().claiming = true;
    }

    pub(crate) fn end_claim(&self) {
        let mut inner = self.lock();
        inner.claiming = false;
        inner.revoked_early.clear();
    }

    /// Takes a claimed cell in hand, unless it was revoked meanwhile. `spawn` starts its task.
    pub(crate) fn admit(&self, ticket: Ticket, spawn: impl FnOnce(Arc<AtomicBool>) -> AbortHandle) {
        let mut inner = self.lock();
        if inner.revoked_early.contains(&ticket) || inner.results.is_none() {
            return;
        }
        let revoked = Arc::new(AtomicBool::new(false));
        // The task needs the lock to end, so it cannot end before it is known.
        let task = spawn(Arc::clone(&revoked));
        inner.hands.insert(ticket, Hand::Running { task, revoked });
        inner.count(ticket, 1);
    }

    /// Hands a result to the settler, unless the cell was revoked. Says how many others run.
    pub(crate) fn finish(&self, settlement: Settlement) -> usize {
        let mut inner = self.lock();
        let ticket = settlement.ticket;
        if let Some(hand @ Hand::Running { .. }) = inner.hands.get_mut(&ticket) {
            *hand = Hand::Settling;
            inner.count(ticket, -1);
            inner.send(settlement);
        }
        inner.running
    }

    /// Hands in a result for a cell that no task runs for.
    pub(crate) fn give_back(&self, settlement: Settlement) {
        let mut inner = self.lock();
        inner.hands.insert(settlement.ticket, Hand::Settling);
        inner.send(settlement);
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
            if inner.claiming {
                inner.revoked_early.insert(*ticket);
            }
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

    /// Tickets the store says are held that nobody here knows of.
    pub(crate) fn strays(&self, held: &BTreeSet<Ticket>) -> BTreeSet<Ticket> {
        let inner = self.lock();
        if inner.claiming {
            return BTreeSet::new();
        }
        held.iter().filter(|ticket| !inner.hands.contains_key(ticket)).copied().collect()
    }

    /// How many cells run, and how many are in hand at all.
    pub(crate) fn load(&self) -> (usize, usize) {
        let inner = self.lock();
        (inner.running, inner.hands.len())
    }

    pub(crate) fn load_of(&self, project: ProjectId) -> usize {
        self.lock().running_by_project.get(&project).copied().unwrap_or_default()
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

impl Inner {
    fn abort(&mut self, ticket: Ticket) {
        if let Some(Hand::Running { task, revoked }) = self.hands.get(&ticket) {
            revoked.store(true, Ordering::Release);
            task.abort();
            self.hands.remove(&ticket);
            self.count(ticket, -1);
        }
    }

    fn count(&mut self, ticket: Ticket, change: isize) {
        self.running = self.running.saturating_add_signed(change);
        let project = ticket.lane.project;
        let count = self.running_by_project.entry(project).or_default();
        *count = count.saturating_add_signed(change);
        if *count == 0 {
            self.running_by_project.remove(&project);
        }
    }

    fn send(&self, settlement: Settlement) {
        if let Some(results) = &self.results {
            results.send(settlement);
        }
    }
}
