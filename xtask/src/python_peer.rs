//! A server in Python that others wrote, and that speaks OpenAI's and Anthropic's wire.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::http;
use crate::process::{AnyResult, program};
use crate::server::{free_address, log_end};

/// A large one loads for a quarter of a minute, on a busy machine for longer.
const READY_LIMIT: Duration = Duration::from_mins(2);
const END_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Comes before a server's own lines, and ends it with all it started as soon as our end of its standard input is closed:
/// also when this process is killed.
const GUARD: &str = "
import os, sys, threading
def end():
    sys.stdin.read()
    os.killpg(os.getpid(), 9)
threading.Thread(target=end, daemon=True).start()
";

/// What to start, and how.
pub(crate) struct PeerProgram<'p> {
    pub(crate) name: &'static str,
    pub(crate) python: PathBuf,
    /// Python that runs the server.
    pub(crate) lines: &'static str,
    pub(crate) arguments: &'p [&'p str],
    pub(crate) environment: &'p [(&'p str, &'p str)],
    /// A file in its working directory.
    pub(crate) config: Option<(&'p str, &'p str)>,
    /// A path that answers 200 once it is ready.
    pub(crate) ready: &'static str,
}

/// A running server. Dropping it ends the process and removes its folder.
pub(crate) struct PythonPeer {
    name: &'static str,
    folder: PathBuf,
    address: SocketAddr,
    process: Child,
}

impl PythonPeer {
    /// Starts a server and waits until it is ready to answer.
    pub(crate) fn start(peer: PeerProgram<'_>) -> AnyResult<Self> {
        let PeerProgram { name, python, lines, arguments, environment, config, ready } = peer;
        let folder = std::env::temp_dir().join(format!("rowmill-xtask-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        if let Some((file, text)) = config {
            fs::write(folder.join(file), text)?;
        }
        let log = File::create(folder.join("log"))?;
        let address = free_address()?;
        let process = program(python)
            .args(["-c", &format!("{GUARD}{lines}")])
            .args(arguments)
            .args(["--host", &address.ip().to_string(), "--port", &address.port().to_string()])
            // A database or a key that happens to be in the environment is not ours to use.
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &folder)
            .envs(environment.iter().copied())
            .env("PYTHONUNBUFFERED", "1")
            .current_dir(&folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut peer = Self { name, folder, address, process };
        peer.wait_until_ready(ready).map_err(|failure| format!("{failure}\n{}", peer.log_end()))?;
        Ok(peer)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything it has said so far.
    pub(crate) fn log(&self) -> String {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    pub(crate) fn log_end(&self) -> String {
        log_end(&self.folder.join("log"))
    }

    fn wait_until_ready(&mut self, path: &str) -> AnyResult {
        let (name, started) = (self.name, Instant::now());
        while started.elapsed() < READY_LIMIT {
            if let Some(status) = self.process.try_wait()? {
                return Err(format!("{name} ended: {status}").into());
            }
            let answer = http::send(self.address, "GET", path, "", "");
            if answer.is_ok_and(|answer| answer.status == 200) {
                println!("{name} is ready after {:.1} s", started.elapsed().as_secs_f64());
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Err(format!("{name} is not ready after {} s", READY_LIMIT.as_secs()).into())
    }
}

impl Drop for PythonPeer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let started = Instant::now();
        while started.elapsed() < END_LIMIT && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(POLL_INTERVAL);
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
