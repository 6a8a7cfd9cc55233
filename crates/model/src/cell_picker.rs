//! Reads the same few cells of one packed row after another, and leaves the others packed.

use std::ops::Range;

use crate::packing::{Damaged, Slot, take_varint};

/// Whoever goes over a million rows for one column has no use for the others: nothing is allocated a row, and only the
/// texts that are wanted are checked for UTF-8.
#[derive(Debug, Clone)]
pub struct CellPicker {
    /// In ascending order, each with its number among those that were asked for.
    wanted: Vec<(Slot, usize)>,
    /// Where the texts of the row at hand lie, by that number.
    found: Vec<Option<Range<usize>>>,
}

/// The cells that were picked out of a row.
#[derive(Debug)]
pub struct PickedCells<'p, 'a> {
    texts: &'a [u8],
    found: &'p [Option<Range<usize>>],
}

impl CellPicker {
    /// For cells in these slots; where there is no slot, nothing is found.
    pub fn new(slots: impl IntoIterator<Item = Option<Slot>>) -> Self {
        let slots: Vec<Option<Slot>> = slots.into_iter().collect();
        let numbered = slots.iter().zip(0..).filter_map(|(slot, number)| Some(((*slot)?, number)));
        let mut wanted: Vec<(Slot, usize)> = numbered.collect();
        wanted.sort_unstable();
        Self { wanted, found: vec![None; slots.len()] }
    }

    /// Finds the wanted cells of a row.
    #[inline]
    pub fn pick<'p, 'a>(&'p mut self, packed: &'a [u8]) -> Result<PickedCells<'p, 'a>, Damaged> {
        self.found.fill(None);
        if packed.is_empty() {
            return Ok(PickedCells { texts: packed, found: &self.found });
        }
        let mut rest = packed;
        let count = take_varint(&mut rest)?;
        let mut wanted = self.wanted.as_slice();
        let mut end = 0_usize;
        for _ in 0..count {
            let slot = Slot::try_from(take_varint(&mut rest)?).map_err(|_| Damaged)?;
            let start = end;
            end = end.checked_add(take_varint(&mut rest)?).ok_or(Damaged)?;
            while let [(other, number), more @ ..] = wanted
                && *other <= slot
            {
                if *other == slot
                    && let Some(found) = self.found.get_mut(*number)
                {
                    *found = Some(start..end);
                }
                wanted = more;
            }
        }
        if rest.len() == end { Ok(PickedCells { texts: rest, found: &self.found }) } else { Err(Damaged) }
    }
}

impl<'a> PickedCells<'_, 'a> {
    /// The raw JSON text of the cell in the n-th slot that was asked for; `None` where it is null.
    #[inline]
    pub fn get(&self, number: usize) -> Result<Option<&'a str>, Damaged> {
        let Some(Some(range)) = self.found.get(number) else { return Ok(None) };
        let text = self.texts.get(range.clone()).ok_or(Damaged)?;
        std::str::from_utf8(text).map(Some).map_err(|_| Damaged)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::{Cells, Record};

    proptest! {
        #[test]
        fn what_is_picked_is_what_is_unpacked(
            cells in proptest::collection::btree_map(0_u32..300, "[a-zé]{0,300}", 0..20),
            slots in proptest::collection::vec(0_u32..300, 0..8),
        ) {
            let record = Record::pack(cells.iter().map(|(slot, text)| (*slot, text.as_str())));
            // Some that are there, besides any, and some of them twice.
            let slots: Vec<Slot> = cells.keys().step_by(2).copied().chain(slots).collect();
            let mut picker = CellPicker::new(slots.iter().copied().map(Some));
            for _ in 0..2 {
                let picked = picker.pick(record.as_bytes()).unwrap();
                for (number, slot) in slots.iter().enumerate() {
                    prop_assert_eq!(picked.get(number).unwrap(), record.cells().unwrap().get(*slot));
                }
                prop_assert_eq!(picked.get(slots.len()), Ok(None));
            }
            let empty = picker.pick(&[]).unwrap();
            prop_assert!((0..slots.len()).all(|number| empty.get(number) == Ok(None)), "what the last row had is forgotten");
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let slots: Vec<Slot> = (0..256).collect();
            let mut picker = CellPicker::new(slots.iter().copied().map(Some));
            let read = picker.pick(&bytes).and_then(|picked| (0..slots.len()).try_for_each(|n| picked.get(n).map(|_| ())));
            // What can be unpacked can be picked from.
            if Cells::unpack(&bytes).is_ok() {
                prop_assert_eq!(read, Ok(()));
            }
        }
    }

    #[test]
    fn damage_is_an_error() {
        let mut picker = CellPicker::new([None, Some(0)]);
        for bytes in [&[1_u8][..], &[1, 0, 9, b'x'], &[0xff; 9], &[1, 0, 1], &[1, 0, 1, b'x', b'y']] {
            assert_eq!(picker.pick(bytes).err(), Some(Damaged), "{bytes:?}");
        }
        let cut_letter = picker.pick(&[2, 0, 1, 1, 1, 0xc3, 0xa9]).unwrap();
        assert_eq!((cut_letter.get(0), cut_letter.get(1)), (Ok(None), Err(Damaged)));
    }
}
