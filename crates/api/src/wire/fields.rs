//! Reading the bodies of rows and cells, where values stay raw text.

use std::borrow::Cow;
use std::fmt;

use rowmill_app::{Fields, FieldsRead, Text, too_many_fields};
use rowmill_model::Offence;
use rowmill_model::limits::OFFENCES_MAX;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::Error;
use crate::payload::not_json;

/// The body of an insert, in any of its three forms. Rows stay text until they are laid out, one by one.
#[derive(Debug)]
pub(crate) enum Entries<'a> {
    One(&'a str),
    /// With the name of the array that holds them, `""` if the body is that array.
    Many(&'static str, List<'a>),
}

/// The entries of an array as text, as many as there may be, and how many there are.
#[derive(Debug, Default)]
pub(crate) struct List<'a> {
    pub(crate) entries: Vec<&'a str>,
    pub(crate) count: usize,
}

/// Reads rows: an object, an array of objects, or `{"rows": [objects]}` with that lone key. Keeps `most` of them.
pub(crate) fn entries(text: &str, most: usize) -> Result<Entries<'_>, Error> {
    if let Some(list) = array(text.trim_start(), most)? {
        return Ok(Entries::Many("", list));
    }
    let mut fields = Fields::default();
    if fields.read(text).map_err(|error| not_json(&error))? == FieldsRead::NotAnObject {
        return Err(Error::offence("", "must be a row, an array of rows, or {\"rows\": [rows]}"));
    }
    // An array under the lone key `rows` holds rows; anything else there is the value of a field.
    match fields.0.as_slice() {
        [(name, raw)] if name == "rows" => {
            Ok(array(raw, most)?.map_or(Entries::One(text), |list| Entries::Many("rows", list)))
        }
        _ => Ok(Entries::One(text)),
    }
}

/// Reads one row.
pub(crate) fn one(text: &str) -> Result<Fields<'_>, Error> {
    object(text)?.ok_or_else(|| Error::offence("", "must be an object that maps field names to values"))
}

/// A field that holds an array. `None` if it holds none.
pub(crate) fn array(raw: &str, most: usize) -> Result<Option<List<'_>>, Error> {
    if !raw.starts_with('[') {
        return Ok(None);
    }
    let mut deserializer = serde_json::Deserializer::from_str(raw);
    let list = Splitter { most }.deserialize(&mut deserializer);
    let list = list.and_then(|list| deserializer.end().map(|()| list));
    list.map(Some).map_err(|error| not_json(&error))
}

/// A field that holds an object. `None` if it holds none.
pub(crate) fn object(raw: &str) -> Result<Option<Fields<'_>>, Error> {
    let mut fields = Fields::default();
    match fields.read(raw).map_err(|error| not_json(&error))? {
        FieldsRead::All => Ok(Some(fields)),
        FieldsRead::TooMany => Err(rowmill_app::Error::limit("", too_many_fields()).into()),
        FieldsRead::NotAnObject => Ok(None),
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
        if offences.len() >= OFFENCES_MAX {
            return;
        }
        if !known.contains(&name.as_ref()) {
            offences
                .push(Offence::new(at(name), format!("is not a known field; known: {}", known.join(", "))));
        } else if fields.0.iter().take(index).any(|(earlier, _)| earlier == name) {
            offences.push(Offence::new(at(name), "is given twice"));
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

/// Splits an array into the texts of its entries. Those beyond the most are only counted.
struct Splitter {
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Splitter {
    type Value = List<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<List<'de>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Splitter {
    type Value = List<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<'de>, A::Error> {
        let mut entries = Vec::new();
        while entries.len() < self.most {
            match seq.next_element::<&RawValue>()? {
                Some(entry) => entries.push(entry.get()),
                None => return Ok(List { count: entries.len(), entries }),
            }
        }
        let mut count = entries.len();
        while seq.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(List { entries, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_no_more_than_the_most() {
        let list = |text| array(text, 2).unwrap().map(|list| (list.entries, list.count));
        assert_eq!(list("[]"), Some((vec![], 0)));
        assert_eq!(list("[ {\"a\": 1} ,2]"), Some((vec!["{\"a\": 1}", "2"], 2)));
        assert_eq!(list("[1,[2],{},4]"), Some((vec!["1", "[2]"], 4)));
        assert_eq!(list("{}"), None);
        for broken in ["[1,2,3", "[1 2]", "[1,2,]", "[1]x"] {
            assert_eq!(array(broken, 2).unwrap_err().code(), "invalid_json", "{broken}");
        }
    }

    #[test]
    fn rows_come_in_three_forms() {
        let check = |text: &str, expected: &str| {
            let told = match entries(text, 3) {
                Ok(Entries::One(row)) => format!("one {row}"),
                Ok(Entries::Many(name, list)) => format!("{name} {} {}", list.count, list.entries.join(" ")),
                Err(error) => error.code().to_owned(),
            };
            assert_eq!(told, expected, "{text}");
        };
        check(r#" [{"a":1},{}]"#, r#" 2 {"a":1} {}"#);
        check(r#"{"rows":[{"a":1}]}"#, r#"rows 1 {"a":1}"#);
        check(r#"{"rows":[],"a":1}"#, r#"one {"rows":[],"a":1}"#);
        check(r#"{"rows":1}"#, r#"one {"rows":1}"#);
        check("{}", "one {}");
        check("1", "invalid_request");
        check("{", "invalid_json");
        check("[1,2,3,4]", " 4 1 2 3");
    }
}
