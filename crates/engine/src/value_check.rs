//! Validates a result before it is stored: size, JSON nesting depth and U+0000, as for values that are sent.

/// Why raw JSON text is no value for a cell, if it is none.
pub(crate) fn refusal(raw: &str, bytes_max: usize, nesting_max: usize) -> Option<InvalidValue> {
    if raw.len() > bytes_max {
        return Some(InvalidValue::TooLong);
    }
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (place, byte) in raw.bytes().enumerate() {
        if in_string {
            let rest = raw.get(place..).unwrap_or_default();
            if is_escaped && rest.starts_with("u0000") {
                return Some(InvalidValue::Nul);
            }
            in_string = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > nesting_max {
            return Some(InvalidValue::TooDeep);
        }
    }
    None
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InvalidValue {
    TooLong,
    TooDeep,
    /// It has U+0000 in a string.
    Nul,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_sent_is_no_result_either() {
        for (raw, expected) in [
            ("null", None),
            ("[[1]]", None),
            ("[[[1]]]", Some(InvalidValue::TooDeep)),
            (r#"["[[[", "\"[[["]"#, None),
            (r#"{"a":"x\u0000"}"#, Some(InvalidValue::Nul)),
            (r#"{"a":"\\u0000"}"#, None),
            (r#"{"\u0000":1}"#, Some(InvalidValue::Nul)),
            ("\"0123456789012345678901234567890\"", Some(InvalidValue::TooLong)),
        ] {
            assert_eq!(refusal(raw, 30, 2), expected, "{raw}");
        }
    }
}
