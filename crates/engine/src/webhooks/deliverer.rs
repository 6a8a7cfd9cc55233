//! The deliverer: everything that delivers for as long as it lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rowmill_clock::Clock;
use rowmill_providers::Client;
use rowmill_store::{Change, Store};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::config::WebhookConfig;
use super::receivers::Receivers;
use super::secrets::WebhookSecrets;
use super::shared::Shared;
use super::{backlog, dispatch, settler};

/// How long to wait for the last outcomes to be written.
const LAST_OUTCOMES_MAX: Duration = Duration::from_secs(5);

/// Delivers what is in the outbox, until it is stopped or dropped.
#[derive(Debug)]
pub struct Deliverer {
    shared: Arc<Shared>,
    dispatcher: JoinHandle<()>,
    settler: JoinHandle<()>,
    backlog: JoinHandle<()>,
}

impl Deliverer {
    /// Starts delivering, inside a runtime. The seed decides how retries are spread.
    pub fn start(
        store: Arc<dyn Store>,
        client: Client,
        secrets: Arc<dyn WebhookSecrets>,
        clock: Arc<dyn Clock>,
        config: WebhookConfig,
        seed: u64,
    ) -> Self {
        let (outcomes, settled) = tokio::sync::mpsc::unbounded_channel();
        let receivers = Receivers::new(config.retry_base / 5);
        let shared = Arc::new(Shared {
            store,
            client,
            secrets,
            clock,
            config,
            receivers,
            in_flight: AtomicUsize::new(0),
            wake: Notify::new(),
            outcomes: Mutex::new(Some(outcomes)),
            touched: Mutex::default(),
            dropping: Mutex::default(),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        });
        // The store outlives the deliverer, and listeners are for ever: this one must not keep it alive.
        let listening = Arc::downgrade(&shared);
        shared.store.listen(Box::new(move |change: &Change| {
            if change.told
                && let Some(shared) = listening.upgrade()
            {
                shared.wake.notify_one();
            }
        }));
        Self {
            dispatcher: tokio::spawn(dispatch::dispatch(Arc::clone(&shared))),
            settler: tokio::spawn(settler::settle(Arc::clone(&shared), settled)),
            backlog: tokio::spawn(backlog::watch(Arc::clone(&shared))),
            shared,
        }
    }

    /// Begins no more deliveries, waits for those under way for as long as that, and writes what became of them. What is
    /// left is delivered again when its lease ends.
    pub async fn stop(mut self, within: Duration) {
        self.dispatcher.abort();
        self.backlog.abort();
        let finishing = async {
            while self.shared.in_flight.load(Ordering::Acquire) > 0 {
                self.shared.wake.notified().await;
            }
        };
        tokio::select! {
            biased;
            () = finishing => {}
            () = self.shared.clock.sleep(within) => {}
        }
        self.shared.outcomes.lock().take();
        tokio::select! {
            biased;
            _ = &mut self.settler => {}
            () = self.shared.clock.sleep(LAST_OUTCOMES_MAX) => {
                tracing::warn!("the outcome of some webhook deliveries could not be written; they are delivered again");
            }
        }
    }
}

impl Drop for Deliverer {
    fn drop(&mut self) {
        self.dispatcher.abort();
        self.settler.abort();
        self.backlog.abort();
    }
}
