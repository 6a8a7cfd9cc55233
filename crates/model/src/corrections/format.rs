//! The type of a column's values: its own settings, and no others.

use serde_json::{Map, Value};

use super::fixes::{Fixes, quoted};
use crate::column::Column;
use crate::offence::Offence;

/// Drops settings that the type does not have, and options that are empty or there twice. `body` is what was sent: what
/// another type has left behind is dropped without a word.
pub(super) fn correct(
    column: &mut Column,
    body: &Map<String, Value>,
    fixes: &mut Fixes,
    offences: &mut Vec<Offence>,
) {
    let Some(format) = &mut column.format else { return };
    let sent = |name: &str| body.get("format").and_then(|format| format.get(name)).is_some();
    for name in format.drop_foreign() {
        if sent(name) {
            let (place, kind) = (format!("format.{name}"), format.kind.word());
            fixes.add(&place, format!("Removed {place}, which the type \"{kind}\" does not have"));
        }
    }
    for option in format.clean_options() {
        let sentence = match option.as_str() {
            "" => "Removed an empty option from format.options".to_owned(),
            option => format!("Removed the option {}, which is there already", quoted(option)),
        };
        fixes.add("format.options", sentence);
    }
    offences.extend(format.offences("format"));
}
