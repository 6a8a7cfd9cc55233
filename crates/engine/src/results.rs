//! The channels on which finished cells reach the settler.

use std::sync::Arc;
use std::time::Duration;

use rowmill_model::Project;
use rowmill_store::Settlement;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// Writers at once. A project's results all go to the same one, so none waits for another's transaction.
const WRITERS: usize = 4;

/// Where results come thick and fast they are gathered for so long, and so are places that fall free: a
/// transaction costs much the same whether it is about ten cells or two hundred.
pub(crate) const BATCH_WINDOW: Duration = Duration::from_millis(15);

/// A cell's result, and the project it belongs to where that is known.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) settlement: Settlement,
    pub(crate) project: Option<Arc<Project>>,
}

/// Where results are handed in.
#[derive(Debug)]
pub(crate) struct ResultSenders(Vec<UnboundedSender<Finished>>);

impl ResultSenders {
    /// One outlet for each writer, and their other ends.
    pub(crate) fn new() -> (Self, Vec<UnboundedReceiver<Finished>>) {
        let (senders, results) = (0..WRITERS).map(|_| mpsc::unbounded_channel()).unzip();
        (Self(senders), results)
    }

    pub(crate) fn send(&self, finished: Finished) {
        let writer = finished.settlement.ticket.lane.project.uuid().as_u128() % WRITERS as u128;
        if let Some(sender) = usize::try_from(writer).ok().and_then(|writer| self.0.get(writer)) {
            // The writer is gone only when the whole engine is.
            let _ = sender.send(finished);
        }
    }
}
