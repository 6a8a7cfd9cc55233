//! How an answer is scored against the one that was expected.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::value::{MatchCase, Value, fold, matches};

/// How an answer is compared with the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scoring {
    /// The same value. Leading and trailing spaces do not count.
    Exact,
    /// The answer contains the expected text. Letter case does not count.
    Contains,
    /// The share of the expected object's fields that the answer has with the same value. Letter case does not count.
    Json,
    /// A model says whether the answer means the same.
    Judge,
}

/// What an answer is worth, from 0 to 1. Both are raw JSON. `None` where there is nothing to compare with, or where a
/// model must judge.
pub fn score(scoring: Scoring, expected: &str, answer: &str, fields: &[String]) -> Option<f64> {
    if Value::parse(expected).is_empty() {
        return None;
    }
    let (expected, answer) = (unwrapped(expected), unwrapped(answer));
    match scoring {
        Scoring::Exact => Some(f64::from(is_same(&expected, &answer))),
        Scoring::Contains => {
            let (expected, answer) = (Value::parse(&expected).text(), Value::parse(&answer).text());
            Some(f64::from(fold(&answer).contains(fold(expected.trim()).as_ref())))
        }
        Scoring::Json => match (object(&expected), object(&answer)) {
            (Some(expected), Some(answer)) => share(&expected, &answer, fields),
            (Some(_), None) => Some(0.0),
            (None, _) => Some(f64::from(is_same(&expected, &answer))),
        },
        Scoring::Judge => None,
    }
}

/// Text that holds an object or an array stands for it: so people write them into cells.
fn unwrapped(raw: &str) -> Cow<'_, str> {
    let Value::Text(text) = Value::parse(raw) else { return Cow::Borrowed(raw) };
    let text = text.trim();
    let is_json = text.starts_with(['{', '[']) && serde_json::from_str::<Json>(text).is_ok();
    if is_json { Cow::Owned(text.to_owned()) } else { Cow::Borrowed(raw) }
}

fn is_same(expected: &str, answer: &str) -> bool {
    matches(expected, answer, MatchCase::Counts)
        || match (Value::parse(expected), Value::parse(answer)) {
            (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => false,
            (expected, answer) => expected.text().trim() == answer.text().trim(),
        }
}

fn object(raw: &str) -> Option<Map<String, Json>> {
    serde_json::from_str(raw).ok()
}

/// The share of the expected fields that are the same. Those that are named count, else all of them.
fn share(expected: &Map<String, Json>, answer: &Map<String, Json>, fields: &[String]) -> Option<f64> {
    let is_meant = |name: &String| fields.is_empty() || fields.contains(name);
    let (mut hits, mut count) = (0_u32, 0_u32);
    for (name, expected) in expected.iter().filter(|(name, _)| is_meant(name)) {
        let (expected, answer) = (expected.to_string(), answer.get(name).unwrap_or(&Json::Null).to_string());
        let both_empty = Value::parse(&expected).is_empty() && Value::parse(&answer).is_empty();
        count += 1;
        hits += u32::from(both_empty || matches(&expected, &answer, MatchCase::Ignored));
    }
    (count > 0).then(|| f64::from(hits) / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_scored() {
        use Scoring::{Contains, Exact, Json, Judge};
        for (scoring, expected, answer, worth) in [
            (Exact, r#""Ulm ""#, r#""Ulm""#, Some(1.0)),
            (Exact, r#""Ulm""#, r#""ulm""#, Some(0.0)),
            (Exact, "36", r#""36""#, Some(1.0)),
            (Exact, r#"{"a":1,"b":2}"#, r#"{"b":2.0,"a":1}"#, Some(1.0)),
            (Exact, r#""{\"a\": 1}""#, r#"{"a":1}"#, Some(1.0)),
            (Exact, r#""{\"a\": 1}""#, r#"{"a":2}"#, Some(0.0)),
            (Exact, r#""{no json""#, r#""{no json""#, Some(1.0)),
            (Exact, "null", r#""x""#, None),
            (Exact, r#""""#, r#""x""#, None),
            (Exact, r#""x""#, "null", Some(0.0)),
            (Contains, r#"" Ulm""#, r#""It is in ULM, Germany.""#, Some(1.0)),
            (Contains, r#""Bath""#, r#""It is in ULM, Germany.""#, Some(0.0)),
            (Contains, "36", r#"{"age":36}"#, Some(1.0)),
            (Json, r#"{"city":"Ulm","age":36}"#, r#"{"city":"ulm","age":"36","more":1}"#, Some(1.0)),
            (Json, r#"{"city":"Ulm","age":36}"#, r#"{"city":"Bath","age":36}"#, Some(0.5)),
            (Json, r#"{"city":"Ulm","none":null}"#, r#"{"city":"Ulm"}"#, Some(1.0)),
            (Json, r#"{"city":"Ulm"}"#, r#""Ulm""#, Some(0.0)),
            (Json, r#""Ulm""#, r#""Ulm""#, Some(1.0)),
            (Judge, r#""Ulm""#, r#""Ulm""#, None),
        ] {
            assert_eq!(score(scoring, expected, answer, &[]), worth, "{scoring:?} {expected} {answer}");
        }
        let of_age = |answer: &str| score(Json, r#"{"city":"Ulm","age":36}"#, answer, &["age".to_owned()]);
        assert_eq!((of_age(r#"{"age":36}"#), of_age("{}")), (Some(1.0), Some(0.0)));
        assert_eq!(score(Json, r#"{"city":"Ulm"}"#, "{}", &["age".to_owned()]), None);
    }
}
