//! A cache of API keys, in front of the store.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::caller::Principal;

/// Keys seen lately. An entry lives for less than the second by which a revoked key may outlive its
/// revocation.
#[derive(Debug, Default)]
pub(crate) struct KeyCache(Mutex<HashMap<[u8; 32], (Principal, Instant)>>);

impl KeyCache {
    const TTL: Duration = Duration::from_millis(800);
    const LEN_MAX: usize = 10_000;

    pub(crate) fn get(&self, hash: &[u8; 32], now: Instant) -> Option<Principal> {
        let keys = self.0.lock();
        keys.get(hash)
            .filter(|(_, looked_up)| now.duration_since(*looked_up) < Self::TTL)
            .map(|(principal, _)| *principal)
    }

    pub(crate) fn forget(&self, hash: &[u8; 32]) {
        self.0.lock().remove(hash);
    }

    pub(crate) fn put(&self, hash: [u8; 32], principal: Principal, looked_up: Instant) {
        let mut keys = self.0.lock();
        if keys.len() >= Self::LEN_MAX {
            keys.retain(|_, (_, earlier)| looked_up.duration_since(*earlier) < Self::TTL);
        }
        keys.insert(hash, (principal, looked_up));
    }
}
