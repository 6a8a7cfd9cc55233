//! Which compression a client takes (RFC 9110, `Accept-Encoding`).

use axum::http::header::{self, HeaderMap};

/// Whether a client takes what is compressed in this way.
pub(crate) fn takes(headers: &HeaderMap, coding: &str) -> bool {
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|entry| {
        let (name, weight) = entry.split_once(';').unwrap_or((entry, ""));
        name.trim() == coding && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}
