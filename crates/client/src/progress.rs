//! How far something is, on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use rowmill_clock::Clock;

/// Where there is no terminal, a line is written this often.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// How often a bar is drawn, whether or not anything has changed.
const TICK_EVERY: Duration = Duration::from_millis(200);

/// What is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Cells,
    Bytes,
    /// Bytes, of nobody knows how many.
    EndlessBytes,
}

pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    clock: Arc<dyn Clock>,
    /// When the last line was written. A bar has none once it is shown.
    said: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(unit: Unit, clock: &Arc<dyn Clock>) -> Self {
        let clock = Arc::clone(clock);
        let said = Some(clock.monotonic());
        let bar = std::io::stderr().is_terminal().then(|| bar(unit));
        Self { bar, clock, said }
    }

    /// For whoever counts elsewhere. Without a terminal nothing is shown.
    pub(crate) fn handle(&self) -> ProgressBar {
        self.bar.clone().unwrap_or_else(ProgressBar::hidden)
    }

    pub(crate) fn set(&mut self, position: u64, length: u64, message: String, line: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message);
            bar.set_length(length);
            bar.set_position(position);
            if self.said.take().is_some() {
                bar.enable_steady_tick(TICK_EVERY);
            }
            return;
        }
        let now = self.clock.monotonic();
        if self.said.is_none_or(|at| now.duration_since(at) >= LINE_EVERY) {
            notice!("{}", line());
            self.said = Some(now);
        }
    }

    /// A line of its own, above the bar.
    pub(crate) fn say(&self, line: &str) {
        if let Some(bar) = &self.bar {
            bar.println(line);
        } else {
            notice!("{line}");
        }
    }

    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Whatever happens, the bar does not stay on the terminal.
impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

fn bar(unit: Unit) -> ProgressBar {
    let form = match unit {
        Unit::Cells => "[{wide_bar}] {human_pos}/{human_len} cells, {rate}/s, {msg}, {eta}",
        Unit::Bytes => "{msg} [{wide_bar}] {bytes}/{total_bytes}, {eta}",
        Unit::EndlessBytes => "{msg} {spinner} {bytes}, {bytes_per_sec}",
    };
    let style = ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
    let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{:.1}", state.per_sec());
    };
    ProgressBar::new(0).with_style(style.progress_chars("=> ").with_key("rate", rate))
}
