//! What a query selects of a table: filters, sorting and columns.

use std::collections::HashSet;

use rowmill_model::limits::NAME_CHARS_MAX;
use rowmill_model::table::ColumnNames;
use rowmill_model::value::quote_long_numbers;
use rowmill_model::{Column, Limits, Offence, Table};
use serde_json::Value;

use crate::error::Error;
use crate::json_guard::guard;

/// The filters and the sorting of a query, parsed; or everything that is wrong with them.
pub(crate) fn filters_and_sorting(
    filters: Option<&str>,
    sorting: Option<&str>,
    limits: &Limits,
) -> Result<(Option<Value>, Option<Value>), Vec<Offence>> {
    let (both, offences) = right_filters_and_sorting(filters, sorting, limits);
    if offences.is_empty() { Ok(both) } else { Err(offences) }
}

/// The same as far as they can be read, and what is wrong with the rest.
pub(crate) fn right_filters_and_sorting(
    filters: Option<&str>,
    sorting: Option<&str>,
    limits: &Limits,
) -> ((Option<Value>, Option<Value>), Vec<Offence>) {
    let mut offences = Vec::new();
    let mut json_of = |name: &str, text: Option<&str>, example: &str| {
        // The same guard as a body's: escapes can hide what the query itself must not have.
        let parsed = guard(text?.as_bytes().to_vec(), limits.nesting_max)
            .map_err(|error| error.to_string())
            .and_then(|text| {
                let json = quote_long_numbers(&text);
                serde_json::from_str::<Value>(&json)
                    .map_err(|error| format!("must be a JSON array, such as {example} ({error})"))
            });
        parsed.map_err(|message| offences.push(Offence::new(name, message))).ok()
    };
    let both = (
        json_of("filters", filters, r#"[{"columnId":"City","operator":"equals","value":"Paris"}]"#),
        json_of("sorting", sorting, r#"[{"columnId":"City","direction":"asc"}]"#),
    );
    (both, offences)
}

/// The columns that `columnIds` names by id or header, in the order of the table; all of them without it.
pub(crate) fn columns_of<'t>(table: &'t Table, ids: Option<&str>) -> Result<Vec<&'t Column>, Error> {
    let Some(ids) = ids else { return Ok(table.columns.iter().collect()) };
    let names = ColumnNames::of(table);
    let mut chosen = HashSet::new();
    let mut unknown = Vec::new();
    for name in ids.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        if let Some(column) = names.get(name) {
            chosen.insert(column.slot);
        } else {
            // No header is longer, and an answer need not repeat the whole query.
            let name: String = name.chars().take(NAME_CHARS_MAX).collect();
            let words = table.no_column(&name, unknown.len());
            unknown.push(Offence::new("columnIds", format!("{name:?} {words}")));
        }
    }
    if !unknown.is_empty() {
        return Err(Error::offences(unknown));
    }
    Ok(table.columns.iter().filter(|column| chosen.contains(&column.slot)).collect())
}
