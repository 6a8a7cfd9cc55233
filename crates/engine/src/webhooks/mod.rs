//! Outbound webhooks: deliveries are claimed from the outbox, signed, sent, and tried again.
//!
//! Any node may deliver: a claim is a lease, and what a node that dies has claimed is due again when it ends. Each
//! receiver has a window of deliveries at once, and rests after it failed, so that a slow or dead one holds up nobody.

mod backlog;
mod config;
mod deliverer;
mod disabling;
mod dispatch;
mod receivers;
mod schedule;
mod secrets;
mod send;
mod settler;
mod shared;
mod signature;

pub use config::WebhookConfig;
pub use deliverer::Deliverer;
pub use secrets::WebhookSecrets;
