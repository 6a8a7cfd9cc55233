//! The server, over HTTP: requests, what it answers, and what it refuses.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Body, Method, RequestBuilder, Response, StatusCode};
use rowmill_clock::Clock;
use rowmill_model::Secret;
use rowmill_model::connection_failure::explain;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::failure::{Detail, Failure, Kind, UnreadableFile};

const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);
/// A server that sends nothing for this long is gone; event streams have a sign of life every 15 s.
const SILENCE_MAX: Duration = Duration::from_mins(2);
/// Tries of a request that the server is too busy for.
const TRIES_MAX: u32 = 5;
/// A longer wait is left to the caller.
const RETRY_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long commands that watch something wait for a server that does not answer.
const PATIENCE: Duration = Duration::from_mins(1);
const PATIENT_WAIT: Duration = Duration::from_secs(1);
/// More than any page of rows.
const ANSWER_BYTES_MAX: usize = 1 << 30;
const REFUSAL_BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Server {
    http: reqwest::Client,
    url: String,
    authorization: HeaderValue,
    key_source: KeySource,
    clock: Arc<dyn Clock>,
}

/// Where an API key comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// `ROWMILL_API_KEY`. It takes precedence over saved keys, so that saving another changes nothing.
    Environment,
    /// It is saved, or was typed just now.
    Saved,
}

impl KeySource {
    /// What to do about a key that the server refuses.
    fn advice(self, url: &str) -> String {
        match self {
            Self::Environment => format!(
                "The refused key is that of ROWMILL_API_KEY. Set the variable to another key of {url}, or unset it to use the \
                 key that `rowmill login {url}` saves"
            ),
            Self::Saved => format!("`rowmill login {url}` saves another key"),
        }
    }
}

/// A query parameter.
pub(crate) type Pair = (&'static str, String);

/// An answer of the API, as it was sent: numbers keep their digits.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.text).map_err(|error| {
            Failure::failed(format!(
                "the server's answer is not understood: {error}. Is the URL that of Rowmill?"
            ))
        })
    }
}

impl Server {
    pub(crate) fn new(
        url: &str,
        (key, key_source): &(Secret, KeySource),
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Failure> {
        // Whoever came first decides for the process; all of them are this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .user_agent(concat!("rowmill/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIME_MAX)
            .read_timeout(SILENCE_MAX)
            // The key must not go anywhere else.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| Failure::failed(format!("cannot set up TLS: {}", cause(&error))))?;
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| {
            Failure::new(Kind::NotSignedIn, "the API key contains characters that no key has")
        })?;
        authorization.set_sensitive(true);
        Ok(Self { http, url: url.to_owned(), authorization, key_source: *key_source, clock })
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) async fn get(&self, path: &str, query: &[Pair]) -> Result<Answer, Failure> {
        let response = self.send(|| self.request(Method::GET, path, query)).await?;
        self.read(response).await
    }

    /// As [`Server::get`], for watching: a server that is restarted meanwhile is waited for.
    pub(crate) async fn get_patiently(&self, path: &str) -> Result<Answer, Failure> {
        let started = self.clock.monotonic();
        loop {
            match self.get(path, &[]).await {
                Err(failure)
                    if failure.kind == Kind::Unreachable
                        && self.clock.monotonic().duration_since(started) < PATIENCE =>
                {
                    self.clock.sleep(PATIENT_WAIT).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// A change that is made once, however often it must be sent.
    pub(crate) async fn post(
        &self,
        path: &str,
        query: &[Pair],
        headers: &[(&'static str, &str)],
        body: Vec<u8>,
    ) -> Result<Answer, Failure> {
        let key = idempotency_key()?;
        let body = bytes::Bytes::from(body);
        let response = self
            .send(|| {
                let request = self.request(Method::POST, path, query)?.header("Idempotency-Key", &key);
                let request =
                    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
                Ok(request.body(body.clone()))
            })
            .await?;
        self.read(response).await
    }

    pub(crate) async fn post_json(&self, path: &str, body: String) -> Result<Answer, Failure> {
        self.post(path, &[], &[(CONTENT_TYPE.as_str(), "application/json")], body.into_bytes()).await
    }

    /// Sends a body that can be read only once.
    pub(crate) async fn upload(
        &self,
        path: &str,
        query: &[Pair],
        headers: &[(&'static str, &str)],
        body: Body,
    ) -> Result<Answer, Failure> {
        let request = self.request(Method::POST, path, query)?.body(body);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        let response = self.accepted(response).await?;
        self.read(response).await
    }

    /// An answer that is read in parts, with [`Server::next_part`].
    pub(crate) async fn open(&self, path: &str, query: &[Pair]) -> Result<Response, Failure> {
        self.send(|| self.request(Method::GET, path, query)).await
    }

    pub(crate) async fn next_part(&self, response: &mut Response) -> Result<Option<bytes::Bytes>, Failure> {
        response.chunk().await.map_err(|error| self.broken(&error))
    }

    fn request(&self, method: Method, path: &str, query: &[Pair]) -> Result<RequestBuilder, Failure> {
        let mut url = Url::parse(&format!("{}{path}", self.url))
            .map_err(|error| Failure::new(Kind::Usage, format!("{} is not a URL: {error}", self.url)))?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(self.http.request(method, url).header(AUTHORIZATION, self.authorization.clone()))
    }

    /// Sends a request, and again if the server is too busy for it.
    async fn send(&self, request: impl Fn() -> Result<RequestBuilder, Failure>) -> Result<Response, Failure> {
        let mut tries = 0;
        loop {
            let response = request()?.send().await.map_err(|error| self.broken(&error))?;
            tries += 1;
            let wait = retry_wait(&response).filter(|_| tries < TRIES_MAX);
            match wait {
                Some(wait) => self.clock.sleep(wait).await,
                None => return self.accepted(response).await,
            }
        }
    }

    async fn read(&self, response: Response) -> Result<Answer, Failure> {
        let bytes = self.read_within(response, ANSWER_BYTES_MAX).await?;
        let text =
            String::from_utf8(bytes).map_err(|_| Failure::failed("the server's answer is not UTF-8"))?;
        Ok(Answer { text })
    }

    async fn read_within(&self, mut response: Response, bytes_max: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while let Some(part) = self.next_part(&mut response).await? {
            if bytes.len() + part.len() > bytes_max {
                return Err(Failure::failed(format!("the server's answer is larger than {bytes_max} bytes")));
            }
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    async fn accepted(&self, response: Response) -> Result<Response, Failure> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            let target = target.unwrap_or("another address");
            let words =
                format!("{} redirects to {target}. Log in with the URL that it redirects to", self.url);
            return Err(Failure::failed(words));
        }
        let body = self.read_within(response, REFUSAL_BYTES_MAX).await.unwrap_or_default();
        Err(self.refused(status, &body))
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> Failure {
        let Ok(refusal) = serde_json::from_slice::<Refusal>(body) else {
            let kind = if status.is_server_error() { Kind::Unreachable } else { Kind::Failed };
            let words = format!("{} answered {status}, and not as Rowmill does. Is the URL right?", self.url);
            return Failure::new(kind, words);
        };
        let Refusal { error, code, details } = refusal;
        let is_unknown_column =
            !details.is_empty() && details.iter().all(|detail| names_no_column(&detail.message));
        let mut words = error.clone();
        // One problem is often the sentence itself.
        for detail in
            details.iter().filter(|detail| !(error.contains(&detail.path) && error.contains(&detail.message)))
        {
            let _ = write!(words, "\n  {}: {}", detail.path, detail.message);
        }
        let kind = match kind_of(status, code.as_deref()) {
            Kind::Failed if status == StatusCode::BAD_REQUEST && is_unknown_column => Kind::NotFound,
            kind => kind,
        };
        if matches!(code.as_deref(), Some("invalid_api_key" | "unauthenticated")) {
            let _ = write!(words, ". {}", self.key_source.advice(&self.url));
        }
        Failure::new(kind, words).with_code(code).with_details(details)
    }

    /// What is wrong with the connection, or with a body that was to be sent.
    fn broken(&self, error: &reqwest::Error) -> Failure {
        let cause = cause(error);
        if is_unreadable(error) {
            return Failure::failed(cause);
        }
        let words = if error.is_connect() {
            format!("cannot reach {}: {}", self.url, explain(&cause))
        } else if error.is_timeout() {
            format!("{} did not answer in time", self.url)
        } else {
            format!("the connection to {} broke: {}", self.url, explain(&cause))
        };
        Failure::new(Kind::Unreachable, words)
    }
}

fn kind_of(status: StatusCode, code: Option<&str>) -> Kind {
    match (status, code) {
        // It is about the table: no other key would help.
        (StatusCode::FORBIDDEN, Some("api_disabled" | "project_copying")) => Kind::Failed,
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => Kind::NotSignedIn,
        (StatusCode::NOT_FOUND, _) => Kind::NotFound,
        (StatusCode::SERVICE_UNAVAILABLE, _) => Kind::Unreachable,
        _ => Kind::Failed,
    }
}

/// A failure, as the API tells it.
#[derive(Deserialize)]
struct Refusal {
    error: String,
    code: Option<String>,
    #[serde(default)]
    details: Vec<Detail>,
}

/// Whether the server says of a name that it is no column.
fn names_no_column(message: &str) -> bool {
    message.contains("is not a column of this project")
        || message.starts_with("There is no column with the id or header")
}

/// How long to wait before the next try, if the server asks for one.
fn retry_wait(response: &Response) -> Option<Duration> {
    let is_busy =
        matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let seconds = response.headers().get(RETRY_AFTER).filter(|_| is_busy)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds)).filter(|wait| *wait <= RETRY_WAIT_MAX)
}

/// Whether the file is at fault that was to be sent.
fn is_unreadable(error: &reqwest::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if inner.and_then(|inner| inner.downcast_ref::<UnreadableFile>()).is_some() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The innermost cause: the outer ones say only that a request failed.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

fn idempotency_key() -> Result<String, Failure> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Failure::failed(format!("no random numbers: {error}")))?;
    Ok(format!("rowmill-{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_about_the_key_or_it_is_not() {
        let check = |status: u16, code: &str, expected: Kind| {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(kind_of(status, Some(code)), expected, "{code}");
        };
        check(401, "unauthenticated", Kind::NotSignedIn);
        check(403, "invalid_api_key", Kind::NotSignedIn);
        check(403, "missing_scope", Kind::NotSignedIn);
        check(403, "api_disabled", Kind::Failed);
        check(403, "project_copying", Kind::Failed);
        check(404, "project_not_found", Kind::NotFound);
        check(400, "invalid_request", Kind::Failed);
        check(503, "busy", Kind::Unreachable);
    }

    #[test]
    fn advice_is_about_the_key_that_was_sent() {
        let environment = KeySource::Environment.advice("https://x");
        assert!(environment.starts_with("The refused key is that of ROWMILL_API_KEY. "), "{environment}");
        assert_eq!(KeySource::Saved.advice("https://x"), "`rowmill login https://x` saves another key");
    }
}
