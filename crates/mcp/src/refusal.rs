//! Why a tool did nothing: a sentence, everything that is wrong, and what to do next.

use std::fmt::Write as _;

use rmcp::model::{CallToolResult, ContentBlock};
use rowmill_app::Error;
use rowmill_model::Offence;
use serde_json::{Value, json};

/// How many problems are named. More would fill a context with the same mistake.
const PROBLEMS_MAX: usize = 20;
const WORDS_CHARS_MAX: usize = 400;

/// A tool's answer, or why there is none.
pub(crate) type Outcome = Result<Value, Refusal>;

#[derive(Debug)]
pub(crate) struct Refusal {
    message: String,
    problems: Vec<Offence>,
    next: Option<String>,
    /// The failure is the server's, and belongs into its log.
    cause: Option<Box<Error>>,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), problems: Vec::new(), next: None, cause: None }
    }

    /// Arguments that are wrong, each with its place.
    pub(crate) fn problems(problems: Vec<Offence>) -> Self {
        Self { problems, ..Self::new("Nothing was done: the arguments are not valid.") }
    }

    /// What to do about it.
    #[must_use]
    pub(crate) fn next(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }

    /// The same, with the places of problems named as the tool names them.
    #[must_use]
    pub(crate) fn renamed(mut self, rename: impl Fn(&str) -> String) -> Self {
        for problem in &mut self.problems {
            problem.path = rename(&problem.path);
        }
        self
    }

    #[cfg(test)]
    pub(crate) fn into_problems(self) -> Vec<Offence> {
        if self.problems.is_empty() { vec![Offence::new("", self.message)] } else { self.problems }
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The failure to be logged, if it is the server's.
    pub(crate) fn cause(&self) -> Option<&Error> {
        self.cause.as_deref()
    }

    pub(crate) fn into_result(self) -> CallToolResult {
        let left_out = self.problems.len().saturating_sub(PROBLEMS_MAX);
        let problems: Vec<Value> = self
            .problems
            .iter()
            .take(PROBLEMS_MAX)
            .map(|Offence { path, message }| json!({ "path": cut(path), "message": cut(message) }))
            .collect();
        let mut text = cut(&self.message);
        for Offence { path, message } in self.problems.iter().take(PROBLEMS_MAX) {
            let place = if path.is_empty() { String::new() } else { format!("{}: ", cut(path)) };
            let _ = write!(text, "\n- {place}{}", cut(message));
        }
        if left_out > 0 {
            let _ = write!(text, "\n- and {left_out} more");
        }
        let mut content = json!({ "error": cut(&self.message), "problems": problems });
        if let Some(next) = self.next {
            let _ = write!(text, "\nNext: {}", cut(&next));
            if let Some(content) = content.as_object_mut() {
                content.insert("next".to_owned(), cut(&next).into());
            }
        }
        let mut result = CallToolResult::structured_error(content);
        result.content = vec![ContentBlock::text(text)];
        result
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid { details, .. } | Error::LimitExceeded { details, .. } => Self::problems(details),
            Error::SomeNotFound { noun, details } => {
                Self { problems: details, ..Self::new(format!("Nothing was done: {noun} not found.")) }
            }
            cause @ Error::Internal(_) => Self {
                cause: Some(Box::new(cause)),
                ..Self::new("Internal server error; the server log has the cause under this request's id")
            },
            other => Self::new(other.to_string()),
        }
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(WORDS_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_short_however_much_is_wrong() {
        let problems = vec![Offence::new("rows[0]", "x".repeat(5_000)); 500];
        let result = Refusal::problems(problems).next("y".repeat(5_000)).into_result();
        assert_eq!(result.is_error, Some(true));
        let text = serde_json::to_string(&result.structured_content).unwrap();
        assert!(text.len() < 10_000, "{}", text.len());
        assert!(text.contains("\"next\""));
    }
}
