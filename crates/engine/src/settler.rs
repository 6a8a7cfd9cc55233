//! Results on their way into the store.

use std::sync::Arc;

use rowmill_store::{CellResult, Settlement};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::engine::Shared;

/// Writes whatever has finished in one transaction, again and again. While one is under way the next
/// batch gathers. A batch that fails is kept and written again: a result that was written already has no
/// ticket any more, so nothing is written twice.
pub(crate) async fn settle(shared: Arc<Shared>, mut results: UnboundedReceiver<Settlement>) {
    let mut batch = Vec::new();
    while results.recv_many(&mut batch, shared.config.settle_cells_max).await > 0 {
        let taken = loop {
            let now_ms = shared.clock.now().as_millisecond();
            match shared.store.settle(shared.worker, now_ms, batch.clone()).await {
                Ok(taken) => break taken,
                Err(error) => shared.store_failed("settle", &error).await,
            }
        };
        for (settlement, _) in batch.iter().zip(taken).filter(|(_, taken)| *taken) {
            metrics::counter!("rowmill_cells_settled_total", "outcome" => word(&settlement.result))
                .increment(1);
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
