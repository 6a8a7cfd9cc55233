//! The caller of a use case: somebody with an API key, or anyone.

use rowmill_model::{KeyId, TeamId};
use uuid::Uuid;

use crate::error::{Error, Result};

/// Whoever holds a valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Principal {
    pub team: TeamId,
    pub key: KeyId,
    /// The session of a browser that stands for the key, if one does.
    pub session: Option<Uuid>,
}

/// Whoever calls: the holder of a key, or, where a project is open, anyone at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caller {
    Key(Principal),
    /// Named a team, but brought no key.
    Anyone(TeamId),
}

impl Caller {
    pub fn team(self) -> TeamId {
        match self {
            Self::Key(principal) => principal.team,
            Self::Anyone(team) => team,
        }
    }

    /// The holder of a key, which all but open reads need.
    pub(crate) fn with_key(self) -> Result<Principal> {
        match self {
            Self::Key(principal) => Ok(principal),
            Self::Anyone(_) => Err(Error::Unauthenticated),
        }
    }
}
