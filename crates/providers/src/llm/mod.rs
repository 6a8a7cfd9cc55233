//! Language models that speak OpenAI's or Anthropic's wire.
//!
//! One [`ask`] is one call. A server that refuses part of the request says so with [`Answer::Refused`], which
//! holds the [`Dialect`] to ask in instead. An answer that must be JSON is read with [`read_json`]; if it has
//! problems, [`Question::repair`] makes the question that shows them to the model, to be asked once more.
//!
//! - `openai` and `anthropic`: one wire each, what is sent and what an answer means.
//! - `cache`: how servers are told what the prompts of several rows share.
//! - `dialect`: the rules of adapting to a server, read from its refusals (`refusal`).
//! - `tools`: conversations in which a model calls tools; `openai_tools`, `anthropic_tools` and `responses` are its
//!   wires.
//! - [`batch`]: many questions in one file, at half the price.
//! - `attachments`: files that go with a prompt, on each wire.
//! - `sse` and `thoughts`: streams, and thoughts that stand before an answer, as both wires have them.

mod anthropic;
mod anthropic_tools;
mod attachments;
pub mod batch;
mod cache;
mod dialect;
mod openai;
mod openai_tools;
mod question;
mod refusal;
mod reply;
mod responses;
mod schema;
mod sse;
mod thoughts;
mod tools;

use std::time::Duration;

pub use dialect::{Adaptation, Dialect};
use dialect::{Sent, Verdict};
pub use question::{Output, Prefix, Question, Speaker, Turn};
use refusal::{ContextSizes, Refusal};
pub use reply::{Answer, Reply};
use rowmill_model::Spent;
use rowmill_model::column::AiProvider;
pub use schema::{is_cut_json, read_json};
pub use tools::{
    Entry, HostedPage, HostedSearch, Tool, ToolAnswer, ToolCall, ToolQuestion, ToolReply, ToolResult,
    ToolWire,
};

use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Client, Response};

/// Asks once, in the words that the server is known to take.
pub async fn ask(
    client: &Client,
    provider: AiProvider,
    access: &Access,
    question: &Question,
    dialect: Dialect,
    deadline: Duration,
) -> Result<Answer, Failure> {
    let (request, sent) = match provider {
        AiProvider::Openai => openai::request(access, question, dialect),
        AiProvider::Anthropic => anthropic::request(access, question, dialect),
    }?;
    let response = client.send(request.deadline(deadline)).await?;
    judged(provider, &response, question, dialect, &sent)
}

/// What an answer to a question means.
fn judged(
    provider: AiProvider,
    response: &Response,
    question: &Question,
    dialect: Dialect,
    sent: &Sent,
) -> Result<Answer, Failure> {
    let reply = match provider {
        AiProvider::Openai => openai::read(response, question),
        AiProvider::Anthropic => anthropic::read(response, question),
    };
    let failure = match reply {
        Ok(reply) => return Ok(Answer::Reply(reply)),
        Err(failure) if failure.spent == Spent::NOTHING => {
            Failure { spent: reply::cost(&response.json_lenient(), response), ..failure }
        }
        Err(failure) => failure,
    };
    match verdict(response, &failure, dialect, sent) {
        Verdict::Adapt(adaptation) => Ok(Answer::Refused(adaptation, failure)),
        Verdict::TooLong(sizes) => Err(too_long(sizes, question)),
        Verdict::Final => Err(told(failure, response.status, question)),
    }
}

/// Asks for one turn of a conversation with tools, in the words that the server is known to take.
pub async fn ask_with_tools(
    client: &Client,
    wire: ToolWire,
    access: &Access,
    question: &ToolQuestion<'_>,
    dialect: Dialect,
    deadline: Duration,
) -> Result<ToolAnswer, Failure> {
    let (request, sent) = match wire {
        ToolWire::Chat => openai_tools::request(access, question, dialect),
        ToolWire::Responses => responses::request(access, question, dialect),
        ToolWire::Messages => anthropic_tools::request(access, question, dialect),
    }?;
    let response = client.send(request.deadline(deadline)).await?;
    let reply = match wire {
        ToolWire::Chat => openai_tools::read(&response, &question.question),
        ToolWire::Responses => responses::read(&response),
        ToolWire::Messages => anthropic_tools::read(&response, &question.question),
    };
    let failure = match reply {
        Ok(reply) => return Ok(ToolAnswer::Reply(Box::new(reply))),
        Err(failure) if failure.spent == Spent::NOTHING => {
            Failure { spent: reply::cost(&response.json_lenient(), &response), ..failure }
        }
        Err(failure) => failure,
    };
    match verdict(&response, &failure, dialect, &sent) {
        Verdict::Adapt(adaptation) => Ok(ToolAnswer::Refused(adaptation, failure)),
        Verdict::TooLong(sizes) => {
            let text = format!("{:?}", question.entries);
            let turns = vec![Turn { speaker: Speaker::User, text }];
            Err(too_long(sizes, &Question { turns, ..question.question.clone() }))
        }
        Verdict::Final => Err(told(failure, response.status, &question.question)),
    }
}

/// What a failed answer comes to: only a request that was refused as such can be put in another way.
fn verdict(response: &Response, failure: &Failure, dialect: Dialect, sent: &Sent) -> Verdict {
    let is_refused = failure.kind == FailureKind::ProviderError && !failure.is_transient;
    match response.status {
        413 => Verdict::TooLong(Refusal::read(&response.json_lenient()).context_sizes().unwrap_or_default()),
        // Routers also answer 200 and put the status they were given into the body.
        200 | 400 | 422 if is_refused => dialect.adapted(&Refusal::read(&response.json_lenient()), sent),
        _ => Verdict::Final,
    }
}

/// A failure, with what files may have to do with it.
fn told(failure: Failure, status: u16, question: &Question) -> Failure {
    let is_refused = failure.kind == FailureKind::ProviderError && !failure.is_transient;
    match status {
        200 | 400 | 404 | 415 | 422 if is_refused => attachments::explained(failure, &question.attachments),
        _ => failure,
    }
}

/// A prompt that the model cannot take, with the sizes as far as they are known.
fn too_long(sizes: ContextSizes, question: &Question) -> Failure {
    const ADVICE: &str =
        "Shorten the prompt or the values it refers to, or choose a model with a larger context window.";
    let words = match sizes {
        ContextSizes { prompt: Some(prompt), context: Some(context) } => {
            format!(
                "The prompt is too long for the model: it has {prompt} tokens, and the model takes {context}. {ADVICE}"
            )
        }
        ContextSizes { prompt: None, context: Some(context) } => {
            let bytes = question.bytes();
            format!(
                "The prompt is too long for the model: it has {bytes} bytes, and the model takes {context} tokens. {ADVICE}"
            )
        }
        ContextSizes { .. } => {
            let bytes = question.bytes();
            // A token of English is some four bytes.
            let tokens = bytes / 4;
            format!(
                "The prompt is too long for the model: it has {bytes} bytes, about {tokens} tokens. {ADVICE}"
            )
        }
    };
    Failure::new(FailureKind::TooLarge, words)
}
