//! What goes over the wire: the shapes of requests and answers, shared by the versions.

pub(crate) mod column;
mod column_schema;
pub(crate) mod comparison;
pub(crate) mod credentials;
pub(crate) mod event;
pub(crate) mod fields;
pub(crate) mod filter;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod import_job;
pub(crate) mod key_by;
mod leftover;
mod metadata;
pub(crate) mod outbound_webhook;
pub(crate) mod past_run;
pub(crate) mod patch;
pub(crate) mod place;
pub(crate) mod project;
pub(crate) mod row;
pub(crate) mod row_patch;
pub(crate) mod rows_inserted;
pub(crate) mod run;
pub(crate) mod spending;
pub(crate) mod spending_usage;
pub(crate) mod team;
pub(crate) mod trash;
mod variants;
pub(crate) mod view;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A moment, as ISO 8601 in UTC with milliseconds.
pub fn timestamp(unix_ms: i64) -> String {
    let moment = Timestamp::from_millisecond(unix_ms).unwrap_or_default();
    format!("{moment:.3}")
}

/// For PATCH: a field that is there is `Some`, even if it is null.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Number of deleted items.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Deleted {
    pub(crate) deleted_count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_milliseconds() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
    }
}
