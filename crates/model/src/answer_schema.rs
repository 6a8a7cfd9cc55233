//! The shape a column asks of a model's answers.

use rowmill_json_schema::{JsonSchema, Refusal, ValidationError};
use serde_json::Value;

/// How many problems are told; the rest mostly follow from the first.
const PROBLEMS_MAX: usize = 10;
const PROBLEM_CHARS_MAX: usize = 300;

/// A JSON Schema, read once and checked against any number of answers.
#[derive(Debug)]
pub struct AnswerSchema(JsonSchema);

impl AnswerSchema {
    /// Reads a schema; the error says why it cannot be used.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        JsonSchema::untrusted(schema).map(Self).map_err(|refusal| match refusal {
            Refusal::Invalid(error) => told(&error, "the schema"),
            Refusal::TooComplex(words) => format!("the schema {words}"),
        })
    }

    /// What is wrong with an answer; nothing if it is right.
    pub fn problems(&self, value: &Value) -> Vec<String> {
        if self.0.is_too_deep(value) {
            return vec!["the answer is nested too deeply for a schema that refers to itself".to_owned()];
        }
        self.0.errors(value, PROBLEMS_MAX).iter().map(|error| told(error, "the answer")).collect()
    }
}

/// A problem with its place, and what the place is called where it is the whole.
fn told(error: &ValidationError<'_>, whole: &str) -> String {
    let place = error.instance_path().to_string();
    let place = if place.is_empty() { whole } else { &place };
    format!("{place}: {error}").chars().take(PROBLEM_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_reaches_nowhere() {
        for reference in ["http://127.0.0.1:1/x.json", "file:///etc/passwd", "https://example.com/x"] {
            assert!(AnswerSchema::compile(&json!({"$ref": reference})).is_err(), "{reference}");
        }
        // Backtracking would take this pattern forever.
        let slow = AnswerSchema::compile(&json!({"pattern": "^(a+)+$"})).unwrap();
        assert_eq!(slow.problems(&json!(format!("{}!", "a".repeat(50_000)))).len(), 1);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let error = AnswerSchema::compile(&json!({"properties": {"n": {"type": 5}}})).unwrap_err();
        assert!(error.starts_with("/properties/n/type: 5 "), "{error}");
    }
}
