//! What browsers leave behind when the server is killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use rowmill_providers::render::{Browser, Limits};

use crate::stub_children::until;

/// Stands for a Chromium: it writes into its profile, says nothing, and ends with the server.
const BROWSER: &str = "#!/bin/sh\necho > Cookies\ncat <&3\n";

/// What this program does as a server: it starts a browser and waits for it, or it tidies up and ends.
pub(crate) fn behave(mode: &str, browser: &Path) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        if mode == "tidy" {
            return Browser::remove_leftovers().await;
        }
        let limits = Limits { time: Duration::from_mins(1), ..Limits::default() };
        _ = Browser::new(browser, 1, limits).version().await;
    });
    ExitCode::SUCCESS
}

/// Another server on this machine, whose temporary files are in this folder.
fn server(mode: &str, folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(format!("server={mode}")).arg(folder.join("browser")).env("TMPDIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

fn profiles(folder: &Path) -> Vec<PathBuf> {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let homes = entries(folder).filter(|path| path.is_dir());
    homes.flat_map(|home| entries(&home)).filter(|path| path.join("Cookies").exists()).collect()
}

pub(crate) async fn a_killed_server_leaves_no_profile() {
    let folder = std::env::temp_dir().join(format!("rowmill-leftovers-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("browser"), BROWSER).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(folder.join("browser")).status().unwrap().success());

    let mut killed = server("render", &folder);
    let left = until(|| profiles(&folder).pop()).await;
    let mut living = server("render", &folder);
    let kept = until(|| profiles(&folder).into_iter().find(|path| *path != left)).await;
    let tidy = || assert!(server("tidy", &folder).wait().unwrap().success());
    tidy();
    assert_eq!(profiles(&folder).len(), 2, "both servers live");

    // As `kill -9` does.
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(left.exists());
    tidy();
    assert_eq!(profiles(&folder), [kept]);
    assert!(!left.parent().unwrap().exists());
    living.kill().unwrap();
    living.wait().unwrap();
    tidy();
    assert!(profiles(&folder).is_empty());
    fs::remove_dir_all(folder).unwrap();
}
