//! How much an answer may hold, so that it does not fill a model's context.

use serde_json::Value;

/// An answer has fewer characters, unless more were asked for.
pub(crate) const ANSWER_CHARS_MAX: usize = 10_000;

/// What is left for an answer's list, beside everything else that it says.
pub(crate) const LIST_CHARS_MAX: usize = 8_000;

pub(crate) fn chars(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// As many entries as fit, at least one; and how many are left.
pub(crate) fn fit(entries: impl ExactSizeIterator<Item = Value>, chars_max: usize) -> (Vec<Value>, usize) {
    let count = entries.len();
    let mut kept: Vec<Value> = Vec::new();
    let mut used = 0;
    for entry in entries {
        used += chars(&entry) + 1;
        if used > chars_max && !kept.is_empty() {
            break;
        }
        kept.push(entry);
    }
    let left = count - kept.len();
    (kept, left)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn as_many_entries_as_fit() {
        let entries = || (0..10).map(|_| json!("abcd"));
        assert_eq!(fit(entries(), 1_000).1, 0);
        assert_eq!(fit(entries(), 21), (vec![json!("abcd"); 3], 7));
        assert_eq!(fit(entries(), 1).0.len(), 1);
        assert_eq!(fit(std::iter::empty::<Value>().collect::<Vec<_>>().into_iter(), 1), (vec![], 0));
    }
}
