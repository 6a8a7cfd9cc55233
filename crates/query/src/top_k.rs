//! Top-k selection: the first few of many rows, in order, without keeping the many.

use std::cmp::Ordering;
use std::sync::Arc;

use rowmill_model::sort::{Key, Order};

/// Collects rows and keeps only the first `wanted` of them in a view's order.
pub(crate) struct TopK {
    order: Arc<Order>,
    wanted: usize,
    rows: Vec<(Key, u64)>,
}

impl TopK {
    /// Rows kept beyond those wanted before the rest is thrown away.
    const SLACK: usize = 4_096;

    pub(crate) fn new(order: Arc<Order>, wanted: usize) -> Self {
        Self { order, wanted, rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, key: Key, position: u64) {
        self.rows.push((key, position));
        if self.rows.len() > self.wanted.saturating_mul(2).saturating_add(Self::SLACK) {
            let order = Arc::clone(&self.order);
            self.rows.select_nth_unstable_by(self.wanted, |a, b| compare(&order, a, b));
            self.rows.truncate(self.wanted);
        }
    }

    /// In order.
    pub(crate) fn into_rows(mut self) -> Vec<(Key, u64)> {
        let order = self.order;
        self.rows.sort_unstable_by(|a, b| compare(&order, a, b));
        self.rows.truncate(self.wanted);
        self.rows
    }
}

/// Ties are broken by order of creation, in both directions.
fn compare(order: &Order, a: &(Key, u64), b: &(Key, u64)) -> Ordering {
    order.compare(&a.0, &b.0).then(a.1.cmp(&b.1))
}
