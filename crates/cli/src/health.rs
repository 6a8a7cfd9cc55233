//! `rowmill health`: asks the server of this machine whether it is well. A container without a shell needs it.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rowmill_model::connection_failure::explain;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error as TlsError, SignatureScheme, StreamOwned,
};

use crate::commands::AnyResult;
use crate::listen_address::listen_address;

#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// The address that the server listens on.
    #[arg(long, env = "ROWMILL_LISTEN", default_value = "127.0.0.1:8080", value_parser = listen_address)]
    listen: SocketAddr,
    /// The server's certificate, if it speaks HTTPS.
    #[arg(long, env = "ROWMILL_TLS_CERTIFICATE")]
    tls_certificate: Option<PathBuf>,
    /// The server's own address for health and metrics, if it has one.
    #[arg(long, env = "ROWMILL_ADMIN_LISTEN", value_parser = listen_address)]
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
    let limit = Duration::from_secs(args.timeout);
    let may_be_tls = args.admin_listen.is_none();
    let mut is_tls = may_be_tls && args.tls_certificate.is_some();
    let mut answer = asked(address, path, is_tls, limit)?;
    // Who speaks HTTPS answers plain HTTP so. The certificate may be a setting that this command does not see.
    if may_be_tls && !is_tls && status_of(&answer) == "400" {
        is_tls = true;
        answer = asked(address, path, is_tls, limit)?;
    }
    let status = status_of(&answer);
    if status == "200" {
        return Ok(());
    }
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body.trim());
    Err(format!("{} answers {status}: {body}", url(address, path, is_tls)).into())
}

fn url(address: SocketAddr, path: &str, is_tls: bool) -> String {
    format!("{}://{address}{path}", if is_tls { "https" } else { "http" })
}

fn asked(address: SocketAddr, path: &str, is_tls: bool, limit: Duration) -> Result<String, Box<dyn Error>> {
    let answer = ask(address, path, is_tls, limit);
    answer.map_err(|error| {
        let words = explain(&error.to_string());
        format!("{} does not answer: {words}", url(address, path, is_tls)).into()
    })
}

fn status_of(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// Whether what answers there is a server of ours, well or not.
pub(crate) fn is_rowmill(address: SocketAddr, is_tls: bool, limit: Duration) -> bool {
    let answer = ask(reachable(address), "/healthz", is_tls, limit).unwrap_or_default();
    answer.contains("\"success\":true") && answer.to_ascii_lowercase().contains("x-request-id")
}

fn ask(address: SocketAddr, path: &str, is_tls: bool, limit: Duration) -> Result<String, Box<dyn Error>> {
    let connection = TcpStream::connect_timeout(&address, limit)?;
    connection.set_read_timeout(Some(limit))?;
    connection.set_write_timeout(Some(limit))?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    if is_tls { exchange(over_tls(address, connection)?, &head) } else { exchange(connection, &head) }
}

fn exchange(mut connection: impl Read + Write, head: &str) -> Result<String, Box<dyn Error>> {
    connection.write_all(head.as_bytes())?;
    let mut answer = String::new();
    connection.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

fn over_tls(
    address: SocketAddr,
    connection: TcpStream,
) -> Result<StreamOwned<ClientConnection, TcpStream>, Box<dyn Error>> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(AnyCertificate(Arc::clone(&provider)));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let name = ServerName::IpAddress(address.ip().into());
    Ok(StreamOwned::new(ClientConnection::new(Arc::new(config), name)?, connection))
}

/// Takes every certificate: its names are those of the service and not of this machine, and nothing secret is sent.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
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
