//! The [`WebhookStore`] of [`PostgresStore`].

use async_trait::async_trait;
use rowmill_model::{TeamId, WebhookId};
use rowmill_store::webhooks::{
    Backlog, ClaimDeliveries, Delivery, DeliveryId, DeliveryRecord, DeliverySettlement, DeliveryStatus,
    KeepDeliveries, Replay, TeamWebhooks, WebhooksSave,
};
use rowmill_store::{Result, WebhookStore};

use crate::database::CommitDoubt::{Repeat, Tell};
use crate::store::PostgresStore;
use crate::webhooks;

#[async_trait]
impl WebhookStore for PostgresStore {
    async fn webhooks(&self, team: TeamId) -> Result<TeamWebhooks> {
        self.node().read(team, |tx, team| Box::pin(webhooks::webhooks(tx, *team))).await
    }

    async fn webhook_teams(&self) -> Result<Vec<TeamId>> {
        self.node().read((), |tx, ()| Box::pin(webhooks::teams(tx))).await
    }

    async fn save_webhooks(&self, save: WebhooksSave) -> Result<()> {
        self.node().write(Tell, save, |tx, save| Box::pin(webhooks::save(tx, save))).await
    }

    async fn claim_deliveries(&self, claim: ClaimDeliveries) -> Result<Vec<Delivery>> {
        let shares = claim.shares(webhooks::with_due(&self.node.database, claim.now_ms).await?);
        if shares.is_empty() {
            return Ok(Vec::new());
        }
        // What is claimed twice after a lost answer is delivered when the lease ends. A claim or an outcome that a crash
        // of the database loses is made again: deliveries are made at least once.
        self.node()
            .write_lazily(Tell, (shares, claim), |tx, (shares, claim)| {
                Box::pin(webhooks::claim(tx, shares, claim))
            })
            .await
    }

    async fn settle_deliveries(&self, done: Vec<DeliverySettlement>) -> Result<()> {
        self.node().write_lazily(Repeat, done, |tx, done| Box::pin(webhooks::settle(tx, done))).await
    }

    async fn deliveries(
        &self,
        webhook: WebhookId,
        before: Option<u64>,
        status: Option<DeliveryStatus>,
        limit: u32,
    ) -> Result<Vec<DeliveryRecord>> {
        self.node()
            .read((webhook, before, status, limit), |tx, (webhook, before, status, limit)| {
                Box::pin(webhooks::deliveries(tx, *webhook, *before, *status, *limit))
            })
            .await
    }

    async fn delivery(&self, webhook: WebhookId, id: DeliveryId) -> Result<Option<DeliveryRecord>> {
        self.node()
            .read((webhook, id), |tx, (webhook, id)| Box::pin(webhooks::delivery(tx, *webhook, *id)))
            .await
    }

    async fn replay_deliveries(&self, webhook: WebhookId, replay: Replay) -> Result<Vec<u64>> {
        self.node()
            .write(Tell, (webhook, replay), |tx, (webhook, replay)| {
                Box::pin(webhooks::replay(tx, *webhook, *replay))
            })
            .await
    }

    async fn backlogs(&self) -> Result<Vec<Backlog>> {
        webhooks::backlogs(&self.node.database).await
    }

    async fn trim_deliveries(&self, webhook: WebhookId, keep: KeepDeliveries) -> Result<bool> {
        self.node()
            .write(Repeat, (webhook, keep), |tx, (webhook, keep)| {
                Box::pin(webhooks::trim(tx, *webhook, *keep))
            })
            .await
    }

    async fn forget_deliveries(&self, webhook: WebhookId) -> Result<bool> {
        self.node().write(Repeat, webhook, |tx, webhook| Box::pin(webhooks::forget(tx, *webhook))).await
    }
}
