//! The change bus: publishes changes to this node's listeners, and to other nodes with NOTIFY.
//!
//! Listeners on this node are told before the caller is answered. The other nodes are told with NOTIFY, in batches
//! and apart from the transaction, because commits that notify wait for each other. If a node dies in between, or a
//! connection is lost, the others find out by polling (see [`ChangeBus::poll_changes`]).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rowmill_model::ProjectId;
use rowmill_store::{Change, ChangedRows, Listener, Result, Spans};
use tokio::sync::{mpsc, oneshot, watch};
use uuid::Uuid;

use crate::change_message::Message;
use crate::claimed_rows::ClaimedRows;
use crate::convert::unsigned;
use crate::database::Database;

/// By then a node that does not listen has polled.
const POLLED_BY: Duration = Duration::from_millis(1_500);
/// How long to wait for nodes that do not confirm what they heard.
const HEARD_MAX: Duration = Duration::from_secs(2);
/// Workers named in one message: each takes some 40 bytes.
const WORKERS_MAX: usize = 150;
/// Projects whose last change is remembered.
const SEEN_MAX: usize = 100_000;

/// Something to send to the other nodes.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Change(Change),
    Message(Box<Message>),
}

/// A question whether nodes have heard everything, and the workers whose nodes have not confirmed yet.
#[derive(Debug)]
struct Question {
    workers: BTreeSet<Uuid>,
    answered: oneshot::Sender<()>,
}

/// Who is told of changes, and which changes they were told of.
pub(crate) struct ChangeBus {
    node: Uuid,
    listeners: RwLock<Vec<Listener>>,
    /// Rows that are cached here as long as they do not change.
    claimed_rows: Arc<ClaimedRows>,
    /// The last change told of each project. Held while listeners are called, so that they hear one change
    /// after the other.
    seen: Mutex<HashMap<ProjectId, u64>>,
    /// None once the store is closed.
    outbox: Mutex<Option<mpsc::UnboundedSender<Outgoing>>>,
    /// The workers of this node.
    workers: Mutex<BTreeSet<Uuid>>,
    questions: Mutex<HashMap<u64, Question>>,
    /// Whether messages of other nodes arrive.
    is_listening: watch::Sender<bool>,
}

impl std::fmt::Debug for ChangeBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ChangeBus of {}", self.node)
    }
}

impl ChangeBus {
    pub(crate) fn new(
        node: Uuid,
        claimed_rows: Arc<ClaimedRows>,
    ) -> (Self, mpsc::UnboundedReceiver<Outgoing>) {
        let (outbox, outbound) = mpsc::unbounded_channel();
        (
            Self {
                node,
                listeners: RwLock::default(),
                claimed_rows,
                seen: Mutex::default(),
                outbox: Mutex::new(Some(outbox)),
                workers: Mutex::default(),
                questions: Mutex::default(),
                is_listening: watch::Sender::new(false),
            },
            outbound,
        )
    }

    pub(crate) fn listen(&self, listener: Listener) {
        self.listeners.write().push(listener);
    }

    /// Publishes a change that this node made, here and to the other nodes.
    pub(crate) fn publish(&self, change: Change) {
        self.publish_locally(change.clone());
        self.enqueue(Outgoing::Change(change));
    }

    fn enqueue(&self, message_out: Outgoing) {
        if let Some(outbox) = &*self.outbox.lock() {
            // Without the other end the store is closed.
            let _ = outbox.send(message_out);
        }
    }

    /// This node, as messages name it.
    pub(crate) fn node(&self) -> Uuid {
        self.node
    }

    /// Records whether messages of other nodes arrive.
    pub(crate) fn set_listening(&self, is_listening: bool) {
        self.is_listening.send_replace(is_listening);
    }

    /// Waits until messages of other nodes arrive, or it seems that they never will.
    pub(crate) async fn wait_until_listening(&self) {
        let mut is_listening = self.is_listening.subscribe();
        // After a timeout this node polls for changes.
        let _ = tokio::time::timeout(HEARD_MAX, is_listening.wait_for(|is_listening| *is_listening)).await;
    }

    /// A worker of this node.
    pub(crate) fn register_worker(&self, worker: Uuid) {
        self.workers.lock().insert(worker);
    }

    /// A worker of this node that has ended.
    pub(crate) fn forget_worker(&self, worker: Uuid) {
        self.workers.lock().remove(&worker);
    }

    /// Waits until the nodes of these workers have told their listeners everything that was published here. It does
    /// not wait long for a node that does not confirm: that node is lost, or its lease will expire.
    pub(crate) async fn wait_until_heard(&self, mut workers: BTreeSet<Uuid>) {
        workers.retain(|worker| !self.workers.lock().contains(worker));
        if workers.is_empty() {
            return;
        }
        if !*self.is_listening.borrow() {
            // Most likely the others do not listen either: by this time they have polled.
            return tokio::time::sleep(POLLED_BY).await;
        }
        let asked: Vec<Uuid> = workers.into_iter().take(WORKERS_MAX).collect();
        let (number, (answered, answer)) = (fastrand::u64(..), oneshot::channel());
        let question = Question { workers: asked.iter().copied().collect(), answered };
        self.questions.lock().insert(number, question);
        // It arrives after the changes: messages are sent in order.
        let message = Message::question(self.node, number, asked);
        self.enqueue(Outgoing::Message(Box::new(message)));
        if tokio::time::timeout(HEARD_MAX, answer).await.is_err() {
            tracing::debug!("another node did not confirm a stop in time");
        }
        self.questions.lock().remove(&number);
    }

    /// Answers a question of another node, or takes its answer.
    fn answer_node(&self, message: Message) {
        let Message { seq: number, asked, heard, .. } = message;
        let ours: Vec<Uuid> = {
            let workers = self.workers.lock();
            asked.into_iter().filter(|worker| workers.contains(worker)).collect()
        };
        if !ours.is_empty() {
            let answer = Message::answer(self.node, number, ours);
            self.enqueue(Outgoing::Message(Box::new(answer)));
        }
        let mut questions = self.questions.lock();
        if let Some(question) = questions.get_mut(&number) {
            question.workers.retain(|worker| !heard.contains(worker));
            if question.workers.is_empty()
                && let Some(Question { answered, .. }) = questions.remove(&number)
            {
                // The caller may have stopped waiting.
                let _ = answered.send(());
            }
        }
    }

    /// Ends the sending task once it has sent what is left.
    pub(crate) fn close(&self) {
        drop(self.outbox.lock().take());
    }

    /// Tells this node's listeners, in the order of each project's change sequence. A change of another node may
    /// arrive late. In that case listeners were already told that many rows changed, and only what was revoked and
    /// what is ready is left to tell.
    fn publish_locally(&self, mut change: Change) {
        let mut seen = self.seen.lock();
        if seen.len() >= SEEN_MAX && !seen.contains_key(&change.project) {
            seen.clear();
        }
        let last = seen.entry(change.project).or_default();
        if change.seq <= *last {
            change.seq = *last;
            change.rows = ChangedRows::These { written: Vec::new(), deleted: Vec::new() };
            (change.touched, change.moved_from, change.restated) = (Spans::default(), None, false);
            if change.revoked.is_empty() && !change.ready {
                return;
            }
        } else if change.seq > *last + 1 {
            change.rows = ChangedRows::Many;
            (change.touched, change.moved_from, change.restated) = (Spans::all(), Some(0), true);
        }
        *last = change.seq;
        for listener in self.listeners.read().iter() {
            listener(&change);
        }
    }

    /// Takes a message of another node. This node's own messages come back to it and are ignored.
    pub(crate) fn apply_message(&self, message: Message) {
        if message.node == self.node {
            return;
        }
        if message.project.is_none() {
            return self.answer_node(message);
        }
        if let Some(change) = message.into_change() {
            self.claimed_rows.forget(change.project, &change.touched);
            self.publish_locally(change);
        }
    }

    /// Compares what was published with the change sequences in the database, and publishes what was missed.
    pub(crate) async fn poll_changes(&self, database: &Database) -> Result<()> {
        let sql = "SELECT id, change_seq FROM rowmill.counters WHERE change_seq > 0";
        let found = database.read(sql, |tx, sql| Box::pin(tx.query(sql, &[]))).await?;
        for row in &found {
            let (project, seq) = (ProjectId::from_uuid(row.get(0)), unsigned(row.get(1)));
            let last = self.seen.lock().get(&project).copied();
            if last.is_none_or(|last| last < seq) {
                let missed = Change::of_all_rows(project, seq);
                self.publish_locally(Change { ready: true, told: true, ..missed });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rowmill_store::{Lane, Ticket};

    use super::*;
    use crate::change_message::to_messages;

    fn change(seq: u64, rows: ChangedRows, tickets: u64) -> Change {
        let project = ProjectId::from_uuid(Uuid::from_u128(1));
        let ticket = |position| Ticket { token: 7, lane: Lane { project, slot: 3 }, position };
        let touched = match &rows {
            ChangedRows::These { written, .. } => Spans::of(written.iter().map(|at| (*at, *at))),
            ChangedRows::Many => Spans::all(),
        };
        let revoked = (0..tickets).map(ticket).collect();
        Change {
            project,
            seq,
            rows,
            touched,
            moved_from: None,
            restated: false,
            revoked,
            ready: true,
            told: false,
        }
    }

    fn these(written: Vec<u64>) -> ChangedRows {
        ChangedRows::These { written, deleted: Vec::new() }
    }

    /// What another node hears of changes, in the order given.
    fn heard(changes: Vec<Change>) -> Vec<(u64, ChangedRows, usize)> {
        let (change_bus, _posted) = ChangeBus::new(Uuid::from_u128(2), Arc::default());
        let told: Arc<Mutex<Vec<Change>>> = Arc::default();
        let listening = Arc::clone(&told);
        change_bus.listen(Box::new(move |change| listening.lock().push(change.clone())));
        for text in changes.into_iter().flat_map(|change| to_messages(Uuid::from_u128(1), change)) {
            assert!(text.len() < 8_000, "{}", text.len());
            change_bus.apply_message(serde_json::from_str(&text).unwrap());
        }
        let told = told.lock();
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
