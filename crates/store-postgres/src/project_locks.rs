//! Locks of projects inside this process: one writer a project and node.
//!
//! Writers of one project wait for each other in any case, at the lock on its counters. Here they wait without
//! holding a connection, and what they did is told in the order they did it.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rowmill_model::ProjectId;
use tokio::sync::OwnedMutexGuard;

#[derive(Debug, Default)]
pub(crate) struct ProjectLocks(Mutex<HashMap<ProjectId, Weak<tokio::sync::Mutex<()>>>>);

/// Locks that nobody holds are dropped when there are this many.
const LOCKS_MAX: usize = 1_000;

impl ProjectLocks {
    /// Waits until no other writer of this node is at these projects, taking them in the order of their ids.
    pub(crate) async fn lock(
        &self,
        projects: impl IntoIterator<Item = ProjectId>,
    ) -> Vec<OwnedMutexGuard<()>> {
        let projects: BTreeSet<ProjectId> = projects.into_iter().collect();
        let mut locked = Vec::with_capacity(projects.len());
        for project in projects {
            locked.push(self.project_lock(project).lock_owned().await);
        }
        locked
    }

    fn project_lock(&self, project: ProjectId) -> Arc<tokio::sync::Mutex<()>> {
        let mut project_locks = self.0.lock();
        if let Some(project_lock) = project_locks.get(&project).and_then(Weak::upgrade) {
            return project_lock;
        }
        if project_locks.len() >= LOCKS_MAX {
            project_locks.retain(|_, project_lock| project_lock.strong_count() > 0);
        }
        let project_lock = Arc::default();
        project_locks.insert(project, Arc::downgrade(&project_lock));
        project_lock
    }
}
