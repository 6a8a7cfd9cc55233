//! Clients that others' generators make from the document, type-checked, and used on the real service.
//!
//! The commands are those of docs/clients.md. What the clients do is in xtask/clients.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::process::{AnyResult, program, root, run, run_within};
use crate::server::{self, Server};
use crate::tools;

const PAGE: &str = "docs/clients.md";
const SCENARIOS: &str = "xtask/clients";
/// The scenarios in TypeScript, one for each generator.
const TYPESCRIPT: [&str; 3] = ["openapi-fetch", "hey-api", "oazapfts"];
/// Ends a client that hangs.
const TIME_LIMIT: Duration = Duration::from_mins(2);

const SETTINGS: &[(&str, &str)] = &[
    ("ROWMILL_RATE_LIMIT_KEY", "0"),
    // A column of the scenarios asks the service itself.
    ("ROWMILL_ALLOW_PRIVATE", "127.0.0.1/32"),
];

pub(crate) fn test() -> AnyResult {
    let binary = server::build()?;
    let mut server = Server::start(&binary, SETTINGS)?;
    let workshop = Workshop::new(&binary, &server)?;
    let page = fs::read_to_string(root().join(PAGE))?;
    for command in shell_blocks(&page) {
        println!("{command}");
        run(workshop.command("sh").args(["-eu", "-c", command]))?;
    }
    workshop.check_python_is_whole()?;
    run(workshop.command("mypy").args(["--no-error-summary", "scenario.py"]))?;
    run(workshop.command("tsc").args(["--project", "."]))?;
    let outcome = workshop.use_clients();
    server.check_alive()?;
    outcome.map_err(|failure| format!("{failure}\nthe service's last words:\n{}", server.log_end()).into())
}

/// Where clients are made, and what they are made with.
struct Workshop {
    folder: PathBuf,
    path: OsString,
    variables: Vec<(&'static str, String)>,
}

impl Workshop {
    fn new(binary: &Path, server: &Server) -> AnyResult<Self> {
        let (python, npm) = (tools::python_of_clients()?, tools::npm_of_clients()?);
        // Below the packages, where programs look for them.
        let folder = npm.join("work");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        for entry in fs::read_dir(root().join(SCENARIOS))? {
            let entry = entry?;
            fs::copy(entry.path(), folder.join(entry.file_name()))?;
        }
        let system = std::env::var_os("PATH").unwrap_or_default();
        let own = [python, npm.join("node_modules/.bin"), binary.parent().unwrap_or(binary).to_owned()];
        let path = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&system)))?;
        let variables = vec![("ROWMILL_PUBLIC_URL", server.url()), ("CLIENT_KEY", server.create_key()?)];
        Ok(Self { folder, path, variables })
    }

    /// A program that runs where the clients are.
    fn command(&self, name: &str) -> Command {
        let mut command = program(name);
        command.current_dir(&self.folder).env("PATH", &self.path).envs(self.variables.iter().cloned());
        // The clients' address, by a name that is none of the service's settings.
        command.envs(self.variables.first().map(|(_, url)| ("CLIENT_URL", url)));
        command
    }

    /// The generator leaves out what it cannot read, and says so among much else.
    fn check_python_is_whole(&self) -> AnyResult {
        let document: Value = serde_json::from_str(&fs::read_to_string(self.folder.join("openapi.json"))?)?;
        let paths = document.get("paths").and_then(Value::as_object).ok_or("openapi.json has no paths")?;
        let operations: usize = paths.values().filter_map(Value::as_object).map(serde_json::Map::len).sum();
        let mut modules = 0;
        for tag in fs::read_dir(self.folder.join("rowmill_client/api"))? {
            let tag = tag?.path();
            if tag.is_dir() {
                let files = fs::read_dir(tag)?.filter_map(Result::ok);
                modules += files.filter(|file| is_operation(&file.file_name().to_string_lossy())).count();
            }
        }
        if modules == operations {
            return Ok(());
        }
        Err(format!("openapi-python-client made {modules} of {operations} operations").into())
    }

    fn use_clients(&self) -> AnyResult {
        println!("openapi-python-client");
        run_within(TIME_LIMIT, self.command("python").arg("scenario.py"))?;
        for name in TYPESCRIPT {
            println!("{name}");
            let (source, bundle) = (format!("{name}.scenario.ts"), format!("--outfile={name}.mjs"));
            let options = ["--bundle", "--platform=node", "--format=esm", "--log-level=warning"];
            run(self.command("esbuild").arg(source).args(options).arg(bundle))?;
            run_within(TIME_LIMIT, self.command("node").arg(format!("{name}.mjs")))?;
        }
        Ok(())
    }
}

fn is_operation(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "py") && file != "__init__.py"
}

/// The commands of a page, block by block.
fn shell_blocks(page: &str) -> impl Iterator<Item = &str> {
    page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_a_page_are_found() {
        let page = "# Page\n\n```sh\none\ntwo\n```\n\n```ts\nno\n```\n\nText.\n\n```sh\nthree\n```\n";
        assert_eq!(shell_blocks(page).collect::<Vec<_>>(), ["one\ntwo\n", "three\n"]);
    }

    #[test]
    fn operations_are_told_from_the_rest() {
        assert!(is_operation("list_rows.py"));
        assert!(!is_operation("__init__.py") && !is_operation("__pycache__"));
    }
}
