//! Walking raw JSON text without building a tree of it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::Hash;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// How deep values are taken apart, which is recursive. Sent JSON is at most 64 deep.
pub(crate) const DEPTH_MAX: usize = 128;

/// The raw elements of an array; none if it is no array.
pub fn elements(raw: &str) -> Vec<&str> {
    note_parsed(raw);
    let elements: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
    elements.into_iter().map(RawValue::get).collect()
}

/// The raw members of an object in the order they stand, twins included; none if it is no object.
pub fn members(raw: &str) -> Vec<(Cow<'_, str>, &str)> {
    read(raw, Members).unwrap_or_default()
}

/// The object with these members in place of those of the same name, new ones behind the others; `None` if it is no
/// object. Everything else stays as it was written.
pub fn with_members(raw: &str, changed: &[(&str, &str)]) -> Option<String> {
    if !raw.trim_ascii().starts_with('{') {
        return None;
    }
    let stored = members(raw);
    let stored: Vec<(&str, &str)> = stored.iter().map(|(name, raw)| (&**name, *raw)).collect();
    let mut text = String::from("{");
    for (name, raw) in merged(&stored, changed) {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&serde_json::Value::from(name).to_string());
        text.push(':');
        text.push_str(raw);
    }
    text.push('}');
    Some(text)
}

/// Each name is looked up by its hash: strangers choose how many there are on both sides.
fn merged<'a, N: Copy + Eq + Hash>(stored: &[(N, &'a str)], changed: &[(N, &'a str)]) -> Vec<(N, &'a str)> {
    // Of twins the last.
    let raws: HashMap<N, &'a str> = changed.iter().copied().collect();
    let names: HashSet<N> = stored.iter().map(|(name, _)| *name).collect();
    let kept = stored.iter().map(|(name, raw)| (*name, raws.get(name).copied().unwrap_or(raw)));
    kept.chain(changed.iter().copied().filter(|(name, _)| !names.contains(name))).collect()
}

/// The raw value of one member; of twins the last, as everywhere in JSON.
pub fn member<'a>(raw: &'a str, name: &str) -> Option<&'a str> {
    read(raw, Member { name })?
}

/// The raw value of one element; a negative index counts from the end.
pub(crate) fn element(raw: &str, index: i64) -> Option<&str> {
    if index < 0 {
        let all = elements(raw);
        let back = usize::try_from(index.unsigned_abs()).ok()?;
        return all.get(all.len().checked_sub(back)?).copied();
    }
    read(raw, Element { index: usize::try_from(index).ok()? })?
}

/// The content of a string. Escapes that stand for no character (a lone surrogate) become U+FFFD; what
/// is no string at all is returned as it is.
pub(crate) fn text(raw: &str) -> Cow<'_, str> {
    let inner = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) if !inner.bytes().any(|byte| matches!(byte, b'\\' | b'"')) => Cow::Borrowed(inner),
        _ => read(raw, Text).unwrap_or(Cow::Borrowed(raw)),
    }
}

/// The same JSON without blanks between its parts and without needless escapes (`\/`, `\u00e9`), so
/// that what was written `"Jos\u00e9"` is found as it is read. Numbers keep their digits.
pub(crate) fn compact(raw: &str) -> Cow<'_, str> {
    let needs_work = raw.bytes().any(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b'\\'));
    if !needs_work {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(quote) = rest.find('"') {
        let (between, from_quote) = rest.split_at(quote);
        push_without_blanks(&mut out, between);
        let (string, after) = from_quote.split_at(string_len(from_quote));
        push_string(&mut out, string);
        rest = after;
    }
    push_without_blanks(&mut out, rest);
    Cow::Owned(out)
}

fn push_without_blanks(out: &mut String, text: &str) {
    out.extend(text.split_ascii_whitespace());
}

fn push_string(out: &mut String, string: &str) {
    let decoded = string.contains('\\').then(|| serde_json::from_str::<String>(string));
    match decoded.and_then(Result::ok).and_then(|text| serde_json::to_string(&text).ok()) {
        Some(encoded) => out.push_str(&encoded),
        None => out.push_str(string),
    }
}

/// The length of the string that `text` starts with, quotes included.
pub(crate) fn string_len(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

fn read<'a, S: DeserializeSeed<'a>>(raw: &'a str, seed: S) -> Option<S::Value> {
    note_parsed(raw);
    seed.deserialize(&mut serde_json::Deserializer::from_str(raw)).ok()
}

#[cfg(test)]
thread_local! {
    static PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Tests count what is parsed: some text must not be parsed again for each level within it.
#[cfg(test)]
pub(super) fn note_parsed(raw: &str) {
    PARSED.set(PARSED.get() + raw.len());
}

#[cfg(not(test))]
pub(super) fn note_parsed(_: &str) {}

/// The bytes that this thread has parsed.
#[cfg(test)]
pub(super) fn parsed() -> usize {
    PARSED.get()
}

/// Reads a string by its bytes, because `serde_json` refuses lone surrogates in a `str`.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(String::from_utf8_lossy(bytes))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(String::from_utf8_lossy(bytes).into_owned()))
    }
}

struct Members;

impl<'de> DeserializeSeed<'de> for Members {
    type Value = Vec<(Cow<'de, str>, &'de str)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(Cow<'de, str>, &'de str)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(name) = map.next_key_seed(Text)? {
            members.push((name, map.next_value::<&RawValue>()?.get()));
        }
        Ok(members)
    }
}

struct Member<'n> {
    name: &'n str,
}

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = map.next_key_seed(Text)? {
            if name == self.name {
                found = Some(map.next_value::<&RawValue>()?.get());
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

struct Element {
    index: usize,
}

impl<'de> DeserializeSeed<'de> for Element {
    type Value = Option<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Element {
    type Value = Option<&'de str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        for _ in 0..self.index {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let found = seq.next_element::<&RawValue>()?.map(RawValue::get);
        // `serde_json` refuses a sequence that is not read to its end.
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::Hasher;

    use proptest::prelude::*;

    use super::*;

    /// A name that counts how often it is compared.
    #[derive(Clone, Copy)]
    struct Counted<'a>(&'a str, &'a Cell<usize>);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.1.set(self.1.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted<'_> {}

    impl Hash for Counted<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn merging_compares_no_name_with_all_others() {
        const NAMES: usize = 2_000;
        let names: Vec<String> = (0..NAMES + NAMES / 2).map(|name| name.to_string()).collect();
        let compared = Cell::new(0);
        let members: Vec<_> = names.iter().map(|name| (Counted(name, &compared), "1")).collect();
        let (stored, changed) = (&members[..NAMES], &members[NAMES / 2..]);
        assert_eq!(merged(stored, changed).len(), members.len());
        // Few hashes meet by accident.
        assert!(compared.get() < 8 * NAMES, "{} comparisons", compared.get());
    }

    /// What merging means, said in the simplest way.
    fn expected<'a>(
        stored: &[(&'a str, &'a str)],
        changed: &[(&'a str, &'a str)],
    ) -> Vec<(&'a str, &'a str)> {
        let find = |name: &str| changed.iter().rfind(|(changed, _)| *changed == name).map(|(_, raw)| *raw);
        let kept = stored.iter().map(|(name, raw)| (*name, find(name).unwrap_or(raw)));
        let is_new = |name: &str| stored.iter().all(|(stored, _)| *stored != name);
        kept.chain(changed.iter().copied().filter(|(name, _)| is_new(name))).collect()
    }

    proptest! {
        #[test]
        fn members_are_merged_in_their_order(
            stored in proptest::collection::vec(("[a-d]{0,2}", "[0-9]"), 0..8),
            changed in proptest::collection::vec(("[a-d]{0,2}", "[0-9]"), 0..8),
        ) {
            let [stored, changed] = [&stored, &changed]
                .map(|of| of.iter().map(|(name, raw)| (&**name, &**raw)).collect::<Vec<_>>());
            let expected = expected(&stored, &changed);
            prop_assert_eq!(&merged(&stored, &changed), &expected);
            let object = |of: &[(&str, &str)]| {
                let members: Vec<String> = of.iter().map(|(name, raw)| format!("\"{name}\":{raw}")).collect();
                format!("{{{}}}", members.join(","))
            };
            prop_assert_eq!(with_members(&object(&stored), &changed), Some(object(&expected)));
        }
    }

    #[test]
    fn parts_keep_their_text() {
        let raw = r#" { "a" : 1.00 , "b\u0061" : [ 1 , "x" , {"y":null} ] , "a" : 2e0 } "#;
        assert_eq!(member(raw, "a"), Some("2e0"));
        assert_eq!(member(raw, "ba"), Some(r#"[ 1 , "x" , {"y":null} ]"#));
        assert_eq!(member(raw, "c"), None);
        assert_eq!(member("[1]", "a"), None);
        assert_eq!(members(raw).len(), 3);
        let array = member(raw, "ba").unwrap();
        assert_eq!(elements(array), ["1", "\"x\"", "{\"y\":null}"]);
        assert_eq!(element(array, 1), Some("\"x\""));
        assert_eq!(element(array, -1), Some("{\"y\":null}"));
        assert_eq!((element(array, 3), element(array, -4), element("{}", 0)), (None, None, None));
        assert_eq!(element(array, i64::MIN), None);
    }

    #[test]
    fn compact_json_means_the_same() {
        for (raw, compacted) in [
            ("[1,2]", "[1,2]"),
            ("[ 1.0 ,\n\t2e5 ]", "[1.0,2e5]"),
            (r#"{ "a b" : "c  d" }"#, r#"{"a b":"c  d"}"#),
            (r#"["https:\/\/x", "Jos\u00e9", "\"q\\"]"#, r#"["https://x","José","\"q\\"]"#),
            (r#"["\ud800" ]"#, r#"["\ud800"]"#),
            ("[\"open", "[\"open"),
        ] {
            assert_eq!(compact(raw), compacted, "{raw}");
        }
    }
}
