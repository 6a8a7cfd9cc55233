//! `list_tables`: the team's tables.

use rowmill_app::ProjectSummary;
use serde_json::{Value, json};

use crate::answer_size::{LIST_CHARS_MAX, fit, put};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::refusal::{Outcome, Refusal};
use crate::row_view::timestamp;
use crate::tables;

/// Each needs a read of its own for the number of its rows.
const TABLES_MAX: usize = 40;

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let search = arguments.text("search").unwrap_or_default().to_lowercase();
    let offset = arguments.number("offset", 0, u64::MAX).unwrap_or_default();
    arguments.finish()?;
    let mut found = tables::all(context).await?;
    found.retain(|table| table.title.to_lowercase().contains(&search));
    let total = found.len();
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let mut shown = Vec::new();
    for table in found.iter().skip(offset).take(TABLES_MAX) {
        shown.extend(entry(context, table).await?);
    }
    let (shown, _) = fit(shown.into_iter(), LIST_CHARS_MAX);
    let next = offset.saturating_add(shown.len());
    let mut answer = json!({ "tables": shown, "total": total });
    if next < total {
        put(&mut answer, "nextOffset", next.into());
    }
    Ok(answer)
}

/// Nothing for a table that was deleted meanwhile.
async fn entry(context: &Context<'_>, table: &ProjectSummary) -> Result<Option<Value>, Refusal> {
    let ProjectSummary { id, title, created_at_ms, autoplay, column_count, folder_id: _ } = table;
    let id = id.to_string();
    let rows = match context.app.project(context.caller(), &id).await {
        Ok(stored) => json!(stored.row_count),
        Err(rowmill_app::Error::NotFound(_)) => return Ok(None),
        // It is there, but its owner has closed it to programs.
        Err(rowmill_app::Error::ApiDisabled) => Value::Null,
        Err(error) => return Err(error.into()),
    };
    let mut shown = json!({
        "id": id, "title": title, "rows": rows, "columns": column_count, "createdAt": timestamp(*created_at_ms),
    });
    if *autoplay {
        put(&mut shown, "autoplay", true.into());
    }
    Ok(Some(shown))
}
