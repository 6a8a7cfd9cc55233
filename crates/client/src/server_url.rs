//! A server's address, as a person writes it.

use url::Url;

/// The address in one form: with a scheme, without a slash at its end. Without a scheme it is `http` on this machine and
/// `https` anywhere else.
pub(crate) fn parse(text: &str) -> Result<String, String> {
    let text = text.trim();
    let with_scheme = if text.contains("://") {
        text.to_owned()
    } else {
        let is_local = ["localhost", "127.", "[::1]"].iter().any(|local| text.starts_with(local));
        format!("{}://{text}", if is_local { "http" } else { "https" })
    };
    let url = Url::parse(&with_scheme).map_err(|error| format!("{text:?} is not a URL: {error}"))?;
    if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none() {
        return Err("the URL must begin with https:// or http://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL must not contain a user name or a password".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("the URL must not contain ? or #".to_owned());
    }
    Ok(without_version(url.as_str().trim_end_matches('/')).to_owned())
}

/// The address as the documentation of the API gives it ends in the API's version, which comes with each request.
fn without_version(url: &str) -> &str {
    let mut endings = ["/v2", "/v3", "/v4"].into_iter();
    endings.find_map(|ending| url.strip_suffix(ending)).unwrap_or(url)
}

/// The address without its path, if it has one. A page's address, for example, has one that is none of the server's.
pub(crate) fn without_path(url: &str) -> Option<String> {
    let url = Url::parse(url).ok().filter(|url| url.path() != "/")?;
    Some(url.origin().ascii_serialization())
}

/// Whether an API key goes over the network unencrypted.
pub(crate) fn is_exposed(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let is_local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "http" && !is_local
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_brought_into_one_form() {
        let check = |text: &str, expected: &str| assert_eq!(parse(text).as_deref(), Ok(expected));
        check("http://127.0.0.1:8080/", "http://127.0.0.1:8080");
        check(" https://Example.com/tables/ ", "https://example.com/tables");
        check("localhost:8080", "http://localhost:8080");
        check("rows.example.com", "https://rows.example.com");
        check("http://localhost:8080/v4", "http://localhost:8080");
        check("https://example.com/tables/v3/", "https://example.com/tables");
        check("https://example.com/v5", "https://example.com/v5");
        for bad in ["", "ftp://x", "https://u:p@x", "https://x/?a=1", "https://x/#a", "https://"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_path_can_be_left_out() {
        assert_eq!(without_path("http://localhost:8080/docs/rows").as_deref(), Some("http://localhost:8080"));
        assert_eq!(without_path("https://example.com"), None);
    }

    #[test]
    fn only_plain_http_to_elsewhere_is_exposed() {
        for safe in ["https://example.com", "http://localhost:1", "http://127.0.0.2:1", "http://[::1]:1"] {
            assert!(!is_exposed(safe), "{safe}");
        }
        assert!(is_exposed("http://10.0.0.1:8080"));
        assert!(is_exposed("http://example.com"));
    }
}
