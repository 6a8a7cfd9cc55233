//! The last change of each project that this process knows of.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use rowmill_model::ProjectId;
use rowmill_store::Change;

/// How many projects' changes are remembered; then all are forgotten, and asked of the store.
const PROJECTS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Sequences(Mutex<HashMap<ProjectId, u64>>);

impl Sequences {
    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, u64>> {
        self.0.lock()
    }

    pub(crate) fn get(&self, project: ProjectId) -> Option<u64> {
        self.projects().get(&project).copied()
    }

    pub(crate) fn note(&self, change: &Change) {
        let mut projects = self.projects();
        if projects.len() >= PROJECTS_MAX && !projects.contains_key(&change.project) {
            projects.clear();
        }
        let last = projects.entry(change.project).or_default();
        *last = change.seq.max(*last);
    }
}
