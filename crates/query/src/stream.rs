//! Selections that are not held in memory: the rows are scanned, in one snapshot, and only what is needed of
//! them is kept.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use rowmill_model::Record;
use rowmill_model::filter::{Predicate, Search};
use rowmill_model::record::Cells;
use rowmill_model::row::RowView;
use rowmill_model::sort::{Key, Order};
use rowmill_store::{Look, Result, RowRef, Spans, Store, StoreError, StoredProject, StoredRow};

use crate::pick::Pick;
use crate::scan::IDLE;
use crate::{Cursor, Page, PageOf, Selection, Start, cursor_behind, scan};

/// Rows that are picked in one scan. To come further down an order takes another scan, not more memory.
const PICKED_MAX: usize = 100_000;

/// Scans one project.
pub(crate) struct Stream<'q> {
    pub(crate) store: &'q dyn Store,
    pub(crate) project: &'q StoredProject,
    pub(crate) until: Instant,
}

impl Stream<'_> {
    pub(crate) async fn page(&self, of: PageOf) -> Result<Page> {
        if of.selection.sorting.is_empty() {
            self.filtered_page(of).await
        } else {
            self.sorted_page(of).await
        }
    }

    /// Where the rows of a selection lie, in its order.
    pub(crate) async fn positions(&self, selection: &Selection, now: Timestamp) -> Result<Vec<u64>> {
        if selection.sorting.is_empty() {
            let push = |positions: &mut Vec<u64>, row: RowRef<'_>, _: &RowView<'_>| {
                positions.push(row.position);
                ControlFlow::Continue(())
            };
            return self.select(selection, now, None, Vec::new(), push).await;
        }
        let order = Arc::new(Order::compile(&selection.sorting, &self.project.project.table));
        let mut positions = Vec::new();
        let mut anchor = None;
        loop {
            let (picked, _) = self.pick(selection, now, &order, anchor.clone(), PICKED_MAX).await?;
            let is_last = picked.len() < PICKED_MAX;
            anchor = picked.last().cloned();
            positions.extend(picked.into_iter().map(|(_, position)| position));
            if is_last {
                return Ok(positions);
            }
        }
    }

    async fn filtered_page(&self, of: PageOf) -> Result<Page> {
        let (skip, behind, before) = match of.start {
            Start::Offset(offset) => (offset, None, offset),
            Start::After(cursor) => (0, Some(cursor.position), cursor.rank),
        };
        let limit = usize::try_from(of.limit).unwrap_or(usize::MAX);
        // Without a total nothing before the cursor need be read, and nothing behind the page.
        let scan_after = if of.include_total { None } else { behind };
        let (mut seen, include_total) = (0_u64, of.include_total);
        let fold = move |(rows, matched): &mut (Vec<StoredRow>, u64), row: RowRef<'_>, _: &RowView<'_>| {
            *matched += 1;
            if behind.is_none_or(|position| row.position > position) {
                seen += 1;
                if seen > skip && rows.len() <= limit {
                    rows.push(copy(row));
                }
            }
            let full = rows.len() > limit && !include_total;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (mut rows, matched) =
            self.select(&of.selection, of.now, scan_after, (Vec::new(), 0), fold).await?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next =
            more.then(|| cursor_behind(rows.last().map(|row| row.position), rows.len(), before)).flatten();
        Ok(Page { rows, total: of.include_total.then_some(matched), next })
    }

    async fn sorted_page(&self, of: PageOf) -> Result<Page> {
        let PageOf { selection, start, limit, include_total, now } = of;
        let order = Arc::new(Order::compile(&selection.sorting, &self.project.project.table));
        let (mut skip, mut anchor) = match start {
            Start::Offset(offset) => (offset, None),
            Start::After(cursor) => match self.anchor(&order, cursor).await? {
                Some(anchor) => (0, Some(anchor)),
                // The row the last page ended with is gone: go on by counting.
                None => (cursor.rank, None),
            },
        };
        let before = match start {
            Start::Offset(offset) => offset,
            Start::After(cursor) => cursor.rank,
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut positions, total) = loop {
            let skipped = usize::try_from(skip).unwrap_or(usize::MAX);
            let wanted = skipped.saturating_add(limit).saturating_add(1).min(PICKED_MAX.max(limit + 1));
            let (picked, total) = self.pick(&selection, now, &order, anchor.take(), wanted).await?;
            if picked.len() > skipped || picked.len() < wanted {
                let positions = picked.into_iter().skip(skipped).map(|(_, position)| position);
                break (positions.collect::<Vec<u64>>(), total);
            }
            skip -= picked.len() as u64;
            anchor = picked.into_iter().next_back();
        };
        let more = positions.len() > limit;
        positions.truncate(limit);
        let last = positions.last().copied();
        let next = more.then(|| cursor_behind(last, positions.len(), before)).flatten();
        let rows = self.store.rows_at(self.project.project.id, positions).await?.rows;
        Ok(Page { rows, total: include_total.then_some(total), next })
    }

    /// The sort key and position of the row a cursor names, if it still exists.
    async fn anchor(&self, order: &Order, cursor: Cursor) -> Result<Option<(Key, u64)>> {
        let rows = self.store.rows_at(self.project.project.id, vec![cursor.position]).await?.rows;
        let Some(row) = rows.first() else { return Ok(None) };
        let view = RowView::new(&self.project.project.table, row.values.cells()?, &row.states);
        Ok(Some((order.key(&view), row.position)))
    }

    /// The first rows behind an anchor, with the number of all rows.
    async fn pick(
        &self,
        selection: &Selection,
        now: Timestamp,
        order: &Arc<Order>,
        anchor: Option<(Key, u64)>,
        wanted: usize,
    ) -> Result<(Vec<(Key, u64)>, u64)> {
        let order = Arc::clone(order);
        let pick = (Pick::new(Arc::clone(&order), wanted), 0_u64);
        let fold = move |(pick, matched): &mut (Pick, u64), row: RowRef<'_>, view: &RowView<'_>| {
            *matched += 1;
            let key = order.key(view);
            let behind = anchor.as_ref().is_none_or(|(anchor_key, position)| {
                order.compare(&key, anchor_key).then(row.position.cmp(position)).is_gt()
            });
            if behind {
                pick.push(key, row.position);
            }
            ControlFlow::Continue(())
        };
        let (pick, matched) = self.select(selection, now, None, pick, fold).await?;
        Ok((pick.into_rows(), matched))
    }

    /// Scans the rows of a selection and folds them into `kept`.
    async fn select<T: Send + 'static>(
        &self,
        selection: &Selection,
        now: Timestamp,
        after: Option<u64>,
        kept: T,
        mut fold: impl FnMut(&mut T, RowRef<'_>, &RowView<'_>) -> ControlFlow<()> + Send + 'static,
    ) -> Result<T> {
        let document = Arc::clone(&self.project.project);
        let predicate = Predicate::compile(&selection.filters, &document.table);
        let search = Search::new(selection.search.as_deref().unwrap_or_default(), &document.table);
        let look = move |kept: &mut T, row: RowRef<'_>, cells: Cells<'_>| {
            let view = RowView::new(&document.table, cells, row.states.unwrap_or(&IDLE));
            let wanted = predicate.holds(&view, now) && search.matches(&view);
            Ok::<_, StoreError>(if wanted { fold(kept, row, &view) } else { ControlFlow::Continue(()) })
        };
        let rows = (Spans::after(after), Look::Whole);
        let (kept, _) = scan::fold(self.store, self.project.project.id, rows, self.until, kept, look).await?;
        Ok(kept)
    }
}

fn copy(row: RowRef<'_>) -> StoredRow {
    StoredRow {
        id: row.id,
        position: row.position,
        values: Record::from_bytes(row.values),
        states: row.states.cloned().unwrap_or_default(),
    }
}
