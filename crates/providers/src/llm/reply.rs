//! What a model answered, and what the readers of answers share.

use rowmill_model::Spent;
use serde_json::Value;

use crate::failure::{Failure, FailureKind};

/// What a model answered. Nothing but the text is certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub text: String,
    /// The model that answered, by its own name.
    pub model: Option<String>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub spent: Spent,
    /// Why the model stopped, in the server's word.
    pub finish: Option<String>,
    /// Whether the limit of tokens cut the answer off.
    pub truncated: bool,
}

/// A model that will not answer: asking again brings the same.
pub(super) fn declined(words: Option<&str>) -> Failure {
    let words = words.map(str::trim).filter(|words| !words.is_empty());
    let message = match words {
        Some(words) => {
            format!("The model declined to answer: {}", words.chars().take(300).collect::<String>())
        }
        None => "The model declined to answer.".to_owned(),
    };
    Failure::new(FailureKind::ProviderError, message)
}

/// The text of a content that is a text or a list of parts.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

/// A field that is a text; servers also send numbers where a text is meant.
pub(super) fn word(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
