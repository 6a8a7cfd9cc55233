//! Results on their way into the store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rowmill_store::{CellResult, Settlement};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::engine::Shared;

/// Where results come thick and fast they are gathered for so long: a transaction costs much the same
/// whether it takes ten of them or two hundred.
const GATHER: Duration = Duration::from_millis(15);
/// Nobody waits for more than that.
const ENOUGH: usize = 256;

/// Writes whatever has finished in one transaction, again and again. While one is under way the next
/// batch gathers. A batch that fails is kept and written again: a result that was written already has no
/// ticket any more, so nothing is written twice.
pub(crate) async fn settle(shared: Arc<Shared>, mut results: UnboundedReceiver<Settlement>) {
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
