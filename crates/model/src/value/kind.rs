//! What comparing and sorting take a value for.

use std::borrow::Cow;

use jiff::tz::TimeZone;

use super::cell_value::Value;
use super::date::Date;
use super::number::Number;

/// A value by the way it compares: text that reads as a number is one, ISO 8601 text is a date.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind<'a> {
    /// Null, `""`, `[]` or `{}`.
    Empty,
    Bool(bool),
    Number(Number<'a>),
    Date(Date),
    Text(Cow<'a, str>),
    Array(&'a str),
    Object(&'a str),
}

impl<'a> Kind<'a> {
    /// Classifies raw JSON; dates without an offset are taken in `zone`.
    pub fn of(raw: &'a str, zone: &TimeZone) -> Self {
        let value = Value::parse(raw);
        if value.is_empty() {
            return Self::Empty;
        }
        match value {
            Value::Null => Self::Empty,
            Value::Bool(truth) => Self::Bool(truth),
            Value::Number(digits) => match Number::parse(digits) {
                Some(number) => Self::Number(number),
                None => Self::Text(Cow::Borrowed(digits)),
            },
            Value::Text(text) => Self::of_text(text, zone),
            Value::Array(raw) => Self::Array(raw),
            Value::Object(raw) => Self::Object(raw),
        }
    }

    fn of_text(text: Cow<'a, str>, zone: &TimeZone) -> Self {
        // Most text starts with a letter and is neither; spare it both readings.
        let first = text.trim_start().bytes().next();
        if !first.is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+')) {
            return Self::Text(text);
        }
        if let Some(date) = Date::parse(&text, zone) {
            return Self::Date(date);
        }
        let number = match &text {
            Cow::Borrowed(text) => Number::parse(text),
            Cow::Owned(text) => Number::parse(text).map(Number::into_owned),
        };
        number.map_or(Self::Text(text), Self::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_for_what_it_says() {
        fn check(raw: &str, kind: &str) {
            let seen = match Kind::of(raw, &TimeZone::UTC) {
                Kind::Empty => "empty",
                Kind::Bool(_) => "bool",
                Kind::Number(_) => "number",
                Kind::Date(_) => "date",
                Kind::Text(_) => "text",
                Kind::Array(_) => "array",
                Kind::Object(_) => "object",
            };
            assert_eq!(seen, kind, "{raw}");
        }
        for raw in ["null", "\"\"", "[]", "{ }"] {
            check(raw, "empty");
        }
        for raw in ["1", "-1.5e3", "\"1\"", "\" +1.50 \"", "\"20240101\"", "\"\\u0031\"", "20240101"] {
            check(raw, "number");
        }
        for raw in ["\"2024-01-01\"", "\"2024-01-01T00:00:00+02:00\"", "\"2024\\u002d01-01\""] {
            check(raw, "date");
        }
        for raw in ["\"a\"", "\" \"", "\"1,000\"", "\"007\"", "\"2024-13-01\"", "\"true\"", "\"[]\""] {
            check(raw, "text");
        }
        check("false", "bool");
        check("[0]", "array");
        check("{\"a\":1}", "object");
    }
}
