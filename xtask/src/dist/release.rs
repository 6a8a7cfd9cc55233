//! `cargo xtask dist`: what is published for a release, in `target/dist`. A tarball and a Debian package, both with the stripped
//! binary, completions, manual pages, licence notices and the bill of materials, and the checksums of all.

use std::fs;
use std::path::{Path, PathBuf};

use super::contents::Contents;
use super::elf::{Linkage, Program};
use super::{deb, tarball};
use crate::process::{AnyResult, cargo, output, program, root, run};

pub(super) const CHECKSUMS: &str = "SHA256SUMS";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// A binary that exists already, instead of a new release build.
    pub(super) binary: Option<PathBuf>,
    /// Instead of `target/dist`.
    pub(super) folder: Option<PathBuf>,
    /// Instead of the workspace's.
    pub(super) version: Option<String>,
    /// Compresses less, for tests.
    pub(super) fast: bool,
}

/// What was made.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) folder: PathBuf,
    pub(super) tarball: PathBuf,
    pub(super) deb: Option<PathBuf>,
}

pub(crate) fn run_command(arguments: &[String]) -> AnyResult {
    let made = make(&Options::parse(arguments)?)?;
    println!("{}", made.folder.display());
    print!("{}", fs::read_to_string(made.folder.join(CHECKSUMS))?);
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> AnyResult<Self> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || rest.next().cloned().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--binary" => options.binary = Some(std::path::absolute(value()?)?),
                "--folder" => options.folder = Some(std::path::absolute(value()?)?),
                "--version" => options.version = Some(value()?),
                "--fast" => options.fast = true,
                other => return Err(format!("{other}: not an option of dist").into()),
            }
        }
        Ok(options)
    }
}

pub(super) fn make(options: &Options) -> AnyResult<Made> {
    let metadata = cargo_metadata::MetadataCommand::new().current_dir(root()).no_deps().exec()?;
    let target = metadata.target_directory.as_std_path();
    let own =
        metadata.packages.iter().find(|package| package.name == "rowmill").ok_or("no package rowmill")?;
    let version = options.version.clone().unwrap_or_else(|| own.version.to_string());
    let folder = options.folder.clone().unwrap_or_else(|| target.join("dist"));
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => build(target)?,
    };
    let kind = Program::read(&binary)?;
    match kind.linkage {
        Linkage::Static => {
            println!("the binary is static: it runs on every Linux for {}", kind.machine.name());
        }
        Linkage::Glibc { minor } => println!("the binary is not static: it needs glibc 2.{minor} or later"),
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let contents = Contents::make(&folder.join("contents"), &binary, kind, version, released_seconds()?)?;
    let tarball = tarball::make(&contents, &folder, options.fast)?;
    let deb = deb::make(&contents, &folder, options.fast)?;
    fs::copy(contents.sbom(), folder.join("rowmill.cdx.json"))?;
    fs::remove_dir_all(folder.join("contents"))?;
    write_checksums(&folder)?;
    Ok(Made { folder, tarball, deb })
}

/// Builds a static binary where the system can, or else one for its own C library.
fn build(target: &Path) -> AnyResult<PathBuf> {
    let mut arguments = vec!["build", "--release", "--locked", "--package", "rowmill"];
    let musl = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let mut place = target.to_owned();
    match missing_for(&musl) {
        None => {
            arguments.extend(["--target", &musl]);
            place.push(&musl);
        }
        Some(missing) => println!("no static binary: {missing}"),
    }
    run(cargo().args(arguments))?;
    Ok(place.join("release/rowmill"))
}

/// What a static build lacks, and how to get it.
fn missing_for(musl: &str) -> Option<String> {
    let installed = output(program("rustc").args(["--print", "target-libdir", "--target", musl]));
    if !installed.is_ok_and(|folder| Path::new(folder.trim()).exists()) {
        return Some(format!("the standard library for {musl} is missing (rustup target add {musl})"));
    }
    let has_compiler =
        program("musl-gcc").arg("--version").output().is_ok_and(|output| output.status.success());
    (!has_compiler).then(|| "musl-gcc is missing (on Debian: apt install musl-tools)".to_owned())
}

/// The time that all files get, so that the same commit gives the same archives.
fn released_seconds() -> AnyResult<String> {
    if let Ok(seconds) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(seconds);
    }
    Ok(output(program("git").args(["log", "-1", "--format=%ct"]))?.trim().to_owned())
}

fn write_checksums(folder: &Path) -> AnyResult {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name());
    }
    names.sort();
    let sums = output(program("sha256sum").args(names).current_dir(folder))?;
    Ok(fs::write(folder.join(CHECKSUMS), sums)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options() {
        let parse = |line: &str| {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Options::parse(&arguments)
        };
        assert_eq!(parse("").unwrap(), Options::default());
        let all = parse("--binary /bin/a --folder /tmp/b --version 1.2.3 --fast").unwrap();
        let (binary, folder) = (Some("/bin/a".into()), Some("/tmp/b".into()));
        assert_eq!(all, Options { binary, folder, version: Some("1.2.3".into()), fast: true });
        for wrong in ["--binary", "--fst", "musl"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
