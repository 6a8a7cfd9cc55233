//! What researches share while the process lives: searches and pages of a run, and what servers were found to speak.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_model::TeamId;
use rowmill_providers::llm::ToolWire;
use rowmill_providers::search::Found;
use rowmill_store::spending::TeamSpending;
use rowmill_store::{Store, Ticket};

use super::refusal::Refusal;
use crate::cell_runner::CallOutcome;
use crate::digest::Digest;
use crate::single_flight::SingleFlight;
use crate::spending_cache::SpendingCache;

#[derive(Debug)]
pub(super) struct ResearchState {
    /// Where steps are recorded.
    pub(super) store: Option<Arc<dyn Store>>,
    pub(super) searches: SingleFlight<Result<Found, Refusal>>,
    pub(super) pages: SingleFlight<Result<Page, CallOutcome>>,
    spending: SpendingCache,
    wires: Mutex<HashMap<Digest, (ToolWire, Timestamp)>>,
    /// The names of records that are of no more use once their cell's result is stored.
    finished: Mutex<HashMap<Ticket, Vec<[u8; 32]>>>,
}

/// A page as a model is shown it.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) url: String,
    pub(super) title: String,
    pub(super) text: String,
    pub(super) links: Vec<String>,
}

const WIRES_MAX: usize = 1_000;
/// A server may learn something new. To ask it costs one refusal.
const WIRE_KEPT_FOR: Duration = Duration::from_hours(6);

impl ResearchState {
    pub(super) fn new(entries_max: usize, bytes_max: usize) -> Self {
        Self {
            store: None,
            searches: SingleFlight::new(entries_max, bytes_max),
            pages: SingleFlight::new(entries_max, bytes_max),
            spending: SpendingCache::default(),
            wires: Mutex::default(),
            finished: Mutex::default(),
        }
    }

    /// The team's prices.
    pub(super) async fn spending(&self, team: TeamId, now: Timestamp) -> Arc<TeamSpending> {
        match &self.store {
            Some(store) => self.spending.of(&**store, team, now).await,
            None => Arc::default(),
        }
    }

    pub(super) fn wire(&self, key: Digest, now: Timestamp) -> Option<ToolWire> {
        self.wires.lock().get(&key).filter(|(_, until)| *until > now).map(|(wire, _)| *wire)
    }

    pub(super) fn learn_wire(&self, key: Digest, wire: ToolWire, now: Timestamp) {
        let mut wires = self.wires.lock();
        if wires.len() >= WIRES_MAX {
            wires.clear();
        }
        wires.insert(key, (wire, now.saturating_add(WIRE_KEPT_FOR).unwrap_or(Timestamp::MAX)));
    }

    /// The cell has its result, which is still to be stored.
    pub(super) fn finish(&self, ticket: Ticket, names: Vec<[u8; 32]>) {
        if self.store.is_some() && !names.is_empty() {
            self.finished.lock().insert(ticket, names);
        }
    }

    /// Forgets the records of cells whose results are stored.
    pub(super) async fn settled(&self, tickets: &[Ticket]) {
        let names: Vec<[u8; 32]> = {
            let mut finished = self.finished.lock();
            if finished.is_empty() {
                return;
            }
            tickets.iter().filter_map(|ticket| finished.remove(ticket)).flatten().collect()
        };
        if let Some(store) = self.store.as_ref().filter(|_| !names.is_empty())
            && let Err(error) = store.forget(names).await
        {
            // They are forgotten when their time is over.
            tracing::debug!(%error, "could not forget the steps of a research");
        }
    }
}
