//! What a model is asked.

use std::sync::Arc;

use serde_json::Value;

use super::dialect::Format;
use crate::attachment::Attachment;

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub model: String,
    pub system: Option<String>,
    pub turns: Vec<Turn>,
    /// What the prompt has in common with those of other rows.
    pub prefix: Option<Prefix>,
    pub temperature: Option<f64>,
    /// Maximum length of the response, in tokens.
    pub max_tokens: Option<u32>,
    pub output: Output,
    /// Files that go with the first turn.
    pub attachments: Arc<[Attachment]>,
}

/// The beginning of a prompt that other rows share, so that a server need not read it anew for each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    /// How much of the first turn it is.
    pub bytes: usize,
    /// Names it: the same for all rows that share it.
    pub key: String,
}

impl Prefix {
    /// A first turn as what is shared and what is the row's own, if it has both.
    pub(super) fn split<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let (shared, rest) = text.split_at_checked(self.bytes)?;
        (!shared.trim().is_empty() && !rest.trim().is_empty()).then_some((shared, rest))
    }
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
    pub(super) fn word(self) -> &'static str {
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

/// The room for an answer that was cut off where nobody had set a limit.
const ROOM_TOKENS: u32 = 16_384;
/// With less room than this a model that reasons says nothing.
const ROOM_TOKENS_MIN: u32 = 1_024;
/// A limit is not raised beyond this.
const ROOM_TOKENS_MAX: u32 = 65_536;

impl Question {
    /// A question of one prompt.
    pub fn new(model: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            system: None,
            turns: vec![Turn { speaker: Speaker::User, text: prompt.into() }],
            prefix: None,
            temperature: None,
            max_tokens: None,
            output: Output::Text,
            attachments: Arc::default(),
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

    /// The same question once more, with four times the room for an answer that did not fit.
    #[must_use]
    pub fn with_room(&self) -> Self {
        let wider = |limit: u32| limit.saturating_mul(4).clamp(ROOM_TOKENS_MIN, ROOM_TOKENS_MAX).max(limit);
        Self { max_tokens: Some(self.max_tokens.map_or(ROOM_TOKENS, wider)), ..self.clone() }
    }

    /// The length of all that is sent, files included.
    pub(super) fn bytes(&self) -> usize {
        let turns = self.turns.iter().map(|turn| turn.text.len()).sum::<usize>();
        let files = self.attachments.iter().map(|file| file.data.len()).sum::<usize>();
        turns + files + self.system.as_ref().map_or(0, String::len)
    }

    /// The system message, with what a server must be told of the answer that is not told otherwise.
    pub(super) fn system_text(&self, format: Format) -> Option<String> {
        const JSON_ONLY: &str = "Answer with JSON and nothing else.";
        let told = match (&self.output, format) {
            (Output::Text, _) | (Output::Json(Some(_)), Format::Schema) => return self.system.clone(),
            (Output::Json(None), _) => JSON_ONLY.to_owned(),
            (Output::Json(Some(schema)), Format::AnyJson | Format::Unsent) => {
                format!("{JSON_ONLY} It must satisfy this JSON Schema:\n{schema}")
            }
        };
        Some(match &self.system {
            Some(system) => format!("{system}\n\n{told}"),
            None => told,
        })
    }
}
