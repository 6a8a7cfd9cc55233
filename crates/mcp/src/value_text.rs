//! Values as a model reads them: whole where they are short, else their beginning and how to read on.

use rowmill_model::value::quote_long_numbers;
use serde_json::Value;

/// A value of raw JSON, cut to so many characters.
pub(crate) fn shown(raw: &str, chars_max: usize) -> Value {
    if raw.len() <= chars_max {
        return parsed(raw);
    }
    let part = Part::of(raw, 0, chars_max);
    if part.is_whole() {
        return parsed(raw);
    }
    let form = if part.is_text { "" } else { " of JSON" };
    format!("{}… [cut: {} characters{form}; get_row reads all]", part.text, part.of).into()
}

/// The value of raw JSON. Numbers that would lose digits become text.
pub(crate) fn parsed(raw: &str) -> Value {
    serde_json::from_str(&quote_long_numbers(raw)).unwrap_or_else(|_| raw.into())
}

/// A part of a value's text: of a text itself, or of the JSON of anything else.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) text: String,
    /// The characters before it.
    pub(crate) from: usize,
    /// The characters up to its end.
    pub(crate) to: usize,
    /// All characters.
    pub(crate) of: usize,
    pub(crate) is_text: bool,
}

impl Part {
    pub(crate) fn of(raw: &str, from: usize, chars_max: usize) -> Self {
        let text = if raw.starts_with('"') { serde_json::from_str::<String>(raw).ok() } else { None };
        let is_text = text.is_some();
        let all = text.as_deref().unwrap_or(raw);
        let of = all.chars().count();
        let from = from.min(of);
        let text: String = all.chars().skip(from).take(chars_max).collect();
        let to = from + text.chars().count();
        Self { text, from, to, of, is_text }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.from == 0 && self.to == self.of
    }
}

/// A text, cut with a mark.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Cuts every text inside a value.
pub(crate) fn cut_texts(value: &mut Value, chars_max: usize) {
    match value {
        Value::String(text) => {
            if text.len() > chars_max {
                *text = cut(text, chars_max);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| cut_texts(value, chars_max)),
        Value::Object(fields) => fields.values_mut().for_each(|value| cut_texts(value, chars_max)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_values_are_cut_and_say_so() {
        let check = |raw: &str, expected: Value| assert_eq!(shown(raw, 5), expected, "{raw}");
        check("\"abc\"", json!("abc"));
        check("\"äöüßé\"", json!("äöüßé"));
        check("\"abcdefgh\"", json!("abcde… [cut: 8 characters; get_row reads all]"));
        check("[1,2,3,4]", json!("[1,2,… [cut: 9 characters of JSON; get_row reads all]"));
        check("12.5", json!(12.5));
        assert_eq!(shown("12345678901234567890123", 50), json!("12345678901234567890123"));
    }

    #[test]
    fn a_long_value_is_read_in_parts() {
        let part = Part::of("\"abcdefgh\"", 5, 2);
        assert_eq!((part.text.as_str(), part.from, part.to, part.of), ("fg", 5, 7, 8));
        assert_eq!(Part::of("\"ab\"", 9, 2).text, "");
        assert!(Part::of("[1]", 0, 3).is_whole());
    }
}
