//! What inbound webhooks received: what became of each delivery, listed, and processed again.

use std::time::Duration;

use rowmill_model::hook::is_secret_header;
use rowmill_store::received::{
    NewReceived, ReceivedFilter, ReceivedHead, ReceivedOutcome, ReceivedRecord, ReceivedSource,
    ReceivedStatus,
};
use rowmill_store::webhooks::DeliveryId;

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};

/// How many bytes of a request's headers are kept, and of each value.
const HEADERS_BYTES_MAX: usize = 8 * 1024;
const HEADER_BYTES_MAX: usize = 1024;
/// How many keys an outcome names.
const KEYS_NAMED_MAX: usize = 50;
/// How long the words of an outcome can be, in characters.
const REASON_CHARS_MAX: usize = 1_000;
/// How often old deliveries are looked for at most, and at least.
const SWEEP_EVERY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));
/// A pause between two slices, so that nobody waits for the sweep.
const SWEEP_PAUSE: Duration = Duration::from_millis(20);

/// A page of deliveries, newest first.
#[derive(Debug)]
pub struct ReceivedPage {
    pub deliveries: Vec<ReceivedRecord>,
    /// Whether others follow.
    pub more: bool,
}

/// What processing a delivery came to.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) rows_created: u64,
    pub(crate) rows_updated: u64,
    pub(crate) rows_unchanged: u64,
    pub(crate) ignored_keys: Vec<String>,
    /// Why nothing, or not all, was done.
    pub(crate) reason: Option<String>,
}

impl Taken {
    /// Nothing was to be done.
    pub(crate) fn ignored(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }

    pub(crate) fn is_ignored(&self) -> bool {
        self.rows_created + self.rows_updated == 0
    }
}

impl App {
    /// A team's deliveries before one, newest first.
    pub async fn received(
        &self,
        caller: Caller,
        source: Option<ReceivedSource>,
        status: Option<ReceivedStatus>,
        before: Option<DeliveryId>,
        page_size: u32,
    ) -> Result<ReceivedPage> {
        let team = caller.for_whole_team()?.team;
        let filter = ReceivedFilter { source, status, before: before.map(|before| before.num) };
        let mut deliveries = self.store.received(team, filter, page_size.saturating_add(1)).await?;
        let size = usize::try_from(page_size).unwrap_or(usize::MAX);
        let more = deliveries.len() > size;
        deliveries.truncate(size);
        Ok(ReceivedPage { deliveries, more })
    }

    pub async fn received_delivery(&self, caller: Caller, id: &str) -> Result<ReceivedRecord> {
        let team = caller.for_whole_team()?.team;
        let id = DeliveryId::parse(id).ok_or(Error::NotFound(Noun::Delivery))?;
        self.store.received_one(team, id).await?.ok_or(Error::NotFound(Noun::Delivery))
    }

    /// Processes a delivery again, by the settings as they are now. What became of it is in its last outcome.
    pub async fn replay_received(&self, caller: Caller, id: &str) -> Result<ReceivedRecord> {
        let team = caller.for_whole_team()?.team;
        let record = self.received_delivery(caller, id).await?;
        let body = record.body.clone().unwrap_or_default();
        let taken = match (record.hook, record.project) {
            (Some(hook), Some(project)) => {
                self.take_hook_rows(None, project, hook, &record.head, &body).await
            }
            _ => self.retake_event(team, &body, &record.head.signed_for).await,
        };
        let outcome = self.outcome(&taken, true);
        if !self.store.add_outcome(team, record.id, outcome).await? {
            return Err(Error::NotFound(Noun::Delivery));
        }
        // What the caller can do nothing about is told as such.
        if let Err(error) = taken
            && !is_told(&error)
        {
            return Err(error);
        }
        self.received_delivery(caller, id).await
    }

    /// Removes deliveries that came in long ago, for as long as the process runs.
    pub async fn keep_received_swept(&self) {
        let (often, seldom) = SWEEP_EVERY;
        let pause = (self.keeps_received_for / 10).clamp(often, seldom);
        let kept_ms = i64::try_from(self.keeps_received_for.as_millis()).unwrap_or(i64::MAX);
        loop {
            let before_ms = self.clock.now_ms().saturating_sub(kept_ms);
            match self.store.sweep_received(before_ms).await {
                Ok(true) => self.clock.sleep(SWEEP_PAUSE).await,
                Ok(false) => self.clock.sleep(pause).await,
                Err(failure) => {
                    tracing::warn!(%failure, "could not remove old deliveries; it is tried again");
                    self.clock.sleep(pause).await;
                }
            }
        }
    }

    /// For how long deliveries are kept.
    pub fn keeps_received_for(&self) -> Duration {
        self.keeps_received_for
    }

    /// Writes down what became of a delivery. It is waited for if none of it is in a row.
    pub(crate) async fn log_received(&self, new: NewReceived) {
        let is_awaited = new.outcome.status != ReceivedStatus::Processed && new.outcome.rows_unchanged == 0;
        self.received_log.add(new, is_awaited).await;
    }

    pub(crate) fn outcome(&self, taken: &Result<Taken>, is_replay: bool) -> ReceivedOutcome {
        let at_ms = self.clock.now_ms();
        let nothing = Taken::default();
        let (status, taken, reason) = match taken {
            Ok(taken) if taken.is_ignored() => (ReceivedStatus::Ignored, taken, taken.reason.clone()),
            Ok(taken) => (ReceivedStatus::Processed, taken, taken.reason.clone()),
            Err(error) => (ReceivedStatus::Failed, &nothing, Some(words(error))),
        };
        ReceivedOutcome {
            at_ms,
            is_replay,
            status,
            rows_created: taken.rows_created,
            rows_updated: taken.rows_updated,
            rows_unchanged: taken.rows_unchanged,
            ignored_keys: taken.ignored_keys.iter().take(KEYS_NAMED_MAX).cloned().collect(),
            reason: reason.map(|reason| reason.chars().take(REASON_CHARS_MAX).collect()),
        }
    }
}

/// What is kept of a request's headers: none that may carry a secret, and no more than some bytes. Those that are asked
/// for come first.
pub(crate) fn kept_head(
    content_type: Option<&str>,
    headers: &[(String, String)],
    asked: impl Fn(&str) -> bool,
) -> ReceivedHead {
    let mut bytes = 0;
    let mut fits = |(name, value): &&(String, String)| {
        let is_kept =
            value.len() <= HEADER_BYTES_MAX && bytes + name.len() + value.len() <= HEADERS_BYTES_MAX;
        if is_kept {
            bytes += name.len() + value.len();
        }
        is_kept
    };
    let open: Vec<&(String, String)> = headers.iter().filter(|(name, _)| !is_secret_header(name)).collect();
    let (first, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(|(name, _)| asked(name));
    let headers = first.into_iter().chain(rest).filter(&mut fits).cloned().collect();
    ReceivedHead { content_type: content_type.map(str::to_owned), headers, signed_for: Vec::new() }
}

/// An error in words, with the first of its details.
fn words(error: &Error) -> String {
    let (Error::Invalid { details, .. }
    | Error::LimitExceeded { details, .. }
    | Error::SomeNotFound { details, .. }) = error
    else {
        return error.to_string();
    };
    let told = details.iter().take(5).map(|detail| match detail.path.as_str() {
        "" => format!("The body {}", detail.message),
        path => format!("{path} {}", detail.message),
    });
    let told = told.collect::<Vec<_>>().join("; ");
    if told.is_empty() { error.to_string() } else { told }
}

/// Whether an error is told as the outcome of a delivery, and not as a failure of the server.
fn is_told(error: &Error) -> bool {
    matches!(
        error,
        Error::Invalid { .. }
            | Error::LimitExceeded { .. }
            | Error::QuotaExceeded(_)
            | Error::NotFound(_)
            | Error::InvalidPayload
            | Error::InvalidSignature
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_long_headers_are_not_kept() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let long = "x".repeat(HEADER_BYTES_MAX + 1);
        let mut headers =
            vec![header("authorization", "a"), header("x-long", &long), header("user-agent", "b")];
        headers.extend((0..20).map(|number| header(&format!("x-{number}"), &"y".repeat(1_000))));
        headers.push(header("x-source", "c"));
        let head = kept_head(Some("text/plain"), &headers, |name| name == "x-source");
        let names: Vec<&str> = head.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.first(), Some(&"x-source"));
        assert!(
            names.contains(&"user-agent") && !names.contains(&"authorization") && !names.contains(&"x-long")
        );
        assert!(names.len() < 12, "{names:?}");
    }
}
