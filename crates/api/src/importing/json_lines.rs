//! Rows from JSON Lines: each line is an object, whose fields may be new.

use rowmill_app::ImportField;

use super::{Row, RowImporter};
use crate::error::Error;
use crate::files::incoming::{Incoming, Pieces};
use crate::files::lines::LineReader;
use crate::files::{FileRow, RowError};
use crate::json_guard::guard;
use crate::wire::fields;

const AN_ARRAY: &str = "is a JSON array, not JSON Lines: put each object on a line of its own, without the brackets around \
                        them and the commas between them. `rowmill rows import` takes arrays, in a file called .json";

pub(super) async fn take_lines(importer: &mut RowImporter<'_>, incoming: &mut Incoming) -> Result<(), Error> {
    check_names(importer, incoming.head().await?)?;
    let mut reader = LineReader::new(importer.row_bytes_max());
    let mut rows = Vec::new();
    let mut pieces = Pieces::default();
    loop {
        let piece = pieces.next(incoming).await?;
        match piece {
            Some(bytes) => reader.push(bytes, &mut rows),
            None => reader.finish(&mut rows),
        }
        let is_end = piece.is_none();
        for FileRow { line, content } in rows.drain(..) {
            if importer.passes_over() {
                continue;
            }
            let read = match content {
                Ok(bytes) => object(importer, bytes).await?,
                Err(flaw) => Err(flaw),
            };
            importer.take(line, read).await?;
            if importer.is_stopped() {
                return Ok(());
            }
        }
        if is_end {
            return Ok(());
        }
    }
}

/// Checks the fields that the request names against those of the first lines, before anything is written.
fn check_names(importer: &RowImporter<'_>, head: &[u8]) -> Result<(), Error> {
    if !importer.import.names_fields() {
        return Ok(());
    }
    let is_whole = head.len() < Incoming::HEAD_BYTES;
    let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    if !is_whole {
        // Cut in two.
        lines.pop();
    }
    let texts = lines.into_iter().filter_map(|line| guard(line.to_vec(), importer.limits.nesting_max).ok());
    let texts: Vec<String> = texts.collect();
    let read: Vec<_> = texts.iter().filter_map(|text| fields::one(text).ok()).collect();
    let mut names: Vec<&str> = read.iter().flat_map(|fields| &fields.0).map(|(name, _)| &**name).collect();
    names.sort_unstable();
    names.dedup();
    Ok(importer.import.check_names(&names, is_whole)?)
}

/// A line as a row. Fields that were not seen before find their columns on the way.
async fn object(importer: &mut RowImporter<'_>, bytes: Vec<u8>) -> Result<Result<Row, RowError>, Error> {
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    let text = match guard(bytes, importer.limits.nesting_max) {
        Ok(text) => text,
        Err(error) => return Ok(Err(RowError { reason: reason(&error), values: vec![shown] })),
    };
    let fields = match fields::one(&text) {
        Ok(fields) => fields,
        Err(_) if text.trim_start().starts_with('[') => {
            return Ok(Err(RowError { reason: AN_ARRAY.to_owned(), values: vec![shown] }));
        }
        Err(error) => return Ok(Err(RowError { reason: reason(&error), values: vec![shown] })),
    };
    let named: Vec<(&str, &str)> = fields.0.iter().map(|(name, value)| (&**name, *value)).collect();
    if let Some(reason) = importer.app.early_refusal(&importer.import, &named).await? {
        return Ok(Err(RowError { reason, values: vec![shown] }));
    }
    let new = fields.0.iter().filter(|(name, _)| !importer.import.is_settled(name));
    let new: Vec<ImportField> =
        new.map(|(name, _)| ImportField { name: name.to_string(), header: name.to_string() }).collect();
    for field in new {
        // One by one, so that a name in other letter case finds the column that was just made.
        importer.app.settle_fields(&mut importer.import, &[field], false).await?;
    }
    let cells = fields
        .0
        .iter()
        .filter_map(|(name, value)| Some((importer.import.column(name)?.clone(), (*value).to_owned())));
    Ok(Ok((cells.collect(), vec![shown])))
}

/// What is wrong with a line, in words that go on behind its number. Elsewhere the same is said of a body, in which the
/// first line is not this one.
fn reason(error: &Error) -> String {
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
