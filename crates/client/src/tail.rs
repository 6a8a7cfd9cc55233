//! `rowmill tail`: the events of a table, as they happen.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rowmill_clock::Clock;
use serde::Deserialize;
use serde_json::Value;

use crate::connection::ConnectionArgs;
use crate::event_stream::{Event, EventParser};
use crate::failure::{Ending, Failure, Kind};
use crate::output::{print_line, shortened, text_of};
use crate::server::{Pair, Server};
use crate::tables::{self, Table};
use crate::wire::{Cell, Row, Run};

const RECONNECT_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub struct TailArgs {
    /// The table's id or title.
    table: String,
    /// End after this many seconds. 0 prints what is known and ends.
    #[arg(long, value_parser = clap::value_parser!(u32).range(..=86_400), allow_negative_numbers = true)]
    seconds: Option<u32>,
    /// Begin after this event: an `id` of an earlier `rowmill tail --json`.
    #[arg(long, value_name = "ID")]
    since: Option<u64>,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

#[derive(Deserialize)]
struct RowsChanged {
    rows: Vec<Row<Cell>>,
    deleted: Vec<String>,
}

#[derive(Deserialize)]
struct Status {
    rows: RowCounts,
    run: Option<Run>,
}

#[derive(Deserialize)]
struct RowCounts {
    total: u64,
    queued: u64,
    generating: u64,
    error: u64,
}

/// The stream, and where it has got to.
struct Tail<'a> {
    server: &'a Server,
    table: &'a Table,
    last_id: Option<String>,
    seconds: Option<u32>,
    is_json: bool,
}

pub(crate) async fn run(args: TailArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    let server = args.connection.connect(clock)?;
    let table = tables::find(&server, &args.table).await?;
    let mut tail = Tail {
        server: &server,
        table: &table,
        last_id: args.since.map(|id| id.to_string()),
        seconds: args.seconds,
        is_json: args.connection.json,
    };
    // The first connection tells what is wrong. Later ones are tried until Ctrl-C.
    let mut was_connected = false;
    loop {
        match tail.follow(&mut was_connected).await {
            Ok(()) if tail.seconds.is_some() => return Ok(Ending::Done),
            Ok(()) => {}
            Err(failure) if failure.kind == Kind::Unreachable && was_connected => {}
            Err(failure) => return Err(failure),
        }
        server.clock().sleep(RECONNECT_WAIT).await;
    }
}

impl Tail<'_> {
    /// Prints events until the stream ends.
    async fn follow(&mut self, was_connected: &mut bool) -> Result<(), Failure> {
        let mut query: Vec<Pair> = vec![("keyBy", "header".to_owned())];
        query.extend(self.last_id.clone().map(|id| ("lastEventId", id)));
        query.extend(self.seconds.map(|seconds| ("seconds", seconds.to_string())));
        let mut response = self.server.open(&self.table.path("/events"), &query).await?;
        *was_connected = true;
        let mut parser = EventParser::default();
        while let Some(part) = self.server.next_part(&mut response).await? {
            for event in parser.push(&part).map_err(Failure::failed)? {
                self.print(&event)?;
                self.last_id = event.id.or(self.last_id.take());
            }
        }
        Ok(())
    }

    fn print(&self, event: &Event) -> Result<(), Failure> {
        if self.is_json {
            let Event { name, data, id } = event;
            let (name, id) = (Value::from(name.as_str()), Value::from(id.clone()));
            print_line(&format!("{{\"event\":{name},\"id\":{id},\"data\":{data}}}"))?;
            return Ok(());
        }
        let lines =
            lines(event).map_err(|error| Failure::failed(format!("an event is not understood: {error}")))?;
        let time = self.server.clock().now().strftime("%H:%M:%SZ").to_string();
        for line in lines {
            print_line(&format!("{time} {line}"))?;
        }
        Ok(())
    }
}

/// An event for people.
fn lines(event: &Event) -> Result<Vec<String>, serde_json::Error> {
    Ok(match event.name.as_str() {
        "rows" => {
            let RowsChanged { rows, deleted } = serde_json::from_str(&event.data)?;
            let gone = deleted.iter().map(|id| format!("{id} deleted"));
            rows.iter().map(row_line).chain(gone).collect()
        }
        "status" => {
            let Status { rows, run } = serde_json::from_str(&event.data)?;
            let RowCounts { total, queued, generating, error } = rows;
            let run = run.map(|run| format!("; last run: {run}")).unwrap_or_default();
            vec![format!("{total} rows: {queued} waiting, {generating} running, {error} failed{run}")]
        }
        "project" => vec!["the table's columns, views or settings changed".to_owned()],
        "reset" => vec!["events were missed: read the rows again".to_owned()],
        other => vec![other.to_owned()],
    })
}

/// The cells that have something to say.
fn row_line(row: &Row<Cell>) -> String {
    let said = row.cells.0.iter().filter_map(|(header, cell)| {
        let text = shortened(&text_of(&cell.value));
        let state = match (&cell.error, cell.status.as_str()) {
            (Some(error), status) => format!("({status}: {})", shortened(&error.message)),
            (None, "idle" | "completed") => String::new(),
            (None, status) => format!("({status})"),
        };
        let parts: Vec<&str> =
            [text.as_str(), state.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| format!("{}={}", shortened(header), parts.join(" ")))
    });
    format!("{} {}", row.id, said.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_in_lines() {
        let check = |name: &str, data: &str, expected: &[&str]| {
            let event = Event { name: name.to_owned(), data: data.to_owned(), id: None };
            assert_eq!(lines(&event).unwrap(), expected);
        };
        let rows = r#"{"rows":[{"id":"row_1","cells":{
            "Name":{"value":"Ada\n","status":"completed"},
            "Sum":{"value":1.50,"status":"queued"},
            "X":{"value":null,"status":"idle"},
            "Y":{"value":null,"status":"error","error":{"code":"timed_out","message":"Too slow."}}
        }}],"deleted":["row_2"]}"#;
        check("rows", rows, &["row_1 Name=Ada\\n, Sum=1.50 (queued), Y=(error: Too slow.)", "row_2 deleted"]);
        check("reset", "{}", &["events were missed: read the rows again"]);
        let status = r#"{"rows":{"total":3,"idle":0,"queued":1,"generating":1,"complete":1,"error":0},"columns":{},
            "processing":true,"run":{"cells":3,"done":1,"empty":0,"failed":0,"skipped":0,"stopped":0,"cost":0.01}}"#;
        check(
            "status",
            status,
            &[
                "3 rows: 1 waiting, 1 running, 0 failed; last run: 1 done, 0 empty, 0 failed, 0 skipped, 0 stopped, cost $0.0100",
            ],
        );
    }
}
