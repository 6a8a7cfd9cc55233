//! Connecting to the server: the URL, TLS, and the connection pool.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Connect, Hook, HookError, Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod};
use futures_util::future::{BoxFuture, select_ok};
use percent_encoding::percent_decode_str;
use rowmill_clock::{Clock, SystemClock};
use rowmill_store::{Result, StoreError};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::server_error::answered_within;

/// How long connecting to one server may take, authentication included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a caller waits for a connection of the pool.
pub(crate) const POOL_WAIT: Duration = Duration::from_secs(10);
/// TCP keepalive: a peer that is silent for this long is probed.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Statements are planned once per connection, and not for each set of values. They are written so that one plan is
/// good for all values: it finds rows by an index. For tables without statistics the planner would choose to scan the
/// whole project. Behind a pooler these settings may have no effect, and do no harm.
const PLAN_ONCE: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
     SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
     SET enable_material = off; SET jit = off";

#[derive(Debug, Clone)]
pub struct Options {
    /// Connections of this process, besides one for LISTEN.
    pub pool_size: usize,
    /// How long one statement may take, waiting for locks included.
    pub statement_timeout: Duration,
    /// This machine's clock, which is compared with the database's.
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        Self { pool_size: 16, statement_timeout: Duration::from_secs(30), clock: Arc::new(SystemClock) }
    }
}

/// Where the server is, and whether TLS is used.
#[derive(Clone)]
pub(crate) struct Server {
    /// One for each host: a primary, and standbys that may become it.
    hosts: Vec<Config>,
    tls: Option<MakeRustlsConnect>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hosts = self.hosts.iter().flat_map(Config::get_hosts);
        write!(f, "Server({:?})", hosts.collect::<Vec<_>>())
    }
}

type Notifications = UnboundedSender<AsyncMessage>;

impl Server {
    /// Parses a URL such as `postgres://user:password@host/database?sslmode=require`. TLS is used if the URL asks for
    /// it. The server's certificate and name are then always verified, against `sslrootcert` or the system's roots.
    pub(crate) fn parse(address: &str) -> Result<Self> {
        let (address, wants) = take_tls(address);
        let addresses = each_host(&address);
        let mut hosts = Vec::with_capacity(addresses.len());
        for address in &addresses {
            // The message never repeats the address: it may hold a password.
            let mut config = Config::from_str(address).map_err(|error| {
                StoreError::Backend(format!("the database URL is not valid: {error}").into())
            })?;
            config.ssl_mode(if wants.tls { SslMode::Require } else { SslMode::Disable });
            config.connect_timeout(CONNECT_TIMEOUT).keepalives_idle(KEEPALIVE).tcp_user_timeout(KEEPALIVE);
            if addresses.len() > 1 {
                // Of a primary and its standbys only the primary will do.
                config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            }
            if config.get_application_name().is_none() {
                config.application_name("rowmill");
            }
            hosts.push(config);
        }
        let tls =
            if wants.tls { Some(MakeRustlsConnect::new(tls(wants.root_file.as_deref())?)) } else { None };
        Ok(Self { hosts, tls })
    }

    /// The same server, with another application name.
    pub(crate) fn named(mut self, name: &str) -> Self {
        for host in &mut self.hosts {
            host.application_name(name);
        }
        self
    }

    /// Where it is, for messages.
    pub(crate) fn place(&self) -> String {
        let host = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        };
        let hosts: Vec<String> = self.hosts.iter().flat_map(Config::get_hosts).map(host).collect();
        let database =
            self.hosts.first().and_then(|host| host.get_dbname().or(host.get_user())).unwrap_or_default();
        format!("the PostgreSQL database {database} on {}", hosts.join(", "))
    }

    pub(crate) fn pool(&self, options: &Options) -> Result<Pool> {
        // A closed connection is noticed without asking; one that dies under a statement is tried again.
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let connector = Connector { server: self.clone(), runtime: Handle::current() };
        let manager = Manager::from_connect(Config::new(), connector, recycling);
        Pool::builder(manager)
            .max_size(options.pool_size.max(2))
            .wait_timeout(Some(POOL_WAIT))
            .create_timeout(Some(CONNECT_TIMEOUT))
            // The same few connections do most of the work, and have its statements and pages at hand.
            .queue_mode(QueueMode::Lifo)
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(async move { client.batch_execute(PLAN_ONCE).await.map_err(HookError::Backend) })
            }))
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .build()
            .map_err(|error| StoreError::Backend(error.into()))
    }

    /// Opens a connection outside the pool, for LISTEN.
    pub(crate) async fn connect(&self, notifications: Notifications) -> Result<Client> {
        let (client, _) = answered_within(CONNECT_TIMEOUT, self.connect_any(Some(notifications))).await?;
        Ok(client)
    }

    /// Connects to all hosts at once and uses the first that succeeds, so that a host that accepts connections and then
    /// hangs delays nobody.
    async fn connect_any(
        &self,
        notifications: Option<Notifications>,
    ) -> Result<(Client, JoinHandle<()>), Error> {
        let hosts = self
            .hosts
            .iter()
            .map(|host| Box::pin(connect_host(host, self.tls.as_ref(), notifications.clone())));
        select_ok(hosts).await.map(|(connected, _)| connected)
    }
}

/// Opens the pool's connections, and drives all of them on the runtime that opened the store, whichever asks for one: a
/// request that is given a connection must not wait for threads that are busy with cells.
#[derive(Debug)]
struct Connector {
    server: Server,
    runtime: Handle,
}

impl Connect for Connector {
    fn connect(&self, _: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        Box::pin(async {
            let server = self.server.clone();
            let mut connecting = JoinSet::new();
            connecting.spawn_on(async move { server.connect_any(None).await }, &self.runtime);
            match connecting.join_next().await {
                Some(Ok(connected)) => connected,
                // The runtime is shutting down, and whoever waits here with it.
                Some(Err(_)) | None => std::future::pending().await,
            }
        })
    }
}

async fn connect_host(
    host: &Config,
    tls: Option<&MakeRustlsConnect>,
    notifications: Option<Notifications>,
) -> Result<(Client, JoinHandle<()>), Error> {
    if let Some(tls) = tls {
        let (client, connection) = host.connect(tls.clone()).await?;
        return Ok((client, tokio::spawn(forward(connection, notifications))));
    }
    let (client, connection) = host.connect(NoTls).await?;
    Ok((client, tokio::spawn(forward(connection, notifications))))
}

/// Drives a connection and forwards notifications. Ends with the connection.
async fn forward<S, T>(mut connection: Connection<S, T>, notifications: Option<Notifications>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
        if notifications.as_ref().is_some_and(|notifications| notifications.send(message).is_err()) {
            break;
        }
    }
}

/// Splits a URL with several hosts into one URL for each.
fn each_host(address: &str) -> Vec<String> {
    let Some((scheme, rest)) = address.split_once("://") else { return vec![address.to_owned()] };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) =
        authority.rsplit_once('@').map_or((None, authority), |(user, hosts)| (Some(user), hosts));
    let user = user.map_or_else(String::new, |user| format!("{user}@"));
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{path}")).collect()
}

/// What a URL says about TLS.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    tls: bool,
    root_file: Option<String>,
}

/// Removes from a URL the TLS parameters, which the library does not know or reads differently.
fn take_tls(address: &str) -> (String, Wanted) {
    let Some((before, query)) = address.split_once('?') else {
        return (address.to_owned(), Wanted::default());
    };
    let mut wanted = Wanted::default();
    let mut others = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => wanted.tls = matches!(mode, "require" | "verify-ca" | "verify-full"),
            Some(("sslrootcert", file)) => {
                wanted.root_file = Some(percent_decode_str(file).decode_utf8_lossy().into_owned());
            }
            _ => others.push(pair),
        }
    }
    let address =
        if others.is_empty() { before.to_owned() } else { format!("{before}?{}", others.join("&")) };
    (address, wanted)
}

fn tls(root_file: Option<&str>) -> Result<ClientConfig> {
    let unusable = |error: &dyn std::fmt::Display| {
        StoreError::Backend(format!("TLS to the database cannot be set up: {error}").into())
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    let Some(file) = root_file else {
        let builder = builder.with_platform_verifier().map_err(|error| unusable(&error))?;
        return Ok(builder.with_no_client_auth());
    };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_spoken_where_the_address_asks_for_it() {
        let check = |address: &str, rest: &str, tls: bool, root_file: Option<&str>| {
            let wanted = Wanted { tls, root_file: root_file.map(str::to_owned) };
            assert_eq!(take_tls(address), (rest.to_owned(), wanted));
        };
        check("postgres://h/d", "postgres://h/d", false, None);
        check("postgres://h/d?sslmode=disable", "postgres://h/d", false, None);
        check("postgres://h/d?sslmode=require&options=x", "postgres://h/d?options=x", true, None);
        check(
            "postgres://h/d?sslmode=verify-full&sslrootcert=%2Fa%20b.pem",
            "postgres://h/d",
            true,
            Some("/a b.pem"),
        );
        Server::parse("postgres://h/d?sslmode=require").unwrap();
        assert!(Server::parse("postgres://h/d?sslmode=require&sslrootcert=/no/such/file").is_err());
    }

    #[test]
    fn several_hosts_are_asked_each_by_itself() {
        let check = |address: &str, expected: &[&str]| assert_eq!(each_host(address), expected, "{address}");
        check("postgres://h/d", &["postgres://h/d"]);
        check(
            "postgres://u:p,@[::1]:1,h:2/d?x=a,b",
            &["postgres://u:p,@[::1]:1/d?x=a,b", "postgres://u:p,@h:2/d?x=a,b"],
        );
        check("postgres://a,b", &["postgres://a", "postgres://b"]);
        let server = Server::parse("postgres://u@a:1,b:2/d?target_session_attrs=read-write").unwrap();
        assert_eq!(format!("{server:?}"), "Server([Tcp(\"a\"), Tcp(\"b\")])");
    }

    #[test]
    fn a_bad_address_is_told_without_its_password() {
        let error = Server::parse("postgres://u:canary@h:port/d").unwrap_err().to_string();
        assert!(error.contains("URL") && !error.contains("canary"), "{error}");
    }
}
