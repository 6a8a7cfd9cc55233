//! `rowmill health`: asks the server of this machine whether it is well. A container without a shell needs it.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use clap::Args;

use crate::commands::AnyResult;

#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// The address that the server listens on.
    #[arg(long, env = "ROWMILL_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// The server's own address for health and metrics, if it has one.
    #[arg(long, env = "ROWMILL_ADMIN_LISTEN")]
    admin_listen: Option<SocketAddr>,
    /// Ask whether it accepts requests and can write (/readyz), not only whether it runs (/healthz).
    #[arg(long)]
    ready: bool,
    /// Seconds to wait for the answer.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
}

/// More than both answers have.
const ANSWER_BYTES_MAX: u64 = 16 * 1024;

pub(crate) fn run(args: &HealthArgs) -> AnyResult {
    let address = reachable(args.admin_listen.unwrap_or(args.listen));
    let path = if args.ready { "/readyz" } else { "/healthz" };
    let answer = ask(address, path, Duration::from_secs(args.timeout))
        .map_err(|error| format!("http://{address}{path} does not answer: {error}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status == "200" {
        return Ok(());
    }
    Err(format!("http://{address}{path} answers {status}: {}", body.trim()).into())
}

/// Whether what answers there is a server of ours, well or not.
pub(crate) fn is_rowmill(address: SocketAddr, limit: Duration) -> bool {
    let answer = ask(reachable(address), "/healthz", limit).unwrap_or_default();
    answer.contains("\"success\":true") && answer.to_ascii_lowercase().contains("x-request-id")
}

fn ask(address: SocketAddr, path: &str, limit: Duration) -> Result<String, Box<dyn Error>> {
    let mut connection = TcpStream::connect_timeout(&address, limit)?;
    connection.set_read_timeout(Some(limit))?;
    connection.set_write_timeout(Some(limit))?;
    write!(connection, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    connection.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

/// Whoever listens on every address of the machine is asked on its own.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_asked_on_this_machine() {
        for (listened, asked) in
            [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80"), ("10.0.0.1:80", "10.0.0.1:80")]
        {
            assert_eq!(reachable(listened.parse().unwrap()), asked.parse().unwrap());
        }
    }
}
