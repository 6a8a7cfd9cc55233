//! What has changed in a project since it was read into memory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rowmill_store::{Change, Spans};
use tokio::sync::watch;

/// Changes in the order they were told, kept until somebody has read the rows they are about.
#[derive(Debug)]
pub(crate) struct Notes {
    list: Mutex<List>,
    /// Off until somebody reads the project: what nobody may ask for is not noted.
    is_on: AtomicBool,
    latest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct List {
    notes: VecDeque<Note>,
    runs: usize,
}

impl List {
    fn after(&self, seq: u64) -> impl Iterator<Item = &Note> {
        self.notes.range(self.notes.partition_point(|note| note.seq <= seq)..)
    }
}

#[derive(Debug)]
struct Note {
    seq: u64,
    touched: Spans,
    restated: bool,
}

/// What came after a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Up to this one, which may be the change itself.
    Known { seq: u64, touched: Spans, restated: bool },
    /// Not all of it is known, and never will be.
    Lost,
}

impl Default for Notes {
    fn default() -> Self {
        Self { list: Mutex::default(), is_on: AtomicBool::new(false), latest: watch::Sender::new(0) }
    }
}

impl Notes {
    /// How many runs of rows are remembered. Whoever looks at a project again only after more than that has
    /// happened reads it anew.
    const RUNS_MAX: usize = 1 << 16;
    /// How many changes are remembered that everybody has read. By the last one a gap is noticed.
    const KEPT: usize = if cfg!(test) { 2 } else { 1_024 };

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on changes are noted.
    pub(crate) fn start(&self) {
        self.is_on.store(true, Ordering::Release);
    }

    /// Forgets everything.
    pub(crate) fn stop(&self) {
        self.is_on.store(false, Ordering::Release);
        *self.list() = List::default();
    }

    /// Whether these rows are as they were between two changes; `false` if that is not known.
    pub(crate) fn are_untouched(&self, rows: &Spans, from: u64, to: u64) -> bool {
        let list = self.list();
        let notes = list.after(from).take_while(|note| note.seq <= to);
        let mut apart = notes.map(|note| {
            let is_apart = !note.restated && !note.touched.meets(rows);
            is_apart.then_some(note.seq)
        });
        // Changes have consecutive numbers.
        apart.try_fold(from, |last, seq| seq.filter(|seq| *seq == last + 1)) == Some(to)
    }

    /// Writers wait for this.
    pub(crate) fn note(&self, change: &Change) {
        if !self.is_on.load(Ordering::Acquire) {
            return;
        }
        let mut list = self.list();
        let Change { seq, touched, restated, .. } = change;
        let before = list.notes.back().map(|note| note.seq);
        if before.is_some_and(|before| *seq <= before) {
            // What is told twice is told for others' sake.
            return;
        }
        if before.is_some_and(|before| *seq > before + 1) {
            *list = List::default();
        }
        list.runs += touched.runs() + 1;
        list.notes.push_back(Note { seq: *seq, touched: touched.clone(), restated: *restated });
        while list.runs > Self::RUNS_MAX
            && let Some(note) = list.notes.pop_front()
        {
            list.runs -= note.touched.runs() + 1;
        }
        drop(list);
        self.latest.send_replace(*seq);
    }

    /// What came after a change that is in memory.
    pub(crate) fn since(&self, seq: u64) -> News {
        let list = self.list();
        let mut news = list.after(seq).peekable();
        match news.peek() {
            Some(first) if first.seq != seq + 1 => return News::Lost,
            None if *self.latest.borrow() > seq => return News::Lost,
            _ => {}
        }
        let (mut latest, mut touched, mut restated) = (seq, Spans::default(), false);
        for note in news {
            if note.touched.is_all() {
                return News::Lost;
            }
            latest = note.seq;
            touched.add(&note.touched);
            restated |= note.restated;
        }
        News::Known { seq: latest, touched: touched.tidied(), restated }
    }

    /// Forgets what everybody has read, save for the latest: what was read a moment ago may be asked about.
    pub(crate) fn forget_up_to(&self, seq: u64) {
        let mut list = self.list();
        while list.notes.len() > Self::KEPT && list.notes.front().is_some_and(|note| note.seq <= seq) {
            if let Some(note) = list.notes.pop_front() {
                list.runs -= note.touched.runs() + 1;
            }
        }
    }

    /// Waits until a change is told.
    pub(crate) async fn wait_for(&self, seq: u64) {
        // The sender lives as long as this does.
        let _ = self.latest.subscribe().wait_for(|latest| *latest >= seq).await;
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::ProjectId;
    use rowmill_store::ChangedRows;
    use uuid::Uuid;

    use super::*;

    fn change(seq: u64, touched: Spans) -> Change {
        Change {
            project: ProjectId::from_uuid(Uuid::nil()),
            seq,
            rows: ChangedRows::Many,
            touched,
            restated: false,
            revoked: Vec::new(),
            ready: false,
        }
    }

    fn known(seq: u64, runs: &[(u64, u64)]) -> News {
        News::Known { seq, touched: Spans::of(runs.iter().copied()), restated: false }
    }

    #[test]
    fn what_came_after_is_known_unless_there_is_a_gap() {
        let notes = Notes::default();
        notes.note(&change(2, Spans::all()));
        notes.start();
        assert_eq!(notes.since(7), known(7, &[]), "nothing was told yet");
        notes.note(&change(8, Spans::run(3, 3)));
        notes.note(&change(8, Spans::default()));
        notes.note(&change(9, Spans::run(4, 9)));
        assert_eq!(notes.since(7), known(9, &[(3, 9)]));
        assert_eq!(notes.since(8), known(9, &[(4, 9)]));
        assert_eq!(notes.since(9), known(9, &[]));
        assert_eq!(notes.since(6), News::Lost);
        notes.note(&change(10, Spans::run(20, 22)));
        notes.forget_up_to(10);
        assert_eq!(notes.since(8), known(10, &[(4, 9), (20, 22)]));
        assert_eq!(notes.since(7), News::Lost);
        notes.note(&change(12, Spans::run(1, 1)));
        assert_eq!(notes.since(10), News::Lost);
        assert_eq!(notes.since(11), known(12, &[(1, 1)]));
        notes.note(&change(13, Spans::all()));
        assert_eq!(notes.since(12), News::Lost);
        assert_eq!(notes.since(13), known(13, &[]));
    }

    #[test]
    fn what_others_changed_meanwhile_is_told_from_what_was_read() {
        let notes = Notes::default();
        notes.start();
        notes.note(&change(5, Spans::run(0, 3)));
        notes.note(&change(6, Spans::of([(10, 12), (30, 30)])));
        let are_untouched = |rows: &[u64], from, to| {
            notes.are_untouched(&Spans::of(rows.iter().map(|row| (*row, *row))), from, to)
        };
        assert!(are_untouched(&[31, 4, 13, 29], 5, 6));
        assert!(are_untouched(&[], 4, 6));
        assert!(are_untouched(&[11], 6, 6), "nothing happened");
        for touched in [[4, 12], [10, 40], [30, 1]] {
            assert!(!are_untouched(&touched, 5, 6), "{touched:?}");
        }
        assert!(!are_untouched(&[2], 4, 6));
        assert!(!are_untouched(&[50], 3, 6), "what came fourth is not known");
        assert!(!are_untouched(&[50], 5, 7), "the seventh has not come");
        notes.note(&Change { restated: true, ..change(7, Spans::default()) });
        assert!(!are_untouched(&[50], 6, 7), "states changed everywhere");
    }

    #[test]
    fn no_more_is_remembered_than_may_be() {
        let notes = Notes::default();
        notes.start();
        for seq in 1..=40_u64 {
            notes.note(&change(seq, Spans::of((0..4_000).map(|run| (run * 9, run * 9)))));
        }
        assert!(notes.list().runs <= Notes::RUNS_MAX);
        assert_eq!(notes.since(1), News::Lost);
        assert_ne!(notes.since(39), News::Lost);
    }
}
