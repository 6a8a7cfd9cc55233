//! The TLS settings of all calls. The system's root certificates are read once for the process, not once for each client.

use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Settings for one client. The error is the TLS library's, in words.
pub(super) fn config() -> Result<ClientConfig, String> {
    static SHARED: OnceLock<Result<ClientConfig, String>> = OnceLock::new();
    let mut config = SHARED.get_or_init(|| new_config().map_err(|error| error.to_string())).clone()?;
    // Each client resumes its own sessions only.
    config.resumption = Resumption::default();
    Ok(config)
}

fn new_config() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_platform_verifier()?;
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
