//! TLS: the certificate and its key, read again when their files change, so that a renewed certificate needs no restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::wire::Wire;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The first byte of every TLS connection: a handshake record.
const HANDSHAKE: u8 = 0x16;

/// What a server proves with that it is who it says.
#[derive(Debug, Clone)]
pub(crate) struct Tls(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
}

/// The certificate with those that signed it, and its private key, both as PEM.
#[derive(Debug, Clone)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// What became of a greeting.
pub(super) enum Greeted {
    Tls(Wire),
    /// The client speaks plain HTTP.
    Plain(Wire),
    Gone,
}

impl Tls {
    /// The error is a sentence.
    pub(crate) fn load(files: TlsFiles) -> Result<Self, String> {
        let config = files.read()?.config()?;
        Ok(Self(Arc::new(Inner { files, current: RwLock::new(config) })))
    }

    /// Reads the files again when they change, for ever. What cannot be used is told, and the old ones stay.
    pub(crate) async fn keep_current(self) {
        let mut last = self.0.files.read().ok();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let files = self.0.files.clone();
            let Ok(read) = tokio::task::spawn_blocking(move || files.read()).await else { continue };
            // It is missing for a moment while it is replaced.
            let Ok(read) = read else { continue };
            if last.as_ref() == Some(&read) {
                continue;
            }
            match read.config() {
                Ok(config) => {
                    *self.0.current.write() = config;
                    tracing::info!("the TLS certificate was read again");
                }
                Err(error) => {
                    tracing::warn!(error, "the new TLS certificate cannot be used; the old one stays");
                }
            }
            last = Some(read);
        }
    }

    /// Greets a client.
    pub(super) async fn greet(&self, socket: TcpStream) -> Greeted {
        let mut first = [0];
        match socket.peek(&mut first).await {
            Ok(1) if first[0] != HANDSHAKE => return Greeted::Plain(Wire::Plain(socket)),
            Ok(1) => {}
            Ok(_) | Err(_) => return Greeted::Gone,
        }
        let config = Arc::clone(&self.0.current.read());
        match TlsAcceptor::from(config).accept(socket).await {
            Ok(stream) => Greeted::Tls(Wire::Tls(Box::new(stream))),
            Err(error) => {
                tracing::debug!(%error, "a TLS handshake failed");
                Greeted::Gone
            }
        }
    }
}

/// The files as they were read.
#[derive(PartialEq, Eq)]
struct Read {
    certificate: Vec<u8>,
    key: Vec<u8>,
    files: String,
}

impl TlsFiles {
    fn read(&self) -> Result<Read, String> {
        let read = |file: &Path| {
            std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
        };
        let files = format!("{} and {}", self.certificate.display(), self.key.display());
        Ok(Read { certificate: read(&self.certificate)?, key: read(&self.key)?, files })
    }
}

impl Read {
    fn config(&self) -> Result<Arc<ServerConfig>, String> {
        let fault = |words: String| format!("cannot use {} for TLS: {words}", self.files);
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<_, _>>()
            .map_err(|error| fault(format!("the certificate is not PEM: {error}")))?;
        if chain.is_empty() {
            return Err(fault("the first file has no certificate".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| fault(format!("the second file has no private key as PEM: {error}")))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| fault(error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| fault(error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}
