//! Rows as stores read them, without the marks of their cells.

use std::sync::Arc;

use rowmill_model::cell::Details;
use rowmill_model::record::Slot;
use rowmill_model::wide_cells::{Missed, WideCells};
use rowmill_model::{Record, RowId};

use crate::error::Result;
use crate::row_values::RowValues;
use crate::row_write::RowWrite;
use crate::wide_values::WideSlots;

/// A row that is shown to somebody.
#[derive(Debug, Clone)]
pub struct RawRow {
    pub id: RowId,
    pub position: u64,
    pub values: Record,
    pub details: Details,
}

/// A row that may change. Its wide values are read where they are looked at.
#[derive(Debug, Clone)]
pub struct PartRow {
    pub id: RowId,
    pub position: u64,
    pub values: RowValues,
    pub details: Details,
    /// What of the values is stored apart from it.
    stored: Option<WideCells>,
}

impl PartRow {
    /// One that is not stored yet.
    pub(super) fn new(id: RowId, position: u64, values: RowValues, details: Details) -> Self {
        Self { id, position, values, details, stored: None }
    }

    /// A row as it is stored: the values inside it, and what it notes of the others.
    pub fn stored(
        (id, position): (RowId, u64),
        near: Record,
        details: Details,
        (wide, wide_bytes): (&WideSlots, usize),
    ) -> Result<Self> {
        let values = RowValues::stored(near, wide, wide_bytes)?;
        let stored = values.wide().cloned();
        Ok(Self { id, position, values, details, stored })
    }

    /// Takes a wide value that was read.
    pub fn fill(&mut self, slot: Slot, text: Arc<str>) -> Result<()> {
        if let Some(stored) = &mut self.stored
            && stored.is_unread(slot)
        {
            stored.set(slot, Arc::clone(&text));
        }
        self.values.fill(slot, text)
    }

    /// From now on it is noted here what is missed.
    pub(super) fn note_in(mut self, missed: &Missed) -> Self {
        self.values.note_in(missed);
        self
    }

    /// The row as it is once it is written.
    pub(super) fn after(&self) -> Result<Self> {
        let values = self.values.with([])?;
        let stored = values.wide().cloned();
        Ok(Self { values, stored, ..self.clone() })
    }

    /// The row as a store writes it.
    pub(super) fn into_write(self) -> Result<RowWrite> {
        let Self { id, position, values, details, stored } = self;
        RowWrite::new((id, position), values, details, stored.as_ref())
    }
}
