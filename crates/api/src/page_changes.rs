//! Which blocks of rows changed, and since when, in projects whose pages are kept: a page stays right while other rows
//! change.

use std::collections::HashMap;

use rowmill_app::Change;
use rowmill_model::ProjectId;
use rowmill_model::plan::block_of;

/// Blocks of a project that are remembered: those of a million rows. After more, all of its pages are made anew.
const BLOCKS_MAX: usize = 4_096;
/// How much is remembered of all projects together. After more, all pages are made anew.
const SIZE_MAX: usize = 1 << 16;
/// After more, the oldest count as one.
const MOVES_MAX: usize = 64;
/// A page that lies in more blocks than this, because most of its rows were deleted, is not worth a look at each.
const PAGE_BLOCKS_MAX: u64 = 64;

/// Where the rows of a page lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageRows {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Whether the page begins at an offset, which others move, and not behind a row.
    pub(crate) is_at_offset: bool,
    /// Whether the page shows the states of cells.
    pub(crate) has_states: bool,
}

/// The changes of the projects that are watched.
#[derive(Debug, Default)]
pub(crate) struct PageChanges {
    by_project: HashMap<ProjectId, BlockChanges>,
    size: usize,
}

/// The changes of a project, by their sequence: all that came after `since`, up to `latest`.
#[derive(Debug, Default)]
struct BlockChanges {
    since: u64,
    latest: u64,
    /// The last change of each block.
    blocks: HashMap<u64, u64>,
    /// Changes by which rows left or came back, and the first of these rows; both ascending. One that is followed by
    /// another further ahead says nothing more.
    moves: Vec<(u64, u64)>,
    restated: u64,
}

impl PageChanges {
    /// From now on the changes of this project are remembered, which is known up to this one. If they were before, the one that
    /// somebody has read already is told in a moment.
    pub(crate) fn watch(&mut self, project: ProjectId, seq: u64) {
        self.by_project.entry(project).or_insert_with(|| {
            self.size += 1;
            BlockChanges::starting_at(seq)
        });
        self.bound();
    }

    /// Writers wait for this.
    pub(crate) fn record(&mut self, change: &Change) {
        let Some(changes) = self.by_project.get_mut(&change.project) else { return };
        self.size -= changes.size();
        changes.record(change);
        self.size += changes.size();
        self.bound();
    }

    fn bound(&mut self) {
        if self.size > SIZE_MAX {
            *self = Self::default();
        }
    }

    /// Whether a page is after the change `to` as it was after `from`, save for the number of all rows.
    pub(crate) fn are_apart(&self, project: ProjectId, page: &PageRows, from: u64, to: u64) -> bool {
        let changes = self.by_project.get(&project);
        changes.is_some_and(|changes| changes.are_apart(page, from, to))
    }
}

impl BlockChanges {
    fn starting_at(seq: u64) -> Self {
        Self { since: seq, latest: seq, ..Self::default() }
    }

    fn size(&self) -> usize {
        1 + self.blocks.len() + self.moves.len()
    }

    fn record(&mut self, change: &Change) {
        if change.seq <= self.latest {
            // Told again, for others.
            return;
        }
        let runs = || change.touched.iter().map(|(first, last)| block_of(first)..=block_of(last));
        let count = runs().fold(0_u64, |count, run| count.saturating_add(run.end() - run.start() + 1));
        let is_few = count <= BLOCKS_MAX as u64;
        if change.seq != self.latest + 1 || !is_few || self.blocks.len() > BLOCKS_MAX {
            *self = Self::starting_at(change.seq);
            return;
        }
        self.latest = change.seq;
        self.blocks.extend(runs().flatten().map(|block| (block, change.seq)));
        if change.restated {
            self.restated = change.seq;
        }
        if let Some(first) = change.moved_from {
            self.note_move(change.seq, first);
        }
    }

    fn note_move(&mut self, seq: u64, first: u64) {
        while self.moves.pop_if(|(_, further)| *further >= first).is_some() {}
        self.moves.push((seq, first));
        if self.moves.len() > MOVES_MAX {
            let (_, oldest) = self.moves.remove(0);
            if let Some((_, next)) = self.moves.first_mut() {
                *next = oldest;
            }
        }
    }

    fn are_apart(&self, page: &PageRows, from: u64, to: u64) -> bool {
        let PageRows { first, last, is_at_offset, has_states } = *page;
        let blocks = block_of(first)..=block_of(last);
        let moved = self.moves.get(self.moves.partition_point(|(seq, _)| *seq <= from));
        let is_in_place = match moved {
            // Behind a row, the last page may have become this one.
            Some((_, begin)) => is_at_offset && *begin > last,
            None => true,
        };
        self.since <= from
            && to <= self.latest
            && is_in_place
            && !(has_states && self.restated > from)
            && blocks.end() - blocks.start() < PAGE_BLOCKS_MAX
            && blocks.into_iter().all(|block| self.blocks.get(&block).is_none_or(|seq| *seq <= from))
    }
}

#[cfg(test)]
mod tests {
    use rowmill_app::{ChangedRows, Spans};
    use uuid::Uuid;

    use super::*;

    const PROJECT: ProjectId = ProjectId::from_uuid(Uuid::nil());
    /// The rows 1,000 to 1,099, in the blocks 3 and 4.
    const PAGE: PageRows = PageRows { first: 1_000, last: 1_099, is_at_offset: true, has_states: false };
    const CURSOR: PageRows = PageRows { is_at_offset: false, ..PAGE };

    fn change(seq: u64, touched: Spans) -> Change {
        Change {
            project: PROJECT,
            seq,
            rows: ChangedRows::Many,
            touched,
            moved_from: None,
            restated: false,
            revoked: Vec::new(),
            ready: false,
            told: false,
        }
    }

    fn moved(seq: u64, position: u64) -> Change {
        Change { moved_from: Some(position), ..change(seq, Spans::run(position, position)) }
    }

    fn after(changes: &[Change]) -> PageChanges {
        let mut log = PageChanges::default();
        log.watch(PROJECT, 5);
        for change in changes {
            log.record(change);
        }
        assert_eq!(log.size, log.by_project.values().map(BlockChanges::size).sum::<usize>());
        log
    }

    /// Whether a page that was made after the fifth change is right after the last one.
    fn check(page: PageRows, changes: &[Change], expected: bool) {
        let to = changes.last().map_or(5, |change| change.seq);
        assert_eq!(after(changes).are_apart(PROJECT, &page, 5, to), expected, "{changes:?}");
    }

    #[test]
    fn a_page_is_right_while_other_blocks_change() {
        check(PAGE, &[], true);
        check(PAGE, &[change(6, Spans::run(0, 767)), change(7, Spans::run(1_280, 9_000))], true);
        check(PAGE, &[change(6, Spans::run(1_050, 1_050)), change(7, Spans::run(0, 0))], false);
        check(PAGE, &[change(6, Spans::run(0, 100_000))], false);
        check(PAGE, &[change(6, Spans::all())], false);
        let states = PageRows { has_states: true, ..PAGE };
        let restated = Change { restated: true, ..change(6, Spans::default()) };
        check(states, std::slice::from_ref(&restated), false);
        check(PAGE, &[restated], true);
        let log = after(&[change(6, Spans::run(1_050, 1_050)), change(7, Spans::run(0, 0))]);
        assert!(log.are_apart(PROJECT, &PAGE, 6, 7), "it was made after that change");
        assert!(!log.are_apart(PROJECT, &PageRows { last: 1_000_000, ..PAGE }, 6, 7), "too far apart");
    }

    #[test]
    fn rows_that_leave_or_come_back_before_a_page_move_it() {
        check(PAGE, &[moved(6, 10)], false);
        check(CURSOR, &[moved(6, 10)], false);
        check(PAGE, &[moved(6, 5_000)], true);
        check(CURSOR, &[moved(6, 5_000)], false);
        check(PAGE, &[moved(6, 10), moved(7, 5_000)], false);
        check(PAGE, &[moved(6, 5_000), moved(7, 10)], false);
        let log = after(&[moved(6, 10), moved(7, 5_000)]);
        assert!(log.are_apart(PROJECT, &PAGE, 6, 7) && !log.are_apart(PROJECT, &CURSOR, 6, 7));
        let many: Vec<Change> = (0..1_000).map(|index| moved(6 + index, 10 + index * 300)).collect();
        let log = after(&many);
        assert!(log.by_project[&PROJECT].moves.len() <= MOVES_MAX);
        assert!(!log.are_apart(PROJECT, &PAGE, 5, 1_005));
        assert!(log.are_apart(PROJECT, &PAGE, 1_004, 1_005));
    }

    #[test]
    fn what_is_not_known_counts_as_changed() {
        let far = |seq| change(seq, Spans::run(100_000, 100_000));
        check(PAGE, &[far(6), far(7)], true);
        check(PAGE, &[far(7)], false);
        assert!(!after(&[far(6)]).are_apart(PROJECT, &PAGE, 5, 7), "the seventh was not told yet");
        assert!(!after(&[far(6)]).are_apart(PROJECT, &PAGE, 4, 6), "nobody watched then");
        let mut log = after(&[far(6), far(6)]);
        assert!(log.are_apart(PROJECT, &PAGE, 5, 6), "told twice");
        log.watch(PROJECT, 8);
        assert!(!log.are_apart(PROJECT, &PAGE, 5, 8), "the seventh and eighth were not told");
        for seq in 7..10 {
            log.record(&far(seq));
        }
        assert!(log.are_apart(PROJECT, &PAGE, 5, 9) && log.are_apart(PROJECT, &PAGE, 8, 9));
        log.record(&far(11));
        assert!(!log.are_apart(PROJECT, &PAGE, 9, 11), "the tenth was never told");
        let other = ProjectId::from_uuid(Uuid::from_u128(1));
        assert!(!log.are_apart(other, &PAGE, 8, 9));
    }

    #[test]
    fn memory_is_bounded() {
        let id = |number| ProjectId::from_uuid(Uuid::from_u128(number));
        let mut log = PageChanges::default();
        for number in 0..10_000 {
            log.watch(id(number), 0);
            log.record(&Change { project: id(number), ..change(1, Spans::run(0, 100_000)) });
            assert!(log.size <= SIZE_MAX);
        }
        let mut log = after(&[]);
        for index in 0..20_000 {
            log.record(&change(6 + index, Spans::run(index * 256, index * 256)));
            assert!(log.size <= BLOCKS_MAX + 2);
        }
    }
}
