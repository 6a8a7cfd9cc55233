//! The address people reach this server by: as it is set, or as a proxy in front tells it.

use axum::http::header::HOST;
use axum::http::{HeaderMap, HeaderName, Uri};

use crate::trusted_proxies::{FORWARDED_HOST, FORWARDED_PREFIX, FORWARDED_PROTO};

const PREFIX_CHARS_MAX: usize = 255;

/// A scheme, a host, and the path everything lies below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    is_https: bool,
    /// Host and port.
    host: String,
    /// Without a slash at its end: empty, or `/tables`.
    prefix: String,
}

impl PublicUrl {
    /// What an answer depends on that has this address in it, for `Vary`.
    pub(crate) const VARY: &'static str =
        "x-forwarded-host, x-forwarded-proto, x-forwarded-prefix, forwarded";

    /// `https://example.com/tables`, as an operator writes it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fault = || {
            format!("{text:?} is not a URL; write it as https://example.com or https://example.com/tables")
        };
        let (is_https, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(fault()),
        };
        let (host, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host) {
            return Err(fault());
        }
        let prefix = prefix_of(prefix).ok_or_else(fault)?;
        Ok(Self { is_https, host: host.to_owned(), prefix })
    }

    /// How a request came here: what is set beats what a trusted proxy tells, and that beats the request itself.
    /// [`crate::trusted_proxies`] has removed what others tell.
    pub(crate) fn reached(set: Option<&Self>, headers: &HeaderMap) -> Self {
        if let Some(set) = set {
            return set.clone();
        }
        let header = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
        let forwarded = header(FORWARDED_HOST).filter(|host| !host.is_empty());
        let host = forwarded.or_else(|| header(HOST)).unwrap_or("localhost");
        Self {
            is_https: header(FORWARDED_PROTO).is_some_and(|proto| proto.eq_ignore_ascii_case("https")),
            host: host.to_owned(),
            prefix: header(FORWARDED_PREFIX).and_then(prefix_of).unwrap_or_default(),
        }
    }

    /// Without a slash at its end. Where the host is not known, as with an empty `Host`, what is put behind it makes a relative
    /// link.
    pub fn base_url(&self) -> String {
        let Self { is_https, host, prefix } = self;
        if host.is_empty() {
            return prefix.clone();
        }
        format!("{}://{host}{prefix}", if *is_https { "https" } else { "http" })
    }

    /// Host and port.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn is_https(&self) -> bool {
        self.is_https
    }

    /// Without a slash at its end.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether an `Origin` header names this address.
    pub(crate) fn is_origin(&self, origin: &str) -> bool {
        let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        host.is_some_and(|host| !host.is_empty() && host.eq_ignore_ascii_case(&self.host))
    }

    /// A request's target without the prefix, which some proxies cut off and some leave on.
    pub fn inner(&self, uri: &Uri) -> Option<Uri> {
        let target = uri.path_and_query()?.as_str();
        let rest = target.strip_prefix(self.prefix.as_str()).filter(|_| !self.prefix.is_empty())?;
        match rest.as_bytes().first() {
            Some(b'/') => rest.parse().ok(),
            Some(b'?') | None => format!("/{rest}").parse().ok(),
            Some(_) => None,
        }
    }
}

/// A path that can stand in a page and in a cookie as it is.
fn prefix_of(text: &str) -> Option<String> {
    let path = text.trim_end_matches('/');
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let is_path = path.is_empty() || path.starts_with('/') && !path.contains("//");
    let fits = path.len() <= PREFIX_CHARS_MAX && path.bytes().all(is_fit) && !path.contains("/.");
    (is_path && fits).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn an_operator_writes_it_as_an_address() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(PublicUrl::parse(text).ok().map(|url| url.base_url()).as_deref(), expected, "{text}");
        };
        check("https://example.com", Some("https://example.com"));
        check("http://example.com:8080/", Some("http://example.com:8080"));
        check("https://example.com/a/b/", Some("https://example.com/a/b"));
        for wrong in ["", "example.com", "ftp://a", "https://", "https://a b", "https://a/\"", "https://a//b"]
        {
            check(wrong, None);
        }
    }

    #[test]
    fn proxies_tell_it_and_settings_beat_them() {
        let told = headers(&[
            ("host", "127.0.0.1:8080"),
            ("x-forwarded-host", "tables.example"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-prefix", "/mill/"),
        ]);
        assert_eq!(PublicUrl::reached(None, &told).base_url(), "https://tables.example/mill");
        // Without any host, links are relative.
        let unnamed = headers(&[("host", ""), ("x-forwarded-host", ""), ("x-forwarded-prefix", "/mill")]);
        assert_eq!(PublicUrl::reached(None, &unnamed).base_url(), "/mill");
        assert!(!PublicUrl::reached(None, &unnamed).is_origin("http://"));
        let set = PublicUrl::parse("http://set.example").unwrap();
        assert_eq!(PublicUrl::reached(Some(&set), &told), set);
        let hostile = headers(&[("host", "a.example"), ("x-forwarded-prefix", "/\"><script>")]);
        assert_eq!(PublicUrl::reached(None, &hostile).base_url(), "http://a.example");
        assert!(PublicUrl::reached(None, &told).is_origin("https://tables.example"));
        assert!(!PublicUrl::reached(None, &told).is_origin("https://tables.example.evil.example"));
        assert!(!PublicUrl::reached(None, &told).is_origin("null"));
    }

    #[test]
    fn the_prefix_is_cut_off_where_a_proxy_left_it_on() {
        let url = PublicUrl::parse("https://a.example/mill").unwrap();
        let check = |target: &str, expected: Option<&str>| {
            let inner = url.inner(&target.parse().unwrap()).map(|uri| uri.to_string());
            assert_eq!(inner.as_deref(), expected, "{target}");
        };
        check("/mill/v4/team?a=1", Some("/v4/team?a=1"));
        check("/mill", Some("/"));
        check("/mill?signin=expired", Some("/?signin=expired"));
        check("/million", None);
        check("/v4/team", None);
    }
}
