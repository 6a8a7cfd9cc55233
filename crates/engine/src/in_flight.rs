//! Cells in flight: those this worker has claimed and not settled yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::{Settlement, Ticket};
use tokio::task::AbortHandle;

use crate::fair_share::Loads;
use crate::results::{Finished, ResultSenders};

/// Which tasks run for which tickets, and which results wait to be written.
#[derive(Debug)]
pub(crate) struct InFlightCells(Mutex<Inner>);

/// Tickets held by nobody knows whom, each with the last claim that may still bring it.
pub(crate) type OrphanedTickets = BTreeMap<Ticket, u64>;

#[derive(Debug)]
struct Inner {
    cells: BTreeMap<Ticket, CellTask>,
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
    results: Option<ResultSenders>,
}

#[derive(Debug)]
enum CellTask {
    Running {
        team: TeamId,
        task: AbortHandle,
        revoked: Arc<AtomicBool>,
    },
    /// It has its result, which is not written yet.
    Settling,
}

impl InFlightCells {
    pub(crate) fn new(results: ResultSenders) -> Self {
        Self(Mutex::new(Inner {
            cells: BTreeMap::new(),
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
        inner.cells.insert(ticket, CellTask::Running { team, task, revoked });
        inner.count(ticket, team, 1);
    }

    /// Hands a result to the settler, unless the cell was revoked. Says how many others run.
    pub(crate) fn finish(&self, finished: Finished) -> usize {
        let mut inner = self.lock();
        let ticket = finished.settlement.ticket;
        if let Some(CellTask::Running { team, .. }) = inner.cells.get(&ticket) {
            let team = *team;
            inner.cells.insert(ticket, CellTask::Settling);
            inner.count(ticket, team, -1);
            inner.send(finished);
        }
        inner.running
    }

    /// Hands in a result for a cell that no task runs for.
    pub(crate) fn give_back(&self, settlement: Settlement) {
        let mut inner = self.lock();
        inner.cells.insert(settlement.ticket, CellTask::Settling);
        inner.send(Finished { settlement, project: None });
    }

    /// Whether a cell is in hand, or its result is not written yet.
    pub(crate) fn holds(&self, ticket: Ticket) -> bool {
        self.lock().cells.contains_key(&ticket)
    }

    /// Results were written, or dropped by the store.
    pub(crate) fn settled(&self, tickets: impl IntoIterator<Item = Ticket>) {
        let mut inner = self.lock();
        for ticket in tickets {
            inner.cells.remove(&ticket);
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
    pub(crate) fn release(&self, ticket: Ticket) {
        let mut inner = self.lock();
        if let Some(CellTask::Running { team, .. }) = inner.cells.remove(&ticket) {
            inner.count(ticket, team, -1);
        }
    }

    /// Aborts the running ones of `known` that are not held any more.
    pub(crate) fn abort_unheld(&self, known: &BTreeSet<Ticket>, held: &BTreeSet<Ticket>) {
        let mut inner = self.lock();
        for ticket in known.difference(held) {
            inner.abort(*ticket);
        }
    }

    /// The tickets of running cells.
    pub(crate) fn running(&self) -> BTreeSet<Ticket> {
        let inner = self.lock();
        let running =
            inner.cells.iter().filter(|(_, cell_task)| matches!(cell_task, CellTask::Running { .. }));
        running.map(|(ticket, _)| *ticket).collect()
    }

    /// Tickets the store says are held that nobody here knows of, each with the last claim that may still bring
    /// it. Those that no claim can bring any more, of the ones seen before, are lost.
    pub(crate) fn orphans(
        &self,
        held: &BTreeSet<Ticket>,
        before: &OrphanedTickets,
    ) -> (Vec<Ticket>, OrphanedTickets) {
        let inner = self.lock();
        let oldest = inner.claiming.first().copied().unwrap_or(u64::MAX);
        let (mut lost, mut orphans) = (Vec::new(), OrphanedTickets::new());
        for ticket in held.iter().filter(|ticket| !inner.cells.contains_key(ticket)) {
            match before.get(ticket) {
                Some(claim) if *claim < oldest => lost.push(*ticket),
                seen => drop(orphans.insert(*ticket, seen.copied().unwrap_or(inner.last_claim))),
            }
        }
        (lost, orphans)
    }

    /// How many cells run, and how many are in hand at all.
    pub(crate) fn load(&self) -> (usize, usize) {
        let inner = self.lock();
        (inner.running, inner.cells.len())
    }

    /// Aborts everything and takes nothing more. The settler ends when it has written what it has.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.results = None;
        let running: Vec<Ticket> = inner.cells.keys().copied().collect();
        for ticket in running {
            inner.abort(ticket);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }
}

impl Loads for InFlightCells {
    fn of_team(&self, team: TeamId) -> usize {
        self.lock().running_by_team.get(&team).copied().unwrap_or_default()
    }

    fn of_project(&self, project: ProjectId) -> usize {
        self.lock().running_by_project.get(&project).copied().unwrap_or_default()
    }
}

impl Inner {
    fn abort(&mut self, ticket: Ticket) {
        if let Some(CellTask::Running { team, task, revoked }) = self.cells.get(&ticket) {
            let team = *team;
            revoked.store(true, Ordering::Release);
            task.abort();
            self.cells.remove(&ticket);
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
        let in_flight = InFlightCells::new(ResultSenders::new().0);
        let team = TeamId(Uuid::from_u128(1));
        let admit = |token| in_flight.admit(ticket(token), team, |_| tokio::spawn(async {}).abort_handle());
        let (first, second) = (in_flight.begin_claim(), in_flight.begin_claim());
        in_flight.revoke(&[ticket(1), ticket(2)]);
        in_flight.end_claim(second);
        admit(1);
        assert_eq!(in_flight.load(), (0, 0), "an older claim may still bring it");
        in_flight.end_claim(first);
        let third = in_flight.begin_claim();
        admit(2);
        assert_eq!(in_flight.load(), (1, 1), "no claim that began later brings it");
        in_flight.end_claim(third);
    }

    #[test]
    fn what_nobody_knows_is_lost_once_no_claim_can_bring_it() {
        let in_flight = InFlightCells::new(ResultSenders::new().0);
        let held = BTreeSet::from([ticket(1)]);
        let claim = in_flight.begin_claim();
        let (lost, seen) = in_flight.orphans(&held, &OrphanedTickets::new());
        assert_eq!((lost.len(), seen.len()), (0, 1));
        in_flight.begin_claim();
        let (lost, seen) = in_flight.orphans(&held, &seen);
        assert_eq!((lost.len(), seen.len()), (0, 1), "its claim is still under way");
        in_flight.end_claim(claim);
        assert_eq!(in_flight.orphans(&held, &seen), (vec![ticket(1)], OrphanedTickets::new()));
    }
}
