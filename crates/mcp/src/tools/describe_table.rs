//! `describe_table`: a table's columns and views.

use rowmill_app::StoredProject;
use rowmill_model::View;
use serde_json::{Value, json};

use crate::answer_size::{fit, put};
use crate::arguments::Arguments;
use crate::column_view::{brief, whole};
use crate::context::Context;
use crate::names;
use crate::refusal::{Outcome, Refusal};
use crate::selection::named_filters;
use crate::tables;
use crate::value_text::cut_texts;

const COLUMNS_CHARS_MAX: usize = 7_000;
const VIEWS_CHARS_MAX: usize = 1_500;
/// One column's settings may have prompts of many thousand characters.
const COLUMN_TEXT_CHARS_MAX: usize = 7_000;

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let table = arguments.required_text("table");
    let column = arguments.text("column");
    let offset = arguments.number("offset", 0, u64::MAX).unwrap_or_default();
    arguments.finish()?;
    let stored = tables::find(context, &table).await?;
    match column {
        Some(name) => {
            let table = &stored.project.table;
            let column =
                names::column(table, "column", &name).map_err(|problem| Refusal::problems(vec![problem]))?;
            let mut column = whole(table, column);
            cut_texts(&mut column, COLUMN_TEXT_CHARS_MAX);
            let mut answer = head(&stored);
            put(&mut answer, "columns", json!([column]));
            Ok(answer)
        }
        None => Ok(described(&stored, usize::try_from(offset).unwrap_or(usize::MAX))),
    }
}

/// A table in short, with its columns from `offset` on.
pub(crate) fn described(stored: &StoredProject, offset: usize) -> Value {
    let table = &stored.project.table;
    let columns: Vec<Value> = table.columns.iter().skip(offset).map(|column| brief(table, column)).collect();
    let (columns, left) = fit(columns.into_iter(), COLUMNS_CHARS_MAX);
    let views = stored.views.iter().map(|view| shown_view(stored, view));
    let (views, views_left) = fit(views, VIEWS_CHARS_MAX);
    let mut answer = head(stored);
    if left > 0 {
        put(&mut answer, "nextOffset", (offset + columns.len()).into());
    }
    put(&mut answer, "columns", columns.into());
    if !views.is_empty() {
        put(&mut answer, "views", views.into());
    }
    if views_left > 0 {
        put(&mut answer, "viewsLeftOut", views_left.into());
    }
    answer
}

fn head(stored: &StoredProject) -> Value {
    let project = &stored.project;
    json!({
        "id": project.id.to_string(),
        "title": project.title,
        "rows": stored.row_count,
        "autoplay": project.autoplay,
        "columnCount": project.table.columns.len(),
    })
}

fn shown_view(stored: &StoredProject, view: &View) -> Value {
    let mut shown = json!({ "name": view.name });
    if let Ok(filters) = serde_json::to_value(&view.filters)
        && !view.filters.is_empty()
    {
        put(&mut shown, "where", named_filters(&stored.project.table, filters));
    }
    cut_texts(&mut shown, 200);
    shown
}
