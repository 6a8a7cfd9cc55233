//! LiteLLM's proxy: others' code that speaks OpenAI's and Anthropic's wire, with answers fixed beforehand.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::process::{AnyResult, program};
use crate::server::{free_address, log_end};
use crate::{http, tools};

/// What callers must show.
pub(crate) const KEY: &str = "sk-test-1234";

/// It loads for a quarter of a minute, on a busy machine for longer.
const READY_LIMIT: Duration = Duration::from_mins(2);
const END_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Starts the proxy, and ends it with all it started as soon as our end of its standard input is closed:
/// also when this process is killed.
const LAUNCHER: &str = "
import os, sys, threading
def end():
    sys.stdin.read()
    os.killpg(os.getpid(), 9)
threading.Thread(target=end, daemon=True).start()
from litellm import run_server
run_server()
";

/// A running proxy. Dropping it ends the process and removes its folder.
pub(crate) struct Litellm {
    folder: PathBuf,
    address: SocketAddr,
    process: Child,
}

impl Litellm {
    /// Starts the proxy with the models in this configuration and waits until it is ready to answer.
    pub(crate) fn start(config: &str) -> AnyResult<Self> {
        let python = tools::python_of_peers("python")?;
        let folder = std::env::temp_dir().join(format!("rowmill-xtask-litellm-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("config.yaml"), config)?;
        let log = File::create(folder.join("log"))?;
        let address = free_address()?;
        let process = program(python)
            .args(["-c", LAUNCHER, "--config", "config.yaml", "--num_workers", "1"])
            .args(["--host", &address.ip().to_string(), "--port", &address.port().to_string()])
            // A database or a key that happens to be in the environment is not ours to use.
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &folder)
            .env("LITELLM_MASTER_KEY", KEY)
            // It would fetch a list of prices.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .env("LITELLM_TELEMETRY", "False")
            .env("PYTHONUNBUFFERED", "1")
            .current_dir(&folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut proxy = Self { folder, address, process };
        proxy.wait_until_ready().map_err(|failure| format!("{failure}\n{}", proxy.log_end()))?;
        Ok(proxy)
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

    fn wait_until_ready(&mut self) -> AnyResult {
        let started = Instant::now();
        while started.elapsed() < READY_LIMIT {
            if let Some(status) = self.process.try_wait()? {
                return Err(format!("LiteLLM's proxy ended: {status}").into());
            }
            let answer = http::send(self.address, "GET", "/health/liveliness", "", "");
            if answer.is_ok_and(|answer| answer.status == 200) {
                println!("LiteLLM's proxy is ready after {:.1} s", started.elapsed().as_secs_f64());
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Err(format!("LiteLLM's proxy is not ready after {} s", READY_LIMIT.as_secs()).into())
    }
}

impl Drop for Litellm {
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
