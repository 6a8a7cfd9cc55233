//! `create_table`: a table with its columns.

use rowmill_app::{Correcting, NewProject};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::column_settings::{new_column, renamed};
use crate::context::Context;
use crate::refusal::{Outcome, Refusal};

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let title = arguments.required_text("title");
    let autoplay = arguments.flag("autoplay").unwrap_or_default();
    let columns = read_columns(arguments);
    arguments.finish()?;
    let new = NewProject { title, autoplay, columns, correcting: Correcting::Never, ..NewProject::default() };
    let saved = context.app.create_project(context.caller(), new, None).await;
    let saved = saved.map_err(|error| Refusal::from(error).renamed(renamed))?;
    let headers: Vec<&str> =
        saved.project.table.columns.iter().map(|column| column.header.as_str()).take(100).collect();
    let id = saved.project.id.to_string();
    Ok(json!({
        "id": id,
        "title": saved.project.title,
        "columns": headers,
        "page": context.page(&format!("projects/{id}")),
        "next": "Add rows with upsert_rows. The column Input is always there; you need not fill it.",
    }))
}

fn read_columns(arguments: &mut Arguments) -> Vec<serde_json::Map<String, Value>> {
    let entries = match arguments.take("columns") {
        None => return Vec::new(),
        Some(Value::Array(entries)) => entries,
        Some(_) => {
            arguments.problem("columns", "must be a list of columns");
            return Vec::new();
        }
    };
    let mut problems = Vec::new();
    let mut columns = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let path = format!("columns[{index}]");
        match entry {
            // A header alone is a column to be filled by hand.
            Value::String(header) => {
                let sent = json!({ "header": header });
                let sent = sent.as_object().cloned().unwrap_or_default();
                columns.push(new_column(sent, &format!("{path}."), &mut problems));
            }
            Value::Object(sent) => columns.push(new_column(sent, &format!("{path}."), &mut problems)),
            _ => problems
                .push(rowmill_model::Offence::new(path, "must be a header, or an object {header, kind}")),
        }
    }
    arguments.problems(problems);
    columns
}
