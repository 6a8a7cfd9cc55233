//! What an operator can set about webhooks.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct WebhookConfig {
    /// The longest a receiver may take for its answer.
    pub timeout: Duration,
    /// How much longer a claim lasts than an attempt.
    pub lease: Duration,
    /// The first wait before a delivery is tried again. The others are multiples of it.
    pub retry_base: Duration,
    /// Deliveries at once, to all receivers together.
    pub at_once_max: usize,
    /// If more bytes than this wait for a webhook, events are dropped.
    pub backlog_bytes_max: u64,
    /// A webhook that fails for this long is disabled.
    pub disabled_after: Duration,
    /// How often the outbox is looked at though nothing was heard of anything: other nodes write into it, too.
    pub look_every: Duration,
    /// How many deliveries of a webhook are kept once they are done, how many bytes, and for how long.
    pub kept_count: u64,
    pub kept_bytes: u64,
    pub kept_for: Duration,
}

impl Default for WebhookConfig {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(15),
            lease: Duration::from_secs(30),
            retry_base: Duration::from_secs(5),
            at_once_max: 512,
            backlog_bytes_max: 32 * 1024 * 1024,
            disabled_after: Duration::from_hours(5 * 24),
            look_every: Duration::from_secs(1),
            kept_count: 10_000,
            kept_bytes: 32 * 1024 * 1024,
            kept_for: Duration::from_hours(7 * 24),
        }
    }
}
