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
    let path = args.output.as_deref().unwrap_or(Path::new("-"));
    format_for(path, args.format.or(by_flag))
}

/// The format that was asked for, or that of the file's name. What such a file would not contain is refused.
fn format_for(path: &Path, asked: Option<Format>) -> Result<Format, Failure> {
    let ending = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    if let Some(program) = ending.as_deref().and_then(compressor) {
        let words = format!(
            "exports are not compressed. Write to {}, or compress the output: rowmill rows export … | {program} > {}",
            path.with_extension("").display(),
            path.display()
        );
        return Err(Failure::new(Kind::Usage, words));
    }
    if let Some(format) = asked {
        return Ok(format);
    }
    match ending.as_deref() {
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some(ending @ ("tsv" | "tab")) => {
            let words = format!(
                "cannot write .{ending} files: the cells of an export are separated by commas. Name the file .csv"
            );
            Err(Failure::new(Kind::Usage, words))
        }
        Some(ending @ ("xlsx" | "xls" | "xlsm" | "ods" | "numbers" | "json")) => {
            let words = format!(
                "cannot write .{ending} files: name the file .csv, which spreadsheets open, or .jsonl"
            );
            Err(Failure::new(Kind::Usage, words))
        }
        _ => Ok(Format::Csv),
    }
}

/// The program that makes files with this ending.
fn compressor(ending: &str) -> Option<&'static str> {
    match ending {
        "gz" | "gzip" => Some("gzip"),
        "zst" | "zstd" => Some("zstd"),
        "bz2" => Some("bzip2"),
        "xz" => Some("xz"),
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_what_is_written() {
        let check = |path: &str, asked: Option<Format>, expected: Result<Format, &str>| match (
            format_for(Path::new(path), asked),
            expected,
        ) {
            (Ok(format), Ok(expected)) => assert_eq!(format, expected, "{path}"),
            (Err(failure), Err(expected)) => {
                let told = failure.words(false).unwrap();
                assert!(failure.kind == Kind::Usage && told.contains(expected), "{path}: {told}");
            }
            (told, expected) => panic!("{path}: {told:?} is not {expected:?}"),
        };
        check("-", None, Ok(Format::Csv));
        check("rows", None, Ok(Format::Csv));
        check("rows.CSV", None, Ok(Format::Csv));
        check("rows.csv", Some(Format::Jsonl), Ok(Format::Jsonl));
        check("rows.ndjson", None, Ok(Format::Jsonl));
        check("rows.xlsx", None, Err("cannot write .xlsx files"));
        check("rows.tsv", None, Err("cannot write .tsv files"));
        check("rows.TAB", None, Err("Name the file .csv"));
        check("rows.tsv", Some(Format::Csv), Ok(Format::Csv));
        check("a/rows.csv.gz", None, Err("Write to a/rows.csv, or compress the output"));
        check("rows.csv.gz", Some(Format::Csv), Err("| gzip > rows.csv.gz"));
        check("rows.jsonl.zst", None, Err("| zstd > rows.jsonl.zst"));
        check("rows.csv.zstd", None, Err("Write to rows.csv"));
    }
}
