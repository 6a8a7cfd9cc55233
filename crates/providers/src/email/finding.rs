//! What comes of a search for an address.

use rowmill_model::Spent;

/// What a finder knows of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    Hit(Hit),
    /// Nothing, or nothing it may tell.
    Miss,
    /// The finder needs more of the person than there is; it was not asked.
    Ineligible,
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub finding: Finding,
    /// What the finder says it took for it, also where it found nothing.
    pub spent: Spent,
}

impl From<Finding> for Search {
    fn from(finding: Finding) -> Self {
        Self { finding, spent: Spent::NOTHING }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub email: String,
    /// Whether the finder stands for it: a catch-all domain's, a risky or a guessed address is not.
    pub verified: bool,
    /// 0 to 100, where the finder says one.
    pub confidence: Option<u8>,
}

/// A hit if there is an address, else a miss.
pub(super) fn hit_or_miss(email: Option<String>, verified: bool) -> Finding {
    email.map_or(Finding::Miss, |email| Finding::Hit(Hit { email, verified, confidence: None }))
}
