//! `upsert_rows`: inserts rows, or updates those that match.

use rowmill_app::{InsertRows, RowAction, off_async};
use rowmill_model::value::MatchCase;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::answer_size::put;
use crate::arguments::Arguments;
use crate::context::Context;
use crate::names;
use crate::refusal::{Outcome, Refusal};
use crate::selection::refused;
use crate::tables;

const ROWS_MAX: usize = 500;
const IDS_MAX: usize = 100;

/// The rows as they were sent: a value that was parsed may have lost digits.
#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    params: SentParams<'a>,
}

#[derive(Deserialize)]
struct SentParams<'a> {
    #[serde(borrow)]
    arguments: SentArguments<'a>,
}

#[derive(Deserialize)]
struct SentArguments<'a> {
    #[serde(borrow)]
    rows: Vec<&'a RawValue>,
}

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let name = arguments.required_text("table");
    let match_on = arguments.text("matchOn");
    let is_list = arguments.take("rows").is_some_and(|rows| rows.is_array());
    let text = &context.call.text;
    let sent = off_async(text.len(), || serde_json::from_str::<Sent<'_>>(text));
    let entries: Vec<&str> = match &sent {
        Ok(sent) if is_list => sent.params.arguments.rows.iter().map(|row| row.get()).collect(),
        _ => {
            arguments.problem("rows", "must be a list of objects, such as [{\"Name\": \"Ada\"}]");
            Vec::new()
        }
    };
    if entries.len() > ROWS_MAX {
        let message = format!("has {} rows; at most {ROWS_MAX} are taken at a time", entries.len());
        arguments.problem("rows", message);
    }
    arguments.finish()?;
    let stored = tables::find(context, &name).await?;
    if let Some(header) = &match_on {
        names::column(&stored.project.table, "matchOn", header)
            .map_err(|problem| Refusal::problems(vec![problem]))?;
    }
    let insert = InsertRows {
        entries,
        batch: Some("rows"),
        match_on,
        match_case: MatchCase::Counts,
        strict: true,
        once: None,
    };
    let inserted = context
        .app
        .insert_rows(context.caller(), &stored.project.id.to_string(), insert)
        .await
        .map_err(refused)?;
    let new = inserted.rows.iter().filter(|(_, action)| *action == RowAction::Inserted).count();
    let ids: Vec<String> = inserted.rows.iter().take(IDS_MAX).map(|(id, _)| id.to_string()).collect();
    let mut answer = json!({ "inserted": new, "updated": inserted.rows.len() - new, "ids": ids });
    if inserted.rows.len() > IDS_MAX {
        put(&mut answer, "idsLeftOut", (inserted.rows.len() - IDS_MAX).into());
    }
    Ok(answer)
}
