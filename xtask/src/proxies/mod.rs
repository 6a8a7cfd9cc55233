//! The step `proxies`: the example configurations of `packaging/`, with the real nginx, Caddy and `HAProxy` of Debian in front of
//! the real service.

mod checks;
mod client;
mod kinds;
mod running;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use self::client::Client;
use self::kinds::{HOSTS, KINDS};
use self::running::Running;
use crate::debian::Debian;
use crate::process::{AnyResult, output};
use crate::server::{self, Server};

pub(crate) fn run() -> AnyResult {
    let debian = Debian::get()?;
    let needed = KINDS.iter().map(|kind| kind.program).chain(["curl", "openssl"]);
    let missing: Vec<&str> = needed.filter(|name| debian.program(name).is_none()).collect();
    if !missing.is_empty() {
        println!("skipped: neither Debian's packages nor this system have {}", missing.join(", "));
        return Ok(());
    }
    let folder = Scratch::new()?;
    make_certificate(&debian, &folder.0)?;
    // One wrong key is answered, and the next one from the same address only after minutes. Only this address is a proxy:
    // the clients are at others of the machine's own.
    let settings = [
        ("ROWMILL_TRUSTED_PROXIES", "127.0.0.1"),
        ("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "1/3"),
        ("ROWMILL_LOG", "info"),
    ];
    let mut server = Server::start(&server::build()?, &settings)?;
    let key = server.create_key()?;
    for (number, kind) in KINDS.iter().enumerate() {
        let started = Instant::now();
        let proxy = Running::start(kind, &debian, &folder.0, &server)?;
        let client = Client::new(&debian, &folder.0, &proxy, &key);
        let outcome = checks::run(&client, &server, &proxy, number);
        server.check_alive()?;
        outcome.map_err(|failure| {
            let (service, proxy) = (server.log_end(), proxy.log_end());
            format!("{}: {failure}\nthe service's last words:\n{service}\nthe proxy's:\n{proxy}", kind.file)
        })?;
        println!("{} with {}: {:.1} s", kind.file, kind.program, started.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Below the system's temporary folder, and removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> AnyResult<Self> {
        let folder = std::env::temp_dir().join(format!("rowmill-xtask-proxies-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// As the configurations name its files.
fn make_certificate(debian: &Debian, folder: &Path) -> AnyResult {
    let names = HOSTS.map(|host| format!("DNS:{host}")).join(",");
    let config = folder.join("openssl.cnf");
    fs::write(
        &config,
        format!(
            "[req]\ndistinguished_name=dn\nprompt=no\nx509_extensions=ext\n[dn]\nCN=rowmill\n[ext]\nsubjectAltName={names}\n"
        ),
    )?;
    let (certificate, key) = (folder.join("fullchain.pem"), folder.join("privkey.pem"));
    let mut openssl = debian.program("openssl").ok_or("no openssl")?;
    openssl.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]);
    openssl.arg("-config").arg(&config).arg("-keyout").arg(&key).arg("-out").arg(&certificate);
    output(&mut openssl)?;
    let both = [fs::read(certificate)?, fs::read(key)?].concat();
    Ok(fs::write(folder.join("haproxy.pem"), both)?)
}
