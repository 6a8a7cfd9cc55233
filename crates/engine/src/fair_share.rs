//! Fair share: free capacity goes to the team that has the fewest cells running, then to its project that has the fewest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use rowmill_model::{ProjectId, TeamId};
use rowmill_store::Lane;

use crate::cell_runner::Capacity;
use crate::digest::Digest;

/// A lane that has work, and how much of it may be begun.
#[derive(Debug)]
pub(crate) struct LaneDemand {
    pub(crate) lane: Lane,
    pub(crate) team: TeamId,
    pub(crate) capacity: Capacity,
}

/// How many places somebody has already.
pub(crate) trait Loads {
    fn of_team(&self, team: TeamId) -> usize;
    fn of_project(&self, project: ProjectId) -> usize;
}

/// Deals out places one by one: each to the team that has the fewest, within it to the project that has the
/// fewest, and within a project to its lanes in turn. So neither a team with many tables nor a large table nor
/// a slow column starves the others. No team gets more than `team_max`.
pub(crate) fn fair_share(
    free: usize,
    team_max: usize,
    demands: Vec<LaneDemand>,
    loads: &impl Loads,
) -> Vec<(Lane, u32)> {
    let mut left: BTreeMap<Digest, usize> = BTreeMap::new();
    let mut teams = Turns::new(team_max);
    for demand in demands {
        for (key, available) in &demand.capacity.limits {
            left.insert(*key, *available);
        }
        let project = demand.lane.project;
        let projects = teams.of(demand.team, || (loads.of_team(demand.team), Turns::new(usize::MAX)));
        projects.of(project, || (loads.of_project(project), VecDeque::new())).push_back(demand);
    }
    let mut shares: BTreeMap<Lane, u32> = BTreeMap::new();
    for _ in 0..free {
        let Some(lane) = teams.serve(|projects| projects.serve(|lanes| next_open(lanes, &mut left))) else {
            break;
        };
        *shares.entry(lane).or_default() += 1;
    }
    shares.into_iter().collect()
}

/// The next lane whose limits leave room, put behind the others. Those that are closed are so for this round.
fn next_open(lanes: &mut VecDeque<LaneDemand>, left: &mut BTreeMap<Digest, usize>) -> Option<Lane> {
    while let Some(demand) = lanes.pop_front() {
        let limits = &demand.capacity.limits;
        if limits.iter().all(|(key, _)| left.get(key).is_none_or(|left| *left > 0)) {
            for (key, _) in limits {
                if let Some(left) = left.get_mut(key) {
                    *left -= 1;
                }
            }
            let lane = demand.lane;
            lanes.push_back(demand);
            return Some(lane);
        }
    }
    None
}

/// Those who may have a place, who has the fewest first.
struct Turns<K, V> {
    load_max: usize,
    members: BTreeMap<K, V>,
    /// Loads; among equals who came first.
    waiting: BinaryHeap<Reverse<(usize, usize, K)>>,
}

impl<K: Ord + Copy, V> Turns<K, V> {
    fn new(load_max: usize) -> Self {
        Self { load_max, members: BTreeMap::new(), waiting: BinaryHeap::new() }
    }

    /// The member by this name; a new one comes with its load.
    fn of(&mut self, name: K, new: impl FnOnce() -> (usize, V)) -> &mut V {
        let Self { load_max: _, members, waiting } = self;
        let number = members.len();
        members.entry(name).or_insert_with(|| {
            let (load, member) = new();
            waiting.push(Reverse((load, number, name)));
            member
        })
    }

    /// Gives a place to whoever has the fewest and takes it. Who does not is asked no more.
    fn serve<T>(&mut self, mut take: impl FnMut(&mut V) -> Option<T>) -> Option<T> {
        while let Some(Reverse((load, number, name))) = self.waiting.pop()
            && load < self.load_max
        {
            if let Some(taken) = self.members.get_mut(&name).and_then(&mut take) {
                self.waiting.push(Reverse((load + 1, number, name)));
                return Some(taken);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn lane(project: u128, slot: u32) -> Lane {
        Lane { project: ProjectId::from_uuid(Uuid::from_u128(project)), slot }
    }

    /// Projects from 100 on are of one team, the others each of their own.
    fn team(project: u128) -> TeamId {
        TeamId(Uuid::from_u128(project.min(100)))
    }

    fn demand(project: u128, slot: u32, limits: &[(&str, usize)]) -> LaneDemand {
        let limits = limits.iter().map(|(name, left)| (Digest::of([*name]), *left)).collect();
        LaneDemand {
            lane: lane(project, slot),
            team: team(project),
            capacity: Capacity { limits, retry_at: None },
        }
    }

    impl Loads for &[(u128, usize)] {
        fn of_team(&self, of: TeamId) -> usize {
            self.iter().filter(|load| team(load.0) == of).map(|load| load.1).sum()
        }

        fn of_project(&self, project: ProjectId) -> usize {
            self.iter().find(|load| load.0 == project.uuid().as_u128()).map_or(0, |load| load.1)
        }
    }

    /// No team may have more places than this.
    const TEAM_MAX: usize = 12;

    fn check(free: usize, demands: Vec<LaneDemand>, loads: &[(u128, usize)], expected: &[(u128, u32, u32)]) {
        let expected: Vec<(Lane, u32)> =
            expected.iter().map(|(project, slot, count)| (lane(*project, *slot), *count)).collect();
        assert_eq!(fair_share(free, TEAM_MAX, demands, &loads), expected);
    }

    #[test]
    fn places_are_dealt_out_evenly() {
        check(0, vec![demand(1, 1, &[])], &[], &[]);
        check(9, vec![], &[], &[]);
        check(10, vec![demand(1, 1, &[])], &[], &[(1, 1, 10)]);
        check(
            10,
            vec![demand(1, 1, &[]), demand(1, 2, &[]), demand(2, 1, &[])],
            &[],
            &[(1, 1, 3), (1, 2, 2), (2, 1, 5)],
        );
        check(10, vec![demand(1, 1, &[]), demand(2, 1, &[])], &[(1, 6)], &[(1, 1, 2), (2, 1, 8)]);
        check(4, vec![demand(1, 1, &[]), demand(2, 1, &[])], &[(1, 9)], &[(2, 1, 4)]);
        check(9, vec![demand(1, 1, &[]), demand(2, 1, &[])], &[(1, 12), (2, 10)], &[(2, 1, 2)]);
    }

    #[test]
    fn a_team_with_many_projects_has_no_more_than_one_with_a_single_project() {
        let many = || (100..200).map(|project| demand(project, 1, &[]));
        let both = many().chain([demand(1, 1, &[])]).collect();
        check(4, both, &[], &[(1, 1, 2), (100, 1, 1), (101, 1, 1)]);
        let busy = many().chain([demand(1, 1, &[])]).collect();
        check(3, busy, &[(150, 2), (160, 1)], &[(1, 1, 3)]);
        // Within the team the project that has the fewest comes first.
        check(2, vec![demand(100, 1, &[]), demand(101, 1, &[])], &[(100, 2)], &[(101, 1, 2)]);
    }

    #[test]
    fn limits_are_kept_and_shared() {
        check(
            10,
            vec![demand(1, 1, &[("a", 3)]), demand(2, 1, &[("a", 3), ("b", 1)]), demand(2, 2, &[("c", 0)])],
            &[],
            &[(1, 1, 2), (2, 1, 1)],
        );
        check(10, vec![demand(1, 1, &[("a", 0)]), demand(1, 2, &[])], &[], &[(1, 2, 10)]);
    }
}
