//! An LRU cache of projects: read when they are first asked for, kept current, evicted when memory runs short.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_fairness::Tenant;
use rowmill_model::ProjectId;
use rowmill_store::{Change, Spans, Store, StoreError, StoredProject};

use crate::change_log::{ChangeLog, ChangesSince};
use crate::column::ColumnKey;
use crate::load::{LoadBudget, LoadError, load, read_patch};
use crate::order_cache::OrderCache;
use crate::plan::Plan;
use crate::ranks::Ranks;
use crate::snapshot::{Patch, Snapshot};

/// How long to wait for word of a change that the store has and nobody has told of; then all is read anew.
const CHANGE_WAIT_MAX: Duration = Duration::from_millis(500);
/// How often rows are read that change while they are read, before what is there must do: it is no older
/// than asked for.
const ROUNDS_MAX: usize = 8;
/// How often columns are read that cannot be brought up to date.
const READS_MAX: usize = 3;
/// Patches of more rows than this are applied on a thread where nobody else waits.
const SHORT_PATCH_ROWS: usize = 200;
/// What a project counts for at least.
const PROJECT_BYTES_MIN: usize = 4 * 1024;
/// A project that did not fit is not tried again for as long as this.
const RETRY_AFTER: Duration = Duration::from_mins(1);

/// One project in memory.
#[derive(Debug, Default)]
pub(crate) struct CachedProject {
    change_log: ChangeLog,
    /// Whoever holds it may change the snapshot.
    load_lock: tokio::sync::Mutex<()>,
    snapshot: RwLock<Snapshot>,
    pub(crate) orders: OrderCache,
    used: AtomicU64,
    bytes: AtomicUsize,
    /// Given up for others: nobody tells of its changes any more.
    is_evicted: AtomicBool,
    /// Columns that did not fit, and when that was found out.
    refused: Mutex<Option<(Vec<ColumnKey>, Instant)>>,
}

impl CachedProject {
    pub(crate) fn snapshot(&self) -> RwLockReadGuard<'_, Snapshot> {
        self.snapshot.read()
    }

    fn snapshot_mut(&self) -> RwLockWriteGuard<'_, Snapshot> {
        self.snapshot.write()
    }

    /// Whether rows are as they were between two changes, as far as that will be known.
    pub(crate) async fn are_untouched(&self, rows: &Spans, from: u64, to: u64) -> bool {
        let told = tokio::time::timeout(CHANGE_WAIT_MAX, self.change_log.wait_for(to)).await;
        told.is_ok() && self.change_log.are_untouched(rows, from, to)
    }

    fn is_refused(&self, names: &[ColumnKey]) -> bool {
        let refused = self.refused.lock();
        refused.as_ref().is_some_and(|(refused, at)| {
            at.elapsed() < RETRY_AFTER && refused.iter().all(|name| names.contains(name))
        })
    }

    fn refuse(&self, names: &[ColumnKey]) {
        let mut refused = self.refused.lock();
        *refused = Some((names.to_vec(), SystemClock.monotonic()));
    }
}

/// All projects in memory, and how much of it they may take.
#[derive(Debug)]
pub(crate) struct ProjectCache {
    projects: Mutex<HashMap<ProjectId, Arc<CachedProject>>>,
    bytes_max: AtomicUsize,
    clock: AtomicU64,
}

impl ProjectCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { projects: Mutex::default(), bytes_max: AtomicUsize::new(bytes_max), clock: AtomicU64::new(0) }
    }

    pub(crate) fn set_bytes_max(&self, bytes_max: usize) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    fn bytes_max(&self) -> usize {
        self.bytes_max.load(Ordering::Relaxed)
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, Arc<CachedProject>>> {
        self.projects.lock()
    }

    /// Notes a change, if its project is here. Writers wait for this.
    pub(crate) fn record(&self, change: &Change) {
        let cached = self.projects().get(&change.project).map(Arc::clone);
        if let Some(cached) = cached {
            cached.change_log.record(change);
        }
    }

    /// A project, whether anything of it is in memory or not. From now on its changes are recorded.
    pub(crate) fn entry(&self, project: ProjectId) -> Arc<CachedProject> {
        let cached = Arc::clone(self.projects().entry(project).or_default());
        cached.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        cached
    }

    pub(crate) fn forget(&self, project: ProjectId) {
        self.projects().remove(&project);
        self.report_bytes();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.projects().values().map(|cached| cached.bytes.load(Ordering::Relaxed)).sum()
    }

    fn report_bytes(&self) {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        metrics::gauge!("rowmill_query_memory_bytes").set(self.bytes() as f64);
    }

    /// Counts what a project takes, and makes room if all take too much: what was not used for longest goes
    /// first. Says whether the project still has what it needs.
    pub(crate) fn enforce_budget(&self, cached: &Arc<CachedProject>, needed: &[ColumnKey]) -> bool {
        let count = || {
            let bytes = cached.snapshot().bytes() + cached.orders.bytes() + PROJECT_BYTES_MIN;
            cached.bytes.store(bytes, Ordering::Relaxed);
        };
        count();
        if self.bytes() > self.bytes_max() {
            self.evict_least_recently_used(cached);
        }
        if self.bytes() > self.bytes_max() {
            cached.snapshot_mut().drop_columns(|name| !needed.contains(name));
            cached.orders.clear();
            count();
        }
        let fits = self.bytes() <= self.bytes_max();
        if !fits {
            let mut snapshot = cached.snapshot_mut();
            *snapshot = snapshot.emptied();
            drop(snapshot);
            cached.refuse(needed);
            cached.change_log.stop();
            count();
        }
        self.report_bytes();
        fits
    }

    fn evict_least_recently_used(&self, cached: &Arc<CachedProject>) {
        let mut projects = self.projects();
        let mut by_use: Vec<(u64, ProjectId)> = projects
            .iter()
            .filter(|(_, other)| !Arc::ptr_eq(other, cached))
            .map(|(id, other)| (other.used.load(Ordering::Relaxed), *id))
            .collect();
        by_use.sort_unstable();
        let mut bytes: usize = projects.values().map(|cached| cached.bytes.load(Ordering::Relaxed)).sum();
        for (_, id) in by_use {
            if bytes <= self.bytes_max() {
                break;
            }
            // Whoever still reads it keeps it for that long.
            if let Some(other) = projects.remove(&id) {
                other.is_evicted.store(true, Ordering::Release);
                bytes = bytes.saturating_sub(other.bytes.load(Ordering::Relaxed));
            }
        }
    }
}

/// Brings projects into memory and keeps them current.
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
        let id = project.project.id;
        let cached = self.cache.entry(id);
        let names = plan.names();
        let sorted: Vec<ColumnKey> = plan.keys.iter().map(|(name, _)| name.clone()).collect();
        if is_ready(&cached, &names, &sorted, seq) {
            return Ok(Some(cached));
        }
        if cached.is_refused(&names) {
            return Ok(None);
        }
        // Read to the end even if whoever asked goes away: the next one asks the same.
        let task =
            LoadTask { loader: self.clone(), cached: Arc::clone(&cached), id, rows_about: project.row_count };
        let work = async move { task.make_ready(&names, &sorted, seq, until).await };
        let made = tokio::spawn(Tenant::current().scope(work));
        match made.await.map_err(|failure| StoreError::Backend(failure.into()))? {
            Ok(()) => Ok(Some(cached)),
            Err(LoadError::TooLarge) => Ok(None),
            Err(LoadError::Store(error)) => {
                if matches!(error, StoreError::UnknownProject) {
                    self.cache.forget(id);
                }
                Err(error)
            }
        }
    }
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

struct LoadTask {
    loader: CacheLoader,
    cached: Arc<CachedProject>,
    id: ProjectId,
    rows_about: u64,
}

impl LoadTask {
    async fn make_ready(
        &self,
        names: &[ColumnKey],
        sorted: &[ColumnKey],
        seq: u64,
        until: Instant,
    ) -> Result<(), LoadError> {
        let _turn = self.cached.load_lock.lock().await;
        // Whoever had the turn before may have done it for all who waited.
        if is_ready(&self.cached, names, sorted, seq) {
            return Ok(());
        }
        self.cached.change_log.start();
        // News may be lost, or states change, while columns are read: then they are read anew.
        for _ in 0..READS_MAX {
            if let Err(refusal) = self.load_missing(names, sorted, until).await {
                if matches!(refusal, LoadError::TooLarge) && !self.cached.snapshot().is_loaded {
                    self.cached.change_log.stop();
                }
                return Err(refusal);
            }
            if !self.catch_up(seq, until).await? {
                if self.cached.is_evicted.load(Ordering::Acquire) {
                    return Err(LoadError::TooLarge);
                }
                let mut snapshot = self.cached.snapshot_mut();
                *snapshot = snapshot.emptied();
            } else if self.has_all(names) {
                let fits = self.loader.cache.enforce_budget(&self.cached, names);
                return if fits { Ok(()) } else { Err(LoadError::TooLarge) };
            }
        }
        Err(StoreError::TooLong.into())
    }

    fn has_all(&self, names: &[ColumnKey]) -> bool {
        let snapshot = self.cached.snapshot();
        names.iter().all(|name| snapshot.column(name).is_some())
    }

    /// Reads the columns that are not here, and puts in order those that are to be sorted by.
    async fn load_missing(
        &self,
        names: &[ColumnKey],
        sorted: &[ColumnKey],
        until: Instant,
    ) -> Result<(), LoadError> {
        let (is_loaded, missing) = {
            let snapshot = self.cached.snapshot();
            let missing: Vec<ColumnKey> =
                names.iter().filter(|name| snapshot.column(name).is_none()).cloned().collect();
            (snapshot.is_loaded, missing)
        };
        if !is_loaded || !missing.is_empty() {
            let CacheLoader { store, cache } = &self.loader;
            let budget = LoadBudget { bytes_max: cache.bytes_max(), until };
            let loaded = load(store, self.id, self.rows_about, &missing, budget).await;
            if matches!(loaded, Err(LoadError::TooLarge)) {
                self.cached.refuse(names);
            }
            let (loaded, cached, sorted) = (loaded?, Arc::clone(&self.cached), sorted.to_vec());
            blocking(move || install(&cached, loaded, &sorted)).await??;
        }
        let unsorted: Vec<ColumnKey> = {
            let snapshot = self.cached.snapshot();
            sorted.iter().filter(|name| snapshot.ranks(name).is_none()).cloned().collect()
        };
        if !unsorted.is_empty() {
            let cached = Arc::clone(&self.cached);
            blocking(move || put_in_order(&cached, &unsorted)).await?;
        }
        Ok(())
    }

    /// Reads what has changed, until all is as new as this; `false` if that cannot be known.
    async fn catch_up(&self, seq: u64, until: Instant) -> Result<bool, LoadError> {
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
                snapshot.seq = logged;
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

fn install(
    cached: &CachedProject,
    loaded: crate::load::Loaded,
    sorted: &[ColumnKey],
) -> Result<(), LoadError> {
    let (oldest, newest) = (loaded.oldest, loaded.newest);
    let is_loaded = cached.snapshot().is_loaded;
    if !is_loaded {
        let positions = loaded.positions();
        let columns = loaded.columns(&positions, sorted)?;
        let mut snapshot = cached.snapshot_mut();
        *snapshot = Snapshot::new(snapshot.generation + 1, oldest, newest, positions);
        for (name, column) in columns {
            snapshot.put_column(name, column);
        }
        return Ok(());
    }
    let positions = cached.snapshot().positions().to_vec();
    let columns = loaded.columns(&positions, sorted)?;
    let mut snapshot = cached.snapshot_mut();
    // Nothing was brought up to date meanwhile: changes behind the old ones' are read for all columns.
    snapshot.newest = newest.max(snapshot.newest);
    snapshot.seq = oldest.min(snapshot.seq);
    for (name, column) in columns {
        snapshot.put_column(name, column);
    }
    Ok(())
}

fn put_in_order(cached: &CachedProject, names: &[ColumnKey]) {
    for name in names {
        let ranks = cached.snapshot().values(name).map(|column| Ranks::of(&column.values));
        if let Some(ranks) = ranks {
            cached.snapshot_mut().put_ranks(name, ranks);
        }
    }
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    rowmill_fairness::compute(work).await.map_err(|failure| StoreError::Backend(failure.into()))
}
