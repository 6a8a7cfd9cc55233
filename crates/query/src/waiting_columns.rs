//! Single-flight for scans: the columns that questions wait for, so that one scan reads them for all.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::column::ColumnKey;

/// Columns that a question needs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WantedColumns {
    pub(crate) names: Vec<ColumnKey>,
    /// Those of them that rows are sorted by.
    pub(crate) sorted: Vec<ColumnKey>,
}

impl WantedColumns {
    /// The same, each once. What is sorted by is among the names.
    pub(crate) fn distinct(self) -> Self {
        let mut all = Self::default();
        all.add(&self);
        all.sorted.retain(|name| self.names.contains(name));
        all
    }

    /// The first half of them, for which there may be room.
    pub(crate) fn first_half(mut self) -> Self {
        self.names.truncate(self.names.len() / 2);
        self.distinct()
    }

    fn add(&mut self, other: &Self) {
        for (all, more) in [(&mut self.names, &other.names), (&mut self.sorted, &other.sorted)] {
            for name in more {
                if !all.contains(name) {
                    all.push(name.clone());
                }
            }
        }
    }
}

/// What questions about one project wait for.
#[derive(Debug, Default)]
pub(crate) struct WaitingColumns(Mutex<Vec<Arc<WantedColumns>>>);

impl WaitingColumns {
    /// A question waits for as long as it holds what this gives.
    pub(crate) fn join(&self, wanted: Arc<WantedColumns>) -> Waiting<'_> {
        self.0.lock().push(Arc::clone(&wanted));
        Waiting { of: self, wanted }
    }

    /// What all who wait need together.
    pub(crate) fn together(&self) -> WantedColumns {
        let mut all = WantedColumns::default();
        self.0.lock().iter().for_each(|wanted| all.add(wanted));
        all
    }
}

/// One who waits.
#[derive(Debug)]
pub(crate) struct Waiting<'c> {
    of: &'c WaitingColumns,
    wanted: Arc<WantedColumns>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut all = self.of.0.lock();
        if let Some(index) = all.iter().position(|other| Arc::ptr_eq(other, &self.wanted)) {
            all.swap_remove(index);
        }
    }
}
