//! Guards against hostile JSON: nesting depth and bad text are refused in one pass, before anything parses it.
//!
//! It refuses what a JSON parser would let through and the store must never see: nesting beyond the
//! limit, U+0000, and halves of surrogate pairs. It is no parser: what is not JSON at all is left for
//! the parser to name. Bulk inserts run through here at 32 MiB a body, hence the care for speed:
//! strings, which are most of a body, are skipped with `memchr` (a table of byte classes was measured
//! slower, and far slower on long texts).

use memchr::{memchr, memchr2};
use rowmill_model::Offence;

use crate::error::Error;

/// The body as text, if nothing in it is forbidden.
pub(crate) fn guard(bytes: Vec<u8>, nesting_max: u32) -> Result<String, Error> {
    if memchr(0, &bytes).is_some() {
        return Err(nul());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::NotJson(format!("The body is not valid UTF-8 (at byte {at})"))
    })?;
    scan(text.as_bytes(), nesting_max)?;
    Ok(text)
}

fn scan(mut rest: &[u8], nesting_max: u32) -> Result<(), Error> {
    let mut depth = 0_u32;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = skip_string(rest)?,
            b'[' | b'{' => {
                depth += 1;
                if depth > nesting_max {
                    return Err(too_deep(nesting_max));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// What follows the string whose opening quote was just passed. A string without an end is left to the
/// parser.
fn skip_string(mut rest: &[u8]) -> Result<&[u8], Error> {
    loop {
        let found = memchr2(b'"', b'\\', rest).and_then(|at| rest.get(at..)?.split_first());
        match found {
            None => return Ok(&[]),
            Some((b'"', after)) => return Ok(after),
            Some((_, after)) => rest = skip_escape(after)?,
        }
    }
}

/// What follows the escape whose backslash was just passed.
fn skip_escape(rest: &[u8]) -> Result<&[u8], Error> {
    let Some((b'u', digits)) = rest.split_first() else {
        return Ok(rest.get(1..).unwrap_or_default());
    };
    // Digits that are none are the parser's to refuse.
    let Some((unit, after)) = code_unit(digits) else { return Ok(digits) };
    match unit {
        0 => Err(nul()),
        0xDC00..=0xDFFF => Err(lone_surrogate()),
        0xD800..=0xDBFF => {
            let low = after.strip_prefix(b"\\u").and_then(code_unit);
            match low {
                Some((0xDC00..=0xDFFF, after)) => Ok(after),
                _ => Err(lone_surrogate()),
            }
        }
        _ => Ok(after),
    }
}

fn code_unit(digits: &[u8]) -> Option<(u32, &[u8])> {
    let (four, after) = digits.split_first_chunk::<4>()?;
    let mut unit = 0;
    for digit in four {
        unit = unit * 16 + char::from(*digit).to_digit(16)?;
    }
    Some((unit, after))
}

fn too_deep(nesting_max: u32) -> Error {
    let message = format!("is nested deeper than the limit of {nesting_max} levels (nestingMax)");
    rowmill_app::Error::LimitExceeded {
        message: format!("The body {message}"),
        details: vec![Offence::new("", message)],
    }
    .into()
}

fn nul() -> Error {
    Error::offence("", "must not contain the character U+0000 in any string")
}

fn lone_surrogate() -> Error {
    Error::offence("", "must not contain an unpaired surrogate (\\ud800 to \\udfff must come in pairs)")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error code and a word of the message, or "" for a body that passes.
    fn check(body: impl AsRef<[u8]>, code: &str, word: &str) {
        let body = body.as_ref();
        match guard(body.to_vec(), 4) {
            Ok(text) => assert_eq!((text.as_bytes(), code), (body, "")),
            Err(error) => {
                assert_eq!(error.code(), code, "{error}");
                assert!(error.to_string().contains(word), "{error}");
            }
        }
    }

    #[test]
    fn lets_through() {
        for body in [
            "",
            "{}",
            "1",
            "[[[[]]]]",
            "[[],[],[],[],[]]",
            r#"{"a":"[[[[[[[["}"#,
            r#"["\"[[[[[["]"#,
            r#"["\\",[[[]]]]"#,
            r#"["\u0001 \u00e9 \ud83d\ude00 \uD83D\uDE00"]"#,
            r#"["\\u0000"]"#,
            "[\"é😀\"]",
            "]]]][",
            "[\"open",
            "[\"\\",
            "[\"\\u00",
            "[\"\\uzzzz\"]",
        ] {
            check(body, "", "");
        }
    }

    #[test]
    fn refuses_depth() {
        check("[[[[[]]]]]", "limit_exceeded", "4 levels");
        check(r#"[[[{"a":[1]}]]]"#, "limit_exceeded", "nestingMax");
        check(r#"["\\",[[[[]]]]]"#, "limit_exceeded", "4 levels");
    }

    #[test]
    fn refuses_nul() {
        check(b"[\"a\0b\"]", "invalid_request", "U+0000");
        check(r#"["a\u0000b"]"#, "invalid_request", "U+0000");
        check(r#"{"\u0000":1}"#, "invalid_request", "U+0000");
        check(r#"["\\\u0000"]"#, "invalid_request", "U+0000");
    }

    #[test]
    fn refuses_bad_text() {
        check(b"[\"\xff\"]", "invalid_json", "UTF-8");
        check(r#"["\ud83d"]"#, "invalid_request", "surrogate");
        check(r#"["\ud83dx"]"#, "invalid_request", "surrogate");
        check(r#"["\ud83d\ud83d"]"#, "invalid_request", "surrogate");
        check(r#"["\ude00"]"#, "invalid_request", "surrogate");
    }
}
