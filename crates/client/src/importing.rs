//! `rowmill rows import`: a file into a table, small ones at once and large ones in the background.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use rowmill_clock::Clock;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::connection::ConnectionArgs;
use crate::failure::{Ending, Failure, Kind};
use crate::file_body::{FileBody, Source};
use crate::file_kind::{FileKind, Format, is_blank};
use crate::json_lines::JsonLines;
use crate::output::{counted, plain, print_line};
use crate::progress::{Progress, Unit};
use crate::selection::column_id;
use crate::server::{Pair, Server};
use crate::tables::{self, Table};

/// Larger files are imported in the background, as the web app does.
const AT_ONCE_BYTES_MAX: u64 = 5_000_000;
const ASK_EVERY: Duration = Duration::from_millis(300);
/// Rejected rows that are shown. `--json` shows all.
const REJECTED_SHOWN: usize = 10;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ImportArgs {
    /// The table's id or title.
    table: String,
    /// The file, or - for standard input. CSV and JSON Lines can be compressed (.csv.gz, .jsonl.zst).
    file: PathBuf,
    /// What the file contains. Default: by its name.
    #[arg(long)]
    format: Option<Format>,
    /// Update the row that has the same value in this column instead of inserting another.
    #[arg(long, value_name = "COLUMN")]
    match_on: Option<String>,
    /// Match without regard to letter case and outer blanks.
    #[arg(long, requires = "match_on")]
    ignore_case: bool,
    /// Let empty cells of CSV clear what is stored in rows that are updated.
    #[arg(long, requires = "match_on")]
    clear_empty: bool,
    /// Put a field of the file into this column; FIELD= leaves it out. Can be repeated.
    #[arg(long = "map", value_name = "FIELD=COLUMN", value_parser = mapping_entry)]
    mapping: Vec<(String, Option<String>)>,
    /// Ignore fields that name no column, instead of creating columns for them.
    #[arg(long)]
    no_create_columns: bool,
    /// The first line of CSV is a row. Fields are then called 0, 1, ….
    #[arg(long)]
    no_header: bool,
    /// What separates the cells of CSV. Default: detected.
    #[arg(long)]
    delimiter: Option<Delimiter>,
    /// Import in the background, also a small file.
    #[arg(long)]
    background: bool,
    /// Import in the background, and do not wait for the end.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Delimiter {
    Comma,
    Semicolon,
    Tab,
    Pipe,
}

impl Delimiter {
    fn word(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Semicolon => "semicolon",
            Self::Tab => "tab",
            Self::Pipe => "pipe",
        }
    }
}

#[derive(Deserialize)]
struct Accepted {
    job: Job,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Job {
    id: String,
    status: String,
    file_bytes: u64,
    bytes_read: u64,
    rows_read: u64,
    error: Option<JobError>,
}

#[derive(Deserialize)]
struct JobError {
    error: String,
    code: String,
}

/// What became of the rows.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    imported_count: u64,
    updated_count: u64,
    unchanged_count: u64,
    rejected_count: u64,
    /// Rows without a filled cell in any imported field.
    #[serde(default)]
    skipped_count: u64,
    columns_created: Vec<CreatedColumn>,
    fields_ignored: Vec<String>,
    /// Fields that may be misspelt, and the headers they resemble.
    #[serde(default)]
    hints: BTreeMap<String, String>,
    rejected: Vec<Rejected>,
    stopped: bool,
}

#[derive(Deserialize)]
struct CreatedColumn {
    header: String,
}

#[derive(Deserialize)]
struct Rejected {
    line: u64,
    reason: String,
}

pub(crate) async fn run(mut args: ImportArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    let kind = FileKind::of(&args.file, args.format)?;
    let file = args.file.clone();
    let told = |error: std::io::Error| Failure::failed(format!("cannot read {}: {error}", file.display()));
    let source = Source::open(&args.file).map_err(told)?;
    let server = args.connection.connect(clock)?;
    let table = tables::find(&server, &args.table).await?;
    args.name_columns(&server, &table).await?;
    let query = query_of(&args);
    let is_small = source.bytes().is_some_and(|bytes| bytes <= AT_ONCE_BYTES_MAX);
    let (json, has_header) = (args.connection.json, !args.no_header);
    if is_small && !args.background && !args.no_wait {
        let body = read_small(source, &kind).map_err(told)?;
        let no_rows = kind.without_rows(has_header, is_blank(&body));
        let answer = server.post(&table.path("/import"), &query, &kind.headers(), body).await?;
        return report(&answer.text, &answer.parse()?, json, no_rows);
    }
    let job = send(&server, &table, query, &kind, source).await?;
    if args.no_wait {
        if json {
            print_line(&format!("{{\"jobId\":{}}}", Value::from(job)))?;
        } else {
            print_line(&job)?;
            notice!("The file has arrived and is imported in the background.");
        }
        return Ok(Ending::Done);
    }
    tokio::select! {
        outcome = wait(&server, &table, &job, json, |bytes| kind.without_rows(has_header, bytes == 0)) => outcome,
        _ = tokio::signal::ctrl_c() => {
            let words = format!("\nStopped waiting. The import {job} goes on in the background.");
            Err(Failure::new(Kind::Interrupted, words))
        }
    }
}

impl ImportArgs {
    /// Replaces the names of columns by their ids, so that a misspelt one is told before the file is sent.
    async fn name_columns(&mut self, server: &Server, table: &Table) -> Result<(), Failure> {
        let mapped = self.mapping.iter_mut().filter_map(|(_, column)| column.as_mut());
        let named: Vec<&mut String> = self.match_on.iter_mut().chain(mapped).collect();
        if named.is_empty() {
            return Ok(());
        }
        let columns = table.columns(server).await?;
        for name in named {
            *name = column_id(name, &columns)?;
        }
        Ok(())
    }
}

fn query_of(args: &ImportArgs) -> Vec<Pair> {
    let flag = |is_set: bool, name: &'static str, value: &str| is_set.then(|| (name, value.to_owned()));
    let mut query: Vec<Pair> = args.match_on.iter().map(|column| ("matchOn", column.clone())).collect();
    query.extend(flag(args.ignore_case, "matchCase", "false"));
    query.extend(flag(args.clear_empty, "emptyCells", "clear"));
    query.extend(flag(args.no_create_columns, "createColumns", "false"));
    query.extend(flag(args.no_header, "header", "false"));
    query.extend(args.delimiter.map(|delimiter| ("delimiter", delimiter.word().to_owned())));
    if !args.mapping.is_empty() {
        let entry = |(field, column): &(String, Option<String>)| (field.clone(), Value::from(column.clone()));
        let mapping: Map<String, Value> = args.mapping.iter().map(entry).collect();
        query.push(("mapping", Value::from(mapping).to_string()));
    }
    query
}

/// Whole, so that a request that the server is too busy for can be sent again.
fn read_small(source: Source, kind: &FileKind) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.reader().read_to_end(&mut bytes)?;
    if !kind.is_json() {
        return Ok(bytes);
    }
    let (mut lines, mut out) = (JsonLines::new(), Vec::with_capacity(bytes.len()));
    lines.push(&bytes, &mut out).and_then(|()| lines.end()).map_err(std::io::Error::other)?;
    Ok(out)
}

/// Sends the file, and gives the id of the import's job.
async fn send(
    server: &Server,
    table: &Table,
    mut query: Vec<Pair>,
    kind: &FileKind,
    source: Source,
) -> Result<String, Failure> {
    query.push(("async", "true".to_owned()));
    let unit = if source.bytes().is_some() { Unit::Bytes } else { Unit::EndlessBytes };
    let mut progress = Progress::new(unit, server.clock());
    progress.set(0, source.bytes().unwrap_or_default(), "Sending".to_owned(), String::new);
    let body = FileBody::new(source, kind.is_json(), progress.handle());
    let body = reqwest::Body::wrap(body);
    let answer = server.upload(&table.path("/import"), &query, &kind.headers(), body).await?;
    Ok(answer.parse::<Accepted>()?.job.id)
}

/// Waits for the end of an import in the background.
async fn wait(
    server: &Server,
    table: &Table,
    job: &str,
    json: bool,
    no_rows: impl Fn(u64) -> &'static str,
) -> Result<Ending, Failure> {
    #[derive(Deserialize)]
    struct Finished {
        result: Box<RawValue>,
    }

    let path = table.path(&format!("/imports/{job}"));
    let mut progress = Progress::new(Unit::Bytes, server.clock());
    let (answer, file_bytes) = loop {
        let answer = server.get_patiently(&path).await?;
        let Accepted { job } = answer.parse()?;
        match job.status.as_str() {
            "queued" | "running" => {
                let rows = job.rows_read;
                let message = format!("Importing, {rows} rows");
                progress.set(job.bytes_read, job.file_bytes, message, || {
                    format!("Importing: {rows} rows so far")
                });
                server.clock().sleep(ASK_EVERY).await;
            }
            "finished" => break (answer, job.file_bytes),
            status => return Err(ended(&job, status)),
        }
    };
    progress.end();
    let Finished { result } = answer.parse()?;
    let outcome = serde_json::from_str(result.get())
        .map_err(|error| Failure::failed(format!("the import's result is not understood: {error}")))?;
    report(result.get(), &outcome, json, no_rows(file_bytes))
}

fn ended(job: &Job, status: &str) -> Failure {
    match &job.error {
        Some(JobError { error, code }) => {
            let words = format!("the import failed: {error}. Rows that were imported before are kept");
            Failure::failed(words).with_code(Some(code.clone()))
        }
        None => Failure::failed(format!("the import was {status}. Rows that were imported before are kept")),
    }
}

fn report(text: &str, outcome: &Outcome, json: bool, no_rows: &str) -> Result<Ending, Failure> {
    let Outcome { imported_count, updated_count, unchanged_count, rejected_count, skipped_count, .. } =
        outcome;
    let ending = if *rejected_count > 0 || outcome.stopped { Ending::Partial } else { Ending::Done };
    if json {
        print_line(text)?;
        return Ok(ending);
    }
    print_line(&format!(
        "{} imported, {updated_count} updated, {unchanged_count} unchanged, {rejected_count} rejected",
        counted(*imported_count, "row")
    ))?;
    if *skipped_count > 0 {
        notice!("Skipped {}: no cell of an imported field is filled.", counted(*skipped_count, "row"));
    }
    if imported_count + updated_count + unchanged_count + rejected_count + skipped_count == 0 {
        notice!("{no_rows} Check that it is the right file, and that it was saved.");
    }
    let created: Vec<String> = outcome.columns_created.iter().map(|column| plain(&column.header)).collect();
    if !created.is_empty() {
        notice!("Created columns: {}", created.join(", "));
    }
    if !outcome.fields_ignored.is_empty() {
        notice!("Ignored fields: {}", plain(&outcome.fields_ignored.join(", ")));
    }
    for (field, header) in &outcome.hints {
        notice!("  {:?} looks like {:?}. Map it with --map, or rename it.", plain(field), plain(header));
    }
    for Rejected { line, reason } in outcome.rejected.iter().take(REJECTED_SHOWN) {
        notice!("  line {line}: {}", plain(reason));
    }
    if outcome.rejected.len() > REJECTED_SHOWN {
        notice!("  … and {} more; --json shows all", outcome.rejected.len() - REJECTED_SHOWN);
    }
    if outcome.stopped {
        notice!("The import stopped early, because too many rows were rejected.");
    }
    Ok(ending)
}

fn mapping_entry(text: &str) -> Result<(String, Option<String>), String> {
    let (field, column) =
        text.split_once('=').ok_or("write FIELD=COLUMN, or FIELD= to leave the field out")?;
    Ok((field.to_owned(), Some(column.to_owned()).filter(|column| !column.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_mapped_or_left_out() {
        assert_eq!(mapping_entry("a=B c").unwrap(), ("a".into(), Some("B c".into())));
        assert_eq!(mapping_entry("a=").unwrap(), ("a".into(), None));
        assert!(mapping_entry("a").is_err());
    }
}
