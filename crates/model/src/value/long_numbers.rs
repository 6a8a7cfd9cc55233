//! Numbers with more digits than a parsed value keeps.

use std::borrow::Cow;

use super::number::Number;
use super::raw::string_len;

/// The same JSON, with the numbers that parsing would round put in quotation marks. Filters read them as the same
/// numbers, with all their digits.
pub fn quote_long_numbers(json: &str) -> Cow<'_, str> {
    // Fewer digits are never rounded, but a few can be too large for any float.
    const DIGITS_MIN: usize = 16;
    let mut out = String::new();
    let mut copied = 0;
    let mut rest = json;
    let mut start = 0;
    while let Some(found) =
        rest.find(|letter: char| letter == '"' || letter == '-' || letter.is_ascii_digit())
    {
        start += found;
        let token = json.get(start..).unwrap_or_default();
        let len = if token.starts_with('"') { string_len(token) } else { number_len(token) };
        let number = token.get(..len).unwrap_or_default();
        let may_be_rounded = len >= DIGITS_MIN || number.contains(['e', 'E']);
        if may_be_rounded && !number.starts_with('"') && is_rounded(number) {
            out.push_str(json.get(copied..start).unwrap_or_default());
            out.push('"');
            out.push_str(number);
            out.push('"');
            copied = start + len;
        }
        start += len;
        rest = json.get(start..).unwrap_or_default();
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

fn is_rounded(number: &str) -> bool {
    let Some(sent) = Number::parse(number) else { return false };
    let parsed = serde_json::from_str::<serde_json::Value>(number).map(|value| value.to_string());
    // What is too large for any float is no value at all.
    parsed.map_or(true, |parsed| Number::parse(&parsed) != Some(sent))
}

fn number_len(text: &str) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    text.as_bytes().iter().position(|byte| !is_part(byte)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_would_be_rounded_become_text() {
        let check = |json: &str, expected: &str| assert_eq!(quote_long_numbers(json), expected);
        check("12345678901234567890123", "\"12345678901234567890123\"");
        check("[1e400,-1E+999, 1e-400]", "[\"1e400\",\"-1E+999\", \"1e-400\"]");
        check("[1, 0.1234567890123456789, -5]", "[1, \"0.1234567890123456789\", -5]");
        for same in [
            "18446744073709551615",
            "-9223372036854775808",
            "[1.50, 1e300, 1E-5, true]",
            r#"{"a\"12345678901234567890123": "12345678901234567890123 é"}"#,
            "",
            "\"",
        ] {
            check(same, same);
        }
    }
}
