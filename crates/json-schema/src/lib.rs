//! JSON Schema validation behind plain functions.
//!
//! The library is generic over its JSON type, so every crate that calls it compiles all of it again. Only this crate
//! calls it.

mod complexity;

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use jsonschema::JsonType;
pub use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
pub use jsonschema::paths::{Location, LocationSegment};

use crate::complexity::Complexity;

/// What one pattern of a schema from outside may take, compiled.
const PATTERN_BYTES_MAX: usize = 256 * 1024;

/// A schema, compiled once and checked against any number of values.
#[derive(Debug)]
pub struct JsonSchema {
    validator: Validator,
    /// Of a schema from outside.
    complexity: Option<Complexity>,
}

/// Why a schema from outside is not used.
#[derive(Debug)]
pub enum Refusal {
    /// It could take too much, in these words.
    TooComplex(String),
    Invalid(Box<ValidationError<'static>>),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooComplex(words) => f.write_str(words),
            Self::Invalid(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl JsonSchema {
    /// Compiles a schema of ours, in draft 2020-12.
    pub fn ours(schema: &Value) -> Result<Self, ValidationError<'static>> {
        let validator = jsonschema::draft202012::options().build(schema)?;
        Ok(Self { validator, complexity: None })
    }

    /// Compiles a schema from outside, in the draft it names. Nothing is fetched, patterns run in linear time, and a
    /// schema that could take much time, memory or stack is refused.
    pub fn untrusted(schema: &Value) -> Result<Self, Refusal> {
        let complexity = Complexity::of(schema).map_err(Refusal::TooComplex)?;
        let patterns =
            PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
        let built = jsonschema::options().offline().with_pattern_options(patterns).build(schema);
        let validator = built.map_err(|error| Refusal::Invalid(Box::new(error)))?;
        Ok(Self { validator, complexity: Some(complexity) })
    }

    /// Whether a value is nested too deeply to be checked against a schema from outside.
    pub fn is_too_deep(&self, value: &Value) -> bool {
        self.complexity.is_some_and(|complexity| complexity.is_too_deep(value))
    }

    pub fn is_valid(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// What is wrong with a value, up to so many errors; nothing if it is valid.
    pub fn errors<'v>(&'v self, value: &'v Value, count_max: usize) -> Vec<ValidationError<'v>> {
        self.validator.iter_errors(value).take(count_max).collect()
    }
}
