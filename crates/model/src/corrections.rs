//! Changes to a table's columns, and the corrections that keep the table whole.
//!
//! A column is sent as people think of it, and made right before it is stored. Each correction is
//! reported as one sentence. What is stored needs none: sending it back changes and reports nothing.
//! Whatever is done, these hold afterwards:
//!
//! - `_trigger` stands first; a column's place is its order, so orders have no holes;
//! - headers are unique without regard to case and outer blanks;
//! - every dependency, every reference in a text and every `referenceConfig` names a column that is
//!   there, by its id, and what a text refers to is depended on;
//! - dependencies have no circle;
//! - a column has the configuration of its type, whole, and no other.
//!
//! What is corrected where: `config` mends a column's own configuration, `format` the type of its values, `links` what it says of
//! other columns, `header` its name. What no correction can mend is an [`Offence`] and changes nothing.

mod config;
mod document;
mod fan_out;
mod fields;
mod fixes;
mod format;
mod header;
mod links;
mod losses;
mod merge;

use serde_json::{Map, Value};

use crate::column::{AiConfig, Column, DataShape, Research, Retry, TaskConfig};
use crate::filter::Filters;
use crate::ids::ColumnId;
use crate::limits::Limits;
use crate::nearest::nearest;
use crate::offence::Offence;
use crate::reference::Names;
use crate::table::Table;
use crate::template::{Catalogue, TEMPLATES, Template};
use crate::view::View;

pub use document::to_document;
pub use fan_out::correct_targets;
pub use fields::{ColumnField, Writable};
pub use header::unique_header;
pub use merge::merge_patch;

use fixes::{Fixes, quoted};

/// A table after a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected {
    pub table: Table,
    /// The column made, changed or deleted.
    pub column: ColumnId,
    /// What was corrected, each in one past-tense sentence.
    pub fixes: Vec<String>,
    /// References that would be lost: what the change says in their place names no column.
    pub losses: Vec<Offence>,
    /// Those corrections that change what was asked for, for whoever wants none: unknown names, settings that the
    /// column cannot have. A name written as an id, or a setting filled in, is not among them.
    pub refusals: Vec<Offence>,
}

/// Adds the column that `body` describes: its template's configuration with the body's laid over it.
pub fn create(
    table: &Table,
    body: &Map<String, Value>,
    id: ColumnId,
    catalogue: &Catalogue,
    limits: &Limits,
) -> Result<Corrected, Vec<Offence>> {
    let mut body = body.clone();
    let named = body.shift_remove("templateId");
    let mut offences = document::unknown_fields(&body, ColumnField::in_new_column());
    let template = template_named(named.as_ref()).unwrap_or_else(|offence| {
        offences.push(offence);
        // Any will do to find out what else is wrong.
        Template::any()
    });
    if table.columns.len() >= usize::try_from(limits.columns_max).unwrap_or(usize::MAX) {
        let message = format!(
            "a project can have at most {} columns, including the input column (columnsMax)",
            limits.columns_max
        );
        offences.push(Offence::new("", message));
    }
    if table.by_id(id.as_str()).is_some() {
        offences.push(Offence::new("id", "is already used by another column"));
    }
    // Null asks for what the template says, as a field left out does.
    body.retain(|_, value| !value.is_null());

    let mut table = table.clone();
    let slot = table.take_slot();
    let header = unique_header(&table, id.as_str(), template.label);
    table.columns.push(bare(id, slot, header, template));
    let index = table.columns.len().saturating_sub(1);
    Change { body: &body, catalogue, limits, tell_filled: false, offences }.apply(table, index)
}

/// Merges `body` into a column: objects field by field, arrays and scalars replaced, null clears.
/// Takes the whole column as it was read, too, if its read-only fields are unchanged.
pub fn patch(
    table: &Table,
    column_id: &str,
    body: &Map<String, Value>,
    catalogue: &Catalogue,
    limits: &Limits,
) -> Result<Corrected, Vec<Offence>> {
    let (Some(index), Some(column)) = (table.position(column_id), table.by_id(column_id)) else {
        return Err(vec![no_column(column_id)]);
    };
    let mut offences = document::unknown_fields(body, ColumnField::in_change());
    offences.extend(document::changed_read_only(body, column));
    for key in ["header", "order"] {
        if body.get(key).is_some_and(Value::is_null) {
            offences.push(Offence::new(key, "cannot be cleared"));
        }
    }
    Change { body, catalogue, limits, tell_filled: true, offences }.apply(table.clone(), index)
}

/// Removes a column, and what the other columns say of it.
pub fn delete(table: &Table, column_id: &str) -> Result<Corrected, Vec<Offence>> {
    if column_id == ColumnId::TRIGGER {
        return Err(vec![Offence::new("columnId", "the input column cannot be deleted")]);
    }
    let mut table = table.clone();
    let Some(index) = table.position(column_id) else {
        return Err(vec![no_column(column_id)]);
    };
    let gone = table.columns.remove(index);
    let mut fixes = Vec::new();
    for index in 0..table.columns.len() {
        fixes.extend(forget_in_column(&mut table, index, &gone));
    }
    let (losses, refusals) = (Vec::new(), Vec::new());
    Ok(Corrected { table, column: gone.id, fixes, losses, refusals })
}

/// Removes what a view says of a deleted column.
pub fn forget_in_view(view: &mut View, column_id: &str, header: &str) -> Vec<String> {
    let mut fixes = Fixes::default();
    let (deleted, name) = (quoted(header), quoted(&view.name));
    if let Some(filters) = view.filters.without(column_id) {
        view.filters = filters;
        fixes.add("filters", format!("Removed the filter on deleted column {deleted} from view {name}"));
    }
    if let Some(sorting) = view.sorting.without(column_id) {
        view.sorting = sorting;
        fixes.add("sorting", format!("Removed the sorting by deleted column {deleted} from view {name}"));
    }
    if view.column_visibility.remove(column_id).is_some() {
        fixes.add(
            "columnVisibility",
            format!("Removed the visibility of deleted column {deleted} from view {name}"),
        );
    }
    fixes.into_sentences()
}

/// What is to be done to the column at an index, be it new or not.
struct Change<'a> {
    body: &'a Map<String, Value>,
    catalogue: &'a Catalogue,
    limits: &'a Limits,
    /// Whether configuration filled in from the template is news: not in a new column.
    tell_filled: bool,
    /// What is wrong with the body. All of it is found before it is answered.
    offences: Vec<Offence>,
}

impl Change<'_> {
    fn apply(mut self, mut table: Table, index: usize) -> Result<Corrected, Vec<Offence>> {
        let mut fixes = Fixes::default();
        let Some(stored) = table.columns.get(index).cloned() else { return Err(self.offences) };
        let draft = self.draft(&table, &stored, &mut fixes);
        let mut column = document::read(&draft, &stored, &mut self.offences);
        header::correct(&table, &mut column, &mut fixes, &mut self.offences);
        config::correct(&mut column, Template::of(&stored).task_type(), self.catalogue, &mut fixes);
        format::correct(&mut column, self.body, &mut fixes, &mut self.offences);
        self.set_run_condition(&table, &draft, &mut column, &mut fixes);
        if column.id.is_trigger() {
            config::keep_input_plain(&mut column, &mut fixes);
        }
        if let Some(place) = table.columns.get_mut(index) {
            *place = column;
        }
        links::correct(&mut table, index, &stored.dependencies, None, &mut fixes);
        if let Some(column) = table.columns.get(index) {
            config::check(column, &stored, &mut self.offences);
            links::check_chain(&table, column, &stored, &mut self.offences);
        }
        self.move_to_order(&mut table, index, &draft, &mut fixes);
        if self.offences.is_empty() {
            let losses = table
                .by_id(stored.id.as_str())
                .map_or_else(Vec::new, |column| losses::find(&stored, column, &fixes));
            let refusals = std::mem::take(&mut fixes.refusals);
            let column = stored.id;
            Ok(Corrected { table, column, fixes: fixes.into_sentences(), losses, refusals })
        } else {
            Err(self.offences)
        }
    }

    /// The column as it is to be, as a document: the body merged in, foreign configuration dropped,
    /// missing configuration filled in.
    fn draft(&self, table: &Table, stored: &Column, fixes: &mut Fixes) -> Map<String, Value> {
        let mut draft = Value::Object(to_document(table, stored));
        merge_patch(&mut draft, &Value::Object(self.body.clone()));
        let Value::Object(mut draft) = draft else { return Map::new() };
        let data_shape = config::correct_data_shape(&mut draft, stored, fixes);
        let template = Template::of(&Column { data_shape, ..stored.clone() });
        let defaults = template.config(self.catalogue);
        config::drop_foreign(&mut draft, &defaults, template, fixes);
        let filled = config::fill_missing(&mut draft, &defaults);
        if self.tell_filled {
            for place in filled {
                fixes.note(format!("Filled missing {place} from the template"));
            }
        }
        draft
    }

    /// Reads the run condition. One that is stored already is not judged again: limits may have been
    /// lowered since, and a rename must still go through.
    fn set_run_condition(
        &mut self,
        table: &Table,
        draft: &Map<String, Value>,
        column: &mut Column,
        fixes: &mut Fixes,
    ) {
        let mut sent = draft.get("runCondition").cloned();
        if sent == serde_json::to_value(&column.run_condition).ok() {
            return;
        }
        if let Some(sent) = &mut sent {
            links::name_by_id(sent, &Names::of(table), 0, fixes);
        }
        let read = sent.map(|sent| Filters::parse(&sent, "runCondition", table, self.limits));
        match read.unwrap_or_else(|| Ok(Filters::default())) {
            Ok(condition) => column.run_condition = condition,
            Err(offences) => self.offences.extend(offences),
        }
    }

    /// Moves the column at `index` to the order the draft asks for, or as near as may be.
    fn move_to_order(
        &mut self,
        table: &mut Table,
        index: usize,
        draft: &Map<String, Value>,
        fixes: &mut Fixes,
    ) {
        let sent = draft.get("order");
        let Some(wanted) = sent.and_then(place_of) else {
            // That it is missing has been said.
            if sent.is_some() {
                self.offences.push(Offence::new("order", "must be a whole number from 0"));
            }
            return;
        };
        let last = table.columns.len().saturating_sub(1);
        let column = table.columns.remove(index);
        let order = if column.id.is_trigger() { 0 } else { wanted.max(1).min(last) };
        if order != wanted {
            let sent = sent.map(Value::to_string).unwrap_or_default();
            fixes.add("order", format!("Corrected order {sent} to {order}"));
        }
        table.columns.insert(order, column);
    }
}

/// A whole number from 0, however large and in whatever spelling: `3.0` is 3, and what no place can be is the last.
pub fn place_of(value: &Value) -> Option<usize> {
    if let Some(number) = value.as_u64() {
        return Some(usize::try_from(number).unwrap_or(usize::MAX));
    }
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, not negative, and it saturates"
    )]
    Some(number as usize)
}

fn forget_in_column(table: &mut Table, index: usize, gone: &Column) -> Vec<String> {
    let Some(column) = table.columns.get_mut(index) else { return Vec::new() };
    let mut fixes = Fixes::of_column(&column.header);
    if let Some(condition) = column.run_condition.without(gone.id.as_str()) {
        let now_runs = if condition.is_empty() { ", so that all rows run," } else { "" };
        column.run_condition = condition;
        let sentence =
            format!("Removed the run condition on deleted column {}{now_runs}", quoted(&gone.header));
        fixes.add("runCondition", sentence);
    }
    let known = column.dependencies.clone();
    // Whatever a column refers to it depends on, so its dependencies tell whether to look.
    if known.iter().all(|dependency| dependency.column_id != gone.id) {
        return fixes.into_sentences();
    }
    links::correct(table, index, &known, Some(gone), &mut fixes);
    fixes.into_sentences()
}

fn no_template(word: &str) -> String {
    let known = || TEMPLATES.iter().map(|template| template.id);
    let hint = match nearest(word, known()) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => format!("they are {}", known().collect::<Vec<_>>().join(", ")),
    };
    format!("is not the id of a template: {}; {hint}", quoted(word))
}

fn template_named(sent: Option<&Value>) -> Result<&'static Template, Offence> {
    let Some(word) = sent.and_then(Value::as_str) else {
        return Err(Offence::new("templateId", "must be the id of a template"));
    };
    Template::named(word).ok_or_else(|| Offence::new("templateId", no_template(word)))
}

fn bare(id: ColumnId, slot: crate::record::Slot, header: String, template: &Template) -> Column {
    Column {
        id,
        slot,
        header,
        kind: template.kind,
        data_shape: template.data_shape,
        format: None,
        dependencies: Vec::new(),
        // Only this tells such a column from other AI columns.
        ai_config: template
            .is_research()
            .then(|| AiConfig { research: Some(Research::default()), ..AiConfig::default() }),
        // Only this tells tasks with values of the same shape apart.
        task_config: template
            .task_type()
            .filter(|_| template.data_shape == DataShape::Json)
            .map(TaskConfig::bare),
        api_config: None,
        reference_config: None,
        run_condition: Filters::default(),
        retry: Retry::default(),
        rate_limit: None,
        cache_ttl_seconds: 0,
    }
}

fn no_column(column_id: &str) -> Offence {
    Offence::new("columnId", format!("is not the id of a column: {}", quoted(column_id)))
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
