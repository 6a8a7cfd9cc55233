//! The mark of a project into which the rows of another are being copied.

use serde::{Deserialize, Serialize};

use crate::ids::ProjectId;

/// A copy whose rows are still being written. It is read only, and removed if nobody goes on with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Copying {
    pub copying_from: ProjectId,
    /// How many rows the other project had when the copy was begun.
    pub rows: u64,
    /// Whoever copies gives a word before this time, in Unix milliseconds.
    pub lease_until_ms: i64,
}

impl Copying {
    /// Text that the document of an unfinished copy has, for whoever looks for them.
    pub const MARK: &str = "\"copyingFrom\"";
}
