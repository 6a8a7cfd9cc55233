//! The log, on standard error, and what people are told beside it. In JSON mode all of it has one shape.

use std::error::Error;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use rowmill_clock::{Clock as _, SystemClock};
use serde_json::{Map, Value, json};
use tracing_subscriber::EnvFilter;

/// Whether what people are told is written as lines of a JSON log.
static IS_JSON: AtomicBool = AtomicBool::new(false);

const FORMAT_FLAG: &str = "--log-format";
const FORMAT_VARIABLE: &str = "ROWMILL_LOG_FORMAT";

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

pub(crate) fn start(filter: &str, format: LogFormat) -> Result<(), Box<dyn Error>> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| format!("--log {filter:?} is not a valid filter: {error}"))?;
    let is_terminal = std::io::stderr().is_terminal();
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(is_terminal).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => {
            IS_JSON.store(true, Ordering::Relaxed);
            std::panic::set_hook(Box::new(|panic| {
                let _ = writeln!(std::io::stderr(), "{}", line("ERROR", &panic.to_string(), Map::new()));
            }));
            builder.json().init();
        }
    }
    Ok(())
}

/// What is told before the settings are read has the log's shape, too. `command` has the settings file in it, if that could
/// be read.
pub(crate) fn prepare(command: Option<&clap::Command>, args: impl Iterator<Item = OsString>) {
    let set = std::env::var(FORMAT_VARIABLE).ok();
    if is_wanted_as_json(command, &args.collect::<Vec<_>>(), set) {
        IS_JSON.store(true, Ordering::Relaxed);
    }
}

/// As in the settings: a flag beats a variable, and a variable beats the file.
fn is_wanted_as_json(command: Option<&clap::Command>, args: &[OsString], variable: Option<String>) -> bool {
    let word = |index: usize| args.get(index).and_then(|arg| arg.to_str());
    // Only what runs for long has a log.
    let Some(name) =
        args.iter().skip(1).find_map(|arg| ["serve", "worker"].into_iter().find(|name| arg == name))
    else {
        return false;
    };
    let flag = (1..args.len()).rev().find_map(|index| match word(index)?.split_once('=') {
        Some((FORMAT_FLAG, value)) => Some(value.to_owned()),
        None if word(index) == Some(FORMAT_FLAG) => word(index + 1).map(str::to_owned),
        _ => None,
    });
    let of_file = || {
        let settings = command?.find_subcommand(name)?;
        let format = settings.get_arguments().find(|arg| arg.get_id() == "log_format")?;
        Some(format.get_default_values().first()?.to_str()?.to_owned())
    };
    flag.or(variable).or_else(of_file).as_deref() == Some("json")
}

pub(crate) fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Tells people something, whatever the filter of the log.
pub(crate) fn tell(message: &str) {
    // Nobody listening is no reason to stop.
    let _ = if is_json() {
        writeln!(std::io::stderr(), "{}", info(message, Map::new()))
    } else {
        writeln!(std::io::stderr(), "{message}")
    };
}

/// Warns people of something before there is a log.
pub(crate) fn warn(message: &str) {
    let _ = if is_json() {
        writeln!(std::io::stderr(), "{}", line("WARN", message, Map::new()))
    } else {
        writeln!(std::io::stderr(), "rowmill: {message}")
    };
}

/// A line of the JSON log, for what is told beside it.
pub(crate) fn info(message: &str, fields: Map<String, Value>) -> String {
    line("INFO", message, fields)
}

pub(crate) fn error(message: &str) -> String {
    line("ERROR", message, Map::new())
}

/// As the log itself writes its lines.
fn line(level: &str, message: &str, mut fields: Map<String, Value>) -> String {
    fields.insert("message".to_owned(), message.into());
    let timestamp = format!("{:.6}", SystemClock.now());
    json!({ "timestamp": timestamp, "level": level, "fields": fields, "target": "rowmill" }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::Cli;

    #[test]
    fn the_format_is_known_before_the_settings_are_read() {
        let command = <Cli as clap::CommandFactory>::command();
        let of_file = command.clone().mut_subcommand("serve", |serve| {
            serve.mut_arg("log_format", |format| format.default_value("json"))
        });
        let check = |command: Option<&clap::Command>, words: &str, variable: Option<&str>, is_json: bool| {
            let args: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let variable = variable.map(str::to_owned);
            assert_eq!(is_wanted_as_json(command, &args, variable), is_json, "{words}");
        };
        check(Some(&command), "rowmill serve", None, false);
        check(Some(&command), "rowmill serve --log-format json", None, true);
        check(Some(&command), "rowmill serve --log-format=json", Some("text"), true);
        check(Some(&command), "rowmill serve --log-format text", Some("json"), false);
        check(Some(&of_file), "rowmill serve", None, true);
        check(Some(&of_file), "rowmill worker", Some("text"), false);
        check(None, "rowmill --config x worker", Some("json"), true);
        check(None, "rowmill serve --log-format", None, false);
        check(Some(&of_file), "rowmill team list", Some("json"), false);
    }
}
