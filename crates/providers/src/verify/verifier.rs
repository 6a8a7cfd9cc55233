//! Whom to ask whether an address takes mail.

use rowmill_model::provider;

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verifier {
    Hunter,
    Findymail,
    Leadmagic,
    Zerobounce,
    Neverbounce,
    Millionverifier,
}

impl Verifier {
    pub const ALL: [Self; 6] = [
        Self::Hunter,
        Self::Findymail,
        Self::Leadmagic,
        Self::Zerobounce,
        Self::Neverbounce,
        Self::Millionverifier,
    ];

    /// The provider's id.
    pub fn id(self) -> &'static str {
        match self {
            Self::Hunter => provider::HUNTER.id,
            Self::Findymail => provider::FINDYMAIL.id,
            Self::Leadmagic => provider::LEADMAGIC.id,
            Self::Zerobounce => provider::ZEROBOUNCE.id,
            Self::Neverbounce => provider::NEVERBOUNCE.id,
            Self::Millionverifier => provider::MILLIONVERIFIER.id,
        }
    }

    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verifier| verifier.id() == id)
    }
}
