//! Columns whose cells wait to be put into batches, and since when.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::Lane;
use tokio::sync::Notify;

use crate::time_left::after;

/// Lanes that are remembered: more than have work at once.
const LANES_MAX: usize = 10_000;
/// Batches that are made for one team at the same time.
const TEAM_LANES_MAX: usize = 2;
/// A batch that the provider could not take at once is followed by smaller ones, but not by smaller ones than this.
const REQUESTS_MIN: usize = 100;

/// What the dispatcher and the listener tell those who make and keep batches.
#[derive(Debug, Default)]
pub(crate) struct BatchLanes {
    lanes: Mutex<HashMap<Lane, LaneState>>,
    /// Projects in which cells were taken away.
    revoked: Mutex<BTreeSet<ProjectId>>,
    /// Told when a lane has cells.
    pub(crate) on_ready: Notify,
    /// Told when cells were taken away.
    pub(crate) on_revoked: Notify,
}

#[derive(Debug, Clone, Copy)]
struct LaneState {
    team: TeamId,
    /// When a batch can be made.
    begin_at: Timestamp,
    is_ready: bool,
    is_taken: bool,
    /// How many cells the provider was found to take at once.
    requests_max: usize,
}

impl BatchLanes {
    /// A lane has cells that are ready. Beyond so many lanes it is not remembered: it is told of again.
    pub(crate) fn ready(&self, lane: Lane, team: TeamId, now: Timestamp, collect: Duration) {
        let mut lanes = self.lanes.lock();
        if lanes.len() >= LANES_MAX {
            lanes.retain(|_, state| state.is_taken || state.is_ready || state.begin_at > now);
        }
        if lanes.len() >= LANES_MAX && !lanes.contains_key(&lane) {
            return;
        }
        let state = lanes.entry(lane).or_insert(LaneState {
            team,
            begin_at: after(now, collect),
            is_ready: false,
            is_taken: false,
            requests_max: usize::MAX,
        });
        if !state.is_ready {
            state.is_ready = true;
            state.begin_at = state.begin_at.max(after(now, collect));
            self.on_ready.notify_one();
        }
    }

    /// A lane whose time has come, with how many cells a batch of it may have; and when the next one comes. Those of a
    /// team that has its share already are left for later.
    pub(crate) fn take(&self, now: Timestamp) -> (Option<(Lane, usize)>, Option<Timestamp>) {
        let mut lanes = self.lanes.lock();
        let mut taken: BTreeMap<TeamId, usize> = BTreeMap::new();
        for state in lanes.values().filter(|state| state.is_taken) {
            *taken.entry(state.team).or_default() += 1;
        }
        let has_share = |team: &TeamId| taken.get(team).is_some_and(|taken| *taken >= TEAM_LANES_MAX);
        let is_waiting = |state: &LaneState| state.is_ready && !state.is_taken && !has_share(&state.team);
        let waiting = lanes.iter_mut().filter(|(_, state)| is_waiting(state));
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
        self.on_ready.notify_one();
    }

    /// A batch of so many cells was too much for the provider's queue.
    pub(crate) fn too_many(&self, lane: Lane, cells: u64) {
        let requests_max = usize::try_from(cells / 2).unwrap_or(usize::MAX).max(REQUESTS_MIN);
        if let Some(state) = self.lanes.lock().get_mut(&lane) {
            state.requests_max = state.requests_max.min(requests_max);
        }
    }

    /// A batch was worked off: the provider may take larger ones again.
    pub(crate) fn succeeded(&self, lane: Lane) {
        if let Some(state) = self.lanes.lock().get_mut(&lane) {
            state.requests_max = state.requests_max.saturating_mul(2);
        }
    }

    /// Cells of a project were taken away from whoever held them.
    pub(crate) fn revoked(&self, project: ProjectId) {
        self.revoked.lock().insert(project);
        self.on_revoked.notify_one();
    }

    /// The projects that were told of since.
    pub(crate) fn take_revoked(&self) -> BTreeSet<ProjectId> {
        std::mem::take(&mut *self.revoked.lock())
    }
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
        let team = TeamId(Uuid::from_u128(7));
        lanes.ready(lane(1), team, at(0), collect);
        lanes.ready(lane(1), team, at(5), collect);
        lanes.ready(lane(2), team, at(6), collect);
        assert_eq!(lanes.take(at(9)), (None, Some(at(10))));
        assert_eq!(lanes.take(at(10)), (Some((lane(1), usize::MAX)), None));
        lanes.ready(lane(1), team, at(11), collect);
        assert_eq!(lanes.take(at(11)), (None, Some(at(16))), "a lane is taken by one");
        lanes.too_many(lane(1), 1_000);
        lanes.done(lane(1), at(60));
        assert_eq!(lanes.take(at(30)), (Some((lane(2), usize::MAX)), None));
        assert_eq!(lanes.take(at(70)), (None, None), "nobody said that it has more");
        lanes.ready(lane(1), team, at(12), collect);
        assert_eq!(lanes.take(at(59)), (None, Some(at(60))));
        assert_eq!(lanes.take(at(60)), (Some((lane(1), 500)), None));
        lanes.succeeded(lane(1));
        lanes.done(lane(1), at(60));
        lanes.ready(lane(1), team, at(60), Duration::ZERO);
        assert_eq!(lanes.take(at(60)), (Some((lane(1), 1_000)), None), "larger ones are tried again");
    }

    #[test]
    fn a_team_has_its_share_and_no_more() {
        let now = Timestamp::from_second(1_000).unwrap();
        let lane = |slot| Lane { project: ProjectId::from_uuid(Uuid::from_u128(1)), slot };
        let lanes = BatchLanes::default();
        for slot in 0..9 {
            lanes.ready(lane(slot), TeamId(Uuid::from_u128(1)), now, Duration::ZERO);
        }
        lanes.ready(lane(9), TeamId(Uuid::from_u128(2)), now, Duration::ZERO);
        let taken: Vec<Lane> = std::iter::from_fn(|| Some(lanes.take(now).0?.0)).collect();
        assert_eq!(taken, [lane(0), lane(1), lane(9)]);
        lanes.done(lane(1), now);
        assert_eq!(lanes.take(now).0, Some((lane(2), usize::MAX)));
    }
}
