//! Requests whose head cannot be read: too long, too large, or malformed. hyper answers them with an empty body or not
//! at all. What it writes is held back (`stream.rs`), and the client gets the usual envelope instead.

use std::fmt::Write as _;
use std::time::Duration;

use axum::http::header::{CONNECTION, CONTENT_LENGTH, DATE};
use rowmill_api::Error;
use rowmill_clock::{Clock as _, SystemClock};
use tokio::io::AsyncWriteExt as _;

use super::transport::Transport;
use crate::request_id::request_id;

/// The longest address that hyper takes.
const URI_BYTES_MAX: usize = 65_534;

/// Why a head was refused, by the bytes of it that came. `None` if nobody waits for an answer.
pub(super) fn refusal(error: &hyper::Error, head: &[u8]) -> Option<Error> {
    if error.is_parse_version_h2() {
        return Some(Error::MalformedRequest("it begins as HTTP/2 does; send HTTP/1.1, or use a proxy"));
    }
    if error.is_parse_too_large() {
        let line = head.iter().position(|byte| *byte == b'\n').unwrap_or(head.len());
        return Some(if line > URI_BYTES_MAX { Error::UriTooLong } else { Error::HeadersTooLarge });
    }
    if error.is_parse() {
        return Some(Error::MalformedRequest("check the request line and the headers"));
    }
    let is_cut_off = error.is_incomplete_message() && !head.is_empty();
    is_cut_off.then_some(Error::MalformedRequest("it ends before its headers do"))
}

/// Whether hyper answers this error, and so has, unless its answer was held back.
pub(super) fn is_answered(error: &hyper::Error) -> bool {
    error.is_parse() && !error.is_parse_version_h2()
}

/// Sends a refusal, for as long as the client reads it.
pub(super) async fn answer(stream: &mut Transport, error: Error, wait_max: Duration) {
    let id = request_id().to_string();
    let code = error.code();
    let status = error.status().as_u16();
    // A proxy's own, if there is one: what it tells of the client could not be read.
    let client = stream.socket().peer_addr().ok().map(|peer| tracing::field::display(peer.ip()));
    tracing::info!(request_id = id, status, code, client, "a request could not be read");
    let (parts, body) = rowmill_api::refused_connection(error, &id).into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let mut head = format!("HTTP/1.1 {}\r\n", parts.status);
    let date = SystemClock.now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let headers = parts.headers.iter().map(|(name, value)| (name, value.to_str().unwrap_or_default()));
    let length = body.len().to_string();
    let own = [(&CONNECTION, "close"), (&CONTENT_LENGTH, length.as_str()), (&DATE, date.as_str())];
    for (name, value) in headers.chain(own) {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    let whole = [head.as_bytes(), &body].concat();
    let send = async {
        stream.write_all(&whole).await?;
        stream.flush().await
    };
    let _ = tokio::time::timeout(wait_max, send).await;
}
