//! Results on their way into the store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rowmill_store::{CellResult, Settlement};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

use crate::engine::Shared;

/// Writers at once. A project's results all go to the same one, so none waits for another's transaction.
const WRITERS: usize = 4;

/// Where results come thick and fast they are gathered for so long: a transaction costs much the same
/// whether it takes ten of them or two hundred.
const GATHER: Duration = Duration::from_millis(15);
/// Nobody waits for more than that.
const ENOUGH: usize = 1_024;

/// Where results are handed in.
#[derive(Debug)]
pub(crate) struct Outlets(Vec<UnboundedSender<Settlement>>);

impl Outlets {
    /// One outlet for each writer, and their other ends.
    pub(crate) fn new() -> (Self, Vec<UnboundedReceiver<Settlement>>) {
        let (outlets, results) = (0..WRITERS).map(|_| mpsc::unbounded_channel()).unzip();
        (Self(outlets), results)
    }

    pub(crate) fn send(&self, settlement: Settlement) {
        let writer = settlement.ticket.lane.project.uuid().as_u128() % WRITERS as u128;
        if let Some(outlet) = usize::try_from(writer).ok().and_then(|writer| self.0.get(writer)) {
            // The writer is gone only when the whole engine is.
            let _ = outlet.send(settlement);
        }
    }
}

/// Writes results until nobody can hand in any more.
pub(crate) async fn settle(shared: Arc<Shared>, results: Vec<UnboundedReceiver<Settlement>>) {
    let mut writers: JoinSet<()> =
        results.into_iter().map(|results| write(Arc::clone(&shared), results)).collect();
    while writers.join_next().await.is_some() {}
}

/// Writes whatever has finished in one transaction, again and again. While one is under way the next
/// batch gathers. A batch that fails is kept and written again: a result that was written already has no
/// ticket any more, so nothing is written twice.
async fn write(shared: Arc<Shared>, mut results: UnboundedReceiver<Settlement>) {
    let mut batch = Vec::new();
    let most = shared.config.settle_cells_max;
    while results.recv_many(&mut batch, most).await > 0 {
        if batch.len() < ENOUGH && shared.pace.is_quick() {
            shared.clock.sleep(GATHER).await;
            while batch.len() < most
                && let Ok(result) = results.try_recv()
            {
                batch.push(result);
            }
        }
        let taken = loop {
            let now_ms = shared.clock.now().as_millisecond();
            match shared.store.settle(shared.worker, now_ms, batch.clone()).await {
                Ok(taken) => break taken,
                Err(error) => shared.store_failed("settle", &error).await,
            }
        };
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        for (settlement, _) in batch.iter().zip(taken).filter(|(_, taken)| *taken) {
            *counts.entry(word(&settlement.result)).or_default() += 1;
        }
        for (word, count) in counts {
            metrics::counter!("rowmill_cells_settled_total", "outcome" => word).increment(count);
        }
        shared.registry.settled(batch.drain(..).map(|settlement| settlement.ticket));
        shared.wake.notify_one();
    }
}

fn word(result: &CellResult) -> &'static str {
    match result {
        CellResult::Value(..) => "value",
        CellResult::NoData(_) => "no_data",
        CellResult::Retry(..) => "retry",
        CellResult::Later(..) => "later",
        CellResult::Skipped(_) => "skipped",
        CellResult::Failed(error, _) => error.code.word(),
    }
}
