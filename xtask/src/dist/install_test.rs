//! The step `package`: a release is made from the binary that the tests use, unpacked and compared with its checksums; its
//! Debian package is installed, started, upgraded and removed. That happens in a copy of the system that is thrown away: an
//! overlay over `/` in namespaces of its own, so it needs root on a system with dpkg.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::release::{CHECKSUMS, Made, Options, make};
use super::{alert_rules, containers};
use crate::process::{AnyResult, cargo, output, program, run, run_within};
use crate::server;

const LIMIT: Duration = Duration::from_mins(2);
const NEW: &str = "0.0.2";
const OLD: &str = "0.0.1";
const SCRIPT: &str = "packaging/deb/test-install.sh";
/// Runs the first in a copy of the system.
const IN_A_COPY: &str = "packaging/deb/in-a-copy.sh";

/// In its large form, `cargo install` builds and installs the binary, and Debian's own linter looks at the package: both take
/// longer than all the rest.
pub(crate) fn test(large: bool) -> AnyResult {
    containers::lint()?;
    alert_rules::test()?;
    let folder = crate::tools::folder()?.join("package");
    if large {
        install_with_cargo(&folder.join("installed"))?;
    }
    let made = make(&Options {
        binary: Some(server::build()?),
        folder: Some(folder.join("made")),
        version: Some(NEW.to_owned()),
        fast: true,
    })?;
    let tested = check_archive(&made).and_then(|()| check_package(made.deb.as_deref(), &folder, large));
    fs::remove_dir_all(&folder)?;
    tested
}

fn check_package(deb: Option<&Path>, folder: &Path, large: bool) -> AnyResult {
    let Some(deb) = deb else {
        println!("skipped: no Debian package can be made here");
        return Ok(());
    };
    if large {
        lintian(deb)?;
    }
    install(&older(deb, folder)?, deb, folder)
}

/// The checksums hold, and what is unpacked runs.
fn check_archive(made: &Made) -> AnyResult {
    run(program("sha256sum").args(["--check", "--quiet", CHECKSUMS]).current_dir(&made.folder))?;
    let unpacked = made.folder.join("unpacked");
    fs::create_dir_all(&unpacked)?;
    run(program("tar")
        .args(["--extract", "--strip-components=1", "--file"])
        .arg(&made.tarball)
        .current_dir(&unpacked))?;
    for name in [
        "LICENSE",
        "CHANGELOG.md",
        "INSTALL.md",
        "completions/_rowmill",
        "completions/rowmill.bash",
        "completions/rowmill.fish",
        "man/rowmill.1",
        "rowmill.service",
        "sbom.cdx.json",
        "third-party-notices.txt",
    ] {
        let length = fs::metadata(unpacked.join(name))
            .map_err(|error| format!("{name} in the tarball: {error}"))?
            .len();
        if length == 0 {
            return Err(format!("{name} in the tarball is empty").into());
        }
    }
    check_version(&unpacked.join("rowmill"))
}

/// As the README says it, but without optimizations, to be quicker.
fn install_with_cargo(folder: &Path) -> AnyResult {
    let arguments = ["install", "--path", "crates/cli", "--locked", "--debug", "--root"];
    run(cargo().args(arguments).arg(folder))?;
    check_version(&folder.join("bin/rowmill"))
}

fn check_version(binary: &Path) -> AnyResult {
    let version = output(program(binary).arg("--version"))?;
    if version.starts_with("rowmill ") { Ok(()) } else { Err(format!("--version says {version}").into()) }
}

/// The same package under an older version, to upgrade from.
fn older(deb: &Path, folder: &Path) -> AnyResult<PathBuf> {
    let (tree, old) = (folder.join("older"), folder.join("older.deb"));
    run(program("dpkg-deb").arg("--raw-extract").arg(deb).arg(&tree))?;
    let control = fs::read_to_string(tree.join("DEBIAN/control"))?;
    let (from, to) = (format!("\nVersion: {NEW}"), format!("\nVersion: {OLD}"));
    fs::write(tree.join("DEBIAN/control"), control.replace(&from, &to))?;
    run(program("dpkg-deb").args(["--root-owner-group", "-Zgzip", "-z1", "--build"]).arg(tree).arg(&old))?;
    Ok(old)
}

/// Where it is installed.
fn lintian(deb: &Path) -> AnyResult {
    if program("lintian").arg("--version").output().is_err() {
        println!("skipped: lintian is not installed");
        return Ok(());
    }
    run(program("lintian")
        .args(["--allow-root", "--fail-on", "error,warning", "--tag-display-limit", "0"])
        .arg(deb))
}

fn install(old: &Path, new: &Path, folder: &Path) -> AnyResult {
    if let Some(reason) = missing()? {
        println!("skipped: the Debian package is not installed: {reason}");
        return Ok(());
    }
    let scratch = scratch(folder)?;
    let port = server::free_address()?.port().to_string();
    let arguments = ["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh"];
    let mut command = program("unshare");
    command.args(arguments).arg(IN_A_COPY).arg(scratch).arg(SCRIPT).arg(old).arg(new).arg(port);
    run_within(LIMIT, &mut command)
}

fn scratch(folder: &Path) -> AnyResult<PathBuf> {
    let scratch = folder.join("copy");
    fs::create_dir_all(&scratch)?;
    Ok(scratch)
}

/// Why it cannot be installed here.
fn missing() -> AnyResult<Option<String>> {
    if output(program("id").arg("--user"))?.trim() != "0" {
        return Ok(Some("that needs root".to_owned()));
    }
    for needed in ["dpkg", "dpkg-query", "unshare", "setpriv", "adduser", "deb-systemd-helper"] {
        let found = program("sh").args(["-c", &format!("command -v {needed}")]).output()?;
        if !found.status.success() {
            return Ok(Some(format!("{needed} is missing")));
        }
    }
    let probe = "d=/tmp && mount -t tmpfs tmpfs $d && mkdir $d/u $d/w $d/r && \
                 mount -t overlay overlay -o lowerdir=/,upperdir=$d/u,workdir=$d/w $d/r";
    let probed =
        program("unshare").args(["--mount", "--propagation", "private", "sh", "-c", probe]).output()?;
    let reason = String::from_utf8_lossy(&probed.stderr).trim().to_owned();
    Ok((!probed.status.success()).then(|| format!("the system lets nobody mount an overlay: {reason}")))
}
