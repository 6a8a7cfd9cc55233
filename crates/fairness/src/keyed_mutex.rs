//! A mutex for each key: work with the same key waits for each other, and for nobody else.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// From this many on, mutexes that nobody holds are swept up.
const SWEEP_FROM: usize = 1_024;

/// A mutex that is held until this is dropped.
pub type KeyGuard = OwnedMutexGuard<()>;

#[derive(Debug)]
pub struct KeyedMutex<K>(Mutex<HashMap<K, Weak<tokio::sync::Mutex<()>>>>);

impl<K> Default for KeyedMutex<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> KeyedMutex<K> {
    /// Waits until nobody else holds the mutex of this key.
    pub async fn lock(&self, key: K) -> KeyGuard {
        let mutex = {
            let mut mutexes = self.0.lock();
            if mutexes.len() >= SWEEP_FROM {
                mutexes.retain(|_, mutex| mutex.strong_count() > 0);
            }
            let known = mutexes.get(&key).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let mutex = Arc::default();
                mutexes.insert(key, Arc::downgrade(&mutex));
                mutex
            })
        };
        mutex.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn only_work_with_the_same_key_waits() {
        let mutexes = KeyedMutex::default();
        let held = mutexes.lock("a").await;
        assert!(mutexes.lock("b").now_or_never().is_some());
        assert!(mutexes.lock("a").now_or_never().is_none());
        drop(held);
        assert!(mutexes.lock("a").now_or_never().is_some());
    }

    #[tokio::test]
    async fn mutexes_that_nobody_holds_are_forgotten() {
        let mutexes = KeyedMutex::default();
        let held = mutexes.lock(0).await;
        for key in 1..=2 * SWEEP_FROM {
            mutexes.lock(key).await;
        }
        assert!(mutexes.0.lock().len() <= SWEEP_FROM);
        assert!(mutexes.lock(0).now_or_never().is_none());
        drop(held);
    }
}
