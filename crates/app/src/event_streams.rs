//! How many event streams may be open: in total, per team, and a reserve for teams that have next to none.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rowmill_model::{Limits, TeamId};

/// The last part of all streams goes to teams that have fewer than [`RESERVED_EACH`].
const RESERVED_PART: usize = 10;
const RESERVED_EACH: usize = 2;

/// The streams that are open.
#[derive(Debug)]
pub(crate) struct Streams {
    total_max: usize,
    per_team_max: usize,
    open: Mutex<HashMap<TeamId, usize>>,
}

/// One open stream; another may be opened when it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream {
    streams: Arc<Streams>,
    team: TeamId,
}

impl Streams {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Arc::new(Self {
            total_max: number(limits.event_streams_max),
            per_team_max: number(limits.event_streams_per_team_max),
            open: Mutex::default(),
        })
    }

    /// None if the team, or all together, have as many as they may.
    pub(crate) fn open(self: &Arc<Self>, team: TeamId) -> Option<OpenStream> {
        let mut open = self.lock();
        let (total, own) = (open.values().sum::<usize>(), open.get(&team).copied().unwrap_or(0));
        let is_reserved = total >= self.total_max - self.total_max / RESERVED_PART;
        let has_room =
            total < self.total_max && own < self.per_team_max && (!is_reserved || own < RESERVED_EACH);
        has_room.then(|| {
            *open.entry(team).or_default() += 1;
            OpenStream { streams: Arc::clone(self), team }
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().values().sum()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TeamId, usize>> {
        self.open.lock()
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.streams.lock();
        if let Some(own) = open.get_mut(&self.team) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.team);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn one_team_cannot_take_all() {
        let limits = Limits { event_streams_max: 20, event_streams_per_team_max: 12, ..Limits::default() };
        let streams = Streams::new(&limits);
        let team = |number| TeamId(Uuid::from_u128(number));
        let open = |number, times: usize| -> Vec<_> {
            (0..times).filter_map(|_| streams.open(team(number))).collect()
        };
        let first = open(1, 20);
        assert_eq!(first.len(), 12, "its own cap");
        let second = open(2, 20);
        assert_eq!(second.len(), 6, "the last tenth is for others");
        let third = open(3, 20);
        assert_eq!(third.len(), 2, "which have none yet");
        assert!(streams.open(team(4)).is_none());
        drop((first, third));
        assert_eq!(open(4, 20).len(), 12);
        drop(second);
        assert!(streams.lock().is_empty());
    }
}
