//! The team and the limits on the wire.

use std::time::Duration;

use rowmill_app::{ApiKey, Caller, KeyRequest, KeyRotation, Quotas, Team};
use rowmill_model::{Limits, Restrictions, Scope, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rate_limits::{Rate, Rates};
use crate::wire::timestamp;

/// The team of an API key.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Team")]
pub(crate) struct TeamOut {
    #[schemars(extend("format" = "uuid"))]
    id: String,
    #[schemars(length(max = 63), regex(pattern = "^[a-z0-9][a-z0-9-]*$"))]
    slug: String,
    #[schemars(length(max = 255))]
    name: String,
    /// The URL for the event platform's webhooks. Keep it secret.
    #[schemars(length(max = 2_000))]
    webhook_url: String,
}

impl TeamOut {
    pub(crate) fn new(team: Team, base_url: &str) -> Self {
        let Team { id, slug, name, created_at_ms: _ } = team;
        Self {
            id: id.to_string(),
            slug: slug.to_string(),
            name,
            webhook_url: format!("{base_url}/webhooks/eventplatform/{id}"),
        }
    }
}

/// A team.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TeamItem {
    #[schemars(extend("format" = "uuid"))]
    id: String,
    #[schemars(length(max = 63), regex(pattern = "^[a-z0-9][a-z0-9-]*$"))]
    slug: String,
    #[schemars(length(max = 255))]
    name: String,
}

impl From<Team> for TeamItem {
    fn from(Team { id, slug, name, created_at_ms: _ }: Team) -> Self {
        Self { id: id.to_string(), slug: slug.to_string(), name }
    }
}

/// An API key, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApiKey")]
pub(crate) struct KeyOut {
    #[schemars(length(max = 36), regex(pattern = "^key_[0-9a-f]{32}$"))]
    id: String,
    #[schemars(length(max = 255))]
    name: String,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// Accurate to the minute; null if the key was never used.
    #[schemars(extend("format" = "date-time"))]
    last_used_at: Option<String>,
    /// The address of that use; null if it is not known.
    #[schemars(length(max = 45), extend("example" = "192.0.2.7"))]
    last_used_from: Option<String>,
    /// What the key may do.
    scopes: Vec<Scope>,
    /// The projects that the key is limited to; null means all.
    #[schemars(length(max = 100))]
    project_ids: Option<Vec<String>>,
    /// When the key stops working; null means never. Expired keys are listed for 30 days or longer.
    #[schemars(extend("format" = "date-time"))]
    expires_at: Option<String>,
    /// The addresses and ranges of addresses that the key can be used from; null means any.
    #[schemars(length(max = 100))]
    allow_from: Option<Vec<String>>,
    /// Whether this is the key of this request.
    current: bool,
}

impl KeyOut {
    pub(crate) fn new(key: ApiKey, caller: Caller) -> Self {
        let current = matches!(caller, Caller::Key(principal) if principal.key == key.id);
        let ApiKey { id, team: _, name, hash: _, created_at_ms, last_used, expires_at_ms, restrictions } =
            key;
        let Restrictions { scopes, projects, allow_from } = restrictions;
        Self {
            id: id.to_string(),
            name,
            created_at: timestamp(created_at_ms),
            last_used_at: last_used.map(|last| timestamp(last.at_ms)),
            last_used_from: last_used.and_then(|last| last.from).map(|from| from.to_string()),
            scopes: scopes.into(),
            project_ids: projects.map(|ids| ids.iter().map(ToString::to_string).collect()),
            expires_at: expires_at_ms.map(timestamp),
            allow_from: (!allow_from.is_empty()).then(|| allow_from.into_iter().map(String::from).collect()),
            current,
        }
    }
}

/// An API key to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct KeyCreate {
    /// 1 to 255 characters after trimming.
    #[schemars(length(max = 255), extend("x-document" = { "minLength": 1, "pattern": "\\S" }, "example" = "Import script"))]
    pub(crate) name: String,
    /// What the key may do. Default: what the key of this request may do, without `admin` if `projectIds` is given.
    #[serde(default)]
    #[schemars(length(min = 1, max = 5))]
    scopes: Option<Vec<Scope>>,
    /// The only projects that exist for the key. Default: all, those created later included.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100))]
    project_ids: Option<Vec<String>>,
    /// When the key stops working. Default: when the key of this request does.
    #[serde(default)]
    #[schemars(extend("format" = "date-time", "example" = "2027-01-31T12:00:00Z"))]
    expires_at: Option<String>,
    /// Addresses and ranges of addresses that the key can be used from, such as `192.0.2.7` or `10.0.0.0/8`. Default: those
    /// of the key of this request.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100))]
    allow_from: Option<Vec<String>>,
}

impl From<KeyCreate> for KeyRequest {
    fn from(body: KeyCreate) -> Self {
        let KeyCreate { name, scopes, project_ids, expires_at, allow_from } = body;
        Self { name, scopes: scopes.map(Scopes::from), project_ids, expires_at, allow_from }
    }
}

/// How to rotate an API key.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct KeyRotate {
    /// When the old key stops working, unless it does so earlier. Default: in 24 hours. A time in the past: at once.
    #[serde(default)]
    #[schemars(extend("format" = "date-time", "example" = "2027-01-31T12:00:00Z"))]
    old_expires_at: Option<String>,
    /// When the new key stops working. Default: when the old key would have.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    expires_at: Option<String>,
}

impl From<KeyRotate> for KeyRotation {
    fn from(body: KeyRotate) -> Self {
        let KeyRotate { old_expires_at, expires_at } = body;
        Self { old_expires_at, expires_at }
    }
}

/// A team's name.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TeamPatch {
    /// 1 to 255 characters after trimming.
    #[schemars(length(max = 255), extend("x-document" = { "minLength": 1, "pattern": "\\S" }, "example" = "Acme"))]
    pub(crate) name: String,
}

/// A team to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TeamCreate {
    /// The team's short name in URLs: lower-case letters, digits and hyphens.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9][a-z0-9-]*$"), extend("example" = "acme"))]
    pub(crate) slug: String,
    /// The team's display name. Default: the slug.
    #[serde(default)]
    #[schemars(length(max = 255), extend("x-document" = { "minLength": 1, "pattern": "\\S" }))]
    pub(crate) name: Option<String>,
}

/// All current limits.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Limits")]
pub(crate) struct LimitsOut {
    /// Default page size.
    page_size_default: u32,
    page_size_max: u32,
    /// Maximum rows per insert.
    insert_rows_max: u32,
    /// Maximum cells per update.
    cells_batch_max: u32,
    /// Maximum cells of all rows in one update of rows.
    patch_cells_max: u32,
    /// Maximum row ids per delete, trigger or stop.
    row_ids_max: u32,
    /// Maximum columns per project, including the input column.
    columns_max: u32,
    /// Maximum views per project.
    views_max: u32,
    /// Maximum bytes of a project without its rows: columns, views, settings and what of them is in the trash.
    project_bytes_max: u32,
    /// Maximum filters per view.
    filters_max: u32,
    /// Maximum secrets per team.
    secrets_max: u32,
    /// Maximum API keys per team.
    keys_max: u32,
    /// Maximum outbound webhooks per team.
    webhooks_max: u32,
    /// Bytes of events that can wait for a webhook. Beyond it new events are dropped, and the receiver is told.
    webhook_backlog_bytes_max: u32,
    /// Maximum inbound hooks per project.
    hooks_max: u32,
    /// Bytes of deliveries of a team's inbound webhooks that are kept. Beyond it the oldest are removed.
    inbound_bytes_max: u32,
    /// Maximum size of a delivery to an inbound webhook, in bytes. `bodyBytesMax` holds for it, too.
    delivery_bytes_max: u32,
    /// Results of a team that are kept to be reused (`cacheTtlSeconds`). Beyond it the oldest are removed.
    kept_answers_max: u32,
    /// Bytes of a team's kept results together.
    kept_answers_bytes_max: u32,
    /// Maximum cells in one batch of a column with `processing: "batch"`.
    batch_cells_max: u32,
    /// Maximum size of one batch, in bytes.
    batch_bytes_max: u32,
    /// Maximum teams of this installation.
    teams_max: u32,
    /// Maximum size of a cell value's JSON, in bytes.
    cell_bytes_max: u32,
    /// Maximum size of a request body after decompression, in bytes.
    body_bytes_max: u32,
    /// Maximum nesting depth of JSON. The outermost container is level 1.
    nesting_max: u32,
    /// Maximum duration of a read of many rows, in seconds.
    read_seconds_max: u32,
    /// Maximum size of an imported file after decompression, in bytes.
    import_bytes_max: u32,
    /// Maximum size of one row of an imported file, in bytes.
    import_row_bytes_max: u32,
    /// Number of rejected rows after which an import stops.
    import_rejected_max: u32,
    /// Maximum number of different fields of an imported file.
    import_fields_max: u32,
    /// Maximum size of the names of those fields together, in bytes.
    import_field_names_bytes_max: u32,
    /// Maximum imports of one team that wait or run in the background.
    import_jobs_max: u32,
    /// Maximum size of their files together, as they were sent, in bytes.
    import_jobs_bytes_max: u32,
    /// Maximum copies of projects whose rows this server copies at once.
    copies_max: u32,
    /// Connections at once, as far as the process may open as many files.
    connections_max: u32,
    /// Connections at once from one client address.
    connections_per_address_max: u32,
    /// Seconds in which the head of a request must arrive, and for which an idle connection is kept.
    head_seconds_max: u32,
    /// Seconds of waiting for a body that comes slower than `bodyBytesPerSecondMin`.
    body_wait_seconds_max: u32,
    /// Bytes a second at which a body must come.
    body_bytes_per_second_min: u32,
    /// Seconds after which a reader that takes nothing is cut off.
    write_wait_seconds_max: u32,
    /// Event streams at once.
    event_streams_max: u32,
    /// Event streams of one team at once.
    event_streams_per_team_max: u32,
    /// Bytes of rows on their way to the readers of event streams.
    event_bytes_max: u32,
    /// Maximum rows of a team, in all its projects together; null means no limit.
    team_rows_max: Option<u64>,
    /// Maximum bytes of the values of a team's rows, as they are stored; null means no limit. New rows and edits beyond
    /// it are refused; results of processing are written all the same.
    team_bytes_max: Option<u64>,
    /// How long deleted rows, columns, views and projects can be restored, in days; 0 means that they are gone at once.
    #[schemars(with = "f64", range(min = 0))]
    trash_days: serde_json::Number,
    /// How long deliveries of inbound webhooks are kept, in days.
    #[schemars(with = "f64", range(min = 0))]
    inbound_days: serde_json::Number,
    /// How long the response to a request with an `Idempotency-Key` is stored, in hours.
    idempotency_hours: u32,
    rate_limits: RateLimitsOut,
}

/// The rate limit of one caller; null means no limit.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RateLimits")]
struct RateLimitsOut {
    /// Per API key.
    key: Option<RateOut>,
    /// All API keys of a team together.
    team: Option<RateOut>,
    /// Reads without a key, per client address.
    anonymous: Option<RateOut>,
    /// Webhook deliveries, per team.
    webhook: Option<RateOut>,
    /// Failed authentication, per client address.
    auth_failures: Option<RateOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Rate")]
struct RateOut {
    requests_per_second: u32,
    burst: u32,
}

impl From<Rate> for RateOut {
    fn from(Rate { per_second, burst }: Rate) -> Self {
        Self { requests_per_second: per_second, burst }
    }
}

impl LimitsOut {
    #[expect(clippy::too_many_lines, reason = "every limit is named, so that a new one breaks the build")]
    pub(crate) fn new(
        limits: &Limits,
        rates: &Rates,
        quotas: Quotas,
        keeps_deleted_for: Duration,
        keeps_received_for: Duration,
    ) -> Self {
        let Quotas { team_rows_max, team_bytes_max } = quotas;
        let Limits {
            page_size_default,
            page_size_max,
            insert_rows_max,
            cells_batch_max,
            patch_cells_max,
            row_ids_max,
            columns_max,
            views_max,
            project_bytes_max,
            filters_max,
            secrets_max,
            keys_max,
            webhooks_max,
            webhook_backlog_bytes_max,
            hooks_max,
            inbound_bytes_max,
            delivery_bytes_max,
            kept_answers_max,
            kept_answers_bytes_max,
            batch_cells_max,
            batch_bytes_max,
            teams_max,
            cell_bytes_max,
            body_bytes_max,
            nesting_max,
            read_seconds_max,
            import_bytes_max,
            import_row_bytes_max,
            import_rejected_max,
            import_fields_max,
            import_field_names_bytes_max,
            import_jobs_max,
            import_jobs_bytes_max,
            copies_max,
            connections_max,
            connections_per_address_max,
            head_seconds_max,
            body_wait_seconds_max,
            body_bytes_per_second_min,
            write_wait_seconds_max,
            event_streams_max,
            event_streams_per_team_max,
            event_bytes_max,
        } = *limits;
        Self {
            page_size_default,
            page_size_max,
            insert_rows_max,
            cells_batch_max,
            patch_cells_max,
            row_ids_max,
            columns_max,
            views_max,
            project_bytes_max,
            filters_max,
            secrets_max,
            keys_max,
            webhooks_max,
            webhook_backlog_bytes_max,
            hooks_max,
            inbound_bytes_max,
            delivery_bytes_max,
            kept_answers_max,
            kept_answers_bytes_max,
            batch_cells_max,
            batch_bytes_max,
            teams_max,
            cell_bytes_max,
            body_bytes_max,
            nesting_max,
            read_seconds_max,
            import_bytes_max,
            import_row_bytes_max,
            import_rejected_max,
            import_fields_max,
            import_field_names_bytes_max,
            import_jobs_max,
            import_jobs_bytes_max,
            copies_max,
            connections_max,
            connections_per_address_max,
            head_seconds_max,
            body_wait_seconds_max,
            body_bytes_per_second_min,
            write_wait_seconds_max,
            event_streams_max,
            event_streams_per_team_max,
            event_bytes_max,
            team_rows_max,
            team_bytes_max,
            trash_days: days(keeps_deleted_for),
            inbound_days: days(keeps_received_for),
            idempotency_hours: rowmill_app::IDEMPOTENCY_HOURS,
            rate_limits: RateLimitsOut {
                key: rates.key.map(RateOut::from),
                team: rates.team.map(RateOut::from),
                anonymous: rates.anonymous.map(RateOut::from),
                webhook: rates.webhook.map(RateOut::from),
                auth_failures: rates.auth_failures.map(RateOut::from),
            },
        }
    }
}

/// A time in days, without a fraction where it has none.
fn days(time: Duration) -> serde_json::Number {
    const DAY: Duration = Duration::from_hours(24);
    let whole = time.as_secs() / DAY.as_secs();
    let fraction = serde_json::Number::from_f64(time.as_secs_f64() / DAY.as_secs_f64());
    let is_whole = DAY.saturating_mul(u32::try_from(whole).unwrap_or(u32::MAX)) == time;
    fraction.filter(|_| !is_whole).unwrap_or_else(|| whole.into())
}
