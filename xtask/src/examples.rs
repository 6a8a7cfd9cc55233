//! The examples of the guides, run as they stand on the page, on the real service.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::process::{AnyResult, program, root, run, run_within};
use crate::server::{self, Server};
use crate::tools;

/// The guides whose every example in one of [`LANGUAGES`] is run, and a word that each of their programs prints in the
/// end. They use the variables `API` and `KEY`.
const GUIDES: &[(&str, &str)] = &[("first-table", "Rotterdam"), ("switching", "importedCount")];
/// A language's word on a page. The examples of a page in one language are one program.
const LANGUAGES: &[(&str, RunExample)] =
    &[("sh", Workshop::shell), ("python", Workshop::python), ("ts", Workshop::typescript)];
type RunExample = fn(&Workshop, &str) -> AnyResult;
/// Ends an example that hangs.
const TIME_LIMIT: Duration = Duration::from_mins(1);
/// What the last example printed.
const PRINTED: &str = "printed";

pub(crate) fn run_all() -> AnyResult {
    let mut server = Server::start(&server::build()?, &[])?;
    let workshop = Workshop::new(&server)?;
    for (guide, expected) in GUIDES {
        let page = fs::read_to_string(root().join("docs").join(format!("{guide}.md")))?;
        for (language, run) in LANGUAGES {
            let example = blocks(&page, language);
            if example.is_empty() {
                continue;
            }
            if let Some(missing) = missing_tool(language) {
                println!("docs/{guide}.md, {language}: not run, there is no {missing} here");
                continue;
            }
            println!("docs/{guide}.md, {language}");
            let outcome = run(&workshop, &example).and_then(|()| workshop.expect_printed(expected));
            server.check_alive()?;
            outcome.map_err(|failure| {
                format!(
                    "docs/{guide}.md, {language}: {failure}\nthe service's last words:\n{}",
                    server.log_end()
                )
            })?;
        }
    }
    Ok(())
}

/// Where examples are run.
struct Workshop {
    folder: PathBuf,
    programs: PathBuf,
    api: String,
    key: String,
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
        let (programs, key) = (npm.join("node_modules/.bin"), server.create_key()?);
        Ok(Self { folder, programs, api: format!("{}/v4", server.url()), key })
    }

    fn command(&self, name: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = program(name);
        command.current_dir(&self.folder).env("API", &self.api).env("KEY", &self.key);
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

    fn shell(&self, example: &str) -> AnyResult {
        self.perform(self.command("bash").args(["-eu", "-o", "pipefail", "-c", example]))
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

/// A tool that examples in the shell need and that not every machine has.
fn missing_tool(language: &str) -> Option<&'static str> {
    let tools: &[&str] = if language == "sh" { &["curl", "jq"] } else { &[] };
    let is_missing = |tool: &&&str| program(tool).arg("--version").stdout(Stdio::null()).status().is_err();
    tools.iter().find(is_missing).copied()
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
    fn the_guides_have_examples() {
        for (guide, _) in GUIDES {
            let page = fs::read_to_string(root().join("docs").join(format!("{guide}.md"))).unwrap();
            assert!(!blocks(&page, "sh").is_empty(), "{guide}");
        }
    }
}
