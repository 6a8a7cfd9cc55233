//! The answer of a research: its shape, how it is read, and which of its sources are true.

use std::sync::Arc;

use rowmill_model::AnswerSchema;
use rowmill_model::value::member;
use rowmill_providers::llm::read_json;
use serde_json::{Map, Value as Json, json};

use super::super::answer_schemas;
use super::transcript::Transcript;

/// What a model found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    /// Raw JSON; none if nothing was found.
    pub(super) value: Option<String>,
    /// From 0 to 100.
    pub(super) confidence: Option<u8>,
    pub(super) sources: Vec<Json>,
}

/// What an answer must be.
#[derive(Debug)]
pub(super) struct Shape {
    /// The column's own schema; none for text.
    schema: Option<Arc<AnswerSchema>>,
    /// The schema of the whole answer, as it is sent.
    pub(super) sent: Json,
}

const SOURCES_MAX: usize = 20;
const QUOTE_CHARS_MAX: usize = 500;
/// A quote that is shorter is found everywhere.
const QUOTE_CHARS_MIN: usize = 3;

impl Shape {
    /// The error is a sentence about the column's schema.
    pub(super) fn new(schema: Option<&Json>) -> Result<Self, String> {
        let compiled = schema.map(answer_schemas::compiled).transpose()?;
        Ok(Self { schema: compiled, sent: sent(schema) })
    }

    /// Reads an answer, or says what is wrong with it.
    pub(super) fn read(&self, text: &str, transcript: &Transcript) -> Result<Answer, Vec<String>> {
        let raw = read_json(text, None)?;
        let Ok(Json::Object(answer)) = serde_json::from_str(raw.get()) else {
            return Err(vec!["It is not a JSON object.".to_owned()]);
        };
        let Some(value) = answer.get("value") else {
            return Err(vec!["The field `value` is missing.".to_owned()]);
        };
        let problems = self.schema.as_ref().filter(|_| !value.is_null()).map(|schema| schema.problems(value));
        if let Some(problems) = problems.filter(|problems| !problems.is_empty()) {
            return Err(problems.into_iter().map(|problem| format!("/value{problem}")).collect());
        }
        Ok(Answer {
            value: self.raw_value(raw.get(), value),
            confidence: answer.get("confidence").and_then(confidence),
            sources: sources(answer.get("sources"), transcript),
        })
    }

    /// The value with its digits as they were sent; where text is asked for, as text.
    fn raw_value(&self, raw: &str, value: &Json) -> Option<String> {
        match value {
            Json::Null => None,
            Json::String(text) if self.schema.is_none() => {
                Some(text.trim()).filter(|text| !text.is_empty()).map(|text| Json::from(text).to_string())
            }
            _ => {
                let raw = member(raw, "value").map_or_else(|| value.to_string(), ToOwned::to_owned);
                Some(if self.schema.is_some() { raw } else { Json::from(raw).to_string() })
            }
        }
    }
}

/// The whole answer's schema. It is as strict as the column's own lets it be.
fn sent(schema: Option<&Json>) -> Json {
    let mut definitions = Map::new();
    let value = match schema {
        None => json!({"type": ["string", "null"], "description": "The answer; null if it was not found."}),
        Some(schema) => {
            let mut schema = schema.clone();
            // References lead from the root.
            if let Some(fields) = schema.as_object_mut() {
                for name in ["$defs", "definitions"] {
                    definitions.extend(fields.shift_remove(name).map(|defined| (name.to_owned(), defined)));
                }
                fields.shift_remove("$schema");
            }
            json!({"anyOf": [schema, {"type": "null"}]})
        }
    };
    let source = json!({
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "The address of a page that a tool returned."},
            "quote": {"type": "string", "description": "Words of that page, copied, that show the answer."},
        },
        "required": ["url", "quote"],
        "additionalProperties": false,
    });
    let mut whole = json!({
        "type": "object",
        "properties": {
            "value": value,
            "confidence": {"type": "number", "description": "From 0 to 100."},
            "sources": {"type": "array", "items": source},
        },
        "required": ["value", "confidence", "sources"],
        "additionalProperties": false,
    });
    if let Some(fields) = whole.as_object_mut() {
        fields.extend(definitions);
    }
    whole
}

/// Models also answer with a share of one.
fn confidence(told: &Json) -> Option<u8> {
    let number = told.as_f64().filter(|number| number.is_finite() && *number >= 0.0)?;
    let percent = if number <= 1.0 { number * 100.0 } else { number };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 100")]
    Some(percent.min(100.0).round() as u8)
}

/// The sources that tools have shown, each with its quote if it has one, and whether that stands there.
fn sources(told: Option<&Json>, transcript: &Transcript) -> Vec<Json> {
    let mut known: Vec<&str> = Vec::new();
    let mut sources = Vec::new();
    for source in told.and_then(Json::as_array).into_iter().flatten() {
        let url = source.as_str().or_else(|| source.get("url")?.as_str());
        let Some(page) = url.and_then(|url| transcript.page(url)) else { continue };
        let quote = source.get("quote").and_then(Json::as_str).map(str::trim).unwrap_or_default();
        if sources.len() >= SOURCES_MAX || (quote.is_empty() && known.contains(&page.url.as_str())) {
            continue;
        }
        known.push(&page.url);
        let mut shown = Map::from_iter([("url".to_owned(), Json::from(page.url.as_str()))]);
        if !page.title.is_empty() {
            shown.insert("title".to_owned(), page.title.as_str().into());
        }
        if !quote.is_empty() {
            let cut: String = quote.chars().take(QUOTE_CHARS_MAX).collect();
            shown.insert("quoteFound".to_owned(), stands_in(&cut, &page.text).into());
            shown.insert("quote".to_owned(), cut.into());
        }
        sources.push(Json::Object(shown));
    }
    sources
}

/// Whether a text has these words, however they are spaced and marked up.
fn stands_in(quote: &str, text: &str) -> bool {
    let plain = |text: &str| -> String {
        let letters = text.chars().flat_map(char::to_lowercase);
        letters.filter(|letter| letter.is_alphanumeric()).collect()
    };
    let quote = plain(quote);
    quote.chars().count() >= QUOTE_CHARS_MIN && plain(text).contains(&quote)
}

#[cfg(test)]
mod tests {
    use rowmill_providers::llm::ToolResult;

    use super::super::record::{CallRecord, Done, Record, Seen};
    use super::*;

    /// One page was read.
    fn read_one() -> Transcript {
        let mut transcript = Transcript::new("", "Who?", "openai");
        let page =
            Seen { url: "https://a.test/team".to_owned(), title: "Team".to_owned(), text: String::new() };
        let text = "Our **CEO** is\nAda  Lovelace.".to_owned();
        transcript.apply(Record::Called(Box::new(CallRecord {
            result: ToolResult { id: "1".to_owned(), text, is_error: false },
            done: Done::Read { url: "http://www.a.test/team/".to_owned(), page, links: vec![], chars: 1 },
            paid: Vec::new(),
            unpriced: Vec::new(),
            millis: 0,
            is_cached: false,
        })));
        transcript
    }

    #[test]
    fn sources_are_pages_that_were_seen_and_quotes_are_checked() {
        let answer = json!({"value": "Ada", "confidence": 0.9, "sources": [
            {"url": "https://a.test/team#top", "quote": "our CEO is Ada Lovelace"},
            {"url": "https://a.test/team", "quote": "our CEO is Bob"},
            {"url": "https://made.up/", "quote": "CEO"},
            "http://www.a.test/team",
            7,
        ]});
        let shape = Shape::new(None).unwrap();
        let answer = shape.read(&format!("Here:\n{answer}"), &read_one()).unwrap();
        assert_eq!((answer.value.as_deref(), answer.confidence), (Some("\"Ada\""), Some(90)));
        let page = |quote: &str, found: bool| json!({"url": "https://a.test/team", "title": "Team", "quote": quote, "quoteFound": found});
        assert_eq!(answer.sources, [page("our CEO is Ada Lovelace", true), page("our CEO is Bob", false)]);
    }

    #[test]
    fn a_value_is_of_its_schema_and_keeps_its_digits() {
        let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#/$defs/n"}},
            "$defs": {"n": {"type": "number"}}});
        let shape = Shape::new(Some(&schema)).unwrap();
        assert_eq!(shape.sent["$defs"], schema["$defs"], "{}", shape.sent);
        let read = |text: &str| shape.read(text, &Transcript::default());
        assert_eq!(read(r#"{"value": {"n": 1.10}}"#).unwrap().value.as_deref(), Some(r#"{"n": 1.10}"#));
        assert_eq!(read(r#"{"value": null, "sources": null}"#).unwrap().value, None);
        for wrong in [r#"{"value": {"n": "x"}}"#, r#"{"n": 1}"#, "[]", "no", r#"{"value": {"n": 1"#] {
            assert!(!read(wrong).unwrap_err().is_empty(), "{wrong}");
        }
        let text = Shape::new(None).unwrap();
        let read =
            |value: &str| text.read(&format!("{{\"value\":{value}}}"), &Transcript::default()).unwrap().value;
        assert_eq!(read("1.50").as_deref(), Some("\"1.50\""));
        assert_eq!(read("\" \""), None);
    }

    #[test]
    fn confidence_is_told_in_hundredths() {
        for (told, expected) in [
            (json!(0.85), Some(85)),
            (json!(1), Some(100)),
            (json!(70), Some(70)),
            (json!(900), Some(100)),
            (json!(-1), None),
            (json!("x"), None),
        ] {
            assert_eq!(confidence(&told), expected, "{told}");
        }
    }
}
