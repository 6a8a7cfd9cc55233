//! `rowmill serve`: the service, from start to a stop that loses nothing.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::Response;
use axum::http::header::{CONNECTION, HeaderValue};
use rowmill_api::{ApiState, PublicUrl, Rates, Settings};
use rowmill_app::{App, Environment, NewKey, SystemClock};
use rowmill_model::Limits;
use rowmill_store_sqlite::Access;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::clock::SharedClock;
use crate::config::{LogFormat, Serve};
use crate::connections::{self, Caps, Deadlines, HttpService, Listener};
use crate::secret_key::Opened;
use crate::trials::Trials;
use crate::{database, secret_key, workers};

/// How long a new connection may take to bring a request before a stop closes it.
const FIRST_REQUEST: Duration = Duration::from_millis(200);

/// What a process is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The API, and workers unless they are not wanted.
    Server,
    /// Workers alone.
    Worker,
}

pub(crate) async fn serve(serve: Box<Serve>, role: Role) -> Result<(), Box<dyn Error>> {
    let Serve {
        listen,
        admin_listen,
        store,
        public_url,
        rate_limit_key,
        rate_limit_anonymous,
        rate_limit_webhook,
        rate_limit_auth_failures,
        query_memory,
        request_memory,
        cors_origins,
        log,
        log_format,
        shutdown_seconds,
        drain_seconds,
        secret_key,
        adopt_secret_key,
        no_workers,
        workers,
        limits,
    } = *serve;
    if role == Role::Worker && store.url().is_none() {
        return Err(
            "`rowmill worker` needs PostgreSQL: set ROWMILL_DATABASE_URL to the database of the other \
             nodes. On SQLite, `rowmill serve` runs the workers itself"
                .into(),
        );
    }
    start_logging(&log, log_format)?;
    let mut limits = Limits::from(limits);
    connections::fit_to_files(&mut limits);
    let environment = Environment::read(|name| {
        // What is no text is told to be wrong where it is checked, and not taken for missing.
        std::env::var_os(name).map(|value| value.into_string().unwrap_or_else(|_| "\0".to_owned()))
    })?;
    let database = database::open(&store, Access::Serve).await?;
    database::make_ready(&store)?;
    let Opened { vault, made } = secret_key::vault(&store.data_dir, secret_key)?;
    let clock = SharedClock(Arc::clone(&database));
    let app = App::new(Arc::clone(&database), limits.clone(), vault, environment, Arc::new(clock.clone()));
    app.set_query_memory(query_memory);
    let app = Arc::new(app);
    secret_key::check(&app, made, &store.data_dir, adopt_secret_key).await?;
    // The address is taken before a key is made, so that a failed start spends none.
    let listener = bind(listen).await?;
    let address = listener.local_addr()?;
    let admin_listener = match admin_listen {
        Some(admin_listen) => Some(bind(admin_listen).await?),
        None => None,
    };
    let first_key = app.bootstrap().await?;
    let link = match &first_key {
        Some(new_key) if role == Role::Server => Some(app.sign_in_link(new_key.key.id)?),
        _ => None,
    };

    let mut settings = Settings::new(request_id);
    settings.rates = Rates {
        key: rate_limit_key.0,
        anonymous: rate_limit_anonymous.0,
        webhook: rate_limit_webhook.0,
        auth_failures: rate_limit_auth_failures.0,
    };
    settings.cors = cors_origins;
    settings.request_memory_bytes = request_memory.bytes();
    let metrics = rowmill_api::install_metrics()?;
    settings.metrics = Some(metrics.clone());
    settings.shared_rates = database.shared_rates();
    let provider_calls = workers::provider_calls(&workers, Arc::clone(&app), &*database, clock)?;
    app.try_with(Arc::new(Trials(Arc::clone(&provider_calls))));
    let workers = if role == Role::Server && no_workers {
        None
    } else {
        Some(workers::start(&workers, database, Arc::clone(&provider_calls), &limits)?)
    };
    let state = ApiState::new(Arc::clone(&app)).at(public_url.clone());
    let (caps, deadlines) = (Caps::of(&limits), Deadlines::of(&limits));
    let admin = admin_listener.map(|listener| {
        let mut settings = Settings::new(request_id);
        settings.metrics = Some(metrics);
        let http_service =
            HttpService { router: rowmill_api::health(state.clone(), settings), public_url: None };
        Listener::new(listener, http_service, Caps::ADMIN, deadlines)
    });
    let router = match role {
        Role::Server => rowmill_api::service(limits)?.site(state, settings),
        Role::Worker => rowmill_api::health(state, settings),
    };

    // Nobody listening is no reason not to serve.
    let base_url = public_url.as_ref().map_or_else(|| format!("http://{address}"), PublicUrl::base_url);
    let _ = print_welcome(address, &base_url, &store.place(), first_key.as_ref().zip(link.as_deref()));
    if let Some(admin) = admin {
        eprintln!("Health and metrics are also on http://{}", admin.address()?);
        // It answers to the very end.
        tokio::spawn(async move { admin.accept().await });
    }
    let router = router
        .layer(axum::middleware::map_response_with_state(Arc::clone(&app), close_connection_when_stopping));
    let http_service = HttpService { router, public_url: public_url.map(Arc::new) };
    let times = ShutdownTimes {
        drain: Duration::from_secs(drain_seconds),
        finish: Duration::from_secs(shutdown_seconds),
    };
    let mut shutdown_signal = ShutdownSignal::listen()?;
    let listener = Listener::new(listener, http_service, caps, deadlines);
    accept(listener, times, &app, &mut shutdown_signal).await;
    if let Some(mut workers) = workers {
        if !shutdown_signal.is_repeated() {
            tokio::select! {
                () = workers.finish() => {}
                () = shutdown_signal.wait() => {}
            }
        }
        workers.stop().await;
    }
    app.close().await?;
    eprintln!("Rowmill has stopped. All acknowledged writes are saved.");
    Ok(())
}

async fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| format!("cannot listen on {address}: {error}"))
}

/// Says where the service is and, on the very first start, which key opens it.
fn print_welcome(
    address: SocketAddr,
    base_url: &str,
    place: &str,
    first: Option<(&NewKey, &str)>,
) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "Rowmill is listening on http://{address} (data in {place})")?;
    if let Some((new_key, token)) = first {
        let key = new_key.secret.reveal();
        writeln!(
            out,
            "\nFirst start. Open this link to sign in (it works once, within one hour):\n\n  \
             {base_url}/signin/{token}\n"
        )?;
        writeln!(out, "API key of the team \"default\". Save it: it is shown only once.\n\n  {key}\n")?;
        writeln!(out, "Try it:   curl -H \"Authorization: Bearer {key}\" {base_url}/v4/projects")?;
        writeln!(out, "Docs:     {base_url}/docs\n")?;
    }
    out.flush()
}

/// How long a stop takes.
#[derive(Debug, Clone, Copy)]
struct ShutdownTimes {
    /// Requests are still taken, while balancers are told to send none.
    drain: Duration,
    /// Requests under way may go on.
    finish: Duration,
}

/// Serves until told to stop, then lets balancers turn away and requests under way finish.
async fn accept(
    listener: Listener,
    ShutdownTimes { drain, finish }: ShutdownTimes,
    app: &App,
    shutdown_signal: &mut ShutdownSignal,
) {
    tokio::select! {
        () = listener.accept() => {}
        () = shutdown_signal.wait() => {}
    }
    app.begin_shutdown();
    if !drain.is_zero() {
        eprintln!(
            "Rowmill is draining: it accepts requests for {} s, while /readyz returns 503.",
            drain.as_secs()
        );
        tokio::select! {
            () = listener.accept() => {}
            () = tokio::time::sleep(drain) => {}
            () = shutdown_signal.wait() => {}
        }
    }
    let ended = listener.close();
    app.close_feeds();
    eprintln!("Rowmill is stopping: in-flight requests have {} s to finish.", finish.as_secs());
    let finishing = async {
        // Connections made a moment ago have yet to bring their request.
        tokio::time::sleep(FIRST_REQUEST.min(finish)).await;
        ended.await;
    };
    tokio::select! {
        () = finishing => {}
        () = tokio::time::sleep(finish) => tracing::warn!("some requests did not finish in time"),
        () = shutdown_signal.wait() => {}
    }
}

/// The signals by which an operator ends the service.
struct ShutdownSignal {
    terminate: Signal,
    interrupt: Signal,
    times: u32,
}

impl ShutdownSignal {
    fn listen() -> std::io::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt, times: 0 })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        self.times += 1;
    }

    /// Who says it twice does not want to wait.
    fn is_repeated(&self) -> bool {
        self.times > 1
    }
}

/// Whoever keeps a connection open is told to open the next one elsewhere.
async fn close_connection_when_stopping<B>(
    State(app): State<Arc<App>>,
    mut response: Response<B>,
) -> Response<B> {
    if app.is_stopping() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

pub(crate) fn request_id() -> uuid::Uuid {
    rowmill_app::log_id(&SystemClock)
}

fn start_logging(filter: &str, format: LogFormat) -> Result<(), Box<dyn Error>> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| format!("--log {filter:?} is not a valid filter: {error}"))?;
    let is_terminal = std::io::stderr().is_terminal();
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(is_terminal).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}
