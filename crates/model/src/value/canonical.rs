//! One form for all spellings of a JSON value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::cell_value::Value;
use super::number::Number;
use super::raw;
use super::tree::Tree;

/// JSON equality: by structure; the order of members does not count, numbers compare by value, strings
/// by content.
pub fn same(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    // A long array or object is taken apart only if the other value is one, too.
    match (Value::parse(a), Value::parse(b)) {
        (Value::Array(a), Value::Array(b)) | (Value::Object(a), Value::Object(b)) => {
            canonical(a) == canonical(b)
        }
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => false,
        (Value::Text(a), Value::Text(b)) => a == b,
        _ => canonical(a) == canonical(b),
    }
}

/// The canonical bytes of a value: a mark for its kind, then its content, whose end can always be told,
/// so that two values have the same bytes only if they are the same. What is deeper than [`raw::DEPTH_MAX`]
/// compares as text.
pub(crate) fn canonical(raw: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(raw.len() + 16);
    push(&mut bytes, Tree::of(raw));
    bytes
}

fn push(bytes: &mut Vec<u8>, tree: Tree<'_>) {
    match tree {
        Tree::Whole(raw) => push_whole(bytes, raw),
        Tree::Array(elements) => {
            bytes.push(b'a');
            push_len(bytes, elements.len());
            for element in elements {
                push(bytes, element);
            }
        }
        Tree::Object(members) => {
            // Collecting into a map sorts the names and lets the last of twins win.
            let members: BTreeMap<Cow<'_, str>, Tree<'_>> = members.into_iter().collect();
            bytes.push(b'o');
            push_len(bytes, members.len());
            for (name, member) in members {
                push_text(bytes, &name);
                push(bytes, member);
            }
        }
    }
}

fn push_whole(bytes: &mut Vec<u8>, raw: &str) {
    match Value::parse(raw) {
        Value::Null => bytes.push(b'z'),
        Value::Bool(true) => bytes.push(b't'),
        Value::Bool(false) => bytes.push(b'f'),
        Value::Number(digits) => match Number::parse(digits) {
            Some(number) => push_number(bytes, &number),
            None => push_text(bytes, digits),
        },
        Value::Text(text) => push_text(bytes, &text),
        Value::Array(raw) | Value::Object(raw) => push_text(bytes, &raw::compact(raw)),
    }
}

pub(super) fn push_number(bytes: &mut Vec<u8>, number: &Number<'_>) {
    bytes.push(if number.is_negative() { b'-' } else { b'+' });
    bytes.extend_from_slice(&number.scale().to_be_bytes());
    bytes.extend(number.digits());
    bytes.push(0);
}

pub(super) fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(b's');
    push_len(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

fn push_len(bytes: &mut Vec<u8>, len: usize) {
    bytes.extend_from_slice(&(len as u64).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::value::matching::{MatchCase, match_key, matches};

    #[test]
    fn json_is_the_same_however_written() {
        fn check(a: &str, b: &str, expected: bool) {
            assert_eq!(same(a, b), expected, "{a} and {b}");
            assert_eq!(same(b, a), expected, "{b} and {a}");
        }
        check("1", "1.0", true);
        check("1", "10e-1", true);
        check("0", "-0.0", true);
        check("12345678901234567890", "12345678901234567891", false);
        check("1", "\"1\"", false);
        check("\"a\"", "\"\\u0061\"", true);
        check("\"a\"", "\"A\"", false);
        check("null", "\"\"", false);
        check("[]", "{}", false);
        check("[1,2]", "[ 1.0 , 2 ]", true);
        check("[1,2]", "[2,1]", false);
        check("[[1],2]", "[[1,2]]", false);
        check("[12]", "[1,2]", false);
        check(r#"{"a":1,"b":[true,null]}"#, r#"{ "b" : [true, null], "a" : 1e0 }"#, true);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#, true);
        check(r#"{"a":1}"#, r#"{"a":1,"b":null}"#, false);
        check("true", "false", false);
        check("1e999999999", "10e999999998", true);
    }

    #[test]
    fn depth_beyond_the_limit_ends() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(same(&deep, &format!(" {deep}")));
    }

    /// What the canonical bytes are, said level by level. They are stored as hashes, so they must stay.
    fn push_by_level(bytes: &mut Vec<u8>, raw: &str, depth: usize) {
        match Value::parse(raw) {
            Value::Array(raw) if depth < raw::DEPTH_MAX => {
                let elements = raw::elements(raw);
                bytes.push(b'a');
                push_len(bytes, elements.len());
                for element in elements {
                    push_by_level(bytes, element, depth + 1);
                }
            }
            Value::Object(raw) if depth < raw::DEPTH_MAX => {
                let members: BTreeMap<Cow<'_, str>, &str> = raw::members(raw).into_iter().collect();
                bytes.push(b'o');
                push_len(bytes, members.len());
                for (name, member) in members {
                    push_text(bytes, &name);
                    push_by_level(bytes, member, depth + 1);
                }
            }
            _ => push_whole(bytes, raw),
        }
    }

    fn by_level(raw: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        push_by_level(&mut bytes, raw, 0);
        bytes
    }

    #[test]
    fn the_bytes_are_those_of_each_level() {
        for depth in [1, 2, 127, 128, 129, 200] {
            for (open, inner, close) in
                [("[", " 1 , [ ] ", "]"), ("{\"b\":", "{ \"x\" : [1] }", ",\"a\":[]}")]
            {
                let raw = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
                assert_eq!(canonical(&raw), by_level(&raw), "{raw}");
            }
        }
        for raw in [
            " [ \"a]\\\"[\" , -1e5 ,\n{ \"}\" : null , \"\\ud800\" : true } ] ",
            "[1",
            "[1] 2",
            "{\"a\":1} 2",
            "{\"a\":[1,}",
            "{\"a\"}",
            "[\"\\x\"]",
            "[é]",
            "{",
            "[,]",
            "-",
            "\"",
            "é",
            "[\u{b}]",
            "[[[[",
            "]",
        ] {
            assert_eq!(canonical(raw), by_level(raw), "{raw}");
        }
    }

    #[test]
    fn no_text_is_parsed_once_for_each_level() {
        fn check(a: &str, b: &str, expected: bool, parsed_max: usize) {
            let before = raw::parsed();
            assert_eq!(same(a, b), expected);
            let parsed = raw::parsed() - before;
            assert!(parsed <= parsed_max, "{parsed} bytes of {} were parsed", a.len() + b.len());
        }
        let deep = |open: &str, inner: &str, close: &str| {
            format!("{}{}{}", open.repeat(58), vec![inner; 10_000].join(","), close.repeat(58))
        };
        let (ones, twos) = (deep("[", "1", "]"), deep("[", "2", "]"));
        check(&ones, &ones, true, 0);
        check(&ones, "1", false, 0);
        check(&ones, "{}", false, 0);
        check(&ones, &twos, false, ones.len() + twos.len());
        let (a, b) = (deep("{\"n\":[", "1", "]}"), deep("{ \"n\" : [", "1.0", "]}"));
        check(&a, &b, true, a.len() + b.len());
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(|b| json!(b)),
            any::<i64>().prop_map(|n| json!(n)),
            (-10_i32..10).prop_map(|n| json!(f64::from(n) + 0.25)),
            "[a-b\\\\\"é]{0,3}".prop_map(|s| json!(s)),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(|v| json!(v)),
                proptest::collection::vec(("[a-c]{0,2}", inner), 0..4)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Writes a value another way: blanks, members reversed, characters escaped, numbers padded.
    fn rewritten(value: &serde_json::Value) -> String {
        match value {
            serde_json::Value::Number(number) => {
                let text = number.to_string();
                if text.contains(['.', 'e']) { format!("{text}e0") } else { format!("{text}.00") }
            }
            serde_json::Value::String(text) => {
                let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
                format!("\"{}\"", units.concat())
            }
            serde_json::Value::Array(elements) => {
                format!("[ {} ]", elements.iter().map(rewritten).collect::<Vec<_>>().join(" ,\n"))
            }
            serde_json::Value::Object(members) => {
                let write = |(name, member): (&String, _)| format!("{} : {}", json!(name), rewritten(member));
                format!("{{ {} }}", members.iter().rev().map(write).collect::<Vec<_>>().join(" , "))
            }
            other => other.to_string(),
        }
    }

    proptest! {
        #[test]
        fn rewriting_does_not_change_sameness(value in any_json()) {
            let (a, b) = (value.to_string(), rewritten(&value));
            prop_assert!(same(&a, &b), "{} and {}", a, b);
            for case in [MatchCase::Counts, MatchCase::Ignored] {
                prop_assert_eq!(match_key(&a, case), match_key(&b, case));
                prop_assert_eq!(matches(&a, &b, case), match_key(&a, case).is_some());
            }
        }

        #[test]
        fn the_bytes_of_any_value_are_those_of_each_level(value in any_json()) {
            for raw in [value.to_string(), rewritten(&value)] {
                prop_assert_eq!(canonical(&raw), by_level(&raw), "{}", raw);
            }
        }

        #[test]
        fn the_bytes_of_any_text_are_those_of_each_level(raw in "[\\[\\]{}\",:1a\\\\ ]{0,12}", b in "[\\[\\]{}\",:1 ]{0,6}") {
            prop_assert_eq!(canonical(&raw), by_level(&raw), "{}", raw);
            prop_assert_eq!(same(&raw, &b), by_level(&raw) == by_level(&b), "{} and {}", raw, b);
        }

        #[test]
        fn values_are_the_same_exactly_when_they_are_equal(a in any_json(), b in any_json()) {
            prop_assert_eq!(same(&a.to_string(), &b.to_string()), a == b);
        }
    }
}
