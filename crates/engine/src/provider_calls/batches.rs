//! Cells of AI columns that are asked in batches.
//!
//! A batch is one round: what a server refuses is remembered for the next batch, and an answer that does not fit fails
//! the try.

use async_trait::async_trait;
use rowmill_model::cell::Meta;
use rowmill_model::column::AiConfig;
use rowmill_model::{Column, DataShape, ErrorCode, TeamId, pricing};
use rowmill_providers::catalogue::Provider;
use rowmill_providers::llm::batch::{BatchApi, BatchOutcome};
use rowmill_providers::llm::{Adaptation, Answer, Output, Question, Reply, is_cut_json, read_json};
use rowmill_providers::{Access, Failure, FailureKind};

use super::ai_model::{Choice, Model};
use super::dialects::dialect_key;
use super::prompt::Prompt;
use super::{ProviderCalls, answer_schemas, invalid};
use crate::cell_runner::{BatchCalls, BatchQuestion, CallFailure, CallOutcome, Cell};
use crate::credentials::TeamCredentials;

#[async_trait]
impl BatchCalls for ProviderCalls {
    async fn question(&self, cell: &Cell) -> Result<BatchQuestion, CallOutcome> {
        let credentials = self.batch_credentials(cell.project.team).await?;
        let config = cell.column.ai_config.as_ref().filter(|config| !config.prompt.trim().is_empty());
        let config =
            config.ok_or_else(|| invalid("The column has no prompt. Add one in the column settings."))?;
        if config.research.is_some() || !config.attachments.is_empty() {
            return Err(invalid("The column cannot be processed in batches. Set it to be processed now."));
        }
        let prompt = Prompt::fill(cell, config)?;
        let model = Model::choose(Choice::first(config), &credentials)?;
        let name = model.name.clone().ok_or_else(|| {
            invalid("No model is set. Choose one in the column settings, or set a default model for the provider.")
        })?;
        let question =
            Question { system: prompt.system.clone(), ..shape(&cell.column, name, prompt.text.as_str()) };
        if let Output::Json(Some(schema)) = &question.output {
            answer_schemas::compiled(schema)
                .map_err(|words| invalid(format!("The column's output schema is not usable: {words}.")))?;
        }
        let dialect = self.dialects.of(dialect_key(model.provider, &model.access, &question), self.now());
        Ok(BatchQuestion { provider: model.provider.about.id, question, dialect })
    }

    async fn api(&self, team: TeamId, provider: &str) -> Result<BatchApi, Failure> {
        let credentials = self.credentials.of(team).await.map_err(|words| {
            tracing::warn!(%team, error = %words, "could not read credentials");
            Failure::transient("The team's credentials could not be read. Try again later.")
        })?;
        let (ai, access) = reach(provider, &credentials)?;
        Ok(BatchApi::new(self.client.clone(), ai, access))
    }

    fn outcome(
        &self,
        api: &BatchApi,
        (provider, model): (&str, &str),
        column: &Column,
        outcome: BatchOutcome,
    ) -> CallOutcome {
        let response = match outcome {
            BatchOutcome::Answered(response) => response,
            BatchOutcome::Expired => {
                let words = "The provider did not get to this cell before its batch expired.";
                return transient(Failure::new(FailureKind::TimedOut, words)).into_outcome();
            }
            BatchOutcome::Cancelled => {
                let words = "The batch of this cell was cancelled at the provider.";
                return transient(Failure::new(FailureKind::ProviderError, words)).into_outcome();
            }
            BatchOutcome::Failed(failure) => return failure.into(),
        };
        let Some(about) = Provider::named(provider) else {
            return invalid("The column's provider is unknown to this server.");
        };
        let question = shape(column, model.to_owned(), "");
        let key = dialect_key(about, api.access(), &question);
        let dialect = self.dialects.of(key, self.now());
        let mut meta = Meta::new();
        meta.insert("provider".to_owned(), about.about.id.into());
        pricing::note_batch(&mut meta);
        match api.judge(&response, &question, dialect) {
            Ok(Answer::Reply(reply)) => of_reply(&reply, &question, meta),
            Ok(Answer::Refused(Adaptation::Speak(next), failure)) => {
                // The next batch is asked in words that the server takes.
                self.dialects.learn(key, next, self.now());
                transient(failure).with(meta)
            }
            Ok(Answer::Refused(Adaptation::Shorten(_), failure)) | Err(failure) => Failed(failure).with(meta),
        }
    }
}

impl ProviderCalls {
    async fn batch_credentials(&self, team: TeamId) -> Result<std::sync::Arc<TeamCredentials>, CallOutcome> {
        self.credentials.of(team).await.map_err(|words| {
            tracing::warn!(%team, error = %words, "could not read credentials");
            Failure::transient("The team's credentials could not be read. Try again later.").into()
        })
    }
}

/// A failure on its way to an outcome.
struct Failed(Failure);

fn transient(failure: Failure) -> Failed {
    Failed(Failure { is_transient: true, ..failure })
}

impl Failed {
    fn into_outcome(self) -> CallOutcome {
        self.0.into()
    }

    /// With where it came from, and what was paid.
    fn with(self, mut meta: Meta) -> CallOutcome {
        let failure: CallFailure = self.0.into();
        meta.extend(failure.meta);
        CallOutcome::Failed(Box::new(CallFailure { meta, ..failure }))
    }
}

/// How a provider's batches are reached with what the team has.
fn reach(
    provider: &str,
    credentials: &TeamCredentials,
) -> Result<(rowmill_model::column::AiProvider, Access), Failure> {
    let unknown = || Failure::new(FailureKind::InvalidInput, "The column's provider has no batch API.");
    let provider = Provider::named(provider).ok_or_else(unknown)?;
    let rowmill_providers::catalogue::Kind::Ai(ai) = provider.kind else { return Err(unknown()) };
    Ok((ai, credentials.access(provider)?))
}

/// A column's question, as far as it is the same for every row.
fn shape(column: &Column, model: String, text: &str) -> Question {
    let config = column.ai_config.as_ref();
    let output = match column.data_shape {
        DataShape::Json => Output::Json(config.and_then(AiConfig::schema)),
        DataShape::Text | DataShape::Waterfall | DataShape::ScrapeResult => Output::Text,
    };
    Question {
        temperature: config.and_then(|config| config.temperature),
        max_tokens: config.and_then(|config| config.max_tokens),
        output,
        ..Question::new(model, text)
    }
}

fn of_reply(reply: &Reply, question: &Question, mut meta: Meta) -> CallOutcome {
    let named = reply.model.as_ref().unwrap_or(&question.model);
    meta.insert("model".to_owned(), named.as_str().into());
    reply.paid().note(&mut meta);
    if reply.truncated {
        meta.insert("truncated".to_owned(), true.into());
    }
    let fails = |words: String, is_transient: bool, meta: Meta| {
        let failure = Failure { is_transient, ..Failure::new(FailureKind::InvalidOutput, words) };
        Failed(failure).with(meta)
    };
    if reply.is_empty() {
        return fails(reply.nothing().message, false, meta);
    }
    let schema = match &question.output {
        Output::Text => {
            return CallOutcome::Value(serde_json::Value::from(reply.text.trim()).to_string().into(), meta);
        }
        Output::Json(None) => None,
        Output::Json(Some(schema)) => match answer_schemas::compiled(schema) {
            Ok(schema) => Some(schema),
            Err(words) => return CallOutcome::failed(ErrorCode::InvalidInput, words),
        },
    };
    match read_json(&reply.text, schema.as_deref()) {
        Ok(json) => CallOutcome::Value(json.get().into(), meta),
        Err(_) if reply.truncated || is_cut_json(&reply.text) => {
            let words = "The model reached the token limit before its JSON was complete. \
                         Raise the maximum number of tokens.";
            fails(words.to_owned(), false, meta)
        }
        // Another answer may be better.
        Err(problems) => {
            let words =
                format!("The model's response does not match the output schema: {}", problems.join(" "));
            fails(words, true, meta)
        }
    }
}
