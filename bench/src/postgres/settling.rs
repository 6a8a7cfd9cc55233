//! Claim and settle with several nodes on one database, beside the bare loop and graphile-worker.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio_postgres::Client;

use super::bare_loop::Loops;
use super::cluster::connect;
use super::{graphile, nodes};
use crate::any_result::AnyResult;
use crate::effort::Effort;
use crate::rates::per_second;
use crate::report::{Goal, Pairs, Report};
use crate::rowmill::processor_time;
use crate::runtime::runtime;
use crate::settling::{COLUMNS, all_settled, furnish, trigger};
use crate::store::{Backend, DataLocation};

/// Nodes, and the projects they work on.
const WAYS: [(usize, usize); 5] = [(1, 4), (2, 4), (4, 4), (1, 1), (4, 1)];
/// Jobs that graphile-worker works off: it takes several times as long for each.
const JOBS: usize = 30_000;

/// Rows of as many other projects that are filled before it counts, so that connections are open and the server
/// knows the statements: whole blocks.
const WARM_UP: usize = 10_240;

/// What a run of all cells took.
#[derive(Debug, Clone, Copy)]
struct Run {
    rate: f64,
    /// Of the server, for each cell.
    cost: Cost,
}

/// What the server has done.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// Bytes of its log.
    log_bytes: f64,
    /// Microseconds of processor time, of all its processes that still live.
    processor: f64,
}

impl Cost {
    fn of_each(self, before: Self, cells: usize) -> Self {
        let each = |after: f64, before: f64| (after - before) / crate::rates::count(cells);
        Self {
            log_bytes: each(self.log_bytes, before.log_bytes),
            processor: each(self.processor, before.processor),
        }
    }
}

pub(crate) fn measure(
    backend: &Backend,
    scratch: &Path,
    rows: usize,
    modules: Option<&Path>,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let rows = rows.min(60_000);
    let is_wanted = |count: &usize| effort.nodes.is_empty() || effort.nodes.contains(count);
    for (count, projects) in WAYS.into_iter().filter(|(count, _)| is_wanted(count)) {
        let mut beside_bare = Pairs::default();
        let mut beside_graphile = Pairs::default();
        let (mut log, mut processor) = (Pairs::default(), Pairs::default());
        for _ in 0..effort.rounds.min(3) {
            let bare = run(backend, scratch, projects, rows, |place, gauges| {
                runtime()?.block_on(by_loops(place, count, projects, rows, gauges))
            })?;
            let own = run(backend, scratch, projects, rows, |place, gauges| {
                by_nodes(place, count, projects, gauges)
            })?;
            beside_bare.push(own.rate, bare.rate);
            log.push(own.cost.log_bytes, bare.cost.log_bytes);
            processor.push(own.cost.processor, bare.cost.processor);
            if let Some(modules) = modules.filter(|_| projects > 1) {
                let place = backend.place(scratch)?;
                let jobs = JOBS.min(rows);
                let time = graphile::run(modules, scratch, &place, count, jobs)?;
                beside_graphile.push(own.rate, per_second(jobs, time));
            }
        }
        let several = |count: usize, one: &str, many: &str| {
            if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
        };
        let nodes = several(count, "node", "nodes");
        let who = format!("{nodes}, {}", several(projects, "project", "projects"));
        let what = format!("cells claimed and settled, {who}, beside a bare SKIP LOCKED loop");
        report.pair(&what, "cells/s", &beside_bare, Some(Goal::AtLeast(0.7)));
        report.pair("the same: bytes of the database's log a cell", "bytes", &log, None);
        report.pair("the same: the database's processor time a cell", "µs", &processor, None);
        if modules.is_some() && projects > 1 {
            let what = format!("the same beside graphile-worker, {}", several(count, "process", "processes"));
            report.pair(&what, "cells/s", &beside_graphile, Some(Goal::AtLeast(3.0)));
        }
    }
    Ok(())
}

/// Furnishes a database and lets all cells be settled in it. `settle` says how long that took, and what the server
/// had done before and after.
fn run(
    backend: &Backend,
    scratch: &Path,
    projects: usize,
    rows: usize,
    settle: impl FnOnce(&DataLocation, &Gauges) -> AnyResult<(Duration, [Cost; 2])>,
) -> AnyResult<Run> {
    let place = backend.place(scratch)?;
    let url = place.url().ok_or("not a PostgreSQL database")?;
    let runtime = runtime()?;
    let gauges = runtime.block_on(async {
        let store = place.open().await?;
        furnish(&store, 0..projects, rows).await?;
        furnish(&store, projects..2 * projects, WARM_UP).await?;
        trigger(&store, projects..2 * projects).await?;
        store.close().await?;
        let client = connect(url).await?;
        // Both sides begin with the same tables and nothing left to write.
        client.batch_execute("VACUUM ANALYZE").await?;
        client.batch_execute("CHECKPOINT").await?;
        Gauges::of(client).await
    })?;
    let (time, [before, after]) = settle(&place, &gauges)?;
    let cells = rows * COLUMNS;
    Ok(Run { rate: per_second(cells, time), cost: after.of_each(before, cells) })
}

/// Tells what the server has done so far.
struct Gauges {
    client: Client,
    /// The process whose children serve the connections.
    server: u32,
}

impl Gauges {
    async fn of(client: Client) -> AnyResult<Self> {
        let own: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await?.get(0);
        let server = parent(&own.to_string())?.ok_or("the server's process is not to be seen")?;
        Ok(Self { client, server })
    }

    async fn read(&self) -> AnyResult<Cost> {
        let sql = "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8";
        let log_bytes = self.client.query_one(sql, &[]).await?.get(0);
        let mut processor = Duration::ZERO;
        for process in std::fs::read_dir("/proc")? {
            let name = process?.file_name();
            let Some(name) = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            else {
                continue;
            };
            // A process may end while it is looked at.
            if parent(name).ok().flatten() == Some(self.server) {
                processor += processor_time(name.parse()?).unwrap_or_default();
            }
        }
        Ok(Cost { log_bytes, processor: processor.as_secs_f64() * 1_000_000.0 })
    }
}

/// The process that started this one.
fn parent(process: &str) -> AnyResult<Option<u32>> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    Ok(status.lines().find_map(|line| line.strip_prefix("PPid:")).and_then(|id| id.trim().parse().ok()))
}

async fn by_loops(
    place: &DataLocation,
    count: usize,
    projects: usize,
    rows: usize,
    gauges: &Gauges,
) -> AnyResult<(Duration, [Cost; 2])> {
    let loops = Loops::prepare(place.url().unwrap_or_default(), count).await?;
    loops.run(WARM_UP * COLUMNS).await?;
    let store = place.open().await?;
    trigger(&store, 0..projects).await?;
    store.close().await?;
    let before = gauges.read().await?;
    let time = loops.run(rows * COLUMNS).await?;
    Ok((time, [before, gauges.read().await?]))
}

/// The clock runs before anything is queued, so that no node begins too early.
fn by_nodes(
    place: &DataLocation,
    count: usize,
    projects: usize,
    gauges: &Gauges,
) -> AnyResult<(Duration, [Cost; 2])> {
    let mut helpers = nodes::start(place.url().unwrap_or_default(), count)?;
    let runtime = runtime()?;
    let store = runtime.block_on(place.open())?;
    nodes::race(&mut helpers, || runtime.block_on(all_settled(&store, projects..2 * projects)))?;
    let before = runtime.block_on(gauges.read())?;
    let start = Instant::now();
    runtime.block_on(async {
        trigger(&store, 0..projects).await?;
        all_settled(&store, 0..projects).await
    })?;
    let time = start.elapsed();
    let after = runtime.block_on(gauges.read())?;
    drop(helpers);
    runtime.block_on(store.close())?;
    Ok((time, [before, after]))
}
