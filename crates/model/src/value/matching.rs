//! When a row's value matches a sent one (`matchOn`): when both read as the same text.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use super::canonical::{canonical, push_number, push_text};
use super::cell_value::{Value, fold};
use super::number::Number;

/// Whether letter case and outer blanks count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchCase {
    Counts,
    Ignored,
}

/// What of a value is compared.
enum Matched<'a> {
    /// A number, and its digits as they were sent.
    Number(Number<'a>, &'a str),
    Text(Cow<'a, str>),
    /// An array or object in canonical form.
    Json(Vec<u8>),
}

/// Whether two values match: `1`, `1.0` and `"1"` do, and so do `1.0` and `"1.0"`; but `1` and `"1.0"` do not, and
/// neither do `7` and `"007"`. Objects compare without regard to the order of their members. An empty value matches
/// nothing.
pub fn matches(a: &str, b: &str, case: MatchCase) -> bool {
    let (Some(a), Some(b)) = (Matched::of(a, case), Matched::of(b, case)) else { return false };
    match (a, b) {
        (Matched::Number(a, _), Matched::Number(b, _)) => a == b,
        (Matched::Number(number, digits), Matched::Text(text))
        | (Matched::Text(text), Matched::Number(number, digits)) => {
            text == digits || (is_plain(&text) && Number::parse(&text) == Some(number))
        }
        (Matched::Text(a), Matched::Text(b)) => a == b,
        (Matched::Json(a), Matched::Json(b)) => a == b,
        _ => false,
    }
}

/// A hash under which values that match meet. An empty value has none, because it matches nothing.
///
/// Keys are stored, so this function, [`canonical`] included, must never change.
pub fn match_key(raw: &str, case: MatchCase) -> Option<u64> {
    let bytes = match Matched::of(raw, case)? {
        Matched::Number(number, _) => number_bytes(&number),
        Matched::Text(text) => {
            if let Some(number) = Number::parse(&text) {
                // What does not match in spite of the same key is told apart by `matches`.
                number_bytes(&number)
            } else {
                let mut bytes = Vec::with_capacity(text.len() + 16);
                push_text(&mut bytes, &text);
                bytes
            }
        }
        Matched::Json(bytes) => bytes,
    };
    Some(xxh3_64(&bytes))
}

impl<'a> Matched<'a> {
    fn of(raw: &'a str, case: MatchCase) -> Option<Self> {
        let value = Value::parse(raw);
        if value.is_empty() {
            return None;
        }
        Some(match value {
            Value::Null => return None,
            Value::Bool(truth) => Self::Text(Cow::Borrowed(if truth { "true" } else { "false" })),
            Value::Number(digits) => match Number::parse(digits) {
                Some(number) => Self::Number(number, digits),
                None => Self::Text(Cow::Borrowed(digits)),
            },
            Value::Text(text) => match case {
                MatchCase::Counts => Self::Text(text),
                MatchCase::Ignored => {
                    let text = fold(text.trim()).into_owned();
                    if text.is_empty() {
                        return None;
                    }
                    Self::Text(Cow::Owned(text))
                }
            },
            Value::Array(raw) | Value::Object(raw) => Self::Json(canonical(raw)),
        })
    }
}

fn number_bytes(number: &Number<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_number(&mut bytes, number);
    bytes
}

/// Whether text that reads as a number is the plainest way to write it.
fn is_plain(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "1"));
    let are_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(whole)
        && are_digits(fraction)
        && (whole == "0" || !whole.starts_with('0'))
        && !fraction.ends_with('0')
        && text != "-0"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_match_by_their_text() {
        fn check(a: &str, b: &str, expected: bool) {
            for case in [MatchCase::Counts, MatchCase::Ignored] {
                assert_eq!(matches(a, b, case), expected, "{a} and {b}");
                assert_eq!(matches(b, a, case), expected, "{b} and {a}");
                if expected {
                    assert!(match_key(a, case).is_some(), "{a}");
                    assert_eq!(match_key(a, case), match_key(b, case), "{a} and {b}");
                }
            }
        }
        check("1", "\"1\"", true);
        check("1.0", "1", true);
        check("1.0", "\"1\"", true);
        check("1.0", "\"1.0\"", true);
        check("1", "\"1.0\"", false);
        check("0", "\"-0\"", false);
        check("-2.5", "\"-2.5\"", true);
        check("7", "\"007\"", false);
        check("\"7\"", "\"007\"", false);
        check("1e3", "\"1000\"", true);
        check("1e3", "\"1e3\"", true);
        check("12345678901234567890", "\"12345678901234567891\"", false);
        check("true", "\"true\"", true);
        check("\"a\"", "\"\\u0061\"", true);
        check(r#"{"a":1,"b":2}"#, r#"{"b":2.0,"a":1}"#, true);
        check(r#"{"a":1}"#, r#""{\"a\":1}""#, false);
        for empty in ["null", "\"\"", "[]", "{}"] {
            check(empty, empty, false);
            assert_eq!(match_key(empty, MatchCase::Counts), None);
        }
    }

    #[test]
    fn case_and_outer_blanks_count_unless_they_are_ignored() {
        let (a, b) = ("\"Ada@Example.com\"", "\" ada@example.com \"");
        assert!(!matches(a, b, MatchCase::Counts));
        assert!(matches(a, b, MatchCase::Ignored));
        assert_eq!(match_key(a, MatchCase::Ignored), match_key(b, MatchCase::Ignored));
        assert!(matches("1", "\" 1 \"", MatchCase::Ignored));
        assert_eq!(match_key("\"  \"", MatchCase::Ignored), None);
    }

    #[test]
    fn match_keys_are_stored_and_never_change() {
        for (raw, key) in [
            ("0", Some(5_621_844_432_225_457_890)),
            ("\"-12.50\"", Some(6_560_436_090_558_261_889)),
            ("\"ada@example.com\"", Some(4_296_745_005_486_592_737)),
            ("[1,\"a\",null]", Some(16_448_319_099_124_478_019)),
            (r#"{"b":1,"a":{"c":[]}}"#, Some(8_196_542_004_542_691_626)),
        ] {
            assert_eq!(match_key(raw, MatchCase::Counts), key, "{raw}");
        }
    }
}
