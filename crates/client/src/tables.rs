//! `rowmill tables`, and finding a table by its id or title.

use std::sync::Arc;

use clap::{Args, Subcommand};
use rowmill_clock::Clock;
use rowmill_model::nearest::nearest;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::connection::ConnectionArgs;
use crate::failure::{Ending, Failure, Kind};
use crate::output::{Grid, JsonArray, print_line};
use crate::server::Server;
use crate::wire::Column;

const PREFIX: &str = "proj_";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TablesArgs {
    #[command(subcommand)]
    command: Option<TablesCommand>,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TablesCommand {
    /// Create a table and print its id.
    Create(CreateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    title: String,
    /// A column of text with this header. Can be repeated. An import creates the columns of its file by itself.
    #[arg(long = "column", value_name = "HEADER")]
    columns: Vec<String>,
    /// Run cells as soon as rows are added or changed.
    #[arg(long)]
    autoplay: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl TablesArgs {
    pub(crate) fn is_json(&self) -> bool {
        match &self.command {
            Some(TablesCommand::Create(args)) => args.connection.json,
            None => self.connection.json,
        }
    }
}

/// A table that somebody named.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) id: String,
}

impl Table {
    /// The path of something in this table.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/v4/projects/{}{rest}", self.id)
    }

    pub(crate) async fn columns(&self, server: &Server) -> Result<Vec<Column>, Failure> {
        #[derive(Deserialize)]
        struct Columns {
            columns: Vec<Column>,
        }

        Ok(server.get(&self.path("/columns"), &[]).await?.parse::<Columns>()?.columns)
    }
}

#[derive(Deserialize)]
struct Projects<T> {
    projects: Vec<T>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Project {
    id: String,
    title: String,
    #[serde(default)]
    column_count: u64,
    #[serde(default)]
    created_at: String,
}

pub(crate) async fn run(args: TablesArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    if let Some(TablesCommand::Create(args)) = args.command {
        return create(args, clock).await;
    }
    let server = args.connection.connect(clock)?;
    let answer = server.get("/v4/projects", &[]).await?;
    if args.connection.json {
        let mut array = JsonArray::default();
        array.print(&answer.parse::<Projects<Box<RawValue>>>()?.projects)?;
        array.end()?;
        return Ok(Ending::Done);
    }
    let row = |project: Project| {
        let Project { id, title, column_count, created_at } = project;
        vec![id, title, column_count.to_string(), created_at]
    };
    let rows: Vec<Vec<String>> = answer.parse::<Projects<Project>>()?.projects.into_iter().map(row).collect();
    Grid::new(&["ID", "TITLE", "COLUMNS", "CREATED"]).print(&rows)?;
    Ok(Ending::Done)
}

async fn create(args: CreateArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    #[derive(Deserialize)]
    struct Created<T> {
        project: T,
    }

    let CreateArgs { title, columns, autoplay, connection } = args;
    let server = connection.connect(clock)?;
    let columns: Vec<_> =
        columns.iter().map(|header| json!({ "templateId": "manual", "header": header })).collect();
    let body = json!({ "title": title, "autoplay": autoplay, "columns": columns });
    let answer = server.post_json("/v4/projects", body.to_string()).await?;
    if connection.json {
        print_line(answer.parse::<Created<Box<RawValue>>>()?.project.get())?;
    } else {
        print_line(&answer.parse::<Created<Project>>()?.project.id)?;
    }
    Ok(Ending::Done)
}

/// The table with this id or title.
pub(crate) async fn find(server: &Server, named: &str) -> Result<Table, Failure> {
    if let Some(id) = id_of(named) {
        return Ok(Table { id });
    }
    let answer = server.get("/v4/projects", &[]).await?;
    choose(named, &answer.parse::<Projects<Project>>()?.projects)
}

/// An id, with or without its prefix and hyphens.
fn id_of(named: &str) -> Option<String> {
    let lower = named.trim().to_ascii_lowercase();
    let digits = lower.strip_prefix(PREFIX).unwrap_or(&lower).replace('-', "");
    let is_id = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| format!("{PREFIX}{digits}"))
}

/// The table with just this title, or else the one whose title differs only in letter case and outer blanks.
fn choose(named: &str, projects: &[Project]) -> Result<Table, Failure> {
    let folded = |text: &str| text.trim().to_lowercase();
    let exact: Vec<&Project> = projects.iter().filter(|project| project.title == named).collect();
    let alike = || projects.iter().filter(|project| folded(&project.title) == folded(named)).collect();
    let found = if exact.is_empty() { alike() } else { exact };
    match found.as_slice() {
        [project] => Ok(Table { id: project.id.clone() }),
        [] => {
            let near = nearest(named, projects.iter().map(|project| project.title.as_str()));
            let hint = match near {
                Some(near) => format!("did you mean {near:?}?"),
                None => "`rowmill tables` lists them".to_owned(),
            };
            Err(Failure::new(Kind::NotFound, format!("there is no table {named:?}; {hint}")))
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|project| project.id.as_str()).collect();
            let words = format!("several tables are called {named:?}; use an id: {}", ids.join(", "));
            Err(Failure::new(Kind::NotFound, words))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_by_id_and_title() {
        let id = |number: u8| format!("proj_{number:032x}");
        let project = |number: u8, title: &str| Project {
            id: id(number),
            title: title.to_owned(),
            column_count: 1,
            created_at: String::new(),
        };
        let projects = [project(1, "Leads"), project(2, "leads"), project(3, "People"), project(4, "People")];
        let check = |named: &str, expected: Result<u8, &str>| match (choose(named, &projects), expected) {
            (Ok(table), Ok(number)) => assert_eq!(table.id, id(number)),
            (Err(failure), Err(words)) => {
                let told = failure.words(false).unwrap();
                assert!(told.contains(words) && failure.kind == Kind::NotFound, "{told}");
            }
            (found, _) => panic!("{named}: {found:?}"),
        };
        check("Leads", Ok(1));
        check("leads", Ok(2));
        check("LEADS", Err("several tables"));
        check("People", Err(&id(4)));
        check("Peple", Err("did you mean \"People\"?"));
        check("Zebra", Err("`rowmill tables`"));
        assert_eq!(id_of("PROJ_0190f0e0-a1b2-7c3d-8e4f-0123456789ab").unwrap().len(), 37);
        assert_eq!(
            id_of("0190f0e0a1b27c3d8e4f0123456789ab").unwrap(),
            "proj_0190f0e0a1b27c3d8e4f0123456789ab"
        );
        assert_eq!(id_of("Leads"), None);
    }
}
