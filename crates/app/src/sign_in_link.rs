//! The link that signs in the first person who opens it.

use parking_lot::Mutex;
use rowmill_model::KeyId;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// A link that signs in whoever opens it first. It is only in memory, so it ends with the process.
#[derive(Debug, Default)]
pub(crate) struct SignInLink(Mutex<Option<Link>>);

#[derive(Debug)]
struct Link {
    hash: [u8; 32],
    key: KeyId,
    expires_at_ms: i64,
}

impl SignInLink {
    /// Replaces the link that was there.
    pub(crate) fn set(&self, token: &str, key: KeyId, expires_at_ms: i64) {
        let link = Link { hash: hash(token), key, expires_at_ms };
        *self.0.lock() = Some(link);
    }

    /// The key that the link signs in with, if it is this one and has not expired. It works once.
    pub(crate) fn take(&self, token: &str, now_ms: i64) -> Option<KeyId> {
        let mut link = self.0.lock();
        let is_it = |link: &mut Link| bool::from(link.hash.ct_eq(&hash(token)));
        link.take_if(is_it).filter(|link| now_ms < link.expires_at_ms).map(|link| link.key)
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
