//! Outbound webhooks. What happens to rows is not put into the outbox here.

use async_trait::async_trait;
use rowmill_model::{TeamId, WebhookId};

use super::MemoryStore;
use super::state::MemoryDelivery;
use crate::error::{Result, StoreError};
use crate::webhooks::{
    Backlog, ClaimDeliveries, Delivery, DeliveryId, DeliveryOutcome, DeliveryRecord, DeliverySettlement,
    DeliveryStatus, KeepDeliveries, Replay, TeamWebhooks, WebhookStore, WebhooksSave,
};

#[async_trait]
impl WebhookStore for MemoryStore {
    async fn webhooks(&self, team: TeamId) -> Result<TeamWebhooks> {
        self.read(|state| Ok(state.webhooks.get(&team).cloned().unwrap_or_default()))
    }

    async fn webhook_teams(&self) -> Result<Vec<TeamId>> {
        self.read(|state| {
            let has_any = |(_, known): &(&TeamId, &TeamWebhooks)| !known.webhooks.is_empty();
            Ok(state.webhooks.iter().filter(has_any).map(|(team, _)| *team).collect())
        })
    }

    async fn save_webhooks(&self, save: WebhooksSave) -> Result<()> {
        self.write(|state, _| {
            let WebhooksSave { team, version, webhooks, deliveries } = save;
            let known = state.webhooks.entry(team).or_default();
            if known.version != version {
                return Err(StoreError::Stale);
            }
            *known = TeamWebhooks { version: version + 1, webhooks };
            for new in deliveries {
                let num = state.deliveries.last().map_or(1, |last| last.record.id.num + 1);
                let record = DeliveryRecord {
                    id: DeliveryId { num, created_at_ms: new.created_at_ms },
                    event: new.event,
                    project: new.project,
                    seq: new.seq,
                    status: DeliveryStatus::Pending,
                    due_at_ms: Some(0),
                    attempts: Vec::new(),
                    body: new.body,
                };
                state.deliveries.push(MemoryDelivery { team, webhook: new.webhook, attempts: 0, record });
            }
            Ok(())
        })
    }

    async fn claim_deliveries(&self, claim: ClaimDeliveries) -> Result<Vec<Delivery>> {
        self.write(|state, _| {
            let mut due: Vec<&mut MemoryDelivery> = state.deliveries.iter_mut().collect();
            due.retain(|delivery| delivery.record.due_at_ms.is_some_and(|at_ms| at_ms <= claim.now_ms));
            due.sort_by_key(|delivery| (delivery.record.due_at_ms, delivery.record.id.num));
            let mut claimed: Vec<Delivery> = Vec::new();
            for delivery in due {
                let taken = claimed.iter().filter(|other| other.webhook == delivery.webhook).count();
                if claimed.len() >= claim.most as usize || taken >= claim.room(delivery.webhook) as usize {
                    continue;
                }
                delivery.record.due_at_ms = Some(claim.leased_until_ms);
                claimed.push(Delivery {
                    id: delivery.record.id,
                    team: delivery.team,
                    webhook: delivery.webhook,
                    body: delivery.record.body.clone(),
                    attempts: delivery.attempts,
                    leased_until_ms: claim.leased_until_ms,
                });
            }
            Ok(claimed)
        })
    }

    async fn settle_deliveries(&self, done: Vec<DeliverySettlement>) -> Result<()> {
        self.write(|state, _| {
            for DeliverySettlement { id, leased_until_ms, attempt, outcome } in done {
                let is_held = |delivery: &MemoryDelivery| {
                    delivery.record.id == id && delivery.record.due_at_ms == Some(leased_until_ms)
                };
                let Some(at) = state.deliveries.iter().position(is_held) else { continue };
                let held = &mut state.deliveries[at];
                held.attempts += u32::from(attempt.is_some());
                held.record.attempts.extend(attempt);
                (held.record.due_at_ms, held.record.status) = match outcome {
                    DeliveryOutcome::Delivered => (None, DeliveryStatus::Delivered),
                    DeliveryOutcome::GivenUp => (None, DeliveryStatus::Failed),
                    DeliveryOutcome::Retry(at_ms) => (Some(at_ms), DeliveryStatus::Pending),
                    DeliveryOutcome::Forgotten => {
                        state.deliveries.remove(at);
                        continue;
                    }
                };
            }
            Ok(())
        })
    }

    async fn deliveries(
        &self,
        webhook: WebhookId,
        before: Option<u64>,
        status: Option<DeliveryStatus>,
        limit: u32,
    ) -> Result<Vec<DeliveryRecord>> {
        self.read(|state| {
            let is_listed = |delivery: &&MemoryDelivery| {
                delivery.webhook == webhook
                    && before.is_none_or(|before| delivery.record.id.num < before)
                    && status.is_none_or(|status| delivery.record.status == status)
            };
            let listed = state.deliveries.iter().rev().filter(is_listed).take(limit as usize);
            Ok(listed.map(|delivery| delivery.record.clone()).collect())
        })
    }

    async fn delivery(&self, webhook: WebhookId, id: DeliveryId) -> Result<Option<DeliveryRecord>> {
        self.read(|state| {
            let is_it = |delivery: &&MemoryDelivery| delivery.webhook == webhook && delivery.record.id == id;
            Ok(state.deliveries.iter().find(is_it).map(|delivery| delivery.record.clone()))
        })
    }

    async fn replay_deliveries(&self, webhook: WebhookId, replay: Replay) -> Result<Vec<u64>> {
        self.write(|state, _| {
            let mut replayed = Vec::new();
            for delivery in state.deliveries.iter_mut().filter(|delivery| delivery.webhook == webhook) {
                let DeliveryRecord { id, status, due_at_ms, .. } = &mut delivery.record;
                let is_replayed = match replay {
                    Replay::One(one) => one == *id,
                    Replay::Since { at_ms, only_failed, after } => {
                        due_at_ms.is_none()
                            && id.num > after
                            && id.created_at_ms >= at_ms
                            && (!only_failed || *status == DeliveryStatus::Failed)
                    }
                };
                if is_replayed {
                    (*status, *due_at_ms, delivery.attempts) = (DeliveryStatus::Pending, Some(0), 0);
                    replayed.push(id.num);
                }
            }
            Ok(replayed)
        })
    }

    async fn backlogs(&self) -> Result<Vec<Backlog>> {
        self.read(|state| {
            let mut backlogs: Vec<Backlog> = Vec::new();
            for MemoryDelivery { team, webhook, record, .. } in &state.deliveries {
                let bytes = if record.due_at_ms.is_some() { record.body.len() as u64 } else { continue };
                match backlogs.iter_mut().find(|backlog| backlog.webhook == *webhook) {
                    Some(backlog) => backlog.bytes += bytes,
                    None => backlogs.push(Backlog { team: *team, webhook: *webhook, bytes }),
                }
            }
            Ok(backlogs)
        })
    }

    async fn trim_deliveries(&self, webhook: WebhookId, keep: KeepDeliveries) -> Result<bool> {
        self.write(|state, _| {
            let (mut count, mut bytes) = (0, 0);
            let mut last = None;
            for MemoryDelivery { webhook: of, record, .. } in state.deliveries.iter().rev() {
                if *of == webhook && record.due_at_ms.is_none() {
                    count += 1;
                    bytes += record.body.len() as u64;
                    let is_old = record.id.created_at_ms < keep.since_ms;
                    if count > keep.count || bytes > keep.bytes || is_old {
                        last = last.max(Some(record.id.num));
                    }
                }
            }
            state.deliveries.retain(|delivery| {
                let is_done = delivery.webhook == webhook && delivery.record.due_at_ms.is_none();
                !is_done || last.is_none_or(|last| delivery.record.id.num > last)
            });
            Ok(false)
        })
    }

    async fn forget_deliveries(&self, webhook: WebhookId) -> Result<bool> {
        self.write(|state, _| {
            state.deliveries.retain(|delivery| delivery.webhook != webhook);
            Ok(false)
        })
    }
}
