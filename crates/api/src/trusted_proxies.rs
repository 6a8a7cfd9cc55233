//! Trusted proxies: whose `X-Forwarded-*` and `Forwarded` headers are believed, and what they say.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::header::{FORWARDED, HeaderMap, HeaderName, HeaderValue, VIA};
use rowmill_model::address_range::AddressRange;

pub(crate) const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
pub(crate) const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
pub(crate) const FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// What a proxy adds to a request, whether it is trusted or not.
const MARKS: [HeaderName; 7] = [
    FORWARDED,
    FORWARDED_FOR,
    FORWARDED_HOST,
    FORWARDED_PROTO,
    FORWARDED_PREFIX,
    HeaderName::from_static("x-real-ip"),
    VIA,
];

/// A request that came over TLS that ended here. It is an extension of the request.
#[derive(Debug, Clone, Copy)]
pub struct ArrivedOverTls;

/// A request that came through a proxy, as its headers say. It is an extension of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forwarded;

/// More proxies than stand in a row anywhere.
const HOPS_MAX: usize = 64;

/// Addresses and ranges such as `127.0.0.1,10.0.0.0/8`.
///
/// If none are named, a proxy on this machine may say where the service is reached, which only makes links. Nobody's word
/// counts for a client's address then: limits depend on it.
#[derive(Debug, Default)]
pub struct TrustedProxies {
    /// None: nobody has set them.
    ranges: Option<Vec<AddressRange>>,
    /// Whether it was logged that headers were ignored.
    has_warned: AtomicBool,
}

impl TrustedProxies {
    /// Reads addresses and ranges separated by commas, or `none`. An empty text sets nothing. The error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !matches!(*word, "" | "none"));
        let ranges: Vec<_> = words.map(range).collect::<Result<_, _>>()?;
        let ranges = (!text.trim().is_empty()).then_some(ranges);
        Ok(Self { ranges, has_warned: AtomicBool::new(false) })
    }

    /// Whether somebody has said which there are, or that there is none.
    pub fn is_set(&self) -> bool {
        self.ranges.is_some()
    }

    pub fn is_trusted(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.ranges.iter().flatten().any(|range| range.contains(address))
    }

    /// Whether a request came through a proxy, as its headers say.
    pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
        MARKS.iter().any(|name| headers.contains_key(name))
    }

    /// Whether a peer that is not trusted may still say where the service is reached.
    fn may_tell_address(&self, peer: IpAddr) -> bool {
        self.ranges.is_none() && peer.to_canonical().is_loopback()
    }

    /// The client that a request of this peer comes from. Of the headers it leaves only what may be believed:
    /// host, scheme and prefix, each with one value.
    pub(crate) fn resolve(&self, peer: IpAddr, headers: &mut HeaderMap) -> IpAddr {
        let told = if self.is_trusted(peer) {
            self.told(peer, headers)
        } else if self.may_tell_address(peer) {
            self.told(peer, headers).map(|told| Told { client: peer, ..told })
        } else {
            None
        };
        let mut is_ignored = false;
        for name in [FORWARDED, FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO, FORWARDED_PREFIX] {
            is_ignored |= headers.remove(name).is_some() && told.is_none();
        }
        if is_ignored && !self.is_trusted(peer) && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %peer,
                "ignored X-Forwarded-* headers: this address is not a trusted proxy. If it is your proxy, add it to \
                 --trusted-proxies (ROWMILL_TRUSTED_PROXIES)"
            );
        }
        let Some(Told { client, host, proto, prefix }) = told else { return peer };
        let kept = [(FORWARDED_HOST, host), (FORWARDED_PROTO, proto), (FORWARDED_PREFIX, prefix)];
        headers.extend(
            kept.into_iter().filter_map(|(name, value)| Some((name, HeaderValue::from_str(&value?).ok()?))),
        );
        client
    }

    /// A proxy may pass on a `Forwarded` that its client made up, so `X-Forwarded-*` wins if there is any.
    fn told(&self, peer: IpAddr, headers: &HeaderMap) -> Option<Told> {
        let lists = [FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO, FORWARDED_PREFIX];
        let [hops, host, proto, prefix] = lists.map(|name| list(headers, &name));
        if hops.is_none() && host.is_none() && proto.is_none() && prefix.is_none() {
            return self.told_by_forwarded(peer, headers);
        }
        let hops: Vec<_> = hops.unwrap_or_default().iter().map(|text| address(text)).collect();
        let (client, trusted) = self.client(peer, &hops);
        // Each proxy adds an entry at the end: the outermost that is trusted wrote this one.
        let of_outermost = |values: Option<Vec<String>>| {
            let values = values?;
            values.get(values.len().saturating_sub(trusted)).cloned()
        };
        let (host, proto, prefix) = (of_outermost(host), of_outermost(proto), of_outermost(prefix));
        Some(Told { client, host, proto, prefix })
    }

    /// RFC 7239.
    fn told_by_forwarded(&self, peer: IpAddr, headers: &HeaderMap) -> Option<Told> {
        let elements: Vec<_> = list(headers, &FORWARDED)?.iter().map(|text| Element::parse(text)).collect();
        let hops: Vec<_> = elements.iter().map(|element| element.hop).collect();
        let (client, trusted) = self.client(peer, &hops);
        let place = elements.len().saturating_sub(trusted);
        let outermost = elements.into_iter().nth(place)?;
        let Element { hop: _, host, proto } = outermost;
        Some(Told { client, host, proto, prefix: None })
    }

    /// The last address that is not itself a trusted proxy, and how many trusted proxies come after it.
    fn client(&self, peer: IpAddr, hops: &[Option<IpAddr>]) -> (IpAddr, usize) {
        let mut client = (peer, 1);
        for hop in hops.iter().rev().take(HOPS_MAX) {
            // What is no address hides whatever stands before it.
            let Some(hop) = *hop else { break };
            if !self.is_trusted(hop) {
                return (hop, client.1);
            }
            client = (hop, client.1 + 1);
        }
        client
    }
}

impl Clone for TrustedProxies {
    fn clone(&self) -> Self {
        Self { ranges: self.ranges.clone(), has_warned: AtomicBool::new(false) }
    }
}

/// What trusted proxies say of a request.
struct Told {
    client: IpAddr,
    host: Option<String>,
    proto: Option<String>,
    prefix: Option<String>,
}

/// One element of a `Forwarded` header.
#[derive(Default)]
struct Element {
    hop: Option<IpAddr>,
    host: Option<String>,
    proto: Option<String>,
}

impl Element {
    fn parse(text: &str) -> Self {
        let mut element = Self::default();
        for (name, value) in text.split(';').filter_map(|pair| pair.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "for" => element.hop = address(value),
                "host" => element.host = Some(value.to_owned()),
                "proto" => element.proto = Some(value.to_owned()),
                _ => {}
            }
        }
        element
    }
}

/// The entries of a header, of all lines together. None if it is not there.
fn list(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    let lines =
        headers.get_all(name).iter().map(|line| String::from_utf8_lossy(line.as_bytes()).into_owned());
    let entries: Vec<_> = lines
        .flat_map(|line| line.split(',').map(|entry| entry.trim().to_owned()).collect::<Vec<_>>())
        .collect();
    (!entries.is_empty()).then_some(entries)
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let parsed = match text.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?.parse(),
        None => text.parse().or_else(|_| text.rsplit_once(':').map_or("", |(host, _)| host).parse()),
    };
    parsed.ok().map(|address: IpAddr| address.to_canonical())
}

fn range(text: &str) -> Result<AddressRange, String> {
    AddressRange::parse(text)
        .ok_or_else(|| format!("{text:?} is not an address such as 127.0.0.1 or a range such as 10.0.0.0/8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn ranges_are_a_list() {
        let proxies = TrustedProxies::parse("127.0.0.1, 10.0.0.0/8,fd00::/8").unwrap();
        let check = |address: &str, trusted: bool| {
            assert_eq!(proxies.is_trusted(address.parse().unwrap()), trusted, "{address}");
        };
        check("127.0.0.1", true);
        check("::ffff:127.0.0.1", true);
        check("127.0.0.2", false);
        check("10.200.0.1", true);
        check("11.0.0.1", false);
        check("fd12::1", true);
        check("fe80::1", false);
        assert!(TrustedProxies::parse("0.0.0.0/0").unwrap().is_trusted("192.0.2.1".parse().unwrap()));
        assert!(!TrustedProxies::default().is_trusted("127.0.0.1".parse().unwrap()));
        for wrong in ["x", "10.0.0.0/33", "10.0.0.0/x", "10.0.0/8", "::/129"] {
            assert!(TrustedProxies::parse(wrong).is_err(), "{wrong}");
        }
    }

    /// Asks for the client, host, scheme and prefix of a request from 10.0.0.1, which is trusted.
    fn check(pairs: &[(&'static str, &str)], client: &str, rest: [Option<&str>; 3]) {
        let proxies = TrustedProxies::parse("10.0.0.0/8").unwrap();
        let mut sent = headers(pairs);
        assert_eq!(proxies.resolve("10.0.0.1".parse().unwrap(), &mut sent).to_string(), client, "{pairs:?}");
        let kept = [FORWARDED_HOST, FORWARDED_PROTO, FORWARDED_PREFIX];
        let kept = kept.map(|name| sent.get(name).map(|value| value.to_str().unwrap().to_owned()));
        assert_eq!(kept.each_ref().map(Option::as_deref), rest, "{pairs:?}");
        assert!(!sent.contains_key(FORWARDED) && !sent.contains_key(FORWARDED_FOR));
    }

    #[test]
    fn the_client_is_the_last_that_is_no_trusted_proxy() {
        let none = [None; 3];
        check(&[], "10.0.0.1", none);
        check(&[("x-forwarded-for", "192.0.2.1")], "192.0.2.1", none);
        check(&[("x-forwarded-for", "198.51.100.9, 192.0.2.1")], "192.0.2.1", none);
        check(&[("x-forwarded-for", "198.51.100.9, 192.0.2.1:5000, 10.0.0.7")], "192.0.2.1", none);
        check(&[("x-forwarded-for", "198.51.100.9"), ("x-forwarded-for", "192.0.2.1")], "192.0.2.1", none);
        check(&[("x-forwarded-for", "198.51.100.9, unknown, 10.0.0.7")], "10.0.0.7", none);
        check(&[("x-forwarded-for", "10.0.0.8, 10.0.0.7")], "10.0.0.8", none);
        check(&[("x-forwarded-for", "[2001:db8::1]:80")], "2001:db8::1", none);
        let rfc = "for=198.51.100.9;host=evil.example, for=\"[2001:db8::1]:80\";host=a.example;proto=https";
        check(&[("forwarded", rfc)], "2001:db8::1", [Some("a.example"), Some("https"), None]);
        check(
            &[("forwarded", "for=192.0.2.1;proto=https;host=a.example, For=10.0.0.7;host=inner")],
            "192.0.2.1",
            [Some("a.example"), Some("https"), None],
        );
    }

    #[test]
    fn the_outermost_trusted_proxy_says_where_the_service_is() {
        let told = [
            ("x-forwarded-for", "192.0.2.1, 10.0.0.7"),
            ("x-forwarded-host", "evil.example, tables.example, inner"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-prefix", "/mill/"),
            ("forwarded", "for=203.0.113.1;host=evil.example"),
        ];
        check(&told, "192.0.2.1", [Some("tables.example"), Some("https"), Some("/mill/")]);
    }

    #[test]
    fn a_proxy_leaves_its_mark() {
        for name in ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-real-ip", "via"] {
            assert!(TrustedProxies::is_forwarded(&headers(&[(name, "192.0.2.1")])), "{name}");
        }
        assert!(!TrustedProxies::is_forwarded(&headers(&[("host", "localhost"), ("accept", "*/*")])));
    }

    #[test]
    fn nobody_else_is_believed() {
        let mut sent = headers(&[
            ("host", "a.example"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-host", "evil.example"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-prefix", "/evil"),
            ("forwarded", "for=192.0.2.1"),
        ]);
        let (here, elsewhere): (IpAddr, IpAddr) =
            ("127.0.0.1".parse().unwrap(), "192.0.2.7".parse().unwrap());
        for (proxies, peer) in [("", elsewhere), ("none", here), ("10.0.0.0/8", here)] {
            let mut sent = sent.clone();
            assert_eq!(TrustedProxies::parse(proxies).unwrap().resolve(peer, &mut sent), peer);
            assert_eq!(sent.len(), 1, "{proxies:?} {sent:?}");
        }
        // If none are named, one on this machine tells where the service is, and no more.
        assert_eq!(TrustedProxies::default().resolve(here, &mut sent), here);
        assert!(sent.contains_key(FORWARDED_HOST) && !sent.contains_key(FORWARDED_FOR), "{sent:?}");
    }
}
