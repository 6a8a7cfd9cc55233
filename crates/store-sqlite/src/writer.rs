//! The one writer. It takes all that has queued, commits once, then answers everyone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rowmill_store::{Change, Listener, Result, StoreError};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::{backend, purge, run_cached};

/// How many writes may wait; a caller beyond that waits to be let in.
const QUEUE_LEN: usize = 1024;
/// How many writes share one commit at most.
const BATCH_LEN_MAX: usize = 512;
/// After this long in one transaction those done so far are committed and answered.
const BATCH_TIME_MAX: Duration = Duration::from_millis(15);

/// Does its work in the open transaction, if one could be opened, and leaves what is to be said once
/// that is committed.
type Job = Box<dyn FnOnce(Option<&Connection>, Undo) -> Reply + Send>;
type Reply = Box<dyn FnOnce(Result<(), &StoreError>) + Send>;

#[derive(Debug)]
pub(crate) struct Writer {
    jobs: std::sync::Mutex<Option<mpsc::Sender<Job>>>,
    thread: std::sync::Mutex<Option<JoinHandle<()>>>,
    listeners: Arc<Listeners>,
}

/// Who is told of changes.
#[derive(Default)]
struct Listeners(RwLock<Vec<Listener>>);

impl Listeners {
    fn tell(&self, change: &Change) {
        for listener in self.0.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(change);
        }
    }
}

impl std::fmt::Debug for Listeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listeners")
    }
}

impl Writer {
    /// `graves` is set by whoever leaves something to sweep up.
    pub(crate) fn start(connection: Connection, graves: Arc<AtomicBool>) -> Result<Self> {
        let (sender, receiver) = mpsc::channel(QUEUE_LEN);
        let thread = std::thread::Builder::new()
            .name("rowmill-writer".to_owned())
            .spawn(move || run(&connection, receiver, &graves))
            .map_err(|error| StoreError::Backend(error.into()))?;
        Ok(Self {
            jobs: std::sync::Mutex::new(Some(sender)),
            thread: std::sync::Mutex::new(Some(thread)),
            listeners: Arc::default(),
        })
    }

    /// Runs `work` in a transaction and answers once it is on the disk. An error undoes this work alone.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.send(work, |done| done).await
    }

    /// `told` is called on the writer's thread once the work is on the disk.
    async fn send<T: Send + 'static, U: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
        told: impl FnOnce(T) -> U + Send + 'static,
    ) -> Result<U> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection, undo| {
            let outcome = connection.map(|connection| undoable(connection, undo, work));
            Box::new(move |committed| {
                // A caller that has gone away wants no answer.
                let _ = answer.send(match (outcome, committed) {
                    (Some(Err(refusal)), _) => Err(refusal),
                    (Some(Ok(done)), Ok(())) => Ok(told(done)),
                    (_, Err(failure)) => Err(StoreError::Backend(failure.to_string().into())),
                    (None, Ok(())) => Err(StoreError::Closed),
                });
            })
        });
        let jobs = lock(&self.jobs).clone().ok_or(StoreError::Closed)?;
        jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// The same for work that changes rows: its changes are told in the order they were committed, before
    /// the caller is answered.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<(T, Vec<Change>)> + Send + 'static,
    ) -> Result<T> {
        let listeners = Arc::clone(&self.listeners);
        self.send(work, move |(done, changes)| {
            for change in &changes {
                listeners.tell(change);
            }
            done
        })
        .await
    }

    pub(crate) fn listen(&self, listener: Listener) {
        self.listeners.0.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Lets no more in, finishes what is queued and waits for the end.
    pub(crate) fn close(&self) {
        drop(lock(&self.jobs).take());
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(connection: &Connection, mut jobs: mpsc::Receiver<Job>, graves: &AtomicBool) {
    loop {
        let first = match jobs.try_recv() {
            Ok(job) => job,
            // Nobody waits: a good moment to sweep up after deleted projects.
            Err(mpsc::error::TryRecvError::Empty) if graves.load(Ordering::Acquire) => {
                graves.store(sweep(connection), Ordering::Release);
                continue;
            }
            Err(mpsc::error::TryRecvError::Empty) => match jobs.blocking_recv() {
                Some(job) => job,
                None => break,
            },
            Err(mpsc::error::TryRecvError::Disconnected) => break,
        };
        commit_batch(connection, first, &mut jobs);
    }
    // Folding the log into the file makes the next start quick; failing to is harmless.
    let _ = connection.pragma_update(None, "wal_checkpoint", "truncate");
}

fn commit_batch(connection: &Connection, first: Job, jobs: &mut mpsc::Receiver<Job>) {
    let mut replies = Vec::new();
    let begun = run_cached(connection, "BEGIN IMMEDIATE");
    let transaction = begun.is_ok().then_some(connection);
    let started = Instant::now();
    replies.push(first(transaction, Undo::Everything));
    while replies.len() < BATCH_LEN_MAX && started.elapsed() < BATCH_TIME_MAX {
        // Whoever comes after one that could not be undone cleanly waits for the next transaction.
        if connection.is_autocommit() {
            break;
        }
        let Ok(job) = jobs.try_recv() else { break };
        replies.push(job(transaction, Undo::ThisAlone));
    }
    let committed = begun.and_then(|()| run_cached(connection, "COMMIT")).map_err(backend);
    if let Err(failure) = &committed {
        tracing::error!(%failure, writes = replies.len(), "a commit failed; none of its writes took effect");
        if !connection.is_autocommit() {
            let _ = run_cached(connection, "ROLLBACK");
        }
    }
    for reply in replies {
        reply(committed.as_ref().copied());
    }
}

/// What a write that fails undoes.
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
        .unwrap_or_else(|_| Err(StoreError::Backend("a write panicked; it was undone".into())));
    match (undo, outcome.is_err()) {
        (Undo::Everything, false) => {}
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

/// Sweeps a little; says whether there is more.
fn sweep(connection: &Connection) -> bool {
    match in_transaction(connection, purge::sweep_some) {
        Ok(more) => more,
        Err(failure) => {
            tracing::warn!(%failure, "sweeping up after a deleted project failed; it is tried again later");
            false
        }
    }
}

pub(crate) fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    run_cached(connection, "BEGIN IMMEDIATE").map_err(backend)?;
    let outcome = work(connection);
    let end = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
    run_cached(connection, end).map_err(backend)?;
    outcome
}
