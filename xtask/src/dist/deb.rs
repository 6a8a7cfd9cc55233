//! The Debian package: the binary, a systemd unit that runs it as a user of its own, and settings in `/etc/rowmill`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::contents::{COMPLETIONS, Contents};
use super::elf::Linkage;
use crate::process::{AnyResult, output, program, root, run};

/// Of the package, for the same version of the program.
const REVISION: u32 = 1;
const SETTINGS: &str = "etc/rowmill/rowmill.env";
const PAPERS: &str = "usr/share/doc/rowmill";
/// Where Debian's packages of each shell look, in the order of [`COMPLETIONS`].
const COMPLETIONS_PLACES: &[&str] = &[
    "usr/share/bash-completion/completions/rowmill",
    "usr/share/zsh/vendor-completions/_rowmill",
    "usr/share/fish/vendor_completions.d/rowmill.fish",
];

/// `None` where the system has no dpkg-deb.
pub(super) fn make(contents: &Contents, folder: &Path, fast: bool) -> AnyResult<Option<PathBuf>> {
    if program("dpkg-deb").arg("--version").output().is_err() {
        println!("no Debian package: dpkg-deb is missing");
        return Ok(None);
    }
    let tree = folder.join("deb");
    lay_out(contents, &tree)?;
    fs::create_dir_all(tree.join("DEBIAN"))?;
    for script in ["postinst", "prerm", "postrm"] {
        copy(&root().join("packaging/deb").join(script), &tree.join("DEBIAN").join(script), 0o755)?;
    }
    fs::write(tree.join("DEBIAN/conffiles"), format!("/{SETTINGS}\n"))?;
    fs::write(tree.join("DEBIAN/md5sums"), md5sums(&tree)?)?;
    fs::write(tree.join("DEBIAN/control"), control(contents, size_kib(&tree)?))?;
    run(program("chmod").args(["--recursive", "u+rwX,go+rX,go-w"]).arg(&tree))?;
    fs::set_permissions(tree.join(SETTINGS), fs::Permissions::from_mode(0o600))?;
    let deb = folder.join(format!(
        "rowmill_{}_{}.deb",
        debian_version(contents),
        contents.program.machine.debian()
    ));
    let compression: &[&str] = if fast { &["-Zgzip", "-z1"] } else { &["-Zxz", "-z6"] };
    run(program("dpkg-deb")
        .env("SOURCE_DATE_EPOCH", &contents.seconds)
        .args(["--root-owner-group", "--build"])
        .args(compression)
        .arg(&tree)
        .arg(&deb))?;
    fs::remove_dir_all(&tree)?;
    Ok(Some(deb))
}

fn lay_out(contents: &Contents, tree: &Path) -> AnyResult {
    let from = |name: &str| contents.folder.join(name);
    let packaging = root().join("packaging");
    let changes = tree.join(PAPERS).join("changelog.Debian");
    copy(&from("rowmill"), &tree.join("usr/bin/rowmill"), 0o755)?;
    copy(&from("rowmill.service"), &tree.join("usr/lib/systemd/system/rowmill.service"), 0o644)?;
    copy(&packaging.join("deb/rowmill.env"), &tree.join(SETTINGS), 0o600)?;
    copy(&packaging.join("deb/copyright"), &tree.join(PAPERS).join("copyright"), 0o644)?;
    copy(&packaging.join("deb/lintian-overrides"), &tree.join("usr/share/lintian/overrides/rowmill"), 0o644)?;
    fs::write(&changes, debian_changes(contents)?)?;
    run(program("gzip").args(["--no-name", "-9"]).arg(changes))?;
    for ((_, name), place) in COMPLETIONS.iter().zip(COMPLETIONS_PLACES) {
        copy(&from("completions").join(name), &tree.join(place), 0o644)?;
    }
    for (name, to) in [
        ("CHANGELOG.md", "changelog"),
        ("third-party-notices.txt", "third-party-notices.txt"),
        ("sbom.cdx.json", "rowmill.cdx.json"),
    ] {
        compress(&from(name), &tree.join(PAPERS).join(to))?;
    }
    for entry in fs::read_dir(from("man"))? {
        let entry = entry?;
        compress(&entry.path(), &tree.join("usr/share/man/man1").join(entry.file_name()))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, mode: u32) -> AnyResult {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(from, to).map_err(|error| format!("{}: {error}", from.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

/// Copies it as `to.gz`.
fn compress(from: &Path, to: &Path) -> AnyResult {
    copy(from, to, 0o644)?;
    run(program("gzip").args(["--no-name", "-9"]).arg(to))
}

/// In Debian's order `~` comes before everything: a pre-release is older than its release.
fn debian_version(contents: &Contents) -> String {
    format!("{}-{REVISION}", contents.version.replacen('-', "~", 1))
}

/// As Debian's tools take it from the same variables.
fn maintainer() -> String {
    let of =
        |variable: &str, otherwise: &str| std::env::var(variable).unwrap_or_else(|_| otherwise.to_owned());
    format!("{} <{}>", of("DEBFULLNAME", "The Rowmill authors"), of("DEBEMAIL", "rowmill@localhost"))
}

/// Debian wants a history in a form of its own; ours is `changelog.gz` beside it.
fn debian_changes(contents: &Contents) -> AnyResult<String> {
    let date =
        output(program("date").args(["--utc", "--rfc-email", &format!("--date=@{}", contents.seconds)]))?;
    Ok(format!(
        "rowmill ({}) unstable; urgency=medium\n\n  * Release {}. What changed is in changelog.gz.\n\n -- {}  {}\n",
        debian_version(contents),
        contents.version,
        maintainer(),
        date.trim(),
    ))
}

fn control(contents: &Contents, size_kib: u64) -> String {
    let libraries = match contents.program.linkage {
        Linkage::Static => String::new(),
        Linkage::Glibc { minor } => format!(", libc6 (>= 2.{minor}), libgcc-s1"),
    };
    format!(
        "Package: rowmill\nVersion: {}\nArchitecture: {}\nMaintainer: {}\n\
         Installed-Size: {size_kib}\nDepends: adduser, ca-certificates{libraries}\nSuggests: postgresql\n\
         Section: database\nPriority: optional\nDescription: table whose columns fill themselves\n \
         Rowmill stores tables in which a cell can be the answer of a language\n model, an HTTP request, an e-mail \
         finder or a web page. One binary has the\n server, the web app, the workers and a command-line client.\n",
        debian_version(contents),
        contents.program.machine.debian(),
        maintainer(),
    )
}

/// Of every file, by its path from the root of the system.
fn md5sums(tree: &Path) -> AnyResult<String> {
    let mut command = program("md5sum");
    command.current_dir(tree).args(files(tree)?);
    output(&mut command)
}

fn files(tree: &Path) -> AnyResult<Vec<String>> {
    let listed =
        output(program("find").args([".", "-type", "f", "-not", "-path", "./DEBIAN/*"]).current_dir(tree))?;
    let settings = format!("./{SETTINGS}");
    let files = listed.lines().filter(|line| *line != settings);
    let mut files: Vec<String> = files.map(|line| line.trim_start_matches("./").to_owned()).collect();
    files.sort();
    Ok(files)
}

fn size_kib(tree: &Path) -> AnyResult<u64> {
    let mut bytes = 0;
    for file in files(tree)? {
        bytes += fs::metadata(tree.join(file))?.len();
    }
    Ok(bytes.div_ceil(1024))
}

#[cfg(test)]
mod tests {
    use super::super::elf::{Machine, Program};
    use super::*;

    fn contents(version: &str, linkage: Linkage) -> Contents {
        let program = Program { machine: Machine::X86_64, linkage };
        Contents { folder: PathBuf::new(), program, version: version.into(), seconds: "0".into() }
    }

    #[test]
    fn the_control_file() {
        let dynamic = control(&contents("1.2.0-rc.1", Linkage::Glibc { minor: 34 }), 7);
        for line in [
            "Version: 1.2.0~rc.1-1",
            "Architecture: amd64",
            "Installed-Size: 7",
            "Depends: adduser, ca-certificates, libc6 (>= 2.34), libgcc-s1",
        ] {
            assert!(dynamic.lines().any(|own| own == line), "{line} in {dynamic}");
        }
        assert!(
            control(&contents("1.2.0", Linkage::Static), 7).contains("\nDepends: adduser, ca-certificates\n")
        );
    }
}
