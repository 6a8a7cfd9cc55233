//! Tables by id or title.

use rowmill_app::{Error, ProjectSummary, ProjectsOf, StoredProject};
use rowmill_model::ProjectId;
use rowmill_model::nearest::nearest;
use rowmill_model::table::header_key;

use crate::arguments::Arguments;
use crate::context::Context;
use crate::refusal::Refusal;
use crate::value_text::cut;

/// How many tables are named to somebody who named none, or too many.
const CANDIDATES_MAX: usize = 10;

/// The table that the argument `table` names. Whatever else is wrong with the arguments is told later, all of it.
pub(crate) async fn of(context: &Context<'_>, arguments: &mut Arguments) -> Result<StoredProject, Refusal> {
    let name = arguments.required_text("table");
    if name.is_empty() {
        arguments.finish()?;
    }
    find(context, &name).await
}

/// The table with this id or title.
pub(crate) async fn find(context: &Context<'_>, name: &str) -> Result<StoredProject, Refusal> {
    if ProjectId::parse(name.trim()).is_some() {
        return match context.app.project(context.caller(), name.trim()).await {
            Err(Error::NotFound(_)) => Err(Refusal::new(format!("No table has the id {name:?}."))
                .next("Call list_tables to see the tables of this team.")),
            found => Ok(found?),
        };
    }
    let all = all(context).await?;
    let wanted = header_key(name);
    let found: Vec<&ProjectSummary> = all.iter().filter(|table| header_key(&table.title) == wanted).collect();
    match found.as_slice() {
        [one] => Ok(context.app.project(context.caller(), &one.id.to_string()).await?),
        [] => Err(unknown(name, &all)),
        several => Err(ambiguous(name, several)),
    }
}

/// All tables of the team, newest first.
pub(crate) async fn all(context: &Context<'_>) -> Result<Vec<ProjectSummary>, Refusal> {
    Ok(context.app.list_projects(context.caller(), ProjectsOf::default()).await?.projects)
}

fn unknown(name: &str, all: &[ProjectSummary]) -> Refusal {
    let name = cut(name, 100);
    let refusal = match nearest(&name, all.iter().map(|table| table.title.as_str())) {
        Some(meant) => Refusal::new(format!("No table is called {name:?}; did you mean {meant:?}?")),
        None => Refusal::new(format!("No table is called {name:?}.")),
    };
    if all.is_empty() {
        return refusal.next("There are no tables yet; make one with create_table.");
    }
    let titles: Vec<String> =
        all.iter().take(CANDIDATES_MAX).map(|table| format!("{:?}", cut(&table.title, 60))).collect();
    refusal.next(format!("The newest tables are {}. list_tables shows all.", titles.join(", ")))
}

fn ambiguous(name: &str, found: &[&ProjectSummary]) -> Refusal {
    let candidates: Vec<String> = found
        .iter()
        .take(CANDIDATES_MAX)
        .map(|table| format!("{} ({} columns)", table.id, table.column_count))
        .collect();
    Refusal::new(format!("{} tables are called {:?}.", found.len(), cut(name, 100)))
        .next(format!("Pass the id of one of them: {}.", candidates.join(", ")))
}
