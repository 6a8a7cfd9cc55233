//! A cache of decrypted credentials, by team.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rowmill_model::TeamId;

use crate::credentials::Credentials;

/// Credentials decrypted lately. An entry lives for less than the second by which a change made elsewhere may
/// be late.
#[derive(Debug, Default)]
pub(crate) struct CredentialCache(Mutex<Teams>);

#[derive(Debug, Default)]
struct Teams {
    by_id: HashMap<TeamId, (Arc<Credentials>, Instant)>,
    /// Counts the changes, so that what was read before one is not kept after it.
    changes: u64,
}

/// When a reading began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    changes: u64,
    begun: Instant,
}

impl CredentialCache {
    const TTL: Duration = Duration::from_millis(800);
    const LEN_MAX: usize = 1_000;

    pub(crate) fn get(&self, team: TeamId, now: Instant) -> Option<Arc<Credentials>> {
        let teams = self.teams();
        let (credentials, begun) = teams.by_id.get(&team)?;
        (now.duration_since(*begun) < Self::TTL).then(|| Arc::clone(credentials))
    }

    pub(crate) fn begin(&self, now: Instant) -> Reading {
        Reading { changes: self.teams().changes, begun: now }
    }

    pub(crate) fn put(&self, team: TeamId, credentials: Arc<Credentials>, reading: Reading) {
        let mut teams = self.teams();
        if teams.changes != reading.changes {
            return;
        }
        if teams.by_id.len() >= Self::LEN_MAX {
            teams.by_id.retain(|_, (_, begun)| reading.begun.duration_since(*begun) < Self::TTL);
        }
        teams.by_id.insert(team, (credentials, reading.begun));
    }

    pub(crate) fn forget(&self, team: TeamId) {
        let mut teams = self.teams();
        teams.changes += 1;
        teams.by_id.remove(&team);
    }

    fn teams(&self) -> MutexGuard<'_, Teams> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use rowmill_clock::{Clock as _, SystemClock};
    use uuid::Uuid;

    use super::*;

    const TEAM: TeamId = TeamId(Uuid::from_u128(1));

    #[test]
    fn what_was_read_before_a_change_is_not_kept_after_it() {
        let (cache, now) = (CredentialCache::default(), SystemClock.monotonic());
        let reading = cache.begin(now);
        cache.put(TEAM, Arc::default(), reading);
        assert!(cache.get(TEAM, now).is_some());
        cache.forget(TEAM);
        assert!(cache.get(TEAM, now).is_none());
        cache.put(TEAM, Arc::default(), reading);
        assert!(cache.get(TEAM, now).is_none());
    }
}
