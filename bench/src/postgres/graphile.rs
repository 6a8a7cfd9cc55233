//! graphile-worker on the same server: jobs that do nothing, with its local queue and batched completion.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::cluster::connect;
use super::nodes::{Helper, race};
use crate::any_result::AnyResult;
use crate::runtime::runtime;
use crate::store::DataLocation;

const SCRIPT: &str = include_str!("graphile.cjs");
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Works off so many jobs with so many processes; says how long that takes.
pub(crate) fn run(
    modules: &Path,
    scratch: &Path,
    place: &DataLocation,
    processes: usize,
    jobs: usize,
) -> AnyResult<Duration> {
    let url = place.url().ok_or("not a PostgreSQL database")?;
    let script = scratch.join("graphile.cjs");
    std::fs::write(&script, SCRIPT)?;
    let command = |task: &str| {
        let mut command = Command::new("node");
        command.arg(&script).arg(modules).args([url, task]);
        command
    };
    if !command("queue").arg(jobs.to_string()).status()?.success() {
        return Err("graphile-worker could not queue its jobs".into());
    }
    let mut workers: Vec<Helper> =
        (0..processes).map(|_| Helper::start(&mut command("work"))).collect::<AnyResult<_>>()?;
    let runtime = runtime()?;
    let client = runtime.block_on(connect(url))?;
    let tables = "SELECT NOT EXISTS (SELECT 1 FROM graphile_worker._private_jobs)";
    let is_done = runtime.block_on(client.prepare(tables))?;
    race(&mut workers, || {
        runtime.block_on(async {
            while !client.query_one(&is_done, &[]).await?.get::<_, bool>(0) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Ok(())
        })
    })
}
