//! Projects held in memory: read when they are first asked for, kept current, and given up for others.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use rowmill_fairness::Tenant;
use rowmill_model::ProjectId;
use rowmill_store::{Change, Spans, Store, StoreError, StoredProject};

use crate::column::Name;
use crate::kept::KeptOrders;
use crate::load::{Allowance, Refusal, load, read_patch};
use crate::notes::{News, Notes};
use crate::plan::Plan;
use crate::ranks::Ranks;
use crate::snapshot::{Patch, Snapshot};

/// How long to wait for news of a change that the store has and nobody has told of; then all is read anew.
const NEWS_PATIENCE: Duration = Duration::from_millis(500);
/// How often rows are read that change while they are read, before what is there must do: it is no older
/// than asked for.
const ROUNDS_MAX: usize = 8;
/// How often columns are read that cannot be brought up to date.
const READS_MAX: usize = 3;
/// Patches of more rows than this are applied on a thread where nobody else waits.
const SHORT_PATCH_ROWS: usize = 200;
/// What a project counts for at least.
const HELD_BYTES: usize = 4 * 1024;
/// A project that did not fit is not tried again for as long as this.
const REST: Duration = Duration::from_mins(1);

/// One project in memory.
#[derive(Debug, Default)]
pub(crate) struct Held {
    notes: Notes,
    /// Whoever holds it may change the snapshot.
    gate: tokio::sync::Mutex<()>,
    snapshot: RwLock<Snapshot>,
    pub(crate) orders: KeptOrders,
    used: AtomicU64,
    bytes: AtomicUsize,
    /// Given up for others: nobody tells of its changes any more.
    is_given_up: AtomicBool,
    /// Columns that did not fit, and when that was found out.
    refused: Mutex<Option<(Vec<Name>, Instant)>>,
}

impl Held {
    pub(crate) fn snapshot(&self) -> RwLockReadGuard<'_, Snapshot> {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshot_mut(&self) -> RwLockWriteGuard<'_, Snapshot> {
        self.snapshot.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether rows are as they were between two changes, as far as that will be known.
    pub(crate) async fn are_untouched(&self, rows: &Spans, from: u64, to: u64) -> bool {
        let told = tokio::time::timeout(NEWS_PATIENCE, self.notes.wait_for(to)).await;
        told.is_ok() && self.notes.are_untouched(rows, from, to)
    }

    fn is_refused(&self, names: &[Name]) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.as_ref().is_some_and(|(refused, at)| {
            at.elapsed() < REST && refused.iter().all(|name| names.contains(name))
        })
    }

    fn refuse(&self, names: &[Name]) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = Some((names.to_vec(), Instant::now()));
    }
}

/// All projects in memory, and how much of it they may take.
#[derive(Debug)]
pub(crate) struct Memory {
    projects: Mutex<HashMap<ProjectId, Arc<Held>>>,
    bytes_max: AtomicUsize,
    clock: AtomicU64,
}

impl Memory {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { projects: Mutex::default(), bytes_max: AtomicUsize::new(bytes_max), clock: AtomicU64::new(0) }
    }

    pub(crate) fn set_bytes_max(&self, bytes_max: usize) {
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    fn bytes_max(&self) -> usize {
        self.bytes_max.load(Ordering::Relaxed)
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, Arc<Held>>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a change, if its project is here. Writers wait for this.
    pub(crate) fn note(&self, change: &Change) {
        let held = self.projects().get(&change.project).map(Arc::clone);
        if let Some(held) = held {
            held.notes.note(change);
        }
    }

    /// A project, whether anything of it is in memory or not. From now on its changes are noted.
    pub(crate) fn held(&self, project: ProjectId) -> Arc<Held> {
        let held = Arc::clone(self.projects().entry(project).or_default());
        held.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        held
    }

    pub(crate) fn forget(&self, project: ProjectId) {
        self.projects().remove(&project);
        self.tell_bytes();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.projects().values().map(|held| held.bytes.load(Ordering::Relaxed)).sum()
    }

    fn tell_bytes(&self) {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        metrics::gauge!("rowmill_query_memory_bytes").set(self.bytes() as f64);
    }

    /// Counts what a project takes, and makes room if all take too much: what was not used for longest goes
    /// first. Says whether the project still has what it needs.
    pub(crate) fn settle(&self, held: &Arc<Held>, needed: &[Name]) -> bool {
        let count = || {
            let bytes = held.snapshot().bytes() + held.orders.bytes() + HELD_BYTES;
            held.bytes.store(bytes, Ordering::Relaxed);
        };
        count();
        if self.bytes() > self.bytes_max() {
            self.give_up_others(held);
        }
        if self.bytes() > self.bytes_max() {
            held.snapshot_mut().drop_columns(|name| !needed.contains(name));
            held.orders.clear();
            count();
        }
        let fits = self.bytes() <= self.bytes_max();
        if !fits {
            let mut snapshot = held.snapshot_mut();
            *snapshot = snapshot.emptied();
            drop(snapshot);
            held.refuse(needed);
            held.notes.stop();
            count();
        }
        self.tell_bytes();
        fits
    }

    fn give_up_others(&self, held: &Arc<Held>) {
        let mut projects = self.projects();
        let mut by_use: Vec<(u64, ProjectId)> = projects
            .iter()
            .filter(|(_, other)| !Arc::ptr_eq(other, held))
            .map(|(id, other)| (other.used.load(Ordering::Relaxed), *id))
            .collect();
        by_use.sort_unstable();
        let mut bytes: usize = projects.values().map(|held| held.bytes.load(Ordering::Relaxed)).sum();
        for (_, id) in by_use {
            if bytes <= self.bytes_max() {
                break;
            }
            // Whoever still reads it keeps it for that long.
            if let Some(other) = projects.remove(&id) {
                other.is_given_up.store(true, Ordering::Release);
                bytes = bytes.saturating_sub(other.bytes.load(Ordering::Relaxed));
            }
        }
    }
}

/// Brings projects into memory and keeps them current.
#[derive(Debug, Clone)]
pub(crate) struct Keeper {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) memory: Arc<Memory>,
}

impl Keeper {
    /// The project with all that a plan needs, at least as new as `seq`; `None` if it does not fit.
    pub(crate) async fn ready(
        &self,
        project: &StoredProject,
        plan: &Plan,
        seq: u64,
        until: Instant,
    ) -> Result<Option<Arc<Held>>, StoreError> {
        let id = project.project.id;
        let held = self.memory.held(id);
        let names = plan.names();
        let sorted: Vec<Name> = plan.keys.iter().map(|(name, _)| name.clone()).collect();
        if is_ready(&held, &names, &sorted, seq) {
            return Ok(Some(held));
        }
        if held.is_refused(&names) {
            return Ok(None);
        }
        // Read to the end even if whoever asked goes away: the next one asks the same.
        let task = Task { keeper: self.clone(), held: Arc::clone(&held), id, rows_about: project.row_count };
        let work = async move { task.make_ready(&names, &sorted, seq, until).await };
        let made = tokio::spawn(Tenant::current().scope(work));
        match made.await.map_err(|failure| StoreError::Backend(failure.into()))? {
            Ok(()) => Ok(Some(held)),
            Err(Refusal::TooLarge) => Ok(None),
            Err(Refusal::Store(error)) => {
                if matches!(error, StoreError::UnknownProject) {
                    self.memory.forget(id);
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
fn is_ready(held: &Held, names: &[Name], sorted: &[Name], seq: u64) -> bool {
    let snapshot = held.snapshot();
    is_current(&snapshot, seq)
        && names.iter().all(|name| snapshot.column(name).is_some())
        && sorted.iter().all(|name| snapshot.ranks(name).is_some())
}

struct Task {
    keeper: Keeper,
    held: Arc<Held>,
    id: ProjectId,
    rows_about: u64,
}

impl Task {
    async fn make_ready(
        &self,
        names: &[Name],
        sorted: &[Name],
        seq: u64,
        until: Instant,
    ) -> Result<(), Refusal> {
        let _turn = self.held.gate.lock().await;
        // Whoever had the turn before may have done it for all who waited.
        if is_ready(&self.held, names, sorted, seq) {
            return Ok(());
        }
        self.held.notes.start();
        // News may be lost, or states change, while columns are read: then they are read anew.
        for _ in 0..READS_MAX {
            if let Err(refusal) = self.load_missing(names, sorted, until).await {
                if matches!(refusal, Refusal::TooLarge) && !self.held.snapshot().is_loaded {
                    self.held.notes.stop();
                }
                return Err(refusal);
            }
            if !self.catch_up(seq, until).await? {
                if self.held.is_given_up.load(Ordering::Acquire) {
                    return Err(Refusal::TooLarge);
                }
                let mut snapshot = self.held.snapshot_mut();
                *snapshot = snapshot.emptied();
            } else if self.has_all(names) {
                let fits = self.keeper.memory.settle(&self.held, names);
                return if fits { Ok(()) } else { Err(Refusal::TooLarge) };
            }
        }
        Err(StoreError::TooLong.into())
    }

    fn has_all(&self, names: &[Name]) -> bool {
        let snapshot = self.held.snapshot();
        names.iter().all(|name| snapshot.column(name).is_some())
    }

    /// Reads the columns that are not here, and puts in order those that are to be sorted by.
    async fn load_missing(&self, names: &[Name], sorted: &[Name], until: Instant) -> Result<(), Refusal> {
        let (is_loaded, missing) = {
            let snapshot = self.held.snapshot();
            let missing: Vec<Name> =
                names.iter().filter(|name| snapshot.column(name).is_none()).cloned().collect();
            (snapshot.is_loaded, missing)
        };
        if !is_loaded || !missing.is_empty() {
            let Keeper { store, memory } = &self.keeper;
            let allowance = Allowance { bytes_max: memory.bytes_max(), until };
            let loaded = load(store, self.id, self.rows_about, &missing, allowance).await;
            if matches!(loaded, Err(Refusal::TooLarge)) {
                self.held.refuse(names);
            }
            let (loaded, held, sorted) = (loaded?, Arc::clone(&self.held), sorted.to_vec());
            blocking(move || install(&held, loaded, &sorted)).await??;
        }
        let unsorted: Vec<Name> = {
            let snapshot = self.held.snapshot();
            sorted.iter().filter(|name| snapshot.ranks(name).is_none()).cloned().collect()
        };
        if !unsorted.is_empty() {
            let held = Arc::clone(&self.held);
            blocking(move || put_in_order(&held, &unsorted)).await?;
        }
        Ok(())
    }

    /// Reads what has changed, until all is as new as this; `false` if that cannot be known.
    async fn catch_up(&self, seq: u64, until: Instant) -> Result<bool, Refusal> {
        let mut wanted = seq;
        for _ in 0..ROUNDS_MAX {
            let (is_at, newest, names) = {
                let snapshot = self.held.snapshot();
                (snapshot.seq, snapshot.newest, snapshot.names())
            };
            wanted = wanted.max(newest);
            let (known, touched, restated) = match self.held.notes.since(is_at) {
                News::Lost => return Ok(false),
                News::Known { seq, touched, restated } => (seq, touched, restated),
            };
            if known < wanted {
                let told = self.held.notes.wait_for(wanted);
                if tokio::time::timeout(NEWS_PATIENCE, told).await.is_err() {
                    return Ok(false);
                }
                continue;
            }
            if restated {
                // Of columns of states nothing is known any more. Values are what they were.
                self.held.snapshot_mut().drop_columns(|name| matches!(name, Name::State { .. }));
            }
            let mut read_at = known;
            let mut patch = Patch::default();
            if !touched.is_empty() {
                let store = &*self.keeper.store;
                (patch, read_at) = read_patch(store, self.id, touched, names, until).await?;
                // What others wrote meanwhile is no matter unless it was to these rows.
                if read_at > known && self.held.are_untouched(&patch.spans, known, read_at).await {
                    read_at = known;
                }
            }
            let (held, is_long) = (Arc::clone(&self.held), patch.rows.len() > SHORT_PATCH_ROWS);
            let apply = move || {
                let mut snapshot = held.snapshot_mut();
                let applied = snapshot.apply(&patch).is_ok();
                snapshot.seq = known;
                applied
            };
            let applied = if is_long { blocking(apply).await? } else { apply() };
            if !applied {
                return Ok(false);
            }
            self.held.notes.forget_up_to(known);
            if read_at == known {
                return Ok(true);
            }
            wanted = wanted.max(read_at);
        }
        let snapshot = self.held.snapshot();
        Ok(snapshot.seq >= seq)
    }
}

fn install(held: &Held, loaded: crate::load::Loaded, sorted: &[Name]) -> Result<(), Refusal> {
    let (oldest, newest) = (loaded.oldest, loaded.newest);
    let is_loaded = held.snapshot().is_loaded;
    if !is_loaded {
        let positions = loaded.positions();
        let columns = loaded.columns(&positions, sorted)?;
        let mut snapshot = held.snapshot_mut();
        *snapshot = Snapshot::new(snapshot.generation + 1, oldest, newest, positions);
        for (name, column) in columns {
            snapshot.put_column(name, column);
        }
        return Ok(());
    }
    let positions = held.snapshot().positions().to_vec();
    let columns = loaded.columns(&positions, sorted)?;
    let mut snapshot = held.snapshot_mut();
    // Nothing was brought up to date meanwhile: changes behind the old ones' are read for all columns.
    snapshot.newest = newest.max(snapshot.newest);
    snapshot.seq = oldest.min(snapshot.seq);
    for (name, column) in columns {
        snapshot.put_column(name, column);
    }
    Ok(())
}

fn put_in_order(held: &Held, names: &[Name]) {
    for name in names {
        let ranks = held.snapshot().values(name).map(|column| Ranks::of(&column.values));
        if let Some(ranks) = ranks {
            held.snapshot_mut().put_ranks(name, ranks);
        }
    }
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    rowmill_fairness::compute(work).await.map_err(|failure| StoreError::Backend(failure.into()))
}
