//! What an empty cell of CSV means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum EmptyCells {
    /// It says nothing: what is stored stays.
    Keep,
    /// It clears what is stored.
    Clear,
}
