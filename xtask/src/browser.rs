//! The web application: its parts by themselves, and the whole of it in a real browser.

use std::path::Path;
use std::time::Duration;

use crate::process::{AnyResult, program, root, run, run_within};
use crate::{server, tools};

/// The browser's tests bound themselves; this ends a run that hangs.
const TIME_LIMIT: Duration = Duration::from_mins(35);

pub(crate) fn test() -> AnyResult {
    let binary = server::build()?;
    let web = root().join("web");
    tools::web(&web)?;
    // Also makes the types of the API, which the tests read.
    run(npm(&web).args(["run", "--silent", "check"]))?;
    run(npm(&web).args(["run", "--silent", "test"]))?;
    let mut command = npm(&web);
    command
        .args(["run", "--silent", "test:browser"])
        .env("ROWMILL_BIN", binary)
        .env(tools::BROWSER_VARIABLE, tools::browser()?);
    println!("screenshots go to {}", web.join("tests/screenshots").display());
    run_within(TIME_LIMIT, &mut command)
}

fn npm(folder: &Path) -> std::process::Command {
    let mut command = program("npm");
    command.current_dir(folder);
    command
}
