//! Wide values: values over a few kilobytes are stored apart from their row, each by itself, so that writing or reading
//! another cell does not touch them.
//!
//! Here is the one rule for both stores: which values are wide, what a row notes of them, what a write leaves of them,
//! and how a row is put together again. Rows that were written before there was this rule have all of their values
//! inside; they note nothing, and are read as they are until they are written again.

use std::sync::Arc;

use rowmill_model::cell::Details;
use rowmill_model::record::{Cells, Slot};
use rowmill_model::{Record, RowId};

use crate::error::{Result, StoreError};
use crate::types::WantedSlots;

/// A value of more bytes than this is stored apart from its row.
pub const NEAR_VALUE_BYTES_MAX: usize = 4 * 1024;

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
        let is_wide = |(slot, text): (Slot, &str)| (text.len() > NEAR_VALUE_BYTES_MAX).then_some(slot);
        Ok(Self(cells.iter().filter_map(is_wide).collect()))
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

/// What of a row's values was stored apart when it was read, and what the values were then. A write compares with it, so
/// that it leaves alone what is the same.
#[derive(Debug, Clone, Default)]
pub struct StoredApart(Option<Arc<(WideSlots, Record)>>);

impl StoredApart {
    /// Of a row whose values were read with all that is stored apart.
    pub fn new(slots: WideSlots, values: &Record) -> Self {
        Self((!slots.is_empty()).then(|| Arc::new((slots, values.clone()))))
    }

    /// Of a row as it is stored once these values are written.
    pub fn of(values: &Record) -> Result<Self> {
        Ok(Self::new(WideSlots::of(values)?, values))
    }
}

/// A row as it is to be written.
#[derive(Debug, Clone)]
pub struct RowWrite {
    pub id: RowId,
    pub position: u64,
    /// The values inside the row.
    pub near: Record,
    pub details: Details,
    /// `None` where nothing was stored apart, nor is from now on.
    pub wide: Option<Box<WideWrite>>,
}

/// What is to be written apart from a row.
#[derive(Debug, Clone)]
pub struct WideWrite {
    /// What is stored apart from now on.
    slots: WideSlots,
    /// How many bytes more the row's values take than those inside it.
    bytes: usize,
    values: Record,
    put: Vec<Slot>,
    gone: Vec<Slot>,
}

impl RowWrite {
    pub fn new(
        (id, position): (RowId, u64),
        values: Record,
        details: Details,
        apart: &StoredApart,
    ) -> Result<Self> {
        let slots = WideSlots::of(&values)?;
        if slots.is_empty() && apart.0.is_none() {
            return Ok(Self { id, position, near: values, details, wide: None });
        }
        let cells = values.cells()?;
        let near = Record::pack(cells.iter().filter(|(slot, _)| !slots.contains(*slot)));
        let (mut put, mut gone) = (Vec::new(), Vec::new());
        if let Some((before, stored)) = apart.0.as_deref() {
            let stored = stored.cells()?;
            let is_other = |slot: &Slot| !before.contains(*slot) || stored.get(*slot) != cells.get(*slot);
            put.extend(slots.iter().filter(is_other));
            gone.extend(before.iter().filter(|slot| !slots.contains(*slot)));
        } else {
            put.extend(slots.iter());
        }
        let bytes = values.as_bytes().len().saturating_sub(near.as_bytes().len());
        let wide = Some(Box::new(WideWrite { slots, bytes, values, put, gone }));
        Ok(Self { id, position, near, details, wide })
    }

    /// What the row notes of its wide values.
    pub fn note(&self) -> Option<Vec<u8>> {
        self.wide.as_ref()?.slots.to_bytes()
    }

    /// How many bytes more the row's values take than those inside it; `None` of an ordinary row.
    pub fn wide_bytes(&self) -> Option<i64> {
        let wide = self.wide.as_ref().filter(|wide| !wide.slots.is_empty())?;
        Some(i64::try_from(wide.bytes).unwrap_or(i64::MAX))
    }

    /// The values to be written apart from it, over what is there.
    pub fn put(&self) -> Result<Vec<(Slot, &str)>> {
        let Some(wide) = &self.wide else { return Ok(Vec::new()) };
        let cells = wide.values.cells()?;
        Ok(wide.put.iter().filter_map(|slot| Some((*slot, cells.get(*slot)?))).collect())
    }

    /// The slots whose values are not stored apart from it any more.
    pub fn gone(&self) -> &[Slot] {
        self.wide.as_ref().map_or(&[], |wide| &wide.gone)
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::RowId;
    use uuid::Uuid;

    use super::*;

    const WIDE: usize = NEAR_VALUE_BYTES_MAX + 1;

    fn text(letter: char, bytes: usize) -> String {
        letter.to_string().repeat(bytes)
    }

    fn written(values: &Record, apart: &StoredApart) -> RowWrite {
        let id = RowId::from_uuid(Uuid::nil());
        RowWrite::new((id, 7), values.clone(), Details::default(), apart).unwrap()
    }

    #[test]
    fn a_row_is_taken_apart_and_put_together() {
        let (near, wide) = (text('n', NEAR_VALUE_BYTES_MAX), text('w', WIDE));
        let values = Record::pack([(1, "1"), (4, &*wide), (5, &*near), (9, &*wide)]);
        let write = written(&values, &StoredApart::default());
        assert_eq!(write.near, Record::pack([(1, "1"), (5, &*near)]));
        assert_eq!(write.put().unwrap(), [(4, &*wide), (9, &*wide)]);
        let inside = write.near.as_bytes();
        let all = usize::try_from(write.wide_bytes().unwrap()).unwrap() + inside.len();
        assert_eq!(all, values.as_bytes().len());

        let slots = WideSlots::from_bytes(&write.note().unwrap()).unwrap();
        let put = write.put().unwrap();
        assert_eq!(slots.join(inside, &WantedSlots::All, &put).unwrap(), values);
        let some = slots.join(inside, &WantedSlots::only([1, 9]), &put[1..]).unwrap();
        assert_eq!(some, Record::pack([(1, "1"), (5, &*near), (9, &*wide)]));
        let none = slots.join::<&str>(inside, &WantedSlots::only([1]), &[]).unwrap();
        assert_eq!(none, write.near);
        for bad in [&put[..1], &[(4, &*wide), (5, &*wide)], &[]] {
            assert!(slots.join(inside, &WantedSlots::All, bad).is_err());
        }
        assert!(slots.join(values.as_bytes(), &WantedSlots::All, &put).is_err(), "a value stands twice");
    }

    #[test]
    fn only_what_changed_is_written() {
        let (a, b) = (text('a', WIDE), text('b', WIDE));
        let stored = Record::pack([(1, "1"), (2, &*a), (3, &*a), (4, &*a), (6, &*a)]);
        let inline = StoredApart::default();
        let apart = StoredApart::of(&stored).unwrap();
        let check = |apart: &StoredApart, values: &Record, put: &[Slot], gone: &[Slot]| {
            let write = written(values, apart);
            let slots: Vec<Slot> = write.put().unwrap().into_iter().map(|(slot, _)| slot).collect();
            assert_eq!((&*slots, write.gone()), (put, gone));
        };
        check(&apart, &stored, &[], &[]);
        check(&apart, &stored.with([(1, "2")]).unwrap(), &[], &[]);
        check(&apart, &stored.with([(2, &*b), (3, "1"), (4, "null"), (5, &*b)]).unwrap(), &[2, 5], &[3, 4]);
        check(&apart, &Record::default(), &[], &[2, 3, 4, 6]);
        // A row of before there were wide values.
        check(&inline, &stored, &[2, 3, 4, 6], &[]);
        check(&inline, &Record::pack([(1, "1")]), &[], &[]);
        let ordinary = written(&Record::pack([(1, "1")]), &apart);
        assert_eq!((ordinary.note(), ordinary.wide_bytes()), (None, None));
    }

    #[test]
    fn a_damaged_note_is_an_error() {
        for bad in [&[][..], &[0, 0, 0], &[0, 0, 0, 2, 0, 0, 0, 1], &[0, 0, 0, 1, 0, 0, 0, 1]] {
            assert!(WideSlots::from_bytes(bad).is_err(), "{bad:?}");
        }
    }
}
