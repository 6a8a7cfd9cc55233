//! What the process itself takes, under the names that every Prometheus client uses.

use jiff::Timestamp;

use super::exposition::{Exposition, Kind, number};

pub(super) fn write(text: &mut Exposition, started_at: Timestamp) {
    let started_at = u64::try_from(started_at.as_second()).unwrap_or_default();
    text.one("process_start_time_seconds", "Unix time at which the process started.", number(started_at));
    text.metric(
        "process_resident_memory_bytes",
        Kind::Gauge,
        "Memory that the process holds.",
        resident_bytes().map(|bytes| (Vec::new(), number(bytes))),
    );
    text.metric(
        "process_open_fds",
        Kind::Gauge,
        "Files and connections that the process has open.",
        open_files().map(|files| (Vec::new(), number(files))),
    );
}

/// Linux tells it in kibibytes; elsewhere it is not told.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn open_files() -> Option<u64> {
    u64::try_from(std::fs::read_dir("/proc/self/fd").ok()?.count()).ok()
}
