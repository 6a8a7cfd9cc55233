//! `rowmill status`: where the cells of a table are.

use std::sync::Arc;

use clap::Args;
use rowmill_clock::Clock;
use serde::Deserialize;

use crate::connection::ConnectionArgs;
use crate::failure::{Ending, Failure};
use crate::output::{Grid, print_line};
use crate::tables;
use crate::wire::{Ordered, Run};

/// Stale cells are part of the complete ones.
const HEADERS: [&str; 8] =
    ["COLUMN", "NEVER RUN", "WAITING", "RUNNING", "COMPLETE", "FAILED", "SKIPPED", "STALE"];

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The table's id or title.
    table: String,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    columns: Ordered<Counts>,
    processing: bool,
    run: Option<Run>,
    run_id: Option<String>,
}

#[derive(Deserialize)]
struct Counts {
    header: String,
    idle: u64,
    queued: u64,
    generating: u64,
    complete: u64,
    error: u64,
    skipped: u64,
    /// Complete, but out of date. Servers of version 0.1 do not say it.
    #[serde(default)]
    stale: u64,
}

pub(crate) async fn run(args: StatusArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    let server = args.connection.connect(clock)?;
    let table = tables::find(&server, &args.table).await?;
    let answer = server.get(&table.path("/status"), &[]).await?;
    if args.connection.json {
        print_line(&answer.text)?;
        return Ok(Ending::Done);
    }
    let status: Status = answer.parse()?;
    let rows: Vec<Vec<String>> = status.columns.0.iter().map(|(_, counts)| counts.line()).collect();
    Grid::new(&HEADERS).print(&rows)?;
    if let (Some(id), Some(run)) = (&status.run_id, &status.run) {
        let state = if status.processing { "running" } else { "ended" };
        notice!("{id} ({state}): {} of {} cells ended: {run}.", run.ended(), run.cells);
        if let Some(waiting) = &run.waiting {
            notice!("{waiting}");
        }
    }
    Ok(Ending::Done)
}

impl Counts {
    /// In the order of the headers.
    fn line(&self) -> Vec<String> {
        let Self { header, idle, queued, generating, complete, error, skipped, stale } = self;
        let numbers = [idle, queued, generating, complete, error, skipped, stale].map(u64::to_string);
        [vec![header.clone()], numbers.to_vec()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_its_column() {
        let counts =
            r#""header":"Answer","idle":1,"queued":2,"generating":3,"complete":4,"error":5,"skipped":6"#;
        let check = |more: &str, stale: &str| {
            let counts: Counts = serde_json::from_str(&format!("{{{counts}{more}}}")).unwrap();
            let told: Vec<(&str, String)> = HEADERS.into_iter().zip(counts.line()).collect();
            let expected = ["Answer", "1", "2", "3", "4", "5", "6", stale].map(str::to_owned);
            assert_eq!(told, HEADERS.into_iter().zip(expected).collect::<Vec<_>>());
        };
        check(r#","stale":7"#, "7");
        check("", "0");
    }
}
