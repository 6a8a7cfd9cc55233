//! The state of the memory store: plain maps, without an index.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rowmill_model::{Deletion, ProjectId, TeamId, WebhookId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::import_job::MemoryImport;
use super::project::MemoryProject;
use crate::batches::{Batch, BatchLease};
use crate::error::{Result, StoreError};
use crate::kept_answers::KeptAnswer;
use crate::received::ReceivedRecord;
use crate::sessions::Session;
use crate::spending::TeamSpending;
use crate::types::{ApiKey, IdempotentRequest, Sealed, SealedKind, Team};
use crate::webhooks::{DeliveryRecord, TeamWebhooks};
use crate::work::{Lane, WorkerId};

#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) teams: Vec<Team>,
    pub(super) keys: Vec<ApiKey>,
    pub(super) sessions: Vec<Session>,
    pub(super) imports: Vec<MemoryImport>,
    pub(super) receipts: HashMap<[u8; 32], Receipt>,
    pub(super) kept_answers: Vec<KeptAnswer>,
    pub(super) batches: Vec<MemoryBatch>,
    pub(super) webhooks: BTreeMap<TeamId, TeamWebhooks>,
    pub(super) spending: BTreeMap<TeamId, TeamSpending>,
    pub(super) deliveries: Vec<MemoryDelivery>,
    /// What came in, by team, oldest first.
    pub(super) received: Vec<(TeamId, ReceivedRecord)>,
    pub(super) sealed: BTreeMap<(TeamId, SealedKind, String), Sealed>,
    pub(super) projects: BTreeMap<ProjectId, MemoryProject>,
    pub(super) trashed_projects: BTreeMap<ProjectId, (MemoryProject, Deletion)>,
    /// What was noted of the columns of a project that were asked for, and when.
    pub(super) asked_columns: BTreeMap<ProjectId, (i64, String)>,
    /// How many projects were ever made.
    pub(super) projects_made: u64,
    /// Who holds which cells, by token.
    pub(super) claims: BTreeMap<u64, MemoryClaim>,
    pub(super) last_token: u64,
    /// When each worker is taken for lost.
    pub(super) workers: BTreeMap<WorkerId, i64>,
    /// Cells that wait for their time.
    pub(super) retries: BTreeSet<(i64, Lane, u64)>,
}

/// A batch with who looks after it and when it is due.
#[derive(Debug, Clone)]
pub(super) struct MemoryBatch {
    pub(super) batch: Batch,
    pub(super) lease: BatchLease,
    pub(super) due_at_ms: i64,
}

/// A delivery, and how often it was tried since it was last due by hand.
#[derive(Debug, Clone)]
pub(super) struct MemoryDelivery {
    pub(super) team: TeamId,
    pub(super) webhook: WebhookId,
    pub(super) attempts: u32,
    pub(super) record: DeliveryRecord,
}

/// What was answered to a request that is carried out once.
#[derive(Debug, Clone)]
pub(super) struct Receipt {
    fingerprint: [u8; 32],
    expires_at_ms: i64,
    outcome: String,
}

/// Cells of one column and block that a worker took together.
#[derive(Debug, Clone)]
pub(super) struct MemoryClaim {
    pub(super) worker: WorkerId,
    pub(super) lane: Lane,
    pub(super) positions: BTreeSet<u64>,
}

impl State {
    pub(super) fn entry(&self, id: ProjectId) -> Result<&MemoryProject> {
        self.projects.get(&id).ok_or(StoreError::UnknownProject)
    }

    pub(super) fn entry_mut(&mut self, id: ProjectId) -> Result<&mut MemoryProject> {
        self.projects.get_mut(&id).ok_or(StoreError::UnknownProject)
    }

    pub(super) fn entry_at(&mut self, id: ProjectId, version: u64) -> Result<&mut MemoryProject> {
        let entry = self.entry_mut(id)?;
        if entry.version == version { Ok(entry) } else { Err(StoreError::Stale) }
    }

    pub(super) fn recall(&self, once: &IdempotentRequest) -> Result<Option<&str>> {
        match self.receipts.get(&once.name).filter(|receipt| receipt.expires_at_ms > once.now_ms) {
            Some(receipt) if receipt.fingerprint != once.fingerprint => Err(StoreError::OnceConflict),
            receipt => Ok(receipt.map(|receipt| receipt.outcome.as_str())),
        }
    }

    /// Does what a request asks for, unless it was done before.
    pub(super) fn once<T: Serialize + DeserializeOwned>(
        &mut self,
        once: Option<IdempotentRequest>,
        act: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let Some(once) = once else { return act(self) };
        if let Some(outcome) = self.recall(&once)? {
            return serde_json::from_str(outcome).map_err(|error| StoreError::Damaged(error.to_string()));
        }
        let outcome = act(self)?;
        let text = serde_json::to_string(&outcome).map_err(|error| StoreError::Damaged(error.to_string()))?;
        self.remember(&once, text);
        Ok(outcome)
    }

    /// Keeps an outcome; the first one kept stays.
    pub(super) fn remember(&mut self, once: &IdempotentRequest, outcome: String) {
        let IdempotentRequest { name, fingerprint, expires_at_ms, now_ms } = *once;
        self.receipts.retain(|_, receipt| receipt.expires_at_ms > now_ms);
        self.receipts.entry(name).or_insert(Receipt { fingerprint, expires_at_ms, outcome });
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is a whole write, which may fail elsewhere")]
    pub(super) fn forget(&mut self, names: &[[u8; 32]]) -> Result<()> {
        self.receipts.retain(|name, _| !names.contains(name));
        Ok(())
    }

    pub(super) fn put_sealed(&mut self, team: TeamId, sealed: Sealed, count_max: u32) -> Result<()> {
        let is_other = |(other, kind, name): &(TeamId, SealedKind, String)| {
            *other == team && *kind == sealed.kind && *name != sealed.name
        };
        if self.sealed.keys().filter(|key| is_other(key)).count() >= count_max as usize {
            return Err(StoreError::Full);
        }
        self.sealed.insert((team, sealed.kind, sealed.name.clone()), sealed);
        Ok(())
    }

    pub(super) fn projects_of<'a>(
        &'a self,
        team: TeamId,
        folder: Option<&'a str>,
    ) -> impl Iterator<Item = &'a MemoryProject> {
        self.projects.values().filter(move |entry| {
            entry.project.team == team
                && folder.is_none_or(|folder| entry.project.folder_id.as_deref() == Some(folder))
        })
    }
}
