//! Fields of a file with the same header. Each goes to a column of its own, and to the same one in every import.

use std::collections::{HashMap, HashSet};

use rowmill_model::limits::NAME_CHARS_MAX;
use rowmill_model::table::{ColumnNames, header_key};
use rowmill_model::{Column, ColumnId, ColumnType, Table};

use super::column::ImportField;

/// So many numbers more than there are fields with a header are looked at: columns may be missing in between, or be no
/// import's.
const SPARE_NUMBERS: usize = 20;

/// The headers of a file whose fields stand side by side.
#[derive(Debug)]
pub(super) struct Twins<'a> {
    columns: ColumnNames<'a>,
    is_side_by_side: bool,
    /// The names of the fields whose header an earlier field has.
    names: HashSet<&'a str>,
    /// Headers that belong to fields: a numbered one among them is no twin's.
    headers: HashSet<String>,
    /// Where the search for numbered columns of a header has come: what is behind is taken.
    found: HashMap<String, Walk>,
    /// The same for columns that are about to be made, and their headers.
    made: HashMap<String, Walk>,
    planned: HashSet<String>,
}

/// The numbers of a header that are still to be looked at.
#[derive(Debug, Clone, Copy)]
struct Walk {
    next: usize,
    left: usize,
}

impl<'a> Twins<'a> {
    pub(super) fn of(table: &'a Table, fields: &'a [ImportField], is_side_by_side: bool) -> Self {
        let (mut names, mut headers, mut found) = (HashSet::new(), HashSet::new(), HashMap::new());
        for ImportField { name, header } in fields.iter().filter(|_| is_side_by_side) {
            let key = header_key(header);
            if headers.contains(&key) {
                names.insert(name.as_str());
                let walk = found.entry(key).or_insert(Walk { next: 2, left: SPARE_NUMBERS });
                walk.left += 1;
            } else {
                headers.insert(key);
            }
        }
        let (columns, made) = (ColumnNames::of(table), found.clone());
        Self { columns, is_side_by_side, names, headers, found, made, planned: HashSet::new() }
    }

    /// The column that a field names, and that no field has taken. A field whose header an earlier field has goes to the
    /// numbered column that an earlier import made.
    pub(super) fn column(&mut self, field: &ImportField, taken: &HashSet<ColumnId>) -> Option<&'a Column> {
        let is_free = |column: &&Column| !self.is_side_by_side || !taken.contains(&column.id);
        if let Some(column) = self.columns.get(&field.header).filter(is_free) {
            return Some(column);
        }
        let walk = self.walk_of(&self.found, field)?;
        let made = self.numbers(field, walk).find_map(|(walk, header)| {
            let column = self.columns.get(&header).filter(is_free);
            column.filter(|column| column.kind == ColumnType::Manual).map(|column| (walk, column))
        });
        let (walk, column) = made.unzip();
        self.found.insert(header_key(&field.header), walk.unwrap_or(Walk::OVER));
        column
    }

    /// A field that becomes a column, with a header that a later import finds again.
    pub(super) fn planned_field(&mut self, field: &ImportField) -> ImportField {
        let is_new =
            |header: &str| self.columns.get(header).is_none() && !self.planned.contains(&header_key(header));
        let mut header = field.header.clone();
        if !is_new(&header)
            && let Some(walk) = self.walk_of(&self.made, field)
        {
            let free = self.numbers(field, walk).find(|(_, header)| is_new(header));
            let (walk, numbered) = free.unzip();
            header = numbered.unwrap_or(header);
            self.made.insert(header_key(&field.header), walk.unwrap_or(Walk::OVER));
        }
        self.planned.insert(header_key(&header));
        ImportField { name: field.name.clone(), header }
    }

    /// The numbers that are left for a field whose header an earlier field has.
    fn walk_of(&self, walks: &HashMap<String, Walk>, field: &ImportField) -> Option<Walk> {
        let is_twin = self.names.contains(field.name.as_str());
        is_twin.then(|| walks.get(&header_key(&field.header)).copied()).flatten()
    }

    /// The headers that a field may have in place of its own, each with what is left behind it.
    fn numbers(&self, field: &ImportField, walk: Walk) -> impl Iterator<Item = (Walk, String)> {
        let numbered = (walk.next..).map(|number| {
            let ending = format!(" {number}");
            let room = NAME_CHARS_MAX.saturating_sub(ending.len());
            let header: String = field.header.trim().chars().take(room).chain(ending.chars()).collect();
            (number, header)
        });
        let numbered = numbered.filter(|(_, header)| !self.headers.contains(&header_key(header)));
        let left = (0..walk.left).rev();
        left.zip(numbered).map(|(left, (number, header))| (Walk { next: number + 1, left }, header))
    }
}

impl Walk {
    const OVER: Self = Self { next: 2, left: 0 };
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
        let many = |count: usize| {
            let numbered = (2..=count).map(|number| format!("Email {number}"));
            std::iter::once("Email".to_owned()).chain(numbered).collect::<Vec<String>>()
        };
        let made = many(60);
        let made: Vec<&str> = made.iter().map(String::as_str).collect();
        check(&["Email"; 60], &made);
    }

    #[test]
    fn some_columns_of_an_earlier_import_may_be_gone() {
        let mut table = Table::default();
        import(&mut table, &["Email"; 40]);
        table.columns.retain(|column| !["Email", "Email 2", "Email 7"].contains(&column.header.as_str()));
        let mut again = import(&mut table, &["Email"; 38]);
        assert_eq!(again.pop().as_deref(), Some("+Email"), "the first field makes its column: {again:?}");
        assert!(again.iter().all(|header| !header.starts_with('+')), "{again:?}");
    }

    #[test]
    fn a_file_of_equal_headers_takes_no_time() {
        let mut table = Table::default();
        import(&mut table, &["Email"; 30]);
        let field = |place: usize| ImportField { name: place.to_string(), header: "Email".to_owned() };
        let fields: Vec<ImportField> = (0..50_000).map(field).collect();
        let mut twins = Twins::of(&table, &fields, true);
        let (mut taken, mut planned) = (HashSet::new(), HashSet::new());
        for field in &fields {
            match twins.column(field, &taken) {
                Some(column) => drop(taken.insert(column.id.clone())),
                None => drop(planned.insert(twins.planned_field(field).header)),
            }
        }
        assert_eq!((taken.len(), planned.len()), (30, 50_000 - 30));
        // Nor where every number belongs to another field.
        let header = |place: usize| match place {
            0..25_000 => "A".to_owned(),
            _ => format!("A {}", place - 25_000 + 2),
        };
        let field = |place: usize| ImportField { name: place.to_string(), header: header(place) };
        let fields: Vec<ImportField> = (0..50_000).map(field).collect();
        let mut twins = Twins::of(&table, &fields, true);
        assert!(fields.iter().all(|field| twins.column(field, &taken).is_none()));
    }
}
