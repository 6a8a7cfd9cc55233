//! What waits for the writer, and preemption.
//!
//! A bulk write is all or nothing, so it is one transaction, and SQLite has one writer: whoever comes while it runs would wait
//! for its end. Instead it is preempted: a light write of another tenant interrupts it, it is rolled back, goes back to the head
//! of its line, and is done again after the light one. What it loses in this way is bounded, so it always comes to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_fairness::{Permit, Tenant};
use rowmill_store::{Result, StoreError};
use rusqlite::Connection;

use crate::fair_queue::FairQueue;

/// A write of more rows than this is a bulk write.
const BULK_ROWS: usize = 500;
/// How much time a bulk write may lose by being done again.
const LOST_MAX: Duration = Duration::from_millis(25);
/// After how many steps of SQLite's machine a bulk write looks whether it gives way: about half a millisecond.
pub(crate) const STEPS_BETWEEN_LOOKS: i32 = 2_000;

/// How long a write takes, roughly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Light,
    /// Long enough that writes in the same transaction would wait for it.
    Bulk,
}

impl Weight {
    pub(crate) fn of_rows(rows: usize) -> Self {
        if rows > BULK_ROWS { Self::Bulk } else { Self::Light }
    }
}

/// What is rolled back when a write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undo {
    /// The transaction, in which nothing else was done yet. A savepoint would copy every page it touches.
    Everything,
    ThisAlone,
}

pub(crate) trait Write: Send {
    /// Does the work in the open transaction. A bulk write may be told to do it again.
    fn run(&mut self, connection: &Connection, undo: Undo);
    /// Why it failed, if the disk is the reason. The whole transaction may be lost then.
    fn fault(&self) -> Option<StoreError>;
    /// Answers the caller, after the commit.
    fn reply(self: Box<Self>, committed: Result<(), &StoreError>);
}

pub(crate) struct Job {
    pub(crate) write: Box<dyn Write>,
    pub(crate) weight: Weight,
    /// Given back when the work is done.
    pub(crate) place: Permit,
    /// The time of the work that was rolled back for others.
    pub(crate) lost: Duration,
}

pub(crate) struct WriteQueue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    lost_max: Duration,
}

#[derive(Default)]
struct Waiting {
    jobs: FairQueue<Job>,
    /// The bulk write under way, if it can be preempted.
    bulk: Option<RunningBulk>,
    is_closed: bool,
}

struct RunningBulk {
    tenant: Tenant,
    started: Instant,
    /// What it may lose from now on.
    may_lose: Duration,
    is_preempted: bool,
}

/// What there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrived {
    Writes,
    /// No write waits, but something else is to be done.
    Nothing,
    End,
}

impl Default for WriteQueue {
    fn default() -> Self {
        Self::new(LOST_MAX)
    }
}

impl WriteQueue {
    pub(crate) fn new(lost_max: Duration) -> Self {
        Self { waiting: Mutex::default(), arrived: Condvar::new(), lost_max }
    }

    pub(crate) fn push(&self, tenant: Tenant, job: Job) -> Result<()> {
        let mut waiting = self.waiting.lock();
        if waiting.is_closed {
            return Err(StoreError::Closed);
        }
        waiting.jobs.push(tenant, job);
        drop(waiting);
        self.arrived.notify_one();
        Ok(())
    }

    pub(crate) fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.arrived.notify_one();
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.lock().jobs.len()
    }

    /// Waits until there is something to do.
    pub(crate) fn wait(&self, is_else_pending: &AtomicBool) -> Arrived {
        let mut waiting = self.waiting.lock();
        loop {
            match (waiting.jobs.is_empty(), waiting.is_closed) {
                (false, _) => return Arrived::Writes,
                (true, true) => return Arrived::End,
                (true, false) if is_else_pending.load(Ordering::Acquire) => return Arrived::Nothing,
                (true, false) => self.arrived.wait(&mut waiting),
            }
        }
    }

    /// Waits until a write arrives, or for so long.
    pub(crate) fn rest(&self, time: Duration) {
        let mut waiting = self.waiting.lock();
        if waiting.jobs.is_empty() && !waiting.is_closed {
            self.arrived.wait_for(&mut waiting, time);
        }
    }

    pub(crate) fn pop_if(&self, may: impl FnOnce(Tenant, &Job) -> bool) -> Option<(Tenant, Job)> {
        let mut waiting = self.waiting.lock();
        let (tenant, job) = waiting.jobs.peek()?;
        if may(tenant, job) { waiting.jobs.pop() } else { None }
    }

    pub(crate) fn charge(&self, tenant: Tenant, time: Duration) {
        self.waiting.lock().jobs.charge(tenant, time);
    }

    /// From now on this bulk write may be preempted.
    pub(crate) fn begin_bulk(&self, tenant: Tenant, lost: Duration) {
        let (started, may_lose) = (SystemClock.monotonic(), self.lost_max.saturating_sub(lost));
        self.waiting.lock().bulk = Some(RunningBulk { tenant, started, may_lose, is_preempted: false });
    }

    /// Returns whether the bulk write under way was preempted.
    pub(crate) fn end_bulk(&self) -> bool {
        self.waiting.lock().bulk.take().is_some_and(|bulk| bulk.is_preempted)
    }

    /// Whether the bulk write under way gives way now, to a light write of a tenant that was served less. SQLite asks this
    /// while it works.
    pub(crate) fn preempts(&self) -> bool {
        let mut waiting = self.waiting.lock();
        let Waiting { jobs, bulk: Some(bulk), .. } = &mut *waiting else { return false };
        let took = bulk.started.elapsed();
        let next = jobs.next_besides(bulk.tenant, took).filter(|job| job.weight == Weight::Light);
        bulk.is_preempted |= next.is_some() && took <= bulk.may_lose;
        bulk.is_preempted
    }

    /// Puts a preempted write back at the head of its tenant's line. Its tenant pays for the time.
    pub(crate) fn put_back(&self, tenant: Tenant, job: Job, took: Duration) {
        let job = Job { lost: job.lost + took, ..job };
        let mut waiting = self.waiting.lock();
        waiting.jobs.push_front(tenant, job);
        waiting.jobs.charge(tenant, took);
    }
}

impl std::fmt::Debug for WriteQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteQueue")
    }
}
