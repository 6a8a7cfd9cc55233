//! Sends spans to a collector, by OTLP over HTTP. Requests and cells never wait for it: they leave their spans in a bounded
//! queue (`telemetry`), and what cannot be sent is dropped and counted.

mod settings;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::Secret;
use rowmill_providers::ssrf_guard::{Method, Request, Response};
use rowmill_providers::{AllowList, Client, NetworkPolicy};
use rowmill_telemetry::{Batch, Resource, SpanQueue, count_dropped, rejected_spans};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

pub(crate) use self::settings::OtlpArgs;
use self::settings::Target;

/// What waits for longer than this is sent, however little it is.
const SEND_EVERY: Duration = Duration::from_secs(2);
/// What the collector has to answer one request.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// The longest answer that is read. It says little, and nothing that we need.
const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// The waits before what failed is sent again. After the last it is dropped.
const RETRY_WAITS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];
/// How long a shutdown waits for the last spans to be sent.
const FLUSH_MAX: Duration = Duration::from_secs(3);
/// A collector that fails is told of once in this time.
const TELL_EVERY: Duration = Duration::from_mins(1);

/// Sends the spans of this process until it is closed.
#[derive(Debug)]
pub(crate) struct Exporter {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Exporter {
    /// Turns tracing on, if a collector is named.
    pub(crate) fn start(args: &OtlpArgs) -> Result<Option<Self>, String> {
        let Some(target) = args.target(|name| std::env::var(name).ok())? else { return Ok(None) };
        let Target { url, headers, ratio, service } = target;
        // The operator named the collector, so it may be on any network.
        let client = Client::new(AllowList::default(), Arc::new(SystemClock))?;
        let Some(queue) = rowmill_telemetry::install(ratio) else { return Ok(None) };
        let instance = rowmill_app::log_id(&SystemClock).to_string();
        let resource = Resource { service, version: env!("CARGO_PKG_VERSION"), instance };
        tracing::info!(collector = %url, ratio, "spans are sent to a collector");
        let (stop, stopped) = watch::channel(false);
        let sender = Sender { client, url, headers, resource, queue, failures: Failures::default() };
        Ok(Some(Self { stop, task: tokio::spawn(sender.run(stopped)) }))
    }

    /// Sends what is left, within a deadline.
    pub(crate) async fn close(mut self) {
        let _ = self.stop.send(true);
        if tokio::time::timeout(FLUSH_MAX, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

struct Sender {
    client: Client,
    url: Url,
    headers: Vec<(String, Secret)>,
    resource: Resource,
    queue: Arc<SpanQueue>,
    failures: Failures,
}

/// Why the collector did not take a batch.
struct Refused {
    error: String,
    may_retry: bool,
}

impl Sender {
    async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = self.queue.filled() => {}
                () = SystemClock.sleep(SEND_EVERY) => {}
                _ = stopped.wait_for(|stopped| *stopped) => break,
            }
            while let Some(batch) = self.queue.take(&self.resource) {
                self.deliver(batch, &mut stopped).await;
            }
        }
        while let Some(batch) = self.queue.take(&self.resource) {
            self.deliver(batch, &mut stopped).await;
        }
    }

    /// Sends a batch, again if need be, and drops it in the end. Who stops does not wait for a second try.
    async fn deliver(&mut self, batch: Batch, stopped: &mut watch::Receiver<bool>) {
        let mut waits = RETRY_WAITS.iter();
        loop {
            let Err(Refused { error, may_retry }) = self.send(&batch).await else { return };
            let wait = waits.next().filter(|_| may_retry && !*stopped.borrow());
            let Some(wait) = wait else {
                count_dropped("failed", number(batch.spans));
                self.failures.tell(&error, batch.spans);
                return;
            };
            self.failures.tell(&error, 0);
            tokio::select! {
                () = SystemClock.sleep(*wait) => {}
                _ = stopped.wait_for(|stopped| *stopped) => {}
            }
        }
    }

    async fn send(&self, batch: &Batch) -> Result<(), Refused> {
        let answer = post(&self.client, &self.url, &self.headers, batch.body.clone()).await?;
        match answer.status {
            200..=299 => {
                let spans = number(batch.spans);
                let rejected = rejected_spans(&answer.body).min(spans);
                metrics::counter!("rowmill_otlp_spans_sent_total").increment(spans - rejected);
                count_dropped("rejected", rejected);
                Ok(())
            }
            status => {
                let error = format!("it answered {status}");
                // As the specification says.
                Err(Refused { error, may_retry: matches!(status, 429 | 502 | 503 | 504) })
            }
        }
    }
}

async fn post(
    client: &Client,
    url: &Url,
    headers: &[(String, Secret)],
    body: Vec<u8>,
) -> Result<Response, Refused> {
    let request = Request::new(Method::POST, url.clone(), NetworkPolicy::Trusted);
    let mut request = request.deadline(ANSWER_MAX).bytes_max(ANSWER_BYTES_MAX).cut_short();
    for (name, value) in headers {
        let refused = |_| Refused { error: format!("the header {name} cannot be sent"), may_retry: false };
        request = request.secret_header(name, "", value).map_err(refused)?;
    }
    let answer = client.send(request.body("application/x-protobuf", body)).await;
    answer.map_err(|failure| Refused { error: failure.message, may_retry: true })
}

/// Whether the collector takes spans: it is sent a message without any. The answer is its address, none if none is set, and
/// an error says what is wrong.
pub(crate) async fn probe(args: &OtlpArgs) -> Result<Option<Url>, String> {
    let Some(target) = args.target(|name| std::env::var(name).ok())? else { return Ok(None) };
    let Target { url, headers, ratio: _, service: _ } = target;
    let client = Client::new(AllowList::default(), Arc::new(SystemClock))?;
    let answer = post(&client, &url, &headers, Vec::new()).await.map_err(|refused| refused.error)?;
    match answer.status {
        200..=299 => Ok(Some(url)),
        status => Err(format!("It answered {status}.")),
    }
}

/// What is told of a collector that fails.
#[derive(Debug, Default)]
struct Failures {
    told_at: Option<Instant>,
    dropped: usize,
}

impl Failures {
    fn tell(&mut self, error: &str, dropped: usize) {
        self.dropped += dropped;
        let now = SystemClock.monotonic();
        if self.told_at.is_some_and(|at| now.saturating_duration_since(at) < TELL_EVERY) {
            return;
        }
        self.told_at = Some(now);
        let spans_dropped = std::mem::take(&mut self.dropped);
        tracing::warn!(
            error,
            spans_dropped,
            "spans could not be sent to the collector; requests are not affected"
        );
    }
}

fn number(spans: usize) -> u64 {
    u64::try_from(spans).unwrap_or(u64::MAX)
}
