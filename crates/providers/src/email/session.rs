//! One search at one finder: its calls, its waits, and what most answers have in common.

use std::time::Duration;

use reqwest::Method;
use rowmill_model::{Amount, Spent};
use serde_json::Value;

use super::finding::{Finding, Hit};
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::gate::Gate;
use crate::redactor::Secret;
use crate::ssrf_guard::{Client, Request, Response};

pub(super) struct Session<'a> {
    client: &'a Client,
    gate: &'a dyn Gate,
    pub(super) access: &'a Access,
    pub(super) key: &'a Secret,
    wait_left: Duration,
    /// What the finder says it took so far.
    pub(super) spent: Spent,
}

/// How far an asynchronous search has come.
pub(super) enum Progress {
    Done(Finding),
    /// Not yet; the finder may say when to ask again.
    Pending(Option<Duration>),
}

/// However short a wait is asked for, it costs this much of the patience: no search polls for ever.
const WAIT_MIN: Duration = Duration::from_secs(1);

impl<'a> Session<'a> {
    pub(super) fn new(
        client: &'a Client,
        gate: &'a dyn Gate,
        access: &'a Access,
        key: &'a Secret,
        wait_max: Duration,
    ) -> Self {
        Self { client, gate, access, key, wait_left: wait_max, spent: Spent::NOTHING }
    }

    pub(super) fn get(&self, path: &str) -> Request {
        Request::new(Method::GET, self.access.url(path), self.access.network_policy)
    }

    pub(super) fn post(&self, path: &str) -> Request {
        Request::new(Method::POST, self.access.url(path), self.access.network_policy)
    }

    /// A path that ends in an id the finder gave, which is not trusted to be one segment.
    pub(super) fn get_by_id(&self, path: &str, id: &str) -> Request {
        let mut url = self.access.url(path);
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.push(id);
        }
        Request::new(Method::GET, url, self.access.network_policy)
    }

    pub(super) fn now(&self) -> jiff::Timestamp {
        self.client.clock().now()
    }

    pub(super) async fn send(&self, request: Request) -> Result<Response, Failure> {
        self.gate.acquire().await;
        self.client.send(request).await
    }

    /// Notes the credits an answer says it took.
    pub(super) fn note_credits(&mut self, told: Option<&Value>) {
        self.spent += Spent::credits(told.and_then(Amount::read));
    }

    /// Asks again and again until the search is done. A poll that fails for a moment is repeated: giving
    /// up would mean to begin, and to pay for, the search anew.
    pub(super) async fn poll(
        &mut self,
        delay: Duration,
        request: impl Fn(&Self) -> Result<Request, Failure> + Sync,
        read: impl Fn(&Response) -> Result<Progress, Failure> + Sync,
    ) -> Result<Finding, Failure> {
        let mut wait = delay;
        let mut last = Failure::new(FailureKind::TimedOut, "The finder did not finish in time.");
        while self.waited(wait).await {
            let progress = match self.send(request(self)?).await {
                Ok(response) => read(&response),
                Err(failure) => Err(failure),
            };
            match progress {
                Ok(Progress::Done(finding)) => return Ok(finding),
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
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The failure of a finder's answer, where 400 and 422 mean that it cannot use the input.
    pub(super) fn finder_failure(&self, who: &str) -> Failure {
        match self.status {
            400 | 422 => self.failure_of(who, FailureKind::InvalidInput),
            _ => self.failure(who),
        }
    }

    /// The failure that a body tells of, although its status is a success: by the status it names, else by
    /// the words of its error code.
    pub(super) fn told_failure(&self, who: &str, status: Option<u64>, code: &str) -> Failure {
        let status = status.and_then(|status| u16::try_from(status).ok()).filter(|status| *status >= 400);
        let code = code.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| code.contains(word));
        match status {
            Some(400 | 422) => self.failure_of(who, FailureKind::InvalidInput),
            Some(status) => self.failure_at(who, status),
            None if says(&["credit", "payment", "quota"]) => self.failure_of(who, FailureKind::OutOfCredits),
            None if says(&["auth", "api_key", "api key"]) => {
                self.failure_of(who, FailureKind::InvalidCredentials)
            }
            None if says(&["rate", "too_many", "too many"]) => self.failure_of(who, FailureKind::RateLimited),
            None => self.failure_of(who, FailureKind::ProviderError),
        }
    }
}

/// An address, if the value is one. Finders mask with stars what they want to be paid for.
pub(super) fn address(value: Option<&Value>) -> Option<String> {
    let text = value?.as_str()?.trim();
    let (local, domain) = text.rsplit_once('@')?;
    let is_whole = !local.is_empty() && domain.contains('.') && !text.contains(['*', ' ', '<', '>']);
    is_whole.then(|| text.to_owned())
}

/// A hit if there is an address, else a miss.
pub(super) fn hit_or_miss(email: Option<String>, verified: bool) -> Finding {
    email.map_or(Finding::Miss, |email| Finding::Hit(Hit { email, verified, confidence: None }))
}

/// A text at a JSON pointer; `""` if there is none.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// An id, which finders write as text or number.
pub(super) fn id(value: &Value, pointers: &[&str]) -> Option<String> {
    pointers.iter().find_map(|pointer| match value.pointer(pointer)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// An asynchronous search that was accepted without a way to ask for its result.
pub(super) fn no_id(who: &str) -> Failure {
    Failure::new(FailureKind::InvalidOutput, format!("{who} started a search but returned no search id."))
}
