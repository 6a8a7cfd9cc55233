//! One Chromium, from its start until it and all its children are gone.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::profiles::Profile;

/// How often the memory of the browser's processes is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often the removal of a profile is tried.
const REMOVALS_MAX: usize = 25;

/// The protocol is spoken on the descriptors 3 and 4. A shell moves them there from standard input and output.
const SCRIPT: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#;

const ARGUMENTS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    // Nothing goes out but what is intercepted: no name resolves, and what needs no name ends at a closed port.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--no-pings",
    "--no-first-run",
    "--no-default-browser-check",
    // Little of everything.
    "--block-new-web-contents",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disk-cache-size=1",
    "--mute-audio",
    "--renderer-process-limit=1",
    "--js-flags=--max-old-space-size=512",
    "--hide-scrollbars",
    "--window-size=1280,800",
];

/// A running browser. Dropping it kills every process of its group, and removes its profile once they are gone.
#[derive(Debug)]
pub(super) struct Process {
    group: Option<u32>,
    /// Taken when it ends.
    remains: Option<(Child, Profile)>,
}

impl Process {
    /// Starts the browser with this empty profile. The streams carry the protocol.
    pub(super) fn start(program: &Path, profile: Profile) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT])
            .arg(program)
            .args(ARGUMENTS)
            .args(sandbox())
            .arg(format!("--user-data-dir={}", profile.path().display()))
            // Keys stand in the environment, and the browser runs what strangers wrote.
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path())
            .current_dir(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (input, output) = streams.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let group = child.id();
        Ok((Self { group, remains: Some((child, profile)) }, input, output))
    }

    /// Ends when the browser takes more memory than this. Where the system does not tell, it never ends.
    pub(super) async fn exceeds(&self, bytes_max: u64) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if self.group.is_some_and(|group| memory_bytes(group) > bytes_max) {
                return;
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            kill(group);
        }
        let Some((mut child, profile)) = self.remains.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                _ = child.wait().await;
                remove(profile).await;
            });
        }
    }
}

/// Removes a profile. Processes that are about to end may still write into it, so it is tried again.
async fn remove(profile: Profile) {
    let profile = Arc::new(profile);
    for _ in 0..REMOVALS_MAX {
        let profile = Arc::clone(&profile);
        let removed = tokio::task::spawn_blocking(move || profile.remove());
        if removed.await.unwrap_or(false) {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Chromium does not run in its sandbox as root.
#[cfg(target_os = "linux")]
fn sandbox() -> Option<&'static str> {
    rustix::process::geteuid().is_root().then_some("--no-sandbox")
}

#[cfg(not(target_os = "linux"))]
fn sandbox() -> Option<&'static str> {
    None
}

#[cfg(target_os = "linux")]
fn kill(group: u32) {
    let group = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // It may be gone already.
        _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(not(target_os = "linux"))]
fn kill(_group: u32) {}

/// The memory of a group of processes. What they share is counted for each.
#[cfg(target_os = "linux")]
fn memory_bytes(group: u32) -> u64 {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    let page_bytes = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    let pages = processes.flatten().filter_map(|process| {
        process.file_name().to_str()?.parse::<u32>().ok()?;
        private_pages(&process.path(), group)
    });
    pages.sum::<u64>().saturating_mul(page_bytes)
}

/// The pages of memory that a process of this group shares with no file: the second field of `statm` less the third.
#[cfg(target_os = "linux")]
fn private_pages(process: &Path, group: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    // The name before the other fields may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    if fields.split_whitespace().nth(2)?.parse() != Ok(group) {
        return None;
    }
    let statm = std::fs::read_to_string(process.join("statm")).ok()?;
    let mut sizes = statm.split_whitespace().skip(1).map(str::parse::<u64>);
    Some(sizes.next()?.ok()?.saturating_sub(sizes.next()?.ok()?))
}

#[cfg(not(target_os = "linux"))]
fn memory_bytes(_group: u32) -> u64 {
    0
}
