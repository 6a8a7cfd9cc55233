//! What keeps an import from leaving behind what nobody wants: columns of rejected rows, and misspelt fields.

use std::collections::{BTreeMap, HashSet};

use rowmill_model::Offence;
use rowmill_model::nearest::{COMPARED_MAX, nearest};
use rowmill_model::table::header_key;
use rowmill_store::lookup::Ambiguity;
use rowmill_store::{StoreError, StoredProject};

use super::{Import, ImportField, ImportRow, NAME_CHARS_MAX};
use crate::app::App;
use crate::error::{Error, Result};
use crate::rows::match_column;

/// So many fields are compared with all headers.
const HINTS_MAX: usize = 100;
/// A name is compared with so many fields of the file: it may have any number.
const FIELDS_COMPARED_MAX: usize = 1_000;

impl App {
    /// Why a row cannot be matched with one stored row, if it cannot. Of the row only what it is matched by is looked at,
    /// and it may not be inserted: nothing is written, but for the spelling of a value that matches in any letter case.
    pub(super) async fn ambiguity(
        &self,
        stored: &StoredProject,
        import: &Import,
        mut row: ImportRow,
    ) -> Result<Option<Ambiguity>> {
        let Some(name) = &import.options.match_on else { return Ok(None) };
        let slot = match_column(stored, name)?;
        row.retain(|(column, _)| column.slot == slot);
        let mut probe = self.lay_out_import(stored, import, &[(0, row)])?;
        probe.new_rows_max = Some(0);
        match self.store.insert_rows(probe).await {
            Err(StoreError::AmbiguousMatch(rows)) => Ok(rows.first().map(|(_, why)| *why)),
            // It would be new, or the columns change just now: then it is found out when it is written.
            Ok(_) | Err(StoreError::Full | StoreError::Stale) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }
}

impl Import {
    /// Whether the request names fields of the file.
    pub fn names_fields(&self) -> bool {
        !self.options.formats.is_empty() || !self.options.mapping.is_empty()
    }

    /// Refuses formats of fields that the file does not have: they are misspelt, and would do nothing. A mapping may name
    /// fields that other files have, but not a misspelling of one that this file has; nor may formats, where `fields` are not
    /// all of them (`is_whole`).
    pub fn check_names(&self, fields: &[&str], is_whole: bool) -> Result<()> {
        let known: HashSet<&str> = fields.iter().copied().collect();
        let mut compared = 0;
        let mut meant = |name: &str| {
            compared += 1;
            let near = || nearest(name, fields.iter().copied().take(FIELDS_COMPARED_MAX));
            if compared <= COMPARED_MAX { near() } else { None }
        };
        let (mapping, formats) = (&self.options.mapping, &self.options.formats);
        let mut offences = Vec::new();
        let mut check = |option: &str, name: &str, must_be_there: bool, names: &dyn Fn(&str) -> bool| {
            if known.contains(name) {
                return;
            }
            let near = meant(name);
            if !must_be_there && near.is_none_or(names) {
                return;
            }
            let shown: String = name.chars().take(NAME_CHARS_MAX).collect();
            let hint = match near {
                Some(near) => format!("did you mean {near:?}?"),
                None => "use the name of one, with the same letters".to_owned(),
            };
            let message = format!("is not a field of this file; {hint}");
            offences.push(Offence::new(format!("{option}.{shown}"), message));
        };
        for name in formats.keys() {
            check("formats", name, is_whole, &|near| formats.contains_key(near));
        }
        for name in mapping.keys() {
            check("mapping", name, false, &|near| mapping.contains_key(near));
        }
        if offences.is_empty() { Ok(()) } else { Err(Error::invalid(offences)) }
    }

    /// Refuses to match on a column that no field of the file goes to: every row would be new.
    pub(super) fn check_match(&self, stored: &StoredProject, fields: &[ImportField]) -> Result<()> {
        let Some(name) = &self.options.match_on else { return Ok(()) };
        let slot = match_column(stored, name)?;
        if self.targets.values().flatten().any(|column| column.slot == slot) {
            return Ok(());
        }
        let table = &stored.project.table;
        let header = table.named(name).map_or(name.as_str(), |column| column.header.as_str());
        let hint = match nearest(header, fields.iter().map(|field| field.name.as_str())) {
            Some(near) => format!("did you mean the field {near:?}? Name it in mapping"),
            None => "name the field that has its values in mapping".to_owned(),
        };
        let message =
            format!("no field of this file goes to the column {header:?}, so every row would be new; {hint}");
        Err(Error::invalid(vec![Offence::new("matchOn", message)]))
    }

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
