//! Reading what is sent to an inbound hook: JSON or a form, as the JSON text of rows.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use rowmill_model::json_hazards::{JsonHazard, json_hazards};
use rowmill_model::limits::ROW_FIELDS_MAX;
use rowmill_model::{Limits, Offence};
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use url::form_urlencoded;

use crate::error::{Error, Result};
use crate::multipart;
use crate::rows::layout::too_many_fields;

/// What was sent, as JSON text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HookBody {
    /// An object, or an array.
    pub(crate) text: String,
    /// Names of files in a form, which are not taken.
    pub(crate) files: Vec<String>,
}

/// The rows in a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HookRows<'a> {
    One(&'a str),
    Many(Vec<&'a str>),
}

/// The body as JSON text; `None` if there is nothing in it.
pub(crate) fn read(content_type: Option<&str>, body: &[u8], limits: &Limits) -> Result<Option<HookBody>> {
    let sent = content_type.unwrap_or_default();
    let essence = sent.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "application/x-www-form-urlencoded" => {
            let pairs = form_urlencoded::parse(body).map(|(name, value)| (name, Some(value)));
            form(pairs.map(Ok))
        }
        "multipart/form-data" => {
            let boundary = multipart::boundary(sent)
                .ok_or_else(|| offence("Content-Type", "must name the boundary of the form's parts"))?;
            form(multipart::parts(body, &boundary).map(|part| {
                let part = part.map_err(|message| offence("", message))?;
                Ok((part.name.into(), part.text))
            }))
        }
        "" | "application/json" | "text/json" | "text/plain" => json(body, limits),
        other if other.ends_with("+json") => json(body, limits),
        _ => Err(Error::UnreadableType(
            "The Content-Type must be application/json, application/x-www-form-urlencoded or multipart/form-data"
                .to_owned(),
        )),
    }
}

/// Splits JSON text into its rows. `most` is how many there may be.
pub(crate) fn rows(text: &str, most: u32) -> Result<HookRows<'_>> {
    let text = text.trim();
    if text.starts_with('{') {
        return Ok(HookRows::One(text));
    }
    if !text.starts_with('[') {
        return Err(offence("", "must be an object, an array of objects, or a form"));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let splitter = Splitter { most: usize::try_from(most).unwrap_or(usize::MAX) };
    let (rows, count) = deserializer
        .deserialize_seq(splitter)
        .and_then(|read| deserializer.end().map(|()| read))
        .map_err(|error| not_json(&error))?;
    if count > rows.len() {
        let message = format!("has {count} rows; the limit is {most} per delivery (insertRowsMax)");
        return Err(Error::limit("", message));
    }
    Ok(HookRows::Many(rows))
}

fn json(body: &[u8], limits: &Limits) -> Result<Option<HookBody>> {
    let text = guarded(body, limits)?;
    // Some senders put a byte order mark first.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(None);
    }
    // Checked as a whole, so that what is said does not depend on where the fault is.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| not_json(&error))?;
    Ok(Some(HookBody { text: text.to_owned(), files: Vec::new() }))
}

/// The body as text, if nothing in it is forbidden.
pub(crate) fn guarded<'a>(body: &'a [u8], limits: &Limits) -> Result<&'a str> {
    let text = std::str::from_utf8(body)
        .map_err(|error| offence("", format!("is not valid UTF-8 (at byte {})", error.valid_up_to())))?;
    let hazard = text
        .contains('\0')
        .then_some(JsonHazard::Nul)
        .or_else(|| json_hazards(text, limits.nesting_max).next());
    match hazard {
        None => Ok(text),
        Some(JsonHazard::TooDeep) => {
            let most = limits.nesting_max;
            Err(Error::limit("", format!("is nested deeper than the limit of {most} levels (nestingMax)")))
        }
        Some(JsonHazard::Nul) => Err(offence("", "must not contain the character U+0000 in any string")),
        Some(JsonHazard::LoneSurrogate) => Err(offence("", "must not contain an unpaired surrogate")),
    }
}

/// A field of a form: its text, or none for a file.
type FormField<'a> = (Cow<'a, str>, Option<Cow<'a, str>>);

/// The fields of a form as one JSON object. A field that is sent several times becomes an array.
fn form<'a>(pairs: impl Iterator<Item = Result<FormField<'a>>>) -> Result<Option<HookBody>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    // Each name with the JSON of its values, and how many there are.
    let mut fields: Vec<(String, String, usize)> = Vec::new();
    let mut files = Vec::new();
    for pair in pairs {
        let (name, value) = pair?;
        let Some(value) = value else {
            if files.len() < ROW_FIELDS_MAX {
                files.push(name.into_owned());
            }
            continue;
        };
        if value.contains('\0') || name.contains('\0') {
            return Err(offence(name.replace('\0', ""), "must not contain the character U+0000"));
        }
        let value = serde_json::Value::from(value.as_ref()).to_string();
        if let Some((_, values, count)) = places.get(name.as_ref()).and_then(|place| fields.get_mut(*place)) {
            values.push(',');
            values.push_str(&value);
            *count += 1;
            continue;
        }
        if fields.len() >= ROW_FIELDS_MAX {
            return Err(Error::limit("", too_many_fields()));
        }
        places.insert(name.clone().into_owned(), fields.len());
        fields.push((name.into_owned(), value, 1));
    }
    if fields.is_empty() {
        return Ok(None);
    }
    let field = |(name, values, count): &(String, String, usize)| {
        let name = serde_json::Value::from(name.as_str());
        if *count == 1 { format!("{name}:{values}") } else { format!("{name}:[{values}]") }
    };
    let text = format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","));
    Ok(Some(HookBody { text, files }))
}

fn offence(path: impl Into<String>, message: impl Into<String>) -> Error {
    Error::invalid(vec![Offence::new(path, message)])
}

fn not_json(error: &serde_json::Error) -> Error {
    offence("", format!("is not valid JSON: {error}"))
}

/// Splits an array into the texts of its entries. Those beyond the most are only counted.
struct Splitter {
    most: usize,
}

impl<'de> Visitor<'de> for Splitter {
    type Value = (Vec<&'de str>, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while entries.len() < self.most {
            let Some(entry) = seq.next_element::<&RawValue>()? else {
                let count = entries.len();
                return Ok((entries, count));
            };
            entries.push(entry.get());
        }
        let mut count = entries.len();
        while seq.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok((entries, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a body, "nothing", or the message of its refusal.
    fn check(content_type: &str, body: &str, expected: &str) {
        let content_type = Some(content_type).filter(|text| !text.is_empty());
        let told = match read(content_type, body.as_bytes(), &Limits::default()) {
            Ok(Some(body)) => body.text,
            Ok(None) => "nothing".to_owned(),
            Err(Error::Invalid { details, .. } | Error::LimitExceeded { details, .. }) => {
                format!("{} {}", details[0].path, details[0].message)
            }
            Err(other) => other.to_string(),
        };
        assert!(told.starts_with(expected), "{told}\n{expected}");
    }

    #[test]
    fn json_is_taken_under_many_names() {
        for content_type in
            ["", "application/json; charset=utf-8", "text/plain", "application/cloudevents+json"]
        {
            check(content_type, r#"{"a":1}"#, r#"{"a":1}"#);
        }
        check("", "\u{feff}[1]", "[1]");
        check("", " \n", "nothing");
        check("", "{", " is not valid JSON");
        check("", "{\"a\":\"\\u0000\"}", " must not contain the character U+0000");
        check("", &"[".repeat(100), " is nested deeper");
        check("image/png", "x", "The Content-Type must be application/json");
    }

    #[test]
    fn forms_become_objects() {
        let form = "application/x-www-form-urlencoded";
        check(
            form,
            "Name=Ada+L&Tag=a&Tag=%22b%22&Empty=",
            r#"{"Name":"Ada L","Tag":["a","\"b\""],"Empty":""}"#,
        );
        check(form, "", "nothing");
        check(form, "a=%00", "a must not contain");
        let many = (0..=ROW_FIELDS_MAX).map(|number| format!("f{number}=1")).collect::<Vec<_>>().join("&");
        check(form, &many, " has more than");
        let parts = "--x\r\nContent-Disposition: form-data; name=\"Name\"\r\n\r\nAda\r\n--x\r\n\
                     Content-Disposition: form-data; name=\"cv\"; filename=\"a.pdf\"\r\n\r\n%PDF\r\n--x--\r\n";
        check("multipart/form-data; boundary=x", parts, r#"{"Name":"Ada"}"#);
        let read = read(Some("multipart/form-data; boundary=\"x\""), parts.as_bytes(), &Limits::default());
        assert_eq!(read.unwrap().unwrap().files, ["cv"]);
        check("multipart/form-data", parts, "Content-Type must name the boundary");
        check("multipart/form-data; boundary=y", parts, " is not a multipart form");
    }

    #[test]
    fn rows_are_split() {
        assert_eq!(rows(" {\"a\":1} ", 2).unwrap(), HookRows::One("{\"a\":1}"));
        assert_eq!(rows("[{},{\"a\":1}]", 2).unwrap(), HookRows::Many(vec!["{}", "{\"a\":1}"]));
        assert_eq!(rows("[]", 2).unwrap(), HookRows::Many(Vec::new()));
        assert!(rows("[1,2,3]", 2).is_err());
        assert!(rows("7", 2).is_err());
    }
}
