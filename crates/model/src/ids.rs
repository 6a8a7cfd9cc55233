//! Identifiers, and the many spellings in which they are taken.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A UUID that is written `<prefix><32 lower-case hex>` and read with or without its prefix, with or
/// without hyphens, in any letter case.
macro_rules! prefixed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &str = $prefix;

            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// Reads an id in any accepted spelling; `None` for anything else.
            pub fn parse(text: &str) -> Option<Self> {
                let bare = match text.get(..$prefix.len()) {
                    Some(head) if head.eq_ignore_ascii_case($prefix) => text.get($prefix.len()..)?,
                    _ => text,
                };
                // Uuid also reads braces and URNs; the contract does not.
                if bare.len() != 32 && bare.len() != 36 {
                    return None;
                }
                Uuid::try_parse(bare).ok().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                f.write_str(self.0.as_simple().encode_lower(&mut Uuid::encode_buffer()))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| serde::de::Error::custom(concat!("not a ", $prefix, " id")))
            }
        }
    };
}

prefixed_id!(
    /// A project's id, written `proj_<32 hex>`.
    ProjectId,
    "proj_"
);
prefixed_id!(
    /// A row's id, written `row_<32 hex>`.
    RowId,
    "row_"
);
prefixed_id!(
    /// A view's id, written `view_<32 hex>`.
    ViewId,
    "view_"
);
prefixed_id!(
    /// An API key's id, written `key_<32 hex>`. It is no secret.
    KeyId,
    "key_"
);
prefixed_id!(
    /// The id of an import that runs in the background, written `imp_<32 hex>`.
    ImportId,
    "imp_"
);
prefixed_id!(
    /// The id of an outbound webhook, written `hook_<32 hex>`.
    WebhookId,
    "hook_"
);
prefixed_id!(
    /// The id of an inbound hook, written `inb_<32 hex>`. It is no secret.
    HookId,
    "inb_"
);

/// A run's id, written `run_<number>`: the runs of a project are numbered from 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RunId(pub u64);

impl RunId {
    pub const PREFIX: &str = "run_";

    /// Reads an id with or without its prefix, in any letter case; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let bare = match text.get(..Self::PREFIX.len()) {
            Some(head) if head.eq_ignore_ascii_case(Self::PREFIX) => text.get(Self::PREFIX.len()..)?,
            _ => text,
        };
        // One number has one spelling.
        let is_number = bare.bytes().all(|byte| byte.is_ascii_digit()) && !bare.starts_with('0');
        bare.parse().ok().filter(|_| is_number).map(Self)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

/// A team's id: a plain UUID, because it is part of the webhook address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TeamId(pub Uuid);

impl fmt::Display for TeamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

/// A column's id: `col_` and 12 alphanumerics, or one of the reserved words.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ColumnId(Box<str>);

impl ColumnId {
    /// The input column every project has.
    pub const TRIGGER: &str = "_trigger";
    /// The column that follows a guest's approval status.
    pub const GUEST_STATUS: &str = "guest_status";
    pub const RANDOM_LEN: usize = 12;

    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    pub fn trigger() -> Self {
        Self::new(Self::TRIGGER)
    }

    pub fn guest_status() -> Self {
        Self::new(Self::GUEST_STATUS)
    }

    /// Makes an id out of 12 random bytes.
    pub fn from_random(bytes: [u8; Self::RANDOM_LEN]) -> Self {
        const ALPHABET: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01";
        let mut text = String::with_capacity(4 + Self::RANDOM_LEN);
        text.push_str("col_");
        text.extend(
            bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte & 63))).map(|c| char::from(*c)),
        );
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_trigger(&self) -> bool {
        &*self.0 == Self::TRIGGER
    }
}

impl fmt::Display for ColumnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for ColumnId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A team's short name in paths: `[a-z0-9][a-z0-9-]{0,62}`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slug(String);

impl Slug {
    pub const LEN_MAX: usize = 63;

    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let first_fits = bytes.first().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let all_fit = bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-');
        (first_fits && all_fit && bytes.len() <= Self::LEN_MAX).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_id_is_one_id() {
        let hex = "0190f0e0a1b27c3d8e4f0123456789ab";
        let id = RowId::parse(hex).unwrap();
        for spelling in [
            format!("row_{hex}"),
            format!("ROW_{}", hex.to_uppercase()),
            "0190f0e0-a1b2-7c3d-8e4f-0123456789ab".to_owned(),
            "row_0190F0E0-a1b2-7c3d-8e4f-0123456789AB".to_owned(),
        ] {
            assert_eq!(RowId::parse(&spelling), Some(id), "{spelling}");
        }
        assert_eq!(id.to_string(), format!("row_{hex}"));
    }

    #[test]
    fn what_is_no_id_is_none() {
        let hex = "0190f0e0a1b27c3d8e4f0123456789ab";
        for text in [
            "",
            "row_",
            "projects",
            &format!("proj_{hex}"),
            &format!("{{{hex}}}"),
            &format!("urn:uuid:{hex}"),
            &hex[1..],
            "rowé",
        ] {
            assert_eq!(RowId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_slug_is_lower_case_and_starts_with_a_letter_or_digit() {
        for good in ["a", "0", "team-1", &"a".repeat(63)] {
            assert!(Slug::parse(good).is_some(), "{good}");
        }
        for bad in ["", "-a", "A", "a_b", "ä", &"a".repeat(64)] {
            assert!(Slug::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn random_bytes_become_alphanumerics() {
        let id = ColumnId::from_random([0, 9, 10, 35, 36, 61, 62, 63, 64, 128, 200, 255]);
        assert_eq!(id.as_str(), "col_09AZaz010081");
        assert_eq!(id.as_str().len(), 16);
        assert!(id.as_str()[4..].bytes().all(|b| b.is_ascii_alphanumeric()));
    }
}
