//! Conversations in which a model calls tools: what is asked, what it answers, and what came of its calls.
//!
//! A model's turn goes back to it as it came, because servers sign parts of it. So a conversation goes on on the wire
//! that it began on.

use rowmill_model::column::AiProvider;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::dialect::Adaptation;
use super::question::Question;
use super::reply::Reply;
use crate::access::Access;
use crate::failure::Failure;

/// Something that a model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// One part of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    User(String),
    /// A turn of the model, as its wire has it.
    Model(Value),
    /// What came of the calls of the turn before, each answered.
    Results(Vec<ToolResult>),
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub id: String,
    pub text: String,
    pub is_error: bool,
}

/// A call that a model makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// None if they are not JSON.
    pub arguments: Option<Value>,
}

/// A search that the provider made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedSearch {
    pub query: String,
    pub pages: Vec<HostedPage>,
    pub error: Option<String>,
}

/// A page that the provider found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostedPage {
    pub url: String,
    pub title: String,
    /// What the provider cites of it.
    pub text: String,
}

/// How conversations with tools are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolWire {
    /// `OpenAI`'s chat completions, as compatible servers speak them.
    Chat,
    /// `OpenAI`'s responses, which its newer models want for tools.
    Responses,
    /// Anthropic's messages.
    Messages,
}

impl ToolWire {
    /// The wire to begin on.
    pub fn of(provider: AiProvider, access: &Access) -> Self {
        match provider {
            AiProvider::Anthropic => Self::Messages,
            AiProvider::Openai if access.base_url.host_str() == Some("api.openai.com") => Self::Responses,
            AiProvider::Openai => Self::Chat,
        }
    }

    /// The wire on which the provider has a web search of its own.
    pub fn with_hosted_search(provider: AiProvider) -> Self {
        match provider {
            AiProvider::Anthropic => Self::Messages,
            AiProvider::Openai => Self::Responses,
        }
    }

    /// The wire that a refusal asks for, where it is another one.
    pub fn asked_for(self, failure: &Failure) -> Option<Self> {
        let is_chat = self == Self::Chat && !failure.is_transient;
        (is_chat && failure.message.contains("/v1/responses")).then_some(Self::Responses)
    }
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolQuestion<'a> {
    /// Its turns are those of `entries`.
    pub question: Question,
    pub entries: &'a [Entry],
    pub tools: &'a [Tool],
    /// Whether calls are taken. If not, the model must answer.
    pub may_call: bool,
    /// How often the model may use its provider's own web search; none if it has none.
    pub hosted_searches: Option<u32>,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    pub reply: Reply,
    /// The whole turn, to be sent back.
    pub turn: Value,
    pub calls: Vec<ToolCall>,
    /// What the provider searched for by itself.
    pub hosted: Vec<HostedSearch>,
    /// Whether the provider wants the turn back to go on with it.
    pub is_paused: bool,
}

/// How a call ended that was answered.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolAnswer {
    Reply(Box<ToolReply>),
    /// The server refuses the request as it was put, but may take another. Nothing was paid.
    Refused(Adaptation, Failure),
}

/// The page that a list or a citation names.
pub(super) fn hosted_page(of: &Value) -> Option<HostedPage> {
    let text = |name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let page = HostedPage { url: text("url"), title: text("title"), text: text("cited_text") };
    page.url.starts_with("http").then_some(page)
}

/// Arguments as servers send them: JSON in a text, or an object. No text at all stands for no arguments.
pub(super) fn arguments(sent: &Value) -> Option<Value> {
    let is_none = sent.is_null() || sent.as_str().is_some_and(|text| text.trim().is_empty());
    match sent {
        _ if is_none => Some(Value::Object(serde_json::Map::new())),
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Object(_) => Some(sent.clone()),
        _ => None,
    }
}
