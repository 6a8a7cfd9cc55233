//! Reading the bodies of rows and cells, where values stay raw text.

use std::borrow::Cow;
use std::fmt;

use rowmill_app::{Fields, RowEntry};
use rowmill_model::Offence;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use crate::endpoint::not_json;
use crate::error::Error;

/// The body of an insert, in any of its three forms.
#[derive(Debug)]
pub(crate) enum Entries<'a> {
    One(Fields<'a>),
    /// With the name of the array that holds them, `""` if the body is that array.
    Many(&'static str, Vec<RowEntry<'a>>),
}

/// Reads rows: an object, an array of objects, or `{"rows": [objects]}` with that lone key.
pub(crate) fn entries(text: &str) -> Result<Entries<'_>, Error> {
    if text.trim_start().starts_with('[') {
        return Ok(Entries::Many("", parse::<Array<'_>>(text)?.0));
    }
    match parse::<Entry<'_>>(text)?.0 {
        RowEntry::NotAnObject => {
            Err(Error::offence("", "must be a row, an array of rows, or {\"rows\": [rows]}"))
        }
        RowEntry::Fields(fields) => match rows_of(&fields)? {
            Some(rows) => Ok(Entries::Many("rows", rows)),
            None => Ok(Entries::One(fields)),
        },
    }
}

/// Reads one row.
pub(crate) fn one(text: &str) -> Result<Fields<'_>, Error> {
    match parse::<Entry<'_>>(text)?.0 {
        RowEntry::Fields(fields) => Ok(fields),
        RowEntry::NotAnObject => Err(Error::offence("", "must be an object of field names to values")),
    }
}

/// A field that holds an array of objects. `None` if it holds no array.
pub(crate) fn array(raw: &str) -> Result<Option<Vec<RowEntry<'_>>>, Error> {
    if raw.starts_with('[') { Ok(Some(parse::<Array<'_>>(raw)?.0)) } else { Ok(None) }
}

/// A field that holds an object.
pub(crate) fn object(raw: &str) -> Result<Option<Fields<'_>>, Error> {
    match parse::<Entry<'_>>(raw)?.0 {
        RowEntry::Fields(fields) => Ok(Some(fields)),
        RowEntry::NotAnObject => Ok(None),
    }
}

/// A field that holds text.
pub(crate) fn string(raw: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw).ok().map(|text| text.0)
}

/// Checks that an object has these fields, each once, and no others.
pub(crate) fn check_names(fields: &Fields<'_>, known: &[&str], path: &str, offences: &mut Vec<Offence>) {
    let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (index, (name, _)) in fields.0.iter().enumerate() {
        if !known.contains(&name.as_ref()) {
            offences.push(Offence::new(
                at(name),
                format!("is not a known field; known are {}", known.join(", ")),
            ));
        } else if fields.0.iter().take(index).any(|(earlier, _)| earlier == name) {
            offences.push(Offence::new(at(name), "is sent twice"));
        }
    }
    for name in known {
        if get(fields, name).is_none() {
            offences.push(Offence::new(at(name), "is required"));
        }
    }
}

pub(crate) fn get<'a>(fields: &Fields<'a>, name: &str) -> Option<&'a str> {
    fields.0.iter().find(|(field, _)| field == name).map(|(_, value)| *value)
}

/// An array under the lone key `rows` holds rows; anything else there is the value of a field.
fn rows_of<'a>(fields: &Fields<'a>) -> Result<Option<Vec<RowEntry<'a>>>, Error> {
    match fields.0.as_slice() {
        [(name, raw)] if name == "rows" => array(raw),
        _ => Ok(None),
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| not_json(&error))
}

struct Array<'a>(Vec<RowEntry<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Array<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::<Entry<'a>>::deserialize(deserializer)?;
        Ok(Self(entries.into_iter().map(|entry| entry.0).collect()))
    }
}

struct Entry<'a>(RowEntry<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Entry<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor).map(Self)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = RowEntry<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::with_capacity(16);
        while let Some((Text(name), value)) = map.next_entry::<Text<'de>, &RawValue>()? {
            fields.push((name, value.get()));
        }
        Ok(RowEntry::Fields(Fields(fields)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(RowEntry::NotAnObject)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(RowEntry::NotAnObject)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(RowEntry::NotAnObject)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(RowEntry::NotAnObject)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(RowEntry::NotAnObject)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(RowEntry::NotAnObject)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(RowEntry::NotAnObject)
    }
}

/// Text that borrows where it can: serde's own `Cow` always copies.
struct Text<'a>(Cow<'a, str>);

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
