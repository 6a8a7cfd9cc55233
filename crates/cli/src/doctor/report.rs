//! What the checks found, for people and for programs.

use std::io::Write as _;
use std::process::ExitCode;

use serde::Serialize;

/// How bad it is. The worst is last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    #[default]
    Ok,
    /// Not as usual, but no fault: whoever reads it knows whether it is meant so.
    Note,
    Warning,
    Problem,
}

/// One thing that was checked.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    check: &'static str,
    status: Level,
    message: String,
    /// What to do; none if all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<String>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    status: Level,
    checks: Vec<Finding>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, status: Level::Ok, message: sentence(message.into()), action: None }
    }

    pub(super) fn note(check: &'static str, message: impl Into<String>, action: impl Into<String>) -> Self {
        Self { check, status: Level::Note, message: sentence(message.into()), action: Some(action.into()) }
    }

    pub(super) fn warning(
        check: &'static str,
        message: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self { check, status: Level::Warning, message: sentence(message.into()), action: Some(action.into()) }
    }

    pub(super) fn problem(
        check: &'static str,
        message: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self { check, status: Level::Problem, message: sentence(message.into()), action: Some(action.into()) }
    }
}

/// Errors are written without a full stop.
fn sentence(mut words: String) -> String {
    if !words.ends_with('.') {
        words.push('.');
    }
    words
}

impl Report {
    pub(super) fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        for finding in findings {
            if finding.status > Level::Note {
                self.status = self.status.max(finding.status);
            }
            self.checks.push(finding);
        }
    }

    /// On standard output. Nobody reading it is no failure of what was checked.
    pub(super) fn print(&self, json: bool) -> ExitCode {
        let mut out = std::io::stdout().lock();
        let _ = if json {
            let text = serde_json::to_string_pretty(self).unwrap_or_default();
            writeln!(out, "{text}")
        } else {
            out.write_all(self.text().as_bytes())
        };
        match self.status {
            Level::Ok | Level::Note => ExitCode::SUCCESS,
            Level::Warning => ExitCode::from(1),
            Level::Problem => ExitCode::from(2),
        }
    }

    fn text(&self) -> String {
        let mut lines = Vec::with_capacity(2 * self.checks.len() + 1);
        for Finding { check, status, message, action } in &self.checks {
            lines.push(format!("{:<8} {check:<9} {message}", word(*status)));
            lines.extend(action.as_ref().map(|action| format!("{:18} → {action}", "")));
        }
        let count = |level| self.checks.iter().filter(|finding| finding.status == level).count();
        lines.push(match (count(Level::Problem), count(Level::Warning)) {
            (0, 0) => "All is well.".to_owned(),
            (problems, warnings) => format!("Problems: {problems}, warnings: {warnings}."),
        });
        lines.join("\n") + "\n"
    }
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Ok => "ok",
        Level::Note => "note",
        Level::Warning => "warning",
        Level::Problem => "problem",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_decides() {
        let mut report = Report::default();
        assert_eq!(report.text(), "All is well.\n");
        report.add([Finding::note("dns", "Gone.", "Look.")]);
        assert_eq!(report.text(), "note     dns       Gone.\n                   → Look.\nAll is well.\n");
        assert_eq!(report.status, Level::Ok);
        report.add([Finding::ok("disk", "Room."), Finding::problem("clock", "Wrong.", "Set it.")]);
        report.add([Finding::warning("dns", "Slow.", "Wait.")]);
        assert_eq!(report.status, Level::Problem);
        let text = report.text();
        assert!(text.contains("ok       disk      Room.\nproblem  clock     Wrong.\n"), "{text}");
        assert!(text.contains("→ Set it.\n") && text.ends_with("Problems: 1, warnings: 1.\n"), "{text}");
    }
}
