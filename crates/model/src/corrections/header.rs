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

/// Trims the column's header and makes it unique.
pub(super) fn correct(table: &Table, column: &mut Column, fixes: &mut Fixes, offences: &mut Vec<Offence>) {
    let wanted = column.header.trim();
    if !(1..=NAME_CHARS_MAX).contains(&wanted.chars().count()) {
        // That it is of another type, or cleared, has been said.
        if offences.iter().all(|offence| offence.path != "header") {
            let message = format!(
                "must have 1 to {NAME_CHARS_MAX} characters, not counting leading and trailing spaces"
            );
            offences.push(Offence::new("header", message));
        }
        return;
    }
    let header = unique_header(table, column.id.as_str(), wanted);
    if header != wanted {
        let (old, new) = (quoted(wanted), quoted(&header));
        fixes.add("header", format!("Renamed header {old} to {new}, because another column already uses it"));
    }
    column.header = header;
}
