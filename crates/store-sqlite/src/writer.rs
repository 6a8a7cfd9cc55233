//! The single writer, with group commit: it takes what is queued, tenants in turn, commits once, then answers everyone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_fairness::{FairSemaphore, Tenant};
use rowmill_store::{Change, Listener, Result, StoreError};
use rowmill_telemetry::TraceContext;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::checkpointer::WriteAheadLog;
use crate::commit_health::{CommitHealth, touch};
use crate::connection::{in_transaction, run_cached};
use crate::convert::backend;
use crate::listeners::Listeners;
use crate::write_queue::{Arrived, Job, STEPS_BETWEEN_LOOKS, Undo, Weight, Write, WriteQueue};
use crate::{free_pages, purge};

/// How many writes of one tenant may be queued; further callers wait for a place in the queue.
const QUEUE_LEN_EACH: usize = 1024;
/// How many writes of all tenants may be queued.
const QUEUE_LEN: usize = 4 * QUEUE_LEN_EACH;
/// How many writes share one commit at most.
const BATCH_LEN_MAX: usize = 512;
/// A transaction that has taken this long takes no more writes and is committed.
const BATCH_TIME_MAX: Duration = Duration::from_millis(15);
/// How often the writer looks whether there is disk space to give back, while there are writes.
const FREE_PAGES_LOOK: Duration = Duration::from_secs(30);
/// Giving it back rests this many times as long as it works.
const GIVE_BACK_REST: u32 = 4;

#[derive(Debug)]
pub(crate) struct Writer {
    queue: Arc<WriteQueue>,
    /// Who may wait in the queue.
    places: Arc<FairSemaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
    listeners: Arc<Listeners>,
    health: Arc<CommitHealth>,
}

impl Writer {
    /// How many writes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// `purge_pending` is set when there is a deleted project to purge.
    pub(crate) fn start(
        connection: Connection,
        purge_pending: Arc<AtomicBool>,
        log: Option<Arc<WriteAheadLog>>,
    ) -> Result<Self> {
        Self::start_with(connection, purge_pending, log, WriteQueue::default())
    }

    fn start_with(
        mut connection: Connection,
        purge_pending: Arc<AtomicBool>,
        log: Option<Arc<WriteAheadLog>>,
        queue: WriteQueue,
    ) -> Result<Self> {
        let queue = Arc::new(queue);
        let preempting = Arc::clone(&queue);
        let preempts = move || preempting.preempts();
        connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(preempts)).map_err(backend)?;
        let waiting = Arc::clone(&queue);
        let health = Arc::<CommitHealth>::default();
        let noted = Arc::clone(&health);
        let thread = std::thread::Builder::new()
            .name("rowmill-writer".to_owned())
            .spawn(move || run(&connection, &waiting, &purge_pending, log.as_deref(), &noted))
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
        let mut work = Some(work);
        let work = move |connection: &Connection| {
            work.take().map_or(Err(StoreError::Closed), |work| work(connection))
        };
        self.send(Weight::Light, work, |done| done).await
    }

    /// `told` is called on the writer's thread once the work is on the disk.
    async fn send<T: Send + 'static, U: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
        told: impl FnOnce(T) -> U + Send + 'static,
    ) -> Result<U> {
        let (answer, answered) = oneshot::channel();
        let write =
            Box::new(PendingWrite { work, told, outcome: None, answer, trace: TraceContext::current() });
        let tenant = Tenant::current();
        let place = self.places.acquire(tenant).await;
        self.queue.push(tenant, Job { write, weight, place, lost: Duration::ZERO })?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs work that changes rows. Listeners are told of the changes in the order of the commits, before the caller is
    /// answered. A bulk write may be preempted, and is then done again.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce(&Connection) -> Result<(T, Vec<Change>)> + Clone + Send + 'static,
    ) -> Result<T> {
        let listeners = Arc::clone(&self.listeners);
        let mut work = Some(work);
        let work = move |connection: &Connection| {
            let work = if weight == Weight::Bulk { work.clone() } else { work.take() };
            work.map_or(Err(StoreError::Closed), |work| work(connection))
        };
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

fn run(
    connection: &Connection,
    queue: &WriteQueue,
    purge_pending: &AtomicBool,
    log: Option<&WriteAheadLog>,
    health: &CommitHealth,
) {
    let mut looked_at = SystemClock.monotonic();
    loop {
        match queue.wait(purge_pending) {
            Arrived::Writes => {
                commit_batch(connection, queue, health);
                if let Some(log) = log {
                    log.restart_if_due(connection);
                }
                if looked_at.elapsed() >= FREE_PAGES_LOOK {
                    looked_at = SystemClock.monotonic();
                    purge_pending.store(true, Ordering::Release);
                }
            }
            Arrived::End => break,
            // Nobody waits: a good moment to purge deleted projects.
            Arrived::Nothing => {
                let more = sweep(connection) || give_back(connection, queue);
                purge_pending.store(more, Ordering::Release);
            }
        }
    }
    // Folding the log into the file makes the next start quick; failing to is harmless.
    let _ = connection.pragma_update(None, "wal_checkpoint", "truncate");
}

/// A write with all that it needs to be done and answered.
struct PendingWrite<T, U, W, F> {
    work: W,
    /// Called once the work is on the disk.
    told: F,
    outcome: Option<Result<T>>,
    answer: oneshot::Sender<Result<U>>,
    trace: Option<TraceContext>,
}

impl<T, U, W, F> Write for PendingWrite<T, U, W, F>
where
    T: Send,
    U: Send,
    W: FnMut(&Connection) -> Result<T> + Send,
    F: FnOnce(T) -> U + Send,
{
    fn run(&mut self, connection: &Connection, undo: Undo) {
        let work = |connection: &Connection| TraceContext::sync_scope(self.trace, || (self.work)(connection));
        self.outcome = Some(undoable(connection, undo, work));
    }

    fn fault(&self) -> Option<StoreError> {
        let failure = self.outcome.as_ref()?.as_ref().err();
        failure.filter(|failure| failure.is_of_storage()).map(StoreError::again)
    }

    fn reply(self: Box<Self>, committed: Result<(), &StoreError>) {
        // A caller that has gone away wants no answer.
        let _ = self.answer.send(match (self.outcome, committed) {
            (Some(Err(refusal)), _) => Err(refusal),
            (Some(Ok(done)), Ok(())) => Ok((self.told)(done)),
            (_, Err(failure)) => Err(failure.again()),
            (None, Ok(())) => Err(StoreError::Closed),
        });
    }
}

/// The writes of one transaction, and whose they are.
#[derive(Default)]
struct Batch {
    writes: Vec<Box<dyn Write>>,
    /// How long each took.
    took: Vec<(Tenant, Duration)>,
    /// The last failure of the disk.
    fault: Option<StoreError>,
}

impl Batch {
    /// The next write, if it may share the transaction: nobody waits for another tenant's bulk write because
    /// their own was committed along with it.
    fn next(&self, queue: &WriteQueue) -> Option<(Tenant, Job)> {
        queue.pop_if(|tenant, job| {
            job.weight == Weight::Light || self.took.iter().all(|(other, _)| *other == tenant)
        })
    }

    /// Returns whether the write was done. If not, it is back in the queue, and the transaction is of no use.
    fn run(
        &mut self,
        (tenant, mut job): (Tenant, Job),
        transaction: Option<&Connection>,
        queue: &WriteQueue,
    ) -> bool {
        let undo = if self.writes.is_empty() { Undo::Everything } else { Undo::ThisAlone };
        let started = SystemClock.monotonic();
        // What SQLite interrupts loses its whole transaction.
        if job.weight == Weight::Bulk && undo == Undo::Everything {
            queue.begin_bulk(tenant, job.lost);
        }
        if let Some(connection) = transaction {
            job.write.run(connection, undo);
        }
        let time = started.elapsed();
        if queue.end_bulk() {
            queue.put_back(tenant, job, time);
            return false;
        }
        let Job { write, place, .. } = job;
        drop(place);
        self.fault = write.fault().or(self.fault.take());
        self.writes.push(write);
        self.took.push((tenant, time));
        queue.charge(tenant, time);
        true
    }

    /// Charges the time of the commit to the tenants in it, in proportion to the time their writes took.
    fn charge_commit(&self, time: Duration, queue: &WriteQueue) {
        let all: Duration = self.took.iter().map(|(_, time)| *time).sum();
        for (tenant, took) in &self.took {
            let part = took.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE);
            queue.charge(*tenant, time.mul_f64(part.min(1.0)));
        }
    }
}

fn commit_batch(connection: &Connection, queue: &WriteQueue, health: &CommitHealth) {
    let mut batch = Batch::default();
    let changes_before = connection.total_changes();
    let begun = run_cached(connection, "BEGIN IMMEDIATE");
    let transaction = begun.is_ok().then_some(connection);
    let started = SystemClock.monotonic();
    while let Some(next) = batch.next(queue) {
        if !batch.run(next, transaction, queue) {
            roll_back(connection);
            return;
        }
        let is_full = batch.writes.len() >= BATCH_LEN_MAX || started.elapsed() >= BATCH_TIME_MAX;
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
        let writes = batch.writes.len();
        tracing::error!(%failure, writes, "a commit failed; its writes were rolled back");
        roll_back(connection);
    }
    for write in batch.writes {
        write.reply(committed.as_ref().copied());
    }
}

/// Ends a transaction, unless SQLite has rolled it back by itself.
fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        let _ = run_cached(connection, "ROLLBACK");
    }
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

/// Gives some disk space back; returns whether there is more. It then rests, so that it takes little of the disk's time.
fn give_back(connection: &Connection, queue: &WriteQueue) -> bool {
    let started = SystemClock.monotonic();
    match free_pages::give_back_some(connection) {
        Ok(true) => {
            queue.rest(started.elapsed() * GIVE_BACK_REST);
            true
        }
        Ok(false) => false,
        Err(failure) => {
            tracing::warn!(%failure, "could not give free disk space back; will retry");
            false
        }
    }
}

#[cfg(test)]
mod tests;
