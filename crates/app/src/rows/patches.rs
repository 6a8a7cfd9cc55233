//! Changing many rows at once.

use std::collections::{BTreeMap, HashMap, HashSet};

use rowmill_model::limits::OFFENCES_MAX;
use rowmill_model::{Offence, RowId};
use rowmill_store::{CellWrite, KeptInput, StoreError, StoredProject, WriteCells};

use crate::app::App;
use crate::blocking::off_async;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::projects::ATTEMPTS_MAX;
use crate::rows::fields::{Fields, Text};
use crate::rows::kept_changing;
use crate::rows::layout::{Layout, Leftover, Made, RowLocation};

/// The field that names the row.
const ID: &str = "id";
/// An object that may hold the fields, as in a row that was read.
const CELLS: &str = "cells";

#[derive(Debug)]
pub struct PatchRows<'a> {
    /// The JSON text of each entry: an object with the `id` of a row, and its fields beside that or in `cells`.
    pub entries: Vec<&'a str>,
    /// The array that the entries stand in, `""` if the body is that array.
    pub array: &'static str,
    /// Whether fields that name no column are refused.
    pub strict: bool,
}

#[derive(Debug, Default)]
pub struct RowsPatched {
    /// Distinct rows that something was written into.
    pub updated_count: usize,
    pub ignored_keys: Vec<String>,
    /// Fields that name no column, to the headers that they may be misspellings of.
    pub hints: BTreeMap<String, String>,
}

/// What a batch comes to.
struct LaidOut {
    /// The row of each entry; none if its id is no row's.
    rows: Vec<Option<RowId>>,
    cells: Vec<CellWrite>,
    made: Made,
}

impl App {
    /// Writes fields of many rows, all or nothing. An unknown row is a failure that names every one.
    pub async fn patch_rows(
        &self,
        caller: Caller,
        project: &str,
        patch: &PatchRows<'_>,
    ) -> Result<RowsPatched> {
        let bytes = patch.entries.iter().map(|entry| entry.len()).sum();
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.project_to_change(caller, project).await?;
            let LaidOut { rows, cells, made } = off_async(bytes, || self.lay_out_patches(&stored, patch))?;
            let written: HashSet<RowId> = cells.iter().map(|cell| cell.row).collect();
            // The store looks for those that something is written into.
            if rows.iter().any(|row| row.is_none_or(|row| !written.contains(&row))) {
                self.check_rows(&stored, patch, &rows).await?;
            }
            let project_save = made.project.map(|project| Box::new(self.touched(project)));
            if !cells.is_empty() || project_save.is_some() {
                let write = WriteCells {
                    project: stored.project.id,
                    version: stored.version,
                    project_save,
                    cells,
                    expected: None,
                    now_ms: self.clock.now_ms(),
                    returning: Vec::new(),
                };
                match self.store.write_cells(write).await {
                    // Something changed meanwhile: lay the values out anew.
                    Err(StoreError::Stale) => continue,
                    Err(StoreError::UnknownRows(_)) => {
                        self.check_rows(&stored, patch, &rows).await?;
                        continue;
                    }
                    outcome => drop(outcome?),
                }
            }
            let (ignored_keys, KeptInput { hints, .. }) = (made.ignored_keys, made.kept_input);
            return Ok(RowsPatched { updated_count: written.len(), ignored_keys, hints });
        }
        Err(kept_changing())
    }

    fn lay_out_patches(&self, stored: &StoredProject, patch: &PatchRows<'_>) -> Result<LaidOut> {
        let leftover = if patch.strict { Leftover::Refused } else { Leftover::Ignored };
        let mut layout = Layout::new(stored, &self.limits, leftover);
        let mut fields = Fields::default();
        let mut rows = Vec::with_capacity(patch.entries.len());
        let mut cells = Vec::new();
        let most = self.limits.patch_cells_max;
        for (index, entry) in patch.entries.iter().enumerate() {
            let place = RowLocation::Entry(patch.array, index);
            let Some(row) = read_entry(&mut layout, entry, &mut fields, place) else { continue };
            rows.push(row);
            let laid_out = layout.cells(&fields, place);
            if cells.len() + laid_out.len() > usize::try_from(most).unwrap_or(usize::MAX) {
                let message = format!(
                    "have more than {most} cells in all, the most one request can update (patchCellsMax). Split it \
                     into several requests"
                );
                return Err(Error::limit(patch.array, message));
            }
            if let Some(row) = row {
                let writes = laid_out.into_iter();
                cells.extend(writes.map(|(slot, value)| CellWrite { row, slot, value: value.into() }));
            }
            if layout.is_hopeless() {
                break;
            }
        }
        Ok(LaidOut { rows, cells, made: layout.finish()? })
    }

    /// Fails if an entry names no row of the project, and says which do.
    async fn check_rows(
        &self,
        stored: &StoredProject,
        patch: &PatchRows<'_>,
        rows: &[Option<RowId>],
    ) -> Result<()> {
        let ids: Vec<RowId> = rows.iter().flatten().copied().collect();
        let positions = self.store.positions(stored.project.id, ids.clone()).await?;
        let is_there: HashMap<RowId, bool> =
            ids.into_iter().zip(positions).map(|(id, position)| (id, position.is_some())).collect();
        let is_missing = |row: &Option<RowId>| row.is_none_or(|row| is_there.get(&row) != Some(&true));
        let missing = rows.iter().enumerate().filter(|(_, row)| is_missing(row));
        let told = |(index, _)| {
            let place = RowLocation::Entry(patch.array, index);
            Offence::new(format!("{place}.{ID}"), "is not a row of this project")
        };
        let details: Vec<Offence> = missing.take(OFFENCES_MAX).map(told).collect();
        if details.is_empty() { Ok(()) } else { Err(Error::SomeNotFound { noun: Noun::Row, details }) }
    }
}

/// The row that an entry names, and its other fields; none if the entry is wrong. An id that is no row's is none within.
#[expect(clippy::option_option, reason = "an entry that is wrong is told otherwise than an unknown row")]
fn read_entry<'a>(
    layout: &mut Layout<'a>,
    entry: &'a str,
    fields: &mut Fields<'a>,
    place: RowLocation,
) -> Option<Option<RowId>> {
    if !layout.read(entry, fields, place) {
        return None;
    }
    let Some(index) = fields.0.iter().position(|(name, _)| name == ID) else {
        layout.offend(format!("{place}.{ID}"), "is required: the id of the row");
        return None;
    };
    let (_, raw) = fields.0.remove(index);
    let Ok(Text(id)) = serde_json::from_str::<Text<'_>>(raw) else {
        layout.offend(format!("{place}.{ID}"), "must be a string: the id of the row");
        return None;
    };
    if fields.0.iter().any(|(name, _)| name == ID) {
        layout.offend(format!("{place}.{ID}"), "is given twice");
        return None;
    }
    if let [(name, raw)] = fields.0.as_slice()
        && name == CELLS
        && raw.starts_with('{')
    {
        let raw: &'a str = raw;
        if !layout.read(raw, fields, format!("{place}.{CELLS}")) {
            return None;
        }
    }
    Some(RowId::parse(&id))
}
