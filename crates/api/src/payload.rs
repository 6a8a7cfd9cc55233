//! How an operation takes its body: JSON, raw text, a streamed file, or nothing.

use std::marker::PhantomData;

use axum::body::Body;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;

/// How an operation takes its body.
pub trait Payload: Sized + Send {
    type Schema: JsonSchema;
    const PRESENCE: Presence;
    /// Whether the kit checks the body against the schema before [`Payload::accept`].
    const IS_CHECKED: bool;

    /// What it may be sent as.
    const MEDIA: &'static [&'static str] = &["application/json"];

    /// The body where it is not read beforehand: [`Presence::Streamed`].
    fn stream(_body: Body) -> Option<Self> {
        None
    }

    /// The body where it is read as it is: [`Presence::Whole`].
    fn whole(_bytes: Vec<u8>) -> Option<Self> {
        None
    }

    /// The body. `text` has passed the guard and, if [`Payload::IS_CHECKED`], the check.
    fn accept(text: String) -> Result<Self, Error>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// A body is not read.
    None,
    Optional,
    Required,
    /// Handed to the operation as it comes, whatever its size and type.
    Streamed,
    /// Read within the limits, and handed to the operation whatever its type.
    Whole,
}

/// No parameters, or no body.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// A file, read by the operation itself.
#[derive(Debug)]
pub struct File(pub Body);

impl Payload for File {
    type Schema = FileBytes;
    const PRESENCE: Presence = Presence::Streamed;
    const IS_CHECKED: bool = false;
    const MEDIA: &'static [&'static str] = &["text/csv", "application/x-ndjson"];

    fn stream(body: Body) -> Option<Self> {
        Some(Self(body))
    }

    fn accept(_text: String) -> Result<Self, Error> {
        Ok(Self(Body::empty()))
    }
}

/// A file that is sent.
#[derive(Debug, Serialize)]
pub struct FileBytes(Vec<u8>);

impl JsonSchema for FileBytes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FileBytes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "binary" })
    }
}

/// The text of a file that is answered.
#[derive(Debug, Serialize)]
pub struct FileText(String);

impl JsonSchema for FileText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FileText".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "maxLength": 4_294_967_295_u32, "pattern": r"^[\s\S]*$" })
    }
}

/// The bytes of an image that is answered.
#[derive(Debug, Serialize)]
pub(crate) struct ImageBytes(());

impl JsonSchema for ImageBytes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ImageBytes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "binary", "maxLength": 4_294_967_295_u32 })
    }
}

/// A body of any type, read by the operation itself. `T` documents it.
#[derive(Debug)]
pub(crate) struct Whole<T> {
    pub(crate) bytes: Vec<u8>,
    documented: PhantomData<fn() -> T>,
}

/// What the body of a [`Whole`] is documented as.
pub(crate) trait Documented: JsonSchema + Send {
    const MEDIA: &'static [&'static str] = &["application/json"];
}

impl<T: Documented> Payload for Whole<T> {
    type Schema = T;
    const PRESENCE: Presence = Presence::Whole;
    const IS_CHECKED: bool = false;
    const MEDIA: &'static [&'static str] = T::MEDIA;

    fn whole(bytes: Vec<u8>) -> Option<Self> {
        Some(Self { bytes, documented: PhantomData })
    }

    fn accept(text: String) -> Result<Self, Error> {
        Ok(Self { bytes: text.into_bytes(), documented: PhantomData })
    }
}

/// A JSON body, checked against its schema.
#[derive(Debug, Clone)]
pub struct Json<T>(pub T);

/// A JSON body that may be left out, which is the default.
#[derive(Debug, Clone)]
pub struct Optional<T>(pub T);

/// A body parsed by the endpoint itself, where speed or raw text matters; `T` documents it. Guarded
/// (UTF-8, nesting, U+0000) but not yet known to be JSON: see [`not_json`].
#[derive(Debug, Clone)]
pub struct Raw<T> {
    pub text: String,
    documented: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + JsonSchema + Send> Payload for Json<T> {
    type Schema = T;
    const PRESENCE: Presence = Presence::Required;
    const IS_CHECKED: bool = true;

    fn accept(text: String) -> Result<Self, Error> {
        typed(&text).map(Self)
    }
}

impl<T: DeserializeOwned + JsonSchema + Default + Send> Payload for Optional<T> {
    type Schema = T;
    const PRESENCE: Presence = Presence::Optional;
    const IS_CHECKED: bool = true;

    fn accept(text: String) -> Result<Self, Error> {
        if text.is_empty() { Ok(Self(T::default())) } else { typed(&text).map(Self) }
    }
}

impl<T: JsonSchema + Send> Payload for Raw<T> {
    type Schema = T;
    const PRESENCE: Presence = Presence::Required;
    const IS_CHECKED: bool = false;

    fn accept(text: String) -> Result<Self, Error> {
        Ok(Self { text, documented: PhantomData })
    }
}

impl Payload for Nothing {
    type Schema = Self;
    const PRESENCE: Presence = Presence::None;
    const IS_CHECKED: bool = false;

    fn accept(_text: String) -> Result<Self, Error> {
        Ok(Self {})
    }
}

/// From the text where possible, so that raw values in `T` keep their digits.
fn typed<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).or_else(|error| {
        // JSON Schema counts 1.0 as an integer, serde does not.
        let value = integral(serde_json::from_str(text).unwrap_or_default());
        serde_json::from_value(value).map_err(|_| Error::offence("", error.to_string()))
    })
}

fn integral(value: Value) -> Value {
    match value {
        Value::Array(entries) => entries.into_iter().map(integral).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, integral(value))).collect(),
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "whole and exact within these bounds")]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                Value::from(float as i64)
            }
            _ => Value::Number(number),
        },
        other => other,
    }
}

/// Text that is not JSON, as the failure of a request.
pub fn not_json(error: &serde_json::Error) -> Error {
    Error::NotJson(format!("The body is not valid JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_floats_are_integers() {
        assert_eq!(integral(json!({ "a": [1.0, 1.5, -2.0, 1e300] })), json!({ "a": [1, 1.5, -2, 1e300] }));
        let Json(number) = Json::<u32>::accept("7.0".to_owned()).unwrap();
        assert_eq!(number, 7);
    }
}
