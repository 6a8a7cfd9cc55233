//! What a sent row writes into one that is there already.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rowmill_model::limits::OFFENCES_MAX;
use rowmill_model::record::{Cells, Slot};
use rowmill_model::{ColumnId, RowId, Table, value};

use crate::error::Result;
use crate::lookup::column_of;
use crate::types::{GuestWrite, Inserted, KeptInput, NewRow, RowAction};

/// Cells to write: where, and raw JSON text.
pub type RowWrites<'a> = Vec<(Slot, Cow<'a, str>)>;

/// The fields of a batch that name no column: those kept in `_trigger` of some row, and those kept nowhere in some row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftoverFields {
    pub kept: BTreeSet<String>,
    pub ignored: BTreeSet<String>,
}

impl LeftoverFields {
    /// Notes what became of the fields of an object.
    fn note(into: &mut BTreeSet<String>, object: &str) {
        for (name, _) in value::members(object) {
            if into.len() < OFFENCES_MAX {
                into.insert(name.into_owned());
            }
        }
    }

    /// What became of a batch of which some rows matched: only then it is the store who knows what was kept.
    pub fn into_inserted(
        self,
        rows: Vec<(RowId, RowAction)>,
        mut ignored_keys: Vec<String>,
        mut kept_input: KeptInput,
    ) -> Inserted {
        let Self { kept, ignored } = self;
        kept_input.fields.retain(|field| kept.contains(field));
        let new: Vec<String> = ignored.into_iter().filter(|field| !ignored_keys.contains(field)).collect();
        ignored_keys.extend(new);
        Inserted { rows, ignored_keys, kept_input }
    }

    /// Notes the fields of a row that is inserted.
    pub fn insert(&mut self, table: &Table, sent: &NewRow) -> Result<()> {
        let Some(input) = input_slot(table).filter(|_| sent.leftover_bytes_max.is_some()) else {
            return Ok(());
        };
        if let Some(object) = sent.values.cells()?.get(input) {
            Self::note(&mut self.kept, object);
        }
        Ok(())
    }
}

/// All that a row says.
pub fn writes_of(sent: &NewRow) -> Result<RowWrites<'_>> {
    let cells = sent.values.cells()?;
    let cleared = sent.cleared.iter().map(|slot| (*slot, Cow::Borrowed("null")));
    Ok(cells.iter().map(|(slot, raw)| (slot, Cow::Borrowed(raw))).chain(cleared).collect())
}

/// The slots that are compared with a stored row, and maybe written there, when a row is sent: see [`super::Look::Write`].
pub fn slots_of(sent: &NewRow, index: Option<Slot>) -> Result<Vec<Slot>> {
    let cells = sent.values.cells()?;
    let sent = cells.iter().map(|(slot, _)| slot).chain(sent.cleared.iter().copied());
    Ok(sent.chain(index.map(column_of)).collect())
}

/// What a sent row writes into the one it matches in an index. The cell that matches stays as it is. Fields that name no
/// column are merged into `_trigger` if that holds an object, take its place if the row clears it, and are otherwise kept
/// nowhere.
pub fn writes_into_match<'a>(
    table: &Table,
    index: Slot,
    stored: &Cells<'_>,
    sent: &'a NewRow,
    leftover: &mut LeftoverFields,
) -> Result<RowWrites<'a>> {
    let mut writes = writes_of(sent)?;
    writes.retain(|(slot, _)| *slot != column_of(index));
    let (Some(bytes_max), Some(input)) = (sent.leftover_bytes_max, input_slot(table)) else {
        return Ok(writes);
    };
    let Some(place) = writes.iter().position(|(slot, _)| *slot == input) else { return Ok(writes) };
    let clears = sent.cleared.contains(&input);
    let (_, sent) = writes.remove(place);
    writes.retain(|(slot, _)| *slot != input);
    let members = value::members(&sent);
    let changed: Vec<(&str, &str)> = members.iter().map(|(name, raw)| (&**name, *raw)).collect();
    let merged = match stored.get(input) {
        // The row says null for it, too: nothing is left to be merged into.
        _ if clears => Some(sent.to_string()),
        stored => stored.and_then(|stored| value::with_members(stored, &changed)),
    };
    match merged.filter(|merged| merged.len() <= bytes_max) {
        Some(merged) => {
            LeftoverFields::note(&mut leftover.kept, &sent);
            writes.push((input, Cow::Owned(merged)));
        }
        None => LeftoverFields::note(&mut leftover.ignored, &sent),
    }
    Ok(writes)
}

/// What a delivery writes into a guest's row: what it carries. The rest of the payload stays.
pub fn writes_into_guest<'a>(
    table: &Table,
    stored: &Cells<'_>,
    guest: &'a GuestWrite,
) -> Result<RowWrites<'a>> {
    let mut writes = writes_of(&guest.row)?;
    let slot_of = |id: &str| table.by_id(id).map(|column| column.slot);
    if !guest.carried.has_approval_status() {
        writes.retain(|(slot, _)| Some(*slot) != slot_of(ColumnId::GUEST_STATUS));
    }
    let input = slot_of(ColumnId::TRIGGER);
    if let Some((slot, payload)) = writes.iter_mut().find(|(slot, _)| Some(*slot) == input)
        && let Some(stored) = stored.get(*slot)
        && let Some(merged) = guest.carried.merged(stored, payload)
        && merged.len() <= guest.cell_bytes_max
    {
        *payload = Cow::Owned(merged);
    }
    Ok(writes)
}

fn input_slot(table: &Table) -> Option<Slot> {
    table.by_id(ColumnId::TRIGGER).map(|column| column.slot)
}
