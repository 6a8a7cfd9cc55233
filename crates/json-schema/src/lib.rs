//! JSON Schema validation behind plain functions.
//!
//! The library is generic over its JSON type, so every crate that calls it compiles all of it again. Only this crate
//! calls it.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use jsonschema::JsonType;
pub use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
pub use jsonschema::paths::{Location, LocationSegment};

/// A schema, compiled once and checked against any number of values.
#[derive(Debug)]
pub struct JsonSchema(Validator);

impl JsonSchema {
    /// Compiles a schema of ours, in draft 2020-12.
    pub fn ours(schema: &Value) -> Result<Self, ValidationError<'static>> {
        jsonschema::draft202012::options().build(schema).map(Self)
    }

    /// Compiles a schema from outside, in the draft it names. Nothing is fetched, and patterns run in linear time.
    pub fn untrusted(schema: &Value) -> Result<Self, ValidationError<'static>> {
        jsonschema::options().offline().with_pattern_options(PatternOptions::regex()).build(schema).map(Self)
    }

    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    /// What is wrong with a value, up to so many errors; nothing if it is valid.
    pub fn errors<'v>(&'v self, value: &'v Value, count_max: usize) -> Vec<ValidationError<'v>> {
        self.0.iter_errors(value).take(count_max).collect()
    }
}
