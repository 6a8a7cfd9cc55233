//! The protocol of Chrome's developer tools, over a pair of pipes: JSON messages, each ended by a zero byte.

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::failure::{Failure, FailureKind};

/// A page at its limit, with every character escaped, is shorter.
const MESSAGE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Messages that wait to be read. The browser waits when there are more.
const QUEUE_LEN: usize = 2;

/// An event, or the answer to a command.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    /// Of the command that is answered.
    pub(super) id: Option<u64>,
    #[serde(default)]
    pub(super) method: String,
    #[serde(default)]
    pub(super) params: Value,
    result: Option<Value>,
    error: Option<CommandError>,
}

#[derive(Debug, Deserialize)]
struct CommandError {
    #[serde(default)]
    message: String,
}

impl Message {
    /// What a command came to.
    pub(super) fn outcome(self) -> Result<Value, Failure> {
        match self.error {
            None => Ok(self.result.unwrap_or_default()),
            Some(error) => {
                let words: String = error.message.chars().take(200).collect();
                Err(Failure::transient(format!("The browser refused a command: {words}.")))
            }
        }
    }
}

/// Sends commands and receives events.
#[derive(Debug)]
pub(super) struct DevTools {
    input: ChildStdin,
    messages: mpsc::Receiver<Message>,
    reader: JoinHandle<()>,
    /// The tab that commands are for; none is the browser itself.
    session: Option<String>,
    last_id: u64,
}

impl DevTools {
    pub(super) fn new(input: ChildStdin, output: ChildStdout) -> Self {
        let (sender, messages) = mpsc::channel(QUEUE_LEN);
        let reader = tokio::spawn(read(output, sender));
        Self { input, messages, reader, session: None, last_id: 0 }
    }

    pub(super) fn attach(&mut self, session: String) {
        self.session = Some(session);
    }

    /// Sends a command and says its id, by which the answer is known.
    pub(super) async fn send(&mut self, method: &str, params: Value) -> Result<u64, Failure> {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if let (Some(session), Some(fields)) = (&self.session, message.as_object_mut()) {
            fields.insert("sessionId".to_owned(), session.as_str().into());
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).await.map_err(|_| gone())?;
        Ok(self.last_id)
    }

    /// The next event or answer. May be dropped and called again without losing any.
    pub(super) async fn next(&mut self) -> Result<Message, Failure> {
        self.messages.recv().await.ok_or_else(gone)
    }

    /// Sends a command and waits for its answer. Events that come before it are passed over.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let id = self.send(method, params).await?;
        loop {
            let message = self.next().await?;
            if message.id == Some(id) {
                return message.outcome();
            }
        }
    }
}

impl Drop for DevTools {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Reads messages until there are no more, or one is too long.
async fn read(output: ChildStdout, messages: mpsc::Sender<Message>) {
    let mut output = BufReader::new(output);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = (&mut output).take(MESSAGE_BYTES_MAX).read_until(0, &mut bytes).await;
        if read.is_err() || bytes.pop() != Some(0) {
            return;
        }
        // The browser writes JSON; what is none is not for us.
        let Ok(message) = serde_json::from_slice(&bytes) else { continue };
        if messages.send(message).await.is_err() {
            return;
        }
    }
}

fn gone() -> Failure {
    Failure::new(FailureKind::InvalidOutput, "The page could not be rendered: the browser ended.")
        .with_transient(true)
}
