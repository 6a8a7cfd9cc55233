//! `rowmill serve`: the service, from start to a stop that loses nothing.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rowmill_api::{ApiState, ImportRunner, Metrics, MetricsAccess, Rate, Rates, Settings};
use rowmill_app::{App, Environment, NewKey, Quotas};
use rowmill_clock::SystemClock;
use rowmill_model::Limits;
use rowmill_store::Store;
use rowmill_store_sqlite::Access;
use tokio::net::TcpListener;

use crate::backup::key_choice;
use crate::backup_schedule::Schedule;
use crate::clock::SharedClock;
use crate::config::Serve;
use crate::connections::{self, Caps, Deadlines, HttpService, Listener, Tls};
use crate::listen_address::bind;
use crate::observing::{Sampler, event_loop, metrics_access};
use crate::otlp::Exporter;
use crate::request_id::request_id;
use crate::secret_key::OpenedVault;
use crate::shutdown::{ShutdownSignal, ShutdownTimes, accept};
use crate::trials::Trials;
use crate::welcome::Welcome;
use crate::workers::Workers;
use crate::{database, logging, secret_key, service_manager, storage_space, welcome, workers};

/// What a process is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The API, and workers unless they are not wanted.
    Server,
    /// Workers alone.
    Worker,
}

pub(crate) async fn serve(serve: Box<Serve>, role: Role) -> Result<(), Box<dyn Error>> {
    if role == Role::Worker && serve.store.url().is_none() {
        return Err(
            "`rowmill worker` needs PostgreSQL: set ROWMILL_DATABASE_URL to the database of the other \
             nodes. On SQLite, `rowmill serve` runs the workers itself"
                .into(),
        );
    }
    let (backups, access) = (schedule(&serve)?, metrics_access(serve.metrics_token.as_ref())?);
    logging::start(&serve.log, serve.log_format)?;
    let exporter = Exporter::start(&serve.otlp)?;
    let mut limits = Limits::from(serve.limits.clone());
    connections::fit_to_files(&mut limits);
    let Opened { database, app, clock } = open(&serve, &limits).await?;
    // The address is taken before a key is made, so that a failed start spends none.
    let sockets = Sockets::bind(&serve)?;
    let first_key = make_first_key(&app, &serve, role).await?;
    let link = first_key.as_ref().map(|new_key| app.sign_in_link(new_key.key.id)).transpose()?;

    let mut settings = api_settings(&serve, &*database);
    let gathered = rowmill_api::install_metrics()?;
    start_chores(&serve, &app, backups);
    let imports = match role {
        Role::Server => Some(run_imports(&app)),
        Role::Worker => None,
    };
    let (args, trace_hosts) = (&serve.workers, serve.otlp.otlp_propagate.clone());
    app.set_thumbnailer(workers::thumbnailer(args, clock.clone())?);
    let provider_calls =
        workers::provider_calls(args, trace_hosts, Arc::clone(&app), &database, clock, &limits)?;
    let concurrency = usize::try_from(serve.workers.worker_concurrency)?;
    app.try_with(Arc::new(Trials { calls: Arc::clone(&provider_calls), concurrency }));
    let (kind, calls) = (serve.store.kind(), Arc::clone(&provider_calls));
    let sampler = Sampler::new(Arc::clone(&database), Arc::clone(&app), calls, kind);
    settings.metrics = Some(Metrics { gathered, sampled: Some(Arc::new(sampler)), access });
    let workers = if role == Role::Server && serve.no_workers {
        None
    } else {
        Some(workers::start(&serve.workers, database, provider_calls, Arc::clone(&app), &limits)?)
    };

    let address = sockets.main.local_addr()?;
    let Listeners { main, admin } = listen(sockets, &app, &serve, role, limits, settings)?;
    // Nobody listening is no reason not to serve.
    let base_url = serve.base_url(address);
    let first = first_key.as_ref().zip(link.as_deref());
    let (place, key_file) = (serve.store.place(), serve.first_key_file.as_deref());
    let _ = Welcome { scheme: serve.scheme(), address, base_url: &base_url, place: &place, key_file, first }
        .print();
    if let Some(admin) = admin {
        let address = admin.address()?;
        logging::tell(&format!("Health and metrics are also on http://{address} (--admin-listen)"));
        // It answers to the very end.
        tokio::spawn(async move { admin.accept().await });
    }
    let times = shutdown_times(&serve);
    let mut shutdown_signal = ShutdownSignal::listen()?;
    #[cfg(target_os = "linux")]
    tokio::spawn(crate::idle_pages::keep_given_back());
    service_manager::tell_ready();
    beside_warm_up(&app, role, accept(main, times, &app, &mut shutdown_signal)).await;
    if let Some(workers) = workers {
        finish(workers, &mut shutdown_signal).await;
    }
    if let Some(imports) = imports {
        imports.stop().await;
    }
    app.close().await?;
    if let Some(exporter) = exporter {
        exporter.close().await;
    }
    logging::tell("Rowmill has stopped. All acknowledged writes are saved.");
    Ok(())
}

fn shutdown_times(serve: &Serve) -> ShutdownTimes {
    ShutdownTimes {
        drain: Duration::from_secs(serve.drain_seconds),
        finish: Duration::from_secs(serve.shutdown_seconds),
    }
}

/// Ends the workers: their cells have some time, unless somebody does not want to wait.
async fn finish(mut workers: Workers, shutdown_signal: &mut ShutdownSignal) {
    if !shutdown_signal.is_repeated() {
        tokio::select! {
            () = workers.finish() => {}
            () = shutdown_signal.wait() => {}
        }
    }
    workers.stop().await;
}

/// On the very first start of a server. A worker's key nobody would see.
async fn make_first_key(app: &App, serve: &Serve, role: Role) -> Result<Option<NewKey>, Box<dyn Error>> {
    if role == Role::Worker {
        return Ok(None);
    }
    if let Some(file) = serve.first_key_file.as_deref() {
        welcome::check_key_file(file, app.teams().await?.is_empty())?;
    }
    Ok(app.bootstrap().await?)
}

/// The backups that are made beside all else.
fn schedule(serve: &Serve) -> Result<Option<Schedule>, String> {
    let key = key_choice(serve.secret_key.as_ref());
    Schedule::of(&serve.backups, &serve.store.data_dir, serve.store.url().is_some(), key)
}

/// What goes on beside requests and cells.
fn start_chores(serve: &Serve, app: &Arc<App>, backups: Option<Schedule>) {
    tokio::spawn(event_loop::watch());
    if serve.store.url().is_none() {
        tokio::spawn(storage_space::watch(serve.store.data_dir.clone()));
    }
    if let Some(backups) = backups {
        tokio::spawn(backups.run());
    }
    tokio::spawn(sweep(Arc::clone(app)));
}

/// Removes for good what was kept for long enough.
async fn sweep(app: Arc<App>) {
    tokio::join!(
        app.keep_trash_swept(),
        app.keep_received_swept(),
        app.keep_spending_swept(),
        app.remove_lost_copies()
    );
}

/// Serves, and meanwhile loads columns into memory before anybody asks for them.
async fn beside_warm_up(app: &Arc<App>, role: Role, serving: impl Future<Output = ()>) {
    let warm_up = (role == Role::Server).then(|| {
        let app = Arc::clone(app);
        tokio::spawn(async move { app.warm_up().await })
    });
    serving.await;
    if let Some(warm_up) = warm_up {
        warm_up.abort();
    }
}

/// Imports in the background, and removing what is left of them.
fn run_imports(app: &Arc<App>) -> ImportRunner {
    let sweeping = Arc::clone(app);
    tokio::spawn(async move { sweeping.keep_imports_swept().await });
    ImportRunner::start(Arc::clone(app), rowmill_app::log_id(&SystemClock))
}

/// The application on its database.
struct Opened {
    database: Arc<dyn Store>,
    app: Arc<App>,
    clock: SharedClock,
}

async fn open(serve: &Serve, limits: &Limits) -> Result<Opened, Box<dyn Error>> {
    let environment = Environment::read(|name| {
        // What is no text is told to be wrong where it is checked, and not taken for missing.
        std::env::var_os(name).map(|value| value.into_string().unwrap_or_else(|_| "\0".to_owned()))
    })?;
    let store = &serve.store;
    let database = database::open(store, Access::Serve).await?;
    database::make_ready(store)?;
    let OpenedVault { vault, made } = secret_key::vault(&store.data_dir, serve.secret_key.clone())?;
    let clock = SharedClock(Arc::clone(&database));
    let app = App::new(Arc::clone(&database), limits.clone(), vault, environment, Arc::new(clock.clone()));
    let quota = |max: u64| Some(max).filter(|max| *max > 0);
    let quotas =
        Quotas { team_rows_max: quota(serve.team_rows_max), team_bytes_max: quota(serve.team_bytes_max) };
    let app = app.with_quotas(quotas).with_trash(serve.trash_days).with_received(serve.inbound_days);
    app.set_query_memory(serve.query_memory);
    let app = Arc::new(app);
    secret_key::check(&app, made, &store.data_dir, serve.adopt_secret_key).await?;
    app.seal_signing_secrets().await?;
    Ok(Opened { database, app, clock })
}

fn api_settings(serve: &Serve, database: &dyn Store) -> Settings {
    let mut settings = Settings::new(request_id);
    settings.rates = Rates {
        key: serve.rate_limit_key.0,
        team: serve.rate_limit_team.map_or_else(|| serve.rate_limit_key.0.map(Rate::of_team), |rate| rate.0),
        anonymous: serve.rate_limit_anonymous.0,
        webhook: serve.rate_limit_webhook.0,
        auth_failures: serve.rate_limit_auth_failures.0,
    };
    settings.cors = serve.cors_origins.clone();
    settings.trusted_proxies = Arc::new(serve.trusted_proxies.clone());
    settings.request_memory_bytes = serve.request_memory.bytes();
    settings.shared_rates = database.shared_rates();
    settings
}

/// The addresses that requests come in on.
struct Sockets {
    main: TcpListener,
    /// Health and metrics only.
    admin: Option<TcpListener>,
    /// For the main one.
    tls: Option<Tls>,
}

impl Sockets {
    fn bind(serve: &Serve) -> Result<Self, Box<dyn Error>> {
        let main = bind(serve.listen)?;
        let admin = match serve.admin_listen {
            Some(address) => Some(bind(address)?),
            None => None,
        };
        let tls = serve.tls_files().map(Tls::load).transpose()?;
        Ok(Self { main, admin, tls })
    }
}

/// What answers at these addresses.
struct Listeners {
    main: Listener,
    admin: Option<Listener>,
}

fn listen(
    sockets: Sockets,
    app: &Arc<App>,
    serve: &Serve,
    role: Role,
    limits: Limits,
    settings: Settings,
) -> Result<Listeners, Box<dyn Error>> {
    let state = ApiState::new(Arc::clone(app)).at(serve.public_url.clone());
    let (caps, deadlines) = (Caps::of(&limits), Deadlines::of(&limits));
    let trusted_proxies = Arc::clone(&settings.trusted_proxies);
    let admin = sockets.admin.map(|socket| {
        let mut admin_settings = Settings::new(request_id);
        let metrics = settings.metrics.clone();
        admin_settings.metrics =
            metrics.map(|metrics| Metrics { access: MetricsAccess::Everyone, ..metrics });
        let router = rowmill_api::health(state.clone(), admin_settings);
        let service =
            HttpService { router, app: Arc::clone(app), public_url: None, trusted_proxies: Arc::default() };
        Listener::new(socket, service, Caps::ADMIN, deadlines)
    });
    let router = match role {
        Role::Server => rowmill_api::service(limits)?.at(serve.public_url.as_ref()).site(state, settings),
        Role::Worker => rowmill_api::health(state, settings),
    };
    let public_url = serve.public_url.clone().map(Arc::new);
    let http_service = HttpService { router, app: Arc::clone(app), public_url, trusted_proxies };
    if let Some(tls) = sockets.tls.clone() {
        tokio::spawn(tls.keep_current());
    }
    let main = Listener::new(sockets.main, http_service, caps, deadlines).with_tls(sockets.tls);
    Ok(Listeners { main, admin })
}
