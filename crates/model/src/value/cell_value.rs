//! A shallow view of a JSON value.

use std::borrow::Cow;

use super::raw;

/// A shallow view of one JSON value. What is inside an array or object stays text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    /// The digits as they were sent.
    Number(&'a str),
    Text(Cow<'a, str>),
    Array(&'a str),
    Object(&'a str),
}

impl<'a> Value<'a> {
    /// Looks at raw JSON. Text that is no JSON reads as that text, so nothing stored is ever unreadable.
    pub fn parse(raw: &'a str) -> Self {
        let raw = raw.trim_ascii();
        match raw.as_bytes().first() {
            Some(b'"') => Self::Text(raw::text(raw)),
            Some(b'[') => Self::Array(raw),
            Some(b'{') => Self::Object(raw),
            Some(b'-' | b'0'..=b'9') => Self::Number(raw),
            _ => match raw {
                "null" | "" => Self::Null,
                "true" => Self::Bool(true),
                "false" => Self::Bool(false),
                _ => Self::Text(Cow::Borrowed(raw)),
            },
        }
    }

    /// Null, `""`, `[]` and `{}` are empty; blanks within brackets do not count, blanks within text do.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(_) | Self::Number(_) => false,
            Self::Text(text) => text.is_empty(),
            Self::Array(raw) | Self::Object(raw) => {
                raw.get(1..raw.len().saturating_sub(1)).is_none_or(|inner| inner.trim_ascii().is_empty())
            }
        }
    }

    /// The value as templates and text operators see it: a scalar as itself, an array or object as
    /// compact JSON, an empty value as `""`.
    pub fn text(&self) -> Cow<'a, str> {
        match self {
            _ if self.is_empty() => Cow::Borrowed(""),
            Self::Null => Cow::Borrowed(""),
            Self::Bool(true) => Cow::Borrowed("true"),
            Self::Bool(false) => Cow::Borrowed("false"),
            Self::Number(raw) => Cow::Borrowed(raw),
            Self::Text(text) => text.clone(),
            Self::Array(raw) | Self::Object(raw) => raw::compact(raw),
        }
    }
}

/// Text as it is compared where case does not count: Unicode lower case, letter by letter, with the
/// final sigma as any other, so that a part of a word folds as it does within the whole.
pub fn fold(text: &str) -> Cow<'_, str> {
    #[cfg(test)]
    FOLDED_BYTES.set(FOLDED_BYTES.get() + text.len());
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    if text.is_ascii() {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    let lower = text.chars().flat_map(char::to_lowercase);
    Cow::Owned(lower.map(|letter| if letter == 'ς' { 'σ' } else { letter }).collect())
}

#[cfg(test)]
thread_local! {
    /// How much this thread has folded, for tests that count work.
    pub(crate) static FOLDED_BYTES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use super::super::{MatchCase, elements, match_key, same};
    use super::*;

    #[test]
    fn raw_json_is_seen_as_what_it_is() {
        fn check(raw: &str, value: &Value<'_>, text: &str, empty: bool) {
            let seen = Value::parse(raw);
            assert_eq!((&seen, &*seen.text(), seen.is_empty()), (value, text, empty), "{raw}");
        }
        check("null", &Value::Null, "", true);
        check("", &Value::Null, "", true);
        check("true", &Value::Bool(true), "true", false);
        check("false", &Value::Bool(false), "false", false);
        check(" 1.50 ", &Value::Number("1.50"), "1.50", false);
        check("-0", &Value::Number("-0"), "-0", false);
        check("12345678901234567890", &Value::Number("12345678901234567890"), "12345678901234567890", false);
        check(r#""""#, &Value::Text("".into()), "", true);
        check(r#"" ""#, &Value::Text(" ".into()), " ", false);
        check(r#""a\n\u00e9""#, &Value::Text("a\né".into()), "a\né", false);
        check("[]", &Value::Array("[]"), "", true);
        check("[ \n ]", &Value::Array("[ \n ]"), "", true);
        check("{ }", &Value::Object("{ }"), "", true);
        check("[ 1.0 , \"a b\" ]", &Value::Array("[ 1.0 , \"a b\" ]"), "[1.0,\"a b\"]", false);
        check("[null]", &Value::Array("[null]"), "[null]", false);
        check(r#"{"a" : 1}"#, &Value::Object(r#"{"a" : 1}"#), r#"{"a":1}"#, false);
    }

    #[test]
    fn what_is_no_json_is_still_read() {
        for raw in ["hello", "\"", "\"open", "[", "{", "[1,", "\"\\ud800\"", "\"\\x\"", "-", "é", "\u{0}"] {
            let value = Value::parse(raw);
            let _ = (
                value.is_empty(),
                value.text(),
                elements(raw),
                same(raw, "1"),
                match_key(raw, MatchCase::Counts),
            );
        }
        assert_eq!(Value::parse("hello"), Value::Text("hello".into()));
        assert_eq!(Value::parse("\"a\\ud800b\"").text(), "a\u{fffd}\u{fffd}\u{fffd}b");
    }

    #[test]
    fn folding_is_the_same_in_part_and_whole() {
        assert_eq!(fold("ΟΔΟΣ"), fold("οδος"));
        assert!(fold("ΟΔΟΣ Α").contains(&*fold("ΟΔΟΣ")));
        assert_eq!(fold("STRASSE Ä"), "strasse ä");
        assert!(matches!(fold("plain 1"), Cow::Borrowed(_)));
    }
}
