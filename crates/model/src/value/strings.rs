//! The strings within JSON text.

use std::borrow::Cow;

use super::raw::{string_len, text};

/// The same JSON with other values in place of strings: `replacement` is given the content of each string that is a value,
/// however deep, and may give JSON to put there. Names of members, and all else, stay as they are written.
pub fn replace_strings(json: &str, mut replacement: impl FnMut(&str) -> Option<String>) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some((rest, quote)) = json.get(at..).and_then(|rest| Some((rest, rest.find('"')?))) {
        let start = at + quote;
        let len = rest.get(quote..).map_or(0, string_len);
        at = start + len;
        let is_name = json.get(at..).is_some_and(|after| after.trim_ascii_start().starts_with(':'));
        let content = json.get(start..at).filter(|_| !is_name).map(text);
        if let Some(new) = content.and_then(|content| replacement(&content)) {
            out.push_str(json.get(copied..start).unwrap_or_default());
            out.push_str(&new);
            copied = at;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    out.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_are_values_are_replaced() {
        let check = |json: &str, expected: &str| {
            let replaced =
                replace_strings(json, |text| text.starts_with('a').then(|| format!("[{}]", text.len())));
            assert_eq!(replaced, expected, "{json}");
        };
        check(r#""ab""#, "[2]");
        check(
            r#"{"a":"a\"é", "b" : ["a",1.10,{"a" : "\u0061b"}]}"#,
            r#"{"a":[4], "b" : [[1],1.10,{"a" : [2]}]}"#,
        );
        for same in [r#"{"a":1.10,"a:":null}"#, r#""b""#, "1", ""] {
            check(same, same);
        }
    }
}
