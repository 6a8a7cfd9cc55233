//! Claim and settle with several nodes on one database, beside the bare loop and graphile-worker.

use std::path::Path;
use std::time::Duration;

use super::{bare_loop, connect, graphile, nodes};
use crate::report::{Goal, Pairs, Report};
use crate::settling::{COLUMNS, all_settled, furnished};
use crate::store::{Backend, Place, runtime};
use crate::{Effort, Outcome, per_second};

/// Nodes, and the projects they work on.
const WAYS: [(usize, usize); 5] = [(1, 4), (2, 4), (4, 4), (1, 1), (4, 1)];
/// Jobs that graphile-worker works off: it takes several times as long for each.
const JOBS: usize = 30_000;

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
    for (count, projects) in WAYS {
        let mut beside_bare = Pairs::default();
        let mut beside_graphile = Pairs::default();
        let mut log = Pairs::default();
        for _ in 0..effort.rounds.min(3) {
            let bare = run(backend, scratch, projects, rows, |place| {
                let url = place.url().ok_or("not a PostgreSQL database")?;
                runtime()?.block_on(bare_loop::run(url, count, rows * COLUMNS))
            })?;
            let own = run(backend, scratch, projects, rows, |place| by_nodes(place, count, projects))?;
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

/// Furnishes a database, lets all cells be settled in it, and looks at its log.
fn run(
    backend: &Backend,
    scratch: &Path,
    projects: usize,
    rows: usize,
    settle: impl FnOnce(&Place) -> Outcome<Duration>,
) -> Outcome<Run> {
    let place = backend.place(scratch)?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let store = furnished(&place, projects, rows).await?;
        Outcome::Ok(store.close().await?)
    })?;
    let log = || -> Outcome<f64> {
        runtime.block_on(async {
            let client = connect(place.url().unwrap_or_default()).await?;
            let sql = "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8";
            Ok(client.query_one(sql, &[]).await?.get(0))
        })
    };
    // Both sides begin with the same tables and nothing left to write.
    runtime.block_on(async {
        let client = connect(place.url().unwrap_or_default()).await?;
        client.batch_execute("VACUUM ANALYZE").await?;
        Outcome::Ok(client.batch_execute("CHECKPOINT").await?)
    })?;
    let before = log()?;
    let time = settle(&place)?;
    let cells = rows * COLUMNS;
    Ok(Run { rate: per_second(cells, time), log_bytes: (log()? - before) / crate::count(cells) })
}

fn by_nodes(place: &Place, count: usize, projects: usize) -> Outcome<Duration> {
    let url = place.url().ok_or("not a PostgreSQL database")?;
    let mut helpers = nodes::start(url, count)?;
    let runtime = runtime()?;
    let store = runtime.block_on(place.open())?;
    let time = nodes::race(&mut helpers, || runtime.block_on(all_settled(&store, projects)))?;
    drop(helpers);
    runtime.block_on(store.close())?;
    Ok(time)
}
