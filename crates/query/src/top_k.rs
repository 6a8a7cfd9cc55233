//! Top-k selection: the first few of many rows, in order, without keeping the many.

use rowmill_model::sort::Key;

/// Collects rows and keeps only the first `wanted` of them in a view's order. Rows with the same key come in order of
/// creation, in both directions; `P` says where a row stands in that.
pub(crate) struct TopK<P> {
    wanted: usize,
    rows: Vec<(Key, P)>,
    /// The last of the first ones, as far as they were told apart.
    last: Option<Key>,
}

impl<P: Ord> TopK<P> {
    /// Rows kept beyond those wanted before the rest is thrown away.
    const SLACK: usize = if cfg!(test) { 1 } else { 4_096 };

    pub(crate) fn new(wanted: usize) -> Self {
        Self { wanted, rows: Vec::new(), last: None }
    }

    /// Whether a row with this key may be among the first, if it was created after all that came before.
    pub(crate) fn takes(&self, key: &[u8]) -> bool {
        self.last.as_ref().is_none_or(|last| key < last.as_bytes())
    }

    pub(crate) fn push(&mut self, key: Key, place: P) {
        self.rows.push((key, place));
        if self.rows.len() > self.wanted.saturating_mul(2).saturating_add(Self::SLACK) {
            self.rows.select_nth_unstable(self.wanted.saturating_sub(1));
            self.rows.truncate(self.wanted);
            self.last = self.rows.last().map(|(key, _)| key.clone());
        }
    }

    /// In order.
    pub(crate) fn into_rows(mut self) -> Vec<(Key, P)> {
        self.rows.sort_unstable();
        self.rows.truncate(self.wanted);
        self.rows
    }
}
