//! One question to one provider: its calls, its waits, and what most answers have in common.

use std::time::Duration;

use reqwest::Method;
use rowmill_model::{Amount, Spent};
use serde_json::Value;

use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::gate::Gate;
use crate::redactor::Secret;
use crate::ssrf_guard::{Client, Request, Response};

pub(crate) struct Session<'a> {
    client: &'a Client,
    gate: &'a dyn Gate,
    pub(crate) access: &'a Access,
    pub(crate) key: &'a Secret,
    wait_left: Duration,
    /// What the finder says it took so far.
    pub(crate) spent: Spent,
}

/// How far a question that takes long has come.
pub(crate) enum Progress<T> {
    Done(T),
    /// Not yet; the finder may say when to ask again.
    Pending(Option<Duration>),
}

/// However short a wait is asked for, it costs this much of the patience: no search polls for ever.
const WAIT_MIN: Duration = Duration::from_secs(1);

impl<'a> Session<'a> {
    pub(crate) fn new(
        client: &'a Client,
        gate: &'a dyn Gate,
        access: &'a Access,
        key: &'a Secret,
        wait_max: Duration,
    ) -> Self {
        Self { client, gate, access, key, wait_left: wait_max, spent: Spent::NOTHING }
    }

    pub(crate) fn get(&self, path: &str) -> Request {
        Request::new(Method::GET, self.access.url(path), self.access.network_policy)
    }

    pub(crate) fn post(&self, path: &str) -> Request {
        Request::new(Method::POST, self.access.url(path), self.access.network_policy)
    }

    /// A path that ends in an id the finder gave, which is not trusted to be one segment.
    pub(crate) fn get_by_id(&self, path: &str, id: &str) -> Request {
        let mut url = self.access.url(path);
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.push(id);
        }
        Request::new(Method::GET, url, self.access.network_policy)
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.client.clock().now()
    }

    pub(crate) async fn send(&self, request: Request) -> Result<Response, Failure> {
        self.gate.acquire().await;
        self.client.send(request).await
    }

    /// Notes the credits an answer says it took.
    pub(crate) fn note_credits(&mut self, told: Option<&Value>) {
        self.spent += Spent::credits(told.and_then(Amount::read));
    }

    /// Asks again and again until the search is done. A poll that fails for a moment is repeated: giving
    /// up would mean to begin, and to pay for, the search anew.
    pub(crate) async fn poll<T>(
        &mut self,
        delay: Duration,
        request: impl Fn(&Self) -> Result<Request, Failure> + Sync,
        read: impl Fn(&Response) -> Result<Progress<T>, Failure> + Sync,
    ) -> Result<T, Failure> {
        let mut wait = delay;
        let mut last = Failure::new(FailureKind::TimedOut, "The provider did not finish in time.");
        while self.waited(wait).await {
            let progress = match self.send(request(self)?).await {
                Ok(response) => read(&response),
                Err(failure) => Err(failure),
            };
            match progress {
                Ok(Progress::Done(answer)) => return Ok(answer),
                Ok(Progress::Pending(told)) => wait = told.unwrap_or(delay),
                Err(failure) if failure.is_transient => {
                    wait = failure.retry_after.unwrap_or(delay);
                    last = failure;
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(last)
    }

    /// Waits, if there is patience left for it.
    async fn waited(&mut self, wait: Duration) -> bool {
        let wait = wait.max(WAIT_MIN);
        let Some(left) = self.wait_left.checked_sub(wait) else { return false };
        self.wait_left = left;
        self.client.clock().sleep(wait).await;
        true
    }
}

impl Response {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The failure of a finder's answer, where 400 and 422 mean that it cannot use the input.
    pub(crate) fn finder_failure(&self, who: &str) -> Failure {
        match self.status {
            400 | 422 => self.failure_of(who, FailureKind::InvalidInput),
            _ => self.failure(who),
        }
    }

    /// The failure that a body tells of, although its status is a success: by the status it names, else by
    /// the words of its error code.
    pub(crate) fn told_failure(&self, who: &str, status: Option<u64>, code: &str) -> Failure {
        let status = status.and_then(|status| u16::try_from(status).ok()).filter(|status| *status >= 400);
        let code = code.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| code.contains(word));
        match status {
            Some(400 | 422) => self.failure_of(who, FailureKind::InvalidInput),
            Some(status) => self.failure_at(who, status),
            None if says(&["credit", "payment", "quota"]) => self.failure_of(who, FailureKind::OutOfCredits),
            None if says(&["auth", "api_key", "api key", "apikey"]) => {
                self.failure_of(who, FailureKind::InvalidCredentials)
            }
            None if says(&["rate", "too_many", "too many"]) => self.failure_of(who, FailureKind::RateLimited),
            None => self.failure_of(who, FailureKind::ProviderError),
        }
    }
}

/// An address, if the value is one. Finders mask with stars what they want to be paid for.
pub(crate) fn address(value: Option<&Value>) -> Option<String> {
    let text = value?.as_str()?.trim();
    let (local, domain) = text.rsplit_once('@')?;
    let is_whole = !local.is_empty() && domain.contains('.') && !text.contains(['*', ' ', '<', '>']);
    is_whole.then(|| text.to_owned())
}

/// A text at a JSON pointer; `""` if there is none.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Yes or no at a JSON pointer, which some write as text.
pub(crate) fn flag(value: &Value, pointer: &str) -> Option<bool> {
    match value.pointer(pointer)? {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// The longest text that is taken from an answer.
const TEXT_CHARS_MAX: usize = 2_000;

/// A text of an answer, trimmed and cut; none if it is empty.
pub(crate) fn detail(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.chars().take(TEXT_CHARS_MAX).collect())
}

/// The first of these places that has a text, or a number written as one.
pub(crate) fn first_text(value: &Value, pointers: &[&str]) -> Option<String> {
    pointers.iter().find_map(|pointer| match value.pointer(pointer)? {
        Value::String(text) => detail(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// The first of these places that has a whole number from zero.
pub(crate) fn first_number(value: &Value, pointers: &[&str]) -> Option<u64> {
    pointers.iter().find_map(|pointer| match value.pointer(pointer)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    })
}

/// An id, which finders write as text or number.
pub(crate) fn id(value: &Value, pointers: &[&str]) -> Option<String> {
    pointers.iter().find_map(|pointer| match value.pointer(pointer)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// An asynchronous search that was accepted without a way to ask for its result.
pub(crate) fn no_id(who: &str) -> Failure {
    Failure::new(FailureKind::InvalidOutput, format!("{who} started a search but returned no search id."))
}
