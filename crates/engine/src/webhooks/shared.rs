//! What the parts of a deliverer share.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use parking_lot::Mutex;
use rowmill_clock::Clock;
use rowmill_model::{TeamId, WebhookId};
use rowmill_providers::Client;
use rowmill_store::Store;
use rowmill_store::webhooks::DeliverySettlement;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::config::WebhookConfig;
use super::receivers::Receivers;
use super::secrets::WebhookSecrets;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) store: Arc<dyn Store>,
    pub(super) client: Client,
    pub(super) secrets: Arc<dyn WebhookSecrets>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) config: WebhookConfig,
    pub(super) receivers: Receivers,
    pub(super) in_flight: AtomicUsize,
    pub(super) wake: Notify,
    /// `None` once no more is taken.
    pub(super) outcomes: Mutex<Option<UnboundedSender<DeliverySettlement>>>,
    /// Webhooks whose deliveries were settled since the log was last trimmed.
    pub(super) touched: Mutex<HashSet<WebhookId>>,
    /// Webhooks that drop events.
    pub(super) dropping: Mutex<HashMap<WebhookId, TeamId>>,
    pub(super) random: Mutex<fastrand::Rng>,
}

impl Shared {
    pub(super) fn settle(&self, done: DeliverySettlement) {
        if let Some(outcomes) = &*self.outcomes.lock() {
            // Nobody takes them only when all is over.
            let _ = outcomes.send(done);
        }
    }

    pub(super) fn chance(&self) -> f64 {
        self.random.lock().f64()
    }
}
