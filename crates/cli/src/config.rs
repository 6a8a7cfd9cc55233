//! Settings: every flag has an environment variable and a key in `rowmill.toml`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rowmill_api::{Cors, PublicUrl, Rate, TrustedProxies};
use rowmill_app::QueryMemory;
use rowmill_model::Limits;

use crate::backup_settings::ScheduleArgs;
use crate::connections::TlsFiles;
use crate::listen_address::listen_address;
use crate::logging::LogFormat;
use crate::otlp::OtlpArgs;
use crate::secret_setting::SecretSetting;
use crate::workers::WorkerArgs;

/// Where data is kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct StoreArgs {
    /// The data folder, which holds the SQLite database and secret.key.
    #[arg(long, env = "ROWMILL_DATA_DIR", default_value = "./rowmill-data")]
    pub(crate) data_dir: PathBuf,
    /// Use this PostgreSQL database instead of SQLite; any number of nodes can share it:
    /// `postgres://user:password@host/database?sslmode=require`. Prefer the variable or the file: other
    /// processes can read command lines.
    #[arg(long, env = "ROWMILL_DATABASE_URL", hide_env_values = true, hide_default_value = true)]
    pub(crate) database_url: Option<SecretSetting>,
    /// Maximum number of PostgreSQL connections of this process, in addition to one for notifications.
    #[arg(long, env = "ROWMILL_DATABASE_CONNECTIONS", default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) database_connections: u32,
    /// Timeout of a PostgreSQL statement, in seconds.
    #[arg(long, env = "ROWMILL_DATABASE_TIMEOUT_SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) database_timeout_seconds: u32,
    /// Copy the SQLite database, in the data folder, before a new version of Rowmill migrates it.
    #[arg(long, env = "ROWMILL_UPGRADE_COPY", default_value = "true", num_args = 0..=1, default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) upgrade_copy: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address to listen on. Port 0 picks a free port.
    #[arg(long, env = "ROWMILL_LISTEN", default_value = "127.0.0.1:8080", value_parser = listen_address)]
    pub(crate) listen: SocketAddr,
    /// The certificate for HTTPS on the main address, with those that signed it, as a PEM file. It is read again when it
    /// changes. Without it the server speaks plain HTTP.
    #[arg(long, env = "ROWMILL_TLS_CERTIFICATE", requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The certificate's private key, as a PEM file.
    #[arg(long, env = "ROWMILL_TLS_KEY", requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,
    /// An address of its own for /healthz, /readyz and /metrics, which answers whatever goes on at the other.
    #[arg(long, env = "ROWMILL_ADMIN_LISTEN", value_parser = listen_address)]
    pub(crate) admin_listen: Option<SocketAddr>,
    /// Token for /metrics on the main address, at least 16 characters; send it as `Authorization: Bearer`. Without it,
    /// metrics are for requests from this machine. On the address of --admin-listen they need no token.
    #[arg(long, env = "ROWMILL_METRICS_TOKEN", hide_env_values = true, hide_default_value = true)]
    pub(crate) metrics_token: Option<SecretSetting>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Public URL of the server behind a proxy, such as `https://example.com/tables`. Not needed if a trusted
    /// proxy sends X-Forwarded-Host, -Proto and -Prefix.
    #[arg(long, env = "ROWMILL_PUBLIC_URL", value_parser = PublicUrl::parse)]
    pub(crate) public_url: Option<PublicUrl>,
    /// Addresses or ranges of your proxies, such as 127.0.0.1,10.0.0.0/8, or `none`. Only their X-Forwarded-For, -Host,
    /// -Proto, -Prefix and Forwarded headers are used; those of others are ignored. Without this setting, whoever
    /// connects from this machine is believed where the service is reached (-Host, -Proto, -Prefix), which links
    /// are made of, but not the client's address.
    #[arg(long, env = "ROWMILL_TRUSTED_PROXIES", default_value = "", hide_default_value = true, value_parser = TrustedProxies::parse)]
    pub(crate) trusted_proxies: TrustedProxies,
    /// Requests per second and burst per API key, such as 100/200; 0 for no limit.
    #[arg(long, env = "ROWMILL_RATE_LIMIT_KEY", default_value = "100/200", value_parser = rate)]
    pub(crate) rate_limit_key: RateSetting,
    /// Rate limit of a team: all its API keys together. Default: four times the rate of a key.
    #[arg(long, env = "ROWMILL_RATE_LIMIT_TEAM", value_parser = rate)]
    pub(crate) rate_limit_team: Option<RateSetting>,
    /// Rate limit for reads without an API key, per client address.
    #[arg(long, env = "ROWMILL_RATE_LIMIT_ANONYMOUS", default_value = "20/40", value_parser = rate)]
    pub(crate) rate_limit_anonymous: RateSetting,
    /// Rate limit for webhook deliveries, per team.
    #[arg(long, env = "ROWMILL_RATE_LIMIT_WEBHOOK", default_value = "100/500", value_parser = rate)]
    pub(crate) rate_limit_webhook: RateSetting,
    /// Rate limit for failed authentication (a wrong key, or an unknown team in the path), per client address.
    #[arg(long, env = "ROWMILL_RATE_LIMIT_AUTH_FAILURES", default_value = "5/20", value_parser = rate)]
    pub(crate) rate_limit_auth_failures: RateSetting,
    /// Rows that a team can have, in all its projects together; 0 for no limit. Requests at the same moment can pass
    /// it by what each of them adds.
    #[arg(long, env = "ROWMILL_TEAM_ROWS_MAX", default_value_t = 0)]
    pub(crate) team_rows_max: u64,
    /// Bytes that the values of a team's rows can take, in all its projects together; 0 for no limit. New rows and edits
    /// beyond it are refused; results of processing are written all the same.
    #[arg(long, env = "ROWMILL_TEAM_BYTES_MAX", default_value_t = 0)]
    pub(crate) team_bytes_max: u64,
    /// Days for which deleted rows, columns, views and projects can be restored, such as 30 or 0.5; with 0 they are gone at
    /// once. Rows in the trash count towards team-rows-max.
    #[arg(long, env = "ROWMILL_TRASH_DAYS", default_value = "30", value_parser = days)]
    pub(crate) trash_days: Duration,
    /// Days for which deliveries of inbound webhooks are kept, such as 7 or 0.5.
    #[arg(long, env = "ROWMILL_INBOUND_DAYS", default_value = "7", value_parser = days)]
    pub(crate) inbound_days: Duration,
    /// Memory for the columns that views use: a percentage of the machine's memory (25%) or a size (512M, 2G).
    /// Columns that do not fit are read from the database each time.
    #[arg(long, env = "ROWMILL_QUERY_MEMORY", default_value = "25%", value_parser = QueryMemory::parse)]
    pub(crate) query_memory: QueryMemory,
    /// Memory for request bodies that are being read and parsed, of all callers together, as 10% of the machine's, 512M
    /// or 2G; at least 64M. As much again is for large answers until the client has read them. Beyond it requests are
    /// answered with 503, with a fair share for each team.
    #[arg(long, env = "ROWMILL_REQUEST_MEMORY", default_value = "10%", value_parser = QueryMemory::parse)]
    pub(crate) request_memory: QueryMemory,
    /// Origins that may call the API from a browser (CORS): `*`, or a comma-separated list.
    #[arg(long, env = "ROWMILL_CORS_ORIGINS", default_value = "", value_parser = Cors::parse)]
    pub(crate) cors_origins: Cors,
    /// Log filter, such as `info` or `rowmill=debug,warn`.
    #[arg(long, env = "ROWMILL_LOG", default_value = "info")]
    pub(crate) log: String,
    #[arg(long, env = "ROWMILL_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// On shutdown, seconds for in-flight requests to finish.
    #[arg(long, env = "ROWMILL_SHUTDOWN_SECONDS", default_value_t = 30)]
    pub(crate) shutdown_seconds: u64,
    /// On shutdown, seconds to keep accepting requests while /readyz returns 503, so that load balancers can
    /// react.
    #[arg(long, env = "ROWMILL_DRAIN_SECONDS", default_value_t = 0)]
    pub(crate) drain_seconds: u64,
    /// Key that encrypts credentials and team secrets, at least 32 characters. Default: the file secret.key in
    /// the data folder. Prefer the variable or the settings file: other processes can read command lines.
    #[arg(long, env = "ROWMILL_SECRET_KEY", hide_env_values = true, hide_default_value = true)]
    pub(crate) secret_key: Option<SecretSetting>,
    /// Accept this secret key although the database was encrypted with another one that is lost. Credentials
    /// and secrets must then be set again.
    #[arg(long, env = "ROWMILL_ADOPT_SECRET_KEY", default_value = "false", num_args = 0..=1, default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) adopt_secret_key: bool,
    /// A new file, of mode 0600, that the first start writes its API key and sign-in link to instead of printing them. For
    /// services and containers whose output is kept as a log. Default: they are printed.
    #[arg(long, env = "ROWMILL_FIRST_KEY_FILE")]
    pub(crate) first_key_file: Option<PathBuf>,
    /// Do not run workers in this process.
    #[arg(long, env = "ROWMILL_NO_WORKERS", default_value = "false", num_args = 0..=1, default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) no_workers: bool,
    #[command(flatten)]
    pub(crate) backups: ScheduleArgs,
    #[command(flatten)]
    pub(crate) workers: WorkerArgs,
    #[command(flatten)]
    pub(crate) otlp: OtlpArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

impl Serve {
    /// The files for HTTPS, if it is wanted.
    pub(crate) fn tls_files(&self) -> Option<TlsFiles> {
        let (certificate, key) = self.tls_certificate.clone().zip(self.tls_key.clone())?;
        Some(TlsFiles { certificate, key })
    }

    /// What addresses begin with.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls_files().is_some() { "https" } else { "http" }
    }

    /// Where people find the service.
    pub(crate) fn base_url(&self, address: SocketAddr) -> String {
        self.public_url.as_ref().map_or_else(|| format!("{}://{address}", self.scheme()), PublicUrl::base_url)
    }
}

/// A rate, or none at all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateSetting(pub(crate) Option<Rate>);

fn rate(text: &str) -> Result<RateSetting, String> {
    Rate::parse(text).map(RateSetting)
}

/// The most days that deleted things are kept: a hundred years.
const TRASH_DAYS_MAX: f64 = 36_500.0;

fn days(text: &str) -> Result<Duration, String> {
    let number: Option<f64> = text.trim().parse().ok().filter(|days| (0.0..=TRASH_DAYS_MAX).contains(days));
    let days = number.ok_or_else(|| format!("must be a number of days from 0 to {TRASH_DAYS_MAX}"))?;
    Ok(Duration::from_secs_f64(days * 24.0 * 60.0 * 60.0))
}

/// One flag for each limit, with the contract's numbers as defaults.
macro_rules! limit_args {
    ($($(#[$doc:meta])* $field:ident, $env:literal;)*) => {
        #[derive(Debug, Clone, Args)]
        #[command(next_help_heading = "Limits")]
        pub(crate) struct LimitArgs {
            $($(#[$doc])* #[arg(long, env = $env, default_value_t = Limits::default().$field, value_parser = clap::value_parser!(u32).range(1..))]
            $field: u32,)*
        }

        impl From<LimitArgs> for Limits {
            fn from(LimitArgs { $($field),* }: LimitArgs) -> Self {
                let limits = Self { $($field),* };
                // The default is in force only as far as pages may be so large.
                Self { page_size_default: limits.page_size_default.min(limits.page_size_max), ..limits }
            }
        }
    };
}

limit_args! {
    /// Default page size.
    page_size_default, "ROWMILL_PAGE_SIZE_DEFAULT";
    /// Maximum page size.
    page_size_max, "ROWMILL_PAGE_SIZE_MAX";
    /// Maximum rows per insert.
    insert_rows_max, "ROWMILL_INSERT_ROWS_MAX";
    /// Maximum cells per update.
    cells_batch_max, "ROWMILL_CELLS_BATCH_MAX";
    /// Maximum cells of all rows in one update of rows.
    patch_cells_max, "ROWMILL_PATCH_CELLS_MAX";
    /// Maximum row ids per delete, trigger or stop.
    row_ids_max, "ROWMILL_ROW_IDS_MAX";
    /// Maximum columns per project, including the input column.
    columns_max, "ROWMILL_COLUMNS_MAX";
    /// Maximum views per project.
    views_max, "ROWMILL_VIEWS_MAX";
    /// Maximum bytes of a project without its rows: columns, views, settings and what of them is in the trash.
    project_bytes_max, "ROWMILL_PROJECT_BYTES_MAX";
    /// Maximum filters per view.
    filters_max, "ROWMILL_FILTERS_MAX";
    /// Maximum secrets per team.
    secrets_max, "ROWMILL_SECRETS_MAX";
    /// Maximum API keys per team.
    keys_max, "ROWMILL_KEYS_MAX";
    /// Maximum outbound webhooks per team.
    webhooks_max, "ROWMILL_WEBHOOKS_MAX";
    /// Bytes of events that can wait for a webhook. Beyond it new events are dropped, and the receiver is told.
    webhook_backlog_bytes_max, "ROWMILL_WEBHOOK_BACKLOG_BYTES_MAX";
    /// Maximum inbound hooks per project.
    hooks_max, "ROWMILL_HOOKS_MAX";
    /// Bytes of deliveries of a team's inbound webhooks that are kept. Beyond it the oldest are removed.
    inbound_bytes_max, "ROWMILL_INBOUND_BYTES_MAX";
    /// Maximum bytes of a delivery to an inbound webhook.
    delivery_bytes_max, "ROWMILL_DELIVERY_BYTES_MAX";
    /// Results of a team that are kept to be reused (`cacheTtlSeconds`). Beyond it the oldest are removed.
    kept_answers_max, "ROWMILL_KEPT_ANSWERS_MAX";
    /// Bytes of a team's kept results together.
    kept_answers_bytes_max, "ROWMILL_KEPT_ANSWERS_BYTES_MAX";
    /// Maximum cells in one batch of a column with `processing: "batch"`. Providers take 50,000 (OpenAI) or 100,000.
    batch_cells_max, "ROWMILL_BATCH_CELLS_MAX";
    /// Maximum size of one batch, in bytes. It is written to a temporary file (`TMPDIR`) before it is sent.
    batch_bytes_max, "ROWMILL_BATCH_BYTES_MAX";
    /// Maximum teams of this installation.
    teams_max, "ROWMILL_TEAMS_MAX";
    /// Maximum size of a cell value's JSON, in bytes.
    cell_bytes_max, "ROWMILL_CELL_BYTES_MAX";
    /// Maximum size of a request body after decompression, in bytes.
    body_bytes_max, "ROWMILL_BODY_BYTES_MAX";
    /// Maximum nesting depth of JSON.
    nesting_max, "ROWMILL_NESTING_MAX";
    /// Maximum duration of a read of many rows, in seconds.
    read_seconds_max, "ROWMILL_READ_SECONDS_MAX";
    /// Maximum size of an imported file after decompression, in bytes.
    import_bytes_max, "ROWMILL_IMPORT_BYTES_MAX";
    /// Maximum size of one row of an imported file, in bytes.
    import_row_bytes_max, "ROWMILL_IMPORT_ROW_BYTES_MAX";
    /// Number of rejected rows after which an import stops.
    import_rejected_max, "ROWMILL_IMPORT_REJECTED_MAX";
    /// Maximum number of different fields of an imported file.
    import_fields_max, "ROWMILL_IMPORT_FIELDS_MAX";
    /// Maximum size of the names of those fields together, in bytes.
    import_field_names_bytes_max, "ROWMILL_IMPORT_FIELD_NAMES_BYTES_MAX";
    /// Maximum imports of one team that wait or run in the background.
    import_jobs_max, "ROWMILL_IMPORT_JOBS_MAX";
    /// Maximum size of their files together, as they were sent, in bytes.
    import_jobs_bytes_max, "ROWMILL_IMPORT_JOBS_BYTES_MAX";
    /// Maximum copies of projects whose rows this server copies at once.
    copies_max, "ROWMILL_COPIES_MAX";
    /// Connections at once; fewer if the process may open fewer files. Beyond it, an idle connection gives way,
    /// or the newcomer is told 503; /healthz, /readyz and /metrics are answered all the same.
    connections_max, "ROWMILL_CONNECTIONS_MAX";
    /// Connections at once from one client address (for IPv6: from one /64). It does not hold for trusted proxies.
    connections_per_address_max, "ROWMILL_CONNECTIONS_PER_ADDRESS_MAX";
    /// Seconds in which the head of a request must arrive, and for which an idle connection is kept.
    head_seconds_max, "ROWMILL_HEAD_SECONDS_MAX";
    /// Seconds that the server waits for a body in all, beyond the time it needs at body-bytes-per-second-min.
    body_wait_seconds_max, "ROWMILL_BODY_WAIT_SECONDS_MAX";
    /// Bytes a second at which a body must come.
    body_bytes_per_second_min, "ROWMILL_BODY_BYTES_PER_SECOND_MIN";
    /// Seconds after which a reader that takes nothing is cut off.
    write_wait_seconds_max, "ROWMILL_WRITE_WAIT_SECONDS_MAX";
    /// Event streams at once.
    event_streams_max, "ROWMILL_EVENT_STREAMS_MAX";
    /// Event streams of one team at once.
    event_streams_per_team_max, "ROWMILL_EVENT_STREAMS_PER_TEAM_MAX";
    /// Bytes of rows on their way to the readers of event streams; a team has a quarter of it.
    event_bytes_max, "ROWMILL_EVENT_BYTES_MAX";
}
