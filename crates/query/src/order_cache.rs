//! An LRU cache of orders: the rows of a selection, sorted, for when it is asked for again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};

use crate::chunked_list::ChunkedList;
use crate::cursor::SortedBy;
use crate::order::{self, Keys};
use crate::page::Start;
use crate::place::Place;
use crate::plan::Plan;
use crate::selection::Selection;
use crate::snapshot::Snapshot;

/// How many orders a project has at most, however small they are: they are counted each time one is brought up to date.
const ORDERS_MAX: usize = 1_024;

/// The orders of one project.
#[derive(Debug, Default)]
pub(crate) struct OrderCache {
    orders: Mutex<HashMap<String, Arc<CachedOrder>>>,
    clock: AtomicU64,
}

/// The rows of a selection, in order, as they were in some snapshot.
#[derive(Debug)]
pub(crate) struct CachedOrder {
    pub(crate) plan: Arc<Plan>,
    rows: Mutex<Ordered>,
    used: AtomicU64,
    /// What its rows took when it was last brought up to date.
    bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Ordered {
    generation: u64,
    epoch: u64,
    rows: ChunkedList,
}

/// Some rows of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slice {
    /// The change up to which they are known.
    pub(crate) seq: u64,
    pub(crate) positions: Vec<u64>,
    /// All rows of the selection.
    pub(crate) total: u64,
    /// Whether rows follow.
    pub(crate) more: bool,
    /// If so: what the last of these rows is sorted by. `None` in order of creation.
    pub(crate) sorted: Option<SortedBy>,
}

/// Which rows of an order.
#[derive(Debug, Clone)]
pub(crate) struct SliceOf {
    pub(crate) start: Start,
    pub(crate) limit: usize,
}

/// What names an order: the selection and the version of the project, whose columns it was compiled for.
pub(crate) fn name_of(selection: &Selection, version: u64) -> String {
    let Selection { filters, sorting, search } = selection;
    serde_json::to_string(&(version, filters, sorting, search)).unwrap_or_default()
}

impl OrderCache {
    fn orders(&self) -> MutexGuard<'_, HashMap<String, Arc<CachedOrder>>> {
        self.orders.lock()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<CachedOrder>> {
        let order = self.orders().get(name).map(Arc::clone)?;
        order.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(order)
    }

    pub(crate) fn get_or_insert(&self, name: String, plan: &Arc<Plan>) -> Arc<CachedOrder> {
        if let Some(order) = self.get(&name) {
            return order;
        }
        let order = Arc::new(CachedOrder::new(plan));
        order.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let mut orders = self.orders();
        if orders.len() >= ORDERS_MAX {
            let oldest = orders.iter().min_by_key(|(_, order)| order.used.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                orders.remove(&oldest);
            }
        }
        Arc::clone(orders.entry(name).or_insert(order))
    }

    pub(crate) fn clear(&self) {
        self.orders().clear();
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.orders().len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.orders().iter().map(|(name, order)| order.bytes(name)).sum()
    }

    /// Evicts orders until they take no more than this: the least recently used go first.
    pub(crate) fn shrink_to(&self, bytes_max: usize) {
        let mut orders = self.orders();
        let mut bytes: usize = orders.iter().map(|(name, order)| order.bytes(name)).sum();
        if bytes <= bytes_max {
            return;
        }
        let used = |(name, order): (&String, &Arc<CachedOrder>)| {
            (order.used.load(Ordering::Relaxed), order.bytes(name), name.clone())
        };
        let mut by_use: Vec<(u64, usize, String)> = orders.iter().map(used).collect();
        by_use.sort_unstable();
        for (_, of_order, name) in by_use {
            if bytes <= bytes_max {
                break;
            }
            orders.remove(&name);
            bytes = bytes.saturating_sub(of_order);
        }
    }
}

impl CachedOrder {
    pub(crate) fn new(plan: &Arc<Plan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            rows: Mutex::default(),
            used: AtomicU64::new(0),
            bytes: AtomicUsize::new(0),
        }
    }

    fn bytes(&self, name: &str) -> usize {
        name.len() + size_of::<Self>() + self.plan.bytes() + self.bytes.load(Ordering::Relaxed)
    }

    /// Some of its rows, if it is current and nobody is busy with it.
    pub(crate) fn slice_at_once(&self, snapshot: &Snapshot, part: &SliceOf) -> Option<Slice> {
        let ordered = self.rows.try_lock()?;
        let is_current = ordered.generation == snapshot.generation && ordered.epoch == snapshot.epoch();
        let is_short = || Keys::of(&self.plan, snapshot).is_some_and(|keys| !keys.are_long());
        if is_current && is_short() { slice(&self.plan, snapshot, &ordered.rows, part) } else { None }
    }

    /// Some of its rows, after it was brought up to date. `None` if a column is not there any more.
    pub(crate) fn slice(&self, snapshot: &Snapshot, now: Timestamp, part: &SliceOf) -> Option<Slice> {
        self.read(snapshot, now, |rows| slice(&self.plan, snapshot, rows, part))
    }

    /// Does something with all of its rows, after it was brought up to date. `None` if a column is not there any more.
    pub(crate) fn read<T>(
        &self,
        snapshot: &Snapshot,
        now: Timestamp,
        work: impl FnOnce(&ChunkedList) -> Option<T>,
    ) -> Option<T> {
        // A filter would take a column that is not there for an empty one.
        if !snapshot.is_loaded || self.plan.names().iter().any(|name| snapshot.column(name).is_none()) {
            return None;
        }
        let mut ordered = self.rows.lock();
        let is_known = ordered.generation == snapshot.generation;
        match snapshot.changed_since(ordered.epoch).filter(|_| is_known) {
            Some([]) => {}
            Some(_) => {
                let epoch = ordered.epoch;
                order::patch(&self.plan, snapshot, now, &mut ordered.rows, epoch)?;
            }
            None => ordered.rows = order::make(&self.plan, snapshot, now)?.into(),
        }
        (ordered.generation, ordered.epoch) = (snapshot.generation, snapshot.epoch());
        self.bytes.store(ordered.rows.bytes(), Ordering::Relaxed);
        work(&ordered.rows)
    }
}

fn slice(plan: &Plan, snapshot: &Snapshot, rows: &ChunkedList, part: &SliceOf) -> Option<Slice> {
    let keys = Keys::of(plan, snapshot)?;
    let place = match &part.start {
        Start::Offset(offset) => rows.place_at(usize::try_from(*offset).unwrap_or(usize::MAX)),
        Start::After(cursor) if plan.sorting.is_none() => {
            let before = snapshot.rows_up_to(cursor.position);
            rows.partition_point(|row| row < before)
        }
        Start::After(cursor) => {
            let place = Place::behind(cursor, |position| Some(keys.key(snapshot.row_at(position)?)));
            rows.partition_point(|row| place.is_behind(&keys.key(row), snapshot.position(row)))
        }
    };
    let mut behind = rows.iter_from(place);
    let found: Vec<u32> = behind.by_ref().take(part.limit).collect();
    let next = behind.next();
    let sorted = plan.sorting.zip(found.last()).zip(next).map(|((sorting, last), next)| {
        let next = (&keys.key(next), snapshot.position(next));
        SortedBy::behind(sorting, &keys.key(*last), Some(next))
    });
    let positions = found.into_iter().map(|row| snapshot.position(row)).collect();
    Some(Slice { seq: snapshot.seq, positions, total: rows.len() as u64, more: next.is_some(), sorted })
}
