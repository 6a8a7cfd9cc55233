//! Prices and caps. Nothing is counted here: whoever asks for money gets it.

use std::collections::BTreeMap;

use async_trait::async_trait;
use rowmill_model::estimate::Estimate;
use rowmill_model::{ProjectId, TeamId};

use super::MemoryStore;
use crate::error::{Result, StoreError};
use crate::spending::{
    CapStanding, LedgerEntry, LedgerLine, Reserve, Reserved, RunCap, SpendingStore, TeamSpending,
};

#[async_trait]
impl SpendingStore for MemoryStore {
    async fn spending(&self, team: TeamId) -> Result<TeamSpending> {
        self.read(|state| Ok(state.spending.get(&team).cloned().unwrap_or_default()))
    }

    async fn save_spending(&self, team: TeamId, save: TeamSpending) -> Result<()> {
        self.write(|state, _| {
            let known = state.spending.entry(team).or_default();
            if known.version != save.version {
                return Err(StoreError::Stale);
            }
            *known = TeamSpending { version: save.version + 1, ..save };
            Ok(())
        })
    }

    async fn cap_run(&self, _: TeamId, _: ProjectId, _: RunCap) -> Result<()> {
        Ok(())
    }

    async fn reserve(&self, reserve: Reserve) -> Result<Reserved> {
        Ok(Reserved { granted: reserve.wanted, each: reserve.guess, reached: None })
    }

    async fn charge(&self, _: TeamId, _: ProjectId, _: LedgerEntry) -> Result<()> {
        Ok(())
    }

    async fn cap_standings(&self, _: TeamId, _: i64) -> Result<Vec<CapStanding>> {
        Ok(Vec::new())
    }

    async fn note_run_estimate(&self, _: ProjectId, _: u64, _: Estimate) -> Result<()> {
        Ok(())
    }

    async fn run_estimates(&self, _: ProjectId, _: Vec<u64>) -> Result<BTreeMap<u64, Estimate>> {
        Ok(BTreeMap::new())
    }

    async fn ledger(&self, _: TeamId, _: i64, _: i64) -> Result<Vec<LedgerLine>> {
        Ok(Vec::new())
    }

    async fn sweep_ledger(&self, _: i64) -> Result<bool> {
        Ok(false)
    }
}
