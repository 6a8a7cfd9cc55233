//! The workers inside a process: what they may use, whom they may reach, and how they are started.

use std::collections::HashMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use parking_lot::Mutex;
use rowmill_app::{App, FanOutRefusal, FanOutRows, Source};
use rowmill_clock::SystemClock;
use rowmill_engine::{
    BatchConfig, CallLimits, Config, CredentialFrom, Credentials, Deliverer, Engine, ProviderCalls,
    ProviderCallsConfig, ProviderCredential, RowCounts, RowRefusal, RowWriter, RowsToWrite, SharedVerdicts,
    TeamCredentials, Thumbnails, WebhookConfig, WebhookSecrets,
};
use rowmill_model::{Limits, TeamId, Webhook, provider};
use rowmill_providers::render::{self, Browser};
use rowmill_providers::scrape::{self, Extractor, Program, Scraper, child};
use rowmill_providers::{AllowList, Client, TraceHosts, UserAgent};
use rowmill_store::kept_answers::AnswerLimits;
use rowmill_store::{Store, WorkerId};
use tokio::runtime::Runtime;

use crate::clock::SharedClock;
use crate::thumbnails::EngineThumbnailer;
use crate::{browser, logging};

#[derive(Debug, Args)]
#[command(next_help_heading = "Processing")]
pub(crate) struct WorkerArgs {
    /// Number of cells that run concurrently.
    #[arg(long, env = "ROWMILL_WORKER_CONCURRENCY", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) worker_concurrency: u32,
    /// Lease duration: seconds after which other workers take over the cells of a lost worker.
    #[arg(long, env = "ROWMILL_LEASE_SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    lease_seconds: u32,
    /// On shutdown, seconds for running cells to finish. Cells that do not finish are queued again, and their
    /// calls are repeated.
    #[arg(long, env = "ROWMILL_FINISH_SECONDS", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=3_600))]
    finish_seconds: u32,
    /// Base delay before a failed call is retried, in milliseconds. The maximum delay doubles with each retry.
    #[arg(long, env = "ROWMILL_RETRY_BASE_MILLISECONDS", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    retry_base_milliseconds: u32,
    /// Seconds for which cells of a column with `processing: "batch"` are collected before they are sent.
    #[arg(long, env = "ROWMILL_BATCH_COLLECT_SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(0..=3_600))]
    batch_collect_seconds: u32,
    /// Seconds after which a provider is first asked how a batch stands. The waits after that grow to 20 times as long.
    #[arg(long, env = "ROWMILL_BATCH_POLL_SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=600))]
    batch_poll_seconds: u32,
    /// Seconds after which a batch is cancelled that its provider has not finished.
    #[arg(long, env = "ROWMILL_BATCH_SECONDS_MAX", default_value_t = 93_600, value_parser = clap::value_parser!(u32).range(1..=604_800))]
    batch_seconds_max: u32,
    /// Seconds that the receiver of an outbound webhook has for its answer.
    #[arg(long, env = "ROWMILL_WEBHOOK_TIMEOUT_SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=60))]
    webhook_timeout_seconds: u32,
    /// Wait before a failed delivery to a webhook is first retried, in milliseconds. The waits after that are longer in
    /// proportion: with 5000 they are 5 min, 30 min, 2 h, 5 h, and 10 h three times.
    #[arg(long, env = "ROWMILL_WEBHOOK_RETRY_MILLISECONDS", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    webhook_retry_milliseconds: u32,
    /// Private address ranges that tables may call, and webhooks
    /// may be sent to, such as 127.0.0.1/32,10.1.0.0/16. Default: none.
    #[arg(long, env = "ROWMILL_ALLOW_PRIVATE", default_value = "", value_parser = AllowList::parse)]
    allow_private: AllowList,
    /// The name that web scrapers and HTTP columns give themselves, such as `AcmeBot/1.0 (+https://acme.example/bot)`. Its
    /// first word is what robots.txt is searched for. Default: rowmill/VERSION.
    #[arg(long, env = "ROWMILL_USER_AGENT", default_value = "", value_parser = UserAgent::parse)]
    user_agent: UserAgent,
    /// A Chromium in which web scrapers read pages that show nothing without one, such as `chromium` or a path. Its requests
    /// go through the same guard as all others. Default: none.
    #[arg(long, env = "ROWMILL_BROWSER", value_parser = browser::find)]
    pub(crate) browser: Option<PathBuf>,
    /// Pages that are in browsers at the same time. Each takes up to 1 GiB of memory.
    #[arg(long, env = "ROWMILL_BROWSER_PAGES", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    browser_pages: u32,
}

/// The workers of this process. They have threads of their own, which the machine serves last: whoever asks
/// the service something does not wait behind a thousand cells.
#[derive(Debug)]
pub(crate) struct Workers {
    engine: Engine,
    deliverer: Deliverer,
    /// How long cells under way have when it is told to stop.
    finish: Duration,
    threads: Threads,
}

impl Workers {
    /// Begins nothing more, and waits for cells under way, though not for ever.
    pub(crate) async fn finish(&mut self) {
        if self.engine.running() > 0 {
            let seconds = self.finish.as_secs();
            logging::tell(&format!(
                "Rowmill is stopping: running cells have {seconds} s to finish. Press Ctrl+C again to stop now."
            ));
        }
        self.engine.finish(self.finish).await;
    }

    pub(crate) async fn stop(self) {
        let Self { engine, deliverer, finish, threads } = self;
        tokio::join!(engine.stop(), deliverer.stop(finish));
        drop(threads);
    }
}

/// How much the workers' threads give way to others.
const NICENESS: i32 = 5;

/// A runtime that can be dropped anywhere.
#[derive(Debug)]
struct Threads(Option<Runtime>);

impl Threads {
    fn start() -> std::io::Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.enable_all().thread_name("rowmill-worker").on_thread_start(|| {
            // On other systems it would be the whole process that gives way.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::nice(NICENESS);
        });
        builder.build().map(|runtime| Self(Some(runtime)))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// The way to the outside, for cells and for those who try things by hand.
pub(crate) fn provider_calls(
    args: &WorkerArgs,
    trace_hosts: TraceHosts,
    app: Arc<App>,
    store: &Arc<dyn Store>,
    clock: SharedClock,
    limits: &Limits,
) -> Result<Arc<ProviderCalls>, Box<dyn Error>> {
    let clock = Arc::new(clock);
    let allow = args.allow_private.clone();
    let client = Client::named(args.user_agent.clone(), allow, Arc::<SharedClock>::clone(&clock))?;
    // Web pages are strangers', whoever else is told of traces.
    let pages_max = usize::try_from(args.browser_pages).unwrap_or(usize::MAX);
    let browser = args.browser.as_ref().map(|path| Browser::new(path, pages_max, render::Limits::default()));
    if browser.is_some() {
        tokio::spawn(Browser::remove_leftovers());
    }
    let scraper =
        Scraper::new(client.clone(), Extractor::new(Program::this([child::COMMAND])?)).with_browser(browser);
    let client = client.with_trace_hosts(trace_hosts);
    // Calls at once are bounded by the cells that run at once.
    let kept_answers =
        AnswerLimits { count: limits.kept_answers_max.into(), bytes: limits.kept_answers_bytes_max.into() };
    let config = ProviderCallsConfig {
        at_once_max: usize::MAX,
        kept_answers,
        value_bytes_max: usize::try_from(limits.cell_bytes_max)?,
        ..ProviderCallsConfig::default()
    };
    let row_writer = Arc::new(FanOutWriter(Arc::clone(&app)));
    let credentials = Arc::new(CredentialCache { app, entries: Mutex::default() });
    let call_limits = store
        .shared_rates()
        .map_or_else(CallLimits::default, |shared_rates| CallLimits::with_shared_rates(shared_rates, clock));
    let shared_verdicts = SharedVerdicts::of(store);
    let calls = ProviderCalls::new(client, scraper, credentials, call_limits, shared_verdicts, config);
    Ok(Arc::new(calls.with_store(store).with_row_writer(row_writer)))
}

/// Who makes thumbnails of images in cells.
pub(crate) fn thumbnailer(
    args: &WorkerArgs,
    clock: SharedClock,
) -> Result<Arc<EngineThumbnailer>, Box<dyn Error>> {
    let client = Client::named(args.user_agent.clone(), args.allow_private.clone(), Arc::new(clock))?;
    let maker = scrape::Thumbnails::new(client, Program::this([child::COMMAND])?);
    Ok(Arc::new(EngineThumbnailer(Thumbnails::new(maker))))
}

/// Starts the workers of this process.
pub(crate) fn start(
    args: &WorkerArgs,
    store: Arc<dyn Store>,
    provider_calls: Arc<ProviderCalls>,
    app: Arc<App>,
    limits: &Limits,
) -> Result<Workers, Box<dyn Error>> {
    let threads = Threads::start()?;
    let entered = threads.0.as_ref().map(Runtime::enter);
    let clock = Arc::new(SharedClock(Arc::clone(&store)));
    let concurrency = usize::try_from(args.worker_concurrency)?;
    let config = Config {
        concurrency,
        lease: Duration::from_secs(args.lease_seconds.into()),
        retry_base: Duration::from_millis(args.retry_base_milliseconds.into()),
        value_bytes_max: usize::try_from(limits.cell_bytes_max)?,
        nesting_max: usize::try_from(limits.nesting_max)?,
        batch: batch_config(args, limits)?,
        ..Config::default()
    };
    let worker = rowmill_app::log_id(&SystemClock);
    let seed = u64::try_from(worker.as_u128() & u128::from(u64::MAX))?;
    let deliverer = start_deliverer(args, Arc::clone(&store), app, limits, seed)?;
    let engine = Engine::start(store, provider_calls, clock, config, WorkerId(worker), seed);
    drop(entered);
    Ok(Workers { engine, deliverer, finish: Duration::from_secs(args.finish_seconds.into()), threads })
}

fn batch_config(args: &WorkerArgs, limits: &Limits) -> Result<BatchConfig, Box<dyn Error>> {
    let poll = Duration::from_secs(args.batch_poll_seconds.into());
    Ok(BatchConfig {
        requests_max: usize::try_from(limits.batch_cells_max)?.max(1),
        bytes_max: limits.batch_bytes_max.into(),
        collect: Duration::from_secs(args.batch_collect_seconds.into()),
        poll,
        // Ten minutes, unless it is set otherwise.
        doubt: poll * 20,
        wait_max: Duration::from_secs(args.batch_seconds_max.into()),
    })
}

/// Starts what delivers to webhooks.
fn start_deliverer(
    args: &WorkerArgs,
    store: Arc<dyn Store>,
    app: Arc<App>,
    limits: &Limits,
    seed: u64,
) -> Result<Deliverer, Box<dyn Error>> {
    let clock = Arc::new(SharedClock(Arc::clone(&store)));
    // Of its own, so that receivers and providers do not share connections.
    let client = Client::new(args.allow_private.clone(), Arc::<SharedClock>::clone(&clock))?;
    let config = WebhookConfig {
        timeout: Duration::from_secs(args.webhook_timeout_seconds.into()),
        lease: Duration::from_secs(args.lease_seconds.into()),
        retry_base: Duration::from_millis(args.webhook_retry_milliseconds.into()),
        backlog_bytes_max: limits.webhook_backlog_bytes_max.into(),
        ..WebhookConfig::default()
    };
    Ok(Deliverer::start(store, client, Arc::new(SigningKeys(app)), clock, config, seed))
}

/// What the application knows of the secrets of webhooks.
#[derive(Debug)]
struct SigningKeys(Arc<App>);

impl WebhookSecrets for SigningKeys {
    fn signing_keys(&self, team: TeamId, webhook: &Webhook, now_ms: i64) -> Result<Vec<Vec<u8>>, String> {
        self.0.webhook_signing_keys(team, webhook, now_ms)
    }
}

/// Writes the rows of fan-out columns as the application writes rows.
#[derive(Debug)]
struct FanOutWriter(Arc<App>);

#[async_trait]
impl RowWriter for FanOutWriter {
    async fn write(&self, rows: RowsToWrite<'_>) -> Result<RowCounts, RowRefusal> {
        let RowsToWrite { team, source, target, match_on, rows } = rows;
        let written = self.0.write_fan_out(FanOutRows { team, source, target, match_on, rows }).await;
        let [created, updated, unchanged] =
            written.map_err(|FanOutRefusal { error, is_transient }| RowRefusal { error, is_transient })?;
        Ok(RowCounts { created, updated, unchanged })
    }
}

/// What the application knows of teams' credentials, as workers want it.
#[derive(Debug)]
struct CredentialCache {
    app: Arc<App>,
    entries: Mutex<HashMap<TeamId, CacheEntry>>,
}

/// What was opened, and what was made of it.
type CacheEntry = (Arc<rowmill_app::Credentials>, Arc<TeamCredentials>);

/// More teams than run at once on one machine.
const ENTRIES_MAX: usize = 1_000;

#[async_trait]
impl Credentials for CredentialCache {
    async fn of(&self, team: TeamId) -> Result<Arc<TeamCredentials>, String> {
        let opened = self.app.credentials(team).await.map_err(|error| error.to_string())?;
        let mut entries = self.entries.lock();
        if let Some((from, made)) = entries.get(&team)
            && Arc::ptr_eq(from, &opened)
        {
            return Ok(Arc::clone(made));
        }
        if entries.len() >= ENTRIES_MAX {
            entries.clear();
        }
        let made = Arc::new(team_credentials(&opened));
        entries.insert(team, (opened, Arc::clone(&made)));
        Ok(made)
    }
}

/// What cannot be opened is as if it were not there: the lists of credentials say why.
fn team_credentials(opened: &rowmill_app::Credentials) -> TeamCredentials {
    let providers = provider::PROVIDERS.iter().filter_map(|provider| {
        let access = opened.provider(provider.id).ok().flatten()?;
        let source = access.base_url.as_ref().map_or(access.source, |base_url| base_url.source);
        let credential = ProviderCredential {
            api_key: access.api_key.clone(),
            base_url: access.base_url.as_ref().map(|base_url| base_url.address.clone()),
            model: access.model.clone(),
            from: match source {
                Source::Team => CredentialFrom::Team,
                Source::Environment => CredentialFrom::Environment,
            },
        };
        Some((provider.id.to_owned(), credential))
    });
    let secrets = opened.secret_names().filter_map(|(name, _)| {
        let secret = opened.secret(name).ok().flatten()?;
        Some((name.to_owned(), secret.clone()))
    });
    TeamCredentials { providers: providers.collect(), secrets: secrets.collect() }
}
