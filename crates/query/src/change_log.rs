//! The change log of a cached project: which rows changed since it was read into memory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use rowmill_store::{Change, Spans};
use tokio::sync::watch;

/// Changes in the order they were told, kept until somebody has read the rows they are about.
#[derive(Debug)]
pub(crate) struct ChangeLog {
    list: Mutex<List>,
    /// Off until somebody reads the project: what nobody may ask for is not recorded.
    is_on: AtomicBool,
    latest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct List {
    log: VecDeque<LoggedChange>,
    runs: usize,
    /// How many read something that these changes must be applied to.
    keepers: usize,
}

impl List {
    fn clear(&mut self) {
        self.log.clear();
        self.runs = 0;
    }

    fn after(&self, seq: u64) -> impl Iterator<Item = &LoggedChange> {
        self.log.range(self.log.partition_point(|logged| logged.seq <= seq)..)
    }
}

#[derive(Debug)]
struct LoggedChange {
    seq: u64,
    touched: Spans,
    restated: bool,
}

/// What came after a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChangesSince {
    /// Up to this one, which may be the change itself.
    Known { seq: u64, touched: Spans, restated: bool },
    /// Not all of it is known, and never will be.
    Lost,
}

impl Default for ChangeLog {
    fn default() -> Self {
        Self { list: Mutex::default(), is_on: AtomicBool::new(false), latest: watch::Sender::new(0) }
    }
}

impl ChangeLog {
    /// How many runs of rows are remembered. Whoever looks at a project again only after more than that has
    /// happened reads it anew.
    const RUNS_MAX: usize = 1 << 16;
    /// How many changes are remembered that everybody has read. By the last one a gap is noticed.
    const READ_CHANGES_MAX: usize = if cfg!(test) { 2 } else { 1_024 };

    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock()
    }

    /// From here on changes are recorded.
    pub(crate) fn start(&self) {
        self.is_on.store(true, Ordering::Release);
    }

    /// Forgets everything.
    pub(crate) fn stop(&self) {
        self.is_on.store(false, Ordering::Release);
        self.list().clear();
    }

    /// While this is held, nothing is forgotten because it was read.
    pub(crate) fn keep(&self) -> Keeping<'_> {
        self.list().keepers += 1;
        Keeping(self)
    }

    /// Whether these rows are as they were between two changes; `false` if that is not known.
    pub(crate) fn are_untouched(&self, rows: &Spans, from: u64, to: u64) -> bool {
        let list = self.list();
        let log = list.after(from).take_while(|logged| logged.seq <= to);
        let mut apart = log.map(|logged| {
            let is_apart = !logged.restated && !logged.touched.meets(rows);
            is_apart.then_some(logged.seq)
        });
        // Changes have consecutive numbers.
        apart.try_fold(from, |last, seq| seq.filter(|seq| *seq == last + 1)) == Some(to)
    }

    /// Writers wait for this.
    pub(crate) fn record(&self, change: &Change) {
        if !self.is_on.load(Ordering::Acquire) {
            return;
        }
        let mut list = self.list();
        let Change { seq, touched, restated, .. } = change;
        let before = list.log.back().map(|logged| logged.seq);
        if before.is_some_and(|before| *seq <= before) {
            // What is told twice is told for others' sake.
            return;
        }
        if before.is_some_and(|before| *seq > before + 1) {
            list.clear();
        }
        list.runs += touched.runs() + 1;
        list.log.push_back(LoggedChange { seq: *seq, touched: touched.clone(), restated: *restated });
        while list.runs > Self::RUNS_MAX
            && let Some(logged) = list.log.pop_front()
        {
            list.runs -= logged.touched.runs() + 1;
        }
        drop(list);
        self.latest.send_replace(*seq);
    }

    /// What came after a change that is in memory.
    pub(crate) fn since(&self, seq: u64) -> ChangesSince {
        let list = self.list();
        let mut news = list.after(seq).peekable();
        match news.peek() {
            Some(first) if first.seq != seq + 1 => return ChangesSince::Lost,
            None if *self.latest.borrow() > seq => return ChangesSince::Lost,
            _ => {}
        }
        let (mut latest, mut touched, mut restated) = (seq, Spans::default(), false);
        for logged in news {
            if logged.touched.is_all() {
                return ChangesSince::Lost;
            }
            latest = logged.seq;
            touched.add(&logged.touched);
            restated |= logged.restated;
        }
        ChangesSince::Known { seq: latest, touched: touched.tidied(), restated }
    }

    /// Forgets what everybody has read, save for the latest: what was read a moment ago may be asked about.
    pub(crate) fn forget_up_to(&self, seq: u64) {
        let mut list = self.list();
        while list.keepers == 0
            && list.log.len() > Self::READ_CHANGES_MAX
            && list.log.front().is_some_and(|logged| logged.seq <= seq)
        {
            if let Some(logged) = list.log.pop_front() {
                list.runs -= logged.touched.runs() + 1;
            }
        }
    }

    /// Waits until a change is told.
    pub(crate) async fn wait_for(&self, seq: u64) {
        // The sender lives as long as this does.
        let _ = self.latest.subscribe().wait_for(|latest| *latest >= seq).await;
    }
}

/// Somebody to whom changes are still news.
#[derive(Debug)]
pub(crate) struct Keeping<'l>(&'l ChangeLog);

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        self.0.list().keepers -= 1;
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
            moved_from: None,
            restated: false,
            revoked: Vec::new(),
            ready: false,
            told: false,
        }
    }

    fn known(seq: u64, runs: &[(u64, u64)]) -> ChangesSince {
        ChangesSince::Known { seq, touched: Spans::of(runs.iter().copied()), restated: false }
    }

    #[test]
    fn what_came_after_is_known_unless_there_is_a_gap() {
        let log = ChangeLog::default();
        log.record(&change(2, Spans::all()));
        log.start();
        assert_eq!(log.since(7), known(7, &[]), "nothing was told yet");
        log.record(&change(8, Spans::run(3, 3)));
        log.record(&change(8, Spans::default()));
        log.record(&change(9, Spans::run(4, 9)));
        assert_eq!(log.since(7), known(9, &[(3, 9)]));
        assert_eq!(log.since(8), known(9, &[(4, 9)]));
        assert_eq!(log.since(9), known(9, &[]));
        assert_eq!(log.since(6), ChangesSince::Lost);
        log.record(&change(10, Spans::run(20, 22)));
        log.forget_up_to(10);
        assert_eq!(log.since(8), known(10, &[(4, 9), (20, 22)]));
        assert_eq!(log.since(7), ChangesSince::Lost);
        log.record(&change(12, Spans::run(1, 1)));
        assert_eq!(log.since(10), ChangesSince::Lost);
        assert_eq!(log.since(11), known(12, &[(1, 1)]));
        log.record(&change(13, Spans::all()));
        assert_eq!(log.since(12), ChangesSince::Lost);
        assert_eq!(log.since(13), known(13, &[]));
    }

    #[test]
    fn what_others_changed_meanwhile_is_told_from_what_was_read() {
        let log = ChangeLog::default();
        log.start();
        log.record(&change(5, Spans::run(0, 3)));
        log.record(&change(6, Spans::of([(10, 12), (30, 30)])));
        let are_untouched = |rows: &[u64], from, to| {
            log.are_untouched(&Spans::of(rows.iter().map(|row| (*row, *row))), from, to)
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
        log.record(&Change { restated: true, ..change(7, Spans::default()) });
        assert!(!are_untouched(&[50], 6, 7), "states changed everywhere");
    }

    #[test]
    fn no_more_is_remembered_than_may_be() {
        let log = ChangeLog::default();
        log.start();
        for seq in 1..=40_u64 {
            log.record(&change(seq, Spans::of((0..4_000).map(|run| (run * 9, run * 9)))));
        }
        assert!(log.list().runs <= ChangeLog::RUNS_MAX);
        assert_eq!(log.since(1), ChangesSince::Lost);
        assert_ne!(log.since(39), ChangesSince::Lost);
    }
}
