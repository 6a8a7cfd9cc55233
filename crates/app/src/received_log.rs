//! The log of what inbound webhooks received, as it is written: many deliveries in one transaction.
//!
//! Who was told that rows were written does not wait for the log. Whoever has nothing but the log waits.

use std::sync::Arc;

use parking_lot::Mutex;
use rowmill_store::received::{KeepReceived, NewReceived};
use rowmill_store::{Result, Store};

/// How many deliveries of a team are kept.
const COUNT_MAX: u64 = 10_000;
/// How many deliveries, and how many bytes of them, are written in one transaction.
const BATCH_MAX: usize = 256;
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;
/// With more than this waiting, whoever brings more waits, too.
const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct ReceivedLog {
    store: Arc<dyn Store>,
    keep: KeepReceived,
    waiting: Mutex<Waiting>,
    /// Held by whoever writes.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    deliveries: Vec<NewReceived>,
    bytes: usize,
}

impl ReceivedLog {
    /// A log that keeps so many bytes of each team.
    pub(crate) fn new(store: Arc<dyn Store>, bytes_max: u32) -> Self {
        let keep = KeepReceived { count: COUNT_MAX, bytes: bytes_max.into() };
        Self { store, keep, waiting: Mutex::default(), writing: tokio::sync::Mutex::default() }
    }

    /// Writes a delivery down: soon, or, if it is to be waited for, at once.
    pub(crate) async fn add(self: &Arc<Self>, new: NewReceived, is_awaited: bool) {
        let is_much = {
            let mut waiting = self.waiting.lock();
            waiting.bytes += new.body.len();
            waiting.deliveries.push(new);
            waiting.bytes > WAITING_BYTES_MAX
        };
        // A task of its own: a caller that goes away must not take along what it writes for others.
        let log = Arc::clone(self);
        let writing = tokio::spawn(async move { log.flush().await });
        if is_awaited || is_much {
            let _ = writing.await;
        }
    }

    /// Writes whatever waits. What cannot be written is lost: rows are more than the log of them.
    pub(crate) async fn flush(&self) {
        let _turn = self.writing.lock().await;
        loop {
            let batch = self.take();
            if batch.is_empty() {
                return;
            }
            if let Err(failure) = self.write(batch).await {
                tracing::warn!(%failure, "could not keep what inbound webhooks received");
            }
        }
    }

    async fn write(&self, batch: Vec<NewReceived>) -> Result<()> {
        self.store.keep_received(batch, self.keep).await
    }

    fn take(&self) -> Vec<NewReceived> {
        let mut waiting = self.waiting.lock();
        let mut bytes = 0;
        let fits = |new: &&NewReceived| {
            bytes += new.body.len();
            bytes <= BATCH_BYTES_MAX
        };
        // One in any case, however large.
        let count = waiting.deliveries.iter().take(BATCH_MAX).take_while(fits).count().max(1);
        let count = count.min(waiting.deliveries.len());
        let batch: Vec<NewReceived> = waiting.deliveries.drain(..count).collect();
        waiting.bytes -= batch.iter().map(|new| new.body.len()).sum::<usize>();
        batch
    }
}
