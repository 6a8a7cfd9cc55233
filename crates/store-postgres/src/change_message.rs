//! Changes as the messages that nodes send each other with NOTIFY.

use rowmill_model::record::Slot;
use rowmill_model::{ProjectId, RowId};
use rowmill_store::{Change, ChangedRows, Lane, Spans, Ticket};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The server takes less than 8,000 bytes.
const MESSAGE_BYTES_MAX: usize = 7_900;
/// Tickets in one message: each takes some 40 bytes.
const REVOKED_MAX: usize = 100;
/// Runs of positions in one message: each takes some 20 bytes.
const RUNS_MAX: usize = 200;

/// A change on its way to another node.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Message {
    #[serde(rename = "n")]
    pub(crate) node: Uuid,
    /// `None` in a message that is no change: an echo, a question whether all was heard, or the answer.
    #[serde(rename = "p")]
    pub(crate) project: Option<Uuid>,
    /// The change sequence, or the number of an echo or a question.
    #[serde(rename = "s")]
    pub(crate) seq: u64,
    #[serde(rename = "r")]
    ready: bool,
    /// `None` if there are too many to name.
    #[serde(rename = "w")]
    written: Option<Vec<u64>>,
    #[serde(rename = "d")]
    deleted: Vec<Uuid>,
    /// Runs of positions; `None` if there are too many to name. An older node leaves it out.
    #[serde(rename = "o", default)]
    touched: Option<Vec<(u64, u64)>>,
    /// An older node leaves it out: any row may have moved then.
    #[serde(rename = "m", default = "from_the_first")]
    moved_from: Option<u64>,
    #[serde(rename = "a", default)]
    restated: bool,
    /// Whether deliveries to webhooks were written.
    #[serde(rename = "e", default, skip_serializing_if = "std::ops::Not::not")]
    told: bool,
    #[serde(rename = "t")]
    revoked: Vec<(u64, Slot, u64)>,
    /// Workers whose nodes are to confirm that they have heard everything up to here.
    #[serde(rename = "q", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) asked: Vec<Uuid>,
    /// Workers whose node confirms it.
    #[serde(rename = "h", default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) heard: Vec<Uuid>,
}

impl Message {
    /// A message that a node sends to itself, to see whether messages arrive.
    pub(crate) fn echo(node: Uuid, number: u64) -> Self {
        Self { node, seq: number, ..Self::default() }
    }

    /// Asks the nodes of these workers to confirm that they have heard everything that was sent before.
    pub(crate) fn question(node: Uuid, number: u64, asked: Vec<Uuid>) -> Self {
        Self { node, seq: number, asked, ..Self::default() }
    }

    /// Confirms it, for these workers.
    pub(crate) fn answer(node: Uuid, number: u64, heard: Vec<Uuid>) -> Self {
        Self { node, seq: number, heard, ..Self::default() }
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The change that the message tells of; `None` if it is about something else.
    pub(crate) fn into_change(self) -> Option<Change> {
        let project = ProjectId::from_uuid(self.project?);
        let Self { seq, ready, written, deleted, touched, moved_from, restated, revoked, told, .. } = self;
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
        Some(Change { project, seq, rows, touched, moved_from, restated, revoked, ready, told })
    }
}

#[expect(clippy::unnecessary_wraps, reason = "serde wants the field's type")]
fn from_the_first() -> Option<u64> {
    Some(0)
}

/// A change as messages, each small enough for the server.
pub(crate) fn to_messages(node: Uuid, change: Change) -> Vec<String> {
    let Change { project, seq, rows, touched, moved_from, restated, revoked, ready, told } = change;
    let mut message = Message {
        node,
        project: Some(project.uuid()),
        seq,
        ready,
        touched: Some(touched.tidied().iter().collect()).filter(|runs: &Vec<_>| runs.len() <= RUNS_MAX),
        moved_from,
        restated,
        told,
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
        let mut text = message.to_json();
        if text.len() > MESSAGE_BYTES_MAX {
            (message.written, message.deleted) = (None, Vec::new());
            text = message.to_json();
        }
        if text.len() > MESSAGE_BYTES_MAX {
            message.touched = None;
            text = message.to_json();
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
