//! A cache of API keys, in front of the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rowmill_store::ApiKey;

/// Keys seen lately, by what proves them. An entry lives for less than the second by which a revoked key may outlive
/// its revocation.
#[derive(Debug, Default)]
pub(crate) struct KeyCache(Mutex<HashMap<[u8; 32], SeenKey>>);

#[derive(Debug)]
struct SeenKey {
    key: Arc<ApiKey>,
    looked_up: Instant,
}

impl KeyCache {
    const TTL: Duration = Duration::from_millis(800);
    const LEN_MAX: usize = 10_000;

    pub(crate) fn get(&self, hash: &[u8; 32], now: Instant) -> Option<Arc<ApiKey>> {
        let keys = self.0.lock();
        keys.get(hash)
            .filter(|seen| now.duration_since(seen.looked_up) < Self::TTL)
            .map(|seen| Arc::clone(&seen.key))
    }

    pub(crate) fn forget(&self, hash: &[u8; 32]) {
        self.0.lock().remove(hash);
    }

    pub(crate) fn put(&self, hash: [u8; 32], key: Arc<ApiKey>, looked_up: Instant) {
        let mut keys = self.0.lock();
        if keys.len() >= Self::LEN_MAX {
            keys.retain(|_, seen| looked_up.duration_since(seen.looked_up) < Self::TTL);
        }
        keys.insert(hash, SeenKey { key, looked_up });
    }
}
