//! The line that each request has in the log: who called, from where, for what, and how it ended.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::http::Extensions;
use axum::response::Response;
use rowmill_model::{KeyId, TeamId};
use uuid::Uuid;

use crate::endpoint::RateKey;

/// The header by which a caller names the trace that a request belongs to (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";

/// Who calls. The pipeline writes it down, in the request's extensions, as soon as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct CalledBy(Arc<OnceLock<Caller>>);

#[derive(Debug, Clone, Copy)]
struct Caller {
    team: TeamId,
    key: Option<KeyId>,
}

impl CalledBy {
    /// For a request whose caller is not known yet.
    pub(crate) fn begin(request: &mut Request) -> Self {
        let called_by = Self::default();
        request.extensions_mut().insert(called_by.clone());
        called_by
    }

    pub(crate) fn note_key(extensions: &Extensions, RateKey { key, team }: RateKey) {
        Self::note(extensions, team, Some(KeyId::from_uuid(Uuid::from_u128(key))));
    }

    /// Who calls without a key, at an address that names the team.
    pub(crate) fn note_team(extensions: &Extensions, team: u128) {
        Self::note(extensions, team, None);
    }

    fn note(extensions: &Extensions, team: u128, key: Option<KeyId>) {
        if let Some(Self(caller)) = extensions.get() {
            let team = TeamId(Uuid::from_u128(team));
            // Of a request that was admitted twice, the first counts.
            let _ = caller.set(Caller { team, key });
        }
    }
}

/// What is known of a request before it is answered.
pub(crate) struct RequestLine {
    pub(crate) id: Arc<str>,
    pub(crate) client: IpAddr,
    pub(crate) method: &'static str,
    /// The route and not the path: paths hold ids, and a webhook's is a secret.
    pub(crate) route: Arc<str>,
    pub(crate) called_by: CalledBy,
    pub(crate) trace_id: Option<String>,
}

impl RequestLine {
    pub(crate) fn write(&self, response: &Response, took: Duration) {
        let Self { id, client, method, route, called_by: CalledBy(caller), trace_id } = self;
        let caller = caller.get();
        tracing::info!(
            method,
            route = &**route,
            status = response.status().as_u16(),
            milliseconds = (took.as_secs_f64() * 1_000_000.0).round() / 1_000.0,
            bytes = response.body().size_hint().exact(),
            %client,
            team = caller.map(|caller| tracing::field::display(caller.team)),
            key = caller.and_then(|caller| caller.key).map(tracing::field::display),
            trace_id,
            request_id = &**id,
            "request"
        );
    }
}

/// The id of the caller's trace, if it is a valid one.
pub(crate) fn trace_id(request: &Request) -> Option<String> {
    let text = request.headers().get(TRACEPARENT)?.to_str().ok()?;
    let mut parts = text.trim().splitn(5, '-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_id = |part: &str, length: usize| is_hex(part, length) && part.bytes().any(|byte| byte != b'0');
    // Later versions may add parts, and `ff` is none.
    let is_version = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    (is_version && is_id(trace, 32) && is_id(parent, 16) && is_hex(flags, 2)).then(|| trace.to_owned())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn a_trace_is_known_by_a_valid_header_only() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let check = |header: &str, is_valid: bool| {
            let request = Request::builder().header(TRACEPARENT, header).body(Body::empty()).unwrap();
            assert_eq!(trace_id(&request).as_deref(), is_valid.then_some(trace), "{header}");
        };
        check(&format!("00-{trace}-00f067aa0ba902b7-01"), true);
        check(&format!("01-{trace}-00f067aa0ba902b7-01-more"), true);
        check(&format!("00-{trace}-00f067aa0ba902b7-01-more"), false);
        check(&format!("ff-{trace}-00f067aa0ba902b7-01"), false);
        check(&format!("00-{trace}-0000000000000000-01"), false);
        check(&format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)), false);
        check(&format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()), false);
        check("", false);
        check("x\ny".replace('\n', " ").as_str(), false);
    }
}
