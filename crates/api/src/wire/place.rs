//! Where something is to stand among its like.

use std::borrow::Cow;

use rowmill_model::corrections::place_of;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A place as it is sent: any whole number from 0, because one beyond the end is the end.
pub(crate) struct AnyPlace;

impl JsonSchema for AnyPlace {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Place".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer",
            "minimum": 0,
            "maximum": f64::MAX,
            "x-document": { "maximum": null },
        })
    }
}

/// For a field that may be left out, but not null.
pub(crate) fn any_place<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let place = place_of(&Value::deserialize(from)?);
    let place = place.ok_or_else(|| D::Error::custom("order must be a whole number from 0"))?;
    Ok(Some(u32::try_from(place).unwrap_or(u32::MAX)))
}
