//! `set_column`: makes a column, or changes one.

use rowmill_app::{Correcting, StoredProject};
use rowmill_model::template::Template;
use rowmill_model::{Column, Offence};
use serde_json::{Map, Value, json};

use crate::advice::enabling;
use crate::answer_size::put;
use crate::arguments::{Arguments, unknown_name};
use crate::column_settings::{ColumnArguments, renamed, template_named};
use crate::column_view::whole;
use crate::context::Context;
use crate::refusal::{Outcome, Refusal};
use crate::tables;
use crate::value_text::cut_texts;

const TEXT_CHARS_MAX: usize = 2_000;

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let table = arguments.required_text("table");
    let name = arguments.required_text("column");
    let draft = Draft::read(arguments);
    let rename = arguments.text("rename");
    arguments.finish()?;
    let stored = tables::find(context, &table).await?;
    let project = stored.project.id.to_string();
    let target = draft.target(&stored, &name)?;
    let column = ColumnArguments { header: rename.map(Value::from), ..draft.arguments };
    let changed = match target {
        Target::Existing(existing) => {
            let body = body(&stored, Template::of(existing), column)?;
            let id = existing.id.as_str();
            context.app.patch_column(context.caller(), &project, id, &body, Correcting::Never, None).await
        }
        Target::New(template) => {
            let column = ColumnArguments { header: column.header.or(Some(name.into())), ..column };
            let mut body = body(&stored, template, column)?;
            body.insert("templateId".to_owned(), template.id.into());
            context.app.create_column(context.caller(), &project, &body, Correcting::Never, None).await
        }
    };
    let changed = changed.map_err(|error| Refusal::from(error).renamed(renamed))?;
    let table = &changed.project.table;
    let mut column = table.by_id(changed.column.as_str()).map_or(Value::Null, |column| whole(table, column));
    cut_texts(&mut column, TEXT_CHARS_MAX);
    let made = table.by_id(changed.column.as_str());
    let is_processed = made.is_some_and(|column| column.kind.is_processed());
    let is_disabled = made.is_some_and(|column| column.disabled_reason().is_some());
    let is_new = matches!(target, Target::New(_));
    let mut answer = json!({ "created": is_new, "column": column });
    if is_disabled {
        put(&mut answer, "next", json!(enabling(&context.page("settings/providers"))));
    } else if is_processed {
        let stale = if is_new { "" } else { " Results it had are stale until it runs again." };
        let next = format!("Check it with try_column on one row, then run.{stale}");
        put(&mut answer, "next", json!(next));
    }
    Ok(answer)
}

fn body(
    stored: &StoredProject,
    template: &Template,
    column: ColumnArguments,
) -> Result<Map<String, Value>, Refusal> {
    let mut problems = Vec::new();
    let body = column.into_body(Some(&stored.project.table), template, "", &mut problems);
    if problems.is_empty() { Ok(body) } else { Err(Refusal::problems(problems)) }
}

/// A column as a tool is told it.
pub(super) struct Draft {
    pub(super) kind: Option<String>,
    pub(super) arguments: ColumnArguments,
}

/// The column that is meant.
#[derive(Clone, Copy)]
pub(super) enum Target<'s> {
    Existing(&'s Column),
    New(&'static Template),
}

impl Draft {
    pub(super) fn read(arguments: &mut Arguments) -> Self {
        Self {
            kind: arguments.text("kind"),
            arguments: ColumnArguments {
                header: None,
                settings: arguments.object("settings"),
                run_if: arguments.take("runIf"),
                order: arguments.take("order"),
                options: arguments.object("options"),
            },
        }
    }

    /// Only a kind makes a column: a header that is misspelt does not.
    pub(super) fn target<'s>(&self, stored: &'s StoredProject, name: &str) -> Result<Target<'s>, Refusal> {
        let table = &stored.project.table;
        let template = self.kind.as_deref().map(|kind| template_named("kind", kind)).transpose();
        let template = template.map_err(|problem| Refusal::problems(vec![problem]))?;
        match (table.named(name), template) {
            (Some(existing), Some(template)) if Template::of(existing) != template => {
                let message = format!(
                    "is {} for column {:?} and cannot be changed; make a column with another header",
                    Template::of(existing).id,
                    existing.header
                );
                Err(Refusal::problems(vec![Offence::new("kind", message)]))
            }
            (Some(existing), _) => Ok(Target::Existing(existing)),
            (None, Some(template)) => Ok(Target::New(template)),
            (None, None) => {
                let headers = table.columns.iter().map(|column| column.header.as_str());
                let problem = unknown_name("column", name, "a column of this table", headers);
                Err(Refusal::problems(vec![problem])
                    .next("To make a new column, pass its kind; list_column_kinds shows them."))
            }
        }
    }
}
