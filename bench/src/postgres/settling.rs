//! Claim and settle with several nodes on one database, beside the bare loop and graphile-worker.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio_postgres::Client;

use super::bare_loop::Loops;
use super::{connect, graphile, nodes};
use crate::report::{Goal, Pairs, Report};
use crate::settling::{COLUMNS, all_settled, furnish, trigger};
use crate::store::{Backend, Place, runtime};
use crate::{Effort, Outcome, per_second};

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
    /// Bytes of the database's log for each cell.
    log_bytes: f64,
}

pub(crate) fn measure(
    backend: &Backend,
    scratch: &Path,
    rows: usize,
    modules: Option<&Path>,
    effort: &Effort,
    report: &mut Report,
) -> Outcome {
    let rows = rows.min(60_000);
    let is_wanted = |count: &usize| effort.nodes.is_empty() || effort.nodes.contains(count);
    for (count, projects) in WAYS.into_iter().filter(|(count, _)| is_wanted(count)) {
        let mut beside_bare = Pairs::default();
        let mut beside_graphile = Pairs::default();
        let mut log = Pairs::default();
        for _ in 0..effort.rounds.min(3) {
            let bare = run(backend, scratch, projects, rows, |place, log| {
                runtime()?.block_on(by_loops(place, count, projects, rows, log))
            })?;
            let own =
                run(backend, scratch, projects, rows, |place, log| by_nodes(place, count, projects, log))?;
            beside_bare.push(own.rate, bare.rate);
            log.push(own.log_bytes, bare.log_bytes);
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
        if modules.is_some() && projects > 1 {
            let what = format!("the same beside graphile-worker, {}", several(count, "process", "processes"));
            report.pair(&what, "cells/s", &beside_graphile, Some(Goal::AtLeast(3.0)));
        }
    }
    Ok(())
}

/// Furnishes a database, lets all cells be settled in it, and looks at its log. `settle` says how long that took
/// and how long the log was when it began.
fn run(
    backend: &Backend,
    scratch: &Path,
    projects: usize,
    rows: usize,
    settle: impl FnOnce(&Place, &Log) -> Outcome<(Duration, f64)>,
) -> Outcome<Run> {
    let place = backend.place(scratch)?;
    let url = place.url().ok_or("not a PostgreSQL database")?;
    let runtime = runtime()?;
    let log = runtime.block_on(async {
        let store = place.open().await?;
        furnish(&store, 0..projects, rows).await?;
        furnish(&store, projects..2 * projects, WARM_UP).await?;
        trigger(&store, projects..2 * projects).await?;
        store.close().await?;
        let client = connect(url).await?;
        // Both sides begin with the same tables and nothing left to write.
        client.batch_execute("VACUUM ANALYZE").await?;
        client.batch_execute("CHECKPOINT").await?;
        Outcome::Ok(Log(client))
    })?;
    let (time, before) = settle(&place, &log)?;
    let cells = rows * COLUMNS;
    let after = runtime.block_on(log.bytes())?;
    Ok(Run { rate: per_second(cells, time), log_bytes: (after - before) / crate::count(cells) })
}

/// The database's log.
struct Log(Client);

impl Log {
    async fn bytes(&self) -> Outcome<f64> {
        let sql = "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8";
        Ok(self.0.query_one(sql, &[]).await?.get(0))
    }
}

async fn by_loops(
    place: &Place,
    count: usize,
    projects: usize,
    rows: usize,
    log: &Log,
) -> Outcome<(Duration, f64)> {
    let loops = Loops::prepare(place.url().unwrap_or_default(), count).await?;
    loops.run(WARM_UP * COLUMNS).await?;
    let store = place.open().await?;
    trigger(&store, 0..projects).await?;
    store.close().await?;
    let before = log.bytes().await?;
    Ok((loops.run(rows * COLUMNS).await?, before))
}

/// The clock runs before anything is queued, so that no node begins too early.
fn by_nodes(place: &Place, count: usize, projects: usize, log: &Log) -> Outcome<(Duration, f64)> {
    let mut helpers = nodes::start(place.url().unwrap_or_default(), count)?;
    let runtime = runtime()?;
    let store = runtime.block_on(place.open())?;
    nodes::race(&mut helpers, || runtime.block_on(all_settled(&store, projects..2 * projects)))?;
    let before = runtime.block_on(log.bytes())?;
    let start = Instant::now();
    runtime.block_on(async {
        trigger(&store, 0..projects).await?;
        all_settled(&store, 0..projects).await
    })?;
    let time = start.elapsed();
    drop(helpers);
    runtime.block_on(store.close())?;
    Ok((time, before))
}
