//! The tarball: one folder, named after the version and the processor.

use std::fs;
use std::path::{Path, PathBuf};

use super::contents::Contents;
use crate::process::{AnyResult, program, run};

pub(super) fn make(contents: &Contents, folder: &Path, fast: bool) -> AnyResult<PathBuf> {
    let Contents { program: kind, version, seconds, .. } = contents;
    let name = format!("rowmill-{version}-{}-linux-{}", kind.machine.name(), kind.linkage.name());
    let archive = folder.join(format!("{name}.tar"));
    // Whoever builds it and when must not show: owner, order and times are fixed.
    run(program("tar")
        .args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"])
        .args([
            "--mode=u+rwX,go+rX,go-w",
            &format!("--mtime=@{seconds}"),
            &format!("--transform=s,^[.],{name},"),
        ])
        .arg("--file")
        .arg(&archive)
        .arg("--directory")
        .arg(&contents.folder)
        .arg("."))?;
    run(program("gzip").args(["--no-name", if fast { "-1" } else { "-9" }]).arg(&archive))?;
    let archive = archive.with_extension("tar.gz");
    fs::metadata(&archive)?;
    Ok(archive)
}
