//! What an API key is restricted to.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::address_range::AddressRange;
use crate::ids::ProjectId;
use crate::scope::Scopes;

/// What a key is restricted to, beside its time. By default, to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Restrictions {
    /// Not written down where it is all, so that such a key also gets scopes that are added later.
    #[serde(default = "all", skip_serializing_if = "Scopes::is_all")]
    pub scopes: Scopes,
    /// The only projects there are for the key, in order; `None` is all of the team, those made later included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects: Option<Vec<ProjectId>>,
    /// Where it may be used from; anywhere if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_from: Vec<AddressRange>,
}

impl Default for Restrictions {
    fn default() -> Self {
        Self { scopes: all(), projects: None, allow_from: Vec::new() }
    }
}

impl Restrictions {
    /// What is stored; nothing where there are none.
    pub fn to_stored(&self) -> Option<String> {
        if *self == Self::default() { None } else { serde_json::to_string(self).ok() }
    }

    pub fn from_stored(text: Option<&str>) -> serde_json::Result<Self> {
        text.map_or_else(|| Ok(Self::default()), serde_json::from_str)
    }

    pub fn allows_project(&self, project: ProjectId) -> bool {
        self.projects.as_ref().is_none_or(|projects| projects.contains(&project))
    }

    pub fn allows_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.allow_from.is_empty() || self.allow_from.iter().any(|range| range.contains(address))
    }
}

fn all() -> Scopes {
    Scopes::ALL
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_stored_is_read_again() {
        assert_eq!(Restrictions::default().to_stored(), None);
        assert_eq!(Restrictions::from_stored(None).unwrap(), Restrictions::default());
        let restrictions = Restrictions {
            scopes: Scopes::READ.and(Scopes::RUN),
            projects: Some(vec![ProjectId::from_uuid(Uuid::from_u128(7))]),
            allow_from: vec![AddressRange::parse("10.0.0.0/8").unwrap()],
        };
        let stored = restrictions.to_stored().unwrap();
        assert_eq!(Restrictions::from_stored(Some(&stored)).unwrap(), restrictions);
        assert!(Restrictions::from_stored(Some("{\"more\": 1}")).is_err());
    }

    #[test]
    fn an_address_is_allowed_in_every_spelling() {
        let restrictions = Restrictions {
            allow_from: vec![AddressRange::parse("10.0.0.0/8").unwrap(), AddressRange::parse("::1").unwrap()],
            ..Restrictions::default()
        };
        let check = |address: &str, allowed: bool| {
            assert_eq!(restrictions.allows_address(address.parse().unwrap()), allowed, "{address}");
        };
        check("10.1.2.3", true);
        check("::ffff:10.1.2.3", true);
        check("::1", true);
        check("127.0.0.1", false);
        assert!(Restrictions::default().allows_address("192.0.2.1".parse().unwrap()));
    }
}
