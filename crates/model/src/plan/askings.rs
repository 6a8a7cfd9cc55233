//! What a column asked before it was changed, so that a change that is undone leaves nothing stale.
//!
//! A completed cell that became stale because its column was changed keeps a small number that says which of the
//! column's earlier askings it answers; what each number means is kept once a project. If the column asks the same
//! again, those cells are up to date again. All of it happens in blocks of marks: no row is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::Slot;

/// As many earlier askings of a column are told apart.
pub(super) const ANSWERS_MAX: u8 = 3;

/// The earlier askings of a project's columns that some cells may answer, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Askings(BTreeMap<Slot, Vec<Asking>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Asking {
    /// What marks call it, from 1.
    n: u8,
    /// What was asked, see [`super::asking`].
    asked: u64,
}

/// A column that asks something else than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redefined {
    pub slot: Slot,
    /// What it asked, as one number.
    pub before: u64,
    /// What it asks.
    pub now: u64,
}

/// What becomes of the results of a column that asks something else now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refiling {
    pub slot: Slot,
    /// What results that were up to date are filed under. Whatever was filed there before is forgotten; if the column
    /// asks that again, it is up to date.
    pub file_under: u8,
    /// Results that are filed under this are up to date again.
    pub again: Option<u8>,
}

impl Askings {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Columns ask something else. [`Askings::forget`] those under which nothing was filed then.
    pub fn change(&mut self, redefined: &[Redefined]) -> Vec<Refiling> {
        redefined.iter().map(|change| self.change_one(*change)).collect()
    }

    fn change_one(&mut self, Redefined { slot, before, now }: Redefined) -> Refiling {
        let known = self.0.entry(slot).or_default();
        let again = known.iter().find(|asking| asking.asked == now).map(|asking| asking.n);
        known.retain(|asking| asking.asked != now);
        let is_free = |n: &u8| known.iter().all(|asking| asking.n != *n);
        let file_under = match (1..=ANSWERS_MAX).find(is_free) {
            Some(free) => free,
            // The oldest is forgotten.
            None => known.remove(0).n,
        };
        known.push(Asking { n: file_under, asked: before });
        Refiling { slot, file_under, again }
    }

    /// Nothing was filed.
    pub fn forget(&mut self, Refiling { slot, file_under, .. }: Refiling) {
        if let Some(known) = self.0.get_mut(&slot) {
            known.retain(|asking| asking.n != file_under);
            if known.is_empty() {
                self.0.remove(&slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asking_is_known_again_until_too_many_followed() {
        let mut askings = Askings::default();
        let mut change = |before, now| askings.change_one(Redefined { slot: 7, before, now });
        let to = |file_under, again| Refiling { slot: 7, file_under, again };
        assert_eq!(change(10, 11), to(1, None));
        assert_eq!(change(11, 10), to(1, Some(1)), "undone: the number is used again at once");
        assert_eq!(change(10, 11), to(1, Some(1)), "and done again");
        assert_eq!(change(11, 12), to(2, None));
        assert_eq!(change(12, 13), to(3, None));
        assert_eq!(change(13, 14), to(1, None), "the oldest is forgotten");
        assert_eq!(change(14, 10), to(2, None));
        assert_eq!(change(10, 13), to(1, Some(1)));
        let last = askings.change_one(Redefined { slot: 8, before: 1, now: 2 });
        askings.forget(last);
        assert!(!askings.0.contains_key(&8));
    }
}
