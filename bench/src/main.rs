//! Measurements of the running service, each beside the raw limit it is compared with.
//!
//! Whatever shares the machine slows both, so raw and measured runs take turns, and what counts is the
//! median of the ratios of neighbours.

mod any_result;
mod apart;
mod bare;
mod cells;
mod client;
mod effort;
mod fairness;
mod folders;
mod growth;
mod inserts;
mod load;
mod matching;
mod pages;
mod postgres;
mod processing;
mod random;
mod rates;
mod raw;
mod report;
mod rowmill;
mod runtime;
mod sample;
mod settling;
mod start;
mod store;
mod views;
mod webhook;
mod webhooks_out;
mod wide;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

use crate::any_result::AnyResult;
use crate::apart::Halves;
use crate::effort::{Effort, Part};
use crate::folders::clear;
use crate::inserts::Inserts;
use crate::pages::Reads;
use crate::postgres::cluster::Cluster;
use crate::postgres::scale::Setting;
use crate::report::Report;
use crate::rowmill::Rowmill;
use crate::store::{Backend, Kind};

/// The service's own, which nodes have, too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    /// On which databases: both, unless no PostgreSQL is found.
    #[arg(long, value_delimiter = ',')]
    store: Vec<Kind>,
    /// The binary to measure, if not the one built beside this.
    #[arg(long)]
    server: Option<PathBuf>,
    /// A Python that has `DuckDB`, to compare views with.
    #[arg(long)]
    python: Option<PathBuf>,
    /// A folder in which npm installed graphile-worker, to compare nodes with.
    #[arg(long)]
    graphile: Option<PathBuf>,
    /// A folder into which Debian's packages were unpacked, for `PgBouncer` and `HAProxy`.
    #[arg(long)]
    debian: Option<PathBuf>,
    /// The guide that gets the figures of `--only scale`.
    #[arg(long)]
    page: Option<PathBuf>,
    /// With how many nodes: of those that are measured, only these.
    #[arg(long, value_delimiter = ',')]
    nodes: Vec<usize>,
    /// Keeps `PostgreSQL` on one half of the processors and everything else on the other, as on two machines.
    #[arg(long)]
    apart: bool,
    /// Works on the cells of this database. For the bench's own use.
    #[arg(long, hide = true)]
    node: Option<String>,
    /// Serves these files as the bare handler does. For the bench's own use.
    #[arg(long, hide = true)]
    bare: Vec<PathBuf>,
    /// Serves pages of this database's rows. For the bench's own use.
    #[arg(long, hide = true)]
    bare_by_key: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match &args {
        Args { node: Some(url), .. } => postgres::nodes::serve(url),
        Args { bare_by_key: Some(file), .. } => bare::serve_by_key(file.clone()),
        Args { bare, .. } if !bare.is_empty() => bare::serve(bare),
        _ => bench(args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rowmill-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(args: Args) -> AnyResult {
    let Args {
        rows,
        quick,
        only,
        store,
        server,
        python,
        graphile,
        debian,
        page,
        nodes,
        apart,
        bare: _,
        bare_by_key: _,
        node: _,
    } = args;
    let (rows, effort) =
        if quick { (vec![20_000], Effort::quick(only, nodes)) } else { (rows, Effort::full(only, nodes)) };
    let own = std::env::current_exe()?;
    let server = server.unwrap_or_else(|| own.with_file_name("rowmill"));
    if !server.is_file() {
        return Err(format!("{} is not there: run this as `cargo xtask bench`", server.display()).into());
    }
    // Beside the build, so on the repository's disk: a temporary directory might be memory.
    let scratch = own.with_file_name(format!("rowmill-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let mut report = Report::default();
    let halves = apart.then(Halves::of_this_machine).transpose()?;
    let backends = backends(&store, halves.as_ref(), &mut report)?;
    let bench = Bench { server, scratch, python, graphile, debian, page, effort };
    let measured = rows.iter().try_for_each(|rows| bench.of_size(*rows, &backends, &mut report));
    let measured = measured.and_then(|()| bench.of_no_size(&backends, &mut report));
    std::fs::remove_dir_all(&bench.scratch)?;
    measured?;
    report.print()
}

/// The databases to measure, and a server for one of them.
fn backends(asked: &[Kind], halves: Option<&Halves>, report: &mut Report) -> AnyResult<Vec<Backend>> {
    let mut backends = Vec::new();
    if asked.is_empty() || asked.contains(&Kind::Sqlite) {
        backends.push(Backend::Sqlite);
    }
    if asked.is_empty() || asked.contains(&Kind::Postgres) {
        // By its meaning this folder is on a disk and open to whoever the server runs as.
        halves.map_or(Ok(()), Halves::enter_database)?;
        let cluster = Cluster::start(Path::new("/var/tmp"))?;
        halves.map_or(Ok(()), Halves::enter_others)?;
        match cluster {
            Some(cluster) => {
                let apart = halves.map_or_else(String::new, |halves| {
                    let (own, left) = halves.sizes();
                    format!(", processors: {own} of its own, {left} for everybody else")
                });
                report.about_postgres(&format!("{}{apart}", cluster.about()));
                backends.push(Backend::Postgres(Arc::new(cluster)));
            }
            None if asked.is_empty() => eprintln!("no PostgreSQL is found: only SQLite is measured"),
            None => return Err("no PostgreSQL is found: install one".into()),
        }
    }
    Ok(backends)
}

struct Bench {
    server: PathBuf,
    scratch: PathBuf,
    python: Option<PathBuf>,
    graphile: Option<PathBuf>,
    debian: Option<PathBuf>,
    page: Option<PathBuf>,
    effort: Effort,
}

impl Bench {
    /// Everything for tables of this many rows, one database after the other.
    fn of_size(&self, rows: usize, backends: &[Backend], report: &mut Report) -> AnyResult {
        let Self { server, scratch, python, graphile, effort, .. } = self;
        report.rows(rows);
        for backend in backends {
            report.store(backend.kind());
            measure(server, backend, scratch, rows, effort, report)?;
        }
        for backend in backends.iter().filter(|_| effort.includes(Part::Processing)) {
            report.store(backend.kind());
            processing::measure(server, backend, scratch, rows, effort, report)?;
        }
        for backend in backends.iter().filter(|_| effort.includes(Part::Nodes)) {
            if backend.kind() == Kind::Postgres {
                report.store(Kind::Postgres);
                postgres::settling::measure(backend, scratch, rows, graphile.as_deref(), effort, report)?;
            }
        }
        for backend in backends.iter().filter(|_| effort.includes(Part::Views)) {
            report.store(backend.kind());
            views::measure(server, backend, scratch, rows, python.as_deref(), effort, report)?;
        }
        for backend in backends.iter().filter(|_| effort.includes(Part::Matching)) {
            report.store(backend.kind());
            matching::measure(server, backend, scratch, rows, effort.rounds, report)?;
        }
        if effort.only.contains(&Part::Scale) { self.scale(rows, backends) } else { Ok(()) }
    }

    /// Says its figures itself, as a section of a guide.
    fn scale(&self, rows: usize, backends: &[Backend]) -> AnyResult {
        for backend in backends {
            if let Backend::Postgres(cluster) = backend {
                let setting = Setting {
                    server: &self.server,
                    programs: self.debian.as_deref().unwrap_or(Path::new("/")),
                    scratch: &self.scratch,
                    page: self.page.as_deref(),
                };
                postgres::scale::measure(setting, backend, rows, cluster.about())?;
            }
        }
        Ok(())
    }

    fn of_no_size(&self, backends: &[Backend], report: &mut Report) -> AnyResult {
        for backend in backends.iter().filter(|_| self.effort.includes(Part::Webhook)) {
            report.store(backend.kind());
            webhook::measure(&self.server, backend, &self.scratch, &self.effort, report)?;
        }
        for backend in backends.iter().filter(|_| self.effort.includes(Part::WebhooksOut)) {
            report.store(backend.kind());
            webhooks_out::measure(&self.server, backend, &self.scratch, &self.effort, report)?;
        }
        for backend in backends.iter().filter(|_| self.effort.includes(Part::Wide)) {
            report.store(backend.kind());
            wide::measure(&self.server, backend, &self.scratch, &self.effort, report)?;
        }
        for backend in backends.iter().filter(|_| self.effort.includes(Part::Fairness)) {
            report.store(backend.kind());
            fairness::measure(&self.server, backend, &self.scratch, &self.effort, report)?;
        }
        Ok(())
    }
}

/// Rows and what is done with them, on one database.
fn measure(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    rows: usize,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let parts = [Part::Inserts, Part::Pages, Part::Cells, Part::Deletes, Part::Start];
    if !parts.into_iter().any(|part| effort.includes(part)) {
        return Ok(());
    }
    let folder = scratch.join("inserts");
    if effort.includes(Part::Inserts) {
        clear(&folder)?;
        inserts::at_the_store(backend, &folder, rows, effort, report)?;
    }
    let mut inserts = None;
    for way in inserts::WAYS {
        // The last one's rows are kept for the other measurements.
        let is_wanted = effort.includes(Part::Inserts) || way == inserts::LAST;
        if is_wanted {
            drop(inserts.take());
            clear(&folder)?;
            let rowmill = Rowmill::start(server, backend.place(&folder.join("data"))?)?;
            inserts = Some(inserts::measure(rowmill, backend, &folder, rows, way, effort, report)?);
        }
    }
    let Some(Inserts { mut rowmill, mut raw, project, mut row_ids }) = inserts else { return Ok(()) };
    let after_inserts = rowmill.memory()?;
    if effort.includes(Part::Pages) {
        pages::measure(&rowmill, &project, row_ids.len(), Reads::AsInserted, scratch, effort, report)?;
        pages::measure_by_key(&rowmill, &project, &row_ids, scratch, effort, report)?;
    }
    if effort.includes(Part::Cells) {
        cells::measure(&rowmill, &mut raw, &project, &row_ids, effort, report)?;
    }
    drop(raw);
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
