//! The machine's clock, compared with the file system's and with what is in the data folder.

use std::fs::File;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_store_sqlite::DATABASE_FILE;

use super::report::Finding;
use crate::config::Serve;

const CHECK: &str = "clock";
/// 2026-01-01: no clock of this version is right before that.
const NOW_MIN_SECONDS: i64 = 1_767_225_600;
/// What a file system may be off by: some keep whole seconds only.
const FILE_SYSTEM_MAX: Duration = Duration::from_secs(3);
/// A database that was written this far in the future was written by another clock.
const FUTURE_MAX: Duration = Duration::from_mins(1);

pub(super) fn check(serve: &Serve) -> Vec<Finding> {
    let now = SystemClock.now();
    if now.as_second() < NOW_MIN_SECONDS {
        let message = format!("This machine's clock says {now}, which is before this version was made.");
        return vec![Finding::problem(CHECK, message, "Set the clock, and keep it by time servers (NTP).")];
    }
    let data_dir = &serve.store.data_dir;
    let database = std::fs::metadata(data_dir.join(DATABASE_FILE)).and_then(|file| file.modified());
    if let Some(ahead) = database.ok().and_then(|at| ahead_of(at, now)).filter(|ahead| *ahead > FUTURE_MAX) {
        let message = format!(
            "The database was last written {} s in the future: a clock was changed.",
            ahead.as_secs()
        );
        let action =
            "Set the clock: what was written meanwhile, such as retries and sessions, has wrong times.";
        return vec![Finding::warning(CHECK, message, action)];
    }
    let off = file_system_off(data_dir);
    if let Some(off) = off.filter(|off| *off > FILE_SYSTEM_MAX) {
        let message = format!(
            "The file system of {} is off by {} s from this machine.",
            data_dir.display(),
            off.as_secs()
        );
        return vec![Finding::warning(
            CHECK,
            message,
            "Keep the clock of the file server by time servers (NTP).",
        )];
    }
    let told = if off.is_some() { "as the file system has it" } else { "as this machine has it" };
    vec![Finding::ok(CHECK, format!("{now}, {told}."))]
}

/// How far a time is ahead of now.
fn ahead_of(at: SystemTime, now: Timestamp) -> Option<Duration> {
    at.duration_since(SystemTime::from(now)).ok()
}

/// How far the time of a new file is off. `None` if no file can be made, which is told elsewhere.
fn file_system_off(folder: &std::path::Path) -> Option<Duration> {
    let file = folder.join(format!(".rowmill-doctor-clock-{}", std::process::id()));
    let made = File::options().write(true).create_new(true).open(&file).and_then(|file| file.metadata());
    let written_at = made.and_then(|file| file.modified());
    let now = SystemTime::from(SystemClock.now());
    let _ = std::fs::remove_file(&file);
    let written_at = written_at.ok()?;
    Some(written_at.duration_since(now).unwrap_or_else(|behind| behind.duration()))
}
