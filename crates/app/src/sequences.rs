//! The last change of each project that this process knows of.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rowmill_model::ProjectId;
use rowmill_store::Change;

use crate::App;

/// How many projects' changes are remembered; then all are forgotten, and asked of the store.
const PROJECTS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Sequences(Mutex<HashMap<ProjectId, u64>>);

impl Sequences {
    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

impl App {
    /// A number that every change made so far to a project's rows is counted in. It is in the store before a
    /// write is answered, and every node reads that store: no read can miss what the number counts.
    pub async fn sequence(&self, project: &str) -> Option<u64> {
        let id = ProjectId::parse(project)?;
        let known = self.sequences.projects().get(&id).copied();
        match known {
            Some(seq) => Some(seq),
            None => self.store.project(id).await.ok()?.map(|stored| stored.change_seq),
        }
    }
}
