//! `rowmill rows export`: rows as they come, to a file or to standard output.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use reqwest::Response;
use rowmill_clock::Clock;

use crate::connection::ConnectionArgs;
use crate::failure::{Ending, Failure, Kind};
use crate::progress::{Progress, Unit};
use crate::selection::{SelectionArgs, column_ids};
use crate::server::Server;
use crate::tables;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The table's id or title.
    table: String,
    /// Write to this file. It is replaced once the export is complete. Default: standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Default: by the file's name, or else csv. --json means jsonl.
    #[arg(long)]
    format: Option<Format>,
    /// Only this column, by id or header. Can be repeated.
    #[arg(long = "column", value_name = "COLUMN")]
    columns: Vec<String>,
    /// Begin CSV with a byte order mark, so that Excel detects UTF-8.
    #[arg(long)]
    bom: bool,
    /// Export CSV cells that a spreadsheet would run as formulas unchanged, without an apostrophe before them.
    #[arg(long)]
    keep_formulas: bool,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Csv,
    /// JSON Lines: one object a line, with the values by header.
    Jsonl,
}

pub(crate) async fn run(args: ExportArgs, clock: Arc<dyn Clock>) -> Result<Ending, Failure> {
    let format = format_of(&args)?;
    let server = args.connection.connect(clock)?;
    let table = tables::find(&server, &args.table).await?;
    let selection = args.selection.resolve(&server, &table).await?;
    let mut query = selection.query()?;
    query.push(("format", if format == Format::Csv { "csv" } else { "jsonl" }.to_owned()));
    if !args.columns.is_empty() {
        let ids = column_ids(&args.columns, &table.columns(&server).await?)?;
        query.push(("columnIds", ids.join(",")));
    }
    let flags = [(args.bom, "bom", "true"), (args.keep_formulas, "formulas", "keep")];
    query.extend(flags.iter().filter(|flag| flag.0).map(|(_, name, value)| (*name, (*value).to_owned())));
    let opened = server.open(&table.path("/export"), &query).await;
    let response = opened.map_err(|failure| selection.in_own_words(failure))?;
    match &args.output {
        Some(path) if path.as_os_str() != "-" => to_file(&server, response, path).await?,
        _ => copy(&server, response, &mut std::io::stdout().lock(), None).await?,
    }
    Ok(Ending::Done)
}

fn format_of(args: &ExportArgs) -> Result<Format, Failure> {
    let by_flag = args.connection.json.then_some(Format::Jsonl);
    if let Some(format) = args.format.or(by_flag) {
        return Ok(format);
    }
    let ending = args.output.as_ref().and_then(|path| path.extension()).and_then(OsStr::to_str);
    match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some(ending @ ("xlsx" | "xls" | "xlsm" | "ods" | "numbers" | "json")) => {
            let words = format!(
                "cannot write .{ending} files: name the file .csv, which spreadsheets open, or .jsonl"
            );
            Err(Failure::new(Kind::Usage, words))
        }
        _ => Ok(Format::Csv),
    }
}

/// Writes beside the file first: an export that breaks off leaves what was there.
async fn to_file(server: &Server, response: Response, path: &Path) -> Result<(), Failure> {
    let told = |error: std::io::Error| Failure::failed(format!("cannot write {}: {error}", path.display()));
    let mut progress = Progress::new(Unit::EndlessBytes, server.clock());
    progress.set(0, 0, "Exporting".to_owned(), String::new);
    // A device or a pipe cannot be replaced.
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        let mut file = File::options().write(true).open(path).map_err(told)?;
        return copy(server, response, &mut file, Some((&progress, path))).await;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    let unfinished = path.with_file_name(name);
    let mut file = BufWriter::new(File::create(&unfinished).map_err(told)?);
    let copied = copy(server, response, &mut file, Some((&progress, path))).await;
    let finished = copied.and_then(|()| {
        let file = file.into_inner().map_err(|error| told(error.into_error()))?;
        file.sync_all().and_then(|()| fs::rename(&unfinished, path)).map_err(told)
    });
    if finished.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    finished
}

async fn copy(
    server: &Server,
    mut response: Response,
    out: &mut (dyn Write + '_),
    file: Option<(&Progress, &Path)>,
) -> Result<(), Failure> {
    let told = |error: std::io::Error| match file {
        Some((_, path)) => Failure::failed(format!("cannot write {}: {error}", path.display())),
        None => error.into(),
    };
    while let Some(part) = server.next_part(&mut response).await? {
        out.write_all(&part).map_err(told)?;
        if let Some((progress, _)) = file {
            progress.handle().inc(u64::try_from(part.len()).unwrap_or_default());
        }
    }
    out.flush().map_err(told)
}
