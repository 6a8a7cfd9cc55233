//! Selections that are not held in memory: the rows are scanned, in one snapshot, and only what is needed of
//! them is kept.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use rowmill_model::filter::{Predicate, Search};
use rowmill_model::record::Cells;
use rowmill_model::row::RowView;
use rowmill_model::sort::{Key, Order, Sorting};
use rowmill_model::{Project, Record, Table};
use rowmill_store::{
    Result, RowRef, RowsAt, ScanDetail, ScanLook, Snapshot, Spans, Store, StoreError, StoredProject,
    StoredRow, WantedSlots,
};

use crate::blocking::blocking;
use crate::cursor::{Cursor, SortedBy, sorting_digest};
use crate::page::{Page, PageOf, Start, cursor_behind, rank_before};
use crate::place::Place;
use crate::plan::Plan;
use crate::rest::{self, Extent, Moment, Rest, SLICE_BYTES};
use crate::scan::{self, IDLE};
use crate::selection::Selection;
use crate::top_k::TopK;

/// Rows that are picked in one scan. To come further down an order takes another scan, not more memory.
const PICKED_MAX: usize = 100_000;

/// Scans one project.
pub(crate) struct Stream<'q> {
    pub(crate) store: &'q Arc<dyn Store>,
    pub(crate) project: &'q StoredProject,
    pub(crate) until: Instant,
}

impl Stream<'_> {
    pub(crate) async fn page(&self, of: PageOf, extent: Extent) -> Result<Page> {
        if of.selection.sorting.is_empty() {
            self.filtered_page(of, extent).await
        } else {
            self.sorted_page(of, extent).await
        }
    }

    /// Where the rows of a selection lie, in its order.
    pub(crate) async fn positions(&self, selection: &Selection, now: Timestamp) -> Result<Vec<u64>> {
        if selection.sorting.is_empty() {
            let push = |positions: &mut Vec<u64>, row: RowRef<'_>, _: &RowView<'_>| {
                positions.push(row.position);
                ControlFlow::Continue(())
            };
            return Ok(self.select(selection, now, (None, &WantedSlots::none()), Vec::new(), push).await?.0);
        }
        let order = Arc::new(Order::compile(&selection.sorting, &self.project.project.table));
        let mut positions = Vec::new();
        let mut anchor = None;
        loop {
            let Picked { rows: picked, .. } =
                self.pick(selection, now, &order, anchor.take(), PICKED_MAX).await?;
            let is_last = picked.len() < PICKED_MAX;
            anchor = picked.last().map(|(key, position)| Place::Behind(key.clone(), *position));
            positions.extend(picked.into_iter().map(|(_, position)| position));
            if is_last {
                return Ok(positions);
            }
        }
    }

    async fn filtered_page(&self, of: PageOf, extent: Extent) -> Result<Page> {
        let (skip, behind) = match &of.start {
            Start::Offset(offset) => (*offset, None),
            Start::After(cursor) => (0, Some(cursor.position)),
        };
        let limit = usize::try_from(of.limit).unwrap_or(usize::MAX);
        // Without a total nothing before the cursor need be read, and nothing behind the page.
        let scan_after = if of.include_total { None } else { behind };
        let (mut seen, include_total, slots) = (0_u64, of.include_total, of.slots.clone());
        let fold = move |found: &mut Filtered, row: RowRef<'_>, _: &RowView<'_>| {
            found.matched += 1;
            if behind.is_none_or(|position| row.position > position) {
                seen += 1;
                if seen > skip && found.positions.len() <= limit {
                    found.push(row);
                }
            }
            let is_full = found.positions.len() > limit
                || extent == Extent::Part && found.rows.len() < found.positions.len();
            if is_full && !include_total { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (mut found, seq) =
            self.select(&of.selection, of.now, (scan_after, &slots), Filtered::default(), fold).await?;
        let more = found.positions.len() > limit;
        found.positions.truncate(limit);
        found.rows.truncate(limit);
        if found.rows.len() == found.positions.len() || extent == Extent::Part {
            let Filtered { rows, positions, matched, .. } = found;
            let left = positions.get(rows.len()..).unwrap_or_default().to_vec();
            let read = RowsAt { rows, rest: left, change_seq: seq };
            let next = next_cursor(&of, positions.last().copied(), positions.len(), more, None);
            return Ok(self.finish(&of, next, (read, None), matched));
        }
        // What did not fit is read in a snapshot, and all the rest with it.
        let Filtered { positions, matched, .. } = found;
        let next = next_cursor(&of, positions.last().copied(), positions.len(), more, None);
        let asked = (positions, of.slots.clone());
        let read = rest::rows_at(self.store, self.project.project.id, asked, seq, extent).await?;
        Ok(self.finish(&of, next, read, matched))
    }

    fn finish(
        &self,
        of: &PageOf,
        next: Option<Cursor>,
        (read, snapshot): (RowsAt, Option<Box<dyn Snapshot>>),
        total: u64,
    ) -> Page {
        let RowsAt { rows, rest, change_seq } = read;
        let moment = Moment { change_seq, snapshot };
        let (id, rest) = (self.project.project.id, (rest, of.slots.clone()));
        let rest = Rest::of(Arc::clone(self.store), id, rest, moment, self.until);
        Page { rows, rest, total: of.include_total.then_some(total), next }
    }

    async fn sorted_page(&self, of: PageOf, extent: Extent) -> Result<Page> {
        let PageOf { selection, start, limit, now, .. } = &of;
        let (limit, now) = (*limit, *now);
        let order = Arc::new(Order::compile(&selection.sorting, &self.project.project.table));
        let (mut skip, mut anchor) = match start {
            Start::Offset(offset) => (*offset, None),
            Start::After(cursor) => (0, Some(self.place(&order, cursor).await?)),
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut found, total, seq) = loop {
            let skipped = usize::try_from(skip).unwrap_or(usize::MAX);
            let wanted = skipped.saturating_add(limit).saturating_add(1).min(PICKED_MAX.max(limit + 1));
            let Picked { rows: picked, total, seq } =
                self.pick(selection, now, &order, anchor.take(), wanted).await?;
            if picked.len() > skipped || picked.len() < wanted {
                break (picked.into_iter().skip(skipped).collect::<Vec<_>>(), total, seq);
            }
            skip -= picked.len() as u64;
            anchor = picked.into_iter().next_back().map(|(key, position)| Place::Behind(key, position));
        };
        let behind = found.get(limit).map(|(key, position)| (key, *position));
        let last = limit.checked_sub(1).and_then(|last| found.get(last));
        let sorted = sorting_digest(&selection.sorting, &self.project.project.table)
            .zip(last)
            .map(|(sorting, (key, _))| SortedBy::behind(sorting, key, behind));
        let more = behind.is_some();
        found.truncate(limit);
        let positions: Vec<u64> = found.into_iter().map(|(_, position)| position).collect();
        let next = next_cursor(&of, positions.last().copied(), positions.len(), more, sorted);
        let asked = (positions, of.slots.clone());
        let read = rest::rows_at(self.store, self.project.project.id, asked, seq, extent).await?;
        Ok(self.finish(&of, next, read, total))
    }

    /// Where the page behind a cursor begins.
    async fn place(&self, order: &Order, cursor: &Cursor) -> Result<Place> {
        let needed = Place::rows_needed(cursor);
        let mut keys = Vec::new();
        if !needed.is_empty() {
            let table = &self.project.project.table;
            for row in self.store.rows_at(self.project.project.id, needed).await?.rows {
                keys.push((row.position, key_of(table, order, &row)?));
            }
        }
        let key_at = |position| Some(keys.iter().find(|(other, _)| *other == position)?.1.clone());
        Ok(Place::behind(cursor, key_at))
    }

    /// The first rows behind a place.
    async fn pick(
        &self,
        selection: &Selection,
        now: Timestamp,
        order: &Arc<Order>,
        from: Option<Place>,
        wanted: usize,
    ) -> Result<Picked> {
        let order = Arc::clone(order);
        let pick = (TopK::new(Arc::clone(&order), wanted), 0_u64);
        let fold = move |(pick, matched): &mut (TopK, u64), row: RowRef<'_>, view: &RowView<'_>| {
            *matched += 1;
            let key = order.key(view);
            if !from.as_ref().is_some_and(|place| place.is_behind(&key, row.position)) {
                pick.push(key, row.position);
            }
            ControlFlow::Continue(())
        };
        let ((pick, total), seq) =
            self.select(selection, now, (None, &WantedSlots::none()), pick, fold).await?;
        Ok(Picked { rows: pick.into_rows(), total, seq })
    }

    /// Scans the rows of a selection and folds them into `kept`; says with it which change was the last one seen. Beside
    /// the columns that the selection looks at, only those are read that `fold` is said to need.
    pub(crate) async fn select<T: Send + 'static>(
        &self,
        selection: &Selection,
        now: Timestamp,
        (after, needed): (Option<u64>, &WantedSlots),
        kept: T,
        mut fold: impl FnMut(&mut T, RowRef<'_>, &RowView<'_>) -> ControlFlow<()> + Send + 'static,
    ) -> Result<(T, u64)> {
        let document = Arc::clone(&self.project.project);
        let predicate = predicate_of(selection, &document).await?;
        let search = Search::new(selection.search.as_deref().unwrap_or_default(), &document.table);
        let look = move |kept: &mut T, row: RowRef<'_>| {
            let cells = Cells::unpack(row.values)?;
            let view = RowView::new(&document.table, cells, row.states.unwrap_or(&IDLE));
            let wanted = predicate.holds(&view, now) && search.matches(&view);
            Ok::<_, StoreError>(if wanted { fold(kept, row, &view) } else { ControlFlow::Continue(()) })
        };
        let slots = needed.and(Plan::of(selection, self.project).await?.slots());
        let rows = (Spans::after(after), ScanLook { detail: ScanDetail::Whole, slots });
        scan::fold(&**self.store, self.project.project.id, rows, self.until, kept, look).await
    }
}

/// Makes filters ready, where nobody else waits if it takes a while.
async fn predicate_of(selection: &Selection, document: &Arc<Project>) -> Result<Predicate> {
    if !selection.filters.take_long() {
        return Ok(Predicate::compile(&selection.filters, &document.table));
    }
    let (filters, document) = (selection.filters.clone(), Arc::clone(document));
    blocking(move || Predicate::compile(&filters, &document.table)).await
}

/// The first rows of an order.
struct Picked {
    /// What each is sorted by, and where it lies.
    rows: Vec<(Key, u64)>,
    /// All rows of the selection.
    total: u64,
    /// The last change that was seen.
    seq: u64,
}

/// Where the page behind this one starts.
fn next_cursor(
    of: &PageOf,
    last: Option<u64>,
    count: usize,
    more: bool,
    sorted: Option<SortedBy>,
) -> Option<Cursor> {
    more.then(|| cursor_behind(last, count, rank_before(&of.start), sorted)).flatten()
}

fn key_of(table: &Table, order: &Order, row: &StoredRow) -> Result<Key> {
    Ok(order.key(&RowView::new(table, row.values.cells()?, &row.states)))
}

/// What a row is sorted by, for a cursor.
pub(crate) fn sorted_by(table: &Table, sorting: &Sorting, row: &StoredRow) -> Result<Option<SortedBy>> {
    let Some(digest) = sorting_digest(sorting, table) else { return Ok(None) };
    let key = key_of(table, &Order::compile(sorting, table), row)?;
    Ok(Some(SortedBy::behind(digest, &key, None)))
}

/// The rows of a page, and where those lie that came after as many bytes as are held.
#[derive(Debug, Default)]
struct Filtered {
    rows: Vec<StoredRow>,
    bytes: usize,
    /// Of all of them.
    positions: Vec<u64>,
    matched: u64,
}

impl Filtered {
    fn push(&mut self, row: RowRef<'_>) {
        self.positions.push(row.position);
        if self.bytes < SLICE_BYTES {
            self.bytes = self.bytes.saturating_add(row.values.len());
            self.rows.extend(whole(row));
        }
    }
}

/// A copy of a row of a scan that shows whole rows.
fn whole(row: RowRef<'_>) -> Option<StoredRow> {
    let RowRef { id, position, values, states } = row;
    let states = states.cloned().unwrap_or_default();
    Some(StoredRow { id: id?, position, values: Record::from_bytes(values), states })
}
