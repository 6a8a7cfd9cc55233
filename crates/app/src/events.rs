//! Event streams: what happens in a project, as it happens.
//!
//! A feed asks the hub for what came after the number it has seen, and reads rows as they are when its reader is
//! ready for them. So a slow reader gets fewer and fresher events, and holds nobody back.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rowmill_model::{ProjectId, TeamId};
use rowmill_store::{ProcessingStatus, StoredProject};
use tokio::sync::watch;

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::event_rows::RowsChanged;
use crate::event_streams::OpenStream;

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
    Status { seq: u64, standing: Box<ProcessingStatus> },
    /// Too much happened to name it: read the rows anew.
    Reset,
    /// Nothing happened.
    Quiet,
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
    /// How many event streams are open.
    pub fn open_event_streams(&self) -> usize {
        self.streams.count()
    }

    /// The events of a project from now on, or from `after` on, where that is still known.
    pub async fn feed(self: &Arc<Self>, caller: Caller, project: &str, after: Option<u64>) -> Result<Feed> {
        let id = self.project(caller, project).await?.project.id;
        let open = self.streams.open(caller.team()).ok_or(Error::TooManyFeeds)?;
        let mut feed = Feed {
            app: Arc::clone(self),
            caller,
            project: project.to_owned(),
            id,
            seq: 0,
            version: 0,
            latest: self.hub.watch(id),
            closing: self.hub.closing(),
            waiting: VecDeque::new(),
            telling: None,
            _open: open,
            last_told: None,
            authorized_at: None,
        };
        // Read after the project is watched: nothing falls between.
        let stored = self.project(caller, project).await?;
        self.hub.started_at(id, stored.change_seq);
        feed.seq = after.unwrap_or(stored.change_seq);
        let changes_since = self.hub.since(id, feed.seq);
        // What the project was like at an earlier sequence is not known: it is told if it may have changed since.
        feed.version = if changes_since.is_rowless { 0 } else { stored.version };
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
        self.hub.close();
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
                self.last_told = Some(self.app.clock.monotonic());
                return Some(event);
            }
            if let Some(telling) = &self.telling {
                if telling.has_more() {
                    self.last_told = Some(self.app.clock.monotonic());
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
                    () = self.app.clock.sleep(QUIET_MAX) => return self.is_authorized().await.then_some(Event::Quiet),
                }
                continue;
            }
            let since = |at: Instant| self.app.clock.monotonic().duration_since(at);
            if let Some(pause) = self.last_told.and_then(|at| PAUSE.checked_sub(since(at))) {
                self.app.clock.sleep(pause).await;
            }
            if !self.is_authorized().await {
                return None;
            }
            self.gather().await.ok()?;
        }
    }

    /// Whether the reader's key was not revoked since the stream began, and its session did not end.
    async fn is_authorized(&mut self) -> bool {
        let Caller::Key(principal) = self.caller else { return true };
        let now = self.app.clock.monotonic();
        if self.authorized_at.is_none_or(|looked_up| now.duration_since(looked_up) >= AUTHORIZED_FOR) {
            if !matches!(self.app.is_still(principal).await, Ok(true)) {
                return false;
            }
            self.authorized_at = Some(self.app.clock.monotonic());
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
        let standing = Box::new(self.app.standing(self.caller, &self.project).await?);
        self.waiting.push_back(Event::Status { seq: self.seq, standing });
        Ok(())
    }
}
