//! Batches of cells that a provider works off.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rowmill_model::{ProjectId, TeamId};
use uuid::Uuid;

use super::MemoryStore;
use super::state::MemoryBatch;
use crate::batches::{Batch, BatchLease, BatchStore};
use crate::error::Result;
use crate::spending::LedgerEntry;
use crate::work::WorkerId;

#[async_trait]
impl BatchStore for MemoryStore {
    async fn open_batch(&self, batch: Batch, lease: BatchLease) -> Result<()> {
        self.write(|state, _| {
            let due_at_ms = batch.record.since_ms;
            state.batches.push(MemoryBatch { batch, lease, due_at_ms });
            Ok(())
        })
    }

    async fn take_batch(
        &self,
        lease: BatchLease,
        now_ms: i64,
        except: BTreeSet<TeamId>,
    ) -> Result<Option<Batch>> {
        self.write(|state, _| {
            let is_free = |held: &&mut MemoryBatch| {
                let is_due = held.due_at_ms <= now_ms && held.lease.until_ms <= now_ms;
                is_due && !except.contains(&held.batch.team)
            };
            let free = state.batches.iter_mut().filter(is_free);
            let taken = free.min_by_key(|held| (held.due_at_ms, held.batch.id));
            Ok(taken.map(|held| {
                held.lease = lease;
                held.batch.clone()
            }))
        })
    }

    async fn save_batch(
        &self,
        batch: Batch,
        lease: BatchLease,
        due_at_ms: i64,
        _: Option<LedgerEntry>,
    ) -> Result<bool> {
        self.write(|state, _| {
            let is_held =
                |held: &&mut MemoryBatch| held.batch.id == batch.id && held.lease.holder == lease.holder;
            let held = state.batches.iter_mut().find(is_held);
            let is_saved = held.is_some();
            if let Some(held) = held {
                *held = MemoryBatch { batch, lease, due_at_ms };
            }
            Ok(is_saved)
        })
    }

    async fn hold_batch(&self, id: Uuid, lease: BatchLease) -> Result<bool> {
        self.write(|state, _| {
            let is_held = |held: &&mut MemoryBatch| held.batch.id == id && held.lease.holder == lease.holder;
            let held = state.batches.iter_mut().find(is_held);
            Ok(held.map(|held| held.lease = lease).is_some())
        })
    }

    async fn close_batch(&self, id: Uuid, holder: WorkerId) -> Result<()> {
        self.write(|state, _| {
            state.batches.retain(|held| held.batch.id != id || held.lease.holder != holder);
            Ok(())
        })
    }

    async fn batches(&self, project: Option<ProjectId>) -> Result<Vec<Batch>> {
        self.read(|state| {
            let is_meant = |batch: &&Batch| project.is_none_or(|project| batch.lane.project == project);
            let mut found: Vec<Batch> =
                state.batches.iter().map(|held| &held.batch).filter(is_meant).cloned().collect();
            found.sort_by_key(|batch| (batch.record.since_ms, batch.id));
            Ok(found)
        })
    }

    async fn hurry_batches(&self, project: ProjectId, now_ms: i64) -> Result<()> {
        self.write(|state, _| {
            for held in state.batches.iter_mut().filter(|held| held.batch.lane.project == project) {
                held.due_at_ms = held.due_at_ms.min(now_ms);
            }
            Ok(())
        })
    }
}
