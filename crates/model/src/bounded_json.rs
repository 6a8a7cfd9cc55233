//! Parsing JSON into values with bounds that hold while it is parsed.
//!
//! A [`Value`] takes far more memory than its text: `{},` is 3 bytes of text and about 100 of memory, `{"a":1},`
//! 8 and about 600. So what is built is weighed as it is built, and a text that would take too much is refused
//! before it has.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::limits::OFFENCES_MAX;

/// What the values of one text may weigh, the bytes of its strings apart: about 65,000 strings in lists, or 4,000
/// objects of ten fields.
pub const PARSED_BYTES_MAX: usize = 12_000_000;

/// An entry of a list, with the room that a growing list keeps.
const ENTRY_BYTES: usize = 150;
/// A field of an object, with its place in the object's index.
const FIELD_BYTES: usize = 220;
/// What an object takes before its first field is counted.
const OBJECT_BYTES: usize = 350;
/// What the shortest string takes beside its place.
const STRING_BYTES: usize = 32;

/// How many entries a list may have that stands in a field of the outermost object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountBound {
    pub field: String,
    pub entries_max: usize,
    /// What the limit is called, as `rowIdsMax`.
    pub limit: String,
}

/// The bounds of one kind of text.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'b> {
    pub counts: &'b [CountBound],
    /// How many bytes of text one field of the outermost object may hold, or one entry of a list there.
    pub part_bytes_max: usize,
}

/// Why a text was not parsed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    NotJson(#[from] serde_json::Error),
    #[error("has more than {} entries (limit: {})", .0.entries_max, .0.limit)]
    TooManyEntries(CountBound),
    #[error("has a value of more than {bytes_max} bytes (limit: cellBytesMax)")]
    PartTooLong { field: String, bytes_max: usize },
    #[error(
        "holds more values than this server takes: they would need more than {PARSED_BYTES_MAX} bytes of memory (parsedBytesMax)"
    )]
    TooLarge { field: String },
}

impl Refusal {
    /// The field of the outermost object that is too much; `""` for the whole.
    pub fn field(&self) -> &str {
        match self {
            Self::NotJson(_) => "",
            Self::TooManyEntries(bound) => &bound.field,
            Self::PartTooLong { field, .. } | Self::TooLarge { field } => field,
        }
    }
}

/// The value of a text, as `serde_json::from_str` gives it: of fields that are given twice, the last.
pub fn parse(text: &str, bounds: Bounds<'_>) -> Result<Value, Refusal> {
    parse_noting_twins(text, bounds).map(|(value, _)| value)
}

/// The same, with the paths of the fields that are given twice.
pub fn parse_noting_twins(text: &str, bounds: Bounds<'_>) -> Result<(Value, Vec<String>), Refusal> {
    let (field, twins) = (String::new(), Vec::new());
    let mut state = State { bounds, weight: 0, part_bytes: 0, field, exceeded: None, twins };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = Node { state: &mut state, place: Place::Outermost }.deserialize(&mut deserializer);
    let parsed = parsed.and_then(|value| deserializer.end().map(|()| value));
    match (parsed, state.exceeded) {
        (_, Some(exceeded)) => Err(exceeded),
        (Ok(value), None) => Ok((value, state.twins)),
        (Err(error), None) => Err(error.into()),
    }
}

struct State<'b> {
    bounds: Bounds<'b>,
    weight: usize,
    /// Bytes of text in the present field of the outermost object, or entry of a list there.
    part_bytes: usize,
    /// The field of the outermost object that is being read.
    field: String,
    exceeded: Option<Refusal>,
    /// Fields that are given twice, by their paths within what is being read.
    twins: Vec<String>,
}

impl State<'_> {
    fn note_twin(&mut self, name: &str) {
        if self.twins.len() < OFFENCES_MAX && !self.twins.iter().any(|twin| twin == name) {
            self.twins.push(name.to_owned());
        }
    }

    /// Those noted from there on are within this field or entry.
    fn place_twins(&mut self, from: usize, within: impl Fn() -> String) {
        for twin in self.twins.iter_mut().skip(from) {
            let point = if twin.starts_with('[') { "" } else { "." };
            *twin = format!("{}{point}{twin}", within());
        }
    }

    fn weigh<E: serde::de::Error>(&mut self, bytes: usize) -> Result<(), E> {
        self.weight += bytes;
        if self.weight <= PARSED_BYTES_MAX {
            return Ok(());
        }
        let field = self.field.clone();
        self.refuse(Refusal::TooLarge { field })
    }

    fn weigh_text<E: serde::de::Error>(&mut self, text: &str) -> Result<(), E> {
        self.part_bytes += text.len();
        let bytes_max = self.bounds.part_bytes_max;
        if self.part_bytes > bytes_max {
            let field = self.field.clone();
            return self.refuse(Refusal::PartTooLong { field, bytes_max });
        }
        Ok(())
    }

    fn refuse<E: serde::de::Error>(&mut self, refusal: Refusal) -> Result<(), E> {
        let error = E::custom("too large");
        self.exceeded = Some(refusal);
        Err(error)
    }
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outermost,
    /// In a field of the outermost object.
    Field,
    /// In a list whose entries are counted, and need not be weighed.
    Counted,
    Inner,
}

struct Node<'s, 'b> {
    state: &'s mut State<'b>,
    place: Place,
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.state.weigh_text(text)?;
        if self.place != Place::Counted {
            self.state.weigh(STRING_BYTES)?;
        }
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let Self { state, place } = self;
        let bound =
            state.bounds.counts.iter().find(|bound| place == Place::Field && bound.field == state.field);
        let entry_place = if bound.is_some() { Place::Counted } else { Place::Inner };
        let mut entries = Vec::new();
        loop {
            if matches!(place, Place::Field | Place::Outermost) {
                state.part_bytes = 0;
            }
            let twins = state.twins.len();
            let Some(entry) = seq.next_element_seed(Node { state: &mut *state, place: entry_place })? else {
                return Ok(Value::Array(entries));
            };
            state.place_twins(twins, || format!("[{}]", entries.len()));
            match bound {
                Some(bound) if entries.len() >= bound.entries_max => {
                    state.refuse(Refusal::TooManyEntries(bound.clone()))?;
                }
                Some(_) => {}
                None => state.weigh(ENTRY_BYTES)?,
            }
            entries.push(entry);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Self { state, place } = self;
        state.weigh::<A::Error>(OBJECT_BYTES)?;
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let mut inner = Place::Inner;
            if place == Place::Outermost {
                state.part_bytes = 0;
                inner = Place::Field;
            }
            state.weigh_text(&name)?;
            state.weigh(FIELD_BYTES)?;
            if place == Place::Outermost {
                state.field.clone_from(&name);
            }
            let twins = state.twins.len();
            let value = map.next_value_seed(Node { state: &mut *state, place: inner })?;
            state.place_twins(twins, || name.clone());
            if fields.contains_key(&name) {
                state.note_twin(&name);
            }
            fields.insert(name, value);
        }
        if place == Place::Outermost {
            state.field.clear();
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART_BYTES_MAX: usize = 1_000;

    fn parsed(text: &str) -> Result<Value, Refusal> {
        let counts =
            [CountBound { field: "ids".to_owned(), entries_max: 100_000, limit: "idsMax".to_owned() }];
        parse(text, Bounds { counts: &counts, part_bytes_max: PART_BYTES_MAX })
    }

    #[test]
    fn what_fits_is_as_serde_reads_it() {
        for text in [
            "null",
            " [1, -2, 3.5, 1e300, true, \"\\u00e9\", {}, []] ",
            r#"{"a": {"b": [{"c": null}]}, "a": 2, "ids": ["x", 1, {"ids": [1]}]}"#,
            "18446744073709551615",
        ] {
            assert_eq!(parsed(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
        for text in ["", "{", "[1,]", "{} x", "\"open"] {
            assert!(matches!(parsed(text), Err(Refusal::NotJson(_))), "{text}");
        }
    }

    #[test]
    fn fields_that_are_given_twice_are_noted() {
        let check = |text: &str, expected: &[&str]| {
            let (value, twins) =
                parse_noting_twins(text, Bounds { counts: &[], part_bytes_max: 100 }).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(twins, expected, "{text}");
        };
        check(r#"{"a": 1, "b": [{"a": 1}, {"a": 2}]}"#, &[]);
        check(r#"{"a": 1, "a": 2, "a": 3}"#, &["a"]);
        check(r#"{"b": [0, {"a": {"c": 1, "c": 2}}], "a": 1, "a": 2}"#, &["b[1].a.c", "a"]);
        check(r#"[[{"a": 1, "\u0061": 2}]]"#, &["[0][0].a"]);
    }

    #[test]
    fn what_does_not_is_refused_while_it_is_read() {
        #[track_caller]
        fn check(text: &str, field: &str, word: &str) {
            let refusal = parsed(text).unwrap_err();
            assert_eq!(refusal.field(), field, "{refusal}");
            assert!(refusal.to_string().contains(word), "{refusal}");
        }
        // None of these is whole: nothing reads as far as the end.
        let many = |start: &str, entry: &str| format!("{start}{}", entry.repeat(200_000));
        check(&many(r#"{"ids":["#, "\"\","), "ids", "100000 entries");
        check(&many(r#"{"ids":["#, "\"\","), "ids", "idsMax");
        check(&many(r#"{"ids":["#, "{},"), "ids", "parsedBytesMax");
        check(&many(r#"{"a":1,"b":["#, "0,"), "b", "parsedBytesMax");
        check(&many("[", "{},"), "", "parsedBytesMax");
        check(&many(r#"{"b":{"#, r#""c":0,"#), "b", "cellBytesMax");
        let long = "x".repeat(PART_BYTES_MAX - 1);
        check(&format!(r#"{{"a":"{long}","b":"{long}x"}}"#), "b", "cellBytesMax");
        check(&format!(r#"{{"a":["{long}","{long}"],"b":{{"c":["{long}","x"]}}}}"#), "b", "cellBytesMax");
        assert!(parsed(&format!(r#"{{"a":["{long}","{long}"]}}"#)).is_ok());
    }

    #[test]
    fn as_many_as_are_allowed_are_read() {
        let ids = format!(r#"{{"ids":[{}"0"]}}"#, "\"0\",".repeat(99_999));
        assert_eq!(parsed(&ids).unwrap()["ids"].as_array().unwrap().len(), 100_000);
    }
}
