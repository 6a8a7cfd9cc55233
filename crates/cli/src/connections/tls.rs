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

use super::transport::Transport;

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
    current: RwLock<Current>,
}

#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    /// What the files held when they were last looked at, whether it could be used or not.
    seen: Pem,
}

/// The certificate with those that signed it, and its private key, both as PEM.
#[derive(Debug, Clone)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// What became of a handshake.
pub(super) enum Handshake {
    Done(Transport),
    /// The client speaks no TLS.
    PlainHttp(Transport),
    Failed,
}

impl Tls {
    /// The error is a sentence.
    pub(crate) fn load(files: TlsFiles) -> Result<Self, String> {
        let seen = files.read()?;
        let current = Current { config: seen.config()?, seen };
        Ok(Self(Arc::new(Inner { files, current: RwLock::new(current) })))
    }

    /// Reads the files again when they change, for ever. What cannot be used is told, and the old ones stay.
    pub(crate) async fn keep_current(self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let files = self.0.files.clone();
            let Ok(read) = tokio::task::spawn_blocking(move || files.read()).await else { continue };
            // It is missing for a moment while it is replaced.
            let Ok(seen) = read else { continue };
            if self.0.current.read().seen == seen {
                continue;
            }
            let config = seen.config();
            let mut current = self.0.current.write();
            current.seen = seen;
            match config {
                Ok(config) => {
                    current.config = config;
                    tracing::info!("the TLS certificate was read again");
                }
                Err(error) => {
                    tracing::warn!(error, "the new TLS certificate cannot be used; the old one stays");
                }
            }
        }
    }

    pub(super) async fn handshake(&self, socket: TcpStream) -> Handshake {
        let mut first = [0];
        match socket.peek(&mut first).await {
            Ok(1) if first[0] != HANDSHAKE => return Handshake::PlainHttp(Transport::Plain(socket)),
            Ok(1) => {}
            Ok(_) | Err(_) => return Handshake::Failed,
        }
        let config = Arc::clone(&self.0.current.read().config);
        match TlsAcceptor::from(config).accept(socket).await {
            Ok(stream) => Handshake::Done(Transport::Tls(Box::new(stream))),
            Err(error) => {
                tracing::debug!(%error, "a TLS handshake failed");
                Handshake::Failed
            }
        }
    }
}

/// What the files hold.
#[derive(PartialEq, Eq)]
struct Pem {
    certificate: Vec<u8>,
    key: Vec<u8>,
    files: String,
}

impl TlsFiles {
    fn read(&self) -> Result<Pem, String> {
        let read = |file: &Path| {
            std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
        };
        let files = format!("{} and {}", self.certificate.display(), self.key.display());
        Ok(Pem { certificate: read(&self.certificate)?, key: read(&self.key)?, files })
    }
}

impl std::fmt::Debug for Pem {
    /// The key is secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pem").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Pem {
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
