//! What is wrong with something that was sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A problem with the request, and its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offence {
    /// The location in the body or query, such as `cells[3].rowId`.
    #[schemars(length(max = 10_000))]
    pub path: String,
    /// What is wrong, and what is expected.
    #[schemars(length(max = 10_000))]
    pub message: String,
}

impl Offence {
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}
