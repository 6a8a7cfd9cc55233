//! The log, on standard error, and what people are told beside it. In JSON mode all of it has one shape.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use rowmill_clock::{Clock as _, SystemClock};
use serde_json::{Map, Value, json};
use tracing_subscriber::EnvFilter;

/// Whether what people are told is written as lines of a JSON log.
static IS_JSON: AtomicBool = AtomicBool::new(false);

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
