//! A row in the words that webhooks are told of it.

use std::fmt::Write as _;

use rowmill_model::path::allowance;
use rowmill_model::record::{Cells, Slot};
use rowmill_model::row::RowView;
use rowmill_model::{CellError, CellStates, ColumnType, Project, RowId};
use serde_json::json;

/// How many bytes the rows of a delivery take. A row that takes more by itself is only named.
pub(super) const BYTES_MAX: usize = 16 * 1024;
/// What happened to a row.
#[derive(Debug, Default)]
pub(super) struct RowEvents {
    pub(super) is_created: bool,
    /// Columns that were written by hand.
    pub(super) written: Vec<Slot>,
    /// Cells that ended, and with which error.
    pub(super) ended: Vec<(Slot, Option<CellError>)>,
}

/// A row and what happened to it, put into words once for all who are told.
pub(super) struct ToldRow<'a> {
    pub(super) project: &'a Project,
    pub(super) id: RowId,
    pub(super) cells: &'a Cells<'a>,
    pub(super) events: &'a RowEvents,
    pub(super) created: Option<String>,
    pub(super) updated: Option<String>,
}

impl ToldRow<'_> {
    pub(super) fn created(&mut self) -> String {
        let Self { project, id, cells, created, .. } = self;
        created.get_or_insert_with(|| whole(project, *id, cells, &[])).clone()
    }

    pub(super) fn updated(&mut self) -> String {
        let Self { project, id, cells, events, updated, .. } = self;
        updated.get_or_insert_with(|| whole(project, *id, cells, &events.written)).clone()
    }
}

/// A row with its values, and the columns that were written.
fn whole(project: &Project, id: RowId, cells: &Cells<'_>, written: &[Slot]) -> String {
    let stored = project.table.columns.iter().filter(|column| column.kind != ColumnType::Reference);
    let stored_bytes: usize = stored.filter_map(|column| cells.get(column.slot)).map(str::len).sum();
    if stored_bytes > BYTES_MAX {
        return Item::truncated(id);
    }
    let mut item = Item::new(id);
    let states = &CellStates::IDLE;
    let view = RowView::new(&project.table, cells.clone(), states);
    item.open("cells");
    for column in &project.table.columns {
        match view.value(column) {
            Some(raw) => item.field(&column.header, &raw),
            None if column.kind == ColumnType::Reference && allowance::is_spent() => {
                return Item::truncated(id);
            }
            None => {}
        }
        if item.is_too_large() {
            return Item::truncated(id);
        }
    }
    item.close();
    let columns = project.table.columns.iter();
    let headers: Vec<&str> = columns
        .filter(|column| written.contains(&column.slot))
        .map(|column| column.header.as_str())
        .collect();
    if !headers.is_empty() {
        item.member("changed", &json!(headers).to_string());
    }
    if item.is_too_large() { Item::truncated(id) } else { item.finish() }
}

/// A row with those of its cells that ended.
pub(super) fn ended<'e>(
    project: &Project,
    id: RowId,
    cells: &Cells<'_>,
    ended: impl Iterator<Item = &'e (Slot, Option<CellError>)>,
) -> String {
    let mut item = Item::new(id);
    let mut is_open = false;
    for (slot, error) in ended {
        let Some(column) = project.table.columns.iter().find(|column| column.slot == *slot) else { continue };
        if !is_open {
            item.open(if error.is_some() { "errors" } else { "cells" });
            is_open = true;
        }
        match error {
            Some(error) => item.field(&column.header, &json!(error).to_string()),
            None => item.field(&column.header, cells.get(*slot).unwrap_or("null")),
        }
        if item.is_too_large() {
            return Item::truncated(id);
        }
    }
    if is_open {
        item.close();
    }
    item.finish()
}

/// The JSON of a row, as it grows.
pub(super) struct Item {
    text: String,
    is_first: bool,
}

impl Item {
    pub(super) fn new(id: RowId) -> Self {
        Self { text: format!(r#"{{"id":"{id}""#), is_first: true }
    }

    /// A row that is too large to be sent.
    fn truncated(id: RowId) -> String {
        format!(r#"{{"id":"{id}","truncated":true}}"#)
    }

    fn is_too_large(&self) -> bool {
        self.text.len() > BYTES_MAX
    }

    fn open(&mut self, name: &str) {
        let _ = write!(self.text, r#","{name}":{{"#);
        self.is_first = true;
    }

    fn field(&mut self, name: &str, raw: &str) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.text.push(',');
        }
        let _ = write!(self.text, "{}:{raw}", json!(name));
    }

    fn close(&mut self) {
        self.text.push('}');
    }

    fn member(&mut self, name: &str, raw: &str) {
        let _ = write!(self.text, r#","{name}":{raw}"#);
    }

    pub(super) fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::column::ReferenceConfig;
    use rowmill_model::path::allowance::{ROW_VISITS_MAX, within};
    use rowmill_model::project::ProjectSettings;
    use rowmill_model::{ColumnId, ProjectId, Record, Table, TeamId, Trash};
    use uuid::Uuid;

    use super::*;

    fn project(table: Table) -> Project {
        Project {
            id: ProjectId::from_uuid(Uuid::nil()),
            team: TeamId(Uuid::nil()),
            title: String::new(),
            autoplay: false,
            folder_id: None,
            metadata: serde_json::Map::new(),
            settings: ProjectSettings::default(),
            table,
            trash: Trash::default(),
            hooks: Vec::new(),
            copying: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        }
    }

    /// What is told of a new row with this input, where so many columns refer to it.
    fn told(input: &str, references: usize, visits_max: usize) -> (String, usize) {
        let mut table = Table::new();
        for number in 0..references {
            table.push_manual(ColumnId::new(format!("col_{number}")), &format!("Path {number}"));
            if let Some(column) = table.columns.last_mut() {
                column.kind = ColumnType::Reference;
                let path = format!("$..['a','b','c{number}']");
                column.reference_config = Some(ReferenceConfig { column_id: "_trigger".to_owned(), path });
            }
        }
        let project = project(table);
        let (values, events) = (Record::pack([(0, input)]), RowEvents::default());
        let cells = values.cells().unwrap();
        let id = RowId::parse("row_0190f0e0b3c47d5e8f60123456789abc").unwrap();
        let mut row =
            ToldRow { project: &project, id, cells: &cells, events: &events, created: None, updated: None };
        within(visits_max, || {
            let created = row.created();
            assert_eq!(row.created(), created, "it is put into words once");
            created
        })
    }

    #[test]
    fn a_row_is_only_named_where_its_paths_look_at_too_much() {
        let input = format!("[{}]", vec!["{\"x\":1}"; 500].join(","));
        let is_truncated = |words: &str| words.ends_with(r#""truncated":true}"#);
        let (words, visits) = told(&input, 20, ROW_VISITS_MAX);
        assert!(!is_truncated(&words) && words.contains(r#""Input":[{"x":1}"#), "{words}");
        assert!(visits > 20 * 1_000, "{visits}");
        assert!(is_truncated(&told(&input, 20, visits / 2).0));
        let (words, visits) = told(&input, 0, 0);
        assert!(!is_truncated(&words) && visits == 0, "without paths nothing is looked at: {words}");
        let large = format!("\"{}\"", "x".repeat(BYTES_MAX));
        let (words, visits) = told(&large, 20, ROW_VISITS_MAX);
        assert!(is_truncated(&words) && visits == 0, "what is too large anyway is not looked into: {visits}");
    }
}
