//! HTTPS without a proxy: certificates from files, read again when they change.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::harness::http::{Response, connect, exchange, receive};
use crate::harness::runner::scenarios;
use crate::harness::server::{DataDir, command, refusal};
use crate::harness::{Request, Scenario, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("tls", Own:
    a_certificate_makes_it_https_and_a_new_one_needs_no_restart,
    files_that_cannot_be_used_are_told_at_the_start,
);

fn text(response: &Response) -> String {
    String::from_utf8_lossy(&response.body).into_owned()
}

/// Generous: what should take a second may take this long.
const SOON: Duration = Duration::from_secs(30);

/// A new certificate for this machine and its key, written to a folder.
fn renew(folder: &Path) -> CertificateDer<'static> {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    std::fs::write(folder.join("certificate.pem"), made.cert.pem()).unwrap();
    CertificateDer::from_pem_slice(made.cert.pem().as_bytes()).unwrap()
}

/// A server that speaks HTTPS. Dropping it ends it.
struct SecureServer {
    process: Child,
    address: String,
    key: String,
}

impl SecureServer {
    fn start(folder: &DataDir) -> Self {
        let mut command = command(folder);
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut process = command
            .env("ROWMILL_LISTEN", "127.0.0.1:0")
            .env("ROWMILL_HEAD_SECONDS_MAX", "2")
            .env("ROWMILL_TLS_CERTIFICATE", folder.path().join("certificate.pem"))
            .env("ROWMILL_TLS_KEY", folder.path().join("key.pem"))
            .arg("serve")
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, rest) = line.split_once("listening on https://")?;
            rest.split(' ').next().map(str::to_owned)
        });
        let key = lines
            .find_map(|line| line.split_whitespace().find(|word| word.starts_with("rm_")).map(str::to_owned));
        std::thread::spawn(move || lines.for_each(drop));
        let (address, key) = (address.unwrap(), key.unwrap());
        Self { process, address, key }
    }

    /// Sends a request as a client that trusts this certificate alone.
    fn ask(&self, trusted: &CertificateDer<'static>, request: &Request) -> std::io::Result<Response> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
        let mut stream = StreamOwned::new(client, connect(&self.address)?);
        stream.write_all(request.head(&self.address).as_bytes())?;
        stream.write_all(request.body.as_deref().unwrap_or_default())?;
        receive(&mut stream)
    }
}

impl Drop for SecureServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn a_certificate_makes_it_https_and_a_new_one_needs_no_restart() {
    let folder = DataDir::new();
    let old = renew(folder.path());
    let server = SecureServer::start(&folder);
    let bearer = format!("Bearer {}", server.key);
    let create = |title: &str| {
        let body = json!({ "title": title, "columns": [{ "templateId": "manual", "header": "Name" }] });
        Request::post("/v4/projects").header("Authorization", &bearer).json(&body)
    };
    assert_eq!(server.ask(&old, &create("Secure")).unwrap().status, 201);
    let list = Request::get("/v4/projects").header("Authorization", &bearer);
    assert!(text(&server.ask(&old, &list).unwrap()).contains("Secure"));
    // Links begin as the client came.
    let refused = server.ask(&old, &Request::post("/mcp").json(&json!({}))).unwrap();
    let told = refused.header("www-authenticate").unwrap();
    assert!(told.contains(&format!("https://{}/", server.address)), "{told}");
    // A large body.
    let long = "x".repeat(900_000);
    let kept = server.ask(&old, &create(&long)).unwrap();
    assert_eq!(kept.status, 400, "{}", text(&kept));

    // Plain HTTP is told what to do.
    let plain = exchange(&server.address, &list).unwrap();
    assert!(plain.status == 400 && text(&plain).contains("https://"), "{}", text(&plain));
    // Who says nothing, or nonsense, is cut off.
    for said in [&b""[..], b"\x16", b"\x16\x03\x01\x40\x00"] {
        let (mut stream, start) = (TcpStream::connect(&server.address).unwrap(), Instant::now());
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(said).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(start.elapsed() < SOON, "{said:?} is still connected");
    }
    let health = command(&folder)
        .env("ROWMILL_LISTEN", &server.address)
        .env("ROWMILL_TLS_CERTIFICATE", folder.path().join("certificate.pem"))
        .args(["health", "--ready"])
        .output()
        .unwrap();
    assert!(health.status.success(), "{health:?}");
    // The certificate may be a setting of the server alone.
    let plain = command(&folder).args(["health", "--ready", "--listen", &server.address]).output().unwrap();
    assert!(plain.status.success(), "{plain:?}");
    // A certificate that nobody vouches for is told in plain words.
    let login = command(&folder)
        .env("ROWMILL_API_KEY", "rm_1")
        .env("XDG_CONFIG_HOME", folder.path())
        .args(["login", &format!("https://{}", server.address)])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&login.stderr).into_owned();
    assert!(told.contains("an authority that this machine does not trust"), "{told}");

    // What cannot be used changes nothing.
    std::fs::write(folder.path().join("certificate.pem"), "nonsense").unwrap();
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(server.ask(&old, &list).unwrap().status, 200);
    let new = renew(folder.path());
    eventually("the new certificate is there", SOON, || {
        server.ask(&new, &list).ok().filter(|answer| answer.status == 200)
    });
    assert!(server.ask(&old, &list).is_err(), "the old one is not shown any more");
}

fn files_that_cannot_be_used_are_told_at_the_start() {
    let folder = DataDir::new();
    renew(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("certificate.pem"), path("key.pem"));
    let told = |certificate: &str, key: &str| {
        refusal(&folder, &[("ROWMILL_TLS_CERTIFICATE", certificate), ("ROWMILL_TLS_KEY", key)])
    };
    let missing = told(&path("missing.pem"), &key);
    assert!(missing.contains("cannot read") && missing.contains("missing.pem"), "{missing}");
    let swapped = told(&key, &certificate);
    assert!(swapped.contains("has no certificate"), "{swapped}");
    let other = path("other.pem");
    std::fs::rename(path("key.pem"), &other).unwrap();
    renew(folder.path());
    let mixed = told(&certificate, &other);
    assert!(mixed.contains("for TLS"), "{mixed}");
}
