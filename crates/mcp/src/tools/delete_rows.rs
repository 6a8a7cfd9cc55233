//! `delete_rows`: deletes rows, after a dry run that says how many.

use rowmill_app::{Error, ListRows, Start, StoredProject, WantedSlots};
use rowmill_model::{Column, Offence};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::context::Context;
use crate::refusal::{Outcome, Refusal};
use crate::row_view::{Room, brief};
use crate::selection::{Chosen, refused};
use crate::tables;

/// How many rows can be named.
const NAMED_MAX: usize = 500;
/// How many rows one call deletes.
const DELETED_MAX: u64 = 10_000;
const PAGE_ROWS: u32 = 500;
const EXAMPLES: usize = 3;

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let stored = tables::of(context, arguments).await?;
    let rows = arguments.texts("rows");
    let dry_run = arguments.flag("dryRun").unwrap_or(true);
    let expected = arguments.number("expectedCount", 0, DELETED_MAX);
    let is_where = arguments.has("where") || arguments.has("search") || arguments.has("view");
    let chosen = Chosen::read(arguments, &stored.project.table, &stored.views);
    if rows.is_some() == is_where {
        arguments
            .problem("rows", "pass either rows (ids), or where, search or view; where [] means all rows");
    }
    if rows.as_ref().is_some_and(|rows| rows.len() > NAMED_MAX) {
        arguments.problem("rows", format!("at most {NAMED_MAX} rows can be named; use where"));
    }
    if !dry_run && expected.is_none() {
        arguments.problem("expectedCount", "is required to delete: the count of the dry run");
    }
    arguments.finish()?;
    let found = match rows {
        Some(rows) => named(context, &stored, rows).await?,
        None => Found::of_selection(context, &stored, &chosen, dry_run).await?,
    };
    if dry_run {
        return Ok(json!({
            "dryRun": true,
            "count": found.count,
            "estimatedCost": 0,
            "examples": found.examples,
            "next": format!("To delete them, repeat with dryRun false and expectedCount {}.", found.count),
        }));
    }
    if expected != Some(found.count) {
        let message = format!("is not the number of rows, which is {}; nothing was deleted", found.count);
        return Err(Refusal::problems(vec![Offence::new("expectedCount", message)])
            .next("Look at the rows with query_rows, then repeat with the right count."));
    }
    let deleted =
        context.app.delete_rows(context.caller(), &stored.project.id.to_string(), &found.ids).await?;
    Ok(json!({ "dryRun": false, "count": deleted, "estimatedCost": 0 }))
}

struct Found {
    count: u64,
    /// All of them, unless they are only counted.
    ids: Vec<String>,
    examples: Vec<Value>,
}

impl Found {
    async fn of_selection(
        context: &Context<'_>,
        stored: &StoredProject,
        chosen: &Chosen,
        dry_run: bool,
    ) -> Result<Self, Refusal> {
        let mut found = Self { count: 0, ids: Vec::new(), examples: Vec::new() };
        let mut start = Start::Offset(0);
        loop {
            let list = ListRows {
                view_id: chosen.view_id.clone(),
                filters: chosen.filters.clone(),
                sorting: None,
                search: chosen.search.clone(),
                start,
                limit: if dry_run { 3 } else { PAGE_ROWS },
                include_total: dry_run,
                slots: if dry_run { WantedSlots::All } else { WantedSlots::none() },
            };
            let page = context.app.list_rows(stored, list).await.map_err(refused)?;
            if dry_run {
                found.count = page.total.unwrap_or_default();
                found.show(stored, page.rows.iter())?;
                return Ok(found);
            }
            found.ids.extend(page.rows.iter().map(|row| row.id.to_string()));
            found.count = u64::try_from(found.ids.len()).unwrap_or(u64::MAX);
            match page.next {
                Some(_) if found.count >= DELETED_MAX => {
                    return Err(Refusal::new(format!(
                        "More than {DELETED_MAX} rows match; nothing was deleted. Narrow where, or ask a person to \
                         delete them on the page."
                    )));
                }
                Some(next) => start = Start::After(next),
                None => return Ok(found),
            }
        }
    }

    fn show<'r>(
        &mut self,
        stored: &StoredProject,
        rows: impl Iterator<Item = &'r rowmill_app::StoredRow>,
    ) -> Result<(), Refusal> {
        let table = &stored.project.table;
        let columns: Vec<&Column> = table.columns.iter().collect();
        let room = Room { cell_chars_max: 100, row_chars_max: 1_500 };
        for row in rows.take(EXAMPLES.saturating_sub(self.examples.len())) {
            self.examples.push(brief(table, &columns, row, room)?);
        }
        Ok(())
    }
}

/// Rows by id. An id that names none is refused.
async fn named(context: &Context<'_>, stored: &StoredProject, rows: Vec<String>) -> Result<Found, Refusal> {
    let project = stored.project.id.to_string();
    let mut found = Found { count: 0, ids: Vec::new(), examples: Vec::new() };
    let mut unknown = Vec::new();
    for (index, id) in rows.iter().enumerate() {
        match context.app.row(context.caller(), &project, id.trim()).await {
            Ok((_, row)) => {
                let id = row.id.to_string();
                found.show(stored, std::iter::once(&row))?;
                if !found.ids.contains(&id) {
                    found.ids.push(id);
                }
            }
            Err(Error::NotFound(_)) => {
                unknown.push(Offence::new(format!("rows[{index}]"), "is not the id of a row of this table"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if !unknown.is_empty() {
        return Err(Refusal::problems(unknown).next("query_rows lists rows with their ids."));
    }
    found.count = u64::try_from(found.ids.len()).unwrap_or(u64::MAX);
    Ok(found)
}
