//! Columns whose cells wait to be put into batches, and since when.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_model::ProjectId;
use rowmill_store::Lane;
use tokio::sync::Notify;

/// Lanes that are remembered: more than have work at once.
const LANES_MAX: usize = 10_000;
/// A batch that the provider could not take at once is followed by smaller ones, but not by smaller ones than this.
const REQUESTS_MIN: usize = 100;

/// What the dispatcher and the listener tell those who make and keep batches.
#[derive(Debug, Default)]
pub(crate) struct BatchLanes {
    lanes: Mutex<HashMap<Lane, LaneState>>,
    /// Projects in which cells were taken away.
    revoked: Mutex<BTreeSet<ProjectId>>,
    /// Rung when a lane has cells.
    pub(crate) is_ready: Notify,
    /// Rung when cells were taken away.
    pub(crate) is_revoked: Notify,
}

#[derive(Debug, Clone, Copy)]
struct LaneState {
    /// When a batch can be made.
    begin_at: Timestamp,
    is_ready: bool,
    is_taken: bool,
    /// How many cells the provider was found to take at once.
    requests_max: usize,
}

impl BatchLanes {
    /// A lane has cells that are ready.
    pub(crate) fn ready(&self, lane: Lane, now: Timestamp, collect: Duration) {
        let mut lanes = self.lanes.lock();
        if lanes.len() >= LANES_MAX {
            lanes.retain(|_, state| state.is_taken || state.begin_at > now);
        }
        let state = lanes.entry(lane).or_insert(LaneState {
            begin_at: after(now, collect),
            is_ready: false,
            is_taken: false,
            requests_max: usize::MAX,
        });
        if !state.is_ready {
            state.is_ready = true;
            state.begin_at = state.begin_at.max(after(now, collect));
            self.is_ready.notify_one();
        }
    }

    /// A lane whose time has come, with how many cells a batch of it may have; and when the next one comes.
    pub(crate) fn take(&self, now: Timestamp) -> (Option<(Lane, usize)>, Option<Timestamp>) {
        let mut lanes = self.lanes.lock();
        let waiting = lanes.iter_mut().filter(|(_, state)| state.is_ready && !state.is_taken);
        let Some((lane, state)) = waiting.min_by_key(|(lane, state)| (state.begin_at, **lane)) else {
            return (None, None);
        };
        if state.begin_at > now {
            return (None, Some(state.begin_at));
        }
        state.is_taken = true;
        (Some((*lane, state.requests_max)), None)
    }

    /// A lane that was taken; when the next batch of it can be made.
    pub(crate) fn done(&self, lane: Lane, begin_at: Timestamp) {
        if let Some(state) = self.lanes.lock().get_mut(&lane) {
            (state.is_taken, state.is_ready, state.begin_at) = (false, false, begin_at);
        }
        self.is_ready.notify_one();
    }

    /// A batch of so many cells was too much for the provider's queue.
    pub(crate) fn too_many(&self, lane: Lane, cells: u64) {
        let requests_max = usize::try_from(cells / 2).unwrap_or(usize::MAX).max(REQUESTS_MIN);
        let mut lanes = self.lanes.lock();
        let state = lanes.entry(lane).or_insert(LaneState {
            begin_at: Timestamp::MIN,
            is_ready: false,
            is_taken: false,
            requests_max,
        });
        state.requests_max = state.requests_max.min(requests_max);
    }

    /// Cells of a project were taken away from whoever held them.
    pub(crate) fn revoked(&self, project: ProjectId) {
        self.revoked.lock().insert(project);
        self.is_revoked.notify_one();
    }

    /// The projects that were told of since.
    pub(crate) fn take_revoked(&self) -> BTreeSet<ProjectId> {
        std::mem::take(&mut *self.revoked.lock())
    }
}

fn after(time: Timestamp, wait: Duration) -> Timestamp {
    time.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn cells_are_collected_before_a_batch_is_made() {
        let at = |seconds: i64| Timestamp::from_second(1_000 + seconds).unwrap();
        let lane = |slot| Lane { project: ProjectId::from_uuid(Uuid::from_u128(1)), slot };
        let (lanes, collect) = (BatchLanes::default(), Duration::from_secs(10));
        assert_eq!(lanes.take(at(0)), (None, None));
        lanes.ready(lane(1), at(0), collect);
        lanes.ready(lane(1), at(5), collect);
        lanes.ready(lane(2), at(6), collect);
        assert_eq!(lanes.take(at(9)), (None, Some(at(10))));
        assert_eq!(lanes.take(at(10)), (Some((lane(1), usize::MAX)), None));
        lanes.ready(lane(1), at(11), collect);
        assert_eq!(lanes.take(at(11)), (None, Some(at(16))), "a lane is taken by one");
        lanes.too_many(lane(1), 1_000);
        lanes.done(lane(1), at(60));
        assert_eq!(lanes.take(at(30)), (Some((lane(2), usize::MAX)), None));
        assert_eq!(lanes.take(at(70)), (None, None), "nobody said that it has more");
        lanes.ready(lane(1), at(12), collect);
        assert_eq!(lanes.take(at(59)), (None, Some(at(60))));
        assert_eq!(lanes.take(at(60)), (Some((lane(1), 500)), None));
    }
}
