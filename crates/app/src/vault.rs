//! The vault: what teams entrust to the service is sealed with one key, the operator's.

use std::fmt::Write as _;

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use rowmill_model::{Secret, TeamId};
use rowmill_store::SealedKind;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::ids::random;

/// Seals and opens. It shows nothing of its key.
pub struct Vault(Option<XChaCha20Poly1305>);

/// Whose a sealed thing is and what it is called. It is sealed in with it, so that bytes put in another
/// place cannot be opened there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label<'a> {
    pub(crate) team: TeamId,
    pub(crate) kind: SealedKind,
    pub(crate) name: &'a str,
}

/// Leads the sealed bytes, so that another way of sealing can be told apart from this one.
const FORMAT: u8 = 1;
const NONCE_BYTES: usize = 24;

impl Vault {
    /// The fewest characters of a key's text.
    pub const KEY_CHARS_MIN: usize = 32;

    /// A vault whose key is any text, if it is long enough.
    pub fn new(text: &Secret) -> Option<Self> {
        let text = text.expose().trim();
        if text.chars().count() < Self::KEY_CHARS_MIN {
            return None;
        }
        // Text of this length is no password, so one round of a fast hash is enough.
        let key: [u8; 32] =
            Sha256::new().chain_update("rowmill sealing key\0").chain_update(text).finalize().into();
        Some(Self(Some(XChaCha20Poly1305::new(&Key::from(key)))))
    }

    /// A vault without a key, for commands beside the service: it seals nothing and opens nothing.
    pub fn locked() -> Self {
        Self(None)
    }

    /// The text of a new key, of 256 random bits.
    pub fn new_key() -> Result<Secret> {
        let bytes: [u8; 32] = random()?;
        let mut text = String::with_capacity(64);
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Secret::new(text))
    }

    pub(crate) fn seal(&self, label: Label<'_>, plain: &[u8]) -> Result<Vec<u8>> {
        self.seal_with(&label.bytes(), plain)
    }

    /// What was sealed; nothing if it was with another key, under another label, or tampered with.
    pub(crate) fn open(&self, label: Label<'_>, bytes: &[u8]) -> Option<Vec<u8>> {
        self.open_with(&label.bytes(), bytes)
    }

    /// Seals what belongs to no team's store, under what it is for.
    pub(crate) fn seal_for(&self, purpose: &str, plain: &[u8]) -> Result<Vec<u8>> {
        self.seal_with(&purpose_bytes(purpose), plain)
    }

    pub(crate) fn open_for(&self, purpose: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        self.open_with(&purpose_bytes(purpose), bytes)
    }

    fn seal_with(&self, aad: &[u8], plain: &[u8]) -> Result<Vec<u8>> {
        let cipher = self.0.as_ref().ok_or_else(|| Error::Internal("no secret key is loaded".into()))?;
        // So long a nonce may be drawn at random without ever meeting its like.
        let nonce: [u8; NONCE_BYTES] = random()?;
        let sealed = cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad })
            .map_err(|_| Error::Internal("encryption failed".into()))?;
        Ok([&[FORMAT], nonce.as_slice(), sealed.as_slice()].concat())
    }

    fn open_with(&self, aad: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = bytes.strip_prefix(&[FORMAT])?.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg: sealed, aad };
        self.0.as_ref()?.decrypt(&XNonce::from(*nonce), payload).ok()
    }
}

/// A label begins with [`FORMAT`], so none has the bytes of a purpose.
fn purpose_bytes(purpose: &str) -> Vec<u8> {
    [&[FORMAT + 1], purpose.as_bytes()].concat()
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault(***)")
    }
}

impl Label<'_> {
    /// A team's id has a fixed length and a kind's word no U+0000, so no two labels have the same bytes.
    fn bytes(&self) -> Vec<u8> {
        let Self { team, kind, name } = self;
        [&[FORMAT], team.0.as_bytes().as_slice(), kind.word().as_bytes(), &[0], name.as_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn vault(text: &str) -> Option<Vault> {
        Vault::new(&Secret::new(text))
    }

    fn label(team: u128, kind: SealedKind, name: &str) -> Label<'_> {
        Label { team: TeamId(Uuid::from_u128(team)), kind, name }
    }

    #[test]
    fn only_the_same_key_and_label_open() {
        let own = label(1, SealedKind::Secret, "A");
        let first = vault(&"k".repeat(32)).unwrap();
        let sealed = first.seal(own, b"canary").unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"canary"));
        assert_ne!(first.seal(own, b"canary").unwrap(), sealed, "a nonce is never used twice");
        assert_eq!(vault(&format!(" {}\n", "k".repeat(32))).unwrap().open(own, &sealed).unwrap(), b"canary");
        for other in
            [label(2, SealedKind::Secret, "A"), label(1, SealedKind::Provider, "A"), label(1, own.kind, "B")]
        {
            assert_eq!(first.open(other, &sealed), None, "{other:?}");
        }
        assert_eq!(vault(&"x".repeat(32)).unwrap().open(own, &sealed), None);
        assert_eq!(Vault::locked().open(own, &sealed), None);
        assert!(Vault::locked().seal(own, b"canary").is_err());
        let sealed = first.seal_for("session", b"canary").unwrap();
        assert_eq!(first.open_for("session", &sealed).unwrap(), b"canary");
        assert_eq!(first.open_for("sessio", &sealed), None);
        assert_eq!(first.open(own, &sealed), None);
    }

    #[test]
    fn what_was_tampered_with_does_not_open() {
        let own = label(1, SealedKind::Provider, "hunter");
        let vault = vault(Vault::new_key().unwrap().expose()).unwrap();
        let sealed = vault.seal(own, b"").unwrap();
        for index in 0..sealed.len() {
            let mut bytes = sealed.clone();
            bytes[index] ^= 1;
            assert_eq!(vault.open(own, &bytes), None);
            assert_eq!(vault.open(own, &sealed[..index]), None);
        }
        assert_eq!(vault.open(own, &sealed).unwrap(), b"");
    }

    #[test]
    fn a_short_key_is_refused_and_none_is_shown() {
        assert!(vault(&"k".repeat(31)).is_none());
        assert!(vault(&format!("{}   ", "k".repeat(31))).is_none());
        assert_eq!(format!("{:?}", vault(&"k".repeat(32)).unwrap()), "Vault(***)");
        assert_eq!(Vault::new_key().unwrap().expose().len(), 64);
        assert_ne!(Vault::new_key().unwrap(), Vault::new_key().unwrap());
    }
}
