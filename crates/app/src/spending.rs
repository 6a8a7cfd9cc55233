//! Prices and caps of a team, and what was spent.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use rowmill_model::estimate::Estimate;
use rowmill_model::prices::{ModelPrice, ProviderPrice};
use rowmill_model::spending::COMPARISONS;
use rowmill_model::{
    Amount, Cap, Column, ColumnId, Offence, Project, ProjectId, RunId, SpendingSettings, Spent, TeamId,
};
use rowmill_store::spending::{CapStanding, LedgerEntry, LedgerLine, RunCap, TeamSpending};
use rowmill_store::{StoreError, StoredProject};

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

/// What a project and its columns are called.
struct Names {
    title: String,
    /// By the columns' ids.
    headers: HashMap<String, String>,
}

impl Names {
    fn of(project: &Project) -> Self {
        let header = |column: &Column| (column.id.to_string(), column.header.clone());
        Self { title: project.title.clone(), headers: project.table.columns.iter().map(header).collect() }
    }
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
            let before = std::mem::take(&mut settings.caps);
            settings.caps = caps.unwrap_or_else(|| before.clone());
            let mut offences = settings.offences();
            offences.extend(self.unknown_projects(team, &settings, &before).await?);
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

    /// Caps that name no project of the team. One that was deleted since is no reason to refuse what else is sent.
    async fn unknown_projects(
        &self,
        team: TeamId,
        settings: &SpendingSettings,
        before: &[Cap],
    ) -> Result<Vec<Offence>> {
        let mut offences = Vec::new();
        for (index, cap) in settings.caps.iter().enumerate() {
            let Some(id) = cap.project_id else { continue };
            if before.iter().any(|known| known.project_id == Some(id)) {
                continue;
            }
            let known = self.store.project(id).await?.filter(|stored| stored.project.team == team);
            if known.is_none() {
                let path = format!("caps[{index}].projectId");
                offences.push(Offence::new(path, "is not a project of this team"));
            }
        }
        Ok(offences)
    }

    /// What was used on these days, the first and the last included.
    pub async fn usage_lines(&self, caller: Caller, first_day: i64, last_day: i64) -> Result<Vec<UsageLine>> {
        let team = caller.with_key()?.team;
        let limits = self.project_limits(caller).await?;
        let mut lines = Vec::new();
        // Only the names: the documents of all projects together may be large.
        let mut known: BTreeMap<ProjectId, Option<Names>> = BTreeMap::new();
        for LedgerLine { project, entry } in self.store.ledger(team, first_day, last_day).await? {
            if limits.as_ref().is_some_and(|limits| !limits.allows_project(project)) {
                continue;
            }
            let names = match known.entry(project) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert(self.store.project(project).await?.map(|stored| Names::of(&stored.project)))
                }
            };
            let LedgerEntry { day, column, provider, person, spent, tries: _ } = entry;
            let header = match column.as_str() {
                COMPARISONS => Some("Comparisons of prompts".to_owned()),
                id => names.as_ref().and_then(|names| names.headers.get(id).cloned()),
            };
            lines.push(UsageLine {
                day,
                project,
                title: names.as_ref().map(|names| names.title.clone()),
                header,
                column,
                provider,
                person,
                spent,
            });
        }
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
        let run = if let Some(run) = run {
            run
        } else {
            let status = self.store.processing_status(project).await?;
            let next = |number: u64, is_on: bool| if is_on { number } else { number + 1 };
            status.map_or(1, |status| next(status.tally.run_number(), status.tally.running().is_some()))
        };
        let cap = RunCap { run, usd: limit.usd, credits: limit.credits };
        Ok(self.store.cap_run(stored.project.team, project, cap).await?)
    }

    /// Nothing was queued: what was to be the cap of the run that would have begun is not that of the next one.
    pub(crate) async fn uncap_next_run(&self, stored: &StoredProject) -> Result<()> {
        let project = stored.project.id;
        let status = self.store.processing_status(project).await?;
        if status.is_some_and(|status| status.tally.running().is_some()) {
            return Ok(());
        }
        let cap_of_none = RunCap { run: 0, usd: None, credits: None };
        Ok(self.store.cap_run(stored.project.team, project, cap_of_none).await?)
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

/// What was used on a day, for a column, of a provider, by somebody's runs.
#[derive(Debug, Clone)]
pub struct UsageLine {
    /// Days since 1970, UTC.
    pub day: i64,
    pub project: ProjectId,
    /// `None` if the project was deleted.
    pub title: Option<String>,
    pub column: ColumnId,
    /// `None` if the column was deleted.
    pub header: Option<String>,
    pub provider: String,
    pub person: String,
    pub spent: Spent,
}

/// What one run may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendLimit {
    pub usd: Option<Amount>,
    pub credits: Option<Amount>,
}
