//! The last change of each project that this process knows of.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rowmill_model::{Offence, ProjectId};
use rowmill_store::{Change, StoredProject};

use crate::App;
use crate::auth::Caller;
use crate::error::{Error, Result};

/// How many projects' changes are remembered; then all are forgotten, and asked of the store.
const PROJECTS_MAX: usize = 10_000;
/// Where a reader says which changes it must see.
const SEQUENCE: &str = "X-Rowmill-Sequence";

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
    /// A number that every change made so far to a project's rows is counted in. Who hands it to
    /// [`App::project_since`] sees them, on whatever node.
    pub async fn sequence(&self, project: &str) -> Option<u64> {
        let id = ProjectId::parse(project)?;
        let known = self.sequences.projects().get(&id).copied();
        match known {
            Some(seq) => Some(seq),
            None => self.store.project(id).await.ok()?.map(|stored| stored.change_seq),
        }
    }

    /// A project with all the changes that a number counts. Whatever a write has answered is in the store,
    /// which every node reads: a number beyond that is none that a write was answered with.
    pub async fn project_since(
        &self,
        caller: Caller,
        project: &str,
        seq: Option<u64>,
    ) -> Result<StoredProject> {
        let stored = self.project(caller, project).await?;
        if seq.is_some_and(|seq| seq > stored.change_seq) {
            let words =
                "is beyond every change of this project: send the number that a write was answered with";
            return Err(Error::invalid(vec![Offence::new(SEQUENCE, words)]));
        }
        Ok(stored)
    }
}
