//! What both batch APIs have in common.

use std::fs::File;
use std::time::Duration;

use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::Response;

/// A page of what a batch API says of itself.
pub(super) const DEADLINE: Duration = Duration::from_mins(1);
/// What the vendors take in one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    pub requests: usize,
    pub bytes: u64,
}

/// The questions of a batch, in a file.
#[derive(Debug)]
pub struct BatchFile {
    pub file: File,
    pub bytes: u64,
}

/// A batch as the provider tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteBatch {
    pub id: String,
    pub state: RemoteState,
    /// What we put into its metadata, where there is such a thing.
    pub marker: Option<String>,
    /// Unix seconds.
    pub created_at: Option<i64>,
    /// How many requests it has, if it tells.
    pub count: Option<u64>,
    /// Where its results are.
    pub results: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteState {
    Running,
    /// Over. What has no result by now gets none.
    Ended,
    /// Refused as a whole.
    Failed(Failure),
}

/// A result of a batch.
#[derive(Debug)]
pub struct BatchResult {
    pub custom_id: String,
    pub outcome: BatchOutcome,
}

#[derive(Debug)]
pub enum BatchOutcome {
    /// An answer, as it would have come by itself.
    Answered(Response),
    Expired,
    Cancelled,
    Failed(Failure),
}

/// An id that a provider made up becomes part of a path only if it is plain.
pub(super) fn safe(id: &str) -> Result<&str, Failure> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_safe = !id.is_empty() && id.len() <= 200 && id.bytes().all(is_plain) && !id.starts_with('.');
    is_safe.then_some(id).ok_or_else(|| {
        Failure::new(FailureKind::InvalidOutput, "The model's server names a batch or file in an odd way.")
    })
}
