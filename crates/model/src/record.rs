//! The values of one row, packed.
//!
//! A record holds the raw JSON text of every cell that has a value, in one run of bytes: a count, then
//! a `(slot, length)` pair a cell, then the texts one after another. Listing copies texts out of it
//! without parsing them, so numbers keep their digits and strings their bytes. A *slot* is a column's
//! number within its project; slots are never used twice, so deleting a column touches no row.

use std::ops::Range;
use std::sync::Arc;

pub use crate::packing::{Damaged, Slot, cell_bytes, record_bytes};
use crate::packing::{push_varint, take_varint};
use crate::wide_cells::WideCells;

/// The packed values of one row. Cells that are null are absent. A clone shares the bytes.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Record(Arc<[u8]>);

impl Record {
    /// Packs cells. `null` texts are left out; the last of two entries for a slot wins.
    pub fn pack<'a>(cells: impl IntoIterator<Item = (Slot, &'a str)>) -> Self {
        let mut cells: Vec<(Slot, &str)> = cells.into_iter().collect();
        if !cells.is_sorted_by_key(|(slot, _)| *slot) {
            cells.sort_by_key(|(slot, _)| *slot);
        }
        cells.dedup_by(|later, earlier| {
            let twins = later.0 == earlier.0;
            if twins {
                earlier.1 = later.1;
            }
            twins
        });
        cells.retain(|(_, text)| *text != "null");
        if cells.is_empty() {
            return Self::default();
        }
        let text_len: usize = cells.iter().map(|(_, text)| text.len()).sum();
        let mut bytes = Vec::with_capacity(text_len + cells.len() * 4 + 4);
        push_varint(&mut bytes, cells.len());
        for (slot, text) in &cells {
            push_varint(&mut bytes, *slot as usize);
            push_varint(&mut bytes, text.len());
        }
        for (_, text) in &cells {
            bytes.extend_from_slice(text.as_bytes());
        }
        Self(bytes.into())
    }

    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn cells(&self) -> Result<Cells<'_>, Damaged> {
        Cells::unpack(&self.0)
    }

    /// How many cells have a value.
    pub fn count(&self) -> Result<usize, Damaged> {
        if self.0.is_empty() { Ok(0) } else { take_varint(&mut &*self.0) }
    }

    /// What the cells take, without the count of them.
    pub fn cells_bytes(&self) -> Result<usize, Damaged> {
        let count = self.count()?;
        self.0.len().checked_sub(record_bytes(count, 0)).ok_or(Damaged)
    }

    /// This record with some cells written over; `null` clears one.
    pub fn with<'a>(&'a self, changes: impl IntoIterator<Item = (Slot, &'a str)>) -> Result<Self, Damaged> {
        let cells = self.cells()?;
        Ok(Self::pack(cells.iter().chain(changes)))
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.cells() {
            Ok(cells) => f.debug_map().entries(cells.iter()).finish(),
            Err(Damaged) => f.write_str("damaged"),
        }
    }
}

/// An unpacked view of a record's bytes: the directory is read once, the texts stay where they are.
#[derive(Debug, Clone)]
pub struct Cells<'a> {
    texts: &'a str,
    directory: Vec<(Slot, Range<usize>)>,
    /// Values of the same row that lie apart from the record.
    wide: Option<&'a WideCells>,
}

impl<'a> Cells<'a> {
    pub fn unpack(bytes: &'a [u8]) -> Result<Self, Damaged> {
        if bytes.is_empty() {
            return Ok(Self { texts: "", directory: Vec::new(), wide: None });
        }
        let mut rest = bytes;
        let count = take_varint(&mut rest)?;
        let mut directory = Vec::with_capacity(count.min(1024));
        let mut end = 0_usize;
        for _ in 0..count {
            let slot = Slot::try_from(take_varint(&mut rest)?).map_err(|_| Damaged)?;
            let start = end;
            end = end.checked_add(take_varint(&mut rest)?).ok_or(Damaged)?;
            directory.push((slot, start..end));
        }
        let texts = std::str::from_utf8(rest).map_err(|_| Damaged)?;
        let whole = directory.iter().all(|(_, range)| texts.is_char_boundary(range.end));
        if texts.len() != end || !whole {
            return Err(Damaged);
        }
        Ok(Self { texts, directory, wide: None })
    }

    /// These, together with values of the same row that lie apart from the record.
    #[must_use]
    pub fn with_wide(self, wide: &'a WideCells) -> Self {
        Self { wide: Some(wide), ..self }
    }

    /// The raw JSON text of a cell; `None` where it is null.
    pub fn get(&self, slot: Slot) -> Option<&'a str> {
        match self.directory.binary_search_by_key(&slot, |(slot, _)| *slot) {
            Ok(index) => self.text(self.directory.get(index)?),
            Err(_) => self.wide?.get(slot),
        }
    }

    /// The same for one cell after another. Asked for in the order of their slots, which is the order of
    /// most tables' columns, each is found at once.
    pub fn get_in_turn(&self) -> impl FnMut(Slot) -> Option<&'a str> {
        let mut next = 0;
        move |slot| match self.directory.get(next) {
            Some(entry) if entry.0 == slot => {
                next += 1;
                self.text(entry)
            }
            Some(entry) if entry.0 > slot && next == 0 => self.wide?.get(slot),
            _ => {
                let found = self.directory.binary_search_by_key(&slot, |(slot, _)| *slot);
                next = found.map_or_else(|place| place, |place| place + 1);
                match found {
                    Ok(place) => self.text(self.directory.get(place)?),
                    Err(_) => self.wide?.get(slot),
                }
            }
        }
    }

    /// All cells that have a value; those that lie apart come last.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &'a str)> {
        let near = self.directory.iter().filter_map(|entry| Some((entry.0, self.text(entry)?)));
        near.chain(self.wide.into_iter().flat_map(WideCells::iter))
    }

    pub fn is_empty(&self) -> bool {
        self.directory.is_empty() && self.wide.is_none_or(WideCells::is_empty)
    }

    fn text(&self, entry: &(Slot, Range<usize>)) -> Option<&'a str> {
        self.texts.get(entry.1.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn null_is_absent_and_the_later_twin_wins() {
        let record = Record::pack([(3, "\"c\""), (1, "1"), (3, "null"), (1, "1.50")]);
        let cells = record.cells().unwrap();
        assert_eq!(cells.iter().collect::<Vec<_>>(), [(1, "1.50")]);
        assert_eq!(cells.get(3), None);
        assert_eq!(Record::pack([(1, "null")]), Record::default());
    }

    #[test]
    fn damaged_bytes_are_an_error_and_never_a_panic() {
        for bytes in [&[1_u8][..], &[1, 0, 9, b'x'], &[2, 0, 1, 1, 1, 0xc3, 0xa9], &[0xff; 9], &[1, 0, 1]] {
            assert_eq!(Record::from_bytes(bytes).cells().unwrap_err(), Damaged, "{bytes:?}");
        }
    }

    #[test]
    fn a_value_that_was_not_read_is_missed_and_not_empty() {
        let near = Record::pack([(1, "1"), (5, "5")]);
        let mut wide = WideCells::unread([9, 3]);
        wide.set(3, "\"three\"".into());
        wide.set(4, "\"four\"".into());
        let cells = near.cells().unwrap().with_wide(&wide);
        let mut in_turn = cells.get_in_turn();
        for (slot, expected) in
            [(1, Some("1")), (2, None), (3, Some("\"three\"")), (4, Some("\"four\"")), (5, Some("5"))]
        {
            assert_eq!((cells.get(slot), in_turn(slot)), (expected, expected), "{slot}");
        }
        assert_eq!(wide.missed(), None);
        assert_eq!(cells.get(9), None);
        assert_eq!(wide.missed(), Some(9));

        let mut other = wide.clone();
        other.note_in(crate::wide_cells::Missed::default());
        let cells = near.cells().unwrap().with_wide(&other);
        assert_eq!(cells.iter().map(|(slot, _)| slot).collect::<Vec<_>>(), [1, 5, 3, 4]);
        assert_eq!(other.missed(), Some(9), "whoever goes over all misses it, too");
    }

    #[test]
    fn bytes_are_those_of_a_record() {
        let long = "x".repeat(300);
        let mut wide = WideCells::default();
        wide.set(200, long.as_str().into());
        wide.set(1, "\"one\"".into());
        let record = Record::pack(wide.iter());
        assert_eq!(record_bytes(2, wide.read_bytes()), record.as_bytes().len());
        wide.remove(200);
        assert_eq!((wide.count(), record.count()), (1, Ok(2)));
        assert_eq!(record_bytes(0, 0), Record::default().as_bytes().len());
        assert_eq!(record.cells_bytes(), Ok(cell_bytes(200, 300) + cell_bytes(1, 5)));
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(cells in proptest::collection::btree_map(any::<u32>(), "[a-zé]{0,300}", 0..20)) {
            let record = Record::pack(cells.iter().map(|(slot, text)| (*slot, text.as_str())));
            // Slots with a cell and slots without.
            let cells_in_order: Vec<u32> = cells.keys().flat_map(|slot| [*slot, slot.saturating_add(1)]).collect();
            let unpacked: BTreeMap<u32, String> =
                record.cells().unwrap().iter().map(|(slot, text)| (slot, text.to_owned())).collect();
            let kept: BTreeMap<u32, String> = cells.into_iter().filter(|(_, text)| text != "null").collect();
            prop_assert_eq!(&unpacked, &kept);
            for order in [cells_in_order.clone(), { let mut back = cells_in_order; back.reverse(); back }] {
                let unpacked = record.cells().unwrap();
                let mut in_turn = unpacked.get_in_turn();
                for slot in order {
                    prop_assert_eq!(in_turn(slot), kept.get(&slot).map(String::as_str));
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Record::from_bytes(bytes).cells();
        }
    }
}
