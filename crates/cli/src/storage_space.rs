//! Free space where the data is: as a metric, and as a warning before the disk is full.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rowmill_clock::{Clock as _, SystemClock};

const LOOK_EVERY: Duration = Duration::from_secs(30);
/// A warning is repeated after so many looks: every ten minutes.
const LOOKS_BETWEEN_WARNINGS: u32 = 20;
/// Space is low below this, or below a twentieth of the disk if that is less.
const LOW_BYTES: u64 = 1 << 30;

/// Looks now, and then again and again for as long as the process lives.
pub(crate) async fn watch(data_dir: PathBuf) {
    let mut looks_since_warning = None;
    loop {
        let folder = data_dir.clone();
        // A disk that does not answer holds up this thread and nothing else.
        let space = tokio::task::spawn_blocking(move || Space::of(&folder)).await;
        if let Ok(Some(space)) = space {
            #[expect(clippy::cast_precision_loss, reason = "a gauge need not be exact beyond 2^52")]
            metrics::gauge!("rowmill_storage_free_bytes").set(space.free as f64);
            let is_time = looks_since_warning.is_none_or(|looks| looks >= LOOKS_BETWEEN_WARNINGS);
            looks_since_warning = match (space.is_low(), is_time) {
                (false, _) => None,
                (true, false) => looks_since_warning.map(|looks| looks + 1),
                (true, true) => {
                    let Space { free, total } = space;
                    tracing::warn!(free_bytes = free, total_bytes = total, folder = %data_dir.display(),
                        "the disk is almost full; free some space, or writes will fail");
                    Some(1)
                }
            };
        }
        SystemClock.sleep(LOOK_EVERY).await;
    }
}

/// The space of a file system, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Space {
    pub(crate) free: u64,
    pub(crate) total: u64,
}

impl Space {
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let found = rustix::fs::statvfs(folder).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Some(Self { free: bytes(found.f_bavail), total: bytes(found.f_blocks) })
    }

    pub(crate) fn is_low(self) -> bool {
        self.free < LOW_BYTES.min(self.total / 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_low_below_a_gibibyte_or_a_twentieth() {
        let is_low = |free, total| Space { free, total }.is_low();
        let gib = 1 << 30;
        assert!(is_low(gib - 1, 100 * gib) && !is_low(gib, 100 * gib));
        assert!(is_low(gib / 30, gib) && !is_low(gib / 10, gib));
        assert!(Space::of(Path::new("/")).unwrap().total > 0);
    }
}
