//! `rowmill run` and `rowmill stop`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rowmill_clock::Clock;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::causes;
use crate::connection::ConnectionArgs;
use crate::failure::{Ending, Failure, Kind};
use crate::output::{counted, print_line};
use crate::progress::{Progress, Unit};
use crate::selection::{Selection, SelectionArgs, column_ids, row_count};
use crate::server::Server;
use crate::tables::{self, Table};
use crate::wire::{Estimate, Run};

const ASK_EVERY: Duration = Duration::from_millis(500);
/// What the API takes. No table has more rows.
const LIMIT_MAX: u64 = 1_000_000_000;
/// After half as many looks at a run in which no cell ends, what it waits for is told, and again after as many.
const STANDSTILL_LOOKS: u32 = 12;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct RunArgs {
    /// The table's id or title.
    table: String,
    /// Only this column, by id or header. Can be repeated.
    #[arg(long = "column", value_name = "COLUMN")]
    columns: Vec<String>,
    /// Only the row with this id. Can be repeated.
    #[arg(long = "row", value_name = "ID", help_heading = "Rows")]
    rows: Vec<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Maximum number of rows: the first in order.
    #[arg(long, value_name = "ROWS", help_heading = "Rows", value_parser = row_count, allow_negative_numbers = true)]
    limit: Option<u64>,
    /// Only cells that failed.
    #[arg(long)]
    failed: bool,
    /// Also run cells that are complete or have a manual value.
    #[arg(long)]
    force: bool,
    /// Only print how many rows would run, and what they are likely to cost.
    #[arg(long, conflicts_with = "watch")]
    dry_run: bool,
    /// Show progress, and wait for the end. The exit status is 5 if cells failed.
    #[arg(long)]
    watch: bool,
    /// What the run may spend, in US dollars. When it is reached the run waits, and its cells stay queued.
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    spend_limit: Option<f64>,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

#[derive(Debug, Args)]
pub struct StopArgs {
    /// The table's id or title.
    table: String,
    /// Only this column, by id or header. Can be repeated.
    #[arg(long = "column", value_name = "COLUMN")]
    columns: Vec<String>,
    /// Only the row with this id. Can be repeated.
    #[arg(long = "row", value_name = "ID")]
    rows: Vec<String>,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

/// What to run, as the API takes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trigger {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    column_ids: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    row_ids: Vec<String>,
    #[serde(flatten)]
    selection: Selection,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    statuses: Vec<&'static str>,
    force: bool,
    dry_run: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    estimate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    spend_limit: Option<SpendLimit>,
}

#[derive(Serialize)]
struct SpendLimit {
    usd: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Triggered {
    #[serde(rename = "triggeredCount")]
    count: u64,
    run_id: Option<String>,
    estimate: Option<Estimate>,
}

#[derive(Deserialize)]
struct RunAnswer {
    run: Box<RawValue>,
}

#[derive(Deserialize)]
struct RunState {
    id: String,
    status: String,
    #[serde(flatten)]
    run: Run,
}

pub(crate) async fn run(args: RunArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    let RunArgs { table: named, columns, rows, selection, limit, failed, force, dry_run, .. } = args;
    let RunArgs { watch, spend_limit, connection, .. } = args;
    let server = connection.connect(clock)?;
    let table = tables::find(&server, &named).await?;
    let columns =
        if columns.is_empty() { columns } else { column_ids(&columns, &table.columns(&server).await?)? };
    let trigger = Trigger {
        column_ids: columns,
        row_ids: rows,
        selection: selection.resolve(&server, &table).await?,
        limit: limit.map(|rows| rows.min(LIMIT_MAX)),
        statuses: if failed { vec!["error"] } else { Vec::new() },
        force,
        dry_run,
        estimate: true,
        spend_limit: spend_limit.map(|usd| SpendLimit { usd }),
    };
    let body = serde_json::to_string(&trigger).map_err(|error| Failure::failed(error.to_string()))?;
    let answer = server.post_json(&table.path("/trigger"), body).await;
    let answer = answer.map_err(|failure| trigger.selection.in_own_words(failure))?;
    let Triggered { count, run_id, estimate } = answer.parse()?;
    // What runs already is watched, too, and takes the limit.
    let is_asked = !dry_run && (watch || spend_limit.is_some());
    let current_id = if is_asked && run_id.is_none() { current_run(&server, &table).await? } else { None };
    if dry_run && !connection.json {
        print_line(&format!("{} would run", counted(count, "row")))?;
    } else if !connection.json {
        let (queued_in, current) = (run_id.as_deref(), current_id.as_deref());
        notice!("{}", TriggerNotice { count, queued_in, current, spend_limit, named: &named });
    }
    if let Some(estimate) = estimate.filter(|_| count > 0 && !connection.json) {
        notice!("{estimate}");
    }
    let Some(id) = run_id.or(current_id).filter(|_| watch) else {
        if connection.json {
            print_line(&answer.text)?;
        }
        return Ok(Ending::Done);
    };
    let (state, text) = tokio::select! {
        watched = follow(&server, &table, &id) => watched?,
        _ = tokio::signal::ctrl_c() => {
            let words = format!("\nStopped watching. The run goes on. To stop it: rowmill stop {}", quoted(&named));
            return Err(Failure::new(Kind::Interrupted, words));
        }
    };
    if connection.json {
        print_line(&format!("{{\"triggeredCount\":{count},\"runId\":{},\"run\":{text}}}", json!(id)))?;
    } else {
        let RunState { id, status, run } = &state;
        print_line(&format!("{id} {status}: {run}"))?;
    }
    if state.run.failed == 0 {
        return Ok(Ending::Done);
    }
    if !connection.json {
        causes::tell(&server, &table, &trigger.column_ids, &state.run.failures).await;
        notice!("To run the cells that failed again: rowmill run {} --failed --watch", quoted(&named));
    }
    Ok(Ending::Partial)
}

/// What became of a trigger, for people.
struct TriggerNotice<'a> {
    /// Rows with queued cells.
    count: u64,
    /// The run of the queued cells.
    queued_in: Option<&'a str>,
    /// The run that has not ended, if nothing was queued.
    current: Option<&'a str>,
    /// In US dollars. It holds for the whole run, also for what was queued before.
    spend_limit: Option<f64>,
    named: &'a str,
}

impl fmt::Display for TriggerNotice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, queued_in, current, spend_limit, named } = *self;
        match (queued_in, current) {
            (Some(run), _) => write!(f, "{} queued in {run}.", counted(count, "row"))?,
            (None, Some(run)) => write!(f, "No more cells to queue. {run} has not ended yet.")?,
            (None, None) => write!(
                f,
                "Nothing to run. `rowmill status {}` shows the cells by state; --force runs complete cells again.",
                quoted(named)
            )?,
        }
        match (queued_in.or(current), spend_limit) {
            (Some(run), Some(usd)) => write!(f, " The spending limit of {run} is now ${usd}."),
            _ => Ok(()),
        }
    }
}

/// The run that cells which wait or run belong to.
async fn current_run(server: &Server, table: &Table) -> Result<Option<String>, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Status {
        processing: bool,
        run_id: Option<String>,
    }

    let Status { processing, run_id } = server.get(&table.path("/status"), &[]).await?.parse()?;
    Ok(run_id.filter(|_| processing))
}

/// Shows a run until it ends, and gives it as it was sent.
async fn follow(server: &Server, table: &Table, id: &str) -> Result<(RunState, String), Failure> {
    let path = table.path(&format!("/runs/{id}"));
    let mut progress = Progress::new(Unit::Cells, server.clock());
    let mut standstill = Standstill::default();
    loop {
        let RunAnswer { run: text } = server.get_patiently(&path).await?.parse()?;
        let state: RunState = serde_json::from_str(text.get())
            .map_err(|error| Failure::failed(format!("the run is not understood: {error}")))?;
        if state.status != "running" {
            return Ok((state, text.get().to_owned()));
        }
        let run = &state.run;
        let cost = run.price().map(|price| format!(", {price}")).unwrap_or_default();
        let message = format!("{} failed{cost}", run.failed);
        let line = || format!("{} of {} cells ended: {run}", run.ended(), run.cells);
        progress.set(run.ended(), run.cells, message, line);
        if standstill.is_long(run.ended())
            && let Some(reason) = waiting(server, table).await?
        {
            progress.say(&reason);
        }
        server.clock().sleep(ASK_EVERY).await;
    }
}

/// A run in which no cell ends.
#[derive(Debug, Default)]
struct Standstill {
    ended: u64,
    looks: u32,
}

impl Standstill {
    /// Whether it is time to say what the run waits for: after a while, and then now and then.
    fn is_long(&mut self, ended: u64) -> bool {
        self.looks = if ended == self.ended { self.looks + 1 } else { 0 };
        self.ended = ended;
        self.looks % STANDSTILL_LOOKS == STANDSTILL_LOOKS / 2
    }
}

/// What the cells of the table's run wait for, if they do: a spending cap, say, or a provider that has had enough.
async fn waiting(server: &Server, table: &Table) -> Result<Option<String>, Failure> {
    #[derive(Deserialize)]
    struct Status {
        run: Option<Run>,
    }

    let Status { run } = server.get_patiently(&table.path("/status")).await?.parse()?;
    Ok(run.and_then(|run| run.waiting).map(|waiting| waiting.to_string()))
}

pub(crate) async fn stop(args: StopArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Stopped {
        stopped_count: u64,
        stopped_cells: u64,
    }

    let StopArgs { table, columns, rows, connection } = args;
    let server = connection.connect(clock)?;
    let table = tables::find(&server, &table).await?;
    let columns =
        if columns.is_empty() { columns } else { column_ids(&columns, &table.columns(&server).await?)? };
    let named = [("columnIds", columns), ("rowIds", rows)].into_iter().filter(|(_, ids)| !ids.is_empty());
    let body: Map<String, Value> = named.map(|(field, ids)| (field.to_owned(), Value::from(ids))).collect();
    let answer = server.post_json(&table.path("/stop"), Value::from(body).to_string()).await?;
    if connection.json {
        print_line(&answer.text)?;
    } else {
        let Stopped { stopped_count, stopped_cells } = answer.parse()?;
        let (cells, rows) = (counted(stopped_cells, "cell"), counted(stopped_count, "row"));
        print_line(&format!("{cells} in {rows} stopped"))?;
    }
    Ok(Ending::Done)
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.trim().parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "write an amount of US dollars as a number, such as 5 or 0.25".to_owned())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("Leads"), "Leads");
        assert_eq!(quoted("My leads"), "'My leads'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }

    #[test]
    fn amounts_are_numbers() {
        assert_eq!((dollars("5"), dollars("0.25")), (Ok(5.0), Ok(0.25)));
        for wrong in ["abc", "$5", "5 USD", "0,25", "-1", "inf", "NaN", ""] {
            assert!(dollars(wrong).unwrap_err().contains("such as 5 or 0.25"), "{wrong}");
        }
    }

    #[test]
    fn a_standstill_is_told_now_and_then() {
        let mut standstill = Standstill::default();
        let told: Vec<u32> = (1..=40).filter(|look| standstill.is_long(u64::from(look / 30))).collect();
        assert_eq!(told, [6, 18, 36]);
    }

    #[test]
    fn a_limit_that_changes_is_told() {
        let check =
            |queued_in: Option<&str>, current: Option<&str>, spend_limit: Option<f64>, expected: &str| {
                let notice = TriggerNotice { count: 2, queued_in, current, spend_limit, named: "My leads" };
                assert_eq!(notice.to_string(), expected);
            };
        let run = Some("run_1");
        check(run, None, None, "2 rows queued in run_1.");
        check(run, None, Some(5.0), "2 rows queued in run_1. The spending limit of run_1 is now $5.");
        check(None, run, None, "No more cells to queue. run_1 has not ended yet.");
        let changed =
            "No more cells to queue. run_1 has not ended yet. The spending limit of run_1 is now $0.25.";
        check(None, run, Some(0.25), changed);
        let nothing = "Nothing to run. `rowmill status 'My leads'` shows the cells by state; --force runs complete cells \
                       again.";
        check(None, None, None, nothing);
        check(None, None, Some(5.0), nothing);
    }

    #[test]
    fn what_is_not_said_is_not_sent() {
        let body = Trigger {
            column_ids: Vec::new(),
            row_ids: Vec::new(),
            selection: Selection::default(),
            limit: None,
            statuses: Vec::new(),
            force: false,
            dry_run: true,
            estimate: false,
            spend_limit: None,
        };
        assert_eq!(serde_json::to_string(&body).unwrap(), r#"{"force":false,"dryRun":true}"#);
    }
}
