//! What a query selects of a table: filters, sorting and columns.

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
    let mut offences = Vec::new();
    let mut json_of = |name: &str, text: Option<&str>| {
        // The same guard as a body's: escapes can hide what the query itself must not have.
        let parsed =
            guard(text?.as_bytes().to_vec(), limits.nesting_max).map_err(|error| error.to_string()).and_then(
                |text| serde_json::from_str::<Value>(&text).map_err(|error| format!("must be JSON: {error}")),
            );
        parsed.map_err(|message| offences.push(Offence::new(name, message))).ok()
    };
    let both = (json_of("filters", filters), json_of("sorting", sorting));
    if offences.is_empty() { Ok(both) } else { Err(offences) }
}

/// The columns that `columnIds` names, in the order of the table; all of them without it.
pub(crate) fn columns_of<'t>(table: &'t Table, ids: Option<&str>) -> Result<Vec<&'t Column>, Error> {
    let Some(ids) = ids else { return Ok(table.columns.iter().collect()) };
    let ids: Vec<&str> = ids.split(',').map(str::trim).filter(|id| !id.is_empty()).collect();
    let unknown: Vec<Offence> = ids
        .iter()
        .filter(|id| table.by_id(id).is_none())
        .map(|id| Offence::new("columnIds", format!("{id:?} is not a column of this project")))
        .collect();
    if !unknown.is_empty() {
        return Err(Error::offences(unknown));
    }
    Ok(table.columns.iter().filter(|column| ids.contains(&column.id.as_str())).collect())
}
