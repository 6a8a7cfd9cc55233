//! The values of a row while it is changed: those inside it, and of its wide ones those that were read.
//!
//! A change of a row reads only the wide values that it looks at ([`crate::changes::Look`]). One that was not read is
//! never taken for empty: who asks for it is noted ([`WideCells::missed`]), and who needs it here gets
//! [`StoreError::Unread`].

use std::sync::Arc;

use rowmill_model::Record;
use rowmill_model::record::{Cells, Slot, cell_bytes, record_bytes};
use rowmill_model::wide_cells::{Missed, WideCells};

use crate::error::{Result, StoreError};
use crate::wide_values::{WideSlots, is_wide};

#[derive(Debug, Clone, Default)]
pub struct RowValues {
    /// The values inside the row. One that was not stored yet may have large ones here, too.
    near: Record,
    /// `None` where nothing lies apart.
    wide: Option<Box<Wide>>,
}

#[derive(Debug, Clone, Default)]
struct Wide {
    cells: WideCells,
    /// What those take that were not read.
    unread_bytes: usize,
}

impl From<Record> for RowValues {
    fn from(whole: Record) -> Self {
        Self { near: whole, wide: None }
    }
}

impl RowValues {
    /// Those of a stored row whose wide values are all still to be read. `wide_bytes` is what it notes: how many bytes
    /// its values take beyond those inside it.
    pub fn stored(near: Record, wide: &WideSlots, wide_bytes: usize) -> Result<Self> {
        if wide.is_empty() {
            return Ok(near.into());
        }
        let cells = near.cells()?;
        if wide.iter().any(|slot| cells.get(slot).is_some()) {
            return Err(StoreError::Damaged("a row has a value twice: inside it, and apart".to_owned()));
        }
        let cells = WideCells::unread(wide.iter());
        let others = record_bytes(near.count()? + cells.count(), near.cells_bytes()?);
        let bytes = near.as_bytes().len().saturating_add(wide_bytes);
        let unread_bytes = bytes.checked_sub(others).ok_or_else(miscounted)?;
        Ok(Self { near, wide: Some(Box::new(Wide { cells, unread_bytes })) })
    }

    pub fn cells(&self) -> Result<Cells<'_>> {
        let near = self.near.cells()?;
        Ok(match &self.wide {
            Some(wide) => near.with_wide(&wide.cells),
            None => near,
        })
    }

    pub fn near(&self) -> &Record {
        &self.near
    }

    pub fn wide(&self) -> Option<&WideCells> {
        self.wide.as_ref().map(|wide| &wide.cells)
    }

    /// The slots whose values are still to be read.
    pub fn unread(&self) -> impl Iterator<Item = Slot> {
        let wide = self.wide();
        wide.into_iter().flat_map(|wide| wide.slots().filter(|slot| wide.is_unread(*slot)))
    }

    /// Takes a value that was read.
    pub fn fill(&mut self, slot: Slot, text: Arc<str>) -> Result<()> {
        let Some(wide) = self.wide.as_mut().filter(|wide| wide.cells.is_unread(slot)) else { return Ok(()) };
        let left = wide.unread_bytes.checked_sub(cell_bytes(slot, text.len()));
        wide.unread_bytes = left.ok_or_else(miscounted)?;
        wide.cells.set(slot, text);
        Ok(())
    }

    /// From now on it is noted here what is missed.
    pub fn note_in(&mut self, missed: &Missed) {
        if let Some(wide) = &mut self.wide {
            wide.cells.note_in(Arc::clone(missed));
        }
    }

    /// A value that was asked for and had not been read.
    pub fn missed(&self) -> Option<Slot> {
        self.wide()?.missed()
    }

    /// These with some cells written over; `null` clears one. What is written over must have been read.
    pub fn with<'a>(&'a self, changes: impl IntoIterator<Item = (Slot, &'a str)>) -> Result<Self> {
        let mut wide = self.wide.as_deref().cloned().unwrap_or_default();
        let mut near: Vec<(Slot, &str)> = Vec::new();
        for (slot, text) in self.near.cells()?.iter() {
            if is_wide(text) {
                wide.cells.set(slot, text.into());
            } else {
                near.push((slot, text));
            }
        }
        for (slot, text) in changes {
            if wide.cells.is_unread(slot) {
                return Err(StoreError::Unread(slot));
            }
            if is_wide(text) {
                near.push((slot, "null"));
                wide.cells.set(slot, text.into());
            } else {
                wide.cells.remove(slot);
                near.push((slot, text));
            }
        }
        let wide = (!wide.cells.is_empty()).then(|| Box::new(wide));
        Ok(Self { near: Record::pack(near), wide })
    }

    /// How many bytes they take when they are together in a record, also those that were not read.
    pub fn bytes(&self) -> Result<usize> {
        let Some(wide) = &self.wide else { return Ok(self.near.as_bytes().len()) };
        let count = self.near.count()? + wide.cells.count();
        let apart = wide.cells.read_bytes().saturating_add(wide.unread_bytes);
        Ok(record_bytes(count, self.near.cells_bytes()?.saturating_add(apart)))
    }

    /// How many bytes those take that are here, about.
    pub fn read_bytes(&self) -> usize {
        self.near.as_bytes().len() + self.wide().map_or(0, WideCells::read_bytes)
    }

    /// All of them together.
    pub fn whole(&self) -> Result<Record> {
        if let Some(slot) = self.unread().next() {
            return Err(StoreError::Unread(slot));
        }
        if self.wide.is_none() {
            return Ok(self.near.clone());
        }
        Ok(Record::pack(self.cells()?.iter()))
    }
}

fn miscounted() -> StoreError {
    StoreError::Damaged("the wide values of a row are not as long as it notes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wide_values::NEAR_VALUE_BYTES_MAX;

    fn text(letter: char) -> String {
        letter.to_string().repeat(NEAR_VALUE_BYTES_MAX + 1)
    }

    /// A row as it is read before anybody says what is needed of it.
    fn stored(whole: &Record) -> RowValues {
        let wide = WideSlots::of(whole).unwrap();
        let near = Record::pack(whole.cells().unwrap().iter().filter(|(slot, _)| !wide.contains(*slot)));
        let wide_bytes = whole.as_bytes().len() - near.as_bytes().len();
        RowValues::stored(near, &wide, wide_bytes).unwrap()
    }

    #[test]
    fn bytes_are_known_whatever_was_read() {
        let (a, b) = (text('a'), text('b'));
        let many: Vec<(Slot, &str)> = (1_000..1_130).map(|slot| (slot, "1")).collect();
        for whole in [
            Record::pack([(1, "1"), (2, &*a), (300, &*b)]),
            Record::pack([(2, &*a)]),
            // With one cell less the count of them takes a byte less.
            Record::pack(many[..126].iter().copied().chain([(2, &*a), (300, &*b)])),
            Record::pack(many.iter().copied().chain([(2, &*a), (300, &*b)])),
        ] {
            let mut values = stored(&whole);
            assert_eq!(values.bytes().unwrap(), whole.as_bytes().len());
            let changed = values.with([(1, "\"new\""), (7, &*b)]).unwrap();
            let expected = whole.with([(1, "\"new\""), (7, &*b)]).unwrap();
            assert_eq!(changed.bytes().unwrap(), expected.as_bytes().len());
            assert!(matches!(values.whole(), Err(StoreError::Unread(2))));
            assert!(matches!(values.with([(2, "null")]), Err(StoreError::Unread(2))));
            for slot in values.unread().collect::<Vec<_>>() {
                values.fill(slot, whole.cells().unwrap().get(slot).unwrap().into()).unwrap();
                assert_eq!(values.bytes().unwrap(), whole.as_bytes().len());
            }
            assert_eq!(values.whole().unwrap(), whole);
            let cleared = values.with([(2, "null"), (1, &*a), (1, "2")]).unwrap();
            let expected = whole.with([(2, "null"), (1, "2")]).unwrap();
            assert_eq!(
                (cleared.bytes().unwrap(), cleared.whole().unwrap()),
                (expected.as_bytes().len(), expected)
            );
        }
    }

    #[test]
    fn what_is_not_as_it_is_noted_is_an_error() {
        let whole = Record::pack([(1, "1"), (2, &*text('a'))]);
        let wide = WideSlots::of(&whole).unwrap();
        assert!(RowValues::stored(whole.clone(), &wide, 5_000).is_err(), "a value stands twice");
        let mut shorter = RowValues::stored(Record::pack([(1, "1")]), &wide, 0).unwrap();
        assert!(shorter.fill(2, text('a').into()).is_err());
        let longer = text('a').repeat(2);
        assert!(stored(&whole).fill(2, longer.into()).is_err());
    }
}
