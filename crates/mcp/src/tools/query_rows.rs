//! `query_rows`: rows that match, cut to what a model can read.

use rowmill_app::{Cursor, ListRows, Page, Start, StoredProject, slots_shown};
use rowmill_model::Column;
use rowmill_model::path::allowance::{self, ROW_VISITS_MAX};
use serde_json::{Value, json};

use crate::answer_size::{LIST_CHARS_MAX, chars, fit, put};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::names;
use crate::refusal::{Outcome, Refusal};
use crate::row_view::{Room, brief};
use crate::selection::{Chosen, refused};
use crate::tables;

const ROWS_DEFAULT: u32 = 25;
const ROWS_MAX: u32 = 100;
/// Whoever asks for it gets longer answers.
const CHARS_MAX: u64 = 100_000;

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let stored = tables::of(context, arguments).await?;
    let limit = arguments.number("limit", 1, ROWS_MAX.into());
    let limit = limit.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(ROWS_DEFAULT);
    let chars_max = arguments.number("maxChars", 1_000, CHARS_MAX);
    let columns = arguments.texts("columns");
    let cursor = arguments.text("cursor");
    let start = match cursor.as_deref().map(Cursor::parse) {
        None => Start::Offset(0),
        Some(Some(cursor)) => Start::After(cursor),
        Some(None) => {
            arguments.problem("cursor", "must be a nextCursor from a previous answer");
            Start::Offset(0)
        }
    };
    let table = &stored.project.table;
    let chosen = Chosen::read(arguments, table, &stored.views);
    let columns = names::columns(table, "columns", columns.as_deref());
    let columns = columns.map_err(|problems| arguments.problems(problems)).unwrap_or_default();
    arguments.finish()?;
    let chars_max = chars_max.and_then(|chars| usize::try_from(chars).ok()).unwrap_or(LIST_CHARS_MAX);
    Query { context, stored: &stored, chosen, columns, start }.answer(limit, chars_max).await
}

struct Query<'a> {
    context: &'a Context<'a>,
    stored: &'a StoredProject,
    chosen: Chosen,
    columns: Vec<&'a Column>,
    start: Start,
}

impl Query<'_> {
    async fn answer(&self, limit: u32, chars_max: usize) -> Outcome {
        let mut limit = limit;
        // Where not all rows of a page fit, a shorter page knows where the next one starts.
        for _ in 0..2 {
            let page = self.page(limit).await?;
            let rows = self.shown(&page, chars_max)?;
            let (rows, left) = fit(rows.into_iter(), chars_max);
            if left == 0 {
                return Ok(answer(rows, &page));
            }
            limit = u32::try_from(rows.len()).unwrap_or(1).max(1);
        }
        // Rows grew in between: show what there is, and where it goes on.
        let page = self.page(1).await?;
        let rows = self.shown(&page, chars_max)?;
        Ok(answer(rows, &page))
    }

    async fn page(&self, limit: u32) -> Result<Page, Refusal> {
        let Chosen { view_id, filters, sorting, search } = &self.chosen;
        let list = ListRows {
            view_id: view_id.clone(),
            filters: filters.clone(),
            sorting: sorting.clone(),
            search: search.clone(),
            start: self.start.clone(),
            limit,
            include_total: true,
            slots: slots_shown(&self.stored.project.table, self.columns.iter().copied()),
        };
        self.context.app.list_rows(self.stored, list).await.map_err(refused)
    }

    /// The rows, their values cut the more the more of them there are.
    fn shown(&self, page: &Page, chars_max: usize) -> Result<Vec<Value>, Refusal> {
        // In two passes at most.
        allowance::within(2 * ROW_VISITS_MAX, || self.shown_within(page, chars_max)).0
    }

    fn shown_within(&self, page: &Page, chars_max: usize) -> Result<Vec<Value>, Refusal> {
        let table = &self.stored.project.table;
        let row_chars_max = chars_max.saturating_sub(200);
        let rows = |room: Room| -> Result<Vec<Value>, Refusal> {
            page.rows.iter().map(|row| brief(table, &self.columns, row, room)).collect()
        };
        let generous = Room { cell_chars_max: 500, row_chars_max };
        let whole = rows(generous)?;
        if whole.iter().map(|row| chars(row) + 1).sum::<usize>() <= chars_max {
            return Ok(whole);
        }
        rows(Room { row_chars_max, ..Room::share(chars_max, page.rows.len(), self.columns.len()) })
    }
}

fn answer(rows: Vec<Value>, page: &Page) -> Value {
    let mut answer = json!({ "total": page.total });
    put(&mut answer, "rows", rows.into());
    if let Some(next) = &page.next {
        put(&mut answer, "nextCursor", next.to_string().into());
    }
    answer
}
