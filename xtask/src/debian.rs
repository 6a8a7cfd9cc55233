//! Programs from Debian's packages, unpacked below the target directory: nothing is installed into the system, and nobody
//! needs to be root. What the system has already is used from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{AnyResult, program, root, run, run_within};
use crate::tools;

/// The packages, a line each.
const LIST: &str = "xtask/debian.txt";
const DOWNLOAD_LIMIT: Duration = Duration::from_mins(5);
/// Where packages and systems have their programs.
const PLACES: &[&str] = &["usr/sbin", "usr/bin", "usr/local/sbin", "usr/local/bin"];

/// Where the packages were unpacked.
#[derive(Debug)]
pub(crate) struct Debian {
    tree: PathBuf,
}

impl Debian {
    /// Downloads and unpacks the packages, with what they need that the system has not. Where that cannot be done, there are
    /// only the system's own programs.
    pub(crate) fn get() -> AnyResult<Self> {
        let folder = tools::folder()?.join("debian");
        let tree = folder.join("tree");
        if let Err(reason) = tools::install(&folder, &[&root().join(LIST)], || unpack(&folder, &tree)) {
            println!("Debian's packages cannot be had: {reason}");
        }
        Ok(Self { tree })
    }

    /// The program, ready to be called; `None` if neither the packages nor the system have it.
    pub(crate) fn program(&self, name: &str) -> Option<Command> {
        if let Some(unpacked) = find(&self.tree, name) {
            let mut command = program(unpacked);
            command.env("LD_LIBRARY_PATH", self.libraries());
            return Some(command);
        }
        find(Path::new("/"), name).map(program)
    }

    pub(crate) fn tree(&self) -> &Path {
        &self.tree
    }

    /// `usr/lib/x86_64-linux-gnu`, as the processor is called.
    fn libraries(&self) -> std::ffi::OsString {
        let folders = fs::read_dir(self.tree.join("usr/lib")).into_iter().flatten().flatten();
        let folders = folders.map(|entry| entry.path());
        let own = folders.filter(|path| path.to_string_lossy().ends_with("-linux-gnu"));
        std::env::join_paths(own).unwrap_or_default()
    }
}

fn find(tree: &Path, name: &str) -> Option<PathBuf> {
    PLACES.iter().map(|place| tree.join(place).join(name)).find(|path| path.is_file())
}

fn unpack(folder: &Path, tree: &Path) -> AnyResult {
    for own in ["lists/partial", "archives/partial", "tree"] {
        fs::create_dir_all(folder.join(own))?;
    }
    let packages = fs::read_to_string(root().join(LIST))?;
    run_within(DOWNLOAD_LIMIT, apt_get(folder).arg("update"))?;
    let install = ["--yes", "--no-install-recommends", "--download-only", "install"];
    run_within(DOWNLOAD_LIMIT, apt_get(folder).args(install).args(packages.split_whitespace()))?;
    for entry in fs::read_dir(folder.join("archives"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            run(program("dpkg-deb").arg("--extract").arg(path).arg(tree))?;
        }
    }
    for own in ["lists", "archives"] {
        fs::remove_dir_all(folder.join(own))?;
    }
    Ok(())
}

/// apt-get with lists and archives of its own, so that it needs no lock and no root.
fn apt_get(folder: &Path) -> Command {
    let mut command = program("apt-get");
    command.args(["-qq", "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root"]);
    for (option, own) in
        [("Dir::State::Lists", "lists"), ("Dir::Cache", ""), ("Dir::Cache::Archives", "archives")]
    {
        command.arg("-o").arg(format!("{option}={}", folder.join(own).display()));
    }
    command
}
