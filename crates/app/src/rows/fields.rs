//! Reading the fields of a row body, where values stay raw text.
//!
//! A batch is read row by row into one list that is used again, so what a body takes beside its text does not
//! grow with the number of its rows or fields.

use std::borrow::Cow;
use std::fmt;

use rowmill_model::limits::ROW_FIELDS_MAX;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

/// The fields of a row body as they were sent: a name and the raw JSON text of its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields<'a>(pub Vec<(Cow<'a, str>, &'a str)>);

/// What reading the fields of a text came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldsRead {
    /// An object, all of whose fields were read.
    All,
    /// An object of more than [`ROW_FIELDS_MAX`] fields, of which only the first were kept.
    TooMany,
    NotAnObject,
}

impl<'a> Fields<'a> {
    /// Reads the fields of an object in place of those there were.
    pub fn read(&mut self, text: &'a str) -> Result<FieldsRead, serde_json::Error> {
        self.0.clear();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let read = Reader(&mut self.0).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(read)
    }
}

/// Text that borrows where it can: serde's own `Cow` always copies.
#[derive(Debug)]
pub struct Text<'a>(pub Cow<'a, str>);

struct Reader<'f, 'a>(&'f mut Vec<(Cow<'a, str>, &'a str)>);

impl<'de> DeserializeSeed<'de> for Reader<'_, 'de> {
    type Value = FieldsRead;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<FieldsRead, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_, 'de> {
    type Value = FieldsRead;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FieldsRead, A::Error> {
        while let Some((Text(name), value)) = map.next_entry::<Text<'de>, &RawValue>()? {
            if self.0.len() == ROW_FIELDS_MAX {
                // The rest is only passed over, to know whether it is JSON.
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(FieldsRead::TooMany);
            }
            self.0.push((name, value.get()));
        }
        Ok(FieldsRead::All)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<FieldsRead, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FieldsRead::NotAnObject)
    }

    fn visit_unit<E: de::Error>(self) -> Result<FieldsRead, E> {
        Ok(FieldsRead::NotAnObject)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<FieldsRead, E> {
        Ok(FieldsRead::NotAnObject)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<FieldsRead, E> {
        Ok(FieldsRead::NotAnObject)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<FieldsRead, E> {
        Ok(FieldsRead::NotAnObject)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<FieldsRead, E> {
        Ok(FieldsRead::NotAnObject)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<FieldsRead, E> {
        Ok(FieldsRead::NotAnObject)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_raw_and_not_without_end() {
        let mut fields = Fields::default();
        assert_eq!(fields.read(r#"{"a": 1.0, "b\u0041": [1, {}]}"#).unwrap(), FieldsRead::All);
        assert_eq!(fields, Fields(vec![("a".into(), "1.0"), ("bA".into(), "[1, {}]")]));
        for other in ["[{}]", "null", "true", "-1", "1", "1.5", "\"x\""] {
            assert_eq!(fields.read(other).unwrap(), FieldsRead::NotAnObject, "{other}");
        }
        for broken in ["", "{", "{}x", "{\"a\":}", "[1,]", "{\"a\":1,}"] {
            assert!(fields.read(broken).is_err(), "{broken}");
        }
        let many = |count: usize, end: &str| format!("{{\"a\":1{}{end}", ",\"a\":1".repeat(count - 1));
        let (fits, bursts) = (many(ROW_FIELDS_MAX, "}"), many(3 * ROW_FIELDS_MAX, "}"));
        let mut fields = Fields::default();
        assert_eq!(fields.read(&fits).unwrap(), FieldsRead::All);
        assert_eq!(fields.read(&bursts).unwrap(), FieldsRead::TooMany);
        assert_eq!(fields.0.len(), ROW_FIELDS_MAX);
        assert!(Fields::default().read(&many(3 * ROW_FIELDS_MAX, "")).is_err());
    }
}
