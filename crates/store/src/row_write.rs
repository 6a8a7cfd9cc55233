//! Rows as a store writes them: the values inside a row, and what of its wide values is not what was stored.

use std::sync::Arc;

use rowmill_model::cell::Details;
use rowmill_model::record::Slot;
use rowmill_model::wide_cells::WideCells;
use rowmill_model::{Record, RowId};

use crate::error::Result;
use crate::row_values::RowValues;
use crate::wide_values::WideSlots;

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
    put: Vec<(Slot, Arc<str>)>,
    gone: Vec<Slot>,
}

impl RowWrite {
    /// `stored`: what is stored apart from the row now. What of it is the same, or was not read, is left as it is.
    pub fn new(
        (id, position): (RowId, u64),
        values: RowValues,
        details: Details,
        stored: Option<&WideCells>,
    ) -> Result<Self> {
        // Values that were never stored, and those of rows that were stored before there were wide ones.
        let is_apart = WideSlots::of(values.near())?.is_empty();
        let values = if is_apart { values } else { values.with([])? };
        let near = values.near().clone();
        if values.wide().is_none() && stored.is_none() {
            return Ok(Self { id, position, near, details, wide: None });
        }
        let none = WideCells::default();
        let (wide, stored) = (values.wide().unwrap_or(&none), stored.unwrap_or(&none));
        let is_other = |slot: &Slot| match (wide.entry(*slot), stored.entry(*slot)) {
            (Some(Some(new)), Some(Some(old))) => !Arc::ptr_eq(new, old) && new != old,
            (Some(Some(_)), _) => true,
            _ => false,
        };
        let put = wide.slots().filter(is_other).filter_map(|slot| Some((slot, wide.entry(slot)?.clone()?)));
        let put = put.collect();
        let gone = stored.slots().filter(|slot| wide.entry(*slot).is_none()).collect();
        let bytes = values.bytes()?.saturating_sub(near.as_bytes().len());
        let wide = Some(Box::new(WideWrite { slots: WideSlots::in_order(wide.slots()), bytes, put, gone }));
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
    pub fn put(&self) -> impl Iterator<Item = (Slot, &str)> {
        let put = self.wide.iter().flat_map(|wide| &wide.put);
        put.map(|(slot, text)| (*slot, &**text))
    }

    /// The slots whose values are not stored apart from it any more.
    pub fn gone(&self) -> &[Slot] {
        self.wide.as_ref().map_or(&[], |wide| &wide.gone)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::types::WantedSlots;
    use crate::wide_values::NEAR_VALUE_BYTES_MAX;

    const WIDE: usize = NEAR_VALUE_BYTES_MAX + 1;

    fn text(letter: char, bytes: usize) -> String {
        letter.to_string().repeat(bytes)
    }

    fn written(values: RowValues, stored: Option<&WideCells>) -> RowWrite {
        let id = RowId::from_uuid(Uuid::nil());
        RowWrite::new((id, 7), values, Details::default(), stored).unwrap()
    }

    #[test]
    fn a_row_is_taken_apart_and_put_together() {
        let (near, wide) = (text('n', NEAR_VALUE_BYTES_MAX), text('w', WIDE));
        let values = Record::pack([(1, "1"), (4, &*wide), (5, &*near), (9, &*wide)]);
        let write = written(values.clone().into(), None);
        assert_eq!(write.near, Record::pack([(1, "1"), (5, &*near)]));
        let put: Vec<(Slot, &str)> = write.put().collect();
        assert_eq!(put, [(4, &*wide), (9, &*wide)]);
        let inside = write.near.as_bytes();
        let all = usize::try_from(write.wide_bytes().unwrap()).unwrap() + inside.len();
        assert_eq!(all, values.as_bytes().len());

        let slots = WideSlots::from_bytes(&write.note().unwrap()).unwrap();
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
        let whole = RowValues::from(stored.clone()).with([]).unwrap();
        let apart = whole.wide().cloned();
        let near =
            RowValues::stored(whole.near().clone(), &WideSlots::of(&stored).unwrap(), 100_000).unwrap();
        let unread = near.wide().cloned();
        let check = |apart: &Option<WideCells>, values: RowValues, put: &[Slot], gone: &[Slot]| {
            let write = written(values, apart.as_ref());
            let slots: Vec<Slot> = write.put().map(|(slot, _)| slot).collect();
            assert_eq!((&*slots, write.gone()), (put, gone));
        };
        check(&apart, stored.clone().into(), &[], &[]);
        check(&apart, whole.with([(1, "2")]).unwrap(), &[], &[]);
        let changes = [(2, &*b), (3, "1"), (4, "null"), (5, &*b), (6, &*a)];
        check(&apart, whole.with(changes).unwrap(), &[2, 5], &[3, 4]);
        check(&apart, RowValues::default(), &[], &[2, 3, 4, 6]);
        // What was not read is not touched.
        check(&unread, near.with([(1, "2"), (5, &*b)]).unwrap(), &[5], &[]);
        // A row of before there were wide values.
        check(&None, stored.into(), &[2, 3, 4, 6], &[]);
        check(&None, Record::pack([(1, "1")]).into(), &[], &[]);
        let ordinary = written(Record::pack([(1, "1")]).into(), apart.as_ref());
        assert_eq!((ordinary.note(), ordinary.wide_bytes()), (None, None));
    }
}
