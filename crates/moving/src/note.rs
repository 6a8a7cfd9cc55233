//! How far a move has come, as it is noted in the target with every page.

use rowmill_model::ProjectId;
use rowmill_store::StoreError;
use rowmill_store::carry::{Carry, Key, Shelf};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    /// What is moved, and where it was when the move began.
    pub(crate) source: String,
    pub(crate) place: String,
    /// What was written last, and up to where.
    pub(crate) step: Step,
    pub(crate) after: Option<Key>,
    /// Rows written so far.
    pub(crate) rows: u64,
}

/// One after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Step {
    Shelf(Shelf),
    /// A project itself, before its shelves.
    Project(ProjectId),
}

impl Step {
    /// Everything there is to do, in order.
    pub(crate) fn all(projects: &[ProjectId]) -> impl Iterator<Item = Self> {
        let of_project =
            |id: &ProjectId| std::iter::once(Self::Project(*id)).chain(Shelf::of(*id).map(Self::Shelf));
        Shelf::SHARED.into_iter().map(Self::Shelf).chain(projects.iter().flat_map(of_project))
    }
}

impl Note {
    /// Nothing is written yet.
    pub(crate) fn new(source: &dyn Carry) -> Self {
        Self {
            source: source.identity().to_owned(),
            place: source.place().to_owned(),
            step: Step::Shelf(Shelf::Teams),
            after: None,
            rows: 0,
        }
    }

    pub(crate) fn to_text(&self) -> String {
        // It has nothing that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn parse(text: &str) -> Result<Self, StoreError> {
        serde_json::from_str(text).map_err(|error| {
            StoreError::Damaged(format!("how far the move had come cannot be read: {error}"))
        })
    }
}
