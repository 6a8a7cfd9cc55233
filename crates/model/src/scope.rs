//! Scopes: what an API key may do.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// One thing that an API key may do. None includes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Read tables, rows, runs and exports.
    Read,
    /// Write and delete rows and cells, and import files.
    Write,
    /// Start and stop runs, which may cost money.
    Run,
    /// Make, change and delete projects, columns and views.
    Schema,
    /// Keys, sessions, the team, provider credentials and secrets.
    Admin,
}

impl Scope {
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Run, Self::Schema, Self::Admin];

    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Run => "run",
            Self::Schema => "schema",
            Self::Admin => "admin",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl JsonSchema for Scope {
    fn schema_name() -> Cow<'static, str> {
        "Scope".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::word) })
    }
}

/// A set of scopes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<Scope>", into = "Vec<Scope>")]
pub struct Scopes(u8);

impl Scopes {
    pub const NONE: Self = Self(0);
    pub const READ: Self = Self(Scope::Read.bit());
    pub const WRITE: Self = Self(Scope::Write.bit());
    pub const RUN: Self = Self(Scope::Run.bit());
    pub const SCHEMA: Self = Self(Scope::Schema.bit());
    pub const ADMIN: Self = Self(Scope::Admin.bit());
    pub const ALL: Self = Self::READ.and(Self::WRITE).and(Self::RUN).and(Self::SCHEMA).and(Self::ADMIN);

    /// All of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Without those of the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn is_all(&self) -> bool {
        *self == Self::ALL
    }

    /// In the order in which they are listed.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }

    /// The first of these that is missing here.
    pub fn lacks(self, wanted: Self) -> Option<Scope> {
        wanted.without(self).iter().next()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        scopes.into_iter().fold(Self::NONE, |all, scope| Self(all.0 | scope.bit()))
    }
}

impl From<Vec<Scope>> for Scopes {
    fn from(scopes: Vec<Scope>) -> Self {
        scopes.into_iter().collect()
    }
}

impl From<Scopes> for Vec<Scope> {
    fn from(scopes: Scopes) -> Self {
        scopes.iter().collect()
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_says_what_is_missing() {
        let check = |has: Scopes, wanted: Scopes, missing: Option<Scope>| {
            assert_eq!(has.lacks(wanted), missing, "{has:?} {wanted:?}");
        };
        check(Scopes::ALL, Scopes::ALL, None);
        check(Scopes::READ, Scopes::NONE, None);
        check(Scopes::READ, Scopes::WRITE, Some(Scope::Write));
        check(Scopes::RUN, Scopes::RUN.and(Scopes::SCHEMA), Some(Scope::Schema));
        check(Scopes::ADMIN, Scopes::READ, Some(Scope::Read));
        assert_eq!(Scope::ALL.into_iter().collect::<Scopes>(), Scopes::ALL);
        for scope in Scope::ALL {
            assert_eq!(Scope::parse(scope.word()), Some(scope));
        }
    }
}
