//! Rows and cells.

pub(crate) mod ambiguous;
pub(crate) mod fields;
pub(crate) mod layout;
pub(crate) mod patches;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use rowmill_model::filter::{FilterNode, Filters};
use rowmill_model::limits::OFFENCES_MAX;
use rowmill_model::row::Sources;
use rowmill_model::sort::Sorting;
use rowmill_model::table::ColumnNames;
use rowmill_model::value::MatchCase;
use rowmill_model::{Column, ColumnType, Offence, RowId, Table, View};
use rowmill_query::{Page, PageOf, Selection, Start};
use rowmill_store::lookup::{Ambiguity, index_of};
use rowmill_store::{
    CellWrite, Inserted, KeptInput, NewRows, StoreError, StoredProject, StoredRow, WantedSlots, WriteCells,
};
use serde_json::Value;

use crate::app::App;
use crate::blocking::off_async;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::guards::RowGuard;
use crate::idempotency::IdempotencyKey;
use crate::ids::uuids;
use crate::known_offences::refuse_known;
use crate::projects::ATTEMPTS_MAX;
use crate::rows::ambiguous::ambiguous;
use crate::rows::fields::Fields;
use crate::rows::layout::{Layout, Leftover, Made, RowLocation};
use crate::views::place;

#[derive(Debug)]
pub struct InsertRows<'a> {
    /// The JSON text of each row.
    pub entries: Vec<&'a str>,
    /// Where the entries stand in the body: `Some("rows")`, `Some("")` for a bare array, `None` for one
    /// row that is the body.
    pub batch: Option<&'static str>,
    /// A column id or header. A row with the same value in this column is updated instead of inserted.
    pub match_on: Option<String>,
    pub match_case: MatchCase,
    /// Whether fields that name no column are refused.
    pub strict: bool,
    pub once: Option<IdempotencyKey>,
}

impl InsertRows<'_> {
    pub(crate) fn bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.len()).sum()
    }

    fn place(&self, index: usize) -> RowLocation {
        self.batch.map_or(RowLocation::Body, |array| RowLocation::Entry(array, index))
    }

    pub(crate) fn ambiguous(&self, rows: &[(usize, Ambiguity)]) -> Error {
        ambiguous(rows, |index| self.place(index).to_string())
    }
}

/// Which rows are listed. The filters of a view and those given here must all hold; sorting given here
/// beats the view's.
#[derive(Debug)]
pub struct ListRows {
    pub view_id: Option<String>,
    pub filters: Option<Value>,
    pub sorting: Option<Value>,
    pub search: Option<String>,
    pub start: Start,
    pub limit: u32,
    pub include_total: bool,
    /// The columns whose values are shown ([`slots_shown`]); those of others may be absent.
    pub slots: WantedSlots,
}

/// What must be read of rows of which these columns are shown: of a reference, the column that it leads to.
pub fn slots_shown<'t>(table: &Table, columns: impl IntoIterator<Item = &'t Column>) -> WantedSlots {
    let mut sources = Sources::of(table);
    WantedSlots::only(columns.into_iter().filter_map(|column| sources.source(column).slot()))
}

/// A value for one cell, as it was sent.
#[derive(Debug, Clone)]
pub struct CellChange<'a> {
    pub row_id: Cow<'a, str>,
    /// An id or a header.
    pub column_id: Cow<'a, str>,
    /// Raw JSON text.
    pub value: &'a str,
}

#[derive(Debug)]
pub struct RowPatched {
    pub row: StoredRow,
    /// The project whose columns the row's cells belong to.
    pub project: StoredProject,
    pub ignored_keys: Vec<String>,
    /// Fields that name no column, to the headers that they may be misspellings of.
    pub hints: BTreeMap<String, String>,
}

impl App {
    pub async fn insert_rows(
        &self,
        caller: Caller,
        project: &str,
        insert: InsertRows<'_>,
    ) -> Result<Inserted> {
        let once = self.once(insert.once);
        if let Some(inserted) = self.recall(once.as_ref()).await? {
            return Ok(inserted);
        }
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.project_to_change(caller, project).await?;
            let leftover = if insert.strict { Leftover::Refused } else { Leftover::IntoTrigger };
            let mut batch = off_async(insert.bytes(), || self.lay_out(&stored, &insert, leftover, &[]))?;
            batch.once.clone_from(&once);
            batch.new_rows_max = self.new_rows_max(stored.project.team).await?;
            batch.new_bytes_max = self.new_bytes_max(stored.project.team).await?;
            match self.store.insert_rows(batch).await {
                // The columns changed meanwhile: lay the values out anew.
                Err(StoreError::Stale) => {}
                Err(StoreError::AmbiguousMatch(rows)) => return Err(insert.ambiguous(&rows)),
                outcome => return outcome.map_err(|error| self.quota_error(error)),
            }
        }
        Err(kept_changing())
    }

    /// A page of a project that the caller was let into.
    pub async fn list_rows(&self, stored: &StoredProject, list: ListRows) -> Result<Page> {
        let ListRows { view_id, filters, sorting, search, start, limit, include_total, slots } = list;
        let view = match view_id {
            Some(id) => stored.views.get(place(&stored.views, &id)?),
            None => None,
        };
        let selection = self.select(stored, view, filters.as_ref(), sorting.as_ref(), search).await?;
        if let Start::After(cursor) = &start
            && !cursor.is_of(&selection.sorting, &stored.project.table)
        {
            let message =
                "is of a list with another sorting, or of an earlier version; start again without it";
            return Err(Error::invalid(vec![Offence::new("cursor", message)]));
        }
        refuse_known()?;
        let of = PageOf { selection, start, limit, include_total, slots, now: self.clock.now() };
        Ok(self.query.page(stored, of).await?)
    }

    pub async fn row(&self, caller: Caller, project: &str, row: &str) -> Result<(StoredProject, StoredRow)> {
        let stored = self.project(caller, project).await?;
        let id = RowId::parse(row).ok_or(Error::NotFound(Noun::Row))?;
        let row = self.store.row(stored.project.id, id).await?.ok_or(Error::NotFound(Noun::Row))?;
        Ok((stored, row))
    }

    pub async fn patch_row(
        &self,
        caller: Caller,
        project: &str,
        row: &str,
        fields: &Fields<'_>,
        strict: bool,
        guard: Option<RowGuard<'_>>,
    ) -> Result<RowPatched> {
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.project_to_change(caller, project).await?;
            let id = RowId::parse(row).ok_or(Error::NotFound(Noun::Row))?;
            let expected = self.guarded_row(&stored, id, guard).await?;
            let leftover = if strict { Leftover::Refused } else { Leftover::Ignored };
            let mut layout = Layout::new(&stored, &self.limits, leftover);
            let cells = layout.cells(fields, RowLocation::Body);
            let made = layout.finish()?;
            let project_save = made.project.clone().map(|project| self.touched(project));
            let cells =
                cells.into_iter().map(|(slot, value)| CellWrite { row: id, slot, value: value.into() });
            let write = WriteCells {
                project: stored.project.id,
                version: stored.version,
                project_save: project_save.clone().map(Box::new),
                cells: cells.collect(),
                new_bytes_max: self.new_bytes_max(stored.project.team).await?,
                expected,
                now_ms: self.clock.now_ms(),
                returning: vec![id],
            };
            match self.store.write_cells(write).await {
                Err(StoreError::Stale) => {}
                outcome => {
                    let written = outcome.map_err(|error| self.quota_error(error))?;
                    let row = written.rows.into_iter().next().ok_or(Error::NotFound(Noun::Row))?;
                    let project = match project_save {
                        Some(project) => StoredProject { project: project.into(), ..stored },
                        None => stored,
                    };
                    let Made { ignored_keys, kept_input: KeptInput { hints, .. }, .. } = made;
                    return Ok(RowPatched { row, project, ignored_keys, hints });
                }
            }
        }
        Err(kept_changing())
    }

    /// A row that must be written over as it is now, because something is demanded of it.
    async fn guarded_row(
        &self,
        stored: &StoredProject,
        id: RowId,
        guard: Option<RowGuard<'_>>,
    ) -> Result<Option<Box<StoredRow>>> {
        let Some(guard) = guard else { return Ok(None) };
        let row = self.store.row(stored.project.id, id).await?.ok_or(Error::NotFound(Noun::Row))?;
        guard(stored, &row)?;
        Ok(Some(Box::new(row)))
    }

    /// Says how many rows there were. An id that names nothing, of whatever form, is no error.
    pub async fn delete_rows(&self, caller: Caller, project: &str, ids: &[String]) -> Result<u64> {
        let stored = self.project_to_change(caller, project).await?;
        let mut seen = HashSet::new();
        let ids = ids.iter().filter_map(|id| RowId::parse(id)).filter(|id| seen.insert(*id)).collect();
        Ok(match self.deletion(caller)? {
            Some(deletion) => self.store.trash_rows(stored.project.id, ids, deletion).await?,
            None => self.store.delete_rows(stored.project.id, ids).await?,
        })
    }

    /// Says how many distinct cells were written.
    pub async fn write_cells(
        &self,
        caller: Caller,
        project: &str,
        changes: &[CellChange<'_>],
    ) -> Result<u64> {
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.project_to_change(caller, project).await?;
            let Some(cells) = self.check_cells(&stored, changes)? else {
                return Err(self.missing(&stored, changes).await?);
            };
            let count = distinct(&cells);
            let write = WriteCells {
                project: stored.project.id,
                version: stored.version,
                project_save: None,
                cells,
                new_bytes_max: self.new_bytes_max(stored.project.team).await?,
                expected: None,
                now_ms: self.clock.now_ms(),
                returning: Vec::new(),
            };
            match self.store.write_cells(write).await {
                Err(StoreError::Stale) => {}
                Err(StoreError::UnknownRows(_)) => return Err(self.missing(&stored, changes).await?),
                outcome => return outcome.map(|_| count).map_err(|error| self.quota_error(error)),
            }
        }
        Err(kept_changing())
    }

    /// The rows to insert. `extra` fields come before those of each row.
    pub(crate) fn lay_out(
        &self,
        stored: &StoredProject,
        insert: &InsertRows<'_>,
        leftover: Leftover,
        extra: &[(Cow<'_, str>, &str)],
    ) -> Result<NewRows> {
        let index = |name| match_column(stored, name).map(|slot| index_of(slot, insert.match_case));
        let match_on = insert.match_on.as_deref().map(index).transpose()?;
        let mut layout = Layout::new(stored, &self.limits, leftover);
        let now_ms = self.clock.now_ms();
        let ids = uuids(now_ms)?.map(RowId::from_uuid);
        let mut rows = Vec::with_capacity(insert.entries.len());
        let mut fields = Fields::default();
        let cell_bytes_max = usize::try_from(self.limits.cell_bytes_max).unwrap_or(usize::MAX);
        for ((index, entry), id) in insert.entries.iter().enumerate().zip(ids) {
            if layout.read(entry, &mut fields, insert.place(index)) {
                fields.0.splice(0..0, extra.iter().cloned());
                let cells = layout.cells(&fields, insert.place(index));
                let mut row = layout::new_row(id, &cells);
                row.leftover_bytes_max = layout.took_leftover().then_some(cell_bytes_max);
                rows.push(row);
            }
            if layout.is_hopeless() {
                break;
            }
        }
        let made = layout.finish()?;
        let project_save = made.project.map(|project| Box::new(self.touched(project)));
        Ok(NewRows {
            project: stored.project.id,
            version: stored.version,
            rows,
            match_on,
            project_save,
            ignored_keys: made.ignored_keys,
            new_rows_max: None,
            new_bytes_max: None,
            kept_input: made.kept_input,
            now_ms,
            once: None,
            import: None,
        })
    }

    pub(crate) async fn select(
        &self,
        stored: &StoredProject,
        view: Option<&View>,
        filters: Option<&Value>,
        sorting: Option<&Value>,
        search: Option<String>,
    ) -> Result<Selection> {
        let table = &stored.project.table;
        let mut offences = Vec::new();
        let mut selection = Selection { search, ..Selection::default() };
        if let Some(view) = view {
            selection.filters = view.filters.clone();
            selection.sorting = view.sorting.clone();
        }
        let sent = match filters {
            Some(filters) => Some(self.read_filters(stored, filters).await?),
            None => None,
        };
        match sent {
            Some(Ok(Filters(nodes))) => selection.filters.0.extend(nodes as Vec<FilterNode>),
            Some(Err(wrong)) => offences.extend(wrong),
            None => {}
        }
        match sorting.map(|sorting| Sorting::parse(sorting, "sorting", table)) {
            Some(Ok(sorting)) => selection.sorting = sorting,
            Some(Err(wrong)) => offences.extend(wrong),
            None => {}
        }
        if !offences.is_empty() {
            return Err(Error::invalid(offences));
        }
        if view.is_some() {
            self.pattern_checks.check(&selection.filters).await?;
        }
        Ok(selection)
    }

    /// Reads filters as sent. Patterns take a while to compile: teams take turns at that, and nobody else waits.
    async fn read_filters(
        &self,
        stored: &StoredProject,
        sent: &Value,
    ) -> Result<std::result::Result<Filters, Vec<Offence>>> {
        if !Filters::may_have_patterns(sent) {
            return Ok(Filters::parse(sent, "filters", &stored.project.table, &self.limits));
        }
        let (sent, document, limits) = (sent.clone(), Arc::clone(&stored.project), self.limits.clone());
        let read = move || Filters::parse(&sent, "filters", &document.table, &limits);
        rowmill_fairness::compute(read).await.map_err(|failure| Error::Internal(failure.into()))
    }

    /// What is to be written; none if a row or column is plainly not there.
    fn check_cells(
        &self,
        stored: &StoredProject,
        changes: &[CellChange<'_>],
    ) -> Result<Option<Vec<CellWrite>>> {
        let columns = ColumnNames::of(&stored.project.table);
        let mut cells = Vec::with_capacity(changes.len());
        let (mut offences, mut is_over_limit) = (Vec::new(), false);
        for (index, change) in changes.iter().enumerate() {
            let (Some(row), Some(column)) = (RowId::parse(&change.row_id), columns.get(&change.column_id))
            else {
                return Ok(None);
            };
            if offences.len() < OFFENCES_MAX
                && let Some(message) = layout::refusal(column, change.value, &self.limits)
            {
                is_over_limit |= layout::too_large(change.value, &self.limits).is_some();
                offences.push(Offence::new(format!("cells[{index}].value"), message));
            }
            cells.push(CellWrite { row, slot: column.slot, value: change.value.into() });
        }
        match offences.is_empty() {
            true => Ok(Some(cells)),
            false if is_over_limit => Err(Error::invalid(offences).into_limit()),
            false => Err(Error::invalid(offences)),
        }
    }

    /// The failure that names every row and column of a batch that is not there. Asked only when one is
    /// missing, so it may look rows up one by one.
    async fn missing(&self, stored: &StoredProject, changes: &[CellChange<'_>]) -> Result<Error> {
        let mut is_there: HashMap<RowId, bool> = HashMap::new();
        let mut details = Vec::new();
        let mut noun = Noun::Column;
        let columns = ColumnNames::of(&stored.project.table);
        for (index, change) in changes.iter().enumerate() {
            if details.len() >= OFFENCES_MAX {
                break;
            }
            let row = RowId::parse(&change.row_id);
            if let Some(row) = row.filter(|row| !is_there.contains_key(row)) {
                let position = self.store.positions(stored.project.id, vec![row]).await?;
                is_there.insert(row, position.iter().any(Option::is_some));
            }
            if row.is_none_or(|row| is_there.get(&row) != Some(&true)) {
                noun = Noun::Row;
                details.push(Offence::new(format!("cells[{index}].rowId"), "is not a row of this project"));
            }
            if columns.get(&change.column_id).is_none() {
                details.push(Offence::new(
                    format!("cells[{index}].columnId"),
                    "is not a column of this project",
                ));
            }
        }
        Ok(Error::SomeNotFound { noun, details })
    }

    fn touched(&self, mut project: rowmill_model::Project) -> rowmill_model::Project {
        project.updated_at_ms = self.clock.now_ms();
        project
    }
}

pub(crate) fn match_column(stored: &StoredProject, name: &str) -> Result<rowmill_model::record::Slot> {
    let refuse = |message: &str| Error::invalid(vec![Offence::new("matchOn", message)]);
    let table = &stored.project.table;
    let column = table.named(name).ok_or_else(|| refuse(&table.no_column(name, 0)))?;
    if column.kind == ColumnType::Reference {
        return Err(refuse("is a reference column; match on its source column instead"));
    }
    Ok(column.slot)
}

fn distinct(cells: &[CellWrite]) -> u64 {
    let distinct: HashSet<_> = cells.iter().map(|cell| (cell.row, cell.slot)).collect();
    u64::try_from(distinct.len()).unwrap_or(u64::MAX)
}

pub(crate) fn kept_changing() -> Error {
    Error::Internal("a project's columns changed repeatedly during a write; gave up".into())
}
