//! Nodes: processes with an engine of their own and a provider that costs nothing, on one database.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rowmill_store::Store;
use rowmill_store_postgres::{Options, PostgresStore};

use crate::any_result::AnyResult;
use crate::runtime::runtime;
use crate::settling::start_engine;

/// A process that says when it is ready, begins when it is told to, and ends with its input.
#[derive(Debug)]
pub(crate) struct Helper(Child);

impl Helper {
    /// Starts the program and waits until it is ready.
    pub(crate) fn start(command: &mut Command) -> AnyResult<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("a process has no output")?;
        let helper = Self(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        if line.trim() == "ready" { Ok(helper) } else { Err("a process did not come up".into()) }
    }

    fn begin(&mut self) -> AnyResult {
        let input = self.0.stdin.as_mut().ok_or("a process has no input")?;
        Ok(input.write_all(b"go\n")?)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Lets all begin at once; says how long it takes until `is_done`.
pub(crate) fn race(helpers: &mut [Helper], is_done: impl FnOnce() -> AnyResult) -> AnyResult<Duration> {
    let start = Instant::now();
    helpers.iter_mut().try_for_each(Helper::begin)?;
    is_done()?;
    Ok(start.elapsed())
}

/// So many nodes on this database.
pub(crate) fn start(url: &str, count: usize) -> AnyResult<Vec<Helper>> {
    let own = std::env::current_exe()?;
    (0..count).map(|_| Helper::start(Command::new(&own).args(["--node", url]).env_clear())).collect()
}

/// What a node's process does.
pub(crate) fn serve(url: &str) -> AnyResult {
    let runtime = runtime()?;
    let store = runtime.block_on(PostgresStore::connect(url, Options::default()))?;
    let store: Arc<dyn Store> = Arc::new(store);
    writeln!(std::io::stdout(), "ready")?;
    let mut lines = std::io::stdin().lines();
    if lines.next().is_none() {
        return Ok(());
    }
    let entered = runtime.enter();
    let engine = start_engine(&store, u128::from(std::process::id()));
    drop(entered);
    // Whoever started this ends it by closing its input.
    let _ = lines.next();
    runtime.block_on(engine.stop());
    Ok(())
}
