//! A name for what is sent, or for whom it is sent to, that shows nothing of it.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// The hash of a list of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Parts are told apart: `["ab", "c"]` is not `["a", "bc"]`.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self(hash.finalize().into())
    }

    pub(crate) fn bytes(&self) -> [u8; 32] {
        self.0
    }

    /// A shorter name.
    pub(crate) fn uuid(&self) -> Uuid {
        let (first, _) = self.0.as_chunks::<16>();
        Uuid::from_bytes(first.first().copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(Digest::of(["ab", "c"]), Digest::of(["a", "bc"]));
        assert_ne!(Digest::of(["a"]), Digest::of(["a", ""]));
        assert_eq!(Digest::of(["a", "b"]), Digest::of(["a", "b"]));
    }
}
