//! Whom to ask of companies and people, and what comes of it.

use rowmill_model::{Spent, provider};

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Directory {
    Hunter,
    Apollo,
    Leadmagic,
}

/// What a directory knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry<T> {
    Found(T),
    /// It knows nothing of it.
    Miss,
    /// It needs more of the company than there is; it was not asked.
    Ineligible,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing<T> {
    pub entry: Entry<T>,
    /// What the directory says it took for it.
    pub spent: Spent,
}

impl Directory {
    pub const ALL: [Self; 3] = [Self::Hunter, Self::Apollo, Self::Leadmagic];

    /// The provider's id.
    pub fn id(self) -> &'static str {
        match self {
            Self::Hunter => provider::HUNTER.id,
            Self::Apollo => provider::APOLLO.id,
            Self::Leadmagic => provider::LEADMAGIC.id,
        }
    }

    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|directory| directory.id() == id)
    }
}
