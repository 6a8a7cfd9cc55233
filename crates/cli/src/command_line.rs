//! The command line, with the settings file behind it. A flag beats a variable, a variable beats the file.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::UnknownArgumentValueParser;
use clap::{Arg, CommandFactory as _, Parser, Subcommand};
use rowmill_model::nearest::nearest;

use crate::backup::BackupArgs;
use crate::check::CheckArgs;
use crate::commands::{OpenapiArgs, TeamCommand};
use crate::config::Serve;
use crate::doctor::DoctorArgs;
use crate::health::HealthArgs;
use crate::keys::KeyCommand;
use crate::manual::{CompletionsArgs, ManArgs};
use crate::moving::MoveArgs;
use crate::restore::RestoreArgs;

const CONFIG_FILE: &str = "rowmill.toml";

#[derive(Debug, Parser)]
#[command(name = "rowmill", version, about = "A self-hosted enrichment table.", max_term_width = 100)]
pub(crate) struct Cli {
    /// The settings file. It is optional.
    #[arg(long, global = true, env = "ROWMILL_CONFIG", default_value = CONFIG_FILE)]
    config: PathBuf,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server: API, web app and workers.
    Serve(Box<Serve>),
    /// Run workers only. HTTP serves only health and metrics.
    Worker(Box<Serve>),
    /// Create and list teams. Works while the server runs.
    Team {
        #[command(subcommand)]
        command: TeamCommand,
    },
    /// Create, list, rotate and revoke API keys. Works while the server runs.
    Key {
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Move all data to another database. Stop every server that uses either database first. Run it again after
    /// a failure to resume.
    Move(MoveArgs),
    /// Back up the SQLite database into a file or folder, and verify the copy. Works while the server runs.
    Backup(BackupArgs),
    /// Restore a backup into the data folder. Stop the server first.
    Restore(RestoreArgs),
    /// Check the database or a backup: read every row, count again what is counted, compare the indexes. Works while the
    /// server runs. The exit status is 1 if there are problems.
    Check(CheckArgs),
    /// Check settings, data folder, database, disk, clock, DNS, proxies and providers, and say what to do about what is
    /// wrong. Takes the settings of `serve`, changes nothing, and calls no provider. The exit status is 0 if all is well, 1
    /// if there are warnings, and 2 if there are problems.
    Doctor(Box<DoctorArgs>),
    /// Ask the server of this machine whether it is well. The exit status is 1 if it is not.
    Health(HealthArgs),
    /// Print the OpenAPI document, as a server with the same settings publishes it.
    Openapi(Box<OpenapiArgs>),
    /// The commands that talk to a running server.
    #[command(flatten)]
    Client(rowmill_client::Command),
    /// Print completions for a shell. See docs/command-line.md for where to put them.
    Completions(CompletionsArgs),
    /// Print the manual page.
    Man(ManArgs),
    /// Print the licences of the software that is part of Rowmill.
    Licenses,
}

/// What is wrong with the settings file.
#[derive(Debug)]
pub(crate) struct FileFault {
    words: String,
    cause: Option<std::io::Error>,
}

impl std::fmt::Display for FileFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words)
    }
}

impl std::error::Error for FileFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

/// The command line's definition, with the file's values as defaults: that is what puts the file
/// behind flags and variables, without saying anything twice.
pub(crate) fn with_file(args: impl Iterator<Item = OsString>) -> Result<clap::Command, FileFault> {
    let (path, is_named) = file_of(args);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_named => String::new(),
        Err(error) => {
            let words = format!("{} cannot be read: {error}", path.display());
            return Err(FileFault { words, cause: Some(error) });
        }
    };
    apply(command(), &text).map_err(|fault| {
        let words = format!("{}: {fault}", path.display());
        FileFault { words, cause: None }
    })
}

/// The command line as it is defined. Where the server listens has other names elsewhere: the message about them names ours.
fn command() -> clap::Command {
    let hint = UnknownArgumentValueParser::suggest_arg("--listen")
        .and_suggest("write the address and the port: --listen 127.0.0.1:8080");
    let foreign = ["port", "host", "bind", "address"];
    let foreign = foreign.map(|name| Arg::new(name).long(name).hide(true).value_parser(hint.clone()));
    Cli::command().mut_subcommand("serve", |serve| serve.args(foreign))
}

/// The settings file, and whether somebody named it.
fn file_of(args: impl Iterator<Item = OsString>) -> (PathBuf, bool) {
    let args: Vec<OsString> = args.collect();
    let flag = args.iter().enumerate().find_map(|(index, arg)| {
        let text = arg.to_str()?;
        match text.strip_prefix("--config=") {
            Some(path) => Some(OsString::from(path)),
            None => (text == "--config").then(|| args.get(index + 1).cloned()).flatten(),
        }
    });
    match flag.or_else(|| std::env::var_os("ROWMILL_CONFIG")) {
        Some(path) => (path.into(), true),
        None => (CONFIG_FILE.into(), false),
    }
}

fn apply(mut command: clap::Command, text: &str) -> Result<clap::Command, String> {
    let table: toml::Table = text.parse().map_err(|error| not_toml(text, &error))?;
    let mut defaults = Vec::new();
    for (key, value) in table {
        let value = match value {
            toml::Value::String(text) => text,
            other @ (toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_)) => {
                other.to_string()
            }
            _ => return Err(format!("{key} must be text, a number, true or false")),
        };
        defaults.push((key.replace('-', "_"), value));
    }
    let mut unknown: Vec<String> = defaults.iter().map(|(key, _)| key.clone()).collect();
    command = set_defaults(command, &defaults, &mut unknown);
    let Some(key) = unknown.first() else { return Ok(command) };
    let mut known = Vec::new();
    collect_keys(&command, &mut known);
    Err(match nearest(key, known.iter().map(String::as_str)) {
        Some(near) => format!("unknown setting {key}; did you mean {near}?"),
        None => format!("unknown setting {key}; `rowmill serve --help` lists all settings"),
    })
}

/// The keys that the file may have.
fn collect_keys(command: &clap::Command, known: &mut Vec<String>) {
    let settings = command.get_arguments().filter(|arg| arg.get_env().is_some() && arg.get_id() != "config");
    known.extend(settings.map(|arg| arg.get_id().to_string()));
    for sub in command.get_subcommands().filter(|sub| has_settings(sub.get_name())) {
        collect_keys(sub, known);
    }
}

/// Whether the file has settings of this command. It is the server's file: a client has none in it.
fn has_settings(command: &str) -> bool {
    !<rowmill_client::Command as Subcommand>::has_subcommand(command)
}

/// What is wrong and where, but not the line itself: it may hold the secret key.
fn not_toml(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {} is not TOML: {}", before.matches('\n').count() + 1, error.message())
}

fn set_defaults(
    mut command: clap::Command,
    defaults: &[(String, String)],
    unknown: &mut Vec<String>,
) -> clap::Command {
    // What is hidden is there for its message only.
    let settings = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let known: Vec<String> = settings.map(|arg| arg.get_id().to_string()).collect();
    for (key, value) in defaults.iter().filter(|(key, _)| known.contains(key) && key != "config") {
        command = command.mut_arg(key, |arg| arg.default_value(value.clone()));
        unknown.retain(|name| name != key);
    }
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names.into_iter().filter(|name| has_settings(name)) {
        command = command.mut_subcommand(name, |sub| set_defaults(sub, defaults, unknown));
    }
    command
}

#[cfg(test)]
mod tests {
    use rowmill_api::Rate;
    use rowmill_model::Limits;

    use super::*;

    fn serve(file: &str, args: &[&str]) -> Result<Serve, String> {
        let command = apply(command(), file)?;
        let args = ["rowmill", "serve"].iter().chain(args);
        let matches = command.try_get_matches_from(args).map_err(|error| error.to_string())?;
        match <Cli as clap::FromArgMatches>::from_arg_matches(&matches)
            .map_err(|error| error.to_string())?
            .command
        {
            Command::Serve(serve) => Ok(*serve),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_flag_beats_the_file_and_the_file_beats_the_default() {
        let file = "listen = \"127.0.0.1:9000\"\npage_size_max = 77\nrate-limit-key = \"1/2\"\n";
        let from_file = serve(file, &[]).unwrap();
        assert_eq!(from_file.listen.port(), 9000);
        assert_eq!(Limits::from(from_file.limits).page_size_max, 77);
        assert_eq!(from_file.rate_limit_key.0, Some(Rate { per_second: 1, burst: 2 }));
        assert_eq!(serve(file, &["--listen", "127.0.0.1:9001"]).unwrap().listen.port(), 9001);
        assert_eq!(serve("", &[]).unwrap().listen.port(), 8080);
    }

    #[test]
    fn what_is_wrong_with_the_file_is_said() {
        let check = |file: &str, words: &str| {
            let fault = serve(file, &[]).unwrap_err();
            assert!(fault.contains(words) && !fault.contains("canary"), "{fault}");
        };
        check("listen = ", "not TOML");
        check("speed = 3", "unknown setting speed");
        check("page_size_mx = 3", "did you mean page_size_max?");
        check("listen = [1]", "listen must be text");
        check("port = 8081", "unknown setting port");
        check("url = \"http://x\"", "unknown setting url");
        check("listen = \"here\"", "invalid");
        check("log = \"info\"\nsecret_key = \"canary", "line 2 is not TOML");
    }

    #[test]
    fn options_of_other_servers_lead_to_the_right_one() {
        for option in ["--port", "--host", "--bind", "--address"] {
            let told = serve("", &[option, "8081"]).unwrap_err();
            let name = format!("unexpected argument '{option} ");
            assert!(told.contains(&name) && told.contains("a similar argument exists: '--listen'"), "{told}");
            assert!(told.contains("--listen 127.0.0.1:8080"), "{told}");
        }
        assert!(
            !command()
                .find_subcommand_mut("serve")
                .unwrap()
                .render_long_help()
                .to_string()
                .contains("--port")
        );
    }

    #[test]
    fn the_secret_key_is_a_setting_that_is_never_shown() {
        let canary = "canary".repeat(6);
        let file = format!("secret_key = \"{canary}\"");
        let set = serve(&file, &[]).unwrap();
        assert_eq!(set.secret_key.as_ref().map(|setting| setting.0.expose()), Some(canary.as_str()));
        assert!(!format!("{set:?}").contains("canary"));
        let mut command = apply(command(), &file).unwrap();
        let serve = command.find_subcommand_mut("serve").unwrap();
        assert!(!serve.render_long_help().to_string().contains("canary"));
    }

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }
}
