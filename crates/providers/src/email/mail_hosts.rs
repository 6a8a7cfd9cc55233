//! Where a domain's mail goes, by DNS.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use hickory_resolver::config::{NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::RData;
use hickory_resolver::{Resolver, TokioResolver};

use crate::failure::Failure;

/// More mail servers than this nobody needs to know.
const EXCHANGES_MAX: usize = 3;

pub(crate) struct MailHosts(Option<TokioResolver>);

/// The addresses of a domain's mail servers, the preferred first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Named(Vec<IpAddr>),
    /// The domain names none, so its own address is meant (RFC 5321).
    Implied(Vec<IpAddr>),
    /// The domain takes no mail: it says so (RFC 7505), or has no address.
    Refused,
    /// There is no such domain.
    None,
}

impl MailHosts {
    /// Asks these name servers, or the machine's if there are none.
    pub(crate) fn new(name_servers: &[SocketAddr]) -> Self {
        let builder = if name_servers.is_empty() {
            TokioResolver::builder_tokio().ok()
        } else {
            let servers = name_servers.iter().map(name_server).collect();
            let config = ResolverConfig::from_name_servers(servers);
            Some(Resolver::builder_with_config(config, TokioRuntimeProvider::default()))
        };
        Self(builder.and_then(|builder| builder.build().ok()))
    }

    pub(crate) async fn of(&self, domain: &str) -> Result<Route, Failure> {
        let Some(resolver) = &self.0 else {
            return Err(Failure::transient(
                "This machine has no DNS server configured, so mail servers cannot be looked up.",
            ));
        };
        let found = match resolver.mx_lookup(format!("{domain}.")).await {
            Ok(found) => found,
            Err(error) => {
                return match absence(&error) {
                    Some(Absence::Domain) => Ok(Route::None),
                    Some(Absence::Records) => implied(resolver, domain).await,
                    None => Err(not_told(domain, &error)),
                };
            }
        };
        let mut exchanges: Vec<_> = found
            .answers()
            .iter()
            .filter_map(|record| match &record.data {
                RData::MX(mx) if !mx.exchange.is_root() => Some((mx.preference, mx.exchange.to_ascii())),
                _ => None,
            })
            .collect();
        if exchanges.is_empty() {
            return Ok(Route::Refused);
        }
        exchanges.sort();
        let mut hosts = Vec::new();
        for (_, exchange) in exchanges.into_iter().take(EXCHANGES_MAX) {
            hosts.extend(addresses(resolver, &exchange).await);
        }
        Ok(Route::Named(hosts))
    }
}

/// The domain's own addresses.
async fn implied(resolver: &TokioResolver, domain: &str) -> Result<Route, Failure> {
    match resolver.lookup_ip(format!("{domain}.")).await {
        Ok(found) => {
            let found = sorted(found.iter().collect());
            Ok(if found.is_empty() { Route::Refused } else { Route::Implied(found) })
        }
        Err(error) if absence(&error).is_some() => Ok(Route::Refused),
        Err(error) => Err(not_told(domain, &error)),
    }
}

fn not_told(domain: &str, error: &NetError) -> Failure {
    Failure::transient(format!("Could not look up the mail servers of {domain}: {error}."))
}

/// Of what kind nothing is.
enum Absence {
    Domain,
    Records,
}

fn absence(error: &NetError) -> Option<Absence> {
    let NetError::Dns(DnsError::NoRecordsFound(nothing)) = error else { return None };
    match nothing.response_code {
        ResponseCode::NXDomain => Some(Absence::Domain),
        ResponseCode::NoError => Some(Absence::Records),
        _ => None,
    }
}

/// A name's addresses; none if they cannot be had, for there may be another server.
async fn addresses(resolver: &TokioResolver, name: &str) -> Vec<IpAddr> {
    let found = resolver.lookup_ip(name).await;
    sorted(found.map(|found| found.iter().collect()).unwrap_or_default())
}

/// Mail still travels over IPv4 mostly, so those come first.
fn sorted(mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    addresses.sort_by_key(IpAddr::is_ipv6);
    addresses
}

fn name_server(address: &SocketAddr) -> NameServerConfig {
    let mut server = NameServerConfig::udp_and_tcp(address.ip());
    for connection in &mut server.connections {
        connection.port = address.port();
    }
    server
}

impl fmt::Debug for MailHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailHosts").finish_non_exhaustive()
    }
}
