//! Fields of a file with the same header. Each goes to a column of its own, and to the same one in every import.

use std::collections::HashSet;

use rowmill_model::limits::NAME_CHARS_MAX;
use rowmill_model::table::{ColumnNames, header_key};
use rowmill_model::{Column, ColumnId, ColumnType, Table};

use super::column::ImportField;

/// The numbered columns of one header that are looked for: `Email 2` to `Email 20`.
const TWINS_MAX: usize = 20;

/// The headers of a file whose fields stand side by side.
#[derive(Debug)]
pub(super) struct Twins<'a> {
    columns: ColumnNames<'a>,
    is_side_by_side: bool,
    /// The names of the fields whose header an earlier field has.
    names: HashSet<&'a str>,
    /// Headers that belong to fields: a numbered one among them is no twin's.
    headers: HashSet<String>,
    /// Headers of columns that are about to be made.
    planned: HashSet<String>,
}

impl<'a> Twins<'a> {
    pub(super) fn of(table: &'a Table, fields: &'a [ImportField], is_side_by_side: bool) -> Self {
        let (mut names, mut headers) = (HashSet::new(), HashSet::new());
        for ImportField { name, header } in fields.iter().filter(|_| is_side_by_side) {
            if !headers.insert(header_key(header)) {
                names.insert(name.as_str());
            }
        }
        Self { columns: ColumnNames::of(table), is_side_by_side, names, headers, planned: HashSet::new() }
    }

    /// The column that a field names, and that no field has taken. A field whose header an earlier field has goes to the
    /// numbered column that an earlier import made.
    pub(super) fn column(&self, field: &ImportField, taken: &HashSet<ColumnId>) -> Option<&'a Column> {
        let is_free = |column: &&Column| !self.is_side_by_side || !taken.contains(&column.id);
        let numbered = || {
            let made = self.numbers(field).filter_map(|header| self.columns.get(&header));
            made.filter(is_free).find(|column| column.kind == ColumnType::Manual)
        };
        self.columns.get(&field.header).filter(is_free).or_else(numbered)
    }

    /// A field that becomes a column, with a header that a later import finds again.
    pub(super) fn planned_field(&mut self, field: &ImportField) -> ImportField {
        let is_new = |header: &String| {
            self.columns.get(header).is_none() && !self.planned.contains(&header_key(header))
        };
        let own = std::iter::once(field.header.clone());
        let header = own.chain(self.numbers(field)).find(is_new).unwrap_or_else(|| field.header.clone());
        self.planned.insert(header_key(&header));
        ImportField { name: field.name.clone(), header }
    }

    /// The headers that a field may have in place of one that an earlier field has.
    fn numbers(&self, field: &ImportField) -> impl Iterator<Item = String> {
        let last = if self.names.contains(field.name.as_str()) { TWINS_MAX } else { 0 };
        let numbered = (2..=last).map(|number| {
            let ending = format!(" {number}");
            let room = NAME_CHARS_MAX.saturating_sub(ending.len());
            field.header.trim().chars().take(room).chain(ending.chars()).collect()
        });
        numbered.filter(|header: &String| !self.headers.contains(&header_key(header)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Imports a file's first line, and says where its fields went. Columns are made for those that are new.
    fn import(table: &mut Table, headers: &[&str]) -> Vec<String> {
        let field = |(place, header): (usize, &&str)| ImportField {
            name: format!("{header} ({place})"),
            header: (*header).to_owned(),
        };
        let fields: Vec<ImportField> = headers.iter().enumerate().map(field).collect();
        let before = table.clone();
        let mut twins = Twins::of(&before, &fields, true);
        let mut taken = HashSet::new();
        let mut missing = Vec::new();
        for field in &fields {
            match twins.column(field, &taken) {
                Some(column) => drop(taken.insert(column.id.clone())),
                None => missing.push(twins.planned_field(field)),
            }
        }
        let went = before.columns.iter().filter(|column| taken.contains(&column.id));
        let mut went: Vec<String> = went.map(|column| column.header.clone()).collect();
        for field in missing {
            table.push_manual_of(ColumnId::new(format!("col_{}", table.columns.len())), &field.header, None);
            went.push(format!("+{}", field.header));
        }
        went
    }

    #[test]
    fn equal_headers_find_the_columns_of_an_earlier_import() {
        let check = |headers: &[&str], made: &[&str]| {
            let mut table = Table::default();
            let first: Vec<String> = made.iter().map(|header| format!("+{header}")).collect();
            assert_eq!(import(&mut table, headers), first, "{headers:?}");
            let (mut again, mut expected) = (import(&mut table, headers), made.to_vec());
            again.sort_unstable();
            expected.sort_unstable();
            assert_eq!(again, expected, "{headers:?} again");
        };
        check(&["Email", "Email"], &["Email", "Email 2"]);
        check(&["Email", "Name", "email ", "EMAIL"], &["Email", "Name", "email 2", "EMAIL 3"]);
        // A header of the file is not given to another field.
        check(&["Email", "Email", "Email 2"], &["Email", "Email 3", "Email 2"]);
    }
}
