//! One attempt of a delivery.

use std::time::Duration;

use rowmill_model::Webhook;
use rowmill_model::webhook::DisabledReason;
use rowmill_providers::ssrf_guard::{Method, NetworkPolicy, Request, Response};
use rowmill_store::webhooks::{Attempt, Delivery, DeliveryOutcome, DeliverySettlement};
use rowmill_telemetry::{Kind, Span, TraceContext};
use url::Url;

use super::disabling::{self, News};
use super::receivers::Health;
use super::schedule::wait_after;
use super::shared::Shared;
use super::signature::signature;

/// How much of an answer is kept.
const ANSWER_BYTES_MAX: usize = 1_024;

/// What came of an attempt, before it is decided what follows.
struct Attempted {
    attempt: Attempt,
    retry_after: Option<Duration>,
    health: Health,
}

/// Delivers once, and says what is to be written and what it says of the receiver.
pub(super) async fn deliver(
    shared: &Shared,
    delivery: Delivery,
    webhook: Option<Webhook>,
) -> (DeliverySettlement, Option<Health>) {
    let Delivery { id, leased_until_ms, .. } = delivery;
    let settled = |attempt, outcome| DeliverySettlement { id, leased_until_ms, attempt, outcome };
    let Some(webhook) = webhook else { return (settled(None, DeliveryOutcome::Forgotten), None) };
    if webhook.disabled.is_some() {
        return (settled(None, DeliveryOutcome::GivenUp), None);
    }
    let mut span = begin_span(&delivery);
    let attempted = attempt(shared, &delivery, &webhook);
    let within = span.as_ref().map(Span::context);
    let Attempted { attempt, retry_after, health } = TraceContext::scope(within, attempted).await;
    let outcome = match attempt.status {
        Some(200..=299) => DeliveryOutcome::Delivered,
        Some(410) => DeliveryOutcome::GivenUp,
        _ => {
            let attempts = delivery.attempts.saturating_add(1);
            let wait = wait_after(attempts, shared.config.retry_base, retry_after, shared.chance());
            wait.map_or(DeliveryOutcome::GivenUp, |wait| {
                let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX / 4);
                DeliveryOutcome::Retry(shared.clock.now_ms() + wait_ms)
            })
        }
    };
    let news = match (outcome, attempt.status) {
        (DeliveryOutcome::Delivered, _) => News::Delivered,
        (_, Some(410)) => News::Disable(DisabledReason::Gone),
        _ => News::Failed,
    };
    disabling::note(shared, delivery.team, &webhook, news).await;
    metrics::counter!("rowmill_webhook_attempts_total", "outcome" => word(outcome)).increment(1);
    if let (Some(span), Some(status)) = (&mut span, attempt.status) {
        span.set("http.response.status_code", status);
    }
    if let Some(span) = span {
        span.end(word(outcome), outcome != DeliveryOutcome::Delivered);
    }
    (settled(Some(attempt), outcome), Some(health))
}

/// The span of an attempt. What is delivered tells of many requests, so it begins a trace of its own.
fn begin_span(delivery: &Delivery) -> Option<Span> {
    let mut span = Span::begin(Kind::Client, None, || "deliver webhook".into())?;
    let team = delivery.team;
    span.set_team(team.0.as_u128(), || team.to_string());
    Some(span)
}

fn word(outcome: DeliveryOutcome) -> &'static str {
    match outcome {
        DeliveryOutcome::Delivered => "delivered",
        DeliveryOutcome::Retry(_) => "retry",
        DeliveryOutcome::GivenUp | DeliveryOutcome::Forgotten => "given_up",
    }
}

async fn attempt(shared: &Shared, delivery: &Delivery, webhook: &Webhook) -> Attempted {
    let (at_ms, started) = (shared.clock.now_ms(), shared.clock.monotonic());
    let sent = match request(shared, delivery, webhook, at_ms) {
        Ok(request) => shared.client.send(request).await.map_err(|failure| failure.message),
        Err(message) => Err(message),
    };
    let took = shared.clock.monotonic().saturating_duration_since(started);
    let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    match sent {
        Ok(answer) => {
            let status = answer.status;
            let error = (!(200..=299).contains(&status)).then(|| told(status));
            let is_busy = status == 429 || status >= 500;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            Attempted {
                retry_after: retry_after(&answer),
                health: if is_busy { Health::Failed } else { Health::Answered(took) },
                attempt: Attempt { at_ms, took_ms, status: Some(status), answer: text, error },
            }
        }
        Err(message) => Attempted {
            retry_after: None,
            health: Health::Failed,
            attempt: Attempt { at_ms, took_ms, status: None, answer: String::new(), error: Some(message) },
        },
    }
}

/// What a status that is no success means, for whoever looks at the log.
fn told(status: u16) -> String {
    match status {
        300..=399 => {
            format!("The receiver redirected ({status}). Redirects are not followed: set the final URL.")
        }
        410 => "The receiver answered 410 Gone, so the webhook was disabled.".to_owned(),
        _ => format!("The receiver answered {status}. Any status from 200 to 299 is a success."),
    }
}

fn request(shared: &Shared, delivery: &Delivery, webhook: &Webhook, now_ms: i64) -> Result<Request, String> {
    let url = Url::parse(&webhook.url).map_err(|error| format!("The URL cannot be read: {error}."))?;
    let keys = shared.secrets.signing_keys(delivery.team, webhook, now_ms)?;
    let (id, timestamp) = (delivery.id.to_string(), now_ms.div_euclid(1_000));
    let signature = signature(&keys, &id, timestamp, &delivery.body)
        .ok_or_else(|| "The delivery cannot be signed. Rotate the secret.".to_owned())?;
    let headers = [
        ("webhook-id", id.as_str()),
        ("webhook-timestamp", &timestamp.to_string()),
        ("webhook-signature", &signature),
    ]
    .map(|(name, value)| (name, value.to_owned()));
    let mut request = Request::new(Method::POST, url, NetworkPolicy::Guarded)
        .body("application/json", delivery.body.clone())
        .bytes_max(ANSWER_BYTES_MAX)
        .cut_short()
        .deadline(shared.config.timeout);
    for (name, value) in headers {
        request = request.header(name, &value).map_err(|failure| failure.message)?;
    }
    Ok(request)
}

/// How long the receiver asks to be left alone, in seconds.
fn retry_after(answer: &Response) -> Option<Duration> {
    answer.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
}
