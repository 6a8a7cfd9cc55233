//! The query engine: pages and positions of a selection, from memory where its columns fit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::ProjectId;
use rowmill_store::{PageStart, Result, RowsAt, RowsPage, Spans, Store, StoredProject, Wanted};

use crate::asked_log::AskedLog;
use crate::blocking::blocking;
use crate::budget::Budget;
use crate::cache_loader::{CacheLoader, is_current};
use crate::order_cache::{CachedOrder, Slice, SliceOf, name_of};
use crate::page::{Page, PageOf, Part, Start, cursor_behind, rank_before};
use crate::plan::Plan;
use crate::project_cache::{CachedProject, ProjectCache};
use crate::rest::{self, Extent, Moment, Rest, SLICE_BYTES};
use crate::selection::Selection;
use crate::stream::{self, Stream};

/// How long a read may take, unless another time is set.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a page is read whose rows change between being found and being read.
pub(crate) const TRIES_MAX: usize = 4;

#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) loader: CacheLoader,
    pub(crate) patience: Duration,
    /// Which columns are asked for.
    pub(crate) asked: Arc<AskedLog>,
}

impl Query {
    /// Reads from a store, with a part of the machine's memory.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::with_memory(store, Budget::default().bytes())
    }

    /// The same with this much memory.
    pub fn with_memory(store: Arc<dyn Store>, bytes_max: usize) -> Self {
        let cache = Arc::new(ProjectCache::new(bytes_max));
        let told = Arc::clone(&cache);
        store.listen(Box::new(move |change| told.record(change)));
        let asked = Arc::new(AskedLog::new(Arc::clone(&store)));
        Self { loader: CacheLoader { store, cache }, patience: PATIENCE, asked }
    }

    /// How long a read may take.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// How much memory may be taken.
    pub fn set_memory(&self, bytes_max: usize) {
        self.loader.cache.set_bytes_max(bytes_max);
    }

    /// How much memory is taken.
    pub fn memory_bytes(&self) -> usize {
        self.loader.cache.bytes()
    }

    pub async fn page(&self, project: &StoredProject, of: PageOf) -> Result<Page> {
        self.read_page(project, of, Extent::Whole).await
    }

    /// The beginning of a page: at least one row, if there are any, and no more than a few MiB behind it.
    pub async fn part(&self, project: &StoredProject, mut of: PageOf) -> Result<Part> {
        // The cursor says what the last row was sorted by.
        of.slots = of.slots.and(Plan::of(&of.selection, project).await?.slots());
        let (before, sorting) = (rank_before(&of.start), of.selection.sorting.clone());
        let Page { rows, rest, next, .. } = self.read_page(project, of, Extent::Part).await?;
        let next = match (rest, rows.last()) {
            (Some(_), Some(last)) => {
                let sorted = stream::sorted_by(&project.project.table, &sorting, last)?;
                cursor_behind(Some(last.position), rows.len(), before, sorted)
            }
            _ => next,
        };
        Ok(Part { rows, next })
    }

    async fn read_page(&self, project: &StoredProject, of: PageOf, extent: Extent) -> Result<Page> {
        let until = SystemClock.monotonic() + self.patience;
        if of.selection.is_everything() {
            return self.plain_page(project.project.id, &of, until, extent).await;
        }
        match self.cached_page(project, &of, until, extent).await? {
            Some(page) => Ok(page),
            None => self.stream(project, until).page(of, extent).await,
        }
    }

    /// Where the rows of a selection lie, in its order.
    pub async fn positions(
        &self,
        project: &StoredProject,
        selection: Selection,
        now: Timestamp,
    ) -> Result<Vec<u64>> {
        let until = SystemClock.monotonic() + self.patience;
        let part = SliceOf { start: Start::Offset(0), limit: usize::MAX };
        match self.slice(project, &selection, now, &part, project.change_seq, until).await? {
            Some(slice) => Ok(slice.positions),
            None => self.stream(project, until).positions(&selection, now).await,
        }
    }

    pub(crate) fn stream<'q>(&'q self, project: &'q StoredProject, until: Instant) -> Stream<'q> {
        Stream { store: &self.loader.store, project, until }
    }

    async fn plain_page(
        &self,
        project: ProjectId,
        of: &PageOf,
        until: Instant,
        extent: Extent,
    ) -> Result<Page> {
        let start = match &of.start {
            Start::Offset(offset) => PageStart::Offset(*offset),
            Start::After(cursor) => PageStart::After(cursor.position),
        };
        let store = &self.loader.store;
        let wanted = Wanted { bytes_max: SLICE_BYTES, slots: of.slots.clone() };
        let mut page = store.rows_within(project, start, of.limit, wanted.clone()).await?;
        let mut snapshot = None;
        if !page.rest.is_empty() && extent == Extent::Whole {
            snapshot = store.snapshot(project).await?;
            if let Some(snapshot) = &mut snapshot {
                // Read again, so that all of it is of the snapshot's moment.
                page = snapshot.rows_within(start, of.limit, wanted).await?;
            }
        }
        let RowsPage { rows, rest, total, more, change_seq } = page;
        let last = rest.last().copied().or_else(|| rows.last().map(|row| row.position));
        let count = rows.len() + rest.len();
        let next = more.then(|| cursor_behind(last, count, rank_before(&of.start), None)).flatten();
        let moment = Moment { change_seq, snapshot };
        let rest = Rest::of(Arc::clone(store), project, (rest, of.slots.clone()), moment, until);
        Ok(Page { rows, rest, total: of.include_total.then_some(total), next })
    }

    /// A page from memory; `None` if the columns do not fit there.
    async fn cached_page(
        &self,
        project: &StoredProject,
        of: &PageOf,
        until: Instant,
        extent: Extent,
    ) -> Result<Option<Page>> {
        let PageOf { selection, start, limit, include_total, slots, now } = of;
        let part = SliceOf { start: start.clone(), limit: usize::try_from(*limit).unwrap_or(usize::MAX) };
        let (id, before) = (project.project.id, rank_before(start));
        let mut seq = project.change_seq;
        let mut tries = 1;
        loop {
            let Some(slice) = self.slice(project, selection, *now, &part, seq, until).await? else {
                return Ok(None);
            };
            let Slice { seq: found_at, positions, total, more, sorted } = slice;
            let (last, count) = (positions.last().copied(), positions.len());
            let spans = Spans::of(positions.iter().map(|position| (*position, *position)));
            let asked = (positions, slots.clone());
            let (read, snapshot) = rest::rows_at(&self.loader.store, id, asked, found_at, extent).await?;
            // What changed between the two is looked for again, so that rows and total are of one moment. Where
            // others write these rows without pause it must do that one may have changed, and one that is gone is
            // left out.
            let is_of_one_moment = read.change_seq == found_at || {
                let cached = self.loader.cache.entry(id);
                cached.are_untouched(&spans, found_at, read.change_seq).await
            };
            if is_of_one_moment || tries == TRIES_MAX {
                let next = more.then(|| cursor_behind(last, count, before, sorted)).flatten();
                let RowsAt { rows, rest, change_seq } = read;
                let store = Arc::clone(&self.loader.store);
                let moment = Moment { change_seq, snapshot };
                let rest = Rest::of(store, id, (rest, slots.clone()), moment, until);
                return Ok(Some(Page { rows, rest, total: include_total.then_some(total), next }));
            }
            seq = seq.max(read.change_seq);
            tries += 1;
        }
    }

    /// Some rows of a selection at least as new as a change; `None` if the columns do not fit into memory.
    async fn slice(
        &self,
        project: &StoredProject,
        selection: &Selection,
        now: Timestamp,
        part: &SliceOf,
        seq: u64,
        until: Instant,
    ) -> Result<Option<Slice>> {
        let slice = self.find_slice(project, selection, now, part, seq, until).await?;
        if slice.is_some() {
            self.note(project, selection, &[], now);
        }
        Ok(slice)
    }

    async fn find_slice(
        &self,
        project: &StoredProject,
        selection: &Selection,
        now: Timestamp,
        part: &SliceOf,
        seq: u64,
        until: Instant,
    ) -> Result<Option<Slice>> {
        let name = name_of(selection, project.version);
        let cached = self.loader.cache.entry(project.project.id);
        if let Some(slice) = slice_at_once(&cached, &name, part, seq) {
            return Ok(Some(slice));
        }
        let plan = match cached.orders.get(&name) {
            Some(order) => Arc::clone(&order.plan),
            None => Plan::of(selection, project).await?,
        };
        // A column may be given up between being there and being looked at.
        for _ in 0..TRIES_MAX {
            let Some(cached) = self.loader.ready(project, &plan, seq, until).await? else { return Ok(None) };
            if let Some(slice) = slice_at_once(&cached, &name, part, seq) {
                return Ok(Some(slice));
            }
            let (plan, name, cache) = (Arc::clone(&plan), name.clone(), Arc::clone(&self.loader.cache));
            let part = part.clone();
            let slice = blocking(move || {
                // What depends on the time is right only now.
                let order = if plan.depends_on_now {
                    Arc::new(CachedOrder::new(&plan))
                } else {
                    cached.orders.get_or_insert(name, &plan)
                };
                let slice = order.slice(&cached.snapshot(), now, &part);
                cache.enforce_budget(&cached, &plan.names());
                slice
            });
            if let Some(slice) = slice.await? {
                return Ok(Some(slice));
            }
        }
        Ok(None)
    }
}

/// What is kept and current needs no work.
fn slice_at_once(cached: &CachedProject, name: &str, part: &SliceOf, seq: u64) -> Option<Slice> {
    let order = cached.orders.get(name)?;
    let snapshot = cached.snapshot();
    if is_current(&snapshot, seq) { order.slice_at_once(&snapshot, part) } else { None }
}
