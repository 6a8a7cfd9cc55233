//! A column's name.

use super::fixes::{Fixes, quoted};
use crate::column::Column;
use crate::limits::NAME_CHARS_MAX;
use crate::offence::Offence;
use crate::table::{Table, header_key};

/// A header for the column `id` that no other column has: the wanted one, else with a number after it,
/// cut so that both fit.
pub fn unique_header(table: &Table, id: &str, wanted: &str) -> String {
    let taken: std::collections::HashSet<String> = table
        .columns
        .iter()
        .filter(|column| column.id.as_str() != id)
        .map(|column| header_key(&column.header))
        .collect();
    let numbered = (2..).map(|number| {
        let ending = format!(" {number}");
        let room = NAME_CHARS_MAX.saturating_sub(ending.len());
        wanted.chars().take(room).chain(ending.chars()).collect()
    });
    std::iter::once(wanted.to_owned())
        .chain(numbered)
        .find(|header: &String| !taken.contains(&header_key(header)))
        .unwrap_or_default()
}

/// The column's header, trimmed and made unique.
pub(super) fn corrected(table: &Table, column: &Column, fixes: &mut Fixes) -> Result<String, Vec<Offence>> {
    let wanted = column.header.trim();
    let chars = wanted.chars().count();
    if !(1..=NAME_CHARS_MAX).contains(&chars) {
        let message = format!("must have 1 to {NAME_CHARS_MAX} characters, outer blanks apart");
        return Err(vec![Offence::new("header", message)]);
    }
    let header = unique_header(table, column.id.as_str(), wanted);
    if header != wanted {
        let (old, new) = (quoted(wanted), quoted(&header));
        fixes.add(format!("Renamed header {old} to {new}, because another column has it"));
    }
    Ok(header)
}
