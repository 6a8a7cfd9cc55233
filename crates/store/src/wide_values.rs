//! Wide values: values over a few kilobytes are stored apart from their row, each by itself, so that writing or reading
//! another cell does not touch them.
//!
//! Here is the one rule for both stores: which values are wide, what a row notes of them, and how a row is put together
//! again. What a change reads of them is in [`crate::row_values`], what it writes in [`crate::row_write`]. Rows that were
//! written before there was this rule have all of their values inside; they note nothing, and are read as they are until
//! they are written again.

use rowmill_model::Record;
use rowmill_model::record::{Cells, Slot};

use crate::error::{Result, StoreError};
use crate::types::WantedSlots;

/// A value of more bytes than this is stored apart from its row.
pub const NEAR_VALUE_BYTES_MAX: usize = 4 * 1024;

pub(crate) fn is_wide(text: &str) -> bool {
    text.len() > NEAR_VALUE_BYTES_MAX
}

/// The slots whose values are stored apart from a row, in order. What a row notes of them is this; an ordinary row has
/// none, and notes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WideSlots(Vec<Slot>);

impl WideSlots {
    /// Those of a row that is written now.
    pub fn of(values: &Record) -> Result<Self> {
        if values.as_bytes().len() <= NEAR_VALUE_BYTES_MAX {
            return Ok(Self::default());
        }
        let cells = values.cells()?;
        Ok(Self::in_order(cells.iter().filter(|(_, text)| is_wide(text)).map(|(slot, _)| slot)))
    }

    pub(crate) fn in_order(slots: impl IntoIterator<Item = Slot>) -> Self {
        Self(slots.into_iter().collect())
    }

    /// Reads what a row notes: four bytes a slot, in order.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (slots, rest) = bytes.as_chunks::<4>();
        let slots: Vec<Slot> = slots.iter().map(|bytes| Slot::from_be_bytes(*bytes)).collect();
        if slots.is_empty() || !rest.is_empty() || !slots.is_sorted_by(|a, b| a < b) {
            return Err(StoreError::Damaged("what a row notes of its wide values cannot be read".to_owned()));
        }
        Ok(Self(slots))
    }

    /// What a row notes; `None` of an ordinary row.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let Self(slots) = self;
        (!slots.is_empty()).then(|| slots.iter().flat_map(|slot| slot.to_be_bytes()).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, slot: Slot) -> bool {
        self.0.binary_search(&slot).is_ok()
    }

    pub fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.iter().copied()
    }

    /// Those that are to be read.
    pub fn wanted<'a>(&'a self, wanted: &'a WantedSlots) -> impl Iterator<Item = Slot> + 'a {
        self.iter().filter(|slot| wanted.contains(*slot))
    }

    /// Puts a row together of the values inside it and those that were read apart from it, in the order of their slots:
    /// all that are wanted, and no others.
    pub fn join<T: AsRef<[u8]>>(
        &self,
        near: &[u8],
        wanted: &WantedSlots,
        read: &[(Slot, T)],
    ) -> Result<Record> {
        if !self.wanted(wanted).eq(read.iter().map(|(slot, _)| *slot)) {
            let words = "of a row's wide values some are missing, or there are others than it notes";
            return Err(StoreError::Damaged(words.to_owned()));
        }
        if read.is_empty() {
            return Ok(Record::from_bytes(near));
        }
        let near = Cells::unpack(near)?;
        if self.iter().any(|slot| near.get(slot).is_some()) {
            return Err(StoreError::Damaged("a row has a value twice: inside it, and apart".to_owned()));
        }
        let mut cells: Vec<(Slot, &str)> = near.iter().collect();
        for (slot, text) in read {
            let text = std::str::from_utf8(text.as_ref());
            cells.push((*slot, text.map_err(|_| rowmill_model::record::Damaged)?));
        }
        Ok(Record::pack(cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_note_is_an_error() {
        for bad in [&[][..], &[0, 0, 0], &[0, 0, 0, 2, 0, 0, 0, 1], &[0, 0, 0, 1, 0, 0, 0, 1]] {
            assert!(WideSlots::from_bytes(bad).is_err(), "{bad:?}");
        }
    }
}
