//! Those who are told of every change.

use parking_lot::RwLock;
use rowmill_store::{Change, Listener};

/// Who is told of changes.
#[derive(Default)]
pub(crate) struct Listeners(pub(crate) RwLock<Vec<Listener>>);

impl Listeners {
    pub(crate) fn tell(&self, change: &Change) {
        for listener in self.0.read().iter() {
            listener(change);
        }
    }
}

impl std::fmt::Debug for Listeners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listeners")
    }
}
