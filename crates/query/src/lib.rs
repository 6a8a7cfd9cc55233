//! Rows in a view's order: filter, sort, page.
//!
//! What an operator or a sort key means is said once, in `model`. Here it is applied: without filters
//! and sorting a page comes straight from the store; with them the rows are scanned, in one snapshot,
//! and only what the page needs is kept.

mod cursor;
mod pick;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use rowmill_model::filter::{Filters, Predicate, Search};
use rowmill_model::record::Cells;
use rowmill_model::row::RowView;
use rowmill_model::sort::{Order, Sorting};
use rowmill_model::{CellStates, ProjectId, Record, Table};
use rowmill_store::{PageStart, Result, RowRef, Store, StoreError, StoredProject, StoredRow};

pub use crate::cursor::Cursor;
use crate::pick::Pick;

/// Which rows, in which order.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub filters: Filters,
    pub sorting: Sorting,
    /// Text that some cell of the row must contain.
    pub search: Option<String>,
}

impl Selection {
    fn is_everything(&self) -> bool {
        self.filters.is_empty() && self.sorting.is_empty() && self.search.as_deref().is_none_or(str::is_empty)
    }
}

/// Where a page starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    Offset(u64),
    After(Cursor),
}

#[derive(Debug, Clone)]
pub struct PageOf {
    pub selection: Selection,
    pub start: Start,
    pub limit: u32,
    /// Whether the rows must be counted even where that means reading all of them.
    pub include_total: bool,
    pub now: Timestamp,
}

#[derive(Debug, Clone)]
pub struct Page {
    pub rows: Vec<StoredRow>,
    /// All rows of the selection, if they were to be counted.
    pub total: Option<u64>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<Cursor>,
}

#[derive(Debug, Clone)]
pub struct Query {
    store: Arc<dyn Store>,
}

impl Query {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    pub async fn page(&self, project: &StoredProject, of: PageOf) -> Result<Page> {
        if of.selection.is_everything() {
            self.plain_page(project.project.id, &of).await
        } else if of.selection.sorting.is_empty() {
            self.filtered_page(project, of).await
        } else {
            self.sorted_page(project, of).await
        }
    }

    /// Where the rows of a selection lie, in its order.
    pub async fn positions(
        &self,
        project: &StoredProject,
        selection: Selection,
        now: Timestamp,
    ) -> Result<Vec<u64>> {
        let order = Arc::new(Order::compile(&selection.sorting, &project.project.table));
        let is_sorted = !selection.sorting.is_empty();
        let of = PageOf { selection, start: Start::Offset(0), limit: 0, include_total: false, now };
        if !is_sorted {
            let (positions, _) = self
                .select(project, &of, None, Vec::new(), |positions: &mut Vec<u64>, row, _| {
                    positions.push(row.position);
                    (0, ControlFlow::Continue(()))
                })
                .await?;
            return Ok(positions);
        }
        let all = Pick::new(Arc::clone(&order), usize::MAX);
        let (all, _) = self
            .select(project, &of, None, all, move |pick: &mut Pick, row, view| {
                pick.push(order.key(view), row.position);
                (0, ControlFlow::Continue(()))
            })
            .await?;
        Ok(all.into_positions())
    }

    async fn plain_page(&self, project: ProjectId, of: &PageOf) -> Result<Page> {
        let (start, before) = match of.start {
            Start::Offset(offset) => (PageStart::Offset(offset), offset),
            Start::After(cursor) => (PageStart::After(cursor.position), cursor.rank),
        };
        let page = self.store.rows(project, start, of.limit).await?;
        let next = page.more.then(|| cursor_behind(&page.rows, before)).flatten();
        Ok(Page { rows: page.rows, total: of.include_total.then_some(page.total), next })
    }

    async fn filtered_page(&self, project: &StoredProject, of: PageOf) -> Result<Page> {
        let (skip, behind, before) = match of.start {
            Start::Offset(offset) => (offset, None, offset),
            Start::After(cursor) => (0, Some(cursor.position), cursor.rank),
        };
        let limit = usize::try_from(of.limit).unwrap_or(usize::MAX);
        // Without a total nothing before the cursor need be read, and nothing behind the page.
        let scan_after = if of.include_total { None } else { behind };
        let mut matched = 0_u64;
        let mut seen = 0_u64;
        let found = self
            .select(project, &of, scan_after, Vec::new(), move |rows: &mut Vec<StoredRow>, row, _| {
                matched += 1;
                if behind.is_none_or(|position| row.position > position) {
                    seen += 1;
                    if seen > skip && rows.len() <= limit {
                        rows.push(copy(row));
                    }
                }
                let full = rows.len() > limit && !of.include_total;
                (matched, if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })
            .await?;
        let (mut rows, matched) = found;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = more.then(|| cursor_behind(&rows, before)).flatten();
        Ok(Page { rows, total: of.include_total.then_some(matched), next })
    }

    async fn sorted_page(&self, project: &StoredProject, of: PageOf) -> Result<Page> {
        let order = Arc::new(Order::compile(&of.selection.sorting, &project.project.table));
        let (skip, anchor) = match of.start {
            Start::Offset(offset) => (offset, None),
            Start::After(cursor) => match self.anchor(project, &order, cursor).await? {
                Some(anchor) => (0, Some(anchor)),
                // The row the last page ended with is gone: go on by counting.
                None => (cursor.rank, None),
            },
        };
        let before = match of.start {
            Start::Offset(offset) => offset,
            Start::After(cursor) => cursor.rank,
        };
        let limit = u64::from(of.limit);
        let wanted = usize::try_from(skip.saturating_add(limit).saturating_add(1)).unwrap_or(usize::MAX);
        let mut matched = 0_u64;
        let pick = Pick::new(Arc::clone(&order), wanted);
        let (pick, matched) = self
            .select(project, &of, None, pick, move |pick: &mut Pick, row, view| {
                matched += 1;
                let key = order.key(view);
                let behind = anchor.as_ref().is_none_or(|(anchor_key, position)| {
                    order.compare(&key, anchor_key).then(row.position.cmp(position)).is_gt()
                });
                if behind {
                    pick.push(key, row.position);
                }
                (matched, ControlFlow::Continue(()))
            })
            .await?;
        let mut positions = pick.into_positions();
        let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(positions.len());
        positions.drain(..skip);
        let limit = usize::try_from(of.limit).unwrap_or(usize::MAX);
        let more = positions.len() > limit;
        positions.truncate(limit);
        let rows = self.store.rows_at(project.project.id, positions).await?;
        let next = more.then(|| cursor_behind(&rows, before)).flatten();
        Ok(Page { rows, total: of.include_total.then_some(matched), next })
    }

    /// The sort key and position of the row a cursor names, if it still exists.
    async fn anchor(
        &self,
        project: &StoredProject,
        order: &Order,
        cursor: Cursor,
    ) -> Result<Option<(rowmill_model::sort::Key, u64)>> {
        let rows = self.store.rows_at(project.project.id, vec![cursor.position]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let view = RowView::new(&project.project.table, row.values.cells()?, &row.states);
        Ok(Some((order.key(&view), row.position)))
    }

    /// Scans the rows of a selection and folds them into `kept`; `fold` also says how many it has seen.
    async fn select<T: Send + 'static>(
        &self,
        project: &StoredProject,
        of: &PageOf,
        after: Option<u64>,
        kept: T,
        fold: impl FnMut(&mut T, RowRef<'_>, &RowView<'_>) -> (u64, ControlFlow<()>) + Send + 'static,
    ) -> Result<(T, u64)> {
        let state = Arc::new(Mutex::new(Folded { kept, count: 0, failure: None }));
        let shared = Arc::clone(&state);
        let document = Arc::clone(&project.project);
        let predicate = Predicate::compile(&of.selection.filters, &document.table);
        let search = Search::new(of.selection.search.as_deref().unwrap_or_default(), &document.table);
        let now = of.now;
        let mut fold = fold;
        let visit = move |row: RowRef<'_>| {
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            match look(&document.table, row, |view| predicate.holds(view, now) && search.matches(view)) {
                Ok(None) => ControlFlow::Continue(()),
                Ok(Some(view)) => {
                    let (count, flow) = fold(&mut state.kept, row, &view);
                    state.count = count;
                    flow
                }
                Err(failure) => {
                    state.failure = Some(failure);
                    ControlFlow::Break(())
                }
            }
        };
        self.store.scan(project.project.id, after, Box::new(visit)).await?;
        let folded = Arc::try_unwrap(state)
            .map_err(|_| StoreError::Backend("a scan outlived its answer".into()))?
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match folded.failure {
            Some(failure) => Err(failure),
            None => Ok((folded.kept, folded.count)),
        }
    }
}

struct Folded<T> {
    kept: T,
    count: u64,
    failure: Option<StoreError>,
}

/// A row as the model sees it, if it is wanted.
fn look<'a>(
    table: &'a Table,
    row: RowRef<'a>,
    wanted: impl FnOnce(&RowView<'_>) -> bool,
) -> Result<Option<RowView<'a>>> {
    static IDLE: CellStates = CellStates::IDLE;
    let view = RowView::new(table, Cells::unpack(row.values)?, row.states.unwrap_or(&IDLE));
    Ok(wanted(&view).then_some(view))
}

fn copy(row: RowRef<'_>) -> StoredRow {
    StoredRow {
        id: row.id,
        position: row.position,
        values: Record::from_bytes(row.values),
        states: row.states.cloned().unwrap_or_default(),
    }
}

/// A cursor to what follows these rows, of which `before` rows came earlier.
fn cursor_behind(rows: &[StoredRow], before: u64) -> Option<Cursor> {
    let last = rows.last()?;
    let rank = before.saturating_add(u64::try_from(rows.len()).unwrap_or(u64::MAX));
    Some(Cursor { position: last.position, rank })
}
