//! Validates a result before it is stored: size, JSON nesting depth and U+0000, as for values that are sent.

use rowmill_model::json_hazards::{JsonHazard, json_hazards};

/// Why raw JSON text is no value for a cell, if it is none.
pub(crate) fn refusal(raw: &str, bytes_max: usize, nesting_max: usize) -> Option<InvalidValue> {
    if raw.len() > bytes_max {
        return Some(InvalidValue::TooLong);
    }
    let nesting_max = u32::try_from(nesting_max).unwrap_or(u32::MAX);
    json_hazards(raw, nesting_max).find_map(|hazard| match hazard {
        JsonHazard::TooDeep => Some(InvalidValue::TooDeep),
        JsonHazard::Nul => Some(InvalidValue::Nul),
        // Refused in what is sent, but a result is stored as it came.
        JsonHazard::LoneSurrogate => None,
    })
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
