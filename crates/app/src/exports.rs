//! A table's rows, page after page to the end, in a view's order.

use std::collections::VecDeque;

use rowmill_model::{Column, View};
use rowmill_query::{PageOf, SLICE_BYTES, Selection, Start};
use rowmill_store::{StoredProject, StoredRow, Wanted, WantedSlots};

use crate::app::App;
use crate::caller::Caller;
use crate::error::Result;
use crate::known_offences::refuse_known;
use crate::rows::ListRows;
use crate::views::place;

/// An export under way.
#[derive(Debug)]
pub struct Export {
    pub project: StoredProject,
    /// The columns whose values are read.
    pub slots: WantedSlots,
    next: Next,
}

#[derive(Debug)]
enum Next {
    /// In order of creation: each page says where the next begins.
    Page(Box<PageOf>),
    /// Sorted: the order was worked out once.
    Positions(VecDeque<u64>),
    End,
}

/// Rows that are held at once; fewer, if they are large.
const ROWS_AT_ONCE: u32 = 500;

impl App {
    pub async fn begin_export(&self, caller: Caller, project: &str, list: ListRows) -> Result<Export> {
        let stored = self.project(caller, project).await?;
        let ListRows { view_id, filters, sorting, search, slots, .. } = list;
        let view = match view_id {
            Some(id) => stored.views.get(place(&stored.views, &id)?),
            None => None,
        };
        let selection: Selection =
            self.select(&stored, view, filters.as_ref(), sorting.as_ref(), search).await?;
        refuse_known()?;
        let now = self.clock.now();
        let next = if selection.sorting.is_empty() {
            let start = Start::Offset(0);
            let (limit, include_total) = (ROWS_AT_ONCE, false);
            Next::Page(Box::new(PageOf {
                selection,
                start,
                limit,
                include_total,
                slots: WantedSlots::All,
                now,
            }))
        } else {
            Next::Positions(self.query.positions(&stored, selection, now).await?.into())
        };
        Ok(Export { project: stored, slots, next })
    }

    /// The next rows; none at the end.
    pub async fn export_rows(&self, export: &mut Export) -> Result<Option<Vec<StoredRow>>> {
        match &mut export.next {
            Next::End => Ok(None),
            Next::Page(of) => {
                of.slots.clone_from(&export.slots);
                let part = self.query.part(&export.project, (**of).clone()).await?;
                match part.next {
                    Some(cursor) => of.start = Start::After(cursor),
                    None => export.next = Next::End,
                }
                Ok(Some(part.rows))
            }
            Next::Positions(positions) => {
                let count = usize::try_from(ROWS_AT_ONCE).unwrap_or(usize::MAX);
                let some: Vec<u64> = positions.drain(..count.min(positions.len())).collect();
                if some.is_empty() {
                    return Ok(None);
                }
                let wanted = Wanted { bytes_max: SLICE_BYTES, slots: export.slots.clone() };
                let read = self.store.rows_at_within(export.project.project.id, some, wanted).await?;
                read.rest.into_iter().rev().for_each(|position| positions.push_front(position));
                Ok(Some(read.rows))
            }
        }
    }
}

impl Export {
    /// The columns that a view shows, or all.
    pub fn columns_shown(&self, view_id: Option<&str>) -> Vec<&Column> {
        let place = view_id.and_then(|id| place(&self.project.views, id).ok());
        let view: Option<&View> = place.and_then(|place| self.project.views.get(place));
        let is_shown = |column: &&Column| {
            view.is_none_or(|view| view.column_visibility.get(&column.id).copied().unwrap_or(true))
        };
        self.project.project.table.columns.iter().filter(is_shown).collect()
    }
}
