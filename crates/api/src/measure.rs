//! Measurements: where they are gathered, and who may see them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::{ConnectInfo, Request};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::uri::Authority;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use rowmill_model::Secret;
use sha2::{Digest as _, Sha256};

use crate::metric_help;
use crate::trusted_proxies::Forwarded;

/// Bounds of the latency histograms, in seconds.
const LATENCY_SECONDS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
/// A model may take two minutes to answer.
const CALL_SECONDS: [f64; 14] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 90.0, 120.0];
/// How often what was gathered is folded together, so that it does not pile up while nobody asks.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// What `GET /metrics` shows.
#[derive(Clone)]
pub struct Metrics {
    pub gathered: PrometheusHandle,
    /// What is looked up when somebody asks.
    pub sampled: Option<Arc<dyn MetricSamples>>,
    pub access: MetricsAccess,
}

/// Figures that are looked up and not gathered, in the Prometheus text format.
#[async_trait]
pub trait MetricSamples: Send + Sync {
    async fn render(&self) -> String;
}

/// Who may see metrics.
#[derive(Debug, Clone)]
pub enum MetricsAccess {
    /// Whoever reaches the address.
    Everyone,
    /// Whoever sends this as a bearer token.
    Token(Secret),
    /// Whoever asks on this machine, and not through a proxy.
    ThisMachine,
}

impl MetricsAccess {
    pub(crate) fn admits(&self, request: &Request) -> bool {
        match self {
            Self::Everyone => true,
            Self::ThisMachine => is_of_this_machine(request),
            Self::Token(token) => {
                let sent = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
                let sent = sent.and_then(|value| value.split_once(' '));
                let sent = sent.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
                // Hashes, so that the time tells nothing of how much of it was right.
                sent.is_some_and(|(_, sent)| Sha256::digest(sent.trim()) == Sha256::digest(token.expose()))
            }
        }
    }
}

/// A proxy on this machine has its address, too, but passes on the name that its client asked for, or says that it is one.
fn is_of_this_machine(request: &Request) -> bool {
    let headers = request.headers();
    let client = request.extensions().get::<ConnectInfo<SocketAddr>>();
    let is_forwarded = request.extensions().get::<Forwarded>().is_some();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let is_local = |host: &str| {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    };
    client.is_some_and(|ConnectInfo(client)| client.ip().to_canonical().is_loopback())
        && !is_forwarded
        && host.is_some_and(|host| is_local(host.host()))
}

impl Metrics {
    pub(crate) async fn render(&self) -> String {
        let mut text = self.gathered.render();
        metric_help::write_missing(&mut text);
        if let Some(sampled) = &self.sampled {
            text.push_str(&sampled.render().await);
        }
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("access", &self.access).finish_non_exhaustive()
    }
}

/// Starts gathering for the whole process. Call it once, inside a runtime.
pub fn install_metrics() -> Result<PrometheusHandle, BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &LATENCY_SECONDS)?
        .set_buckets_for_metric(Matcher::Full("rowmill_call_seconds".to_owned()), &CALL_SECONDS)?
        .install_recorder()?;
    metric_help::describe();
    let upkeep = handle.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(UPKEEP_EVERY).await;
            upkeep.run_upkeep();
        }
    });
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn asked(from: &str, headers: &[(HeaderName, &'static str)]) -> Request {
        let mut request = Request::default();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(from.parse().unwrap(), 1)));
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        request.headers_mut().extend(headers);
        request
    }

    #[test]
    fn metrics_are_for_who_has_the_token() {
        let check = |access: &MetricsAccess, sent: Option<&'static str>, is_admitted: bool| {
            let headers: Vec<_> = sent.map(|sent| (AUTHORIZATION, sent)).into_iter().collect();
            assert_eq!(access.admits(&asked("127.0.0.1", &headers)), is_admitted, "{access:?} {sent:?}");
        };
        let token = MetricsAccess::Token(Secret::new("a token".to_owned()));
        check(&MetricsAccess::Everyone, None, true);
        check(&token, Some("Bearer a token"), true);
        check(&token, Some("bearer a token"), true);
        for wrong in ["Bearer a toke", "Bearer a token!", "Basic a token", "a token", "Bearer "] {
            check(&token, Some(wrong), false);
        }
        check(&token, None, false);
    }

    #[test]
    fn without_a_token_metrics_are_for_this_machine() {
        let check = |from: &str, headers: &[(HeaderName, &'static str)], is_admitted: bool| {
            let request = asked(from, headers);
            assert_eq!(MetricsAccess::ThisMachine.admits(&request), is_admitted, "{from} {headers:?}");
        };
        for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST"] {
            check("127.0.0.1", &[(HOST, host)], true);
            check("::1", &[(HOST, host)], true);
            check("192.0.2.7", &[(HOST, host)], false);
        }
        check("::ffff:127.0.0.1", &[(HOST, "localhost")], true);
        check("127.0.0.1", &[(HOST, "rows.example.com")], false);
        let mut forwarded = asked("127.0.0.1", &[(HOST, "localhost")]);
        forwarded.extensions_mut().insert(Forwarded);
        assert!(!MetricsAccess::ThisMachine.admits(&forwarded));
        check("127.0.0.1", &[], false);
        assert!(!MetricsAccess::ThisMachine.admits(&Request::default()));
    }
}
