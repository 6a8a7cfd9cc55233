//! Prices and caps of a team, and what was spent.

use rowmill_model::estimate::Estimate;
use rowmill_model::prices::{ModelPrice, ProviderPrice};
use rowmill_model::{Cap, Offence, RunId, SpendingSettings};
use rowmill_store::spending::{CapStanding, LedgerLine, RunCap, TeamSpending};
use rowmill_store::{StoreError, StoredProject};

use std::collections::{BTreeMap, BTreeSet};

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::projects::ATTEMPTS_MAX;

/// What a caller sets. `None` leaves it as it is.
#[derive(Debug, Clone, Default)]
pub struct SpendingChanges {
    pub models: Option<BTreeMap<String, ModelPrice>>,
    pub providers: Option<BTreeMap<String, ProviderPrice>>,
    pub caps: Option<Vec<Cap>>,
}

/// What a team has set, and how its caps stand.
#[derive(Debug, Clone)]
pub struct Spending {
    pub settings: SpendingSettings,
    pub caps: Vec<CapStanding>,
    pub now_ms: i64,
}

impl App {
    pub async fn spending(&self, caller: Caller) -> Result<Spending> {
        let team = caller.for_whole_team()?.team;
        let now_ms = self.clock.now_ms();
        let settings = self.store.spending(team).await?.settings;
        let caps = self.store.cap_standings(team, now_ms).await?;
        Ok(Spending { settings, caps, now_ms })
    }

    pub async fn change_spending(&self, caller: Caller, changes: SpendingChanges) -> Result<Spending> {
        let team = caller.for_whole_team()?.team;
        for _ in 0..ATTEMPTS_MAX {
            let TeamSpending { version, mut settings, has_run_caps } = self.store.spending(team).await?;
            let SpendingChanges { models, providers, caps } = changes.clone();
            settings.models = models.unwrap_or(settings.models);
            settings.providers = providers.unwrap_or(settings.providers);
            settings.caps = caps.unwrap_or(settings.caps);
            let mut offences = settings.offences();
            if changes.caps.is_some() {
                offences.extend(self.unknown_projects(team, &settings).await?);
            }
            if !offences.is_empty() {
                return Err(Error::invalid(offences));
            }
            match self.store.save_spending(team, TeamSpending { version, settings, has_run_caps }).await {
                Err(StoreError::Stale) => {}
                saved => {
                    saved?;
                    return self.spending(caller).await;
                }
            }
        }
        Err(Error::from(StoreError::Stale))
    }

    async fn unknown_projects(
        &self,
        team: rowmill_model::TeamId,
        settings: &SpendingSettings,
    ) -> Result<Vec<Offence>> {
        let mut offences = Vec::new();
        for (index, cap) in settings.caps.iter().enumerate() {
            let Some(id) = cap.project_id else { continue };
            let known = self.store.project(id).await?.filter(|stored| stored.project.team == team);
            if known.is_none() {
                let path = format!("caps[{index}].projectId");
                offences.push(Offence::new(path, "is not a project of this team"));
            }
        }
        Ok(offences)
    }

    /// What was used on these days, the first and the last included.
    pub async fn ledger(&self, caller: Caller, first_day: i64, last_day: i64) -> Result<Vec<LedgerLine>> {
        let principal = caller.with_key()?;
        let limits = self.project_limits(caller).await?;
        let mut lines = self.store.ledger(principal.team, first_day, last_day).await?;
        lines.retain(|line| limits.as_ref().is_none_or(|limits| limits.allows_project(line.project)));
        Ok(lines)
    }

    /// Caps the run that is about to begin, or goes on: which that is, is said once it has begun.
    pub(crate) async fn cap_run(
        &self,
        stored: &StoredProject,
        limit: SpendLimit,
        run: Option<u64>,
    ) -> Result<()> {
        let project = stored.project.id;
        let run = match run {
            Some(run) => run,
            None => {
                let status = self.store.processing_status(project).await?;
                let next = |number: u64, is_on: bool| if is_on { number } else { number + 1 };
                status.map_or(1, |status| next(status.tally.run_number(), status.tally.running().is_some()))
            }
        };
        let cap = RunCap { run, usd: limit.usd, credits: limit.credits };
        Ok(self.store.cap_run(stored.project.team, project, cap).await?)
    }

    /// Remembers what a run was estimated to take, together with what is remembered of it.
    pub(crate) async fn note_estimate(
        &self,
        stored: &StoredProject,
        run: RunId,
        estimate: Estimate,
    ) -> Result<()> {
        let project = stored.project.id;
        let mut known = self.store.run_estimates(project, vec![run.0]).await?;
        let estimate = match known.remove(&run.0) {
            Some(known) => known.and(estimate),
            None => estimate,
        };
        Ok(self.store.note_run_estimate(project, run.0, estimate).await?)
    }

    /// What these runs were estimated to take, as far as that was asked for.
    pub(crate) async fn run_estimates(
        &self,
        stored: &StoredProject,
        runs: BTreeSet<u64>,
    ) -> Result<BTreeMap<u64, Estimate>> {
        Ok(self.store.run_estimates(stored.project.id, runs.into_iter().collect()).await?)
    }
}

/// What one run may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendLimit {
    pub usd: Option<rowmill_model::Amount>,
    pub credits: Option<rowmill_model::Amount>,
}
