//! Language models that speak OpenAI's or Anthropic's wire.
//!
//! One [`ask`] is one call. An answer that must be JSON is read with [`read_json`]; if it has problems,
//! [`Question::repair`] makes the question that shows them to the model, to be asked once more.

mod anthropic;
mod openai;
mod question;
mod reply;
mod schema;

use std::time::Duration;

pub use question::{Output, Question, Speaker, Turn};
pub use reply::Reply;
use rowmill_model::column::AiProvider;
use rowmill_model::{Amount, Spent};
pub use schema::read_json;

use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Client, Response};

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
