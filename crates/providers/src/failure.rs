//! How a call fails: its error code, whether it is transient, and the provider's `Retry-After`.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use rowmill_model::{ErrorCode, Spent};
use serde_json::Value;

use crate::bounded_value::bounded_value;
use crate::redactor::Redactor;

/// Why there is no result. The message is a sentence for the table's owner and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", kind.code().word())]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    /// Whether the same call may succeed later.
    pub is_transient: bool,
    /// How long the provider asks to be left alone.
    pub retry_after: Option<Duration>,
    /// Whether nobody was there: the name does not resolve, the connection is refused, or TLS fails.
    pub is_unreachable: bool,
    /// What was paid all the same.
    pub spent: Spent,
}

/// What went wrong, as the contract's error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The request cannot be right, whoever sends it.
    InvalidInput,
    MissingCredentials,
    /// The key is wrong, or not good for this call.
    InvalidCredentials,
    /// The account is empty: asking again costs time and helps nobody.
    OutOfCredits,
    RateLimited,
    TimedOut,
    /// Anything else the other side got wrong, from a lost connection to a refusal.
    ProviderError,
    /// The address is one a table must not reach.
    Blocked,
    /// The answer came, and is not what it should be.
    InvalidOutput,
    TooLarge,
    /// The page shows nothing without JavaScript, which does not run here.
    NeedsBrowser,
}

impl FailureKind {
    pub fn code(self) -> ErrorCode {
        match self {
            Self::InvalidInput => ErrorCode::InvalidInput,
            Self::MissingCredentials => ErrorCode::MissingCredentials,
            Self::InvalidCredentials => ErrorCode::InvalidCredentials,
            Self::OutOfCredits => ErrorCode::OutOfCredits,
            Self::RateLimited => ErrorCode::RateLimited,
            Self::TimedOut => ErrorCode::TimedOut,
            Self::ProviderError => ErrorCode::ProviderError,
            Self::Blocked => ErrorCode::Blocked,
            Self::InvalidOutput => ErrorCode::InvalidOutput,
            Self::TooLarge => ErrorCode::TooLarge,
            Self::NeedsBrowser => ErrorCode::NeedsBrowser,
        }
    }

    /// Whether every further call with this credential would fail alike, so that a run need not make it.
    pub fn rejects_credential(self) -> bool {
        matches!(self, Self::MissingCredentials | Self::InvalidCredentials | Self::OutOfCredits)
    }

    /// The kind that rejects a credential with this code, if there is one.
    pub fn rejecting(code: ErrorCode) -> Option<Self> {
        [Self::MissingCredentials, Self::InvalidCredentials, Self::OutOfCredits]
            .into_iter()
            .find(|kind| kind.code() == code)
    }

    fn from_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::InvalidCredentials,
            402 => Self::OutOfCredits,
            408 => Self::TimedOut,
            429 => Self::RateLimited,
            _ => Self::ProviderError,
        }
    }
}

impl Failure {
    /// A failure that will not pass, unless it is one of time or rate.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let is_transient = matches!(kind, FailureKind::RateLimited | FailureKind::TimedOut);
        Self {
            kind,
            message: message.into(),
            is_transient,
            retry_after: None,
            is_unreachable: false,
            spent: Spent::NOTHING,
        }
    }

    /// A provider's failure that may pass: a lost connection, a 5xx.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { is_transient: true, ..Self::new(FailureKind::ProviderError, message) }
    }

    /// A connection that was never made. It may pass, but is not waited for as long as a busy server.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self { is_unreachable: true, ..Self::transient(message) }
    }

    /// What an HTTP status means where a provider has said nothing better.
    pub(crate) fn of_status(who: &str, status: u16, words: Option<&str>) -> Self {
        let kind = FailureKind::from_status(status);
        let mut failure = Self::new(kind, sentence(who, status, kind, words));
        failure.is_transient |= status >= 500;
        failure
    }

    /// A provider's own words, whatever status they came with.
    pub(crate) fn of_words(who: &str, kind: FailureKind, status: u16, words: Option<&str>) -> Self {
        Self::new(kind, sentence(who, status, kind, words))
    }

    #[must_use]
    pub(crate) fn with_transient(self, is_transient: bool) -> Self {
        Self { is_transient, ..self }
    }

    /// With what the answer's headers say about trying again.
    #[must_use]
    pub(crate) fn with_hints(mut self, hints: &Hints) -> Self {
        // An empty account or a wrong key stays so, whatever a generic header says.
        if !self.kind.rejects_credential() {
            self.is_transient = hints.should_retry.unwrap_or(self.is_transient);
        }
        if self.is_transient {
            self.retry_after = hints.retry_after.or(self.retry_after);
        }
        self
    }

    #[must_use]
    pub(crate) fn redacted(mut self, redactor: &Redactor) -> Self {
        self.message = redactor.text(self.message);
        self
    }
}

fn sentence(who: &str, status: u16, kind: FailureKind, words: Option<&str>) -> String {
    // Vendors quote parts of a key they refuse, in spellings no pen can foresee.
    match words.filter(|_| kind != FailureKind::InvalidCredentials) {
        Some(words) => format!("{who} responded with {status}: {words}"),
        None => format!("{who} responded with {status}."),
    }
}

/// What an answer's headers say about trying again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    pub(crate) retry_after: Option<Duration>,
    pub(crate) should_retry: Option<bool>,
}

/// Nobody means more than a week; a larger number is a mistake or malice.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(7 * 24);

impl Hints {
    pub(crate) fn read(headers: &HeaderMap, now: Timestamp) -> Self {
        let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
        let should_retry = match text("x-should-retry") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        let exact = text("retry-after-ms").and_then(|text| text.parse().ok()).and_then(millis);
        // A date is meant by the sender's clock, which also sent `Date`.
        let sent_at = text(DATE.as_str()).and_then(http_date).unwrap_or(now);
        let retry_after = exact.or_else(|| text(RETRY_AFTER.as_str()).and_then(|text| wait(text, sent_at)));
        Self { retry_after, should_retry }
    }
}

/// Reads a wait as headers and bodies spell it: `30`, `1.5`, `30s`, or an HTTP date.
pub(crate) fn wait(text: &str, now: Timestamp) -> Option<Duration> {
    let seconds = text.strip_suffix('s').unwrap_or(text);
    if let Ok(seconds) = seconds.parse::<f64>() {
        return millis(seconds * 1000.0);
    }
    let until = http_date(text)?;
    let left = until.duration_since(now);
    Some(Duration::try_from(left).unwrap_or_default().min(RETRY_AFTER_MAX))
}

fn millis(number: f64) -> Option<Duration> {
    let duration = Duration::try_from_secs_f64(number / 1000.0).ok();
    let duration = duration.or_else(|| (number > 0.0).then_some(RETRY_AFTER_MAX))?;
    Some(duration.min(RETRY_AFTER_MAX))
}

fn http_date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

const WORDS_CHARS_MAX: usize = 300;

/// The sentence in an error's body, wherever its author put it; else the beginning of the body.
pub(crate) fn words(body: &[u8]) -> Option<String> {
    let said = bounded_value(body).ok().and_then(|body| said(&body, 4));
    let text = said.unwrap_or_else(|| String::from_utf8_lossy(body.get(..2000).unwrap_or(body)).into_owned());
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String =
        line.chars().filter(|character| !character.is_control()).take(WORDS_CHARS_MAX).collect();
    // A page of HTML says nothing in a cell.
    (!line.is_empty() && !line.starts_with('<')).then_some(line)
}

fn said(value: &Value, depth: u8) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(items) => items.first().and_then(|item| said(item, depth)),
        Value::Object(map) => [
            "message",
            "error",
            "details",
            "detail",
            "title",
            "reason",
            "errors",
            "error_code",
            "status",
            "id",
        ]
        .iter()
        .find_map(|key| map.get(*key).and_then(|value| said(value, depth))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(headers: &[(&str, &str)]) -> Hints {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = reqwest::header::HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.insert(name, value.parse().unwrap());
        }
        let now = Timestamp::from_second(784_111_777).unwrap(); // Sun, 06 Nov 1994 08:49:37 GMT
        Hints::read(&map, now)
    }

    #[test]
    fn waits_are_read_in_every_spelling() {
        for (headers, millis) in [
            (&[("retry-after", "3")][..], Some(3_000)),
            (&[("retry-after", "1.5")], Some(1_500)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], Some(60_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
            (
                &[
                    ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"),
                    ("date", "Sun, 06 Nov 1994 08:50:27 GMT"),
                ],
                Some(10_000),
            ),
            (&[("retry-after-ms", "250"), ("retry-after", "9")], Some(250)),
            (&[("retry-after-ms", "soon"), ("retry-after", "9")], Some(9_000)),
            (&[("retry-after", "1e300")], Some(604_800_000)),
            (&[("retry-after", "99999999999999999999")], Some(604_800_000)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "later")], None),
            (&[], None),
        ] {
            assert_eq!(hints(headers).retry_after, millis.map(Duration::from_millis), "{headers:?}");
        }
    }

    #[test]
    fn the_provider_decides_whether_to_try_again() {
        let refused = hints(&[("x-should-retry", "false"), ("retry-after", "3")]);
        let failure = Failure::of_status("X", 500, None).with_hints(&refused);
        assert_eq!((failure.is_transient, failure.retry_after), (false, None));
        let asked = Failure::of_status("X", 400, None).with_hints(&hints(&[("x-should-retry", "true")]));
        assert!(asked.is_transient);
    }

    #[test]
    fn a_status_means_what_the_contract_says() {
        for (status, code, is_transient) in [
            (400, ErrorCode::ProviderError, false),
            (401, ErrorCode::InvalidCredentials, false),
            (402, ErrorCode::OutOfCredits, false),
            (403, ErrorCode::InvalidCredentials, false),
            (404, ErrorCode::ProviderError, false),
            (408, ErrorCode::TimedOut, true),
            (429, ErrorCode::RateLimited, true),
            (500, ErrorCode::ProviderError, true),
            (529, ErrorCode::ProviderError, true),
        ] {
            let failure = Failure::of_status("X", status, None);
            assert_eq!((failure.kind.code(), failure.is_transient), (code, is_transient), "{status}");
        }
    }

    #[test]
    fn an_error_says_its_sentence() {
        for (body, expected) in [
            (r#"{"error":{"message":"No such model"}}"#, Some("No such model")),
            (r#"[{"error":{"code":429,"message":"Quota"}}]"#, Some("Quota")),
            (r#"{"errors":[{"id":"claimed_email"}]}"#, Some("claimed_email")),
            (r#"{"error":true,"error_code":"NO_MATCH"}"#, Some("NO_MATCH")),
            ("Invalid\n  access", Some("Invalid access")),
            ("<html><body>502</body></html>", None),
            ("", None),
        ] {
            assert_eq!(words(body.as_bytes()).as_deref(), expected, "{body}");
        }
        assert_eq!(words("é".repeat(5_000).as_bytes()).unwrap().chars().count(), WORDS_CHARS_MAX);
    }
}
