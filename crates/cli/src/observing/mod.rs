//! Metrics that are looked up when somebody asks for them: the queue, the database, limits, streams, the process.

mod access;
pub(crate) mod event_loop;
mod exposition;
mod process;
mod queue;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use rowmill_api::MetricSamples;
use rowmill_app::App;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_engine::{LimitCounts, ProviderCalls};
use rowmill_store::{DatabaseStats, PoolStats, Result, Store};
use tokio::sync::Mutex;

pub(crate) use self::access::metrics_access;
use self::exposition::{Exposition, Kind};
use self::queue::QueueSampler;
use crate::clock::SharedClock;

/// However often and by however many metrics are asked for, the database is asked this often at most.
const SAMPLE_EVERY: Duration = Duration::from_secs(5);
/// A scraper waits ten seconds by default. It gets what is known without a database that is slower than this.
const DATABASE_WAIT_MAX: Duration = Duration::from_secs(2);

/// Looks up what is not gathered.
pub(crate) struct Sampler {
    database: Arc<dyn Store>,
    app: Arc<App>,
    provider_calls: Arc<ProviderCalls>,
    clock: SharedClock,
    started_at: Timestamp,
    /// Which store it is, for people.
    store: &'static str,
    /// The text of the last look, and when that was.
    last: Mutex<Option<(Instant, String)>>,
    queue: Mutex<QueueSampler>,
    samples: AtomicU64,
}

impl Sampler {
    pub(crate) fn new(
        database: Arc<dyn Store>,
        app: Arc<App>,
        provider_calls: Arc<ProviderCalls>,
        store: &'static str,
    ) -> Self {
        let clock = SharedClock(Arc::clone(&database));
        Self {
            database,
            app,
            provider_calls,
            clock,
            started_at: SystemClock.now(),
            store,
            last: Mutex::default(),
            queue: Mutex::default(),
            samples: AtomicU64::new(0),
        }
    }

    async fn sample(&self) -> String {
        let mut text = Exposition::default();
        let looked = tokio::time::timeout(DATABASE_WAIT_MAX, self.look_up()).await;
        let is_up = matches!(looked, Ok(Ok(_)));
        match looked {
            Ok(Ok(known)) => known.write(&mut text, self.clock.now()),
            Ok(Err(error)) => tracing::warn!(%error, "the database could not be asked for metrics"),
            Err(_) => tracing::warn!("the database did not answer in time for metrics"),
        }
        let help = "Whether the database answered within two seconds (1) or not (0).";
        text.one("rowmill_database_up", help, f64::from(u8::from(is_up)));
        write_pool(&mut text, self.database.pool_stats());
        self.write_limits(&mut text);
        write_spent(&mut text);
        let streams = count(self.app.open_event_streams());
        text.one("rowmill_event_streams", "Event streams that are open.", streams);
        text.metric(
            "rowmill_build_info",
            Kind::Gauge,
            "The version that runs, and its database (sqlite or postgres). Always 1.",
            [(vec![("version", env!("CARGO_PKG_VERSION")), ("store", self.store)], 1.0)],
        );
        let samples = self.samples.fetch_add(1, Ordering::Relaxed) + 1;
        text.metric(
            "rowmill_metrics_samples_total",
            Kind::Counter,
            "How often the figures were looked up that need the database: every five seconds at most.",
            [(Vec::new(), exposition::number(samples))],
        );
        process::write(&mut text, self.started_at);
        text.finish()
    }

    async fn look_up(&self) -> Result<Known> {
        let mut queue = self.queue.lock().await;
        let queue = queue.look(&*self.database).await?;
        Ok(Known { queue, database: self.database.database_stats().await? })
    }

    fn write_limits(&self, text: &mut Exposition) {
        let limits = self.provider_calls.limit_counts();
        let by_state = |states: fn(&LimitCounts) -> [(&'static str, u64); 3]| {
            let all = limits.iter().flat_map(move |(provider, counts)| {
                states(counts).map(|(state, number)| {
                    (vec![("provider", *provider), ("state", state)], exposition::number(number))
                })
            });
            all.collect::<Vec<_>>()
        };
        text.metric(
            "rowmill_circuit_breakers",
            Kind::Gauge,
            "Circuit breakers of credentials, hosts and sites, by provider and state (closed, open, probing).",
            by_state(|counts| {
                [
                    ("closed", counts.breakers_closed),
                    ("open", counts.breakers_open),
                    ("probing", counts.breakers_probing),
                ]
            }),
        );
        text.metric(
            "rowmill_rate_limits",
            Kind::Gauge,
            "Rate limits of credentials, hosts and columns, by provider and state: free, used_up (the next call must \
             wait), paused (the provider asked for it).",
            by_state(|counts| {
                [("free", counts.rates_free), ("used_up", counts.rates_used_up), ("paused", counts.rates_paused)]
            }),
        );
    }
}

#[async_trait]
impl MetricSamples for Sampler {
    async fn render(&self) -> String {
        let mut last = self.last.lock().await;
        match &*last {
            Some((at, text)) if at.elapsed() < SAMPLE_EVERY => text.clone(),
            _ => {
                let text = self.sample().await;
                *last = Some((SystemClock.monotonic(), text.clone()));
                text
            }
        }
    }
}

/// What the database told.
struct Known {
    queue: queue::QueueSample,
    database: DatabaseStats,
}

impl Known {
    fn write(&self, text: &mut Exposition, now: Timestamp) {
        self.queue.write(text, now);
        let DatabaseStats { bytes, wal_bytes, wal_written_bytes } = self.database;
        let number = exposition::number;
        text.one("rowmill_database_bytes", "Size of the database on the disk.", number(bytes));
        text.metric(
            "rowmill_database_wal_bytes",
            Kind::Gauge,
            "Size of the write-ahead log of SQLite, which is folded into the database now and then.",
            wal_bytes.map(|bytes| (Vec::new(), number(bytes))),
        );
        text.metric(
            "rowmill_database_wal_written_bytes_total",
            Kind::Counter,
            "Bytes that the PostgreSQL server has written to its write-ahead log, for all its databases.",
            wal_written_bytes.map(|bytes| (Vec::new(), number(bytes))),
        );
    }
}

/// They are told whether the database answers or not: that is when somebody wants to know.
fn write_pool(text: &mut Exposition, pool: PoolStats) {
    let PoolStats { in_use, idle, max, waiting } = pool;
    let number = exposition::number;
    text.metric(
        "rowmill_database_connections",
        Kind::Gauge,
        "Connections of this process to the database, by state (in_use, idle).",
        [("in_use", in_use), ("idle", idle)].map(|(state, count)| (vec![("state", state)], number(count))),
    );
    text.metric(
        "rowmill_database_max_connections",
        Kind::Gauge,
        "The most connections that this process opens to PostgreSQL (--database-connections).",
        max.map(|max| (Vec::new(), number(max))),
    );
    text.one(
        "rowmill_database_waiting_requests",
        "Who waits for a connection; on SQLite, writes that wait for the writer.",
        number(waiting),
    );
}

fn write_spent(text: &mut Exposition) {
    let spent = rowmill_engine::spent_dollars();
    text.metric(
        "rowmill_spent_dollars_total",
        Kind::Counter,
        "US dollars that cells of this process cost, told by providers or by the price list, by provider.",
        spent.iter().map(|(provider, dollars)| (vec![("provider", *provider)], *dollars)),
    );
}

fn count(count: usize) -> f64 {
    exposition::number(u64::try_from(count).unwrap_or(u64::MAX))
}
