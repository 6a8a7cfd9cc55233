//! The caller of a use case: somebody with an API key, or anyone.

use rowmill_model::{KeyId, Scopes, TeamId};
use rowmill_store::ApiKey;
use uuid::Uuid;

use crate::error::{Error, Result};

/// Whoever holds a valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Principal {
    pub team: TeamId,
    pub key: KeyId,
    /// The session of a browser that stands for the key, if one does.
    pub session: Option<Uuid>,
    /// What the key may do.
    pub scopes: Scopes,
    /// Whether the key is restricted to some projects. Which ones is looked up where it matters.
    pub is_limited: bool,
}

impl Principal {
    pub(crate) fn of(key: &ApiKey, session: Option<Uuid>) -> Self {
        let ApiKey { id, team, restrictions, .. } = key;
        let is_limited = restrictions.projects.is_some();
        Self { team: *team, key: *id, session, scopes: restrictions.scopes, is_limited }
    }
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

    /// What the caller may do. Without a key that is reading.
    pub fn scopes(self) -> Scopes {
        match self {
            Self::Key(principal) => principal.scopes,
            Self::Anyone(_) => Scopes::READ,
        }
    }

    /// Refuses a caller whose key lacks one of these.
    pub fn needs(self, scopes: Scopes) -> Result<()> {
        self.scopes().lacks(scopes).map_or(Ok(()), |missing| Err(Error::MissingScope(missing)))
    }

    /// Refuses a key that is limited to some projects, for what concerns the whole team.
    pub(crate) fn for_whole_team(self) -> Result<Principal> {
        let principal = self.with_key()?;
        if principal.is_limited { Err(Error::LimitedToProjects) } else { Ok(principal) }
    }

    /// Whether a project that does not exist yet would be in reach of the caller.
    pub fn reaches_new_projects(self) -> bool {
        self.for_whole_team().is_ok()
    }

    /// The holder of a key, which all but open reads need.
    pub(crate) fn with_key(self) -> Result<Principal> {
        match self {
            Self::Key(principal) => Ok(principal),
            Self::Anyone(_) => Err(Error::Unauthenticated),
        }
    }
}
