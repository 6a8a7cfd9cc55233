//! Calls that never got their whole answer.

use std::error::Error;

use rowmill_model::connection_failure::explain;

use super::resolver::BlockedAddress;
use crate::failure::{Failure, FailureKind};

pub(super) const PRIVATE_ADDRESS: &str =
    "The URL points to a private address, which is blocked. An operator can allow it with --allow-private.";

pub(super) fn blocked(words: &str) -> Failure {
    Failure::new(FailureKind::Blocked, words)
}

/// What a call that never got its whole answer died of. The URL is left out: it may hold a key.
pub(super) fn lost(error: reqwest::Error, host: Option<&str>) -> Failure {
    let error = error.without_url();
    let mut causes: Vec<&(dyn Error + 'static)> = vec![&error];
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause);
        next = cause.source();
    }
    if causes.iter().any(|cause| cause.is::<BlockedAddress>()) {
        return blocked(PRIVATE_ADDRESS);
    }
    if error.is_timeout() {
        return Failure::new(FailureKind::TimedOut, "The connection timed out.");
    }
    if error.is_builder() {
        return Failure::new(FailureKind::InvalidInput, "The request cannot be sent.");
    }
    let root = causes.last().map(ToString::to_string).unwrap_or_default();
    let words = explain(&root);
    match host {
        Some(host) if error.is_connect() => {
            Failure::unreachable(format!("The connection to {host} failed: {words}"))
        }
        _ => Failure::transient(format!("The connection was lost: {words}")),
    }
}
