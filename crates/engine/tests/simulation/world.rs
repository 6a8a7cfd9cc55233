//! What all parts of a simulation share: the time, the chance, the history, the weather.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rowmill_clock::{Clock as _, RuntimeClock};
use rowmill_engine::CallLimits;
use rowmill_model::ProjectId;
use rowmill_store::conformance::{FaultInjection, MemoryStore};
use rowmill_store::{Store, StoreError};

use crate::checks::Ledger;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) clock: Arc<RuntimeClock>,
    pub(crate) call_limits: CallLimits,
    pub(crate) project: ProjectId,
    state: Mutex<State>,
    /// Weak, because the store owns the weather and the weather the world.
    store: OnceLock<Weak<MemoryStore>>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) random: fastrand::Rng,
    /// Nothing goes wrong with the store any more.
    pub(crate) is_calm: bool,
    pub(crate) history: Vec<String>,
    pub(crate) violations: Vec<String>,
    /// Whether the store has changed since it was looked at.
    pub(crate) has_changed: bool,
    pub(crate) ledger: Ledger,
}

impl World {
    pub(crate) fn new(seed: u64, project: ProjectId) -> (Arc<Self>, Arc<MemoryStore>) {
        let world = Arc::new(Self {
            clock: Arc::new(RuntimeClock::new(Timestamp::from_millisecond(EPOCH_MS).unwrap())),
            call_limits: CallLimits::default(),
            project,
            state: Mutex::new(State {
                random: fastrand::Rng::with_seed(seed ^ 0x5eed),
                is_calm: false,
                history: Vec::new(),
                violations: Vec::new(),
                has_changed: true,
                ledger: Ledger::default(),
            }),
            store: OnceLock::new(),
        });
        let store = Arc::new(MemoryStore::with_faults(Sky(Arc::clone(&world))));
        world.store.set(Arc::downgrade(&store)).unwrap();
        let listening = Arc::downgrade(&world);
        store.listen(Box::new(move |_| {
            if let Some(world) = listening.upgrade() {
                world.state().has_changed = true;
            }
        }));
        (world, store)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn store(&self) -> Arc<MemoryStore> {
        self.store.get().unwrap().upgrade().unwrap()
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    pub(crate) fn note(&self, words: &str) {
        let line = format!("{:>9} {words}", self.now_ms() - EPOCH_MS);
        self.state().history.push(line);
    }

    /// A broken promise is noted, not panicked about: it may be seen in a task that nobody waits for.
    pub(crate) fn must(&self, holds: bool, words: impl FnOnce() -> String) {
        if !holds {
            let words = words();
            self.note(&format!("BROKEN: {words}"));
            self.state().violations.push(words);
        }
    }

    /// A number below another.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.state().random.u64(..bound.max(1))
    }
}

const EPOCH_MS: i64 = 1_700_000_000_000;

/// Delays and failures between the engine and the store, and the place from which every transaction of
/// the engine is looked at.
struct Sky(Arc<World>);

impl Sky {
    async fn blow(&self) -> Result<(), StoreError> {
        let (is_calm, dice) = {
            let mut state = self.0.state();
            (state.is_calm, state.random.u64(..100))
        };
        match dice {
            _ if is_calm => {}
            0..3 => return Err(StoreError::Backend("a storm".into())),
            3..20 => tokio::time::sleep(Duration::from_millis(self.0.below(40))).await,
            20..22 => tokio::time::sleep(Duration::from_secs(self.0.below(12))).await,
            22..50 => tokio::task::yield_now().await,
            _ => {}
        }
        Ok(())
    }
}

#[async_trait]
impl FaultInjection for Sky {
    async fn before(&self, call: &'static str) -> Result<(), StoreError> {
        self.blow().await?;
        if call == "claim" {
            self.0.look_before_claim().await;
        }
        Ok(())
    }

    async fn after(&self, call: &'static str) -> Result<(), StoreError> {
        match call {
            "claim" => self.0.look_after_claim().await,
            "settle" => self.0.look_around().await,
            "requeue_lost" | "leave" if self.0.state().has_changed => {
                self.0.look_for_lost().await;
                self.0.look_around().await;
            }
            _ => {}
        }
        self.blow().await
    }
}
