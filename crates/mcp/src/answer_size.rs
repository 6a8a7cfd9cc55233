//! How much an answer may hold, so that it does not fill a model's context.

use serde_json::Value;

use crate::value_text::cut;

/// An answer has fewer characters, unless more were asked for.
pub(crate) const ANSWER_CHARS_MAX: usize = 10_000;

/// What is left for an answer's list, beside everything else that it says.
pub(crate) const LIST_CHARS_MAX: usize = 8_000;

/// The answer, with its largest parts cut until it is short enough. Few need it: a column's schema or the body of a
/// request can have thousands of small parts.
pub(crate) fn bounded(mut answer: Value) -> Value {
    const CUTS_MAX: usize = 100;
    const CUT_CHARS: usize = 500;
    for _ in 0..CUTS_MAX {
        if chars(&answer) < ANSWER_CHARS_MAX {
            break;
        }
        let part = largest(&mut answer, 0);
        let (text, size) = (part.to_string(), chars(part));
        *part = format!("{} [cut: {size} characters of JSON]", cut(&text, CUT_CHARS)).into();
    }
    answer
}

/// The part that most of a value is made of, but not one of those that an output schema describes.
fn largest(value: &mut Value, depth: usize) -> &mut Value {
    const DESCRIBED_DEPTH: usize = 2;
    let size = chars(value);
    let is_most = |part: &Value| depth < DESCRIBED_DEPTH || chars(part) > size / 2;
    let found = match &*value {
        Value::Object(fields) => {
            let most = fields.iter().max_by_key(|(_, part)| chars(part));
            most.filter(|(_, part)| is_most(part)).map(|(name, _)| Step::Field(name.clone()))
        }
        Value::Array(parts) => {
            let most = parts.iter().enumerate().max_by_key(|(_, part)| chars(part));
            most.filter(|(_, part)| is_most(part)).map(|(index, _)| Step::Entry(index))
        }
        _ => None,
    };
    match found {
        // What is looked up was found just now.
        Some(Step::Field(name)) if value.get(&name).is_some() => {
            largest(&mut value[name.as_str()], depth + 1)
        }
        Some(Step::Entry(index)) if value.get(index).is_some() => largest(&mut value[index], depth + 1),
        _ => value,
    }
}

enum Step {
    Field(String),
    Entry(usize),
}

/// Sets a field of an object.
pub(crate) fn put(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_owned(), value);
    }
}

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
    fn an_answer_is_short_whatever_it_is_made_of() {
        let many: Value =
            (0..5_000).map(|index| (format!("field {index}"), json!({ "type": "string" }))).collect();
        let answer = json!({ "created": true, "column": { "header": "A", "settings": { "outputSchema": { "properties": many } } } });
        let short = bounded(answer.clone());
        assert!(chars(&short) < ANSWER_CHARS_MAX, "{}", chars(&short));
        assert_eq!(short["column"]["header"], "A");
        let part = short["column"]["settings"]["outputSchema"]["properties"].as_str().unwrap();
        assert!(part.ends_with("characters of JSON]"), "{part}");
        assert_eq!(bounded(json!({ "a": 1 })), json!({ "a": 1 }));
        let spread: Value = (0..3_000).map(|index| json!({ "id": index })).collect();
        assert!(chars(&bounded(json!({ "sent": { "body": spread } }))) < ANSWER_CHARS_MAX);
    }

    #[test]
    fn as_many_entries_as_fit() {
        let entries = || (0..10).map(|_| json!("abcd"));
        assert_eq!(fit(entries(), 1_000).1, 0);
        assert_eq!(fit(entries(), 21), (vec![json!("abcd"); 3], 7));
        assert_eq!(fit(entries(), 1).0.len(), 1);
        assert_eq!(fit(std::iter::empty::<Value>().collect::<Vec<_>>().into_iter(), 1), (vec![], 0));
    }
}
