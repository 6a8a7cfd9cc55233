//! The examples of the README and the guides, run as they stand on the page, on the real service.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{AnyResult, program, root, run, run_within};
use crate::server::{self, Server};
use crate::tools;

/// A page whose every example in one of [`LANGUAGES`] is run. They use the variables `API`, `KEY`, `PROJECT` and `COLUMN`.
struct Page {
    path: &'static str,
    /// Only the examples of this section.
    heading: Option<&'static str>,
    /// A word that each of its programs prints in the end.
    prints: &'static str,
}

const PAGES: &[Page] = &[
    Page { path: "README.md", heading: Some("Your first table"), prints: "\"success\": true" },
    Page { path: "docs/first-table.md", heading: None, prints: "Rotterdam" },
    Page { path: "docs/api-tour.md", heading: None, prints: "importedCount" },
    Page { path: "docs/provider-credentials.md", heading: None, prints: "CRM_TOKEN" },
    Page { path: "docs/keys.md", heading: None, prints: "\"secret\"" },
    Page { path: "docs/imports.md", heading: None, prints: "202 Accepted" },
    Page { path: "docs/column-types.md", heading: None, prints: "\"currency\"" },
    Page { path: "docs/costs.md", heading: None, prints: "my-model" },
    Page { path: "docs/webhooks-out.md", heading: Some("Outbound webhooks"), prints: "whsec_" },
    Page { path: "docs/switching.md", heading: None, prints: "importedCount" },
];
/// A language's word on a page, and the program it needs. The examples of a page in one language are one program.
const LANGUAGES: &[(&str, &str, RunExample)] = &[
    ("sh", "bash", Workshop::bash),
    ("sh", "zsh", Workshop::zsh),
    ("python", "python3", Workshop::python),
    ("ts", "node", Workshop::typescript),
];
type RunExample = fn(&Workshop, &str) -> AnyResult;
/// The address that pages name. The service under test has another one.
const ADDRESS_ON_PAGES: &str = "http://127.0.0.1:8080";
/// Ends an example that hangs.
const TIME_LIMIT: Duration = Duration::from_mins(1);
/// What the last example printed.
const PRINTED: &str = "printed";

pub(crate) fn run_all() -> AnyResult {
    let mut server = Server::start(&server::build()?, &[])?;
    let workshop = Workshop::new(&server)?;
    for page in PAGES {
        for (language, needed, run) in LANGUAGES {
            let example = page.example(language)?.replace(ADDRESS_ON_PAGES, &server.url());
            if example.is_empty() {
                continue;
            }
            if let Some(missing) = missing_tool(language, needed) {
                println!("{}, {needed}: not run, there is no {missing} here", page.path);
                continue;
            }
            println!("{}, {needed}", page.path);
            let outcome = run(&workshop, &example).and_then(|()| workshop.expect_printed(page.prints));
            server.check_alive()?;
            outcome.map_err(|failure| {
                format!("{}, {needed}: {failure}\nthe service's last words:\n{}", page.path, server.log_end())
            })?;
        }
    }
    Ok(())
}

impl Page {
    fn example(&self, language: &str) -> AnyResult<String> {
        let page = fs::read_to_string(root().join(self.path))?;
        let Some(heading) = self.heading else { return Ok(blocks(&page, language)) };
        let title =
            |section: &str| section.lines().next().map(|line| line.trim_start_matches("# ").to_owned());
        let section = page.split("\n## ").find(|section| title(section).as_deref() == Some(heading));
        let section = section.ok_or_else(|| format!("{} has no section {heading}", self.path))?;
        Ok(blocks(section, language))
    }
}

/// Where examples are run.
struct Workshop {
    folder: PathBuf,
    programs: PathBuf,
    api: String,
    key: String,
    project: String,
    column: String,
    data: PathBuf,
}

impl Workshop {
    fn new(server: &Server) -> AnyResult<Self> {
        let npm = tools::npm_of_clients()?;
        // Below the packages, where programs look for them.
        let folder = npm.join("examples");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        // Where `cargo build --release` puts it, seen from the repository's folder.
        let release = folder.join("target/release");
        fs::create_dir_all(&release)?;
        symlink(server.binary(), release.join("rowmill"))?;
        let (programs, key) = (npm.join("node_modules/.bin"), server.create_key()?);
        fs::write(folder.join("leads.csv"), "Email,Revenue\nada@example.com,1200\n")?;
        let (project, column) = make_project(server, &key)?;
        let (api, data) = (format!("{}/v4", server.url()), server.data_dir());
        Ok(Self { folder, programs, api, key, project, column, data })
    }

    fn command(&self, name: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = program(name);
        let variables =
            [("API", &self.api), ("KEY", &self.key), ("PROJECT", &self.project), ("COLUMN", &self.column)];
        command.current_dir(&self.folder).envs(variables).env("ROWMILL_DATA_DIR", &self.data);
        command
    }

    /// Runs an example and keeps what it prints.
    fn perform(&self, command: &mut Command) -> AnyResult {
        run_within(TIME_LIMIT, command.stdout(File::create(self.folder.join(PRINTED))?))
    }

    fn expect_printed(&self, expected: &str) -> AnyResult {
        let printed = fs::read_to_string(self.folder.join(PRINTED))?;
        if printed.contains(expected) {
            return Ok(());
        }
        Err(format!("it did not print {expected}:\n{printed}").into())
    }

    fn bash(&self, example: &str) -> AnyResult {
        self.perform(self.command("bash").args(["-eu", "-o", "pipefail", "-c", example]))
    }

    /// As pasted: an interactive shell knows no comments unless it is told to.
    fn zsh(&self, example: &str) -> AnyResult {
        let settings = ["-f", "-eu", "-o", "pipefail", "+o", "interactive_comments", "-c"];
        self.perform(self.command("zsh").args(settings).arg(example))
    }

    fn python(&self, example: &str) -> AnyResult {
        fs::write(self.folder.join("example.py"), example)?;
        self.perform(self.command("python3").arg("example.py"))
    }

    fn typescript(&self, example: &str) -> AnyResult {
        fs::write(self.folder.join("example.ts"), example)?;
        let checks = ["--noEmit", "--strict", "--skipLibCheck", "--target", "ES2022", "--module", "ESNext"];
        let kinds = ["--lib", "ES2023,DOM", "--types", "node", "--moduleDetection", "force"];
        let resolution = ["--moduleResolution", "bundler", "example.ts"];
        run(self.command(self.tool("tsc")).args(checks).args(kinds).args(resolution))?;
        let bundle = ["example.ts", "--platform=node", "--format=esm", "--log-level=warning"];
        run(self.command(self.tool("esbuild")).args(bundle).arg("--outfile=example.mjs"))?;
        self.perform(self.command("node").arg("example.mjs"))
    }

    fn tool(&self, name: &str) -> PathBuf {
        Path::new(&self.programs).join(name)
    }
}

/// A project for examples that are about something else, and one of its columns.
fn make_project(server: &Server, key: &str) -> AnyResult<(String, String)> {
    let columns = json!([{ "templateId": "manual", "header": "Email" }]);
    let answer = server.post(key, "/v4/projects", &json!({ "title": "Leads", "columns": columns }))?;
    let text = |path: &str| answer.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let ids = text("/project/id").zip(text("/project/columns/1/id"));
    ids.ok_or_else(|| format!("the project was not made: {answer}").into())
}

/// A tool that examples need and that not every machine has.
fn missing_tool(language: &str, needed: &'static str) -> Option<&'static str> {
    let tools = if language == "sh" { [needed, "curl", "jq"] } else { [needed; 3] };
    let is_missing = |tool: &&str| program(tool).arg("--version").stdout(Stdio::null()).status().is_err();
    tools.into_iter().find(is_missing)
}

/// What a page has in a language, one block after the other.
fn blocks(page: &str, language: &str) -> String {
    let start = format!("\n```{language}\n");
    page.split(&start).skip(1).filter_map(|rest| rest.split("\n```").next()).fold(
        String::new(),
        |mut all, block| {
            all.push_str(block);
            all.push('\n');
            all
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_of_a_language_are_one_program() {
        let page = "# Page\n\n```sh\none\n```\n\n```shell\nno\n```\n\n```sh\ntwo\n```\n";
        assert_eq!(blocks(page, "sh"), "one\ntwo\n");
        assert_eq!(blocks(page, "ts"), "");
    }

    #[test]
    fn the_pages_have_examples() {
        for page in PAGES {
            assert!(!page.example("sh").unwrap().is_empty(), "{}", page.path);
        }
    }
}
