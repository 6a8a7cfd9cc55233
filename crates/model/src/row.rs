//! One row, looked at through its table.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::cell::{CellState, CellStates};
use crate::cell_status::CellStatus;
use crate::column::{Column, ColumnType};
use crate::format::{Format, TypedOrder};
use crate::path::{Path, TooMuchFound};
use crate::record::{Cells, Slot};
use crate::table::Table;
use crate::value::Value;
use crate::weight::Weight;

/// How many references may follow each other up to the column that holds the values: each has a path of its own, which all
/// columns behind it keep and take. A longer chain, from before there was a limit, is empty.
pub const REFERENCE_HOPS_MAX: usize = 32;

/// The status of a reference with this value: completed, unless it is empty.
pub fn status_of_reference(value: Option<&str>) -> CellStatus {
    match value {
        Some(raw) if !Value::parse(raw).is_empty() => CellStatus::Completed,
        _ => CellStatus::Idle,
    }
}

/// A row's cells as anyone outside sees them: reference columns followed, manual columns always idle.
#[derive(Debug, Clone)]
pub struct RowView<'a> {
    table: &'a Table,
    cells: Cells<'a>,
    states: &'a CellStates,
}

impl<'a> RowView<'a> {
    pub fn new(table: &'a Table, cells: Cells<'a>, states: &'a CellStates) -> Self {
        Self { table, cells, states }
    }

    /// The raw JSON of a cell; `None` is null. For many rows, compile a [`Source`] instead: this reads a
    /// reference's path anew each time.
    pub fn value(&self, column: &Column) -> Option<Cow<'a, str>> {
        if column.kind == ColumnType::Reference {
            Source::compile(self.table, column).value(self)
        } else {
            self.cells.get(column.slot).map(Cow::Borrowed)
        }
    }

    /// Why a reference cell has no value, if its path is at fault.
    pub fn too_much_found(&self, column: &Column) -> Option<TooMuchFound> {
        let is_reference = column.kind == ColumnType::Reference;
        is_reference.then(|| Source::compile(self.table, column).too_much_found(self)).flatten()
    }

    /// A manual cell is idle; a reference is completed where it has a value, else idle.
    pub fn status(&self, column: &Column) -> CellStatus {
        if column.kind == ColumnType::Reference {
            return Source::compile(self.table, column).status(self);
        }
        self.state(column).map_or(CellStatus::Idle, |state| state.status)
    }

    /// The state of a processed cell. Manual and reference cells have none.
    pub fn state(&self, column: &Column) -> Option<&'a CellState> {
        if column.kind.is_processed() { self.states.get(column.slot) } else { None }
    }

    pub fn table(&self) -> &'a Table {
        self.table
    }
}

/// Where a column's values come from, worked out once for any number of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    kind: ColumnType,
    /// The slot the values stand in; `None` if they are all null.
    slot: Option<Slot>,
    /// The paths that lead from there to the value, the first to be taken last.
    paths: Vec<Arc<Path>>,
    /// What is made of the value there, for whoever sorts by a column that has a type.
    typed: Option<TypedOrder>,
}

impl Source {
    /// The source of one column. For several columns, compile [`Sources`].
    pub fn compile(table: &Table, column: &Column) -> Self {
        Sources::of(table).source(column)
    }

    /// What a column that is gone has: nothing.
    pub fn nothing() -> Self {
        Self { kind: ColumnType::Manual, slot: None, paths: Vec::new(), typed: None }
    }

    /// The same cells, as a typed column sorts by them.
    #[must_use]
    pub fn sorted_as(&self, typed: TypedOrder) -> Self {
        Self { typed: Some(typed), ..self.clone() }
    }

    /// What is made of the value that slot and paths lead to.
    pub fn typed(&self) -> Option<&TypedOrder> {
        self.typed.as_ref()
    }

    /// The slot the values stand in; `None` if they are all null.
    pub fn slot(&self) -> Option<Slot> {
        self.slot
    }

    /// The paths that lead from what stands in the slot to the value, in the order they are taken.
    pub fn paths(&self) -> impl DoubleEndedIterator<Item = &Arc<Path>> {
        self.paths.iter().rev()
    }

    /// Adds what it takes besides itself.
    pub fn weigh(&self, weight: &mut Weight) {
        let Self { kind: _, slot: _, paths, typed } = self;
        weight.add(size_of_val(paths.as_slice()));
        for path in paths {
            weight.add_path(path);
        }
        if let Some(typed) = typed {
            typed.weigh(weight);
        }
    }

    /// Whether the column's cells are processed, and so have a state.
    pub fn is_processed(&self) -> bool {
        self.kind.is_processed()
    }

    pub fn is_reference(&self) -> bool {
        self.kind == ColumnType::Reference
    }

    /// The raw JSON of the cell; `None` is null.
    pub fn value<'a>(&self, row: &RowView<'a>) -> Option<Cow<'a, str>> {
        let found = self.find(row).ok().flatten()?;
        Some(match (&self.typed, found) {
            (None, found) => found,
            (Some(typed), Cow::Borrowed(raw)) => typed.of(raw),
            (Some(typed), Cow::Owned(raw)) => Cow::Owned(typed.of(&raw).into_owned()),
        })
    }

    /// Why there is no value, if a path is at fault.
    pub fn too_much_found(&self, row: &RowView<'_>) -> Option<TooMuchFound> {
        self.find(row).err()
    }

    /// What slot and paths lead to.
    fn find<'a>(&self, row: &RowView<'a>) -> Result<Option<Cow<'a, str>>, TooMuchFound> {
        let mut found = self.slot.and_then(|slot| row.cells.get(slot)).map(Cow::Borrowed);
        for path in self.paths.iter().rev() {
            found = match found {
                None => return Ok(None),
                Some(Cow::Borrowed(raw)) => path.find(raw)?,
                Some(Cow::Owned(raw)) => path.find(&raw)?.map(|found| Cow::Owned(found.into_owned())),
            };
        }
        Ok(found)
    }

    pub fn status(&self, row: &RowView<'_>) -> CellStatus {
        match self.kind {
            ColumnType::Reference => status_of_reference(self.value(row).as_deref()),
            _ => self.state(row).map_or(CellStatus::Idle, |state| state.status),
        }
    }

    /// The state of a processed cell. Manual and reference cells have none.
    pub fn state<'a>(&self, row: &RowView<'a>) -> Option<&'a CellState> {
        if self.kind.is_processed() { row.states.get(self.slot?) } else { None }
    }
}

/// Works out the sources of a table's columns. What several of them keep, a path or a type, is read once and shared.
#[derive(Debug)]
pub struct Sources<'t> {
    table: &'t Table,
    /// By the slot of the column; `None` if it cannot be read.
    paths: HashMap<Slot, Option<Arc<Path>>>,
    formats: HashMap<Slot, Arc<Format>>,
}

impl<'t> Sources<'t> {
    pub fn of(table: &'t Table) -> Self {
        Self { table, paths: HashMap::new(), formats: HashMap::new() }
    }

    /// Follows references to the column that holds the values. Where they lead nowhere, in a circle or too far, every
    /// value is null.
    pub fn source(&mut self, column: &Column) -> Source {
        let mut source = Source { kind: column.kind, slot: None, paths: Vec::new(), typed: None };
        let mut paths = Vec::new();
        let mut current = column;
        for _ in 0..=REFERENCE_HOPS_MAX {
            if current.kind != ColumnType::Reference {
                (source.slot, source.paths) = (Some(current.slot), paths);
                return source;
            }
            let Some((path, next)) = self.link(current) else { return source };
            if !path.is_whole() {
                paths.push(path);
            }
            current = next;
        }
        source
    }

    /// A column's type, as it is kept by whoever reads values by it.
    pub fn format(&mut self, column: &Column) -> Option<Arc<Format>> {
        let format = column.format.as_ref()?;
        Some(Arc::clone(self.formats.entry(column.slot).or_insert_with(|| Arc::new(format.clone()))))
    }

    pub fn table(&self) -> &'t Table {
        self.table
    }

    /// The path of a reference, and the column that it is taken in.
    fn link(&mut self, column: &Column) -> Option<(Arc<Path>, &'t Column)> {
        let config = column.reference_config.as_ref()?;
        let next = self.table.by_id(&config.column_id)?;
        let read = || Path::parse(&config.path).ok().map(Arc::new);
        let path = self.paths.entry(column.slot).or_insert_with(read).clone()?;
        Some((path, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::ReferenceConfig;
    use crate::ids::ColumnId;
    use crate::record::Record;

    fn table() -> Table {
        let mut table = Table::new();
        let mut add = |id: &str, kind: ColumnType, follows: Option<(&str, &str)>| {
            table.push_manual(ColumnId::new(id), id);
            let column = table.columns.last_mut().unwrap();
            column.kind = kind;
            column.reference_config =
                follows.map(|(id, path)| ReferenceConfig { column_id: id.to_owned(), path: path.to_owned() });
        };
        add("ai", ColumnType::Ai, None);
        add("email", ColumnType::Reference, Some(("_trigger", "guest.email")));
        add("blank", ColumnType::Reference, Some(("_trigger", "guest.blank")));
        add("guest", ColumnType::Reference, Some(("_trigger", "guest")));
        add("visits", ColumnType::Reference, Some(("guest", "$.visits")));
        add("tags", ColumnType::Reference, Some(("guest", "$.tags[*].name")));
        add("first_tag", ColumnType::Reference, Some(("tags", "[0]")));
        add("whole", ColumnType::Reference, Some(("ai", "")));
        add("unset", ColumnType::Reference, Some(("", "a")));
        add("gone", ColumnType::Reference, Some(("col_gone", "a")));
        add("bad", ColumnType::Reference, Some(("_trigger", "a[")));
        add("bare", ColumnType::Reference, None);
        add("self", ColumnType::Reference, Some(("self", "a")));
        add("circle_a", ColumnType::Reference, Some(("circle_b", "")));
        add("circle_b", ColumnType::Reference, Some(("circle_a", "")));
        table
    }

    #[test]
    fn references_equal_their_path_in_the_source() {
        let table = table();
        let record = Record::pack([
            (0, r#"{"guest":{"email":"a@b.c","visits":1.50,"blank":"","tags":[{"name":"x"},{"name":"y"}]}}"#),
            (1, "7.0"),
            // Whatever stands in a reference's own slot is not its value.
            (2, "\"stale\""),
        ]);
        let mut states = CellStates::default();
        let error = CellState { status: CellStatus::Error, ..CellState::default() };
        for slot in 0..3 {
            states.set(slot, error.clone());
        }
        let row = RowView::new(&table, record.cells().unwrap(), &states);
        let check = |id: &str, value: Option<&str>, status: CellStatus| {
            let column = table.by_id(id).unwrap();
            let source = Source::compile(&table, column);
            assert_eq!(row.value(column).as_deref(), value, "{id}");
            assert_eq!(source.value(&row).as_deref(), value, "{id}");
            assert_eq!((row.status(column), source.status(&row)), (status, status), "{id}");
            assert_eq!(row.state(column), source.state(&row), "{id}");
        };
        check("_trigger", record.cells().unwrap().get(0), CellStatus::Idle);
        check("ai", Some("7.0"), CellStatus::Error);
        check("email", Some("\"a@b.c\""), CellStatus::Completed);
        check("visits", Some("1.50"), CellStatus::Completed);
        check("tags", Some("[\"x\",\"y\"]"), CellStatus::Completed);
        check("first_tag", Some("\"x\""), CellStatus::Completed);
        check("whole", Some("7.0"), CellStatus::Completed);
        check("blank", Some("\"\""), CellStatus::Idle);
        for id in ["unset", "gone", "bad", "bare", "self", "circle_a", "circle_b"] {
            check(id, None, CellStatus::Idle);
        }
        assert_eq!(row.state(table.by_id("ai").unwrap()), Some(&error));
        assert_eq!(row.state(table.by_id("_trigger").unwrap()), None);
        assert_eq!(row.state(table.by_id("email").unwrap()), None);
    }

    #[test]
    fn paths_are_read_once_and_chains_have_an_end() {
        let mut table = Table::new();
        let mut followed = "_trigger".to_owned();
        for hop in 1..=REFERENCE_HOPS_MAX + 1 {
            let id = format!("col_{hop}");
            table.push_manual(ColumnId::new(id.as_str()), &id);
            let column = table.columns.last_mut().unwrap();
            column.kind = ColumnType::Reference;
            column.reference_config = Some(ReferenceConfig { column_id: followed, path: "x".repeat(900) });
            followed = id;
        }
        let mut sources = Sources::of(&table);
        let mut weight = Weight::default();
        let mut slots = Vec::new();
        for _ in 0..50 {
            for column in table.columns.iter().skip(1) {
                let source = sources.source(column);
                source.weigh(&mut weight);
                slots.push(source.slot());
            }
        }
        let chain = REFERENCE_HOPS_MAX * (900 + 200);
        let pointers = 50 * REFERENCE_HOPS_MAX * REFERENCE_HOPS_MAX * size_of::<usize>();
        assert!(weight.bytes() > chain * 3 / 4 && weight.bytes() < chain + pointers, "{}", weight.bytes());
        let (last, others) = slots[..=REFERENCE_HOPS_MAX].split_last().unwrap();
        assert!(last.is_none() && others.iter().all(|slot| *slot == Some(0)));
    }
}
