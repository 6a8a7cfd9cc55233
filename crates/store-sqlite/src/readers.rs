//! Reading, always in a snapshot: all that one read sees is of one moment.
//!
//! A short read runs on the thread that asks for it. It takes some microseconds, and handing it to
//! another thread and waiting for the answer would take longer. What may be long, such as a scan, runs
//! on threads apart, few at a time, so that it delays no short read.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rowmill_store::{Result, StoreError};
use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::{backend, read_only, run_cached};

/// How many long reads run at once; more of them wait.
const LONG_READS_MAX: usize = 2;

/// Connections for reading, as many as there were ever reads at once: never more than the threads that
/// read.
#[derive(Debug)]
pub(crate) struct Readers {
    file: PathBuf,
    idle: Mutex<Vec<Connection>>,
    long_reads: Semaphore,
}

impl Readers {
    /// Opens one connection, to learn early whether the file can be read; the others follow when needed.
    pub(crate) fn open(file: PathBuf) -> Result<Self> {
        let idle = Mutex::new(vec![read_only(&file)?]);
        Ok(Self { file, idle, long_reads: Semaphore::new(LONG_READS_MAX) })
    }

    /// Reads here and now.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let connection = match self.idle().pop() {
            Some(connection) => connection,
            None => read_only(&self.file)?,
        };
        // After a panic the connection is dropped, and with it whatever state it was left in.
        let outcome = in_snapshot(&connection, work)?;
        self.idle().push(connection);
        outcome
    }

    /// Reads what may take long, on another thread.
    pub(crate) async fn read_long<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let _permit = self.long_reads.acquire().await.map_err(|_| StoreError::Closed)?;
        let readers = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || readers.read(work));
        reading.await.map_err(|failure| StoreError::Backend(failure.into()))?
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outer error is the snapshot's, the inner one the work's.
fn in_snapshot<T>(connection: &Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<Result<T>> {
    run_cached(connection, "BEGIN").map_err(backend)?;
    let outcome = work(connection);
    run_cached(connection, "COMMIT").map_err(backend)?;
    Ok(outcome)
}
