//! Columns by header, and the nearest one where there is none.

use rowmill_model::{Column, Offence, Table};

use crate::arguments::unknown_name;

/// The column with this id or header.
pub(crate) fn column<'t>(table: &'t Table, path: &str, name: &str) -> Result<&'t Column, Offence> {
    let headers = || table.columns.iter().map(|column| column.header.as_str());
    table.named(name).ok_or_else(|| unknown_name(path, name, "a column of this table", headers()))
}

/// The columns with these ids or headers; all of them without names.
pub(crate) fn columns<'t>(
    table: &'t Table,
    path: &str,
    names: Option<&[String]>,
) -> Result<Vec<&'t Column>, Vec<Offence>> {
    let Some(names) = names else { return Ok(table.columns.iter().collect()) };
    let mut found: Vec<&Column> = Vec::new();
    let mut problems = Vec::new();
    for (index, name) in names.iter().enumerate() {
        match column(table, &format!("{path}[{index}]"), name) {
            Ok(column) if found.iter().any(|known| known.slot == column.slot) => {}
            Ok(column) => found.push(column),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// The ids of these columns, as use cases want them.
pub(crate) fn ids(columns: &[&Column]) -> Vec<String> {
    columns.iter().map(|column| column.id.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use rowmill_model::ColumnId;

    use super::*;

    #[test]
    fn columns_go_by_header_or_id() {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("col_1"), "Company");
        table.push_manual(ColumnId::new("col_2"), "City");
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = columns(&table, "columns", Some(&names(&["city", "col_1", "City "]))).unwrap();
        assert_eq!(ids(&found), ["col_2", "col_1"]);
        assert_eq!(columns(&table, "columns", None).unwrap().len(), 3);
        let problems = columns(&table, "columns", Some(&names(&["Ctiy", "Phone"]))).unwrap_err();
        assert_eq!(problems[0].path, "columns[0]");
        assert_eq!(problems[0].message, "\"Ctiy\" is not a column of this table; did you mean \"City\"?");
        assert_eq!(
            problems[1].message,
            "\"Phone\" is not a column of this table; known: Input, Company, City"
        );
    }
}
