//! An LRU cache of projects: read when they are first asked for, kept current, evicted when memory runs short.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::ProjectId;
use rowmill_store::{Change, Spans};

use crate::asked_log::NotedColumns;
use crate::change_log::ChangeLog;
use crate::column::ColumnKey;
use crate::order_cache::OrderCache;
use crate::scan_demand::ScanDemand;
use crate::snapshot::Snapshot;
use crate::waiting_columns::WaitingColumns;

/// How long to wait for word of a change that the store has and nobody has told of; then all is read anew.
pub(crate) const CHANGE_WAIT_MAX: Duration = Duration::from_millis(500);
/// What a project counts for at least.
const PROJECT_BYTES_MIN: usize = 4 * 1024;
/// The orders of one project take at most one part in so many of the memory for all: whoever asks ever new questions does
/// not evict the projects of others.
const ORDERS_SHARE: usize = 4;
/// What nobody asked for yet is loaded only while all together takes no more than one part in so many of the memory.
const UNASKED_SHARE: usize = 2;
/// A project that did not fit is not tried again for as long as this.
const RETRY_AFTER: Duration = Duration::from_mins(1);

/// One project in memory.
#[derive(Debug, Default)]
pub(crate) struct CachedProject {
    pub(crate) change_log: ChangeLog,
    /// Whoever holds it may change the snapshot.
    pub(crate) load_lock: tokio::sync::Mutex<()>,
    /// Whoever holds it may scan the project. It is taken before the other one.
    pub(crate) scan_lock: tokio::sync::Mutex<()>,
    /// The questions that wait for a scan.
    pub(crate) scan_demand: ScanDemand,
    /// The columns that are waited for.
    pub(crate) waiting: WaitingColumns,
    snapshot: RwLock<Snapshot>,
    pub(crate) orders: OrderCache,
    pub(crate) noted: NotedColumns,
    used: AtomicU64,
    bytes: AtomicUsize,
    /// Given up for others: nobody tells of its changes any more.
    pub(crate) is_evicted: AtomicBool,
    /// Columns that did not fit, and when that was found out.
    refused: Mutex<Option<(Vec<ColumnKey>, Instant)>>,
}

impl CachedProject {
    pub(crate) fn snapshot(&self) -> RwLockReadGuard<'_, Snapshot> {
        self.snapshot.read()
    }

    pub(crate) fn snapshot_mut(&self) -> RwLockWriteGuard<'_, Snapshot> {
        self.snapshot.write()
    }

    /// Whether rows are as they were between two changes, as far as that will be known.
    pub(crate) async fn are_untouched(&self, rows: &Spans, from: u64, to: u64) -> bool {
        let told = tokio::time::timeout(CHANGE_WAIT_MAX, self.change_log.wait_for(to)).await;
        told.is_ok() && self.change_log.are_untouched(rows, from, to)
    }

    pub(crate) fn is_refused(&self, names: &[ColumnKey]) -> bool {
        let refused = self.refused.lock();
        refused.as_ref().is_some_and(|(refused, at)| {
            at.elapsed() < RETRY_AFTER && refused.iter().all(|name| names.contains(name))
        })
    }

    pub(crate) fn refuse(&self, names: &[ColumnKey]) {
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
        Self { projects: Mutex::default(), bytes_max: AtomicUsize::new(bytes_max), clock: AtomicU64::new(1) }
    }

    pub(crate) fn set_bytes_max(&self, bytes_max: usize) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    pub(crate) fn bytes_max(&self) -> usize {
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

    /// The same for work that nobody waits for. If nobody asks about the project, it is evicted before all others.
    pub(crate) fn unasked_entry(&self, project: ProjectId) -> Arc<CachedProject> {
        Arc::clone(self.projects().entry(project).or_default())
    }

    pub(crate) fn forget(&self, project: ProjectId) {
        self.projects().remove(&project);
        self.report_bytes();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.projects().values().map(|cached| cached.bytes.load(Ordering::Relaxed)).sum()
    }

    /// The memory that is left to work that nobody waits for.
    pub(crate) fn spare_bytes(&self) -> usize {
        (self.bytes_max() / UNASKED_SHARE).saturating_sub(self.bytes())
    }

    /// Counts what a project takes now.
    pub(crate) fn count(&self, cached: &CachedProject) {
        let bytes = cached.snapshot().bytes() + cached.orders.bytes() + PROJECT_BYTES_MIN;
        cached.bytes.store(bytes, Ordering::Relaxed);
        self.report_bytes();
    }

    fn report_bytes(&self) {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        metrics::gauge!("rowmill_query_memory_bytes").set(self.bytes() as f64);
    }

    /// Counts what a project takes, and makes room if all take too much: what was not used for longest goes
    /// first. Says whether the project still has what it needs.
    pub(crate) fn enforce_budget(&self, cached: &Arc<CachedProject>, needed: &[ColumnKey]) -> bool {
        let count = || self.count(cached);
        cached.orders.shrink_to(self.bytes_max() / ORDERS_SHARE);
        count();
        if self.bytes() > self.bytes_max() {
            self.evict_least_recently_used(cached);
        }
        let excess = self.bytes().saturating_sub(self.bytes_max());
        if excess > 0 {
            cached.orders.shrink_to(cached.orders.bytes().saturating_sub(excess));
            count();
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
