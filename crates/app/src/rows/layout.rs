//! From the fields of a row body to the cells of a row.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use rowmill_model::limits::{NAME_CHARS_MAX, OFFENCES_MAX, ROW_FIELDS_MAX};
use rowmill_model::nearest::nearest;
use rowmill_model::record::Slot;
use rowmill_model::table::header_key;
use rowmill_model::{
    Column, ColumnId, ColumnType, Format, Limits, Offence, Project, Record, RowId, UnknownKeys,
};
use rowmill_store::{KeptInput, NewRow, StoredProject};

use crate::error::{Error, Result};
use crate::ids::column_id;
use crate::rows::fields::{Fields, FieldsRead};

/// What becomes of fields that name no column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// Kept together in `_trigger`, if the row sent nothing for it.
    IntoTrigger,
    /// Only named in the answer.
    Ignored,
    /// Offences, also where a project makes columns of them.
    Refused,
    /// As an inbound hook says. Who sends to it does not know the columns, so a field that cannot be written into its
    /// column counts as one that names none.
    OfHook(UnknownKeys),
}

/// Where a row stands in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowLocation {
    /// It is the body.
    Body,
    /// In the array of this name, `""` if that is the body.
    Entry(&'static str, usize),
}

impl fmt::Display for RowLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => Ok(()),
            Self::Entry(array, index) => write!(f, "{array}[{index}]"),
        }
    }
}

/// How many keys an answer names that went nowhere, or into `_trigger`.
const NAMED_KEYS_MAX: usize = 1_000;
/// How many fields of a request are compared with the headers.
const HINTS_MAX: usize = 20;

/// Cells of one row: where, and the raw JSON text.
pub(crate) type RowCells<'a> = Vec<(Slot, Cow<'a, str>)>;

/// What a batch leads to beside its rows.
#[derive(Debug)]
pub(super) struct Made {
    /// The project with the columns made from keys, if any were.
    pub(super) project: Option<Project>,
    pub(super) ignored_keys: Vec<String>,
    pub(super) kept_input: KeptInput,
}

/// Lays out row after row. What is wrong is gathered, so that a caller hears of all of it at once.
pub(super) struct Layout<'a> {
    limits: &'a Limits,
    leftover: Leftover,
    /// A copy that grows where fields become columns.
    project: Cow<'a, Project>,
    trigger: Slot,
    /// Columns by id, and by header as headers are compared. An id beats a header.
    by_id: HashMap<Box<str>, Target>,
    by_header: HashMap<String, Target>,
    /// The types of columns that refuse what does not fit.
    strict: HashMap<Slot, &'a Format>,
    /// What the fields of the row before named, in order: most batches send the same fields again.
    last: Vec<(Cow<'a, str>, Target)>,
    ignored: NamedKeys,
    kept: NamedKeys,
    /// Whether fields of the last row were kept in `_trigger`.
    took_leftover: bool,
    /// Fields that name no column, to the headers that they may be misspellings of.
    hints: BTreeMap<String, Option<String>>,
    offences: Vec<Offence>,
    over_limit: bool,
    failure: Option<Error>,
}

/// Distinct names in the order they came.
#[derive(Debug, Default)]
struct NamedKeys {
    in_order: Vec<String>,
    seen: HashSet<String>,
}

impl NamedKeys {
    fn add(&mut self, name: &str) {
        if self.seen.len() < NAMED_KEYS_MAX && !self.seen.contains(name) {
            self.seen.insert(name.to_owned());
            self.in_order.push(name.to_owned());
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Column(Slot),
    Reference,
    Nothing,
}

impl Target {
    fn of(column: &Column) -> Self {
        match column.kind {
            ColumnType::Reference => Self::Reference,
            _ => Self::Column(column.slot),
        }
    }
}

impl<'a> Layout<'a> {
    pub(super) fn new(stored: &'a StoredProject, limits: &'a Limits, leftover: Leftover) -> Self {
        let project = Cow::Borrowed(&*stored.project);
        let columns = &stored.project.table.columns;
        let trigger = project.table.by_id(ColumnId::TRIGGER).map_or(0, |column| column.slot);
        Self {
            limits,
            leftover,
            project,
            trigger,
            by_id: columns.iter().map(|column| (column.id.as_str().into(), Target::of(column))).collect(),
            by_header: columns
                .iter()
                .map(|column| (header_key(&column.header), Target::of(column)))
                .collect(),
            strict: columns
                .iter()
                .filter_map(|column| Some((column.slot, column.format.as_ref()?)))
                .filter(|(_, format)| format.strict)
                .collect(),
            last: Vec::new(),
            ignored: NamedKeys::default(),
            kept: NamedKeys::default(),
            took_leftover: false,
            hints: BTreeMap::new(),
            offences: Vec::new(),
            over_limit: false,
            failure: None,
        }
    }

    /// Reads the fields of a row that was sent; says whether it is one.
    pub(super) fn read(&mut self, text: &'a str, fields: &mut Fields<'a>, place: impl fmt::Display) -> bool {
        let wrong = match fields.read(text) {
            Ok(FieldsRead::All) => return true,
            Ok(FieldsRead::TooMany) => {
                self.over_limit = true;
                too_many_fields()
            }
            Ok(FieldsRead::NotAnObject) => "must be an object that maps field names to values".to_owned(),
            // It was JSON when the batch was split into rows.
            Err(error) => error.to_string(),
        };
        self.offend(place, wrong);
        false
    }

    /// The cells that a row's fields name.
    pub(super) fn cells(&mut self, fields: &Fields<'a>, place: RowLocation) -> RowCells<'a> {
        let mut cells: RowCells<'a> = Vec::with_capacity(fields.0.len());
        let mut leftover = Vec::new();
        self.took_leftover = false;
        for (index, (field, value)) in fields.0.iter().enumerate() {
            match self.target(index, field) {
                Target::Nothing => leftover.push((field, *value)),
                Target::Reference if self.is_of_hook() => leftover.push((field, *value)),
                Target::Reference => {
                    self.offend(
                        at(place, field),
                        "is a reference column, which is read-only; write to its source column",
                    );
                }
                Target::Column(slot)
                    if self.is_of_hook() && cells.iter().any(|(taken, _)| *taken == slot) =>
                {
                    leftover.push((field, *value));
                }
                Target::Column(slot) => {
                    self.check_size(place, field, value);
                    if let Some(message) = self.strict.get(&slot).and_then(|format| format.refusal(value)) {
                        self.offend(at(place, field), message);
                    }
                    if cells.iter().any(|(taken, _)| *taken == slot) {
                        self.offend(at(place, field), "names the same column as another field of this row");
                    } else {
                        cells.push((slot, Cow::Borrowed(*value)));
                    }
                }
            }
        }
        self.keep_leftover(leftover, &mut cells, place);
        cells
    }

    fn is_of_hook(&self) -> bool {
        matches!(self.leftover, Leftover::OfHook(_))
    }

    /// Whether fields that name no column become columns.
    fn makes_columns(&self) -> bool {
        match self.leftover {
            Leftover::Refused => false,
            Leftover::OfHook(unknown_keys) => unknown_keys == UnknownKeys::AddColumns,
            Leftover::IntoTrigger | Leftover::Ignored => self.project.settings.api.create_columns_from_keys,
        }
    }

    pub(super) fn offend(&mut self, path: impl fmt::Display, message: impl Into<String>) {
        if self.offences.len() < OFFENCES_MAX {
            self.offences.push(Offence::new(path.to_string(), message));
        }
    }

    /// Whether so much is wrong that nobody wants to hear more.
    pub(super) fn is_hopeless(&self) -> bool {
        self.offences.len() >= OFFENCES_MAX
    }

    /// Whether fields of the last row were kept in `_trigger`.
    pub(super) fn took_leftover(&self) -> bool {
        self.took_leftover
    }

    pub(super) fn finish(self) -> Result<Made> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if !self.offences.is_empty() {
            let invalid = Error::invalid(self.offences);
            return Err(if self.over_limit { invalid.into_limit() } else { invalid });
        }
        let project = match self.project {
            Cow::Owned(project) => Some(project),
            Cow::Borrowed(_) => None,
        };
        let hints = self.hints.into_iter().filter_map(|(field, header)| Some((field, header?))).collect();
        let kept_input = KeptInput { fields: self.kept.in_order, hints };
        Ok(Made { project, ignored_keys: self.ignored.in_order, kept_input })
    }

    #[expect(clippy::ptr_arg, reason = "the name is kept, and a borrowed one is kept without copying")]
    fn target(&mut self, index: usize, field: &Cow<'a, str>) -> Target {
        if let Some((name, target)) = self.last.get(index)
            && name == field
        {
            return *target;
        }
        let target = self.resolve(field);
        self.last.truncate(index);
        self.last.push((field.clone(), target));
        target
    }

    fn resolve(&mut self, field: &str) -> Target {
        if let Some(target) = self.by_id.get(field) {
            return *target;
        }
        let key = header_key(field);
        match self.by_header.get(&key) {
            Some(target) => *target,
            None if self.makes_columns() => {
                let target = self.make_column(field);
                self.by_header.insert(key, target);
                target
            }
            None => Target::Nothing,
        }
    }

    /// A field becomes a column, where it can be a header.
    fn make_column(&mut self, field: &str) -> Target {
        let header = field.trim();
        if header.is_empty() || header.chars().count() > NAME_CHARS_MAX {
            return Target::Nothing;
        }
        let most = self.limits.columns_max;
        if self.project.table.columns.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            if self.is_of_hook() {
                return Target::Nothing;
            }
            self.over_limit = true;
            self.offend(
                field,
                format!("would create a column, but a project can have at most {most} columns (columnsMax)"),
            );
            return Target::Nothing;
        }
        match column_id() {
            Ok(id) => {
                let table = &mut self.project.to_mut().table;
                let slot = table.next_slot;
                table.push_manual(id, header);
                Target::Column(slot)
            }
            Err(failure) => {
                self.failure = Some(failure);
                Target::Nothing
            }
        }
    }

    fn keep_leftover(
        &mut self,
        leftover: Vec<(&Cow<'a, str>, &'a str)>,
        cells: &mut RowCells<'a>,
        place: RowLocation,
    ) {
        if leftover.is_empty() {
            return;
        }
        for (field, _) in &leftover {
            self.find_hint(field);
        }
        if self.leftover == Leftover::Refused {
            for (field, _) in leftover {
                let message = match self.hints.get(field.as_ref()) {
                    Some(Some(header)) => {
                        format!("is not a column of this project; did you mean {header:?}?")
                    }
                    _ => "is not a column of this project".to_owned(),
                };
                self.offend(at(place, field), message);
            }
            return;
        }
        let trigger = cells.iter().position(|(slot, _)| *slot == self.trigger);
        let is_free = trigger.is_none_or(|index| cells.get(index).is_some_and(|(_, value)| value == "null"));
        let is_dropped = matches!(self.leftover, Leftover::Ignored | Leftover::OfHook(UnknownKeys::Ignore));
        if is_dropped || !is_free {
            for (field, _) in &leftover {
                self.ignored.add(field);
            }
            return;
        }
        for (field, _) in &leftover {
            self.kept.add(field);
        }
        self.took_leftover = true;
        // A null that was sent stays before them: where a row matches, it clears what they would be merged into.
        let object = object(&leftover, place, self);
        self.check_size(place, ColumnId::TRIGGER, &object);
        cells.push((self.trigger, Cow::Owned(object)));
    }

    /// Finds out which header a field may be a misspelling of.
    fn find_hint(&mut self, field: &str) {
        if self.hints.len() < HINTS_MAX && !self.hints.contains_key(field) {
            let headers = self.project.table.columns.iter().map(|column| column.header.as_str());
            let hint = nearest(field, headers).map(str::to_owned);
            self.hints.insert(field.to_owned(), hint);
        }
    }

    fn check_size(&mut self, place: RowLocation, field: &str, value: &str) {
        if let Some(message) = too_large(value, self.limits) {
            self.over_limit = true;
            self.offend(at(place, field), message);
        }
    }
}

/// The fields as one JSON object, values as they were sent. A field sent twice is an offence, because
/// one of the two would be lost.
fn object(fields: &[(&Cow<'_, str>, &str)], place: RowLocation, layout: &mut Layout<'_>) -> String {
    let mut text = String::from("{");
    let mut seen = HashSet::with_capacity(fields.len());
    for (index, (field, value)) in fields.iter().enumerate() {
        if !seen.insert(field.as_ref()) {
            layout.offend(at(place, field), "is given twice in this row");
        }
        if index > 0 {
            text.push(',');
        }
        text.push_str(&serde_json::Value::from(field.as_ref()).to_string());
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    text
}

/// A row to insert.
pub(crate) fn new_row(id: RowId, cells: &RowCells<'_>) -> NewRow {
    NewRow {
        id,
        values: Record::pack(cells.iter().map(|(slot, value)| (*slot, value.as_ref()))),
        cleared: cells.iter().filter(|(_, value)| value == "null").map(|(slot, _)| *slot).collect(),
        leftover_bytes_max: None,
    }
}

/// Why a value cannot be written into a column, if it cannot.
pub(crate) fn refusal(column: &Column, value: &str, limits: &Limits) -> Option<String> {
    if column.kind == ColumnType::Reference {
        return Some("maps to a reference column, which is read-only; write to its source column".to_owned());
    }
    too_large(value, limits).or_else(|| column.format.as_ref()?.refusal(value))
}

/// Why a value is too large for a cell, if it is.
pub(crate) fn too_large(value: &str, limits: &Limits) -> Option<String> {
    let most = limits.cell_bytes_max;
    (value.len() > usize::try_from(most).unwrap_or(usize::MAX))
        .then(|| format!("has {} bytes of JSON; the limit for a cell is {most} (cellBytesMax)", value.len()))
}

fn at(place: RowLocation, field: &str) -> impl fmt::Display {
    // Written only if it is told.
    fmt::from_fn(move |f| match place {
        RowLocation::Body => f.write_str(field),
        RowLocation::Entry(..) => write!(f, "{place}.{field}"),
    })
}

/// Why an object is not taken for a row.
pub fn too_many_fields() -> String {
    format!("has more than {ROW_FIELDS_MAX} fields, the most one row can be sent with (rowFieldsMax)")
}
