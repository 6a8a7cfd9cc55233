//! What inbound webhooks received.

use async_trait::async_trait;
use rowmill_model::TeamId;

use super::MemoryStore;
use super::state::State;
use crate::error::Result;
use crate::received::{
    KeepReceived, NewReceived, OVERHEAD_BYTES, ReceivedFilter, ReceivedOutcome, ReceivedRecord,
    ReceivedSource, ReceivedStore, making_room,
};
use crate::webhooks::DeliveryId;

#[async_trait]
impl ReceivedStore for MemoryStore {
    async fn keep_received(&self, new: Vec<NewReceived>, keep: KeepReceived) -> Result<()> {
        self.write(|state, _| new.into_iter().try_for_each(|new| keep_one(state, new, keep)))
    }

    async fn received(
        &self,
        team: TeamId,
        filter: ReceivedFilter,
        limit: u32,
    ) -> Result<Vec<ReceivedRecord>> {
        self.read(|state| {
            let is_listed = |record: &ReceivedRecord| {
                let is_of_source = match filter.source {
                    None => true,
                    Some(ReceivedSource::EventPlatform) => record.hook.is_none(),
                    Some(ReceivedSource::Hooks) => record.hook.is_some(),
                    Some(ReceivedSource::Hook(hook)) => record.hook == Some(hook),
                };
                is_of_source
                    && filter.status.is_none_or(|status| record.status == status)
                    && filter.before.is_none_or(|before| record.id.num < before)
            };
            let own =
                state.received.iter().rev().filter(|(other, record)| *other == team && is_listed(record));
            let listed = own.map(|(_, record)| ReceivedRecord { body: None, ..record.clone() });
            Ok(listed.take(limit as usize).collect())
        })
    }

    async fn received_one(&self, team: TeamId, id: DeliveryId) -> Result<Option<ReceivedRecord>> {
        self.read(|state| {
            let found = state.received.iter().find(|(other, record)| *other == team && record.id == id);
            Ok(found.map(|(_, record)| record.clone()))
        })
    }

    async fn add_outcome(&self, team: TeamId, id: DeliveryId, outcome: ReceivedOutcome) -> Result<bool> {
        self.write(|state, _| {
            let found = state.received.iter_mut().find(|(other, record)| *other == team && record.id == id);
            let Some((_, record)) = found else { return Ok(false) };
            let log = serde_json::to_string(&record.outcomes).unwrap_or_default();
            record.outcomes = ReceivedOutcome::read_all(&outcome.added_to(&log)?)?;
            record.status = outcome.status;
            Ok(true)
        })
    }

    async fn sweep_received(&self, before_ms: i64) -> Result<bool> {
        self.write(|state, _| {
            state.received.retain(|(_, record)| record.id.created_at_ms >= before_ms);
            Ok(false)
        })
    }
}

fn keep_one(state: &mut State, new: NewReceived, keep: KeepReceived) -> Result<()> {
    let own_bytes = new.to_texts()?.bytes;
    let num = state.received.iter().map(|(_, record)| record.id.num).max().unwrap_or(0) + 1;
    let NewReceived { team, hook, project, received_at_ms, head, outcome, body } = new;
    let id = DeliveryId { num, created_at_ms: received_at_ms };
    let of_team = state.received.iter().filter(|(other, _)| *other == team);
    let sizes: Vec<(u64, u64)> = of_team
        .map(|(_, record)| {
            let head = serde_json::to_string(&record.head).map_or(0, |text| text.len() as u64);
            (record.id.num, OVERHEAD_BYTES + head + record.body_bytes)
        })
        .collect();
    let total: u64 = sizes.iter().map(|(_, bytes)| bytes).sum::<u64>() + own_bytes;
    let count = sizes.len() as u64 + 1;
    let room = making_room(sizes, count.saturating_sub(keep.count), total.saturating_sub(keep.bytes));
    if let Some((last, ..)) = room {
        state.received.retain(|(other, record)| *other != team || record.id.num > last);
    }
    let (status, body_bytes) = (outcome.status, body.len() as u64);
    let (outcomes, body) = (vec![outcome], Some(body));
    let record = ReceivedRecord { id, hook, project, status, body_bytes, head, outcomes, body };
    state.received.push((team, record));
    Ok(())
}
