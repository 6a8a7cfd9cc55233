//! The team and the limits on the wire.

use rowmill_app::{ApiKey, Caller, Team};
use rowmill_model::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rate_limits::{Rate, Rates};
use crate::wire::timestamp;

/// The team a key belongs to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TeamOut {
    #[schemars(extend("format" = "uuid"))]
    id: String,
    #[schemars(length(max = 63), regex(pattern = "^[a-z0-9][a-z0-9-]*$"))]
    slug: String,
    #[schemars(length(max = 255))]
    name: String,
    /// Where the event platform sends its webhooks. The address is the secret.
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

/// A team, as others see it.
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
pub(crate) struct KeyOut {
    #[schemars(length(max = 36), regex(pattern = "^key_[0-9a-f]{32}$"))]
    id: String,
    #[schemars(length(max = 255))]
    name: String,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// To the minute; null if it was never used.
    #[schemars(extend("format" = "date-time"))]
    last_used_at: Option<String>,
    /// Whether this is the key that asks.
    current: bool,
}

impl KeyOut {
    pub(crate) fn new(key: ApiKey, caller: Caller) -> Self {
        let current = matches!(caller, Caller::Key(principal) if principal.key == key.id);
        let ApiKey { id, team: _, name, hash: _, created_at_ms, last_used_at_ms } = key;
        Self {
            id: id.to_string(),
            name,
            created_at: timestamp(created_at_ms),
            last_used_at: last_used_at_ms.map(timestamp),
            current,
        }
    }
}

/// What a key is for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyCreate {
    /// 1 to 255 characters after trimming.
    #[schemars(length(max = 255), extend("x-document" = { "minLength": 1, "pattern": "\\S" }, "example" = "Import script"))]
    pub(crate) name: String,
}

/// What a team is called.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TeamPatch {
    /// 1 to 255 characters after trimming.
    #[schemars(length(max = 255), extend("x-document" = { "minLength": 1, "pattern": "\\S" }, "example" = "Acme"))]
    pub(crate) name: String,
}

/// A team to make.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TeamCreate {
    /// Its short name in paths: lower-case letters, digits and hyphens.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9][a-z0-9-]*$"), extend("example" = "acme"))]
    pub(crate) slug: String,
    /// Its name for people; the slug without one.
    #[serde(default)]
    #[schemars(length(max = 255), extend("x-document" = { "minLength": 1, "pattern": "\\S" }))]
    pub(crate) name: Option<String>,
}

/// Every limit in force.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LimitsOut {
    /// Rows or projects on a page when none is named.
    page_size_default: u32,
    page_size_max: u32,
    /// Rows in one insert.
    insert_rows_max: u32,
    /// Cells in one batch.
    cells_batch_max: u32,
    /// Row ids in one delete, trigger or stop.
    row_ids_max: u32,
    /// Columns of a project, the input column included.
    columns_max: u32,
    /// Views of a project.
    views_max: u32,
    /// Filters of a view.
    filters_max: u32,
    /// Secrets of a team.
    secrets_max: u32,
    /// API keys of a team.
    keys_max: u32,
    /// Teams of this installation.
    teams_max: u32,
    /// Bytes of a cell value's JSON.
    cell_bytes_max: u32,
    /// Bytes of a request body, after decompression.
    body_bytes_max: u32,
    /// How deep JSON may nest, the outermost container being 1.
    nesting_max: u32,
    /// Seconds that a read of many rows may take.
    read_seconds_max: u32,
    /// Bytes of an imported file, after decompression.
    import_bytes_max: u32,
    /// Bytes of one row of an imported file.
    import_row_bytes_max: u32,
    /// Rejected rows after which an import stops.
    import_rejected_max: u32,
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
    /// Hours for which the answer to a request with an `Idempotency-Key` is kept.
    idempotency_hours: u32,
    rate_limits: RateLimitsOut,
}

/// How often one caller may call; null is no limit.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RateLimitsOut {
    /// Per API key.
    key: Option<RateOut>,
    /// Reads without a key, per client address.
    anonymous: Option<RateOut>,
    /// Webhook deliveries, per team.
    webhook: Option<RateOut>,
    /// Wrong keys, per client address.
    auth_failures: Option<RateOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
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
    pub(crate) fn new(limits: &Limits, rates: &Rates) -> Self {
        let Limits {
            page_size_default,
            page_size_max,
            insert_rows_max,
            cells_batch_max,
            row_ids_max,
            columns_max,
            views_max,
            filters_max,
            secrets_max,
            keys_max,
            teams_max,
            cell_bytes_max,
            body_bytes_max,
            nesting_max,
            read_seconds_max,
            import_bytes_max,
            import_row_bytes_max,
            import_rejected_max,
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
            row_ids_max,
            columns_max,
            views_max,
            filters_max,
            secrets_max,
            keys_max,
            teams_max,
            cell_bytes_max,
            body_bytes_max,
            nesting_max,
            read_seconds_max,
            import_bytes_max,
            import_row_bytes_max,
            import_rejected_max,
            connections_max,
            connections_per_address_max,
            head_seconds_max,
            body_wait_seconds_max,
            body_bytes_per_second_min,
            write_wait_seconds_max,
            event_streams_max,
            event_streams_per_team_max,
            event_bytes_max,
            idempotency_hours: rowmill_app::IDEMPOTENCY_HOURS,
            rate_limits: RateLimitsOut {
                key: rates.key.map(RateOut::from),
                anonymous: rates.anonymous.map(RateOut::from),
                webhook: rates.webhook.map(RateOut::from),
                auth_failures: rates.auth_failures.map(RateOut::from),
            },
        }
    }
}
