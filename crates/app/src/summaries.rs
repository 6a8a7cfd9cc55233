//! What the columns of a view come to, and where a text is in it.

use rowmill_model::{Column, RowId};
use rowmill_query::{Find, FoundCell, GroupBy, Groups, Selection, Summaries};
use rowmill_store::{StoredProject, Wanted, WantedSlots};
use serde_json::Value;

use crate::app::App;
use crate::error::Result;
use crate::views::place;

/// The rows of a view, as far as filters and search leave them.
#[derive(Debug, Clone, Default)]
pub struct RowsOf {
    pub view_id: Option<String>,
    pub filters: Option<Value>,
    /// Beats the view's.
    pub sorting: Option<Value>,
    pub search: Option<String>,
}

/// A cell that has a text, and how many have it.
#[derive(Debug)]
pub struct TextFound {
    pub total: u64,
    pub is_complete: bool,
    pub cell: Option<(RowId, FoundCell)>,
}

/// How often a cell is looked for whose row is deleted before it is read.
const TRIES_MAX: usize = 3;

impl App {
    /// What some columns come to in a project that the caller was let into.
    pub async fn summarize(
        &self,
        stored: &StoredProject,
        rows: RowsOf,
        columns: &[&Column],
    ) -> Result<Summaries> {
        let selection = self.rows_selected(stored, rows).await?;
        Ok(self.query.summarize(stored, selection, columns, self.clock.now()).await?)
    }

    /// The rows of a project that the caller was let into, in groups.
    pub async fn group(&self, stored: &StoredProject, rows: RowsOf, by: GroupBy<'_>) -> Result<Groups> {
        let selection = self.rows_selected(stored, rows).await?;
        Ok(self.query.group(stored, selection, by, self.clock.now()).await?)
    }

    /// The next cell that has a text, in a project that the caller was let into.
    pub async fn find(&self, stored: &StoredProject, rows: RowsOf, find: Find) -> Result<TextFound> {
        let selection = self.rows_selected(stored, rows).await?;
        let project = stored.project.id;
        let mut text_found = TextFound { total: 0, is_complete: true, cell: None };
        for _ in 0..TRIES_MAX {
            let found = self.query.find(stored, &selection, find.clone(), self.clock.now()).await?;
            (text_found.total, text_found.is_complete) = (found.total, found.is_complete);
            let Some(cell) = found.cell else { break };
            let wanted = Wanted { bytes_max: usize::MAX, slots: WantedSlots::none() };
            let read = self.store.rows_at_within(project, vec![cell.position], wanted).await?;
            text_found.cell = read.rows.first().map(|row| (row.id, cell));
            if text_found.cell.is_some() {
                break;
            }
        }
        Ok(text_found)
    }

    async fn rows_selected(&self, stored: &StoredProject, rows: RowsOf) -> Result<Selection> {
        let RowsOf { view_id, filters, sorting, search } = rows;
        let view = match view_id {
            Some(id) => stored.views.get(place(&stored.views, &id)?),
            None => None,
        };
        self.select(stored, view, filters.as_ref(), sorting.as_ref(), search).await
    }
}
