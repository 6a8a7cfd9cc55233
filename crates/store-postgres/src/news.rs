//! Telling what has changed: this node's listeners at once, other nodes by the database.
//!
//! A change is told here before its caller is answered, and then sent to the other nodes with NOTIFY, some
//! at a time and apart from the transaction: a commit that notifies makes all others wait. If a node dies in
//! between, or a connection is lost, the others find out by looking (see [`News::look`]).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use rowmill_model::record::Slot;
use rowmill_model::{ProjectId, RowId};
use rowmill_store::{Change, ChangedRows, Lane, Listener, Result, Spans, Ticket};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_postgres::AsyncMessage;
use uuid::Uuid;

use crate::claimed_rows::ClaimedRows;
use crate::connect::Server;
use crate::convert::unsigned;
use crate::database::{Database, Doubt, Tx, backend};

const CHANNEL: &str = "rowmill_changes";
/// The server takes less than 8,000 bytes.
const MESSAGE_BYTES_MAX: usize = 7_900;
/// Tickets in one message: each takes some 40 bytes.
const REVOKED_MAX: usize = 100;
/// Runs of positions in one message: each takes some 20 bytes.
const RUNS_MAX: usize = 200;
/// Messages sent together.
const MESSAGES_MAX: usize = 256;
/// How often a node looks for itself what has changed while it hears nothing.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// By then every node has.
const LOOKED_BY: Duration = Duration::from_millis(1_500);
/// The same while it hears others: for what got lost on the way.
const LOOK_SELDOM: Duration = Duration::from_secs(30);
/// How long other nodes are waited for that do not say whether they have heard.
const HEARD_MAX: Duration = Duration::from_secs(2);
/// Workers named in one message: each takes some 40 bytes.
const WORKERS_MAX: usize = 150;
/// Projects whose last change is remembered.
const SEEN_MAX: usize = 100_000;

/// A change on its way to another node.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Message {
    #[serde(rename = "n")]
    node: Uuid,
    /// None in a message between nodes: an echo, a question whether all was heard, or the answer.
    #[serde(rename = "p")]
    project: Option<Uuid>,
    /// The change's, or the number of an echo or a question.
    #[serde(rename = "s")]
    seq: u64,
    #[serde(rename = "r")]
    ready: bool,
    /// None if there are too many to name.
    #[serde(rename = "w")]
    written: Option<Vec<u64>>,
    #[serde(rename = "d")]
    deleted: Vec<Uuid>,
    /// Runs of positions; none if there are too many to name. An older node leaves it out.
    #[serde(rename = "o", default)]
    touched: Option<Vec<(u64, u64)>>,
    #[serde(rename = "a", default)]
    restated: bool,
    #[serde(rename = "t")]
    revoked: Vec<(u64, Slot, u64)>,
    /// The workers whose nodes are to say that they have heard.
    #[serde(rename = "q", default, skip_serializing_if = "Vec::is_empty")]
    asked: Vec<Uuid>,
    /// The workers whose node has.
    #[serde(rename = "h", default, skip_serializing_if = "Vec::is_empty")]
    heard: Vec<Uuid>,
}

/// What is on its way to other nodes.
#[derive(Debug)]
pub(crate) enum Post {
    Change(Change),
    Message(Box<Message>),
}

/// Who has yet to say that it has heard.
#[derive(Debug)]
struct Question {
    workers: BTreeSet<Uuid>,
    answered: oneshot::Sender<()>,
}

/// Who is told of changes, and what they were told.
pub(crate) struct News {
    node: Uuid,
    listeners: RwLock<Vec<Listener>>,
    /// Rows that are known here as long as they do not change.
    taken: Arc<ClaimedRows>,
    /// The last change told of each project. Held while listeners are called, so that they hear one change
    /// after the other.
    seen: Mutex<HashMap<ProjectId, u64>>,
    /// None once the store is closed.
    outbox: Mutex<Option<mpsc::UnboundedSender<Post>>>,
    /// The workers of this node.
    workers: Mutex<BTreeSet<Uuid>>,
    questions: Mutex<HashMap<u64, Question>>,
    /// Whether what other nodes say is heard.
    hearing: watch::Sender<bool>,
}

impl std::fmt::Debug for News {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "News of {}", self.node)
    }
}

impl News {
    pub(crate) fn new(node: Uuid, taken: Arc<ClaimedRows>) -> (Self, mpsc::UnboundedReceiver<Post>) {
        let (outbox, posted) = mpsc::unbounded_channel();
        (
            Self {
                node,
                listeners: RwLock::default(),
                taken,
                seen: Mutex::default(),
                outbox: Mutex::new(Some(outbox)),
                workers: Mutex::default(),
                questions: Mutex::default(),
                hearing: watch::Sender::new(false),
            },
            posted,
        )
    }

    pub(crate) fn listen(&self, listener: Listener) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Tells of a change this node made, here and elsewhere.
    pub(crate) fn tell(&self, change: Change) {
        self.tell_here(change.clone());
        self.post(Post::Change(change));
    }

    fn post(&self, post: Post) {
        if let Some(outbox) = &*self.outbox.lock().unwrap_or_else(PoisonError::into_inner) {
            // Without the other end the store is closed.
            let _ = outbox.send(post);
        }
    }

    /// Waits until other nodes are heard, or it seems that they never will be.
    pub(crate) async fn until_hearing(&self) {
        let mut hearing = self.hearing.subscribe();
        // It is looked for them then.
        let _ = tokio::time::timeout(HEARD_MAX, hearing.wait_for(|is_hearing| *is_hearing)).await;
    }

    /// A worker of this node.
    pub(crate) fn employ(&self, worker: Uuid) {
        lock(&self.workers).insert(worker);
    }

    /// Waits until the nodes of these workers have told their listeners all that was told here. One that says
    /// nothing is not waited for much longer: it is lost, or its lease will run out.
    pub(crate) async fn until_heard(&self, mut workers: BTreeSet<Uuid>) {
        workers.retain(|worker| !lock(&self.workers).contains(worker));
        if workers.is_empty() {
            return;
        }
        if !*self.hearing.borrow() {
            // Nor are others then, most likely: by this time they have looked.
            return tokio::time::sleep(LOOKED_BY).await;
        }
        let asked: Vec<Uuid> = workers.into_iter().take(WORKERS_MAX).collect();
        let (number, (answered, answer)) = (fastrand::u64(..), oneshot::channel());
        let question = Question { workers: asked.iter().copied().collect(), answered };
        lock(&self.questions).insert(number, question);
        // It comes after the changes, as everything that is posted does.
        let message = Message { node: self.node, seq: number, asked, ..Message::default() };
        self.post(Post::Message(Box::new(message)));
        if tokio::time::timeout(HEARD_MAX, answer).await.is_err() {
            tracing::debug!("another node did not say that it has heard of a stop");
        }
        lock(&self.questions).remove(&number);
    }

    /// What another node asks or says.
    fn talk(&self, message: Message) {
        let Message { seq: number, asked, heard, .. } = message;
        let ours: Vec<Uuid> = {
            let workers = lock(&self.workers);
            asked.into_iter().filter(|worker| workers.contains(worker)).collect()
        };
        if !ours.is_empty() {
            let answer = Message { node: self.node, seq: number, heard: ours, ..Message::default() };
            self.post(Post::Message(Box::new(answer)));
        }
        let mut questions = lock(&self.questions);
        if let Some(question) = questions.get_mut(&number) {
            question.workers.retain(|worker| !heard.contains(worker));
            if question.workers.is_empty()
                && let Some(Question { answered, .. }) = questions.remove(&number)
            {
                // Whoever asked may have lost patience.
                let _ = answered.send(());
            }
        }
    }

    /// Lets [`send`] come to its end once it has sent what is left.
    pub(crate) fn close(&self) {
        drop(self.outbox.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Tells this node's listeners, who hear of each project in the order of its sequence. What other nodes
    /// did may be heard late: then many rows are said to have changed, and when the news arrives, only what
    /// was revoked and what is ready is left to tell.
    fn tell_here(&self, mut change: Change) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= SEEN_MAX && !seen.contains_key(&change.project) {
            seen.clear();
        }
        let last = seen.entry(change.project).or_default();
        if change.seq <= *last {
            change.seq = *last;
            change.rows = ChangedRows::These { written: Vec::new(), deleted: Vec::new() };
            (change.touched, change.restated) = (Spans::default(), false);
            if change.revoked.is_empty() && !change.ready {
                return;
            }
        } else if change.seq > *last + 1 {
            change.rows = ChangedRows::Many;
            (change.touched, change.restated) = (Spans::all(), true);
        }
        *last = change.seq;
        for listener in self.listeners.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(&change);
        }
    }

    fn hear(&self, message: Message) {
        if message.node == self.node {
            return;
        }
        let Some(project) = message.project.map(ProjectId::from_uuid) else { return self.talk(message) };
        let Message { seq, ready, written, deleted, touched, restated, revoked, .. } = message;
        let rows = match written {
            Some(written) => {
                let deleted = deleted.into_iter().map(RowId::from_uuid).collect();
                ChangedRows::These { written, deleted }
            }
            None => ChangedRows::Many,
        };
        let ticket = |(token, slot, position)| Ticket { token, lane: Lane { project, slot }, position };
        let revoked = revoked.into_iter().map(ticket).collect();
        let touched = touched.map_or_else(Spans::all, Spans::of);
        self.taken.forget(project, &touched);
        self.tell_here(Change { project, seq, rows, touched, restated, revoked, ready });
    }

    /// Compares what was told with what the database says, and tells the rest.
    pub(crate) async fn look(&self, database: &Database) -> Result<()> {
        let found = database
            .read(|tx: &mut Tx| {
                Box::pin(async move {
                    tx.query("SELECT id, change_seq FROM rowmill.counters WHERE change_seq > 0", &[]).await
                })
            })
            .await?;
        for row in &found {
            let (project, seq) = (ProjectId::from_uuid(row.get(0)), unsigned(row.get(1)));
            let last = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(&project).copied();
            if last.is_none_or(|last| last < seq) {
                let (rows, touched) = (ChangedRows::Many, Spans::all());
                let (restated, revoked, ready) = (true, Vec::new(), true);
                self.tell_here(Change { project, seq, rows, touched, restated, revoked, ready });
            }
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends changes to the other nodes until the store is closed.
pub(crate) async fn send(
    news: Arc<News>,
    database: Arc<Database>,
    mut posted: mpsc::UnboundedReceiver<Post>,
) {
    let mut posts = Vec::new();
    while posted.recv_many(&mut posts, MESSAGES_MAX).await > 0 {
        let written = posts.drain(..).flat_map(|post| match post {
            Post::Change(change) => write_down(news.node, change),
            Post::Message(message) => vec![serde_json::to_string(&message).unwrap_or_default()],
        });
        let messages: Vec<String> = written.collect();
        if let Err(error) = notify(&database, &messages).await {
            tracing::warn!(%error, "other nodes could not be told of a change; they find out by looking");
        }
    }
}

async fn notify(database: &Database, messages: &[String]) -> Result<()> {
    let messages: Arc<[String]> = messages.into();
    database
        .write(Doubt::Repeat, move |tx: &mut Tx| {
            let messages = Arc::clone(&messages);
            Box::pin(async move {
                let sql = "SELECT pg_notify($1, message) FROM unnest($2::text[]) message";
                tx.query(sql, &[&CHANNEL, &&messages[..]]).await.map(|_| ())
            })
        })
        .await
}

fn write_down(node: Uuid, change: Change) -> Vec<String> {
    let Change { project, seq, rows, touched, restated, revoked, ready } = change;
    let mut message = Message {
        node,
        project: Some(project.uuid()),
        seq,
        ready,
        touched: Some(touched.tidied().iter().collect()).filter(|runs: &Vec<_>| runs.len() <= RUNS_MAX),
        restated,
        ..Message::default()
    };
    if let ChangedRows::These { written, deleted } = rows {
        message.written = Some(written);
        message.deleted = deleted.into_iter().map(RowId::uuid).collect();
    }
    let mut tickets = revoked.iter().map(|ticket| (ticket.token, ticket.lane.slot, ticket.position));
    message.revoked = tickets.by_ref().take(REVOKED_MAX).collect();
    let mut messages = Vec::new();
    loop {
        let mut text = serde_json::to_string(&message).unwrap_or_default();
        if text.len() > MESSAGE_BYTES_MAX {
            (message.written, message.deleted) = (None, Vec::new());
            text = serde_json::to_string(&message).unwrap_or_default();
        }
        if text.len() > MESSAGE_BYTES_MAX {
            message.touched = None;
            text = serde_json::to_string(&message).unwrap_or_default();
        }
        messages.push(text);
        let more: Vec<_> = tickets.by_ref().take(REVOKED_MAX).collect();
        if more.is_empty() {
            return messages;
        }
        let (written, deleted, touched) = (Some(Vec::new()), Vec::new(), Some(Vec::new()));
        message = Message { written, deleted, touched, revoked: more, ..message };
    }
}

/// Hears what other nodes changed, for as long as the store is open. After each new connection, and now and
/// then, it looks for itself; where nothing can be heard, as behind a pooler that gives every transaction
/// another session, it looks every second.
pub(crate) async fn receive(news: Arc<News>, server: Server, database: Arc<Database>) {
    let mut has_warned = false;
    loop {
        let outcome = hear_all(&news, &server, &database).await;
        news.hearing.send_replace(false);
        if !has_warned {
            match outcome {
                Ok(()) => tracing::warn!(
                    "changes of other nodes are not heard; looking for them every second instead. If it stays like this, the address leads to a pooler that gives every transaction another session: LISTEN needs one to itself"
                ),
                Err(error) => tracing::warn!(%error, "the connection on which changes are heard was lost"),
            }
            has_warned = true;
        }
        look(&news, &database).await;
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn look(news: &News, database: &Database) {
    if let Err(error) = news.look(database).await {
        tracing::debug!(%error, "changes of other nodes could not be looked for");
    }
}

/// Ends with an error when the connection is lost, and without when nothing is heard on it.
async fn hear_all(news: &News, server: &Server, database: &Database) -> Result<()> {
    let (heard, mut messages) = mpsc::unbounded_channel();
    let client = server.connect(heard).await?;
    client.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(backend)?;
    // What happened before is looked for only now, so that nothing falls in between.
    look(news, database).await;
    loop {
        let echo = Message { node: news.node, seq: fastrand::u64(..), ..Message::default() };
        let number = echo.seq;
        // Failing is found out by hearing nothing.
        let _ = notify(database, &[serde_json::to_string(&echo).unwrap_or_default()]).await;
        let until = tokio::time::Instant::now() + LOOK_SELDOM;
        let mut is_heard = false;
        loop {
            let patience = if is_heard { until } else { tokio::time::Instant::now() + LOOK_EVERY * 5 };
            match tokio::time::timeout_at(patience, messages.recv()).await {
                Ok(Some(AsyncMessage::Notification(told))) => {
                    match serde_json::from_str::<Message>(told.payload()) {
                        Ok(message) => {
                            if message.project.is_none() && message.seq == number {
                                is_heard = true;
                                news.hearing.send_replace(true);
                            }
                            news.hear(message);
                        }
                        Err(error) => tracing::debug!(%error, "a message of another node makes no sense"),
                    }
                }
                Ok(Some(_)) => {}
                // The connection is gone; asking it says why.
                Ok(None) => return client.batch_execute("").await.map_err(backend),
                Err(_) if is_heard => break,
                Err(_) => return Ok(()),
            }
        }
        look(news, database).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(seq: u64, rows: ChangedRows, tickets: u64) -> Change {
        let project = ProjectId::from_uuid(Uuid::from_u128(1));
        let ticket = |position| Ticket { token: 7, lane: Lane { project, slot: 3 }, position };
        let touched = match &rows {
            ChangedRows::These { written, .. } => Spans::of(written.iter().map(|at| (*at, *at))),
            ChangedRows::Many => Spans::all(),
        };
        let revoked = (0..tickets).map(ticket).collect();
        Change { project, seq, rows, touched, restated: false, revoked, ready: true }
    }

    fn these(written: Vec<u64>) -> ChangedRows {
        ChangedRows::These { written, deleted: Vec::new() }
    }

    /// What another node hears of changes, in the order given.
    fn heard(changes: Vec<Change>) -> Vec<(u64, ChangedRows, usize)> {
        let (news, _posted) = News::new(Uuid::from_u128(2), Arc::default());
        let told: Arc<Mutex<Vec<Change>>> = Arc::default();
        let listening = Arc::clone(&told);
        news.listen(Box::new(move |change| listening.lock().unwrap().push(change.clone())));
        for text in changes.into_iter().flat_map(|change| write_down(Uuid::from_u128(1), change)) {
            assert!(text.len() < 8_000, "{}", text.len());
            news.hear(serde_json::from_str(&text).unwrap());
        }
        let told = told.lock().unwrap();
        told.iter().map(|change| (change.seq, change.rows.clone(), change.revoked.len())).collect()
    }

    #[test]
    fn other_nodes_hear_what_changed() {
        assert_eq!(heard(vec![change(1, these(vec![4, 5]), 2)]), [(1, these(vec![4, 5]), 2)]);
        let many: Vec<u64> = (1_000_000_000..1_000_001_000).collect();
        assert_eq!(heard(vec![change(1, these(many), 0)]), [(1, ChangedRows::Many, 0)]);
    }

    #[test]
    fn all_that_was_revoked_arrives() {
        let told = heard(vec![change(1, ChangedRows::Many, 1_234)]);
        assert_eq!(told.iter().map(|(.., revoked)| revoked).sum::<usize>(), 1_234);
        assert_eq!(told.iter().map(|(seq, ..)| *seq).max(), Some(1));
    }

    #[test]
    fn what_comes_late_or_was_missed_leaves_no_gap() {
        let changes = [1, 3, 2, 4].map(|seq| change(seq, these(vec![seq]), 0));
        let told = heard(changes.to_vec());
        let expected = [
            (1, these(vec![1]), 0),
            (3, ChangedRows::Many, 0),
            (3, these(Vec::new()), 0),
            (4, these(vec![4]), 0),
        ];
        assert_eq!(told, expected);
    }
}
