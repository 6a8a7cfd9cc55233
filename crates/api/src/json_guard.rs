//! Guards against hostile JSON: nesting depth and bad text are refused in one pass, before anything parses it.
//!
//! The scan is the model's (`model/json_hazards.rs`), because results of columns pass it as well.

use memchr::memchr;
use rowmill_model::Offence;
use rowmill_model::json_hazards::{JsonHazard, json_hazards};

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
    let hazard = json_hazards(&text, nesting_max).next();
    match hazard {
        None => Ok(text),
        Some(JsonHazard::TooDeep) => Err(too_deep(nesting_max)),
        Some(JsonHazard::Nul) => Err(nul()),
        Some(JsonHazard::LoneSurrogate) => Err(lone_surrogate()),
    }
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
