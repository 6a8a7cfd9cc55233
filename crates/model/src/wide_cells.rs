//! Large values of a row that lie apart from its record. Some may not have been read.
//!
//! Whoever asks for one of those finds nothing, as in an empty cell. So that nobody takes it for empty, the question is
//! noted: whoever decides by a row asks afterwards whether [one was missed](WideCells::missed).

use std::sync::{Arc, OnceLock};

use crate::packing::{Slot, cell_bytes};

/// Where it is noted that a value was asked for that had not been read: the first of them.
pub type Missed = Arc<OnceLock<Slot>>;

/// The values of one row that lie apart from its record. A clone shares them.
#[derive(Debug, Clone, Default)]
pub struct WideCells {
    /// In the order of slots. `None` has not been read.
    cells: Vec<(Slot, Option<Arc<str>>)>,
    missed: Missed,
}

impl WideCells {
    /// Values in these slots, of which none was read yet.
    pub fn unread(slots: impl IntoIterator<Item = Slot>) -> Self {
        let mut cells: Vec<(Slot, Option<Arc<str>>)> = slots.into_iter().map(|slot| (slot, None)).collect();
        cells.sort_unstable_by_key(|(slot, _)| *slot);
        Self { cells, missed: Missed::default() }
    }

    /// From now on it is noted here what is missed.
    pub fn note_in(&mut self, missed: Missed) {
        self.missed = missed;
    }

    /// A slot whose value was asked for and had not been read.
    pub fn missed(&self) -> Option<Slot> {
        self.missed.get().copied()
    }

    /// The raw JSON text of a cell. `None` where it lies elsewhere or was not read, which is noted.
    pub fn get(&self, slot: Slot) -> Option<&str> {
        let text = self.entry(slot)?;
        if text.is_none() {
            let _ = self.missed.set(slot);
        }
        text.as_deref()
    }

    /// All that were read. That others were not is noted.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &str)> {
        self.slots().filter_map(|slot| Some((slot, self.get(slot)?)))
    }

    /// What lies in a slot: a text, or one that was not read.
    pub fn entry(&self, slot: Slot) -> Option<&Option<Arc<str>>> {
        self.place(slot).ok().and_then(|place| self.cells.get(place)).map(|(_, text)| text)
    }

    pub fn is_unread(&self, slot: Slot) -> bool {
        matches!(self.entry(slot), Some(None))
    }

    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.cells.iter().map(|(slot, _)| *slot)
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub fn count(&self) -> usize {
        self.cells.len()
    }

    /// How many bytes those that were read take in a record.
    pub fn read_bytes(&self) -> usize {
        let bytes = |(slot, text): &(Slot, Option<Arc<str>>)| Some(cell_bytes(*slot, text.as_ref()?.len()));
        self.cells.iter().filter_map(bytes).sum()
    }

    pub fn set(&mut self, slot: Slot, text: Arc<str>) {
        match self.place(slot) {
            Ok(place) => {
                if let Some((_, stored)) = self.cells.get_mut(place) {
                    *stored = Some(text);
                }
            }
            Err(place) => self.cells.insert(place, (slot, Some(text))),
        }
    }

    pub fn remove(&mut self, slot: Slot) {
        if let Ok(place) = self.place(slot) {
            self.cells.remove(place);
        }
    }

    fn place(&self, slot: Slot) -> Result<usize, usize> {
        self.cells.binary_search_by_key(&slot, |(slot, _)| *slot)
    }
}
