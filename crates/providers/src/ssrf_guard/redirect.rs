//! Where a redirect leads, and what may be taken along.
//!
//! Redirects are followed by hand: the library's own policy would keep custom headers, and with them
//! API keys, when a hop leads to another host.

use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Method, StatusCode};
use url::Url;

use super::message::Request;
use super::network_policy::NetworkPolicy;
use crate::failure::{Failure, FailureKind};

/// Turns the request into the one for the next hop; false if the answer is no redirect.
pub(super) fn step(request: &mut Request, status: StatusCode, headers: &HeaderMap) -> Result<bool, Failure> {
    let Some(target) = target(&request.url, status, headers)? else { return Ok(false) };
    let becomes_get = match status {
        StatusCode::SEE_OTHER => request.method != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => request.method == Method::POST,
        _ => false,
    };
    if becomes_get {
        request.method = Method::GET;
        request.body = None;
        for name in [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING] {
            request.headers.remove(name);
        }
    }
    if target.origin() != request.url.origin() {
        if request.body.is_some() {
            let words = "The server redirected a request with a body to another host.";
            return Err(Failure::new(FailureKind::ProviderError, words));
        }
        let accept = request.headers.remove(ACCEPT);
        request.headers.clear();
        request.headers.extend(accept.map(|accept| (ACCEPT, accept)));
        // The operator trusts the address given, not whatever that address points at.
        request.network_policy = NetworkPolicy::Guarded;
    }
    request.url = target;
    Ok(true)
}

fn target(from: &Url, status: StatusCode, headers: &HeaderMap) -> Result<Option<Url>, Failure> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get(LOCATION) else { return Ok(None) };
    let joined = std::str::from_utf8(location.as_bytes()).ok().and_then(|text| from.join(text).ok());
    let mut target = joined.ok_or_else(|| {
        Failure::new(FailureKind::ProviderError, "The server redirected to an invalid URL.")
    })?;
    if target.fragment().is_none() {
        target.set_fragment(from.fragment());
    }
    Ok(Some(target))
}
