//! References that a change would lose.

use std::collections::BTreeSet;

use super::fixes::{Fixes, quoted};
use super::links::hint;
use crate::column::Column;
use crate::offence::Offence;
use crate::reference::{Reference, for_each_template_at, rewrite};

/// What a change would lose: at a place where `stored` refers to a column, `corrected` does not any more, and what was
/// sent there names no column, as `fixes` tells. Whoever takes a reference out says nothing in its place.
pub(super) fn find(stored: &Column, corrected: &Column, fixes: &Fixes) -> Vec<Offence> {
    let unresolved = &fixes.unresolved;
    if unresolved.is_empty() {
        return Vec::new();
    }
    let (before, after) = (references(stored), references(corrected));
    let lost: BTreeSet<&str> = before.difference(&after).map(|(place, _)| place.as_str()).collect();
    let is_lost = |(place, _): &&(String, String)| lost.contains(place.as_str());
    let offence = |(place, name): &(String, String)| {
        let message = format!(
            "{} is not a column{}, and the reference that worked here would be cleared; name a column, or add \
             ?fix=true to clear it",
            quoted(name),
            hint(fixes.known_meant(name))
        );
        Offence::new(place.as_str(), message)
    };
    unresolved.iter().filter(is_lost).map(offence).collect()
}

/// The places of references, each with the column referred to.
fn references(column: &Column) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    if let Some(config) = column.reference_config.as_ref().filter(|config| !config.column_id.is_empty()) {
        found.insert(("referenceConfig.columnId".to_owned(), config.column_id.clone()));
    }
    for_each_template_at(&mut column.clone(), |place, _, text| {
        rewrite(text, |inner| {
            if let Reference::Column { id, path: _ } = Reference::read(inner) {
                found.insert((place.to_owned(), id.to_owned()));
            }
            None
        });
    });
    found
}
