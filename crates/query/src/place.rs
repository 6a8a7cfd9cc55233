//! Where a page of a sorted list begins: behind what a cursor says, in the order as it is now.

use rowmill_model::sort::Key;

use crate::cursor::{Cursor, Cut, SortedBy, hash_of};

/// A place among sorted rows, told by keys and positions alone: rows that come, go or change do not move it.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// Behind a row, which need not be there.
    Behind(Key, u64),
    /// Before a row.
    Before(Key, u64),
    /// Before all rows whose keys begin so.
    BeforeAll(Box<[u8]>),
}

impl Place {
    /// The place where the page behind a cursor begins. `key_at` tells the key that a row has now, if it is there.
    ///
    /// A key that is too long for a cursor is known by its beginning only. Among rows that begin alike the place
    /// is then found by the row the page ended with, or by the one that came next, as long as one of them has
    /// the key it had. If neither has, the page begins before all that begin alike: rows may come twice then,
    /// but none is left out.
    pub(crate) fn behind(cursor: &Cursor, key_at: impl Fn(u64) -> Option<Key>) -> Self {
        let Some(SortedBy { key, cut, .. }) = &cursor.sorted else {
            return Self::BeforeAll(Box::default());
        };
        let Some(Cut { hash, next }) = cut else {
            return Self::Behind(Key::from_bytes(key), cursor.position);
        };
        let unchanged = |position: u64, hash: u64| key_at(position).filter(|key| hash_of(key) == hash);
        if let Some(key) = unchanged(cursor.position, *hash) {
            return Self::Behind(key, cursor.position);
        }
        let next = next.and_then(|(position, hash)| Some((unchanged(position, hash)?, position)));
        match next {
            Some((key, position)) => Self::Before(key, position),
            None => Self::BeforeAll(key.clone()),
        }
    }

    /// The positions of the rows whose keys it takes to find a cursor's place.
    pub(crate) fn rows_needed(cursor: &Cursor) -> Vec<u64> {
        let cut = cursor.sorted.as_ref().and_then(|sorted| sorted.cut);
        cut.map_or_else(Vec::new, |cut| {
            std::iter::once(cursor.position).chain(cut.next.map(|(position, _)| position)).collect()
        })
    }

    /// Whether this place is behind a row.
    pub(crate) fn is_behind(&self, key: &Key, position: u64) -> bool {
        match self {
            Self::Behind(other, at) => key.cmp(other).then(position.cmp(at)).is_le(),
            Self::Before(other, at) => key.cmp(other).then(position.cmp(at)).is_lt(),
            Self::BeforeAll(start) => key.as_bytes() < &**start,
        }
    }
}
