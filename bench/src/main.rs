//! Measurements of the running service, each beside the raw limit it is compared with.
//!
//! Whatever shares the machine slows both, so raw and measured runs take turns, and what counts is the
//! median of the ratios of neighbours.

mod bare;
mod cells;
mod client;
mod inserts;
mod load;
mod pages;
mod processing;
mod random;
mod raw;
mod report;
mod rowmill;
mod sample;
mod start;
mod views;
mod webhook;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::inserts::Inserts;
use crate::pages::Reads;
use crate::raw::Raw;
use crate::report::Report;
use crate::rowmill::Rowmill;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures the service beside the raw limits of this machine and prints one table.
#[derive(Debug, Parser)]
struct Args {
    /// How many rows a table has; several, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [100_000, 1_000_000])]
    rows: Vec<usize>,
    /// Only shows that everything runs: few rows, short rounds.
    #[arg(long)]
    quick: bool,
    /// Only some of the measurements.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// The binary to measure, if not the one built beside this.
    #[arg(long)]
    server: Option<PathBuf>,
    /// A Python that has `DuckDB`, to compare views with.
    #[arg(long)]
    python: Option<PathBuf>,
    /// Serves these files as the bare handler does. For the bench's own use.
    #[arg(long, hide = true)]
    bare: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Inserts,
    Pages,
    Cells,
    Deletes,
    Start,
    Webhook,
    Processing,
    Views,
}

/// How long and how often to measure, and what.
#[derive(Debug, Clone)]
struct Effort {
    only: Vec<Part>,
    rounds: usize,
    round_time: Duration,
    /// Rows inserted by one side before it is the other's turn.
    round_rows: usize,
    starts: usize,
    /// Webhook deliveries in one round.
    round_deliveries: usize,
}

impl Effort {
    fn full(only: Vec<Part>) -> Self {
        Self {
            only,
            rounds: 5,
            round_time: Duration::from_secs(1),
            round_rows: 100_000,
            starts: 5,
            round_deliveries: 10_000,
        }
    }

    fn quick(only: Vec<Part>) -> Self {
        Self {
            only,
            rounds: 1,
            round_time: Duration::from_millis(200),
            round_rows: 20_000,
            starts: 1,
            round_deliveries: 1_000,
        }
    }

    fn includes(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = if args.bare.is_empty() { bench(args) } else { bare::serve(&args.bare) };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rowmill-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(args: Args) -> Outcome {
    let Args { rows, quick, only, server, python, bare: _ } = args;
    let (rows, effort) = if quick { (vec![20_000], Effort::quick(only)) } else { (rows, Effort::full(only)) };
    let own = std::env::current_exe()?;
    let server = server.unwrap_or_else(|| own.with_file_name("rowmill"));
    if !server.is_file() {
        return Err(format!("{} is not there: run this as `cargo xtask bench`", server.display()).into());
    }
    // Beside the build, so on the repository's disk: a temporary directory might be memory.
    let scratch = own.with_file_name(format!("rowmill-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let mut report = Report::default();
    let mut measured =
        rows.iter().try_for_each(|rows| measure(&server, &scratch, *rows, &effort, &mut report));
    if effort.includes(Part::Processing) {
        measured = measured.and_then(|()| {
            rows.iter().try_for_each(|rows| {
                report.rows(*rows);
                processing::measure(&server, &scratch, *rows, &effort, &mut report)
            })
        });
    }
    if effort.includes(Part::Views) {
        measured = measured.and_then(|()| {
            rows.iter().try_for_each(|rows| {
                report.rows(*rows);
                views::measure(&server, &scratch, *rows, python.as_deref(), &effort, &mut report)
            })
        });
    }
    if effort.includes(Part::Webhook) {
        measured = measured.and_then(|()| webhook::measure(&server, &scratch, &effort, &mut report));
    }
    std::fs::remove_dir_all(&scratch)?;
    measured?;
    report.print()
}

/// Everything for a table of one size.
fn measure(server: &Path, scratch: &Path, rows: usize, effort: &Effort, report: &mut Report) -> Outcome {
    report.rows(rows);
    if effort.only.iter().all(|part| matches!(part, Part::Processing | Part::Webhook | Part::Views))
        && !effort.only.is_empty()
    {
        return Ok(());
    }
    let folder = scratch.join("inserts");
    let mut inserts = None;
    for way in inserts::WAYS {
        // The last one's rows are kept for the other measurements.
        let is_wanted = effort.includes(Part::Inserts) || way == inserts::LAST;
        if is_wanted {
            drop(inserts.take());
            clear(&folder)?;
            let rowmill = Rowmill::start(server, &folder.join("data"))?;
            inserts = Some(inserts::measure(rowmill, &folder.join("raw.db"), rows, way, effort, report)?);
        }
    }
    let Some(Inserts { mut rowmill, raw, project, mut row_ids }) = inserts else { return Ok(()) };
    let after_inserts = rowmill.memory()?;
    if effort.includes(Part::Pages) {
        pages::measure(&rowmill, &project, row_ids.len(), Reads::AsInserted, scratch, effort, report)?;
    }
    if effort.includes(Part::Cells) {
        cells::measure(&rowmill, &mut Raw::open(&raw)?, &project, &row_ids, effort, report)?;
    }
    if effort.includes(Part::Deletes) {
        pages::delete_some(&rowmill, &project, &mut row_ids)?;
        pages::measure(&rowmill, &project, row_ids.len(), Reads::WithHoles, scratch, effort, report)?;
    }
    if effort.includes(Part::Start) {
        let after_all = rowmill.memory()?;
        start::measure(&mut rowmill, &project, effort, report)?;
        start::report_memory(rows, after_inserts, after_all, report);
    }
    drop(rowmill);
    clear(&folder)
}

fn clear(folder: &Path) -> Outcome {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(std::fs::create_dir_all(folder)?),
    }
}
