//! A worker: everything that runs for as long as it lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rowmill_clock::Clock;
use rowmill_store::{Change, ChangedRows, Store, WorkerId};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::batch_lanes::BatchLanes;
use crate::budgets::Budgets;
use crate::cell_permits::CellPermits;
use crate::cell_runner::CellRunner;
use crate::claim_ahead::ClaimAhead;
use crate::config::Config;
use crate::fair_share::Loads as _;
use crate::in_flight::InFlightCells;
use crate::liveness::Heartbeat;
use crate::results::ResultSenders;
use crate::shared::Shared;
use crate::{batches, dispatch, heartbeat, settler};

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
    batches: [JoinHandle<()>; 2],
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
            budgets: Budgets::default(),
            batch_lanes: BatchLanes::default(),
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
                if !change.revoked.is_empty() && shared.runner.batches().is_some() {
                    shared.batch_lanes.revoked(change.project);
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
            batches: [
                tokio::spawn(batches::collect_batches(Arc::clone(&shared))),
                tokio::spawn(batches::keep_batches(Arc::clone(&shared))),
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
        // A batch that is being made is given back by whoever finds it; the others go on at their provider.
        self.batches.iter().for_each(JoinHandle::abort);
        for task in &mut self.batches {
            if !task.is_finished() {
                let _ = task.await;
            }
        }
        if !self.dispatcher.is_finished() {
            let _ = (&mut self.dispatcher).await;
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.dispatcher.abort();
        self.settler.abort();
        self.batches.iter().for_each(JoinHandle::abort);
        self.heartbeats.iter().for_each(JoinHandle::abort);
        self.shared.in_flight.close();
    }
}
