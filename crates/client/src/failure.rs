//! How a command ends: what it says, and the exit status that scripts read.

use std::process::ExitCode;

use serde::Deserialize;
use serde_json::json;

/// A command that came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    /// It did what it could, but cells failed or rows were rejected.
    Partial,
}

impl Ending {
    pub(crate) fn status(self) -> ExitCode {
        match self {
            Self::Done => ExitCode::SUCCESS,
            Self::Partial => ExitCode::from(5),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Anything that has no kind of its own.
    Failed,
    /// The server does not answer. It may in a moment.
    Unreachable,
    /// The command line asks for something that cannot be.
    Usage,
    /// There is no API key, or it is refused.
    NotSignedIn,
    NotFound,
    Interrupted,
    /// Whoever read standard output has seen enough.
    OutputClosed,
}

/// Why a command did not come to its end.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    message: String,
    /// The server's word for it.
    pub(crate) code: Option<String>,
    /// What the server says of parts of the request. The message has it, too.
    pub(crate) details: Vec<Detail>,
}

/// What is wrong with a part of a request.
#[derive(Debug, Deserialize)]
pub(crate) struct Detail {
    pub(crate) path: String,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None, details: Vec::new() }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, message)
    }

    /// The same with another sentence at its end.
    pub(crate) fn with_hint(self, hint: &str) -> Self {
        let message = format!("{}. {hint}", self.message.trim_end_matches(['.', '?']));
        Self { message, ..self }
    }

    pub(crate) fn with_code(self, code: Option<String>) -> Self {
        Self { code, ..self }
    }

    pub(crate) fn with_details(self, details: Vec<Detail>) -> Self {
        Self { details, ..self }
    }

    /// What to print, if anything.
    pub(crate) fn words(&self, is_json: bool) -> Option<String> {
        match self.kind {
            Kind::OutputClosed => None,
            Kind::Interrupted => Some(self.message.clone()),
            _ if is_json => {
                let code = self.code.as_deref().unwrap_or(self.kind.word());
                Some(json!({ "success": false, "error": self.message, "code": code }).to_string())
            }
            _ => Some(format!("rowmill: {}", self.message)),
        }
    }

    pub(crate) fn status(&self) -> ExitCode {
        match self.kind {
            Kind::OutputClosed => ExitCode::SUCCESS,
            Kind::Failed | Kind::Unreachable => ExitCode::from(1),
            Kind::Usage => ExitCode::from(2),
            Kind::NotSignedIn => ExitCode::from(3),
            Kind::NotFound => ExitCode::from(4),
            // As shells say it of a program that Ctrl-C ended.
            Kind::Interrupted => ExitCode::from(130),
        }
    }
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Failed | Self::OutputClosed => "failed",
            Self::Unreachable => "unreachable",
            Self::Usage => "usage",
            Self::NotSignedIn => "not_signed_in",
            Self::NotFound => "not_found",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A file that cannot be sent, told as the cause of a request that failed.
#[derive(Debug)]
pub(crate) struct UnreadableFile(pub(crate) String);

impl std::fmt::Display for UnreadableFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot read the file: {}", self.0)
    }
}

impl std::error::Error for UnreadableFile {}

/// For writing to standard output.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::new(Kind::OutputClosed, "");
        }
        Self::failed(format!("cannot write the output: {error}"))
    }
}
