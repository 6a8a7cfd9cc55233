//! A request as it is to be sent, and the answer as it came.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rowmill_model::bounded_json::Refusal;
use serde_json::Value;
use url::Url;

use super::file_body::FileBody;
use super::network_policy::NetworkPolicy;
use crate::bounded_value::bounded_value;
use crate::failure::{Failure, FailureKind, Hints, words};
use crate::redactor::{Redactor, Secret};

/// A whole call with its limits.
pub struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    /// Sent in place of a body.
    pub(super) file: Option<FileBody>,
    pub(super) network_policy: NetworkPolicy,
    pub(super) redirects_max: u8,
    pub(super) bytes_max: usize,
    pub(super) cut_short: bool,
    pub(super) deadline: Duration,
    pub(super) secrets: Vec<Secret>,
}

/// The longest answer of a provider; a page of text has far less.
const BYTES_MAX_DEFAULT: usize = 4 * 1024 * 1024;
const DEADLINE_DEFAULT: Duration = Duration::from_secs(30);

impl Request {
    /// A request that follows no redirect.
    pub fn new(method: Method, url: Url, network_policy: NetworkPolicy) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
            file: None,
            network_policy,
            redirects_max: 0,
            bytes_max: BYTES_MAX_DEFAULT,
            cut_short: false,
            deadline: DEADLINE_DEFAULT,
            secrets: Vec::new(),
        }
    }

    /// Adds a header; the error is one of input, and quotes the name only.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, Failure> {
        let bad = || Failure::new(FailureKind::InvalidInput, format!("The header `{name}` cannot be sent."));
        let header = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| bad())?;
        value.set_sensitive(true);
        self.headers.append(header, value);
        Ok(self)
    }

    /// Adds a header that carries a credential, which is blackened wherever it comes back.
    pub fn secret_header(self, name: &str, prefix: &str, secret: &Secret) -> Result<Self, Failure> {
        let value = format!("{prefix}{}", secret.expose().trim());
        let with_header = self.header(name, &value).map_err(|_| {
            let words = "The API key contains characters that cannot be sent in a header.";
            Failure::new(FailureKind::InvalidCredentials, words)
        })?;
        Ok(with_header.secret(secret))
    }

    /// Names something this request carries that must come back in no message and no value.
    #[must_use]
    pub fn secret(mut self, secret: &Secret) -> Self {
        self.secrets.push(secret.clone());
        self
    }

    #[must_use]
    pub fn query(mut self, pairs: &[(&str, &str)]) -> Self {
        if !pairs.is_empty() {
            self.url.query_pairs_mut().extend_pairs(pairs);
        }
        self
    }

    /// Sets the body, and its type unless a header has already said it.
    #[must_use]
    pub fn body(mut self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(content_type));
        self.body = Some(body.into());
        self
    }

    /// Sends a file, read as it goes out.
    pub fn file(mut self, content_type: &str, file: FileBody) -> Result<Self, Failure> {
        self = self.header("content-type", content_type)?;
        self.file = Some(file);
        Ok(self)
    }

    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    #[must_use]
    pub fn redirects(mut self, redirects_max: u8) -> Self {
        self.redirects_max = redirects_max;
        self
    }

    #[must_use]
    pub fn bytes_max(mut self, bytes_max: usize) -> Self {
        self.bytes_max = bytes_max;
        self
    }

    /// Takes the beginning of an answer that is too long, instead of refusing it.
    #[must_use]
    pub fn cut_short(mut self) -> Self {
        self.cut_short = true;
        self
    }

    /// Bounds the call from the first packet to the last byte, redirects included.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }
}

/// Path, query, headers and body may hold secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = self.url.origin().ascii_serialization();
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("origin", &origin)
            .field("reach", &self.network_policy)
            .finish_non_exhaustive()
    }
}

/// A whole answer, read to its end and cleared of the request's secrets.
#[derive(Clone)]
pub struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// Where the answer came from, after redirects. It may hold what the request's address held.
    pub url: Url,
    pub(super) hints: Hints,
    /// For what is said of the answer: too short a secret is not blackened in the answer itself.
    pub(super) redactor: Arc<Redactor>,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON, null if it is none. For answers whose every field is optional.
    pub(crate) fn json_lenient(&self) -> Value {
        bounded_value(&self.body).unwrap_or_default()
    }

    /// The body as JSON, which a successful answer must be.
    pub(crate) fn json(&self, who: &str) -> Result<Value, Failure> {
        bounded_value(&self.body).map_err(|refusal| {
            let what = match refusal {
                Refusal::NotJson(_) => "a body that is not JSON",
                _ => "JSON of more values than are read",
            };
            let words = format!("{who} responded with status {} and {what}.", self.status);
            Failure::new(FailureKind::InvalidOutput, words)
        })
    }

    /// The failure this answer's status stands for.
    pub(crate) fn failure(&self, who: &str) -> Failure {
        self.failure_at(who, self.status)
    }

    /// The failure another status would stand for, one the body names.
    pub(crate) fn failure_at(&self, who: &str, status: u16) -> Failure {
        let words = words(&self.body).map(|words| self.redactor.text(words));
        Failure::of_status(who, status, words.as_deref()).with_hints(&self.hints)
    }

    /// A failure the provider names itself, whatever the status.
    pub(crate) fn failure_of(&self, who: &str, kind: FailureKind) -> Failure {
        let words = words(&self.body).map(|words| self.redactor.text(words));
        Failure::of_words(who, kind, self.status, words.as_deref()).with_hints(&self.hints)
    }

    pub(crate) fn hints(&self) -> &Hints {
        &self.hints
    }
}
