//! Every limit has a number, and all of them are here.

use serde::{Deserialize, Serialize};

/// The limits in force. The defaults are the contract's; an operator may set each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    pub page_size_default: u32,
    pub page_size_max: u32,
    pub insert_rows_max: u32,
    pub cells_batch_max: u32,
    pub patch_cells_max: u32,
    pub row_ids_max: u32,
    pub columns_max: u32,
    pub views_max: u32,
    pub project_bytes_max: u32,
    pub filters_max: u32,
    pub secrets_max: u32,
    pub keys_max: u32,
    pub webhooks_max: u32,
    pub webhook_backlog_bytes_max: u32,
    pub hooks_max: u32,
    pub inbound_bytes_max: u32,
    pub delivery_bytes_max: u32,
    pub kept_answers_max: u32,
    pub kept_answers_bytes_max: u32,
    pub batch_cells_max: u32,
    pub batch_bytes_max: u32,
    pub teams_max: u32,
    pub cell_bytes_max: u32,
    pub body_bytes_max: u32,
    pub nesting_max: u32,
    pub read_seconds_max: u32,
    pub import_bytes_max: u32,
    pub import_row_bytes_max: u32,
    pub import_rejected_max: u32,
    pub import_fields_max: u32,
    pub import_field_names_bytes_max: u32,
    pub import_jobs_max: u32,
    pub import_jobs_bytes_max: u32,
    pub copies_max: u32,
    pub connections_max: u32,
    pub connections_per_address_max: u32,
    pub head_seconds_max: u32,
    pub body_wait_seconds_max: u32,
    pub body_bytes_per_second_min: u32,
    pub write_wait_seconds_max: u32,
    pub event_streams_max: u32,
    pub event_streams_per_team_max: u32,
    pub event_bytes_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            page_size_default: 50,
            page_size_max: 1_000,
            insert_rows_max: 10_000,
            cells_batch_max: 10_000,
            patch_cells_max: 200_000,
            row_ids_max: 100_000,
            columns_max: 500,
            views_max: 500,
            project_bytes_max: 8 * 1024 * 1024,
            filters_max: 100,
            secrets_max: 100,
            keys_max: 1_000,
            webhooks_max: 20,
            webhook_backlog_bytes_max: 32 * 1024 * 1024,
            hooks_max: 20,
            inbound_bytes_max: 64 * 1024 * 1024,
            delivery_bytes_max: 1024 * 1024,
            kept_answers_max: 100_000,
            kept_answers_bytes_max: 256 * 1024 * 1024,
            batch_cells_max: 50_000,
            batch_bytes_max: 200 * 1024 * 1024,
            teams_max: 10_000,
            cell_bytes_max: 1024 * 1024,
            body_bytes_max: 32 * 1024 * 1024,
            nesting_max: 64,
            read_seconds_max: 30,
            import_bytes_max: 1024 * 1024 * 1024,
            import_row_bytes_max: 8 * 1024 * 1024,
            import_rejected_max: 10_000,
            import_fields_max: 50_000,
            import_field_names_bytes_max: 4 * 1024 * 1024,
            import_jobs_max: 20,
            import_jobs_bytes_max: 2 * 1024 * 1024 * 1024,
            copies_max: 4,
            connections_max: 10_000,
            connections_per_address_max: 2_000,
            head_seconds_max: 30,
            body_wait_seconds_max: 30,
            body_bytes_per_second_min: 16 * 1024,
            write_wait_seconds_max: 30,
            event_streams_max: 1_000,
            event_streams_per_team_max: 100,
            event_bytes_max: 64 * 1024 * 1024,
        }
    }
}

/// The longest header, title or view name, in characters after trimming.
pub const NAME_CHARS_MAX: usize = 255;
/// The longest view emoji, in characters.
pub const EMOJI_CHARS_MAX: usize = 64;
/// The longest name of a team secret, in characters.
pub const SECRET_NAME_CHARS_MAX: usize = 64;
/// The longest value of a team secret, in characters.
pub const SECRET_CHARS_MAX: usize = 8_192;
/// The longest URL of a webhook, in characters.
pub const WEBHOOK_URL_CHARS_MAX: usize = 2_048;
/// The longest description of a webhook, in characters.
pub const WEBHOOK_DESCRIPTION_CHARS_MAX: usize = 1_000;
/// How many projects or columns a webhook can be limited to.
pub const WEBHOOK_FILTER_IDS_MAX: usize = 100;
/// How many headers of a request an inbound hook can write into columns.
pub const HOOK_HEADERS_MAX: usize = 20;
/// The longest API key of a provider, in characters after trimming.
pub const API_KEY_CHARS_MAX: usize = 4_096;
/// The longest base address of a provider, in characters after trimming.
pub const BASE_URL_CHARS_MAX: usize = 2_048;
/// How deep filter groups nest.
pub const FILTER_DEPTH_MAX: usize = 3;
/// The most fields of one row, whether they name columns or not. Not settable: it bounds what reading one row
/// takes.
pub const ROW_FIELDS_MAX: usize = 50_000;
/// How many offences are gathered before the rest is passed over. Nobody reads more, and a body can be wrong
/// millions of times.
pub const OFFENCES_MAX: usize = 1_000;
