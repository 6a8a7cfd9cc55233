//! Rows from a file: which columns its fields go to, and batch after batch of them.

mod column;
mod guards;
mod twins;

use std::collections::{BTreeMap, HashMap, HashSet};

use rowmill_model::corrections::unique_header;
use rowmill_model::limits::NAME_CHARS_MAX;
use rowmill_model::table::{ColumnNames, header_key};
use rowmill_model::value::MatchCase;
use rowmill_model::{ColumnId, ColumnType, Format, ImportId, Offence, RowId, Scopes, Table};
use rowmill_store::lookup::{Ambiguity, index_of};
use rowmill_store::{ImportStep, KeptInput, NewRow, NewRows, StoreError, StoredProject};

use crate::app::App;
use crate::blocking::Effort;
use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::ids::{column_id, uuids};
pub use crate::imports::column::{ImportColumn, ImportField};
use crate::imports::twins::Twins;
use crate::projects::{ATTEMPTS_MAX, Change};
use crate::rows::ambiguous::ambiguous_line;
use crate::rows::layout::{RowCells, new_row, too_large};
use crate::rows::{kept_changing, match_column};

const TWICE: &str = "names the same column twice";

/// How a file's fields become cells.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// Fields to columns, by id or header, or to nothing.
    pub mapping: BTreeMap<String, Option<String>>,
    /// Whether a field that names no column becomes one.
    pub create_columns: bool,
    /// The types of columns that are made, by field.
    pub formats: BTreeMap<String, Format>,
    /// A column id or header. A row with the same value in this column is updated instead of inserted.
    pub match_on: Option<String>,
    /// Whether matching ignores letter case and outer blanks.
    pub any_case: bool,
}

/// An import under way.
#[derive(Debug)]
pub struct Import {
    caller: Caller,
    project: String,
    pub(crate) options: ImportOptions,
    /// The job, if it runs in the background.
    pub(crate) job: Option<ImportId>,
    pub(crate) targets: HashMap<String, Option<ImportColumn>>,
    /// Bytes of the names of `targets`.
    pub(crate) names_bytes: usize,
    /// Columns that were made, with their headers.
    pub created: Vec<(ColumnId, String)>,
    /// Fields that go nowhere.
    pub ignored: Vec<String>,
    /// The headers of the table before.
    pub(crate) headers: Vec<String>,
}

/// What an import that runs in the background notes with a batch, given the rows that were not taken.
pub type ImportStepOf<'a> = &'a (dyn Fn(&[(usize, String)]) -> ImportStep + Send + Sync);

/// The cells of one row: where they go, and raw JSON text.
pub type ImportRow = Vec<(ImportColumn, String)>;

/// What became of a batch.
#[derive(Debug, Default)]
pub struct ImportedBatch {
    pub inserted: u64,
    pub updated: u64,
    pub unchanged: u64,
    /// Rows that were not taken, by their place in the batch, and why.
    pub refused: Vec<(usize, String)>,
}

impl App {
    /// That the caller may write to a project.
    pub async fn project_for_import(&self, caller: Caller, project: &str) -> Result<()> {
        self.project_to_change(caller, project).await.map(drop)
    }

    /// Checks all that can be known before the file is read.
    pub async fn begin_import(
        &self,
        caller: Caller,
        project: &str,
        mut options: ImportOptions,
    ) -> Result<Import> {
        let stored = self.project_to_change(caller, project).await?;
        let mut offences = Vec::new();
        let mut taken: HashSet<&str> = HashSet::new();
        let names = ColumnNames::of(&stored.project.table);
        for (field, name) in &mut options.mapping {
            let Some(name) = name else { continue };
            let path = format!("mapping.{field}");
            match names.get(name) {
                None => {
                    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
                    let words = stored.project.table.no_column(&name, offences.len());
                    offences.push(Offence::new(path, format!("{name:?} {words}")));
                }
                Some(column) if column.kind == ColumnType::Reference => offences.push(Offence::new(
                    path,
                    "maps to a reference column, which is read-only; write to its source column",
                )),
                Some(column) if !taken.insert(column.id.as_str()) => {
                    offences.push(Offence::new(path, "maps to the same column as another field"));
                }
                Some(column) => column.id.as_str().clone_into(name),
            }
        }
        if !offences.is_empty() {
            return Err(Error::invalid(offences));
        }
        if let Some(name) = &options.match_on {
            match_column(&stored, name)?;
        }
        let headers = stored.project.table.columns.iter().map(|column| column.header.clone()).collect();
        Ok(Import::new(caller, project.to_owned(), options, headers))
    }

    /// Settles where these fields go, which may make columns. Those that stand side by side in a file never go to
    /// one column.
    pub async fn settle_fields(
        &self,
        import: &mut Import,
        fields: &[ImportField],
        side_by_side: bool,
    ) -> Result<()> {
        let mut seen = HashSet::new();
        let new: Vec<&ImportField> = fields
            .iter()
            .filter(|field| !import.targets.contains_key(&field.name) && seen.insert(&field.name))
            .collect();
        if side_by_side {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            import.check_names(&names, true)?;
        }
        if new.is_empty() {
            return Ok(());
        }
        import.names_bytes += new.iter().map(|field| field.name.len()).sum::<usize>();
        self.check_fields(import.targets.len() + new.len(), import.names_bytes)?;
        let stored = self.project_to_change(import.caller, &import.project).await?;
        let mut taken: HashSet<ColumnId> =
            import.targets.values().flatten().map(|column| column.id.clone()).collect();
        // A field that the file does not have keeps no column from others.
        let is_there = |name: &str| !side_by_side || fields.iter().any(|field| field.name == name);
        let mapped = import.options.mapping.iter().filter(|(name, _)| is_there(name));
        let mapped: HashSet<ColumnId> = mapped.filter_map(|(_, id)| id.clone()).map(ColumnId::new).collect();
        taken.extend(mapped.iter().cloned());
        let (mut missing, mut twins) = (Vec::new(), Twins::of(&stored.project.table, fields, side_by_side));
        for field in new {
            let table = &stored.project.table;
            // A process that died may have made the column.
            let made = import.column_id_of(&field.name).and_then(|id| table.by_id(id.as_str()));
            if let Some(column) = made {
                taken.insert(column.id.clone());
                import.created.push((column.id.clone(), column.header.clone()));
                import.targets.insert(field.name.clone(), Some(ImportColumn::of(column)));
                continue;
            }
            let target = match import.options.mapping.get(&field.name) {
                Some(None) => None,
                Some(Some(id)) => table.by_id(id),
                // The mapping says that another field is this column's, so this one is nobody's.
                None if side_by_side && names_one_of(table, field, &mapped) => None,
                // Two fields never go to one column.
                None => match twins.column(field, &taken) {
                    None if import.options.create_columns => {
                        missing.push(twins.planned_field(field));
                        continue;
                    }
                    found => found,
                },
            };
            // A reference follows another column: what a file says about it is known already.
            let target = target.filter(|column| column.kind != ColumnType::Reference).map(ImportColumn::of);
            match &target {
                Some(column) => drop(taken.insert(column.id.clone())),
                None => import.ignored.push(field.name.clone()),
            }
            import.targets.insert(field.name.clone(), target);
        }
        if side_by_side {
            import.check_match(&stored, fields)?;
        }
        self.make_columns(import, missing).await
    }

    /// All fields are remembered while a file is read.
    fn check_fields(&self, count: usize, names_bytes: usize) -> Result<()> {
        let exceeds = |number: usize, most: u32| !u32::try_from(number).is_ok_and(|number| number <= most);
        let (fields_max, bytes_max) =
            (self.limits.import_fields_max, self.limits.import_field_names_bytes_max);
        if exceeds(count, fields_max) {
            let message = format!("the file has more than {fields_max} different fields (importFieldsMax)");
            return Err(Error::limit("", message));
        }
        if exceeds(names_bytes, bytes_max) {
            let message = format!(
                "the names of the file's fields have more than {bytes_max} bytes (importFieldNamesBytesMax)"
            );
            return Err(Error::limit("", message));
        }
        Ok(())
    }

    /// Why a row of named values is not taken, if that is plain before its fields have found their columns: a row that
    /// is rejected makes no column.
    pub async fn early_refusal(&self, import: &Import, row: &[(&str, &str)]) -> Result<Option<String>> {
        if row.iter().all(|(field, _)| import.is_settled(field)) {
            return Ok(None);
        }
        let stored = self.project_to_change(import.caller, &import.project).await?;
        let names = ColumnNames::of(&stored.project.table);
        let (mut taken, mut known, mut makes_columns) = (HashSet::new(), Vec::new(), false);
        for (field, value) in row {
            let column = match (import.targets.get(*field), import.options.mapping.get(*field)) {
                (Some(None), _) | (None, Some(None)) => continue,
                (Some(Some(column)), _) => names.get(column.id.as_str()),
                (None, Some(Some(id))) => names.get(id),
                (None, None) => names.get(field),
            };
            let target = match column {
                Some(column) if column.kind == ColumnType::Reference => continue,
                Some(column) => {
                    let target = ImportColumn::of(column);
                    if let Some(reason) = target.refusal(value, &self.limits) {
                        return Ok(Some(reason));
                    }
                    known.push((target, (*value).to_owned()));
                    column.id.as_str().to_owned()
                }
                None if import.options.create_columns => {
                    makes_columns = true;
                    header_key(field)
                }
                None => continue,
            };
            if !taken.insert(target) {
                return Ok(Some(TWICE.to_owned()));
            }
            if let Some(words) = too_large(value, &self.limits) {
                return Ok(Some(format!("a cell {words}")));
            }
        }
        let why = if makes_columns { self.ambiguity(&stored, import, known).await? } else { None };
        Ok(why.map(ambiguous_line))
    }

    async fn make_columns(&self, import: &mut Import, fields: Vec<ImportField>) -> Result<()> {
        if fields.is_empty() {
            return Ok(());
        }
        import.caller.needs(Scopes::SCHEMA)?;
        let id = |field: &ImportField| import.column_id_of(&field.name).map_or_else(column_id, Ok);
        let ids = fields.iter().map(id).collect::<Result<Vec<ColumnId>>>()?;
        let saved = self
            .change(Effort::Quick, import.caller, &import.project, None, |stored| {
                let mut change = Change::from(stored);
                let table = &mut change.project.table;
                self.check_room(table.columns.len() + fields.len())?;
                for (field, id) in fields.iter().zip(&ids) {
                    let wanted: String = field.header.trim().chars().take(NAME_CHARS_MAX).collect();
                    let wanted = if wanted.trim().is_empty() { "Column" } else { wanted.trim() };
                    let header = unique_header(table, id.as_str(), wanted);
                    let format = import.options.formats.get(&field.name);
                    table.push_manual_of(id.clone(), &header, format.cloned());
                }
                Ok(change)
            })
            .await?;
        for (field, id) in fields.into_iter().zip(ids) {
            if let Some(column) = saved.project.table.by_id(id.as_str()) {
                import.created.push((id, column.header.clone()));
                import.targets.insert(field.name, Some(ImportColumn::of(column)));
            }
        }
        Ok(())
    }

    /// Takes a batch of rows. One that cannot be taken is told, and holds up no other.
    pub async fn import_rows(
        &self,
        import: &Import,
        rows: Vec<ImportRow>,
        step: Option<ImportStepOf<'_>>,
    ) -> Result<ImportedBatch> {
        let mut batch = ImportedBatch::default();
        let mut left: Vec<(usize, ImportRow)> = Vec::with_capacity(rows.len());
        for (index, row) in rows.into_iter().enumerate() {
            match self.row_refusal(&row) {
                Some(reason) => batch.refused.push((index, reason)),
                None => left.push((index, row)),
            }
        }
        for _ in 0..ATTEMPTS_MAX {
            if left.is_empty() {
                if let Some(step) = step {
                    self.store.checkpoint_import(step(&batch.refused)).await?;
                }
                return Ok(batch);
            }
            let stored = self.project_to_change(import.caller, &import.project).await?;
            let mut new_rows = self.lay_out_import(&stored, import, &left)?;
            new_rows.new_rows_max = self.new_rows_max(stored.project.team).await?;
            new_rows.new_bytes_max = self.new_bytes_max(stored.project.team).await?;
            new_rows.import = step.map(|step| Box::new(step(&batch.refused)));
            match self.store.insert_rows(new_rows).await {
                Err(StoreError::Stale) => {}
                Err(StoreError::AmbiguousMatch(places)) => {
                    let places: HashMap<usize, Ambiguity> = places.into_iter().collect();
                    let mut place = 0;
                    left.retain(|(index, _)| {
                        let why = places.get(&place);
                        place += 1;
                        batch.refused.extend(why.map(|why| (*index, ambiguous_line(*why))));
                        why.is_none()
                    });
                }
                outcome => {
                    let inserted = outcome.map_err(|error| self.quota_error(error))?;
                    [batch.inserted, batch.updated, batch.unchanged] = inserted.counts();
                    return Ok(batch);
                }
            }
        }
        Err(kept_changing())
    }

    fn row_refusal(&self, row: &ImportRow) -> Option<String> {
        let mut slots = HashSet::new();
        row.iter().find_map(|(column, value)| {
            if !slots.insert(column.slot) {
                return Some(TWICE.to_owned());
            }
            column.refusal(value, &self.limits)
        })
    }

    fn lay_out_import(
        &self,
        stored: &StoredProject,
        import: &Import,
        rows: &[(usize, ImportRow)],
    ) -> Result<NewRows> {
        let now_ms = self.clock.now_ms();
        let table = &stored.project.table;
        // Somebody may have deleted a column meanwhile: its cells are left out.
        let live: HashSet<&str> = table.columns.iter().map(|column| column.id.as_str()).collect();
        let ids = uuids(now_ms)?.map(RowId::from_uuid);
        let row = |((_, row), id): (&(usize, ImportRow), RowId)| -> NewRow {
            let cells = row.iter().filter(|(column, _)| live.contains(column.id.as_str()));
            let cells: RowCells<'_> =
                cells.map(|(column, value)| (column.slot, value.as_str().into())).collect();
            new_row(id, &cells)
        };
        let case = if import.options.any_case { MatchCase::Ignored } else { MatchCase::Counts };
        Ok(NewRows {
            project: stored.project.id,
            version: stored.version,
            rows: rows.iter().zip(ids).map(row).collect(),
            match_on: import
                .options
                .match_on
                .as_deref()
                .map(|name| match_column(stored, name).map(|slot| index_of(slot, case)))
                .transpose()?,
            project_save: None,
            ignored_keys: Vec::new(),
            new_rows_max: None,
            new_bytes_max: None,
            kept_input: KeptInput::default(),
            now_ms,
            once: None,
            import: None,
        })
    }
}

impl Import {
    pub(crate) fn new(caller: Caller, project: String, options: ImportOptions, headers: Vec<String>) -> Self {
        Self {
            caller,
            project,
            options,
            job: None,
            targets: HashMap::new(),
            names_bytes: 0,
            created: Vec::new(),
            ignored: Vec::new(),
            headers,
        }
    }

    /// Where a field goes, once that is settled.
    pub fn column(&self, field: &str) -> Option<&ImportColumn> {
        self.targets.get(field)?.as_ref()
    }

    pub fn is_settled(&self, field: &str) -> bool {
        self.targets.contains_key(field)
    }
}

/// Whether a field says by its own name that it is one of these columns. The second of two equal headers does not.
fn names_one_of(table: &Table, field: &ImportField, columns: &HashSet<ColumnId>) -> bool {
    field.name == field.header && table.named(&field.name).is_some_and(|column| columns.contains(&column.id))
}
