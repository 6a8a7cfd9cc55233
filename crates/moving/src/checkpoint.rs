//! The checkpoint of a move: how far it has come, saved in the target with every page.

use rowmill_model::ProjectId;
use rowmill_store::StoreError;
use rowmill_store::carry::{Carry, Key, Section};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// What is moved, and where it was when the move began.
    pub(crate) source: String,
    pub(crate) place: String,
    /// What was written last, and up to where.
    pub(crate) step: MoveStep,
    pub(crate) after: Option<Key>,
    /// Rows written so far.
    pub(crate) rows: u64,
}

/// One after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MoveStep {
    /// Saved under the name it had when the first checkpoints were written.
    #[serde(rename = "shelf")]
    Section(Section),
    /// A project itself, before its sections.
    Project(ProjectId),
}

impl MoveStep {
    /// Everything there is to do, in order.
    pub(crate) fn all(projects: &[ProjectId]) -> impl Iterator<Item = Self> {
        let of_project =
            |id: &ProjectId| std::iter::once(Self::Project(*id)).chain(Section::of(*id).map(Self::Section));
        Section::SHARED.into_iter().map(Self::Section).chain(projects.iter().flat_map(of_project))
    }
}

impl Checkpoint {
    /// Nothing is written yet.
    pub(crate) fn new(source: &dyn Carry) -> Self {
        Self {
            source: source.identity().to_owned(),
            place: source.place().to_owned(),
            step: MoveStep::Section(Section::Teams),
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
            StoreError::Damaged(format!("the saved progress of the move cannot be read: {error}"))
        })
    }
}
