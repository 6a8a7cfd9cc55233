//! A proxy that runs with a file of the repository.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::kinds::{Here, Kind, Site};
use crate::debian::Debian;
use crate::process::{AnyResult, root};
use crate::server::{Server, free_address, log_end};

const READY_LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Dropping it ends the process.
pub(super) struct Running {
    process: Child,
    log: PathBuf,
    pub(super) here: Here,
    pub(super) sites: Vec<Site>,
}

impl Running {
    pub(super) fn start(kind: &Kind, debian: &Debian, folder: &Path, server: &Server) -> AnyResult<Self> {
        let here = Here {
            service: server.address(),
            http: free_address()?,
            https: free_address()?,
            folder: folder.display().to_string(),
        };
        let name = kind.file.rsplit('/').next().unwrap_or_default();
        let (own, around) = (folder.join(name), folder.join("around"));
        let (text, outer) = (kind.around)(&here, configured(kind, &here)?);
        fs::write(&own, text)?;
        fs::write(&around, outer.unwrap_or_default())?;
        let log = folder.join("proxy.log");
        let output = File::create(&log)?;
        let mut command = debian.program(kind.program).ok_or("its program is gone")?;
        (kind.arguments)(&mut command, &own, &around);
        command.current_dir(folder).env("HOME", folder).env("XDG_DATA_HOME", folder);
        let process = command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).spawn()?;
        let sites = (kind.sites)(&here);
        let mut running = Self { process, log, here, sites };
        let ready = running.wait_until_ready();
        ready.map_err(|failure| format!("{}: {failure}\n{}", kind.file, running.log_end()))?;
        Ok(running)
    }

    pub(super) fn log_end(&self) -> String {
        log_end(&self.log)
    }

    pub(super) fn is_secure(&self) -> bool {
        self.sites.iter().any(|site| site.url.starts_with("https:"))
    }

    fn wait_until_ready(&mut self) -> AnyResult {
        let started = Instant::now();
        let address = if self.is_secure() { self.here.https } else { self.here.http };
        while started.elapsed() < READY_LIMIT {
            if let Some(status) = self.process.try_wait()? {
                return Err(format!("the proxy ended: {status}").into());
            }
            if TcpStream::connect_timeout(&address, READY_LIMIT).is_ok() {
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Err(format!("the proxy does not listen after {} s", READY_LIMIT.as_secs()).into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The file of the repository, with this run's ports and paths.
fn configured(kind: &Kind, here: &Here) -> AnyResult<String> {
    let mut text = fs::read_to_string(root().join("packaging").join(kind.file))?;
    for (from, to) in (kind.changes)(here) {
        if !text.contains(from) {
            return Err(format!("packaging/{} does not say `{}`", kind.file, from.trim()).into());
        }
        text = text.replace(from, &to);
    }
    Ok(text)
}
