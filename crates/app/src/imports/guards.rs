//! What keeps an import from leaving behind what nobody wants: columns of rejected rows, and misspelt fields.

use std::collections::BTreeMap;

use rowmill_model::nearest::nearest;
use rowmill_model::table::header_key;
use rowmill_store::{StoreError, StoredProject};

use super::{Import, ImportRow};
use crate::app::App;
use crate::error::Result;
use crate::rows::match_column;

/// So many fields are compared with all headers.
const HINTS_MAX: usize = 100;

impl App {
    /// Whether several stored rows match a row. Of the row only what it is matched by is looked at, and it may not be
    /// inserted: nothing is written, but for the spelling of a value that matches in any letter case.
    pub(super) async fn is_ambiguous(
        &self,
        stored: &StoredProject,
        import: &Import,
        mut row: ImportRow,
    ) -> Result<bool> {
        let Some(name) = &import.options.match_on else { return Ok(false) };
        let slot = match_column(stored, name)?;
        row.retain(|(column, _)| column.slot == slot);
        let mut probe = self.lay_out_import(stored, import, &[(0, row)])?;
        probe.new_rows_max = Some(0);
        match self.store.insert_rows(probe).await {
            Err(StoreError::AmbiguousMatch(_)) => Ok(true),
            // It would be new, or the columns change just now: then it is found out when it is written.
            Ok(_) | Err(StoreError::Full | StoreError::Stale) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }
}

impl Import {
    /// Fields that went nowhere or became columns, though they may be misspellings of a header that was there. Those
    /// that the mapping leaves out are meant so.
    pub fn hints(&self) -> BTreeMap<String, String> {
        let headers = || self.headers.iter().map(String::as_str);
        let is_meant = |field: &&str| !matches!(self.options.mapping.get(*field), Some(None));
        let ignored = self.ignored.iter().map(String::as_str).filter(is_meant);
        let created = self.created.iter().map(|(_, header)| header.as_str());
        let hint = |field: &str| {
            let near = nearest(field, headers()).filter(|header| header_key(header) != header_key(field))?;
            Some((field.to_owned(), near.to_owned()))
        };
        ignored.chain(created).take(HINTS_MAX).filter_map(hint).collect()
    }
}
