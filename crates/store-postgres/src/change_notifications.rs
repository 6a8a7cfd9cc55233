//! LISTEN and NOTIFY: sends this node's changes to the other nodes, and receives theirs.

use std::sync::Arc;
use std::time::Duration;

use rowmill_store::Result;
use tokio::sync::mpsc;
use tokio_postgres::AsyncMessage;

use crate::change_bus::{ChangeBus, Outgoing};
use crate::change_message::{Message, to_messages};
use crate::connect::Server;
use crate::database::{CommitDoubt, Database};
use crate::server_error::backend;

const CHANNEL: &str = "rowmill_changes";
/// Messages sent together.
const MESSAGES_MAX: usize = 256;
/// How often a node polls for changes while it cannot listen.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// How often it polls while it listens, in case a message got lost.
const POLL_SELDOM: Duration = Duration::from_secs(30);
/// A connection on which nothing arrives for so long, not even this node's own echo, cannot listen.
const ECHO_MAX: Duration = Duration::from_secs(5);

/// Sends changes to the other nodes until the store is closed.
pub(crate) async fn send(
    change_bus: Arc<ChangeBus>,
    database: Arc<Database>,
    mut outbound: mpsc::UnboundedReceiver<Outgoing>,
) {
    let mut outgoing = Vec::new();
    while outbound.recv_many(&mut outgoing, MESSAGES_MAX).await > 0 {
        let written = outgoing.drain(..).flat_map(|message_out| match message_out {
            Outgoing::Change(change) => to_messages(change_bus.node(), change),
            Outgoing::Message(message) => vec![message.to_json()],
        });
        let messages: Vec<String> = written.collect();
        if let Err(error) = notify(&database, messages).await {
            tracing::warn!(%error, "could not notify other nodes of a change; they will find it by polling");
        }
    }
}

async fn notify(database: &Database, messages: Vec<String>) -> Result<()> {
    database
        .write(CommitDoubt::Repeat, messages, |tx, messages| {
            Box::pin(async move {
                let sql = "SELECT pg_notify($1, message) FROM unnest($2::text[]) message";
                tx.query(sql, &[&CHANNEL, messages]).await.map(|_| ())
            })
        })
        .await
}

/// Receives the changes of other nodes for as long as the store is open. It polls after each new connection and now
/// and then. Where LISTEN does not work, as behind a pooler in transaction mode, it polls every second.
pub(crate) async fn receive(change_bus: Arc<ChangeBus>, server: Server, database: Arc<Database>) {
    let mut has_warned = false;
    loop {
        let outcome = listen(&change_bus, &server, &database).await;
        change_bus.set_listening(false);
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

/// Ends with an error when the connection is lost, and without one when nothing arrives on it.
async fn listen(change_bus: &ChangeBus, server: &Server, database: &Database) -> Result<()> {
    let (sender, mut arriving) = mpsc::unbounded_channel();
    let client = server.connect(sender).await?;
    client.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(backend)?;
    // Polling comes after LISTEN, so that no change falls in between.
    poll_changes(change_bus, database).await;
    loop {
        let echo = Message::echo(change_bus.node(), fastrand::u64(..));
        // If this fails, the echo does not arrive.
        let _ = notify(database, vec![echo.to_json()]).await;
        match wait_for_echo(change_bus, &mut arriving, echo.seq).await {
            Arrival::Message => change_bus.set_listening(true),
            Arrival::Nothing => return Ok(()),
            // Using the connection says why it is lost.
            Arrival::Lost => return client.batch_execute("").await.map_err(backend),
        }
        if tokio::time::timeout(POLL_SELDOM, apply_all(change_bus, &mut arriving)).await.is_ok() {
            return client.batch_execute("").await.map_err(backend);
        }
        poll_changes(change_bus, database).await;
    }
}

type Arriving = mpsc::UnboundedReceiver<AsyncMessage>;

/// What came of waiting for a message.
enum Arrival {
    Message,
    Nothing,
    /// The connection is lost.
    Lost,
}

/// Applies messages until the one arrives that this node has sent to itself.
async fn wait_for_echo(change_bus: &ChangeBus, arriving: &mut Arriving, number: u64) -> Arrival {
    loop {
        let Ok(message) = tokio::time::timeout(ECHO_MAX, arriving.recv()).await else {
            return Arrival::Nothing;
        };
        let Some(message) = message else { return Arrival::Lost };
        let Some(message) = read_message(&message) else { continue };
        let is_echo = message.project.is_none() && message.seq == number;
        change_bus.apply_message(message);
        if is_echo {
            return Arrival::Message;
        }
    }
}

/// Applies messages until the connection is lost.
async fn apply_all(change_bus: &ChangeBus, arriving: &mut Arriving) {
    while let Some(message) = arriving.recv().await {
        if let Some(message) = read_message(&message) {
            change_bus.apply_message(message);
        }
    }
}

fn read_message(message: &AsyncMessage) -> Option<Message> {
    let AsyncMessage::Notification(notification) = message else { return None };
    match serde_json::from_str(notification.payload()) {
        Ok(message) => Some(message),
        Err(error) => {
            tracing::debug!(%error, "received an invalid message from another node");
            None
        }
    }
}
