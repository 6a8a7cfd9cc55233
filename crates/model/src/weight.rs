//! What compiled things take in memory, for whoever keeps them within a limit.

use std::collections::HashSet;
use std::sync::Arc;

use crate::path::Path;

/// Adds up bytes; what several things share is counted once.
#[derive(Debug, Default)]
pub struct Weight {
    bytes: usize,
    shared: HashSet<usize>,
}

impl Weight {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub fn add_path(&mut self, path: &Arc<Path>) {
        self.add_shared(path, Path::bytes);
    }

    pub(crate) fn add_shared<T>(&mut self, shared: &Arc<T>, bytes: impl FnOnce(&T) -> usize) {
        if self.shared.insert(Arc::as_ptr(shared).addr()) {
            self.add(size_of::<T>().saturating_add(bytes(shared)));
        }
    }
}
