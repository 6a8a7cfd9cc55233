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
    let row = |(_, counts): &(String, Counts)| {
        let Counts { header, idle, queued, generating, complete, error, skipped } = counts;
        let numbers = [idle, queued, generating, complete, error, skipped].map(u64::to_string);
        [vec![header.clone()], numbers.to_vec()].concat()
    };
    let rows: Vec<Vec<String>> = status.columns.0.iter().map(row).collect();
    let headers = ["COLUMN", "NEVER RUN", "WAITING", "RUNNING", "COMPLETE", "FAILED", "SKIPPED"];
    Grid::new(&headers).print(&rows)?;
    if let (Some(id), Some(run)) = (&status.run_id, &status.run) {
        let state = if status.processing { "running" } else { "ended" };
        notice!("{id} ({state}): {} of {} cells ended: {run}.", run.ended(), run.cells);
        if let Some(waiting) = &run.waiting {
            notice!("{waiting}");
        }
    }
    Ok(Ending::Done)
}
