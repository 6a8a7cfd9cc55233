//! What happens in a project, as it happens.
//!
//! The store tells of every change, of this node's and of others'; here the last ones are remembered, by number
//! only, so that a reader who was cut off can go on, here or at another node. A feed asks for what came after
//! the number it has seen, and rows are read as they are when its reader is ready for them. So a slow reader gets
//! fewer and fresher events, and holds nobody back.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rowmill_model::{ProjectId, RowId, TeamId};
use rowmill_store::{Change, ChangedRows, ProcessingStatus, StoredProject};
use tokio::sync::watch;

use crate::App;
use crate::auth::Caller;
use crate::error::{Error, Result};
use crate::event_rows::RowsChanged;
use crate::event_streams::OpenStream;

/// How many projects' changes are remembered at once. Of those nobody watches, the one that came into notice
/// first is forgotten first.
const PROJECTS_MAX: usize = 256;
/// How many rows the remembered changes of a project name at most.
const NAMED_MAX: usize = 20_000;
/// What came in this short a time comes in one event.
const PAUSE: Duration = Duration::from_millis(100);
/// After this long without an event a reader is told that all is well.
const QUIET_MAX: Duration = Duration::from_secs(15);
/// How long a reader is believed to hold a key that holds.
const AUTHORIZED_FOR: Duration = Duration::from_millis(800);

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// Rows that changed, to be read now. What was told of them is said with [`Feed::told`].
    Rows(RowsChanged),
    /// The project or its columns changed.
    Project(StoredProject),
    /// Where processing stands. Whoever has seen everything up to `seq` may go on from there.
    Status { seq: u64, standing: ProcessingStatus },
    /// Too much happened to name it: read the rows anew.
    Reset,
    /// Nothing happened.
    Quiet,
}

/// The last changes of projects.
#[derive(Debug, Default)]
pub(crate) struct EventHub {
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
    lost: bool,
}

impl EventHub {
    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, WatchedProject>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a change: somebody may ask for it.
    pub(crate) fn note(&self, change: &Change) {
        let mut projects = self.projects();
        if !projects.contains_key(&change.project) && !has_room(&mut projects) {
            return;
        }
        // Of one that is new here, all is known from this change on.
        let floor = change.seq.checked_sub(1);
        let watched = projects.entry(change.project).or_insert_with(|| WatchedProject::from(floor));
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

    fn watch(&self, project: ProjectId) -> watch::Receiver<u64> {
        let mut projects = self.projects();
        if !projects.contains_key(&project) {
            has_room(&mut projects);
        }
        let watched = projects.entry(project).or_insert_with(|| WatchedProject::from(None));
        watched.seen = Instant::now();
        watched.latest.subscribe()
    }

    /// A project had this sequence after it was first watched: what comes is remembered from there.
    fn started_at(&self, project: ProjectId, seq: u64) {
        if let Some(watched) = self.projects().get_mut(&project) {
            watched.floor.get_or_insert(seq);
            watched.asked = None;
        }
    }

    fn since(&self, project: ProjectId, seq: u64) -> Arc<ChangesSince> {
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
    fn from(floor: Option<u64>) -> Self {
        let (changes, latest) = (VecDeque::new(), watch::Sender::new(0));
        Self { changes, named: 0, floor, latest, asked: None, row_bytes: None, seen: Instant::now() }
    }

    fn since(&self, seq: u64) -> ChangesSince {
        let is_known = self.floor.is_some_and(|floor| floor <= seq);
        let mut changes_since = ChangesSince { seq, lost: !is_known, ..ChangesSince::default() };
        let mut written = BTreeSet::new();
        for logged in self.changes.iter().filter(|logged| logged.seq > seq) {
            changes_since.seq = changes_since.seq.max(logged.seq);
            match &logged.rows {
                ChangedRows::These { written: positions, deleted } => {
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

/// The events of one project for one reader.
#[derive(Debug)]
pub struct Feed {
    app: Arc<App>,
    caller: Caller,
    project: String,
    id: ProjectId,
    /// Everything up to this was told.
    seq: u64,
    version: u64,
    latest: watch::Receiver<u64>,
    closing: watch::Receiver<()>,
    waiting: VecDeque<Event>,
    /// Rows of which not all was told yet.
    telling: Option<RowsChanged>,
    _open: OpenStream,
    last_told: Option<Instant>,
    /// When the reader's key was last looked up, since the stream began.
    authorized_at: Option<Instant>,
}

impl App {
    /// The events of a project from now on, or from `after` on, where that is still known.
    pub async fn feed(self: &Arc<Self>, caller: Caller, project: &str, after: Option<u64>) -> Result<Feed> {
        let id = self.project(caller, project).await?.project.id;
        let open = self.streams.open(caller.team()).ok_or(Error::TooManyFeeds)?;
        let closing = {
            let mut closing = self.hub.closing.lock().unwrap_or_else(PoisonError::into_inner);
            closing.get_or_insert_with(|| watch::Sender::new(())).subscribe()
        };
        let mut feed = Feed {
            app: Arc::clone(self),
            caller,
            project: project.to_owned(),
            id,
            seq: 0,
            version: 0,
            latest: self.hub.watch(id),
            closing,
            waiting: VecDeque::new(),
            telling: None,
            _open: open,
            last_told: None,
            authorized_at: None,
        };
        // Read after the project is watched: nothing falls between.
        let stored = self.project(caller, project).await?;
        self.hub.started_at(id, stored.change_seq);
        feed.version = stored.version;
        feed.seq = after.unwrap_or(stored.change_seq);
        let changes_since = self.hub.since(id, feed.seq);
        if feed.seq > stored.change_seq || changes_since.lost && feed.seq < stored.change_seq {
            feed.waiting.push_back(Event::Reset);
            feed.seq = stored.change_seq;
        } else if changes_since.seq > feed.seq {
            feed.gather().await?;
            return Ok(feed);
        }
        feed.tell_status().await?;
        Ok(feed)
    }

    /// Ends every feed, and lets none begin that would not end.
    pub fn close_feeds(&self) {
        drop(self.hub.closing.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Feed {
    /// Whether the next event is there already.
    pub fn has_next(&self) -> bool {
        !self.waiting.is_empty() || self.telling.is_some()
    }

    /// Whose stream it is.
    pub fn team(&self) -> TeamId {
        self.caller.team()
    }

    /// So many rows of the last event were told, with those that are gone.
    pub fn told(&mut self, rows: usize) {
        if let Some(telling) = &mut self.telling {
            telling.advance(rows);
        }
    }

    /// The rows of the last event cannot be told: the reader has to read them anew.
    pub fn give_up(&mut self) {
        if let Some(telling) = &mut self.telling {
            telling.advance(usize::MAX);
            self.waiting.push_back(Event::Reset);
        }
    }

    /// The next event; `None` when the project is gone, the caller may not read it any more, or the
    /// service stops.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.last_told = Some(Instant::now());
                return Some(event);
            }
            if let Some(telling) = &self.telling {
                if telling.has_more() {
                    self.last_told = Some(Instant::now());
                    return Some(Event::Rows(telling.clone()));
                }
                self.seq = telling.seq().max(self.seq);
                self.tell_status().await.ok()?;
                self.telling = None;
                continue;
            }
            if *self.latest.borrow_and_update() <= self.seq {
                tokio::select! {
                    changed = self.latest.changed() => changed.ok()?,
                    _ = self.closing.changed() => return None,
                    () = tokio::time::sleep(QUIET_MAX) => return self.is_authorized().await.then_some(Event::Quiet),
                }
                continue;
            }
            if let Some(pause) = self.last_told.and_then(|at| PAUSE.checked_sub(at.elapsed())) {
                tokio::time::sleep(pause).await;
            }
            if !self.is_authorized().await {
                return None;
            }
            self.gather().await.ok()?;
        }
    }

    /// Whether the reader's key was not revoked since the stream began.
    async fn is_authorized(&mut self) -> bool {
        let Caller::Key(principal) = self.caller else { return true };
        if self.authorized_at.is_none_or(|looked_up| looked_up.elapsed() >= AUTHORIZED_FOR) {
            if !matches!(self.app.store.key(principal.key).await, Ok(Some(_))) {
                return false;
            }
            self.authorized_at = Some(Instant::now());
        }
        true
    }

    /// Looks up what the changes so far are about.
    async fn gather(&mut self) -> Result<()> {
        let changes_since = self.app.hub.since(self.id, self.seq);
        let project = self.app.project(self.caller, &self.project).await?;
        if project.version != self.version {
            self.version = project.version;
            self.waiting.push_back(Event::Project(project.clone()));
        }
        if changes_since.lost {
            self.waiting.push_back(Event::Reset);
            self.seq = changes_since.seq.max(self.seq);
            return self.tell_status().await;
        }
        // Where the reader goes on from is told once all of it was.
        self.telling = Some(RowsChanged::new(project, self.seq, changes_since));
        Ok(())
    }

    async fn tell_status(&mut self) -> Result<()> {
        let standing = self.app.standing(self.caller, &self.project).await?;
        self.waiting.push_back(Event::Status { seq: self.seq, standing });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rowmill_store::Spans;
    use uuid::Uuid;

    use super::*;

    fn change(seq: u64, rows: ChangedRows) -> Change {
        let project = ProjectId::from_uuid(Uuid::nil());
        let touched = Spans::default();
        Change { project, seq, rows, touched, restated: false, revoked: Vec::new(), ready: false }
    }

    fn rows(written: &[u64]) -> ChangedRows {
        ChangedRows::These { written: written.to_vec(), deleted: Vec::new() }
    }

    #[test]
    fn only_what_came_after_is_news_and_what_is_forgotten_is_lost() {
        let hub = EventHub::default();
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
