//! The change log behind event streams.
//!
//! The store reports every change, made by this node or by another. The hub remembers the last ones, by number only,
//! so that a reader who was cut off can go on, here or at another node.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use rowmill_clock::Clock;
use rowmill_model::{ProjectId, RowId};
use rowmill_store::{Change, ChangedRows};
use tokio::sync::watch;

/// How many projects' changes are remembered at once. Of those nobody watches, the one that came into notice
/// first is forgotten first.
const PROJECTS_MAX: usize = 256;
/// How many rows the remembered changes of a project name at most.
const NAMED_MAX: usize = 20_000;

/// The last changes of projects.
#[derive(Debug)]
pub(crate) struct EventHub {
    clock: Arc<dyn Clock>,
    projects: Mutex<HashMap<ProjectId, WatchedProject>>,
    /// Dropped when no more feeds are served.
    closing: Mutex<Option<watch::Sender<()>>>,
}

#[derive(Debug)]
struct WatchedProject {
    changes: VecDeque<LoggedChange>,
    named: usize,
    /// All changes after this one are remembered; `None` until it is known which the first was.
    floor: Option<u64>,
    /// The last change there is.
    latest: watch::Sender<u64>,
    /// What was last asked for, and after which number: most feeds of a project ask the same.
    asked: Option<(u64, Arc<ChangesSince>)>,
    /// Bytes of the largest row among those that were last read.
    row_bytes: Option<usize>,
    seen: Instant,
}

#[derive(Debug)]
struct LoggedChange {
    seq: u64,
    rows: ChangedRows,
}

/// What came after a number.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangesSince {
    pub(crate) seq: u64,
    /// Positions, in order.
    pub(crate) written: Vec<u64>,
    pub(crate) deleted: Vec<RowId>,
    /// Not all of it is known.
    pub(crate) lost: bool,
    /// There is a change that names no row: the project itself may be another.
    pub(crate) is_rowless: bool,
}

impl EventHub {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, projects: Mutex::default(), closing: Mutex::default() }
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, WatchedProject>> {
        self.projects.lock()
    }

    /// Ends when no more feeds are served.
    pub(crate) fn closing(&self) -> watch::Receiver<()> {
        let mut closing = self.closing.lock();
        closing.get_or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// Ends every feed.
    pub(crate) fn close(&self) {
        drop(self.closing.lock().take());
    }

    /// Remembers a change: somebody may ask for it.
    pub(crate) fn note(&self, change: &Change) {
        let mut projects = self.projects();
        if !projects.contains_key(&change.project) && !has_room(&mut projects) {
            return;
        }
        // Of one that is new here, all is known from this change on.
        let floor = change.seq.checked_sub(1);
        let watched = projects
            .entry(change.project)
            .or_insert_with(|| WatchedProject::new(floor, self.clock.monotonic()));
        watched.named += named(&change.rows);
        watched.changes.push_back(LoggedChange { seq: change.seq, rows: change.rows.clone() });
        while watched.named > NAMED_MAX
            && let Some(forgotten) = watched.changes.pop_front()
        {
            watched.named -= named(&forgotten.rows);
            watched.floor = Some(forgotten.seq);
        }
        watched.asked = None;
        watched.latest.send_replace(change.seq);
    }

    pub(crate) fn watch(&self, project: ProjectId) -> watch::Receiver<u64> {
        let mut projects = self.projects();
        if !projects.contains_key(&project) {
            has_room(&mut projects);
        }
        let now = self.clock.monotonic();
        let watched = projects.entry(project).or_insert_with(|| WatchedProject::new(None, now));
        watched.seen = now;
        watched.latest.subscribe()
    }

    /// A project had this sequence after it was first watched: what comes is remembered from there.
    pub(crate) fn started_at(&self, project: ProjectId, seq: u64) {
        if let Some(watched) = self.projects().get_mut(&project) {
            watched.floor.get_or_insert(seq);
            watched.asked = None;
        }
    }

    pub(crate) fn since(&self, project: ProjectId, seq: u64) -> Arc<ChangesSince> {
        let mut projects = self.projects();
        let Some(watched) = projects.get_mut(&project) else {
            return Arc::new(ChangesSince { seq, lost: true, ..ChangesSince::default() });
        };
        if let Some((asked, changes_since)) = &watched.asked
            && *asked == seq
        {
            return Arc::clone(changes_since);
        }
        let changes_since = Arc::new(watched.since(seq));
        watched.asked = Some((seq, Arc::clone(&changes_since)));
        changes_since
    }

    /// How large rows of this project may be, as far as that is known.
    pub(crate) fn row_bytes(&self, project: ProjectId) -> Option<usize> {
        self.projects().get(&project)?.row_bytes
    }

    pub(crate) fn note_row_bytes(&self, project: ProjectId, bytes: usize) {
        if let Some(watched) = self.projects().get_mut(&project) {
            watched.row_bytes = Some(bytes);
        }
    }
}

impl WatchedProject {
    fn new(floor: Option<u64>, now: Instant) -> Self {
        let (changes, latest) = (VecDeque::new(), watch::Sender::new(0));
        Self { changes, named: 0, floor, latest, asked: None, row_bytes: None, seen: now }
    }

    fn since(&self, seq: u64) -> ChangesSince {
        let is_known = self.floor.is_some_and(|floor| floor <= seq);
        let mut changes_since = ChangesSince { seq, lost: !is_known, ..ChangesSince::default() };
        let mut written = BTreeSet::new();
        for logged in self.changes.iter().filter(|logged| logged.seq > seq) {
            changes_since.seq = changes_since.seq.max(logged.seq);
            match &logged.rows {
                ChangedRows::These { written: positions, deleted } => {
                    changes_since.is_rowless |= positions.is_empty() && deleted.is_empty();
                    written.extend(positions);
                    changes_since.deleted.extend(deleted);
                }
                ChangedRows::Many => changes_since.lost = true,
            }
        }
        changes_since.written = written.into_iter().collect();
        changes_since
    }
}

/// Forgets a project that nobody watches, if there are too many. Says whether there is room for another.
fn has_room(projects: &mut HashMap<ProjectId, WatchedProject>) -> bool {
    if projects.len() < PROJECTS_MAX {
        return true;
    }
    let unwatched = projects.iter().filter(|(_, watched)| watched.latest.is_closed());
    let oldest = unwatched.min_by_key(|(_, watched)| watched.seen).map(|(id, _)| *id);
    oldest.is_some_and(|oldest| projects.remove(&oldest).is_some())
}

fn named(rows: &ChangedRows) -> usize {
    match rows {
        ChangedRows::These { written, deleted } => written.len() + deleted.len() + 1,
        ChangedRows::Many => 1,
    }
}

#[cfg(test)]
mod tests {
    use rowmill_clock::SystemClock;
    use rowmill_store::Spans;
    use uuid::Uuid;

    use super::*;

    fn change(seq: u64, rows: ChangedRows) -> Change {
        let project = ProjectId::from_uuid(Uuid::nil());
        let touched = Spans::default();
        Change {
            project,
            seq,
            rows,
            touched,
            moved_from: None,
            restated: false,
            revoked: Vec::new(),
            ready: false,
            told: false,
        }
    }

    fn rows(written: &[u64]) -> ChangedRows {
        ChangedRows::These { written: written.to_vec(), deleted: Vec::new() }
    }

    #[test]
    fn only_what_came_after_is_news_and_what_is_forgotten_is_lost() {
        let hub = EventHub::new(Arc::new(SystemClock));
        let id = ProjectId::from_uuid(Uuid::nil());
        assert!(hub.since(id, 6).lost, "nothing was heard of it");
        hub.note(&change(7, rows(&[1])));
        let latest = hub.watch(id);
        hub.started_at(id, 7);
        assert_eq!(hub.since(id, 6).written, [1], "known though nobody watched");
        hub.note(&change(8, rows(&[2, 3])));
        hub.note(&change(9, rows(&[3])));
        assert_eq!(*latest.borrow(), 9);
        let changes_since = hub.since(id, 7);
        assert_eq!(
            (changes_since.seq, changes_since.written.as_slice(), changes_since.lost),
            (9, &[2, 3][..], false)
        );
        assert!(Arc::ptr_eq(&changes_since, &hub.since(id, 7)), "many ask the same");
        assert_eq!(*hub.since(id, 9), ChangesSince { seq: 9, ..ChangesSince::default() });
        assert!(hub.since(id, 5).lost);
        hub.note(&change(10, ChangedRows::Many));
        assert!(hub.since(id, 9).lost);
        for seq in 11..60 {
            hub.note(&change(seq, rows(&(0..1_000).collect::<Vec<_>>())));
        }
        assert!(hub.since(id, 11).lost, "it was forgotten to make room");
        assert_eq!(hub.since(id, 58).written.len(), 1_000);
    }
}
