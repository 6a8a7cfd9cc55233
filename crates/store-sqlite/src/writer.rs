//! The single writer, with group commit: it takes what is queued, tenants in turn, commits once, then answers everyone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_fairness::{FairSemaphore, Permit, Tenant};
use rowmill_store::{Change, Listener, Result, StoreError};
use rowmill_telemetry::TraceContext;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::commit_health::{CommitHealth, touch};
use crate::connection::{in_transaction, run_cached};
use crate::convert::backend;
use crate::fair_queue::FairQueue;
use crate::listeners::Listeners;
use crate::purge;

/// How many writes of one tenant may be queued; further callers wait for a place in the queue.
const QUEUE_LEN_EACH: usize = 1024;
/// How many writes of all tenants may be queued.
const QUEUE_LEN: usize = 4 * QUEUE_LEN_EACH;
/// A write of more rows than this is a bulk write.
pub(crate) const BULK_ROWS: usize = 500;
/// How many writes share one commit at most.
const BATCH_LEN_MAX: usize = 512;
/// A transaction that has taken this long takes no more writes and is committed.
const BATCH_TIME_MAX: Duration = Duration::from_millis(15);

/// Does its work in the open transaction, if one could be opened. Returns what answers the caller after the commit.
type Work = Box<dyn FnOnce(Option<&Connection>, Undo) -> Worked + Send>;
type Reply = Box<dyn FnOnce(Result<(), &StoreError>) + Send>;

/// What became of a write, before the commit.
struct Worked {
    reply: Reply,
    /// Why it failed, if the disk is the reason. The whole transaction may be lost then.
    fault: Option<StoreError>,
}

#[derive(Debug)]
pub(crate) struct Writer {
    queue: Arc<Queue>,
    /// Who may wait in the queue.
    places: Arc<FairSemaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
    listeners: Arc<Listeners>,
    health: Arc<CommitHealth>,
}

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

struct Job {
    work: Work,
    weight: Weight,
    /// Given back when the work begins.
    place: Permit,
}

/// What waits for the writer.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: FairQueue<Job>,
    is_closed: bool,
}

impl Queue {
    fn push(&self, tenant: Tenant, job: Job) -> Result<()> {
        let mut waiting = self.waiting.lock();
        if waiting.is_closed {
            return Err(StoreError::Closed);
        }
        waiting.jobs.push(tenant, job);
        drop(waiting);
        self.arrived.notify_one();
        Ok(())
    }

    fn close(&self) {
        self.waiting.lock().is_closed = true;
        self.arrived.notify_one();
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}

impl Writer {
    /// How many writes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.waiting.lock().jobs.len()
    }

    /// `purge_pending` is set when there is a deleted project to purge.
    pub(crate) fn start(connection: Connection, purge_pending: Arc<AtomicBool>) -> Result<Self> {
        let queue = Arc::<Queue>::default();
        let waiting = Arc::clone(&queue);
        let health = Arc::<CommitHealth>::default();
        let noted = Arc::clone(&health);
        let thread = std::thread::Builder::new()
            .name("rowmill-writer".to_owned())
            .spawn(move || run(&connection, &waiting, &purge_pending, &noted))
            .map_err(|error| StoreError::Backend(error.into()))?;
        Ok(Self {
            queue,
            places: FairSemaphore::new(QUEUE_LEN, QUEUE_LEN_EACH),
            thread: Mutex::new(Some(thread)),
            listeners: Arc::default(),
            health,
        })
    }

    /// Runs `work` in a transaction and answers once it is on the disk. An error undoes this work alone.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.send(Weight::Light, work, |done| done).await
    }

    /// `told` is called on the writer's thread once the work is on the disk.
    async fn send<T: Send + 'static, U: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
        told: impl FnOnce(T) -> U + Send + 'static,
    ) -> Result<U> {
        let ((answer, answered), trace) = (oneshot::channel(), TraceContext::current());
        let work: Work = Box::new(move |connection, undo| {
            let work = |connection: &Connection| TraceContext::sync_scope(trace, || work(connection));
            let outcome = connection.map(|connection| undoable(connection, undo, work));
            let failure = outcome.as_ref().and_then(|outcome| outcome.as_ref().err());
            let fault = failure.filter(|failure| failure.is_of_storage()).map(StoreError::again);
            let reply: Reply = Box::new(move |committed| {
                // A caller that has gone away wants no answer.
                let _ = answer.send(match (outcome, committed) {
                    (Some(Err(refusal)), _) => Err(refusal),
                    (Some(Ok(done)), Ok(())) => Ok(told(done)),
                    (_, Err(failure)) => Err(failure.again()),
                    (None, Ok(())) => Err(StoreError::Closed),
                });
            });
            Worked { reply, fault }
        });
        let tenant = Tenant::current();
        let place = self.places.acquire(tenant).await;
        self.queue.push(tenant, Job { work, weight, place })?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs work that changes rows. Listeners are told of the changes in the order of the commits, before the caller is
    /// answered.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce(&Connection) -> Result<(T, Vec<Change>)> + Send + 'static,
    ) -> Result<T> {
        let listeners = Arc::clone(&self.listeners);
        self.send(weight, work, move |(done, changes)| {
            for change in &changes {
                listeners.tell(change);
            }
            done
        })
        .await
    }

    /// Says why nothing can be written, if the last commit told so. Tries now and then whether that is over.
    pub(crate) async fn check(&self) -> Result<()> {
        if self.health.wants_probe() {
            self.health.note(&self.write(touch).await);
        }
        self.health.check()
    }

    pub(crate) fn listen(&self, listener: Listener) {
        self.listeners.0.write().push(listener);
    }

    /// Refuses new writes, finishes those in the queue and waits for the thread to end.
    pub(crate) fn close(&self) {
        self.queue.close();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

fn run(connection: &Connection, queue: &Queue, purge_pending: &AtomicBool, health: &CommitHealth) {
    loop {
        let mut waiting = queue.waiting.lock();
        while waiting.jobs.is_empty() && !waiting.is_closed && !purge_pending.load(Ordering::Acquire) {
            queue.arrived.wait(&mut waiting);
        }
        let (is_empty, is_closed) = (waiting.jobs.is_empty(), waiting.is_closed);
        drop(waiting);
        match (is_empty, is_closed) {
            (false, _) => commit_batch(connection, queue, health),
            (true, true) => break,
            // Nobody waits: a good moment to purge deleted projects.
            (true, false) => purge_pending.store(sweep(connection), Ordering::Release),
        }
    }
    // Folding the log into the file makes the next start quick; failing to is harmless.
    let _ = connection.pragma_update(None, "wal_checkpoint", "truncate");
}

/// The writes of one transaction, and whose they are.
#[derive(Default)]
struct Batch {
    replies: Vec<Reply>,
    /// How long each took.
    took: Vec<(Tenant, Duration)>,
    /// The last failure of the disk.
    fault: Option<StoreError>,
}

impl Batch {
    /// The next write, if it may share the transaction: nobody waits for another tenant's bulk write because
    /// their own was committed along with it.
    fn next(&self, queue: &Queue) -> Option<(Tenant, Job)> {
        let mut waiting = queue.waiting.lock();
        let (tenant, job) = waiting.jobs.peek()?;
        let is_alone = self.took.iter().all(|(other, _)| *other == tenant);
        if job.weight == Weight::Bulk && !is_alone { None } else { waiting.jobs.pop() }
    }

    fn run(&mut self, tenant: Tenant, job: Job, transaction: Option<&Connection>, queue: &Queue) {
        let Job { work, weight: _, place } = job;
        drop(place);
        let started = SystemClock.monotonic();
        let undo = if self.replies.is_empty() { Undo::Everything } else { Undo::ThisAlone };
        let Worked { reply, fault } = work(transaction, undo);
        self.replies.push(reply);
        self.fault = fault.or(self.fault.take());
        let time = started.elapsed();
        self.took.push((tenant, time));
        queue.waiting.lock().jobs.charge(tenant, time);
    }

    /// Charges the time of the commit to the tenants in it, in proportion to the time their writes took.
    fn charge_commit(&self, time: Duration, queue: &Queue) {
        let all: Duration = self.took.iter().map(|(_, time)| *time).sum();
        let mut waiting = queue.waiting.lock();
        for (tenant, took) in &self.took {
            let part = took.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE);
            waiting.jobs.charge(*tenant, time.mul_f64(part.min(1.0)));
        }
    }
}

fn commit_batch(connection: &Connection, queue: &Queue, health: &CommitHealth) {
    let mut batch = Batch::default();
    let changes_before = connection.total_changes();
    let begun = run_cached(connection, "BEGIN IMMEDIATE");
    let transaction = begun.is_ok().then_some(connection);
    let started = SystemClock.monotonic();
    while let Some((tenant, job)) = batch.next(queue) {
        batch.run(tenant, job, transaction, queue);
        let is_full = batch.replies.len() >= BATCH_LEN_MAX || started.elapsed() >= BATCH_TIME_MAX;
        // After a write that could not be undone cleanly, the next one waits for the next transaction.
        if is_full || connection.is_autocommit() {
            break;
        }
    }
    let worked = started.elapsed();
    let fault = batch.fault.take();
    let committed = match &fault {
        // SQLite has rolled back everything, so there is nothing to commit.
        Some(fault) if connection.is_autocommit() => Err(fault.again()),
        _ => health.watch(|| begun.and_then(|()| run_cached(connection, "COMMIT")).map_err(backend)),
    };
    match (fault, &committed) {
        (Some(fault), Ok(())) => health.note(&Err(fault)),
        // A commit of nothing says nothing of the disk.
        (None, Ok(())) if connection.total_changes() == changes_before => {}
        _ => health.note(&committed),
    }
    batch.charge_commit(started.elapsed().saturating_sub(worked), queue);
    if let Err(failure) = &committed {
        let writes = batch.replies.len();
        tracing::error!(%failure, writes, "a commit failed; its writes were rolled back");
        if !connection.is_autocommit() {
            let _ = run_cached(connection, "ROLLBACK");
        }
    }
    for reply in batch.replies {
        reply(committed.as_ref().copied());
    }
}

/// What is rolled back when a write fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undo {
    /// The transaction, in which nothing else was done yet. A savepoint would copy every page it touches.
    Everything,
    ThisAlone,
}

fn undoable<T>(
    connection: &Connection,
    undo: Undo,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let run = |sql| run_cached(connection, sql).map_err(backend);
    if undo == Undo::ThisAlone {
        run("SAVEPOINT job")?;
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| work(connection)))
        .unwrap_or_else(|_| Err(StoreError::Backend("a write panicked and was rolled back".into())));
    match (undo, outcome.is_err()) {
        (Undo::Everything, false) => {}
        // When the disk fails, SQLite itself rolls everything back.
        (_, true) if connection.is_autocommit() => {}
        (Undo::Everything, true) => {
            run("ROLLBACK")?;
            run("BEGIN IMMEDIATE")?;
        }
        (Undo::ThisAlone, false) => run("RELEASE job")?,
        (Undo::ThisAlone, true) => {
            run("ROLLBACK TO job")?;
            run("RELEASE job")?;
        }
    }
    outcome
}

/// Purges a little; returns whether there is more.
fn sweep(connection: &Connection) -> bool {
    match in_transaction(connection, purge::sweep_some) {
        Ok(more) => more,
        Err(failure) => {
            tracing::warn!(%failure, "could not purge a deleted project; will retry");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_write_waits_for_the_one_under_way_and_not_for_all_that_a_neighbour_queued() {
        let connection = Connection::open_in_memory().unwrap();
        let writer = Arc::new(Writer::start(connection, Arc::default()).unwrap());
        let order = Arc::new(Mutex::new(Vec::new()));
        let (let_go, held) = mpsc::channel::<()>();
        let mut held = Some(held);
        let mut queue = |team: u128, name: &'static str| {
            let (writer, order, held) = (Arc::clone(&writer), Arc::clone(&order), held.take());
            let work = move |_: &Connection| {
                // The first holds up all others until they have queued.
                held.map_or(Ok(()), |held| held.recv()).unwrap();
                order.lock().push(name);
                Ok(())
            };
            tokio::spawn(
                Tenant::team(team).scope(async move { writer.send(Weight::Bulk, work, |done| done).await }),
            )
        };
        let queued = [
            queue(1, "first"),
            queue(1, "second"),
            queue(1, "third"),
            queue(2, "quiet"),
            queue(1, "fourth"),
            queue(2, "quiet again"),
        ];
        // One thread runs them all: once it is this one's turn again, all have queued.
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_millis(50));
        let_go.send(()).unwrap();
        for write in queued {
            write.await.unwrap().unwrap();
        }
        assert_eq!(*order.lock(), ["first", "quiet", "quiet again", "second", "third", "fourth"]);
        writer.close();
        let late = writer.write(|_| Ok(())).await;
        assert!(matches!(late, Err(StoreError::Closed)), "{late:?}");
    }

    #[test]
    fn a_bulk_write_does_not_join_anothers_transaction() {
        let places = FairSemaphore::new(1, 1);
        let tenant = Tenant::team(1);
        for (weight, of, may_join) in [
            (Weight::Bulk, 1, true),
            (Weight::Light, 1, true),
            (Weight::Light, 2, true),
            (Weight::Bulk, 2, false),
        ] {
            let queue = Queue::default();
            let place = places.try_acquire(tenant).unwrap();
            let work: Work = Box::new(|_, _| Worked { reply: Box::new(|_| ()), fault: None });
            queue.push(Tenant::team(of), Job { work, weight, place }).unwrap();
            let batch = Batch { took: vec![(tenant, Duration::from_millis(1))], ..Batch::default() };
            assert_eq!(batch.next(&queue).is_some(), may_join, "{weight:?} of {of}");
        }
    }
}
