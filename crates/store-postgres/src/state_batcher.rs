//! Batches lookups of project states: one query answers all callers who wait at the same time.
//!
//! Almost every request asks for its project first. While one question is under way the next callers gather,
//! and one question answers them all: what they get was read after they asked.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rowmill_model::ProjectId;
use rowmill_store::{Result, StoreError};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::database::Database;
use crate::project_state::{self, State};

/// Callers answered at once.
const CALLERS_MAX: usize = 256;

#[derive(Debug)]
pub(crate) struct StateBatcher {
    callers: mpsc::UnboundedSender<StateRequest>,
    database: Arc<Database>,
}

#[derive(Debug)]
pub(crate) struct StateRequest {
    project: ProjectId,
    answer: oneshot::Sender<Result<Option<State>>>,
}

impl StateBatcher {
    pub(crate) fn new(database: Arc<Database>) -> (Self, mpsc::UnboundedReceiver<StateRequest>) {
        let (callers_in, callers) = mpsc::unbounded_channel();
        (Self { callers: callers_in, database }, callers)
    }

    /// The state of a project now; `None` if there is none. A caller that comes while a query hangs waits for no longer
    /// than that query, and not for its own as well.
    pub(crate) async fn state(&self, project: ProjectId) -> Result<Option<State>> {
        let (answer, answered) = oneshot::channel();
        self.callers.send(StateRequest { project, answer }).map_err(|_| StoreError::Closed)?;
        self.database.within_wait_max(answered).await?.unwrap_or(Err(StoreError::Closed))
    }
}

/// Answers callers for as long as there are any.
pub(crate) async fn serve(database: Arc<Database>, mut callers: mpsc::UnboundedReceiver<StateRequest>) {
    let mut waiting = Vec::new();
    while callers.recv_many(&mut waiting, CALLERS_MAX).await > 0 {
        let ids: BTreeSet<Uuid> = waiting.iter().map(|caller| caller.project.uuid()).collect();
        let found = project_state::states(&database, ids.into_iter().collect()).await;
        let found: Result<HashMap<ProjectId, State>> =
            found.map(|states| states.into_iter().map(|state| (state.id, state)).collect());
        for StateRequest { project, answer } in waiting.drain(..) {
            // Whoever went away needs no answer.
            let _ = answer.send(match &found {
                Ok(states) => Ok(states.get(&project).cloned()),
                Err(failure) => Err(failure.again()),
            });
        }
    }
}
