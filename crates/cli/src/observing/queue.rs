//! The cells that wait and run, by team and provider.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use rowmill_model::column::{FanOut, LookupTask, TaskConfig};
use rowmill_model::record::Slot;
use rowmill_model::{Column, ColumnType, ProjectId, Provider, TeamId};
use rowmill_store::{BusyProject, Result, Store};

use super::exposition::{Exposition, Kind, number};

/// Teams that are named. The others count together, because every label is memory in Prometheus.
const TEAMS_MAX: usize = 20;
const OTHER_TEAMS: &str = "other";
/// Busy projects that are looked at.
const PROJECTS_MAX: u32 = 10_000;
/// Documents that are read in one look. The columns of the others are of an unknown provider until the next.
const DOCUMENTS_MAX: usize = 200;
const UNKNOWN: &str = "unknown";

/// Whom the columns of a project ask, at one version of it.
#[derive(Debug)]
struct Asked {
    version: u64,
    providers: BTreeMap<Slot, &'static str>,
}

/// Remembers what does not change from look to look.
#[derive(Debug, Default)]
pub(super) struct QueueSampler {
    asked: HashMap<ProjectId, Asked>,
    slugs: HashMap<TeamId, String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Load {
    queued: u64,
    running: u64,
    /// When the oldest run began that still has queued cells, in Unix milliseconds.
    oldest_ms: Option<i64>,
}

/// The load by name of team and provider.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QueueSample(BTreeMap<(String, &'static str), Load>);

impl QueueSampler {
    pub(super) async fn look(&mut self, store: &dyn Store) -> Result<QueueSample> {
        let busy = store.busy_projects(PROJECTS_MAX).await?;
        self.learn(store, &busy).await?;
        let mut loads: BTreeMap<(TeamId, &'static str), Load> = BTreeMap::new();
        for project in &busy {
            let asked = self.asked.get(&project.project);
            let provider_of =
                |slot: Slot| asked.and_then(|asked| asked.providers.get(&slot).copied()).unwrap_or(UNKNOWN);
            let since_ms = project.tally.running().map(|(at_ms, _)| at_ms);
            for (slot, queued, running) in project.tally.waiting_and_running() {
                let load = loads.entry((project.team, provider_of(slot))).or_default();
                let oldest_ms = since_ms.filter(|_| queued > 0);
                load.add(Load { queued, running, oldest_ms });
            }
        }
        let named = busiest(&loads);
        self.slugs.retain(|team, _| named.contains(team));
        for team in &named {
            if !self.slugs.contains_key(team)
                && let Some(found) = store.team(*team).await?
            {
                self.slugs.insert(*team, found.slug.to_string());
            }
        }
        let mut sample: BTreeMap<(String, &'static str), Load> = BTreeMap::new();
        for ((team, provider), load) in loads {
            let name = self.slugs.get(&team).map_or(OTHER_TEAMS, String::as_str);
            sample.entry((name.to_owned(), provider)).or_default().add(load);
        }
        Ok(QueueSample(sample))
    }

    /// Reads the documents of projects that are new or have changed, a few at a time.
    async fn learn(&mut self, store: &dyn Store, busy: &[BusyProject]) -> Result<()> {
        let versions: HashMap<ProjectId, u64> =
            busy.iter().map(|project| (project.project, project.version)).collect();
        self.asked.retain(|project, _| versions.contains_key(project));
        let is_known = |sampler: &Self, project: &BusyProject| {
            sampler.asked.get(&project.project).is_some_and(|asked| asked.version == project.version)
        };
        let unknown: Vec<ProjectId> = busy
            .iter()
            .filter(|project| !is_known(self, project))
            .map(|project| project.project)
            .take(DOCUMENTS_MAX)
            .collect();
        for project in unknown {
            if let Some(stored) = store.project(project).await? {
                let columns = stored.project.table.columns.iter();
                let providers = columns.map(|column| (column.slot, provider_of(column))).collect();
                self.asked.insert(project, Asked { version: stored.version, providers });
            }
        }
        Ok(())
    }
}

impl Load {
    fn add(&mut self, other: Self) {
        self.queued += other.queued;
        self.running += other.running;
        self.oldest_ms = [self.oldest_ms, other.oldest_ms].into_iter().flatten().min();
    }
}

impl QueueSample {
    pub(super) fn write(&self, text: &mut Exposition, now: Timestamp) {
        let labels = |(team, provider): &'_ (String, &'static str)| (team.clone(), *provider);
        let all: Vec<((String, &str), Load)> =
            self.0.iter().map(|(name, load)| (labels(name), *load)).collect();
        let cells = all.iter().flat_map(|((team, provider), load)| {
            [("queued", load.queued), ("running", load.running)].map(|(state, count)| {
                (vec![("team", team.as_str()), ("provider", *provider), ("state", state)], number(count))
            })
        });
        text.metric(
            "rowmill_queue_cells",
            Kind::Gauge,
            "Cells of all nodes that wait (queued) or run, by team and provider. The 20 busiest teams are named; the \
             others count as other.",
            cells,
        );
        let ages = all.iter().filter_map(|((team, provider), load)| {
            let age_ms = now.as_millisecond().saturating_sub(load.oldest_ms?).max(0);
            let seconds = number(age_ms.unsigned_abs()) / 1_000.0;
            Some((vec![("team", team.as_str()), ("provider", *provider)], seconds))
        });
        text.metric(
            "rowmill_queue_age_seconds",
            Kind::Gauge,
            "Age of the oldest run that still has queued cells, by team and provider.",
            ages,
        );
    }
}

/// The teams with the most cells.
fn busiest(loads: &BTreeMap<(TeamId, &'static str), Load>) -> BTreeSet<TeamId> {
    let mut by_team: BTreeMap<TeamId, u64> = BTreeMap::new();
    for ((team, _), load) in loads {
        *by_team.entry(*team).or_default() += load.queued + load.running;
    }
    let mut ranked: Vec<(Reverse<u64>, TeamId)> =
        by_team.into_iter().map(|(team, cells)| (Reverse(cells), team)).collect();
    ranked.sort_unstable();
    ranked.into_iter().take(TEAMS_MAX).map(|(_, team)| team).collect()
}

/// Whom a column asks first, in the words of the other metrics.
fn provider_of(column: &Column) -> &'static str {
    match column.kind {
        ColumnType::Ai => {
            let provider = column.ai_config.as_ref().and_then(|config| config.provider);
            provider.map_or("default", |provider| Provider::of_ai(provider).id)
        }
        ColumnType::Api => "http-api",
        ColumnType::Task => {
            let task = column.task_config.as_ref().map_or("", |task| task.task_type.as_str());
            match LookupTask::parse(task) {
                Some(LookupTask::WaterfallEmail) => "email-finders",
                Some(LookupTask::VerifyEmail) => "email-verifiers",
                Some(LookupTask::FindCompany) => "company-finders",
                Some(LookupTask::FindPeople) => "people-finders",
                None if task == TaskConfig::WEB_SCRAPER => "web-scraper",
                None if task == FanOut::TASK => "fan-out",
                None => UNKNOWN,
            }
        }
        ColumnType::Manual | ColumnType::Reference => "none",
    }
}
