//! The addresses: where the server listens, how it is reached through proxies, and whether names can be resolved.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use rowmill_api::PublicUrl;
use tokio::net::TcpListener;

use super::report::Finding;
use crate::config::Serve;
use crate::health;

const LISTEN: &str = "listen";
const PROXIES: &str = "proxies";
const DNS: &str = "dns";
const ANSWER_MAX: Duration = Duration::from_secs(2);

pub(super) async fn check(serve: &Serve) -> Vec<Finding> {
    let mut findings = vec![listens(serve.listen, "--listen", serve.tls_files().is_some()).await];
    if let Some(admin) = serve.admin_listen {
        findings.push(listens(admin, "--admin-listen", false).await);
    }
    findings.extend(proxies(serve));
    findings.push(resolver().await);
    findings.push(public_name().await);
    findings
}

async fn listens(address: SocketAddr, setting: &str, is_tls: bool) -> Finding {
    match TcpListener::bind(address).await {
        Ok(_) => Finding::ok(LISTEN, format!("{address} ({setting}) is free; no server runs there.")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            let asked = tokio::task::spawn_blocking(move || health::is_rowmill(address, is_tls, ANSWER_MAX));
            if asked.await.unwrap_or_default() {
                return Finding::ok(LISTEN, format!("A server of Rowmill answers on {address} ({setting})."));
            }
            let message = format!("Another program uses {address} ({setting}).");
            Finding::problem(LISTEN, message, format!("Stop it, or choose another address with {setting}."))
        }
        Err(error) => Finding::problem(
            LISTEN,
            format!("{address} ({setting}) cannot be used: {error}."),
            "Choose an address of this machine, and a port above 1023 unless you run it as root.",
        ),
    }
}

fn proxies(serve: &Serve) -> Vec<Finding> {
    let trusts = |address: [u8; 4]| serve.trusted_proxies.is_trusted(IpAddr::V4(Ipv4Addr::from(address)));
    let trusts_all = [[1, 1, 1, 1], [8, 8, 8, 8], [93, 184, 215, 14]].into_iter().all(trusts);
    let public_url = serve.public_url.as_ref().map(PublicUrl::base_url);
    let is_local = serve.listen.ip().is_loopback();
    let is_tls = serve.tls_files().is_some();
    let is_behind_proxy = !is_tls && public_url.as_ref().is_some_and(|url| url.starts_with("https://"));
    let mut findings = Vec::new();
    if trusts_all {
        findings.push(Finding::problem(
            PROXIES,
            "--trusted-proxies names the whole internet, so everybody can pretend to be at any address.",
            "Name only the addresses of your proxies.",
        ));
    } else if is_behind_proxy && !serve.trusted_proxies.is_set() {
        findings.push(Finding::warning(
            PROXIES,
            "--public-url is https, so there is a proxy, but --trusted-proxies is not set: all clients share its rate \
             limits and its address in the log.",
            "Name the proxy, such as --trusted-proxies 127.0.0.1, or `none` if there is none.",
        ));
    }
    if !is_local && !is_tls && public_url.is_none() && !serve.trusted_proxies.is_set() {
        findings.push(Finding::warning(
            PROXIES,
            format!(
                "{} is reached from other machines without TLS, so keys can be read on the way.",
                serve.listen
            ),
            "Set --tls-certificate and --tls-key; or put a proxy with TLS in front, and set --public-url and \
             --trusted-proxies. See docs/operating.md.",
        ));
    }
    if findings.is_empty() {
        let told = match public_url {
            Some(url) => format!("The server is reached at {url}."),
            None if is_tls => format!("The server is reached at https://{}.", serve.listen),
            None => format!("The server is reached at http://{}.", serve.listen),
        };
        findings.push(Finding::ok(PROXIES, told));
    }
    findings
}

/// Whether the system can resolve names at all. `localhost` is known to every system.
async fn resolver() -> Finding {
    let resolving = tokio::time::timeout(ANSWER_MAX, tokio::net::lookup_host(("localhost", 80)));
    if !matches!(resolving.await, Ok(Ok(_))) {
        let action =
            "See that /etc/hosts has a line for localhost, and what /etc/nsswitch.conf says of hosts.";
        return Finding::warning(DNS, "localhost cannot be resolved.", action);
    }
    let servers = std::fs::read_to_string("/etc/resolv.conf").map(|text| {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix("nameserver"));
        lines.map(|server| server.trim().to_owned()).collect::<Vec<_>>()
    });
    match servers {
        Ok(servers) if servers.is_empty() => {
            Finding::ok(DNS, "/etc/resolv.conf names no server; the system asks the one on this machine.")
        }
        Ok(servers) => Finding::ok(DNS, format!("Names are resolved by {}.", servers.join(", "))),
        Err(error) => {
            let message = format!("/etc/resolv.conf cannot be read: {error}.");
            Finding::warning(DNS, message, "Name a DNS server there: providers are found by it.")
        }
    }
}

/// A name that exists as long as there is a public DNS (RFC 6761).
const PUBLIC_NAME: &str = "example.com";

/// Whether names of the internet can be looked up. A server on a network of its own needs none, so that is no fault; the hosts
/// of providers are checked by themselves.
async fn public_name() -> Finding {
    let fault = match look_up(PUBLIC_NAME).await {
        Ok(()) => return Finding::ok(DNS, format!("{PUBLIC_NAME} can be looked up.")),
        Err(fault) => fault,
    };
    Finding::note(
        DNS,
        format!("{PUBLIC_NAME} cannot be looked up: {fault}."),
        "If columns are to reach the internet, check the network and the DNS server of this machine.",
    )
}

/// Looks up a name on a thread of its own, which nobody waits for: the system may take much longer to give up.
async fn look_up(name: &'static str) -> Result<(), String> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let found = (name, 443).to_socket_addrs().map(|mut found| found.next().is_some());
        // Whoever asked may have gone.
        let _ = sender.send(found);
    });
    match tokio::time::timeout(ANSWER_MAX, receiver).await {
        Ok(Ok(Ok(true))) => Ok(()),
        Ok(Ok(Ok(false))) => Err("it has no address".to_owned()),
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Err(_)) | Err(_) => Err(format!("there was no answer within {} seconds", ANSWER_MAX.as_secs())),
    }
}
