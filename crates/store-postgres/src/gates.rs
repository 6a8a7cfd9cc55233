//! One writer a project and node.
//!
//! Writers of one project wait for each other in any case, at the lock on its counters. Here they wait without
//! holding a connection, and what they did is told in the order they did it.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rowmill_model::ProjectId;
use tokio::sync::OwnedMutexGuard;

#[derive(Debug, Default)]
pub(crate) struct Gates(Mutex<HashMap<ProjectId, Weak<tokio::sync::Mutex<()>>>>);

/// Gates that were never closed again are forgotten when there are this many.
const GATES_MAX: usize = 1_000;

impl Gates {
    /// Waits until no other writer of this node is at these projects, taking them in the order of their ids.
    pub(crate) async fn enter(
        &self,
        projects: impl IntoIterator<Item = ProjectId>,
    ) -> Vec<OwnedMutexGuard<()>> {
        let projects: BTreeSet<ProjectId> = projects.into_iter().collect();
        let mut entered = Vec::with_capacity(projects.len());
        for project in projects {
            entered.push(self.gate(project).lock_owned().await);
        }
        entered
    }

    fn gate(&self, project: ProjectId) -> Arc<tokio::sync::Mutex<()>> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(&project).and_then(Weak::upgrade) {
            return gate;
        }
        if gates.len() >= GATES_MAX {
            gates.retain(|_, gate| gate.strong_count() > 0);
        }
        let gate = Arc::default();
        gates.insert(project, Arc::downgrade(&gate));
        gate
    }
}
