//! Checking a body against its schema, before it is parsed into its type.

use std::borrow::Cow;

use rowmill_model::bounded_json::{self, Bounds, Refusal};
use rowmill_model::limits::OFFENCES_MAX;
use rowmill_model::value::quote_long_numbers;
use rowmill_model::{Limits, Offence};
use serde_json::Value;

use crate::checks::Checks;
use crate::error::Error;
use crate::payload::{Presence, not_json};

/// Names, addresses and keys are no cells: they have limits of their own, whatever that of a cell is.
const PART_BYTES_MIN: usize = 64 * 1024;
/// Of a larger body that is wrong the rest is not checked: the validator copies all that is wrong with it.
const REST_BYTES_MAX: usize = 1024 * 1024;

/// A body that can be parsed.
pub(crate) struct CheckedBody {
    /// Without the fields that are wrong.
    pub text: String,
    /// What is wrong with the body as it was sent.
    pub wrong: Vec<Offence>,
}

/// A body that can be parsed, or everything that is wrong with it. With `checks_rest`, one can be parsed though something
/// is wrong with it.
pub(crate) fn check_body(
    checks: &Checks,
    presence: Presence,
    text: String,
    limits: &Limits,
    checks_rest: bool,
) -> Result<CheckedBody, Error> {
    let right = |text| Ok(CheckedBody { text, wrong: Vec::new() });
    if text.is_empty() {
        return match presence {
            Presence::Required => Err(Error::offence("", "a JSON body is required")),
            Presence::None | Presence::Optional | Presence::Streamed | Presence::Whole => right(text),
        };
    }
    let Some(checker) = &checks.body else { return right(text) };
    let part_bytes_max = usize::try_from(limits.cell_bytes_max).unwrap_or(usize::MAX).max(PART_BYTES_MIN);
    let bounds = Bounds { counts: &checks.counts, part_bytes_max };
    let (value, twins) = parsed(&text, bounds).map_err(refused)?;
    let mut wrong: Vec<_> = twins.into_iter().map(|path| Offence::new(path, "is given twice")).collect();
    // The parsed value is dropped before the typed body is made, so that there are never both.
    wrong.extend(checker.offences(value, text.len()));
    wrong.truncate(OFFENCES_MAX);
    if wrong.is_empty() {
        return right(text);
    }
    let is_asked = checks_rest && text.len() <= REST_BYTES_MAX;
    let value = is_asked.then(|| bounded_json::parse(&text, bounds).ok()).flatten();
    match value.and_then(|value| checker.what_is_right(value)) {
        Some(rest) => Ok(CheckedBody { text: rest.to_string(), wrong }),
        None => Err(Error::offences(wrong)),
    }
}

/// A number that no float can hold is right where digits are kept, so it is checked as text there.
fn parsed(text: &str, bounds: Bounds<'_>) -> Result<(Value, Vec<String>), Refusal> {
    let parsed = bounded_json::parse_noting_twins(text, bounds);
    let Err(Refusal::NotJson(error)) = parsed else { return parsed };
    match quote_long_numbers(text) {
        Cow::Owned(quoted) => {
            bounded_json::parse_noting_twins(&quoted, bounds).map_err(|_| Refusal::NotJson(error))
        }
        Cow::Borrowed(_) => Err(Refusal::NotJson(error)),
    }
}

fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::NotJson(error) => not_json(&error),
        limit => rowmill_app::Error::limit(limit.field(), limit.to_string()).into(),
    }
}
