//! Requests through a proxy, made by curl.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::kinds::HOSTS;
use super::running::Running;
use crate::debian::Debian;
use crate::process::AnyResult;

const ANSWER_SECONDS: &str = "20";
/// Stands between an answer's body and its status and place.
const SEPARATOR: &str = "\n--status--\n";

pub(super) struct Client<'a> {
    debian: &'a Debian,
    certificate: PathBuf,
    port: u16,
    key: &'a str,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) redirect: String,
    pub(super) body: String,
}

impl<'a> Client<'a> {
    pub(super) fn new(debian: &'a Debian, folder: &Path, proxy: &Running, key: &'a str) -> Self {
        Self { debian, certificate: folder.join("fullchain.pem"), port: proxy.here.https.port(), key }
    }

    /// What curl is asked with these arguments, the last of which is the address.
    pub(super) fn ask(&self, arguments: &[&str]) -> AnyResult<Answer> {
        let mut curl = self.curl()?;
        let asked = curl.args(["--max-time", ANSWER_SECONDS, "--write-out"]);
        let output =
            asked.arg(format!("{SEPARATOR}%{{http_code}} %{{redirect_url}}")).args(arguments).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return Err(format!("curl {}: {}", arguments.join(" "), reason.trim()).into());
        }
        let (body, rest) = text.rsplit_once(SEPARATOR).ok_or("curl says no status")?;
        let (status, redirect) = rest.split_once(' ').ok_or("curl says no address")?;
        Ok(Answer { status: status.parse()?, redirect: redirect.to_owned(), body: body.to_owned() })
    }

    /// As a caller with a key; the answer must be a good one.
    pub(super) fn call(&self, arguments: &[&str]) -> AnyResult<Value> {
        let key = format!("Authorization: Bearer {}", self.key);
        let all =
            [&["--header", key.as_str(), "--header", "Content-Type: application/json"], arguments].concat();
        let Answer { status, body, .. } = self.ask(&all)?;
        if !(200..300).contains(&status) {
            return Err(format!("curl {}: {status} {body}", arguments.join(" ")).into());
        }
        Ok(serde_json::from_str(&body)?)
    }

    /// An event stream, line by line as it arrives.
    pub(super) fn watch(&self, url: &str) -> AnyResult<Watch> {
        let key = format!("Authorization: Bearer {}", self.key);
        let mut curl = self.curl()?;
        let mut process = curl.args(["--no-buffer", "--header", &key, url]).stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take().ok_or("curl has no output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Watch { process, lines })
    }

    fn curl(&self) -> AnyResult<Command> {
        let mut curl = self.debian.program("curl").ok_or("no curl")?;
        curl.args(["--disable", "--silent", "--show-error", "--noproxy", "*", "--cacert"])
            .arg(&self.certificate);
        for host in HOSTS {
            curl.args(["--resolve", &format!("{host}:{}:127.0.0.1", self.port)]);
        }
        curl.stdin(Stdio::null());
        Ok(curl)
    }
}

/// An open stream. Dropping it closes it.
pub(super) struct Watch {
    process: Child,
    lines: Receiver<String>,
}

impl Watch {
    /// How long it takes until a line has this in it.
    pub(super) fn wait_for(&self, words: &str, limit: Duration) -> AnyResult<Duration> {
        let started = Instant::now();
        loop {
            let left = limit.saturating_sub(started.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(words) => return Ok(started.elapsed()),
                Ok(_) => {}
                Err(_) => return Err(format!("no `{words}` within {} s", limit.as_secs()).into()),
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
