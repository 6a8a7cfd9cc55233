//! What a model answered, and what the readers of answers share.

use rowmill_model::{Amount, Spent, Usage};
use serde_json::Value;

use super::dialect::Adaptation;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::Response;

/// How a call ended that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Reply(Reply),
    /// The server refuses the request as it was put, but may take another. Nothing was paid.
    Refused(Adaptation, Failure),
}

impl Answer {
    /// A reply with text in it, or the reason why there is none.
    pub fn into_reply(self) -> Result<Reply, Failure> {
        match self {
            Self::Reply(reply) if reply.is_empty() => Err(reply.nothing()),
            Self::Reply(reply) => Ok(reply),
            Self::Refused(_, failure) => Err(failure),
        }
    }
}

/// What a model answered. Nothing is certain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// The answer itself, without what the model thought before it.
    pub text: String,
    /// The model that answered, by its own name.
    pub model: Option<String>,
    /// All tokens that were read, cached ones included.
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// Of the input: what came from the server's cache, and what it put there.
    pub cached_tokens: u64,
    pub cache_written_tokens: u64,
    pub spent: Spent,
    /// Why the model stopped, in the server's word.
    pub finish: Option<String>,
    /// Whether the limit of tokens cut the answer off.
    pub truncated: bool,
    /// Whether the model is known to have reasoned before it answered.
    pub reasoned: bool,
}

impl Reply {
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// All that the answer took.
    pub fn paid(&self) -> Spent {
        let usage = Usage {
            input_tokens: self.input_tokens.unwrap_or_default(),
            output_tokens: self.output_tokens.unwrap_or_default(),
            cached_tokens: self.cached_tokens,
            cache_written_tokens: self.cache_written_tokens,
            ..Usage::NONE
        };
        let mut paid = self.spent;
        paid += Spent { usage, ..Spent::NOTHING };
        paid
    }

    /// Why a reply without text is no result.
    pub fn nothing(&self) -> Failure {
        let words = match (self.truncated, self.reasoned) {
            (true, true) => {
                "The model used all its tokens for reasoning. Raise the maximum number of tokens.".to_owned()
            }
            (true, false) => "The model reached the token limit before it returned a result.".to_owned(),
            (false, _) => {
                format!(
                    "The model returned no text ({}).",
                    self.finish.as_deref().unwrap_or("no reason given")
                )
            }
        };
        Failure { spent: self.paid(), ..Failure::new(FailureKind::InvalidOutput, words) }
    }

    /// A model that will not answer: asking again brings the same.
    pub(super) fn declined(&self, words: Option<&str>) -> Failure {
        let words = words.map(str::trim).filter(|words| !words.is_empty());
        let message = match words {
            Some(words) => {
                format!("The model declined to answer: {}", words.chars().take(300).collect::<String>())
            }
            None => "The model declined to answer.".to_owned(),
        };
        Failure { spent: self.paid(), ..Failure::new(FailureKind::ProviderError, message) }
    }
}

/// What an answer says it cost, in US dollars: routers say it among the tokens, LiteLLM in a header.
pub(super) fn cost(body: &Value, response: &Response) -> Spent {
    let in_body = || Amount::read(body.pointer("/usage/cost")?);
    let in_header = || Amount::told(response.header("x-litellm-response-cost")?.trim().parse().ok()?);
    Spent::cost(in_body().or_else(in_header))
}

/// The text of a content that is a text or a list of parts; what is marked as thought is left out.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let said = parts.iter().filter(|part| !is_thought(part));
            said.filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

/// Whether a list of parts has a thought among them.
pub(super) fn has_thoughts(content: &Value) -> bool {
    content.as_array().is_some_and(|parts| parts.iter().any(is_thought))
}

fn is_thought(part: &Value) -> bool {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    kind.contains("thinking") || kind.contains("reasoning")
}

/// A field that is a text; servers also send numbers where a text is meant.
pub(super) fn word(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Whether a field holds a text that is not blank.
pub(super) fn says_something(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
}

/// The arguments of a tool call as JSON text: a text on some wires, an object on others.
pub(super) fn arguments_text(arguments: &Value) -> Option<String> {
    match arguments {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Object(_) | Value::Array(_) => Some(arguments.to_string()),
        _ => None,
    }
}
