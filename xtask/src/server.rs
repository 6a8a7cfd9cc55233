//! The real binary, built and serving on a free loopback port from a data directory of its own.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use cargo_metadata::Message;
use serde_json::Value;

use crate::http;
use crate::process::{AnyResult, cargo, output, program};

const READY_LIMIT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const LOG_BYTES_SHOWN: usize = 4_000;

/// Builds the binary and says where it lies.
pub(crate) fn build() -> AnyResult<PathBuf> {
    // With the features of all tests, as `cargo test --workspace` has them: otherwise tokio, and all that uses it, would be
    // built a second time.
    let arguments = ["build", "--workspace", "--all-targets", "--message-format", "json-render-diagnostics"];
    let messages = output(cargo().args(arguments))?;
    for message in Message::parse_stream(messages.as_bytes()) {
        if let Message::CompilerArtifact(artifact) = message?
            && artifact.target.name == "rowmill"
            && !artifact.profile.test
            && let Some(executable) = artifact.executable
        {
            return Ok(executable.into_std_path_buf());
        }
    }
    Err("cargo built no binary named rowmill".into())
}

/// A running service. Dropping it ends the process and removes its data.
pub(crate) struct Server {
    binary: PathBuf,
    folder: PathBuf,
    address: SocketAddr,
    process: Child,
}

impl Server {
    /// Starts the service and waits until it is ready to answer.
    pub(crate) fn start(binary: &Path, settings: &[(&str, &str)]) -> AnyResult<Self> {
        let folder = std::env::temp_dir().join(format!("rowmill-xtask-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let log = File::create(folder.join("log"))?;
        let address = free_address()?;
        let process = program(binary)
            .args(["serve", "--listen", &address.to_string(), "--data-dir"])
            .arg(folder.join("data"))
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut server = Self { binary: binary.to_owned(), folder, address, process };
        match server.wait_until_ready() {
            Ok(()) => Ok(server),
            Err(failure) => Err(format!("{failure}\n{}", server.log_end()).into()),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Everything it has said so far.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.join("log")).unwrap_or_default()).into_owned()
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn create_key(&self) -> AnyResult<String> {
        let arguments = ["key", "create", "--team", "default", "--name", "xtask", "--data-dir"];
        let key = output(program(&self.binary).args(arguments).arg(self.data_dir()))?;
        Ok(key.trim().to_owned())
    }

    /// The id of the only team there is.
    pub(crate) fn team_id(&self) -> AnyResult<String> {
        let teams = output(program(&self.binary).args(["team", "list", "--data-dir"]).arg(self.data_dir()))?;
        let id = teams.split('"').find(|text| text.len() == 36 && text.contains('-'));
        id.map(str::to_owned).ok_or_else(|| format!("no team: {teams}").into())
    }

    /// Creates something by a POST and gives the first id with this prefix in the answer.
    pub(crate) fn create(&self, key: &str, path: &str, body: &str, prefix: &str) -> AnyResult<String> {
        let answer = http::send(self.address, "POST", path, key, body)?.body;
        let id = answer.split('"').find(|text| text.starts_with(prefix));
        id.map(str::to_owned).ok_or_else(|| format!("POST {path} made nothing: {answer}").into())
    }

    pub(crate) fn get(&self, key: &str, path: &str) -> AnyResult<Value> {
        self.call(key, "GET", path, "")
    }

    pub(crate) fn post(&self, key: &str, path: &str, body: &Value) -> AnyResult<Value> {
        self.call(key, "POST", path, &body.to_string())
    }

    fn call(&self, key: &str, method: &str, path: &str, body: &str) -> AnyResult<Value> {
        let http::Answer { status, body } = http::send(self.address, method, path, key, body)?;
        if !(200..300).contains(&status) {
            return Err(format!("{method} {path} was answered {status}: {body}").into());
        }
        Ok(serde_json::from_str(&body)?)
    }

    /// Fails, with the end of the log, if the process is no longer there.
    pub(crate) fn check_alive(&mut self) -> AnyResult {
        match self.process.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("the service ended: {status}\n{}", self.log_end()).into()),
        }
    }

    /// The last words of the service.
    pub(crate) fn log_end(&self) -> String {
        log_end(&self.folder.join("log"))
    }

    fn wait_until_ready(&mut self) -> AnyResult {
        let started = Instant::now();
        while started.elapsed() < READY_LIMIT {
            self.check_alive()?;
            if http::send(self.address, "GET", "/readyz", "", "").is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Err(format!("not ready after {} s", READY_LIMIT.as_secs()).into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The last words in a log.
pub(crate) fn log_end(path: &Path) -> String {
    let log = fs::read(path).unwrap_or_default();
    let start = log.len().saturating_sub(LOG_BYTES_SHOWN);
    String::from_utf8_lossy(log.get(start..).unwrap_or_default()).into_owned()
}

pub(crate) fn free_address() -> AnyResult<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
