//! By which names this server may be called: a page in a browser must not reach it under a name of its own choosing
//! (DNS rebinding).

use std::net::IpAddr;

/// The names a request may call the server by, and the pages it may come from.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    /// Host and port of the public URL.
    pub public: Option<String>,
    /// Origins that the operator lets pages call from; `*` is any.
    pub origins: Vec<String>,
}

/// The header that names somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignHost {
    pub header: &'static str,
    pub value: String,
}

impl Hosts {
    /// That the `Host` header names this machine or the public URL, and `Origin`, if there is one, a page from there.
    pub fn check(&self, host: Option<&str>, origin: Option<&str>) -> Result<(), ForeignHost> {
        let foreign =
            |header, value: &str| ForeignHost { header, value: value.chars().take(200).collect::<String>() };
        let named = host.unwrap_or_default();
        // An address is not a name: nobody can have it mean another server.
        if !self.is_public(named) && !is_loopback(named) && name_of(named).parse::<IpAddr>().is_err() {
            return Err(foreign("Host", named));
        }
        let Some(origin) = origin else { return Ok(()) };
        let page = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        let is_own = page.is_some_and(|page| {
            self.is_public(page)
                || is_loopback(page)
                || host.is_some_and(|host| host.eq_ignore_ascii_case(page))
        });
        if is_own || self.origins.iter().any(|allowed| allowed == "*" || allowed == origin) {
            Ok(())
        } else {
            Err(foreign("Origin", origin))
        }
    }

    fn is_public(&self, host: &str) -> bool {
        // A proxy may name the port or leave it out.
        let named = |public: &str| {
            host.eq_ignore_ascii_case(public) || name_of(host).eq_ignore_ascii_case(name_of(public))
        };
        !host.is_empty() && self.public.as_deref().is_some_and(named)
    }
}

/// A host without its port, and an address without brackets.
fn name_of(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.contains(':') => name,
        _ => host,
    }
}

fn is_loopback(host: &str) -> bool {
    let name = name_of(host);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_names_are_answered() {
        let hosts = Hosts {
            public: Some("tables.example:8443".to_owned()),
            origins: vec!["https://app.example".to_owned()],
        };
        let check = |host: &str, origin: Option<&str>, expected: Option<&str>| {
            let refused = hosts.check(Some(host), origin).err().map(|foreign| foreign.header);
            assert_eq!(refused, expected, "{host} {origin:?}");
        };
        for host in
            ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "10.1.2.3:80", "TABLES.example"]
        {
            check(host, None, None);
        }
        for host in ["", "evil.example", "localhost.evil.example", "tables.example.evil.example:8443"] {
            check(host, None, Some("Host"));
        }
        check("localhost:1", Some("http://localhost:6274"), None);
        check("localhost:1", Some("https://tables.example:8443"), None);
        check("localhost:1", Some("https://app.example"), None);
        check("10.1.2.3:80", Some("http://10.1.2.3:80"), None);
        for origin in ["https://evil.example", "null", "http://10.9.9.9", "https://app.example.evil.example"]
        {
            check("localhost:1", Some(origin), Some("Origin"));
        }
        assert!(Hosts::default().check(None, None).is_err());
    }
}
