//! What a change looks at in a row. The values inside a row are always here; of the wide ones those are read that are
//! looked at.
//!
//! A store says what is to be done with a row ([`Look`]), reads what is [unread](RowChanges::unread) and
//! [hands it in](RowChanges::fill). A value that was looked at and had been forgotten here is found out before anything
//! is written ([`RowChanges::check_looks`]): it is never taken for empty.

use std::collections::BTreeSet;
use std::sync::Arc;

use rowmill_model::cell::Details;
use rowmill_model::record::Slot;
use rowmill_model::{Record, RowId};

use super::raw_row::PartRow;
use super::row_changes::RowChanges;
use crate::error::{Result, StoreError};
use crate::lookup::column_of;
use crate::types::WantedSlots;
use crate::work::CellResult;

/// What is to be done with a row.
#[derive(Debug, Clone, Copy)]
pub enum Look<'a> {
    /// These cells are compared with others, and maybe written.
    Write(&'a [Slot]),
    /// A cell is given to a worker, if it may run.
    Take(Slot),
    /// A cell ends.
    Settle(Slot, &'a CellResult),
    /// It comes back from the trash.
    Restore,
    /// It is found out whether results of these columns are stale.
    Refresh(&'a [Slot]),
    /// It is shown.
    Show,
}

impl<V: Copy> RowChanges<V> {
    /// The wide values that are still to be read of a row before that is done with it.
    pub fn unread(&self, row: &PartRow, look: Look<'_>) -> Vec<Slot> {
        if row.values.unread().next().is_none() {
            return Vec::new();
        }
        let looked_at = self.looked_at(&row.details, look);
        row.values.unread().filter(|slot| looked_at.contains(*slot)).collect()
    }

    /// The same of a row that is loaded.
    pub fn unread_at(&self, position: u64, look: Look<'_>) -> Vec<Slot> {
        self.row(position).map(|row| self.unread(row, look)).unwrap_or_default()
    }

    /// Takes a wide value of a loaded row that was read.
    pub fn fill(&mut self, position: u64, slot: Slot, text: Arc<str>) -> Result<()> {
        self.bytes += text.len();
        self.loaded(position)?.row.fill(slot, text)
    }

    /// The columns that rows are matched on.
    pub fn matched_slots(&self) -> WantedSlots {
        WantedSlots::only(self.columns_matched())
    }

    fn columns_matched(&self) -> impl Iterator<Item = Slot> {
        self.lookup_slots.iter().map(|index| column_of(*index))
    }

    /// Takes of a row that is to be deleted no more than that needs: the values that rows are matched on, and how many
    /// bytes all of them take.
    pub fn know_for_deletion(
        &mut self,
        (id, position): (RowId, u64),
        values: Option<&Record>,
        value_bytes: usize,
        version: V,
    ) -> Result<()> {
        let cells = values.map(Record::cells).transpose()?;
        let slots: BTreeSet<Slot> = self.columns_matched().collect();
        let matched = |slot: &Slot| Some((*slot, cells.as_ref()?.get(*slot)?));
        let values = Record::pack(slots.iter().filter_map(matched));
        self.know_by_id(PartRow::new(id, position, values.into(), Details::default()), version)?;
        self.loaded(position)?.value_bytes = value_bytes;
        Ok(())
    }

    fn looked_at(&self, details: &Details, look: Look<'_>) -> WantedSlots {
        let outbox = self.outbox.as_ref();
        let plan = &self.plan;
        // Whether a result is made from the same as before is asked only where it is known what that was.
        let made_from = |column: Slot| {
            let is_known = details.get(column).is_some_and(|detail| detail.made_from.is_some());
            plan.inputs(column).filter(move |_| is_known)
        };
        let slots: BTreeSet<Slot> = match look {
            Look::Show => return WantedSlots::All,
            Look::Write(slots) if outbox.is_some_and(|outbox| outbox.tells_whole_if_written(slots)) => {
                return WantedSlots::All;
            }
            Look::Restore if outbox.is_some_and(|outbox| outbox.tells_whole_if_created()) => {
                return WantedSlots::All;
            }
            Look::Write(slots) => {
                let readers = slots.iter().flat_map(|slot| plan.readers(*slot));
                slots.iter().copied().chain(readers.flat_map(made_from)).collect()
            }
            Look::Take(slot) => plan.reads(slot).collect(),
            Look::Settle(slot, CellResult::Value(..) | CellResult::NoData(_)) => {
                let own = std::iter::once(slot).chain(plan.inputs(slot));
                own.chain(plan.readers(slot).flat_map(made_from)).collect()
            }
            // Its value stays as it is.
            Look::Settle(..) => BTreeSet::new(),
            Look::Restore => self.columns_matched().chain(plan.slots().flat_map(made_from)).collect(),
            Look::Refresh(slots) => slots.iter().copied().flat_map(made_from).collect(),
        };
        WantedSlots::only(slots)
    }

    /// Fails if a value was looked at that had not been read: what was decided may be wrong.
    pub(super) fn check_looks(&self) -> Result<()> {
        self.missed.get().map_or(Ok(()), |slot| Err(StoreError::Unread(*slot)))
    }
}
