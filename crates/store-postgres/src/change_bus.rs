//! The change bus: publishes changes to this node's listeners, and to other nodes with NOTIFY.
//!
//! A change is told here before its caller is answered, and then sent to the other nodes with NOTIFY, some
//! at a time and apart from the transaction: a commit that notifies makes all others wait. If a node dies in
//! between, or a connection is lost, the others find out by looking (see [`ChangeBus::poll_changes`]).

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
use crate::database::{CommitDoubt, Database, Tx, backend};

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
const POLL_EVERY: Duration = Duration::from_secs(1);
/// By then every node has.
const POLLED_BY: Duration = Duration::from_millis(1_500);
/// The same while it hears others: for what got lost on the way.
const POLL_SELDOM: Duration = Duration::from_secs(30);
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
pub(crate) enum Outgoing {
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
pub(crate) struct ChangeBus {
    node: Uuid,
    listeners: RwLock<Vec<Listener>>,
    /// Rows that are known here as long as they do not change.
    taken: Arc<ClaimedRows>,
    /// The last change told of each project. Held while listeners are called, so that they hear one change
    /// after the other.
    seen: Mutex<HashMap<ProjectId, u64>>,
    /// None once the store is closed.
    outbox: Mutex<Option<mpsc::UnboundedSender<Outgoing>>>,
    /// The workers of this node.
    workers: Mutex<BTreeSet<Uuid>>,
    questions: Mutex<HashMap<u64, Question>>,
    /// Whether what other nodes say is heard.
    hearing: watch::Sender<bool>,
}

impl std::fmt::Debug for ChangeBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChangeBus of {}", self.node)
    }
}

impl ChangeBus {
    pub(crate) fn new(node: Uuid, taken: Arc<ClaimedRows>) -> (Self, mpsc::UnboundedReceiver<Outgoing>) {
        let (outbox, outbound) = mpsc::unbounded_channel();
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
            outbound,
        )
    }

    pub(crate) fn listen(&self, listener: Listener) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Tells of a change this node made, here and elsewhere.
    pub(crate) fn publish(&self, change: Change) {
        self.publish_locally(change.clone());
        self.enqueue(Outgoing::Change(change));
    }

    fn enqueue(&self, message_out: Outgoing) {
        if let Some(outbox) = &*self.outbox.lock().unwrap_or_else(PoisonError::into_inner) {
            // Without the other end the store is closed.
            let _ = outbox.send(message_out);
        }
    }

    /// Waits until other nodes are heard, or it seems that they never will be.
    pub(crate) async fn wait_until_listening(&self) {
        let mut hearing = self.hearing.subscribe();
        // It is looked for them then.
        let _ = tokio::time::timeout(HEARD_MAX, hearing.wait_for(|is_hearing| *is_hearing)).await;
    }

    /// A worker of this node.
    pub(crate) fn register_worker(&self, worker: Uuid) {
        lock(&self.workers).insert(worker);
    }

    /// Waits until the nodes of these workers have told their listeners all that was told here. One that says
    /// nothing is not waited for much longer: it is lost, or its lease will run out.
    pub(crate) async fn wait_until_heard(&self, mut workers: BTreeSet<Uuid>) {
        workers.retain(|worker| !lock(&self.workers).contains(worker));
        if workers.is_empty() {
            return;
        }
        if !*self.hearing.borrow() {
            // Nor are others then, most likely: by this time they have looked.
            return tokio::time::sleep(POLLED_BY).await;
        }
        let asked: Vec<Uuid> = workers.into_iter().take(WORKERS_MAX).collect();
        let (number, (answered, answer)) = (fastrand::u64(..), oneshot::channel());
        let question = Question { workers: asked.iter().copied().collect(), answered };
        lock(&self.questions).insert(number, question);
        // It comes after the changes, as everything that is posted does.
        let message = Message { node: self.node, seq: number, asked, ..Message::default() };
        self.enqueue(Outgoing::Message(Box::new(message)));
        if tokio::time::timeout(HEARD_MAX, answer).await.is_err() {
            tracing::debug!("another node did not confirm a stop in time");
        }
        lock(&self.questions).remove(&number);
    }

    /// What another node asks or says.
    fn answer_node(&self, message: Message) {
        let Message { seq: number, asked, heard, .. } = message;
        let ours: Vec<Uuid> = {
            let workers = lock(&self.workers);
            asked.into_iter().filter(|worker| workers.contains(worker)).collect()
        };
        if !ours.is_empty() {
            let answer = Message { node: self.node, seq: number, heard: ours, ..Message::default() };
            self.enqueue(Outgoing::Message(Box::new(answer)));
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
    /// did may be heard late: then many rows are said to have changed, and when the message arrives, only what
    /// was revoked and what is ready is left to tell.
    fn publish_locally(&self, mut change: Change) {
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

    fn apply_message(&self, message: Message) {
        if message.node == self.node {
            return;
        }
        let Some(project) = message.project.map(ProjectId::from_uuid) else {
            return self.answer_node(message);
        };
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
        self.publish_locally(Change { project, seq, rows, touched, restated, revoked, ready });
    }

    /// Compares what was told with what the database says, and tells the rest.
    pub(crate) async fn poll_changes(&self, database: &Database) -> Result<()> {
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
                self.publish_locally(Change { project, seq, rows, touched, restated, revoked, ready });
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
    change_bus: Arc<ChangeBus>,
    database: Arc<Database>,
    mut outbound: mpsc::UnboundedReceiver<Outgoing>,
) {
    let mut outgoing = Vec::new();
    while outbound.recv_many(&mut outgoing, MESSAGES_MAX).await > 0 {
        let written = outgoing.drain(..).flat_map(|message_out| match message_out {
            Outgoing::Change(change) => to_messages(change_bus.node, change),
            Outgoing::Message(message) => vec![serde_json::to_string(&message).unwrap_or_default()],
        });
        let messages: Vec<String> = written.collect();
        if let Err(error) = notify(&database, &messages).await {
            tracing::warn!(%error, "could not notify other nodes of a change; they will find it by polling");
        }
    }
}

async fn notify(database: &Database, messages: &[String]) -> Result<()> {
    let messages: Arc<[String]> = messages.into();
    database
        .write(CommitDoubt::Repeat, move |tx: &mut Tx| {
            let messages = Arc::clone(&messages);
            Box::pin(async move {
                let sql = "SELECT pg_notify($1, message) FROM unnest($2::text[]) message";
                tx.query(sql, &[&CHANNEL, &&messages[..]]).await.map(|_| ())
            })
        })
        .await
}

fn to_messages(node: Uuid, change: Change) -> Vec<String> {
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
pub(crate) async fn receive(change_bus: Arc<ChangeBus>, server: Server, database: Arc<Database>) {
    let mut has_warned = false;
    loop {
        let outcome = receive_all(&change_bus, &server, &database).await;
        change_bus.hearing.send_replace(false);
        if !has_warned {
            match outcome {
                Ok(()) => tracing::warn!(
                    "LISTEN does not work on this connection; polling for changes every second instead. If \
                     this persists, the database URL points to a connection pooler in transaction mode"
                ),
                Err(error) => tracing::warn!(%error, "the LISTEN connection was lost"),
            }
            has_warned = true;
        }
        poll_changes(&change_bus, &database).await;
        tokio::time::sleep(POLL_EVERY).await;
    }
}

async fn poll_changes(change_bus: &ChangeBus, database: &Database) {
    if let Err(error) = change_bus.poll_changes(database).await {
        tracing::debug!(%error, "could not poll for changes of other nodes");
    }
}

/// Ends with an error when the connection is lost, and without when nothing is heard on it.
async fn receive_all(change_bus: &ChangeBus, server: &Server, database: &Database) -> Result<()> {
    let (heard, mut messages) = mpsc::unbounded_channel();
    let client = server.connect(heard).await?;
    client.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(backend)?;
    // What happened before is looked for only now, so that nothing falls in between.
    poll_changes(change_bus, database).await;
    loop {
        let echo = Message { node: change_bus.node, seq: fastrand::u64(..), ..Message::default() };
        let number = echo.seq;
        // Failing is found out by hearing nothing.
        let _ = notify(database, &[serde_json::to_string(&echo).unwrap_or_default()]).await;
        let until = tokio::time::Instant::now() + POLL_SELDOM;
        let mut is_heard = false;
        loop {
            let wait_max = if is_heard { until } else { tokio::time::Instant::now() + POLL_EVERY * 5 };
            match tokio::time::timeout_at(wait_max, messages.recv()).await {
                Ok(Some(AsyncMessage::Notification(told))) => {
                    match serde_json::from_str::<Message>(told.payload()) {
                        Ok(message) => {
                            if message.project.is_none() && message.seq == number {
                                is_heard = true;
                                change_bus.hearing.send_replace(true);
                            }
                            change_bus.apply_message(message);
                        }
                        Err(error) => {
                            tracing::debug!(%error, "received an invalid message from another node");
                        }
                    }
                }
                Ok(Some(_)) => {}
                // The connection is gone; asking it says why.
                Ok(None) => return client.batch_execute("").await.map_err(backend),
                Err(_) if is_heard => break,
                Err(_) => return Ok(()),
            }
        }
        poll_changes(change_bus, database).await;
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
        let (change_bus, _posted) = ChangeBus::new(Uuid::from_u128(2), Arc::default());
        let told: Arc<Mutex<Vec<Change>>> = Arc::default();
        let listening = Arc::clone(&told);
        change_bus.listen(Box::new(move |change| listening.lock().unwrap().push(change.clone())));
        for text in changes.into_iter().flat_map(|change| to_messages(Uuid::from_u128(1), change)) {
            assert!(text.len() < 8_000, "{}", text.len());
            change_bus.apply_message(serde_json::from_str(&text).unwrap());
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
