//! Builds the web application with npm, in a copy of `web/` below the target directory, and packs what comes
//! out for the binary.

use std::env::var_os;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type AnyResult<T = ()> = Result<T, Box<dyn Error>>;

/// What is never copied: made here, or of no use to a build.
const LEFT_OUT: &[&str] = &["node_modules", "dist", "generated", "tests"];

fn main() -> AnyResult {
    let here = folder("CARGO_MANIFEST_DIR")?;
    let out = folder("OUT_DIR")?;
    let root = here.ancestors().nth(2).ok_or("crates/web lies two folders below the root")?;
    let (web, document) = (root.join("web"), root.join("openapi.json"));
    for path in [&here.join("pack.mjs"), &document] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let built = build(&web, &document, &out).and_then(|dist| pack(&here, &dist, &out));
    match built {
        Ok(()) => Ok(()),
        Err(fault) if var_os("PROFILE").is_some_and(|profile| profile == "release") => Err(format!(
            "the web application cannot be built: {fault}\nInstall Node.js 20 or newer with npm; building needs both."
        )
        .into()),
        Err(fault) => {
            let fault = fault.to_string().replace('\n', " | ");
            println!("cargo::warning=this binary has no web application: {fault}");
            Ok(stand_in(&out)?)
        }
    }
}

fn folder(name: &str) -> AnyResult<PathBuf> {
    var_os(name).map(PathBuf::from).ok_or_else(|| format!("cargo sets {name}").into())
}

/// Copies the sources, installs what they need if that changed, and builds them. Says where the result is.
fn build(web: &Path, document: &Path, out: &Path) -> AnyResult<PathBuf> {
    let copy = out.join("web");
    if !web.join("package.json").exists() {
        // It may come: then cargo must look again.
        println!("cargo::rerun-if-changed={}", web.display());
        return Err(format!("{} is missing", web.join("package.json").display()).into());
    }
    fs::create_dir_all(&copy)?;
    clear(&copy)?;
    copy_into(web, &copy)?;
    // The types of the API are made from the document, which lies beside the sources.
    fs::copy(document, out.join("openapi.json"))?;
    install(&copy)?;
    npm(&copy, &["run", "build"])?;
    Ok(copy.join("dist"))
}

/// Removes what an earlier build left, save what was installed.
fn clear(copy: &Path) -> AnyResult {
    for entry in fs::read_dir(copy)? {
        let path = entry?.path();
        if path.ends_with("node_modules") {
            continue;
        }
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

fn copy_into(from: &Path, to: &Path) -> AnyResult {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if LEFT_OUT.contains(&name) {
            continue;
        }
        println!("cargo::rerun-if-changed={}", path.display());
        let target = to.join(name);
        if path.is_dir() {
            fs::create_dir_all(&target)?;
            copy_into(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// `npm ci`, unless the same list was installed before.
fn install(copy: &Path) -> AnyResult {
    let lock = fs::read_to_string(copy.join("package-lock.json"))
        .map_err(|error| format!("web/package-lock.json: {error}"))?;
    // Written last, so an installation that was cut short is begun again.
    let stamp = copy.join("node_modules/.installed-from");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    npm(copy, &["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"])?;
    fs::create_dir_all(copy.join("node_modules"))?;
    Ok(fs::write(stamp, lock)?)
}

fn npm(folder: &Path, arguments: &[&str]) -> AnyResult {
    run(Command::new("npm").args(arguments).current_dir(folder))
}

/// Compresses and hashes the files, and writes `files.rs`, which names them.
fn pack(here: &Path, dist: &Path, out: &Path) -> AnyResult {
    let packed = out.join("packed");
    if packed.exists() {
        fs::remove_dir_all(&packed)?;
    }
    run(Command::new("node").arg(here.join("pack.mjs")).arg(dist).arg(packed).arg(out.join("files.rs")))
}

/// A page that says what is missing, for those who build without npm.
fn stand_in(out: &Path) -> std::io::Result<()> {
    let page = "<!doctype html><html lang=\\\"en\\\"><head><title>Rowmill</title></head><body><p>This binary was built \
                without the web application; the build printed why as a warning. Install Node.js with npm and build it \
                again.</p></body></html>";
    fs::write(
        out.join("files.rs"),
        format!(
            "const FILES: &[File] = &[File {{ path: \"index.html\", bytes: b\"{page}\", gzip: None, brotli: None, \
             hash: \"{}\" }}];\n",
            "0".repeat(64)
        ),
    )
}

/// Runs to the end; what it said is shown only if it fails.
fn run(command: &mut Command) -> AnyResult {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Err(format!("{name} {:?} failed\n{said}", command.get_args().collect::<Vec<_>>()).into())
}
