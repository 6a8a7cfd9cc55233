//! Brings projects into memory and keeps them current.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rowmill_fairness::Tenant;
use rowmill_model::ProjectId;
use rowmill_store::{Store, StoreError, StoredProject};

use crate::blocking::blocking;
use crate::change_log::ChangesSince;
use crate::column::ColumnKey;
use crate::load::{LoadBudget, LoadError, load, put_in_order, read_patch};
use crate::parallel;
use crate::plan::Plan;
use crate::project_cache::{CHANGE_WAIT_MAX, CachedProject, ProjectCache};
use crate::ranks::Ranks;
use crate::snapshot::{Patch, ScannedColumns, Snapshot};
use crate::waiting_columns::WantedColumns;

/// How often rows are read that change while they are read, before what is there must do: it is no older
/// than asked for.
const ROUNDS_MAX: usize = 8;
/// How often columns are read that cannot be brought up to date.
const READS_MAX: usize = 3;
/// Patches of more rows than this are applied on a thread where nobody else waits.
pub(crate) const SHORT_PATCH_ROWS: usize = 200;
/// Whoever is about to scan so many rows first waits this long for others who ask at the same time.
const GATHER_ROWS_MIN: u64 = 1 << 17;
const GATHER_TIME: Duration = Duration::from_millis(5);

/// Reads what is missing of a project.
#[derive(Debug, Clone)]
pub(crate) struct CacheLoader {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) cache: Arc<ProjectCache>,
}

impl CacheLoader {
    /// The project with all that a plan needs, at least as new as `seq`; `None` if it does not fit.
    pub(crate) async fn ready(
        &self,
        project: &StoredProject,
        plan: &Plan,
        seq: u64,
        until: Instant,
    ) -> Result<Option<Arc<CachedProject>>, StoreError> {
        self.ready_with(project, plan, &[], seq, until).await
    }

    /// The same with more columns.
    pub(crate) async fn ready_with(
        &self,
        project: &StoredProject,
        plan: &Plan,
        also: &[ColumnKey],
        seq: u64,
        until: Instant,
    ) -> Result<Option<Arc<CachedProject>>, StoreError> {
        let task = self.task(project);
        let cached = Arc::clone(&task.cached);
        let names = plan.names_with(also);
        let sorted: Vec<ColumnKey> = plan.keys.iter().map(|(name, _)| name.clone()).collect();
        if is_ready(&cached, &names, &sorted, seq) {
            count_lookup("hit");
            return Ok(Some(cached));
        }
        count_lookup("miss");
        if cached.is_refused(&names) {
            return Ok(None);
        }
        // Read to the end even if whoever asked goes away: the next one asks the same.
        let wanted = Arc::new(WantedColumns { names, sorted });
        let work = async move { task.make_ready(wanted, seq, until).await };
        let made = tokio::spawn(Tenant::current().scope(work));
        match made.await.map_err(|failure| StoreError::Backend(failure.into()))? {
            Ok(()) => Ok(Some(cached)),
            Err(LoadError::TooLarge) => Ok(None),
            Err(LoadError::Store(error)) => {
                if matches!(error, StoreError::UnknownProject) {
                    self.cache.forget(project.project.id);
                }
                Err(error)
            }
        }
    }

    /// Reads what is missing of one project.
    pub(crate) fn task(&self, project: &StoredProject) -> LoadTask {
        let id = project.project.id;
        LoadTask { loader: self.clone(), cached: self.cache.entry(id), id, rows_about: project.row_count }
    }

    /// The same, for columns that nobody asked for yet.
    pub(crate) fn background_task(&self, project: &StoredProject) -> LoadTask {
        let (id, rows_about) = (project.project.id, project.row_count);
        LoadTask { loader: self.clone(), cached: self.cache.unasked_entry(id), id, rows_about }
    }
}

/// Counts columns that were in memory, or had to be read or brought up to date.
fn count_lookup(result: &'static str) {
    metrics::counter!("rowmill_cache_lookups_total", "cache" => "columns", "result" => result).increment(1);
}

/// Whether a snapshot is as new as that, and all of it of one moment.
pub(crate) fn is_current(snapshot: &Snapshot, seq: u64) -> bool {
    snapshot.is_loaded && snapshot.seq >= seq.max(snapshot.newest)
}

/// Whether a project has all that a plan needs, and is as new as that.
fn is_ready(cached: &CachedProject, names: &[ColumnKey], sorted: &[ColumnKey], seq: u64) -> bool {
    let snapshot = cached.snapshot();
    is_current(&snapshot, seq)
        && names.iter().all(|name| snapshot.column(name).is_some())
        && sorted.iter().all(|name| snapshot.ranks(name).is_some())
}

#[derive(Debug, Clone)]
pub(crate) struct LoadTask {
    pub(crate) loader: CacheLoader,
    pub(crate) cached: Arc<CachedProject>,
    pub(crate) id: ProjectId,
    pub(crate) rows_about: u64,
}

impl LoadTask {
    async fn make_ready(
        &self,
        wanted: Arc<WantedColumns>,
        seq: u64,
        until: Instant,
    ) -> Result<(), LoadError> {
        let _waiting = self.cached.waiting.join(Arc::clone(&wanted));
        let WantedColumns { names, sorted } = &*wanted;
        let mut has_scanned = false;
        // News may be lost, or states change, while columns are read: then they are read anew.
        for _ in 0..READS_MAX {
            if self.is_missing(&wanted) {
                self.scan_in_turn(&wanted, until).await?;
                has_scanned = true;
            }
            let _turn = self.cached.load_lock.lock().await;
            // Whoever had the turn before may have done it for all who waited.
            if is_ready(&self.cached, names, sorted, seq) {
                return if has_scanned { self.enforce_budget(names) } else { Ok(()) };
            }
            if self.is_missing(&wanted) {
                continue;
            }
            self.sort_missing(sorted).await?;
            if !self.catch_up(seq, until).await? {
                if self.cached.is_evicted.load(Ordering::Acquire) {
                    return Err(LoadError::TooLarge);
                }
                let mut snapshot = self.cached.snapshot_mut();
                *snapshot = snapshot.emptied();
            } else if self.has_all(names) {
                return self.enforce_budget(names);
            }
        }
        // What others push out again before it can be looked at is scanned instead.
        Err(LoadError::TooLarge)
    }

    /// Counts what the project takes now, and makes room for it.
    fn enforce_budget(&self, names: &[ColumnKey]) -> Result<(), LoadError> {
        let fits = self.loader.cache.enforce_budget(&self.cached, names);
        if fits { Ok(()) } else { Err(LoadError::TooLarge) }
    }

    fn has_all(&self, names: &[ColumnKey]) -> bool {
        let snapshot = self.cached.snapshot();
        names.iter().all(|name| snapshot.column(name).is_some())
    }

    fn is_missing(&self, wanted: &WantedColumns) -> bool {
        !self.cached.snapshot().is_loaded || !self.has_all(&wanted.names)
    }

    /// Reads the columns that are missing, one scan of the project at a time. Meanwhile others may bring up to date what is
    /// there, and read it.
    async fn scan_in_turn(&self, own: &WantedColumns, until: Instant) -> Result<(), LoadError> {
        let _demand = self.cached.scan_demand.join();
        let _turn = self.cached.scan_lock.lock().await;
        // Whoever scanned before may have done it for all who waited.
        if !self.is_missing(own) {
            return Ok(());
        }
        self.cached.change_log.start();
        let _kept = self.cached.change_log.keep();
        if self.rows_about >= GATHER_ROWS_MIN {
            tokio::time::sleep(GATHER_TIME).await;
        }
        let together = self.cached.waiting.together();
        let scanned = match self.scan(&together, until).await {
            // What is too large together may fit alone.
            Err(LoadError::TooLarge) if together != *own => self.scan(own, until).await,
            scanned => scanned,
        };
        if matches!(scanned, Err(LoadError::TooLarge)) && !self.cached.snapshot().is_loaded {
            self.cached.change_log.stop();
        }
        let scanned = scanned?;
        let _turn = self.cached.load_lock.lock().await;
        // It may have been stopped because something else did not fit.
        self.cached.change_log.start();
        let cached = Arc::clone(&self.cached);
        blocking(move || cached.snapshot_mut().take_in(scanned)).await?.map_err(|_| LoadError::TooLarge)
    }

    /// Reads those of some columns that are not here.
    pub(crate) async fn scan(
        &self,
        wanted: &WantedColumns,
        until: Instant,
    ) -> Result<ScannedColumns, LoadError> {
        let missing = self.missing(&wanted.names);
        let CacheLoader { store, cache } = &self.loader;
        let budget = LoadBudget { bytes_max: cache.bytes_max(), readers: parallel::count(), until };
        let loaded = load(store, self.id, self.rows_about, &missing, budget).await;
        if matches!(loaded, Err(LoadError::TooLarge)) {
            self.cached.refuse(&wanted.names);
        }
        let (loaded, cached, sorted) = (loaded?, Arc::clone(&self.cached), wanted.sorted.clone());
        blocking(move || {
            let mut scanned = loaded.frame(&cached.snapshot());
            scanned.columns = loaded.columns(&scanned.positions)?;
            put_in_order(&mut scanned.columns, &sorted);
            Ok(scanned)
        })
        .await?
    }

    /// Those of some columns that are not here.
    pub(crate) fn missing(&self, names: &[ColumnKey]) -> Vec<ColumnKey> {
        let snapshot = self.cached.snapshot();
        names.iter().filter(|name| snapshot.column(name).is_none()).cloned().collect()
    }

    /// Puts columns in order that are to be sorted by.
    async fn sort_missing(&self, sorted: &[ColumnKey]) -> Result<(), LoadError> {
        let unsorted: Vec<ColumnKey> = {
            let snapshot = self.cached.snapshot();
            sorted.iter().filter(|name| snapshot.ranks(name).is_none()).cloned().collect()
        };
        if !unsorted.is_empty() {
            let cached = Arc::clone(&self.cached);
            blocking(move || rank_columns(&cached, &unsorted)).await?;
        }
        Ok(())
    }

    /// Reads what has changed, until all is as new as this; `false` if that cannot be known.
    pub(crate) async fn catch_up(&self, seq: u64, until: Instant) -> Result<bool, LoadError> {
        let mut wanted = seq;
        for _ in 0..ROUNDS_MAX {
            let (is_at, newest, names) = {
                let snapshot = self.cached.snapshot();
                (snapshot.seq, snapshot.newest, snapshot.names())
            };
            wanted = wanted.max(newest);
            let (logged, touched, restated) = match self.cached.change_log.since(is_at) {
                ChangesSince::Lost => return Ok(false),
                ChangesSince::Known { seq, touched, restated } => (seq, touched, restated),
            };
            if logged < wanted {
                let told = self.cached.change_log.wait_for(wanted);
                if tokio::time::timeout(CHANGE_WAIT_MAX, told).await.is_err() {
                    return Ok(false);
                }
                continue;
            }
            if restated {
                // Of columns of states nothing is known any more. Values are what they were.
                self.cached.snapshot_mut().drop_columns(|name| matches!(name, ColumnKey::State { .. }));
            }
            let mut read_at = logged;
            let mut patch = Patch::default();
            if !touched.is_empty() {
                let store = &*self.loader.store;
                (patch, read_at) = read_patch(store, self.id, touched, names, until).await?;
                // What others wrote meanwhile is no matter unless it was to these rows.
                if read_at > logged && self.cached.are_untouched(&patch.spans, logged, read_at).await {
                    read_at = logged;
                }
            }
            let (cached, is_long) = (Arc::clone(&self.cached), patch.rows.len() > SHORT_PATCH_ROWS);
            let apply = move || {
                let mut snapshot = cached.snapshot_mut();
                let applied = snapshot.apply(&patch).is_ok();
                if applied {
                    snapshot.seq = logged;
                    snapshot.newest = snapshot.newest.max(read_at);
                } else {
                    // Part of it is in here, which nobody may take for all.
                    *snapshot = snapshot.emptied();
                }
                applied
            };
            let applied = if is_long { blocking(apply).await? } else { apply() };
            if !applied {
                return Ok(false);
            }
            self.cached.change_log.forget_up_to(logged);
            if read_at == logged {
                return Ok(true);
            }
            wanted = wanted.max(read_at);
        }
        let snapshot = self.cached.snapshot();
        Ok(snapshot.seq >= seq)
    }
}

fn rank_columns(cached: &CachedProject, names: &[ColumnKey]) {
    for name in names {
        let ranks = cached.snapshot().values(name).map(|column| Ranks::of(&column.values));
        if let Some(ranks) = ranks {
            cached.snapshot_mut().put_ranks(name, ranks);
        }
    }
}
