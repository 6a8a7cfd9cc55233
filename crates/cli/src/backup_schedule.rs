//! Backups that the server makes by itself, beside its other work (`--backup-every`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rowmill_clock::{Clock as _, SystemClock};

use crate::backup_folder::{self, Backup, KeyChoice, NOT_FOR_POSTGRES};
use crate::backup_settings::ScheduleArgs;

/// The clock may be set, so the time is asked for again after this long.
const WAIT_MAX: Duration = Duration::from_mins(1);
/// After a failure, the next try comes after this long, or when the next backup is due.
const RETRY_AFTER: Duration = Duration::from_mins(5);

/// When backups are made, and where they go.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    every: Duration,
    keep: usize,
    folder: PathBuf,
    data_dir: PathBuf,
    key: KeyChoice,
}

impl Schedule {
    /// `None` if there are to be none.
    pub(crate) fn of(
        args: &ScheduleArgs,
        data_dir: &Path,
        is_postgres: bool,
        key: KeyChoice,
    ) -> Result<Option<Self>, String> {
        let Some(every) = args.backup_every.0 else { return Ok(None) };
        if is_postgres {
            return Err(format!("--backup-every cannot be used with PostgreSQL. {NOT_FOR_POSTGRES}"));
        }
        Ok(Some(Self {
            every,
            keep: usize::try_from(args.backup_keep).unwrap_or(usize::MAX),
            folder: args.backup_dir.clone().unwrap_or_else(|| data_dir.join("backups")),
            data_dir: data_dir.to_owned(),
            key: if args.backup_without_secret_key { KeyChoice::LeaveOut } else { key },
        }))
    }

    /// Makes backups for as long as the process lives.
    pub(crate) async fn run(self) {
        let mut last_at = backup_folder::newest_at(&self.folder);
        if let Some(at) = last_at {
            set_time("rowmill_backup_last_success_timestamp_seconds", at);
        }
        let mut not_before = Timestamp::MIN;
        loop {
            let now = SystemClock.now();
            // One from the future was made by a clock that was wrong.
            let due = last_at.filter(|at| *at <= now).map_or(now, |at| after(at, self.every)).max(not_before);
            if due > now {
                let wait = Duration::try_from(due.duration_since(now)).unwrap_or(WAIT_MAX);
                SystemClock.sleep(wait.min(WAIT_MAX)).await;
                continue;
            }
            if self.make().await {
                last_at = Some(now);
            } else {
                not_before = after(SystemClock.now(), RETRY_AFTER.min(self.every));
            }
        }
    }

    /// Says whether it succeeded.
    async fn make(&self) -> bool {
        let started = SystemClock.monotonic();
        let outcome = self.made().await;
        let now = SystemClock.now();
        metrics::gauge!("rowmill_backup_last_duration_seconds").set(started.elapsed().as_secs_f64());
        match &outcome {
            Ok(Backup { path, content, .. }) => {
                set_time("rowmill_backup_last_success_timestamp_seconds", now);
                #[expect(clippy::cast_precision_loss, reason = "a gauge need not be exact beyond 2^52")]
                metrics::gauge!("rowmill_backup_last_bytes").set(content.bytes as f64);
                tracing::info!(path = %path.display(), bytes = content.bytes, rows = content.rows,
                    milliseconds = started.elapsed().as_millis(), "made a backup");
                if !content.adds_up {
                    tracing::error!("the counters do not match the rows; run `rowmill check`");
                }
            }
            Err(error) => {
                set_time("rowmill_backup_last_failure_timestamp_seconds", now);
                tracing::error!(%error, folder = %self.folder.display(), "the backup failed");
            }
        }
        outcome.is_ok()
    }

    /// On a thread of its own: the process does not wait for it when it ends.
    async fn made(&self) -> Result<Backup, String> {
        let schedule = self.clone();
        let (tell, told) = tokio::sync::oneshot::channel();
        let work = move || {
            yield_to_others();
            let _ = tell.send(schedule.make_here());
        };
        let spawned = std::thread::Builder::new().name("backup".to_owned()).spawn(work);
        spawned.map_err(|error| error.to_string())?;
        told.await.map_err(|_| "it ended without an outcome".to_owned())?
    }

    fn make_here(&self) -> Result<Backup, String> {
        let Self { every: _, keep, folder, data_dir, key } = self;
        // The slash: it is a folder, even if it is still to be made.
        let to = folder.join("");
        let made =
            backup_folder::make(data_dir, &to, *key, SystemClock.now()).map_err(|error| error.to_string())?;
        if let Err(error) = backup_folder::remove_old(folder, *keep) {
            tracing::warn!(%error, folder = %folder.display(), "old backups could not be removed");
        }
        Ok(made)
    }
}

fn after(at: Timestamp, wait: Duration) -> Timestamp {
    at.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

fn set_time(gauge: &'static str, at: Timestamp) {
    #[expect(clippy::cast_precision_loss, reason = "a gauge need not be exact beyond 2^52")]
    metrics::gauge!(gauge).set(at.as_second() as f64);
}

/// Requests come first.
fn yield_to_others() {
    #[cfg(target_os = "linux")]
    {
        // Where the system does not let us, the thread counts as any other.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 10);
    }
}
