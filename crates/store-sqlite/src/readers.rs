//! Reading, always in a snapshot: everything that one read sees is of one moment.
//!
//! A short read runs on the thread that asks for it. It takes microseconds, and handing it to another thread would take
//! longer. Reads that may be long run on other threads, a few at a time and a few of each tenant, so that a tenant that
//! reads much waits for itself. Lists, pages and scans have separate queues, because a scan takes as long as its
//! project is large.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use rowmill_fairness::{FairSemaphore, Permit, Tenant};
use rowmill_store::{Result, StoreError};
use rusqlite::Connection;

use crate::connection::{read_only, run_cached};
use crate::convert::backend;
use crate::short_reads::ShortReads;

/// How many reads of a kind run at once, and how many of them for one tenant; more of them wait.
const LONG_READS_MAX: usize = 4;
const LONG_READS_EACH_MAX: usize = 2;
/// How many snapshots are held open. Each keeps the log from being folded into the file.
const SNAPSHOTS_MAX: usize = 8;
const SNAPSHOTS_EACH_MAX: usize = 4;

/// The queue that a read on another thread waits in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReadKind {
    /// Lists of projects and the like: usually short, but that is not known beforehand.
    List,
    /// A page of rows, bounded in bytes.
    Page,
    /// Anything that goes over many rows.
    Scan,
}

/// Connections for reading, as many as there were ever reads at once: never more than the threads that
/// read and the snapshots that are open.
#[derive(Debug)]
pub(crate) struct Readers {
    file: PathBuf,
    idle: Mutex<Vec<Connection>>,
    in_use: AtomicUsize,
    short_reads: ShortReads,
    lists: Arc<FairSemaphore>,
    pages: Arc<FairSemaphore>,
    scans: Arc<FairSemaphore>,
    snapshots: Arc<FairSemaphore>,
}

impl Readers {
    /// Opens one connection, to learn early whether the file can be read; the others follow when needed.
    pub(crate) fn open(file: PathBuf) -> Result<Self> {
        let lane = || FairSemaphore::new(LONG_READS_MAX, LONG_READS_EACH_MAX);
        Ok(Self {
            idle: Mutex::new(vec![read_only(&file)?]),
            in_use: AtomicUsize::new(0),
            file,
            short_reads: ShortReads::default(),
            lists: lane(),
            pages: lane(),
            scans: lane(),
            snapshots: FairSemaphore::new(SNAPSHOTS_MAX, SNAPSHOTS_EACH_MAX),
        })
    }

    /// Reads on the thread that asks.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.short_reads.run(|| self.read_here(work))
    }

    /// The same, for what takes long only after it was read: that is no reason to take the disk for a dead one.
    pub(crate) fn read_then<R, T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<R>,
        then: impl FnOnce(R) -> Result<T>,
    ) -> Result<T> {
        self.short_reads.run_then(|| self.read_here(work), then)
    }

    /// Reads by one statement on the thread that asks. A statement sees one moment by itself, and needs no transaction.
    pub(crate) fn read_one<T>(&self, statement: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.short_reads.run(|| {
            let _in_use = InUse::begin(&self.in_use);
            let connection = self.connection()?;
            let outcome = statement(&connection);
            self.idle().push(connection);
            outcome
        })
    }

    fn read_here<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let _in_use = InUse::begin(&self.in_use);
        let connection = self.connection()?;
        // After a panic the connection is dropped, and with it whatever state it was left in.
        let outcome = in_snapshot(&connection, work)?;
        self.idle().push(connection);
        outcome
    }

    /// Reads on another thread, for reads that may take long.
    pub(crate) async fn read_long<T: Send + 'static>(
        self: &Arc<Self>,
        lane: ReadKind,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.permit(lane).await;
        let readers = Arc::clone(self);
        // The permit goes along: a caller that goes away leaves the thread at work.
        let reading = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            readers.read_here(work)
        });
        reading.await.map_err(|failure| StoreError::Backend(failure.into()))?
    }

    /// Opens a snapshot that stays readable; `None` if too many are open already.
    pub(crate) fn snapshot(self: &Arc<Self>) -> Result<Option<HeldSnapshot>> {
        let Some(permit) = self.snapshots.try_acquire(Tenant::current()) else { return Ok(None) };
        let connection = self.connection()?;
        run_cached(&connection, "BEGIN").map_err(backend)?;
        self.in_use.fetch_add(1, Ordering::Relaxed);
        Ok(Some(HeldSnapshot { readers: Arc::clone(self), connection: Some(connection), _permit: permit }))
    }

    /// How many connections read, and how many are idle.
    pub(crate) fn connections(&self) -> (usize, usize) {
        (self.in_use.load(Ordering::Relaxed), self.idle().len())
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    async fn permit(&self, lane: ReadKind) -> Permit {
        let semaphore = match lane {
            ReadKind::List => &self.lists,
            ReadKind::Page => &self.pages,
            ReadKind::Scan => &self.scans,
        };
        semaphore.acquire(Tenant::current()).await
    }

    fn connection(&self) -> Result<Connection> {
        // The lock is not held while a connection is opened.
        let idle = self.idle().pop();
        idle.map_or_else(|| read_only(&self.file), Ok)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock()
    }
}

/// Counts a connection as in use until it is dropped.
struct InUse<'r>(&'r AtomicUsize);

impl<'r> InUse<'r> {
    fn begin(in_use: &'r AtomicUsize) -> Self {
        in_use.fetch_add(1, Ordering::Relaxed);
        Self(in_use)
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An open read transaction. It sees the database as it is at the first read.
#[derive(Debug)]
pub(crate) struct HeldSnapshot {
    readers: Arc<Readers>,
    /// `None` after a read that panicked.
    connection: Option<Connection>,
    _permit: Permit,
}

impl HeldSnapshot {
    pub(crate) async fn read<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.readers.permit(ReadKind::Page).await;
        let connection = self.connection.take().ok_or(StoreError::Closed)?;
        let reading = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let outcome = work(&connection);
            (connection, outcome)
        });
        let (connection, outcome) = reading.await.map_err(|failure| StoreError::Backend(failure.into()))?;
        self.connection = Some(connection);
        outcome
    }
}

impl Drop for HeldSnapshot {
    fn drop(&mut self) {
        self.readers.in_use.fetch_sub(1, Ordering::Relaxed);
        if let Some(connection) = self.connection.take()
            && run_cached(&connection, "COMMIT").is_ok()
        {
            self.readers.idle().push(connection);
        }
    }
}

/// Runs work in a snapshot. The outer error is the snapshot's, the inner one the work's.
fn in_snapshot<T>(connection: &Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<Result<T>> {
    run_cached(connection, "BEGIN").map_err(backend)?;
    let outcome = work(connection);
    // SQLite itself ends the transaction when the disk fails.
    if !connection.is_autocommit() {
        run_cached(connection, "COMMIT").map_err(backend)?;
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn whoever_reads_much_waits_for_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let readers = Arc::new(Readers::open(folder.path().join("test.db")).unwrap());
        let (open, gate) = mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let noisy: Vec<_> = (0..32)
            .map(|_| {
                let (readers, gate) = (Arc::clone(&readers), Arc::clone(&gate));
                let work = async move {
                    let wait = move |_: &Connection| {
                        let _ = gate.lock().recv();
                        Ok(())
                    };
                    readers.read_long(ReadKind::Page, wait).await
                };
                tokio::spawn(Tenant::team(1).scope(work))
            })
            .collect();
        while readers.pages.try_acquire(Tenant::team(1)).is_some() {
            tokio::task::yield_now().await;
        }
        let read = async |tenant: Tenant, lane| {
            let reading = tenant.scope(readers.read_long(lane, |_| Ok(7)));
            tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap().unwrap()
        };
        assert_eq!(read(Tenant::team(2), ReadKind::Page).await, 7);
        assert_eq!(read(Tenant::team(1), ReadKind::List).await, 7);
        drop(open);
        for work in noisy {
            work.await.unwrap().unwrap();
        }
    }
}
