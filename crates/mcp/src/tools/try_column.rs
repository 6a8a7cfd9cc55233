//! `try_column`: a column on one row, without keeping anything.

use rowmill_app::{Correcting, ListRows, Start, StoredProject, TrialOutcome, Tried, TryColumn, WantedSlots};
use rowmill_model::template::Template;
use rowmill_model::{Amount, CellError, Spent};
use serde_json::{Map, Value, json};

use super::set_column::{Draft, Target};
use crate::advice::advice;
use crate::answer_size::put;
use crate::arguments::Arguments;
use crate::column_settings::renamed;
use crate::context::Context;
use crate::refusal::{Outcome, Refusal};
use crate::tables;
use crate::value_text::{cut_texts, shown};

const VALUE_CHARS_MAX: usize = 4_000;
const RESOLVED_CHARS_MAX: usize = 1_500;

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let table = arguments.required_text("table");
    let name = arguments.text("column").unwrap_or_else(|| "New column".to_owned());
    let row = arguments.text("row");
    let dry_run = arguments.flag("dryRun").unwrap_or_default();
    let draft = Draft::read(arguments);
    arguments.finish()?;
    let stored = tables::find(context, &table).await?;
    let target = draft.target(&stored, &name)?;
    let template = match target {
        Target::Existing(existing) => Template::of(existing),
        Target::New(template) => template,
    };
    let mut problems = Vec::new();
    let mut column = draft.arguments.into_body(Some(&stored.project.table), template, "", &mut problems);
    if !problems.is_empty() {
        return Err(Refusal::problems(problems));
    }
    let column_id = match target {
        Target::Existing(existing) => Some(existing.id.to_string()),
        Target::New(_) => None,
    };
    column.insert("templateId".to_owned(), template.id.into());
    let row_id = match row {
        Some(row) => row.trim().to_owned(),
        None => first_row(context, &stored).await?,
    };
    let request =
        TryColumn { row_id: row_id.clone(), column, column_id, dry_run, correcting: Correcting::Never };
    let tried = context.app.try_column(context.caller(), &stored.project.id.to_string(), request).await;
    let tried = match tried {
        Err(rowmill_app::Error::NotFound(rowmill_app::Noun::Row)) => {
            return Err(Refusal::new(format!("The table has no row with the id {row_id:?}."))
                .next("query_rows lists rows with their ids."));
        }
        tried => tried.map_err(|error| Refusal::from(error).renamed(renamed))?,
    };
    Ok(answer(context, &row_id, tried))
}

async fn first_row(context: &Context<'_>, stored: &StoredProject) -> Result<String, Refusal> {
    let list = ListRows {
        view_id: None,
        filters: None,
        sorting: None,
        search: None,
        start: Start::Offset(0),
        limit: 1,
        include_total: false,
        slots: WantedSlots::none(),
    };
    let page = context.app.list_rows(stored, list).await?;
    page.rows.first().map(|row| row.id.to_string()).ok_or_else(|| {
        Refusal::new("The table has no rows to try the column on.").next("Add one with upsert_rows.")
    })
}

fn answer(context: &Context<'_>, row: &str, tried: Tried) -> Value {
    let Tried { resolved, outcome, fixes: _ } = tried;
    let mut sent = Value::Object(resolved);
    cut_texts(&mut sent, RESOLVED_CHARS_MAX);
    let mut answer = json!({ "row": row, "sent": sent });
    let (status, meta) = match outcome {
        None => ("dry run", Map::new()),
        Some(TrialOutcome::Completed(raw, meta)) => {
            put(&mut answer, "value", shown(&raw, VALUE_CHARS_MAX));
            ("completed", meta)
        }
        Some(TrialOutcome::Failed(error, meta)) => {
            put(&mut answer, "error", failure(context, &error));
            ("error", meta)
        }
        Some(TrialOutcome::Skipped(error)) => {
            put(&mut answer, "error", failure(context, &error));
            ("skipped", Map::new())
        }
    };
    put(&mut answer, "status", status.into());
    put(&mut answer, "cost", json!(Spent::of(&meta).dollars().map(Amount::number)));
    answer
}

fn failure(context: &Context<'_>, error: &CellError) -> Value {
    let message: String = error.message.chars().take(1_000).collect();
    json!({ "code": error.code.word(), "message": message, "do": advice(context, error) })
}
