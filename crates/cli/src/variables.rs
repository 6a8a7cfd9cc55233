//! The environment's `ROWMILL_*` variables: a misspelt one is refused, as a misspelt key of the settings file is.

use std::collections::BTreeSet;
use std::ffi::OsString;

use rowmill_app::Environment;
use rowmill_model::nearest::nearest;

const PREFIX: &str = "ROWMILL_";
/// What the tests of this repository read.
const TEST_PREFIX: &str = "ROWMILL_TEST_";

/// What scripts and programs that use Rowmill call their own variables: where it is, and how to get in.
const OF_CLIENTS: &[&str] = &[
    "ROWMILL_API_KEY",
    "ROWMILL_BASE_URL",
    "ROWMILL_BIN",
    "ROWMILL_BINARY",
    "ROWMILL_HOME",
    "ROWMILL_KEY",
    "ROWMILL_TOKEN",
    "ROWMILL_URL",
    "ROWMILL_VERSION",
    "ROWMILL_WEB_DIST",
];

/// A variable that sets nothing.
#[derive(Debug)]
pub(crate) struct UnknownVariables(String);

impl std::fmt::Display for UnknownVariables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownVariables {}

/// Checks the names of all variables; what is not ours but harmless is given back as warnings. Values are not shown:
/// one may be a secret.
pub(crate) fn check(
    command: &clap::Command,
    names: impl Iterator<Item = OsString>,
) -> Result<Vec<String>, UnknownVariables> {
    let mut known: BTreeSet<String> = Environment::variables().into_iter().collect();
    collect(command, &mut known);
    let (mut warnings, mut unknown) = (Vec::new(), Vec::new());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort_unstable();
    for name in names {
        let is_not_ours = !name.starts_with(PREFIX) || name.starts_with(TEST_PREFIX);
        if is_not_ours || OF_CLIENTS.contains(&name.as_str()) || known.contains(&name) {
            continue;
        }
        if is_service_variable(&name) {
            warnings
                .push(format!("{name} is ignored: it looks like a variable that Kubernetes or Docker sets"));
            continue;
        }
        unknown.push(match nearest(&name, known.iter().map(String::as_str)) {
            Some(near) => format!("unknown variable {name}; did you mean {near}?"),
            None => format!("unknown variable {name}; `rowmill serve --help` lists all variables"),
        });
    }
    if unknown.is_empty() { Ok(warnings) } else { Err(UnknownVariables(unknown.join("\n  "))) }
}

fn collect(command: &clap::Command, known: &mut BTreeSet<String>) {
    let variables = command.get_arguments().filter_map(|arg| arg.get_env()?.to_str());
    known.extend(variables.map(str::to_owned));
    for sub in command.get_subcommands() {
        collect(sub, known);
    }
}

/// Whether Kubernetes or Docker sets a variable of this name, for a service whose name begins with `rowmill`:
/// `ROWMILL_SERVICE_HOST`, `ROWMILL_WEB_SERVICE_PORT_HTTP`, `ROWMILL_PORT`, `ROWMILL_PORT_8080_TCP_ADDR`.
fn is_service_variable(name: &str) -> bool {
    let has_port = |rest: &str| {
        let (port, protocol) = rest.split_once('_').unwrap_or((rest, ""));
        port.bytes().all(|byte| byte.is_ascii_digit())
            && ["TCP", "UDP", "SCTP"].iter().any(|known| protocol.starts_with(known))
    };
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || name.ends_with("_PORT")
        || name.split("_PORT_").skip(1).any(has_port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::Cli;

    fn checked(names: &[&str]) -> Result<Vec<String>, String> {
        let command = <Cli as clap::CommandFactory>::command();
        check(&command, names.iter().map(OsString::from)).map_err(|unknown| unknown.to_string())
    }

    #[test]
    fn every_variable_is_one_of_ours() {
        let ours = [
            "PATH",
            "ROWMILL_LISTEN",
            "ROWMILL_CONFIG",
            "ROWMILL_MOVE_FROM",
            "ROWMILL_AI_MODEL",
            "ROWMILL_HUNTER_API_KEY",
            "ROWMILL_OPENAI_BASE_URL",
            "ROWMILL_COLUMNS_MAX",
            "ROWMILL_TEST_POSTGRES",
            "ROWMILL_BIN",
            "ROWMILL_API_KEY",
            "ROWMILL_PROFILE",
            "ROWMILL_URL",
        ];
        assert_eq!(checked(&ours), Ok(Vec::new()));
        let told = checked(&["ROWMILL_LISTN", "ROWMILL_HUNTR_API_KEY", "ROWMILL_SPEED"]).unwrap_err();
        for words in
            ["did you mean ROWMILL_LISTEN?", "did you mean ROWMILL_HUNTER_API_KEY?", "ROWMILL_SPEED;"]
        {
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn what_kubernetes_sets_is_a_warning() {
        let set = [
            "ROWMILL_PORT",
            "ROWMILL_PORT_8080_TCP",
            "ROWMILL_PORT_8080_TCP_ADDR",
            "ROWMILL_SERVICE_HOST",
            "ROWMILL_SERVICE_PORT",
            "ROWMILL_SERVICE_PORT_HTTP",
            "ROWMILL_WEB_SERVICE_HOST",
        ];
        assert_eq!(checked(&set).unwrap().len(), set.len());
    }

    #[test]
    fn guides_and_packages_name_variables_that_are_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folders = ["docs", "packaging"].map(|folder| root.join(folder));
        let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let files = files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        for path in files.chain([root.join("README.md")]) {
            let text = std::fs::read_to_string(&path).unwrap();
            let is_of_name =
                |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
            let words = text.split(|letter| !is_of_name(letter));
            // What ends in an underscore goes on with a placeholder.
            let names: Vec<&str> =
                words.filter(|word| word.starts_with(PREFIX) && !word.ends_with('_')).collect();
            assert_eq!(checked(&names), Ok(Vec::new()), "{}", path.display());
        }
    }
}
