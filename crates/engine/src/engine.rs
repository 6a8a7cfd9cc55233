//! A worker: everything that runs for as long as it lives.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::{ProjectId, TeamId};
use rowmill_providers::Clock;
use rowmill_store::{Change, ChangedRows, Claim, Lane, Store, StoreError, WorkerId};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::cell_permits::CellPermits;
use crate::cell_runner::CellRunner;
use crate::claim_ahead::ClaimAhead;
use crate::config::Config;
use crate::fair_share::Loads as _;
use crate::heartbeat::Heartbeat;
use crate::in_flight::InFlightCells;
use crate::settler::ResultSenders;
use crate::{dispatch, heartbeat, settler};

/// Cells claimed ahead for each place, at most.
const AHEAD_MAX: usize = 16;
/// How long to wait for the last results to be written.
const LAST_RESULTS_MAX: Duration = Duration::from_secs(5);

/// Takes cells out of the store, runs them and brings their results, until it is stopped or dropped.
/// Dropped, it is as good as crashed: its cells run again once its lease has run out.
#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    dispatcher: JoinHandle<()>,
    settler: JoinHandle<()>,
    heartbeats: [JoinHandle<()>; 2],
}

/// What the parts of an engine have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) runner: Arc<dyn CellRunner>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: Config,
    pub(crate) worker: WorkerId,
    pub(crate) in_flight: InFlightCells,
    /// Closed when nothing more is to begin.
    pub(crate) permits: CellPermits,
    pub(crate) claim_ahead: ClaimAhead,
    pub(crate) heartbeat: Heartbeat,
    /// Rung when there may be work, or a place for it.
    pub(crate) wake: Notify,
    /// Rung when it is not known whether this worker still holds all it has.
    pub(crate) recheck: Notify,
    /// While no more cells run than this, a place that falls free is told of.
    pub(crate) wanted: AtomicUsize,
    /// Whose projects are, as far as they were looked at. That never changes.
    pub(crate) team_of: Mutex<HashMap<ProjectId, TeamId>>,
    random: Mutex<fastrand::Rng>,
}

impl Engine {
    /// Starts a worker, inside a runtime. Its id must be new; the seed decides how retries are spread.
    pub fn start(
        store: Arc<dyn Store>,
        runner: Arc<dyn CellRunner>,
        clock: Arc<dyn Clock>,
        config: Config,
        worker: WorkerId,
        seed: u64,
    ) -> Self {
        let (senders, results) = ResultSenders::new();
        let permits = CellPermits::new(config.concurrency);
        let (claim_ahead, heartbeat) = (ClaimAhead::new(clock.now()), Heartbeat::new(clock.now()));
        let shared = Arc::new(Shared {
            store,
            runner,
            clock,
            config,
            worker,
            in_flight: InFlightCells::new(senders),
            permits,
            claim_ahead,
            heartbeat,
            wake: Notify::new(),
            recheck: Notify::new(),
            wanted: AtomicUsize::new(usize::MAX),
            team_of: Mutex::default(),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        });
        // The store outlives the engine, and listeners are for ever: this one must not keep it alive.
        let listening = Arc::downgrade(&shared);
        shared.store.listen(Box::new(move |change: &Change| {
            if let Some(shared) = listening.upgrade() {
                shared.in_flight.revoke(&change.revoked);
                // Where changes of another node were missed, nobody says what they took away.
                let is_vague = change.restated && change.rows == ChangedRows::Many;
                if is_vague && shared.in_flight.of_project(change.project) > 0 {
                    shared.recheck.notify_one();
                }
                if change.ready || !change.revoked.is_empty() {
                    shared.wake.notify_one();
                }
            }
        }));
        Self {
            dispatcher: tokio::spawn(dispatch::dispatch(Arc::clone(&shared))),
            settler: tokio::spawn(settler::settle(Arc::clone(&shared), results)),
            heartbeats: [
                tokio::spawn(heartbeat::send_heartbeats(Arc::clone(&shared))),
                tokio::spawn(heartbeat::requeue_lost_workers(Arc::clone(&shared))),
            ],
            shared,
        }
    }

    /// How many cells run.
    pub fn running(&self) -> usize {
        self.shared.in_flight.load().0
    }

    /// Begins nothing more and lets what runs come to its result, for as long as that: who pays for a call wants to have
    /// what it brings.
    pub async fn finish(&mut self, within: Duration) {
        self.begin_no_more().await;
        self.shared.wanted.store(usize::MAX, Ordering::Relaxed);
        let finishing = async {
            while self.running() > 0 {
                self.shared.wake.notified().await;
            }
        };
        tokio::select! {
            biased;
            () = finishing => {}
            () = self.shared.clock.sleep(within) => {}
        }
    }

    /// Takes nothing more, aborts what runs, writes what has finished, and queues the rest for others.
    pub async fn stop(mut self) {
        self.begin_no_more().await;
        self.shared.in_flight.close();
        tokio::select! {
            biased;
            _ = &mut self.settler => {}
            () = self.shared.clock.sleep(LAST_RESULTS_MAX) => tracing::warn!("some results could not be written"),
        }
        self.heartbeats.iter().for_each(JoinHandle::abort);
        for heartbeat in &mut self.heartbeats {
            // A heartbeat behind the farewell would bring the worker back to life.
            let _ = heartbeat.await;
        }
        match self.shared.store.leave(self.shared.worker).await {
            Ok(cells) => tracing::info!(cells, "worker stopped; its cells are queued again"),
            Err(error) => {
                tracing::warn!(%error, "worker stopped without releasing its cells; they run again when its lease expires");
            }
        }
    }

    /// Who has no place yet gets none, and a claim that was under way is given back by leaving.
    async fn begin_no_more(&mut self) {
        self.shared.permits.close();
        self.dispatcher.abort();
        if !self.dispatcher.is_finished() {
            let _ = (&mut self.dispatcher).await;
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.dispatcher.abort();
        self.settler.abort();
        self.heartbeats.iter().for_each(JoinHandle::abort);
        self.shared.in_flight.close();
    }
}

impl Shared {
    /// When this worker is taken for lost, unless it is heard of before.
    pub(crate) fn expires_at_ms(&self) -> i64 {
        let expires_at = self.clock.now().saturating_add(self.config.lease);
        expires_at.unwrap_or(Timestamp::MAX).as_millisecond()
    }

    /// A claim of so many cells as of now.
    pub(crate) fn claim_of(&self, asks: Vec<(Lane, u32)>, bytes_max: usize) -> Claim {
        let (worker, expires_at_ms, now) = (self.worker, self.expires_at_ms(), self.clock.now());
        Claim { worker, expires_at_ms, now, asks, bytes_max }
    }

    /// How many cells of a team may be in hand without a result, running or claimed ahead.
    pub(crate) fn in_flight_max(&self) -> usize {
        let Config { concurrency, .. } = self.config;
        concurrency + self.claim_ahead.ahead(self.clock.now(), AHEAD_MAX * concurrency)
    }

    pub(crate) fn random(&self) -> MutexGuard<'_, fastrand::Rng> {
        self.random.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says so and waits a little before whatever failed is tried again.
    pub(crate) async fn store_failed(&self, what: &'static str, error: &StoreError) {
        tracing::warn!(what, %error, "database error; retrying");
        self.clock.sleep(self.config.store_pause).await;
    }
}
