//! What is wrong with JSON Lines: their fields, and lines that are no objects.

use rowmill_app::Import;
use rowmill_model::Limits;

use crate::error::Error;
use crate::files::incoming::Incoming;
use crate::json_guard::guard;
use crate::wire::fields;

const AN_ARRAY: &str = "is a JSON array, not JSON Lines: put each object on a line of its own, without the brackets around \
                        them and the commas between them. `rowmill rows import` takes arrays, in a file called .json";

/// Checks the fields that the request names against those of the first lines, before anything is written.
pub(super) fn check_names(import: &Import, limits: &Limits, head: &[u8]) -> Result<(), Error> {
    if !import.names_fields() {
        return Ok(());
    }
    let is_whole = head.len() < Incoming::HEAD_BYTES;
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    if !is_whole {
        // Cut in two.
        lines.pop();
    }
    let texts = lines.into_iter().filter_map(|line| guard(line.to_vec(), limits.nesting_max).ok());
    let texts: Vec<String> = texts.collect();
    let read: Vec<_> = texts.iter().filter_map(|text| fields::one(text).ok()).collect();
    let mut names: Vec<&str> = read.iter().flat_map(|fields| &fields.0).map(|(name, _)| &**name).collect();
    names.sort_unstable();
    names.dedup();
    Ok(import.check_names(&names, is_whole)?)
}

/// What is wrong with a line that should be an object.
pub(super) fn no_object(text: &str, error: &Error) -> String {
    if text.trim_start().starts_with('[') { AN_ARRAY.to_owned() } else { reason(error) }
}

/// What is wrong with a line, in words that go on behind its number. Elsewhere the same is said of a body, in which the
/// first line is not this one.
pub(super) fn reason(error: &Error) -> String {
    let words = error.to_string();
    let words = words.strip_prefix("The body ").unwrap_or(&words);
    words.replace(" at line 1 column ", " at column ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_about_a_line() {
        let check = |line: &str, expected: &str| {
            let read = guard(line.as_bytes().to_vec(), 4).and_then(|text| fields::one(&text).map(drop));
            assert_eq!(reason(&read.unwrap_err()), expected, "{line}");
        };
        check("{\"a\":1},", "is not valid JSON: trailing characters at column 8");
        check("x", "is not valid JSON: expected value at column 1");
        check("1", "must be an object that maps field names to values");
        check("{\"a\":[[[[1]]]]}", "is nested deeper than the limit of 4 levels (nestingMax)");
    }
}
