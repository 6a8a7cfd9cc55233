//! The [`WebhookStore`] of [`SqliteStore`].

use async_trait::async_trait;
use rowmill_model::{TeamId, WebhookId};
use rowmill_store::webhooks::{
    Backlog, ClaimDeliveries, Delivery, DeliveryId, DeliveryRecord, DeliverySettlement, DeliveryStatus,
    KeepDeliveries, Replay, TeamWebhooks, WebhooksSave,
};
use rowmill_store::{Result, WebhookStore};

use crate::readers::ReadKind;
use crate::store::SqliteStore;
use crate::webhooks;

#[async_trait]
impl WebhookStore for SqliteStore {
    async fn webhooks(&self, team: TeamId) -> Result<TeamWebhooks> {
        self.readers.read(|connection| webhooks::webhooks(connection, team))
    }

    async fn webhook_teams(&self) -> Result<Vec<TeamId>> {
        self.readers.read_long(ReadKind::List, webhooks::teams).await
    }

    async fn save_webhooks(&self, save: WebhooksSave) -> Result<()> {
        self.writer.write(move |connection| webhooks::save(connection, &save)).await
    }

    async fn claim_deliveries(&self, claim: ClaimDeliveries) -> Result<Vec<Delivery>> {
        // The writer is not troubled when there is nothing to do.
        if !self.readers.read(|connection| webhooks::is_any_due(connection, &claim))? {
            return Ok(Vec::new());
        }
        self.writer.write(move |connection| webhooks::claim(connection, &claim)).await
    }

    async fn settle_deliveries(&self, done: Vec<DeliverySettlement>) -> Result<()> {
        self.writer.write(move |connection| webhooks::settle(connection, done)).await
    }

    async fn deliveries(
        &self,
        webhook: WebhookId,
        before: Option<u64>,
        status: Option<DeliveryStatus>,
        limit: u32,
    ) -> Result<Vec<DeliveryRecord>> {
        self.readers
            .read_long(ReadKind::List, move |connection| {
                webhooks::deliveries(connection, webhook, before, status, limit)
            })
            .await
    }

    async fn delivery(&self, webhook: WebhookId, id: DeliveryId) -> Result<Option<DeliveryRecord>> {
        self.readers.read(|connection| webhooks::delivery(connection, webhook, id))
    }

    async fn replay_deliveries(&self, webhook: WebhookId, replay: Replay) -> Result<Vec<u64>> {
        self.writer.write(move |connection| webhooks::replay(connection, webhook, replay)).await
    }

    async fn backlogs(&self) -> Result<Vec<Backlog>> {
        self.readers.read_long(ReadKind::List, webhooks::backlogs).await
    }

    async fn trim_deliveries(&self, webhook: WebhookId, keep: KeepDeliveries) -> Result<bool> {
        self.writer.write(move |connection| webhooks::trim(connection, webhook, keep)).await
    }

    async fn forget_deliveries(&self, webhook: WebhookId) -> Result<bool> {
        self.writer.write(move |connection| webhooks::forget(connection, webhook)).await
    }
}
