//! The web application: its parts by themselves, and the whole of it in a real browser.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{AnyResult, output, program, root, run, run_within};
use crate::{server, tools};

/// The browser's tests bound themselves; this ends a run that hangs.
const TIME_LIMIT: Duration = Duration::from_mins(20);
/// Names a browser to use instead of the system's.
const BROWSER_VARIABLE: &str = "CHROMIUM";
/// Where a system keeps Chromium, under its several names.
const SYSTEM: &[&str] = &[
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/snap/bin/chromium",
];

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
        .env(BROWSER_VARIABLE, chromium()?);
    println!("screenshots go to {}", web.join("tests/screenshots").display());
    run_within(TIME_LIMIT, &mut command)
}

fn npm(folder: &Path) -> std::process::Command {
    let mut command = program("npm");
    command.current_dir(folder);
    command
}

/// A Chromium: the one that is named, else the system's, else one from npm.
fn chromium() -> AnyResult<PathBuf> {
    if let Some(named) = std::env::var_os(BROWSER_VARIABLE) {
        return Ok(named.into());
    }
    if let Some(found) = SYSTEM.iter().map(Path::new).find(|path| path.exists()) {
        return Ok(found.to_owned());
    }
    let folder = tools::chromium()?;
    let script =
        "import('@sparticuz/chromium').then(async (it) => console.log(await it.default.executablePath()))";
    let path = output(program("node").args(["--eval", script]).current_dir(folder))?;
    Ok(path.trim().into())
}
