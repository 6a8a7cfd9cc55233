//! Warm-up: after a start, columns are loaded before anybody asks for them: those of the last questions, then those of
//! saved views.
//!
//! It gives way. One project is read at a time, by one reader, in the service's share. As soon as a question waits for a scan
//! of that project, the warm-up stops its own (`scan_demand.rs`). It takes a part of the memory, evicts nothing, and is
//! evicted before everything that somebody asked for.

use std::time::Duration;

use jiff::Timestamp;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_fairness::Tenant;
use rowmill_model::{ProjectId, Table, View};
use rowmill_store::{Result, StoreError, StoredProject};

use crate::asked::{asked_columns, wanted_columns};
use crate::column::ColumnKey;
use crate::load::LoadError;
use crate::query::Query;
use crate::selection::Selection;
use crate::waiting_columns::WantedColumns;

/// Columns of fewer rows than this are read so quickly that nobody notices.
pub(crate) const WARM_ROWS_MIN: u64 = if cfg!(test) { 100 } else { 20_000 };
/// How many projects are looked at: of those that were asked about, and of those with views.
const PROJECTS_MAX: u32 = 1_000;
/// How often a project is begun that questions come in between.
const TRIES_MAX: usize = 5;
/// How long one reader may take for a project.
const PROJECT_TIME_MAX: Duration = Duration::from_mins(2);
/// After so many projects that do not fit into what is left of the memory, the rest is not tried.
const TOO_LARGE_MAX: usize = 8;

/// What was loaded before anybody asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarmedUp {
    pub columns: usize,
    pub projects: usize,
    too_large: usize,
}

/// What became of the columns of one project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Warmed {
    Columns(usize),
    /// A question waits for a scan.
    GaveWay,
}

impl Query {
    /// Loads what is likely to be asked for. For the start of a server, in the background.
    pub async fn warm_up(&self, now: Timestamp) -> WarmedUp {
        let start = SystemClock.monotonic();
        let mut done = WarmedUp::default();
        let work = async {
            self.warm_asked(now, &mut done).await?;
            self.warm_views(&mut done).await
        };
        if let Err(failure) = Tenant::SERVICE.scope(work).await {
            tracing::warn!(%failure, "could not load columns before they are asked for");
        }
        let seconds = start.elapsed().as_secs_f64();
        metrics::counter!("rowmill_warm_up_columns_total").increment(done.columns as u64);
        metrics::gauge!("rowmill_warm_up_duration_seconds").set(seconds);
        if done.columns > 0 {
            let WarmedUp { columns, projects, .. } = done;
            tracing::info!(columns, projects, seconds, "loaded columns that were asked for before the start");
        }
        done
    }

    /// The columns of the last questions.
    async fn warm_asked(&self, now: Timestamp, done: &mut WarmedUp) -> Result<()> {
        let store = &self.loader.store;
        for asked in store.asked_columns(PROJECTS_MAX, now.as_millisecond()).await? {
            let Some(project) = self.large_project(asked.project).await? else { continue };
            let table = &project.project.table;
            let mut wanted = wanted_columns(&asked.columns, table);
            // A column that a view sorts by is put in order when it is read, and not read again.
            wanted.sorted.extend(of_views(&project.views, table).sorted);
            self.warm(&project, wanted.distinct(), done).await;
        }
        Ok(())
    }

    /// The columns of saved views.
    async fn warm_views(&self, done: &mut WarmedUp) -> Result<()> {
        for id in self.loader.store.projects_with_views(WARM_ROWS_MIN, PROJECTS_MAX).await? {
            let Some(project) = self.large_project(id).await? else { continue };
            let wanted = of_views(&project.views, &project.project.table);
            self.warm(&project, wanted, done).await;
        }
        Ok(())
    }

    /// A project, if it is so large that loading takes a while.
    async fn large_project(&self, id: ProjectId) -> Result<Option<StoredProject>> {
        let project = self.loader.store.project(id).await?;
        Ok(project.filter(|project| project.row_count >= WARM_ROWS_MIN && project.project.copying.is_none()))
    }

    async fn warm(&self, project: &StoredProject, mut wanted: WantedColumns, done: &mut WarmedUp) {
        let task = self.loader.background_task(project);
        let until = SystemClock.monotonic() + PROJECT_TIME_MAX;
        let mut tries = 0;
        while done.too_large < TOO_LARGE_MAX && tries < TRIES_MAX && !wanted.names.is_empty() {
            match task.warm(&wanted, until).await {
                Ok(Warmed::Columns(0)) => return,
                Ok(Warmed::Columns(count)) => {
                    done.columns += count;
                    done.projects += 1;
                    return;
                }
                Ok(Warmed::GaveWay) => tries += 1,
                Err(LoadError::TooLarge) if wanted.names.len() > 1 => wanted = wanted.first_half(),
                Err(LoadError::TooLarge) => {
                    done.too_large += 1;
                    return;
                }
                Err(LoadError::Store(StoreError::UnknownProject)) => {
                    return self.loader.cache.forget(project.project.id);
                }
                Err(LoadError::Store(failure)) => {
                    tracing::debug!(%failure, project = %project.project.id, "could not load columns");
                    return;
                }
            }
        }
    }

    /// Notes which columns an answered question looked at.
    pub(crate) fn note(
        &self,
        project: &StoredProject,
        selection: &Selection,
        also: &[ColumnKey],
        now: Timestamp,
    ) {
        if project.row_count >= WARM_ROWS_MIN {
            let id = project.project.id;
            let asked = asked_columns(selection, also, &project.project.table);
            self.asked.note(id, &self.loader.cache.entry(id).noted, asked, now);
        }
    }

    /// Writes down which columns were asked for, before the store is closed.
    pub async fn flush(&self) {
        self.asked.flush().await;
    }
}

/// The columns that views look at.
fn of_views(views: &[View], table: &Table) -> WantedColumns {
    let asked = views.iter().flat_map(|view| {
        let View { filters, sorting, .. } = view.clone();
        asked_columns(&Selection { filters, sorting, search: None }, &[], table)
    });
    wanted_columns(&asked.collect::<Vec<_>>(), table)
}
