//! Who gets the free places.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use rowmill_model::ProjectId;
use rowmill_store::Lane;

use crate::caller::Room;
use crate::digest::Digest;

/// A lane that has work, and how much of it may be begun.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) lane: Lane,
    pub(crate) room: Room,
}

/// Deals out places one by one: each to the project that has the fewest, and within a project to its lanes
/// in turn, so that neither a large table nor a slow column starves the others. `load_of` says how many
/// places a project has already.
pub(crate) fn share(
    free: usize,
    wishes: Vec<Wish>,
    load_of: impl Fn(ProjectId) -> usize,
) -> Vec<(Lane, u32)> {
    let mut left: BTreeMap<Digest, usize> = BTreeMap::new();
    let mut turns: Vec<(ProjectId, VecDeque<Wish>)> = Vec::new();
    for wish in wishes {
        for (key, available) in &wish.room.limits {
            left.insert(*key, *available);
        }
        match turns.iter_mut().find(|(project, _)| *project == wish.lane.project) {
            Some((_, turn)) => turn.push_back(wish),
            None => turns.push((wish.lane.project, [wish].into())),
        }
    }
    let mut waiting: BinaryHeap<Reverse<(usize, usize)>> =
        turns.iter().enumerate().map(|(place, (project, _))| Reverse((load_of(*project), place))).collect();
    let mut shares: BTreeMap<Lane, u32> = BTreeMap::new();
    let mut free_left = free;
    while free_left > 0
        && let Some(Reverse((load, place))) = waiting.pop()
    {
        let Some((_, turn)) = turns.get_mut(place) else { continue };
        let Some(wish) = turn.pop_front() else { continue };
        let is_open = wish.room.limits.iter().all(|(key, _)| left.get(key).is_none_or(|left| *left > 0));
        if !is_open {
            // It is closed for this round; the project's next lane has its turn.
            waiting.push(Reverse((load, place)));
            continue;
        }
        for (key, _) in &wish.room.limits {
            if let Some(left) = left.get_mut(key) {
                *left -= 1;
            }
        }
        *shares.entry(wish.lane).or_default() += 1;
        free_left -= 1;
        turn.push_back(wish);
        waiting.push(Reverse((load + 1, place)));
    }
    shares.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use rowmill_model::ProjectId;
    use uuid::Uuid;

    use super::*;

    fn lane(project: u128, slot: u32) -> Lane {
        Lane { project: ProjectId::from_uuid(Uuid::from_u128(project)), slot }
    }

    fn wish(project: u128, slot: u32, limits: &[(&str, usize)]) -> Wish {
        let limits = limits.iter().map(|(name, left)| (Digest::of([*name]), *left)).collect();
        Wish { lane: lane(project, slot), room: Room { limits, again_at: None } }
    }

    fn check(free: usize, wishes: Vec<Wish>, loads: &[(u128, usize)], expected: &[(u128, u32, u32)]) {
        let load_of = |project: ProjectId| {
            loads.iter().find(|load| load.0 == project.uuid().as_u128()).map_or(0, |load| load.1)
        };
        let expected: Vec<(Lane, u32)> =
            expected.iter().map(|(project, slot, count)| (lane(*project, *slot), *count)).collect();
        assert_eq!(share(free, wishes, load_of), expected);
    }

    #[test]
    fn places_are_dealt_out_evenly() {
        check(0, vec![wish(1, 1, &[])], &[], &[]);
        check(9, vec![], &[], &[]);
        check(10, vec![wish(1, 1, &[])], &[], &[(1, 1, 10)]);
        check(
            10,
            vec![wish(1, 1, &[]), wish(1, 2, &[]), wish(2, 1, &[])],
            &[],
            &[(1, 1, 3), (1, 2, 2), (2, 1, 5)],
        );
        check(10, vec![wish(1, 1, &[]), wish(2, 1, &[])], &[(1, 6)], &[(1, 1, 2), (2, 1, 8)]);
        check(4, vec![wish(1, 1, &[]), wish(2, 1, &[])], &[(1, 9)], &[(2, 1, 4)]);
    }

    #[test]
    fn limits_are_kept_and_shared() {
        check(
            10,
            vec![wish(1, 1, &[("a", 3)]), wish(2, 1, &[("a", 3), ("b", 1)]), wish(2, 2, &[("c", 0)])],
            &[],
            &[(1, 1, 2), (2, 1, 1)],
        );
        check(10, vec![wish(1, 1, &[("a", 0)]), wish(1, 2, &[])], &[], &[(1, 2, 10)]);
    }
}
