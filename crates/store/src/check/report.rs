//! What a check found.

use rowmill_model::ProjectId;
use serde::Serialize;

use crate::error::{Result, StoreError};

/// How many problems are kept; beyond it they are only counted.
const PROBLEMS_MAX: usize = 1_000;

/// Told how many rows were checked so far.
pub type OnRows<'a> = &'a (dyn Fn(u64) + Send + Sync);

/// What was checked, and what is wrong.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub ok: bool,
    pub place: String,
    pub teams: u64,
    pub keys: u64,
    pub projects: u64,
    pub rows: u64,
    pub cells: u64,
    /// How many problems there are; the list has the first ones.
    pub problem_count: u64,
    pub problems: Vec<Problem>,
    /// What is worth knowing and is no problem.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub kind: ProblemKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The storage itself: pages that are not what was written, structures that make no sense.
    Damaged,
    /// Something that is stored cannot be understood.
    Undecodable,
    /// A count that is not what counting gives.
    WrongCount,
    /// An index lacks something, or has too much.
    Index,
    /// A part without the whole that it belongs to.
    Stray,
}

impl ProblemKind {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Undecodable => "cannot be decoded",
            Self::WrongCount => "wrong count",
            Self::Index => "index",
            Self::Stray => "stray",
        }
    }
}

impl Report {
    pub(super) fn new(place: &str) -> Self {
        Self { ok: true, place: place.to_owned(), ..Self::default() }
    }

    pub(super) fn add(&mut self, kind: ProblemKind, project: Option<ProjectId>, message: String) {
        self.ok = false;
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { kind, project, message });
        }
    }

    pub(super) fn note(&mut self, words: String) {
        if self.notes.len() < PROBLEMS_MAX {
            self.notes.push(words);
        }
    }

    /// What was read, or nothing and a problem more if it is the storage that fails.
    pub(super) fn readable<T>(
        &mut self,
        project: Option<ProjectId>,
        what: &str,
        read: Result<T>,
    ) -> Result<Option<T>> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(failure @ (StoreError::Damaged(_) | StoreError::StorageFailed(_))) => {
                self.add(ProblemKind::Damaged, project, format!("{what} cannot be read: {failure}"));
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }
}
