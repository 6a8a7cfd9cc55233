//! The log of an outbound webhook's deliveries, and sending them again.

use rowmill_store::webhooks::{DeliveryId, DeliveryRecord, DeliveryStatus, Replay};

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::outbound_webhooks::check_enabled;

/// A page of deliveries, newest first.
#[derive(Debug)]
pub struct DeliveriesPage {
    pub deliveries: Vec<DeliveryRecord>,
    /// Whether others follow.
    pub more: bool,
}

impl App {
    /// A webhook's deliveries before one, newest first.
    pub async fn webhook_deliveries(
        &self,
        caller: Caller,
        id: &str,
        before: Option<DeliveryId>,
        status: Option<DeliveryStatus>,
        page_size: u32,
    ) -> Result<DeliveriesPage> {
        let webhook = self.webhook(caller, id).await?;
        let before = before.map(|before| before.num);
        let limit = page_size.saturating_add(1);
        let mut deliveries = self.store.deliveries(webhook.id, before, status, limit).await?;
        let size = usize::try_from(page_size).unwrap_or(usize::MAX);
        let more = deliveries.len() > size;
        deliveries.truncate(size);
        Ok(DeliveriesPage { deliveries, more })
    }

    pub async fn webhook_delivery(&self, caller: Caller, id: &str, delivery: &str) -> Result<DeliveryRecord> {
        let webhook = self.webhook(caller, id).await?;
        let delivery = delivery_id(delivery)?;
        let found = self.store.delivery(webhook.id, delivery).await?;
        found.ok_or(Error::NotFound(Noun::Delivery))
    }

    /// Sends a delivery again, with the same id.
    pub async fn replay_delivery(&self, caller: Caller, id: &str, delivery: &str) -> Result<()> {
        let webhook = self.webhook(caller, id).await?;
        check_enabled(&webhook)?;
        let replay = Replay::One(delivery_id(delivery)?);
        let replayed = self.store.replay_deliveries(webhook.id, replay).await?;
        if replayed.is_empty() { Err(Error::NotFound(Noun::Delivery)) } else { Ok(()) }
    }

    /// Sends all deliveries again that are done and were made since a time, or only those that failed; says how many.
    pub async fn replay_deliveries(
        &self,
        caller: Caller,
        id: &str,
        at_ms: i64,
        only_failed: bool,
    ) -> Result<u64> {
        let webhook = self.webhook(caller, id).await?;
        check_enabled(&webhook)?;
        let (mut count, mut after) = (0, 0);
        // By number: what is delivered meanwhile is done again, and must not be sent a third time.
        loop {
            let replay = Replay::Since { at_ms, only_failed, after };
            let replayed = self.store.replay_deliveries(webhook.id, replay).await?;
            let Some(last) = replayed.iter().max() else { break };
            after = *last;
            count += u64::try_from(replayed.len()).unwrap_or_default();
        }
        Ok(count)
    }
}

fn delivery_id(text: &str) -> Result<DeliveryId> {
    DeliveryId::parse(text).ok_or(Error::NotFound(Noun::Delivery))
}
