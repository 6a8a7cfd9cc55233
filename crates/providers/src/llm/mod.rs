//! Language models that speak OpenAI's or Anthropic's wire.
//!
//! One [`ask`] is one call. An answer that must be JSON is read with [`read_json`]; if it has problems,
//! [`Question::repair`] makes the question that shows them to the model, to be asked once more.

mod anthropic;
mod openai;
mod schema;

use std::time::Duration;

use rowmill_model::column::AiProvider;
use rowmill_model::{Amount, Spent};
use serde_json::Value;

pub use schema::read_json;

use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Client, Response};

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub model: String,
    pub system: Option<String>,
    pub turns: Vec<Turn>,
    pub temperature: Option<f64>,
    /// Maximum length of the response, in tokens.
    pub max_tokens: Option<u32>,
    pub output: Output,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub speaker: Speaker,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
}

impl Speaker {
    fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// What the answer must be.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    Text,
    /// JSON, of the given schema if there is one.
    Json(Option<Value>),
}

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

impl Question {
    /// A question of one prompt.
    pub fn new(model: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            system: None,
            turns: vec![Turn { speaker: Speaker::User, text: prompt.into() }],
            temperature: None,
            max_tokens: None,
            output: Output::Text,
        }
    }

    /// The same question once more, with the answer it got and what is wrong with it.
    #[must_use]
    pub fn repair(&self, answer: &str, problems: &[String]) -> Self {
        let mut question = self.clone();
        let schema = match &self.output {
            Output::Json(Some(schema)) => format!("\n\nThe JSON Schema it must satisfy:\n{schema}"),
            Output::Json(None) | Output::Text => String::new(),
        };
        let text = format!(
            "That answer cannot be used:\n- {}{schema}\n\nAnswer again with the corrected JSON and nothing else.",
            problems.join("\n- ")
        );
        question.turns.push(Turn { speaker: Speaker::Assistant, text: answer.to_owned() });
        question.turns.push(Turn { speaker: Speaker::User, text });
        question
    }

    /// The system message, with the one sentence a server needs that is given no schema.
    fn system_text(&self) -> Option<String> {
        const JSON_ONLY: &str = "Answer with JSON and nothing else.";
        match (&self.system, &self.output) {
            (Some(system), Output::Json(None)) => Some(format!("{system}\n\n{JSON_ONLY}")),
            (None, Output::Json(None)) => Some(JSON_ONLY.to_owned()),
            (system, _) => system.clone(),
        }
    }
}

/// Asks once.
pub async fn ask(
    client: &Client,
    provider: AiProvider,
    access: &Access,
    question: &Question,
    deadline: Duration,
) -> Result<Reply, Failure> {
    let request = match provider {
        AiProvider::Openai => openai::request(access, question),
        AiProvider::Anthropic => anthropic::request(access, question),
    }?;
    let response = client.send(request.deadline(deadline)).await?;
    let reply = match provider {
        AiProvider::Openai => openai::read(&response),
        AiProvider::Anthropic => anthropic::read(&response),
    };
    let spent = spent(&response);
    match reply {
        Ok(reply) => settled(Reply { spent, ..reply }),
        Err(failure) => Err(Failure { spent, ..failure }),
    }
}

/// What an answer says it cost, in US dollars: routers say it among the tokens, LiteLLM in a header.
fn spent(response: &Response) -> Spent {
    let in_body = || Amount::read(response.json_lenient().pointer("/usage/cost")?);
    let in_header = || Amount::told(response.header("x-litellm-response-cost")?.trim().parse().ok()?);
    Spent::cost(in_body().or_else(in_header))
}

/// A reply with text in it, or the reason why there is none.
fn settled(reply: Reply) -> Result<Reply, Failure> {
    if !reply.text.trim().is_empty() {
        return Ok(reply);
    }
    let words = if reply.truncated {
        "The model reached the token limit before it returned a result.".to_owned()
    } else {
        format!("The model returned no text ({}).", reply.finish.as_deref().unwrap_or("no reason given"))
    };
    Err(Failure { spent: reply.spent, ..Failure::new(FailureKind::InvalidOutput, words) })
}

/// A model that will not answer: asking again brings the same.
fn declined(words: Option<&str>) -> Failure {
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
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

/// A field that is a text; servers also send numbers where a text is meant.
fn word(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
