//! Counts what became of cells, and what they used.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use rowmill_model::{Paid, Usage, provider};
use rowmill_store::changes::payments;
use rowmill_store::{CellResult, Settlement};

/// US dollars by provider, since the process started. A counter of `metrics` has whole numbers only.
static SPENT: Mutex<BTreeMap<&'static str, f64>> = Mutex::new(BTreeMap::new());

/// What all cells of this process have paid, in US dollars, by provider.
pub fn spent_dollars() -> BTreeMap<&'static str, f64> {
    SPENT.lock().clone()
}

/// Counts results that were taken. What was dropped counts nowhere: its cell runs again, or nobody wants it.
pub(crate) fn count_settled(batch: &[Settlement], taken: &[bool]) {
    let mut outcomes: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (settlement, _) in batch.iter().zip(taken).filter(|(_, taken)| **taken) {
        *outcomes.entry(word(&settlement.result)).or_default() += 1;
        count_used(&settlement.result);
    }
    for (word, count) in outcomes {
        metrics::counter!("rowmill_cells_settled_total", "outcome" => word).increment(count);
    }
}

fn count_used(result: &CellResult) {
    for Paid { provider, spent } in payments(result, String::new) {
        let provider = label(&provider);
        let Usage { attempts: _, input_tokens, output_tokens, cached_tokens, cache_written_tokens: _ } =
            spent.usage;
        for (kind, tokens) in
            [("input", input_tokens), ("output", output_tokens), ("cached_input", cached_tokens)]
        {
            if tokens > 0 {
                metrics::counter!("rowmill_tokens_total", "provider" => provider, "kind" => kind)
                    .increment(tokens);
            }
        }
        if let Some(dollars) = spent.dollars() {
            *SPENT.lock().entry(provider).or_default() += dollars.number();
        }
    }
}

/// A provider of the catalogue by its id. A label must not grow with what somebody made up.
fn label(id: &str) -> &'static str {
    provider::PROVIDERS.iter().find(|provider| provider.id == id).map_or("other", |provider| provider.id)
}

fn word(result: &CellResult) -> &'static str {
    match result {
        CellResult::Value(..) => "value",
        CellResult::NoData(_) => "no_data",
        CellResult::Retry { .. } => "retry",
        CellResult::Later { .. } => "later",
        CellResult::Skipped(_) => "skipped",
        CellResult::Failed(error, _) => error.code.word(),
    }
}
