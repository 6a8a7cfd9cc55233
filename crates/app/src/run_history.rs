//! The runs of a project: the present one, and those that are over.

use rowmill_model::RunId;
use rowmill_model::estimate::Estimate;
use rowmill_model::plan::{EndedRun, RunTally, StartedBy};
use rowmill_store::{ENDED_RUNS_KEPT_MS, ProcessingStatus, StoredProject};

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::rate_waits::RateWait;

/// A run, present or past.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: RunId,
    /// In Unix milliseconds.
    pub started_at_ms: i64,
    /// `None` while it goes on.
    pub ended_at_ms: Option<i64>,
    /// `None` of a run that began before this was noted.
    pub started_by: Option<StartedBy>,
    /// Somebody stopped what was left of it.
    pub is_stopped: bool,
    /// Cells that wait or run.
    pub pending: u64,
    pub tally: RunTally,
    /// What it was estimated to take, if that was asked for.
    pub estimate: Option<Estimate>,
    /// The rate limit that holds it back most, if one does and one run was asked for.
    pub rate_wait: Option<RateWait>,
}

/// Some of a project's runs, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct RunsPage {
    pub runs: Vec<Run>,
    /// Whether older ones follow.
    pub more: bool,
}

impl App {
    /// The runs of a project before this one, or the newest.
    pub async fn runs(
        &self,
        caller: Caller,
        project: &str,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<RunsPage> {
        let stored = self.project(caller, project).await?;
        let before = before.map_or(u64::MAX, |RunId(number)| number);
        self.runs_before(caller, &stored, before, limit).await
    }

    async fn runs_before(
        &self,
        caller: Caller,
        stored: &StoredProject,
        before: u64,
        limit: u32,
    ) -> Result<RunsPage> {
        // The present run is read first: if it ends meanwhile, it is not told twice.
        let status = self.store.processing_status(stored.project.id).await?;
        let present = status.as_ref().and_then(present);
        let below = present.as_ref().map_or(before, |run| run.id.0.min(before));
        let ended = self.store.ended_runs(stored.project.id, below, limit.saturating_add(1)).await?;
        let oldest_ms = self.clock.now_ms() - ENDED_RUNS_KEPT_MS;
        let ended = ended.into_iter().filter(|run| run.ended_at_ms >= oldest_ms).map(Run::from);
        let mut runs: Vec<Run> = present.into_iter().filter(|run| run.id.0 < before).chain(ended).collect();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = runs.len() > limit;
        runs.truncate(limit);
        let numbers = runs.iter().map(|run| run.id.0).collect();
        let mut estimates = self.run_estimates(stored, numbers).await?;
        for run in &mut runs {
            run.estimate = estimates.remove(&run.id.0);
        }
        if matches!(caller, Caller::Anyone(_)) {
            runs.iter_mut().for_each(Run::hide_names);
        }
        Ok(RunsPage { runs, more })
    }

    /// One run of a project.
    pub async fn run(&self, caller: Caller, project: &str, id: &str) -> Result<Run> {
        let stored = self.project(caller, project).await?;
        let wanted = RunId::parse(id).ok_or(Error::NotFound(Noun::Run))?;
        let page = self.runs_before(caller, &stored, wanted.0.saturating_add(1), 1).await?;
        let found = page.runs.into_iter().find(|run| run.id == wanted);
        let mut run = found.ok_or(Error::NotFound(Noun::Run))?;
        if run.ended_at_ms.is_none()
            && let Some(status) = self.store.processing_status(stored.project.id).await?
        {
            run.rate_wait = self.rate_wait(&status).await;
        }
        Ok(run)
    }
}

impl Run {
    /// Keys are the team's own business, though it lets anyone read the project.
    fn hide_names(&mut self) {
        if let Some(StartedBy::Key(name) | StartedBy::Session(name)) = &mut self.started_by {
            name.clear();
        }
    }
}

impl From<EndedRun> for Run {
    fn from(run: EndedRun) -> Self {
        let EndedRun { number, started_at_ms, ended_at_ms, started_by, is_stopped, tally } = run;
        let ended_at_ms = Some(ended_at_ms);
        Self {
            id: RunId(number),
            started_at_ms,
            ended_at_ms,
            started_by,
            is_stopped,
            pending: 0,
            tally,
            estimate: None,
            rate_wait: None,
        }
    }
}

/// The run that goes on, if one does.
fn present(status: &ProcessingStatus) -> Option<Run> {
    let tally = &status.tally;
    let (started_at_ms, started_by) = tally.running()?;
    Some(Run {
        id: RunId(tally.run_number()),
        started_at_ms,
        ended_at_ms: None,
        started_by: started_by.cloned(),
        is_stopped: false,
        pending: tally.pending(),
        tally: tally.run(),
        estimate: None,
        rate_wait: None,
    })
}
