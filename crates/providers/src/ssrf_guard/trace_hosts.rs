//! Which hosts are told the trace that a call belongs to.
//!
//! A `traceparent` holds ids and nothing else, but all calls of a run have the same one: strangers could tell by it which
//! of their calls belong together, and it may be an id that our caller chose. A provider has no use for it. So it goes only
//! to hosts that the operator names, which are those whose spans reach the same collector; and never to web pages.

use reqwest::header::{HeaderMap, HeaderValue};
use rowmill_telemetry::{TRACEPARENT, TraceContext};
use url::Url;

/// Hosts that get the `traceparent` header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceHosts(Vec<String>);

impl TraceHosts {
    /// Names with commas between: `llm.internal`, `*.corp.example` for all names that end so, or `*` for every host.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names = names.map(|name| {
            let host = name.strip_prefix("*.").unwrap_or(name);
            let is_host = !host.contains('*') && url::Host::parse(host).is_ok();
            if is_host || name == "*" {
                Ok(name.to_ascii_lowercase())
            } else {
                Err(format!(
                    "{name:?} is not a host; write it as llm.internal, *.corp.example or *, without a port"
                ))
            }
        });
        names.collect::<Result<_, _>>().map(Self)
    }

    /// Adds the header, if this host is to have it and the table sends none of its own.
    pub(super) fn tell(&self, url: &Url, headers: &mut HeaderMap) {
        if self.0.is_empty() || headers.contains_key(TRACEPARENT) || !self.contains(url) {
            return;
        }
        let trace =
            TraceContext::current().and_then(|context| HeaderValue::try_from(context.to_string()).ok());
        if let Some(trace) = trace {
            headers.insert(TRACEPARENT, trace);
        }
    }

    fn contains(&self, url: &Url) -> bool {
        let Some(host) = url.host_str().map(str::to_ascii_lowercase) else { return false };
        self.0.iter().any(|name| match name.strip_prefix("*") {
            Some("") => true,
            Some(ending) => host.ends_with(ending),
            None => host == *name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_that_are_named_are_told() {
        let check = |names: &str, url: &str, is_told: bool| {
            let hosts = TraceHosts::parse(names).unwrap();
            assert_eq!(hosts.contains(&Url::parse(url).unwrap()), is_told, "{names} {url}");
        };
        check("", "https://a.example", false);
        check("a.example, [::1]", "https://A.example:8443/path", true);
        check("a.example", "https://a.example.evil.example", false);
        check("a.example", "https://b.a.example", false);
        check("*.a.example", "https://b.a.example", true);
        check("*.a.example", "https://bada.example", false);
        check("*.a.example", "https://a.example", false);
        check("127.0.0.1", "http://127.0.0.1:4000", true);
        check("[::1]", "http://[::1]:4000", true);
        check("*", "https://anybody.example", true);
        for wrong in ["https://a.example", "a.example:80", "a*b", "*a.example", "*.", "a b"] {
            assert!(TraceHosts::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_header_of_the_table_stays() {
        let hosts = TraceHosts::parse("*").unwrap();
        let url = Url::parse("https://a.example").unwrap();
        let context = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        let told = |mut headers: HeaderMap| {
            TraceContext::sync_scope(context, || hosts.tell(&url, &mut headers));
            headers.get(TRACEPARENT).map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(told(HeaderMap::new()), context.map(|context| context.to_string()));
        let own = HeaderMap::from_iter([(TRACEPARENT.parse().unwrap(), HeaderValue::from_static("own"))]);
        assert_eq!(told(own).as_deref(), Some("own"));
        let mut untraced = HeaderMap::new();
        hosts.tell(&url, &mut untraced);
        assert!(untraced.is_empty());
    }
}
