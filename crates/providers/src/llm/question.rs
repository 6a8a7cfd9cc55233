//! What a model is asked.

use serde_json::Value;

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
    pub(super) fn system_text(&self) -> Option<String> {
        const JSON_ONLY: &str = "Answer with JSON and nothing else.";
        match (&self.system, &self.output) {
            (Some(system), Output::Json(None)) => Some(format!("{system}\n\n{JSON_ONLY}")),
            (None, Output::Json(None)) => Some(JSON_ONLY.to_owned()),
            (system, _) => system.clone(),
        }
    }
}
