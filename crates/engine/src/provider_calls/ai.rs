//! Columns a language model fills.

use rowmill_model::cell::Meta;
use rowmill_model::column::{AiConfig, AiProvider};
use rowmill_model::{AnswerSchema, Column, DataShape, ErrorCode, Spent};
use rowmill_providers::catalogue::Provider;
use rowmill_providers::llm::{self, Output, Question, Reply, read_json};
use rowmill_providers::{Access, Failure, FailureKind};

use super::fill::Fill;
use super::{ProviderCalls, access, column_limit, identity, invalid, millis_since, team_part};
use crate::call_limits::CallLimit;
use crate::cell_runner::{CallOutcome, Cell};
use crate::credentials::TeamCredentials;
use crate::digest::Digest;

/// Whom a column asks.
struct Model {
    provider: &'static Provider,
    ai: AiProvider,
    access: Access,
}

impl ProviderCalls {
    pub(super) fn ai_limits(&self, column: &Column, credentials: &TeamCredentials) -> Vec<CallLimit> {
        let config = column.ai_config.as_ref();
        let model = config.and_then(|config| choose(config, credentials).ok());
        model.map(|model| self.credential_limit(model.provider, &model.access)).into_iter().collect()
    }

    fn credential_limit(&self, provider: &Provider, access: &Access) -> CallLimit {
        CallLimit {
            key: identity(provider, access),
            rates: provider.rates.to_vec(),
            at_once_max: self.config.at_once_max,
            has_circuit_breaker: true,
        }
    }

    pub(super) async fn ask_model(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
    ) -> Result<CallOutcome, CallOutcome> {
        let config = cell.column.ai_config.as_ref().filter(|config| !config.prompt.trim().is_empty());
        let config =
            config.ok_or_else(|| invalid("The column has no prompt. Add one in the column settings."))?;
        let model = choose(config, credentials)?;
        let credential = credentials.providers.get(model.provider.about.id);
        let name =
            config.model.clone().or_else(|| credential.and_then(|credential| credential.model.clone()));
        let name = name.filter(|name| !name.trim().is_empty()).ok_or_else(|| {
            invalid("No model is set. Choose one in the column settings, or set a default model for the provider.")
        })?;
        let mut fill = Fill::new(cell, None)?;
        let output = match cell.column.data_shape {
            DataShape::Json => Output::Json(config.output_schema.clone()),
            DataShape::Text | DataShape::Waterfall | DataShape::ScrapeResult => Output::Text,
        };
        let question = Question {
            system: config.system.as_deref().map(|system| fill.text(system)),
            temperature: config.temperature,
            max_tokens: config.max_tokens,
            output,
            ..Question::new(name, fill.text(&config.prompt))
        };
        let key = Digest::of([
            team_part(cell.project.team).as_str(),
            &format!("{:?}", identity(model.provider, &model.access)),
            &format!("{question:?}"),
        ]);
        let outcome = self.reused(cell, key, true, async {
            self.converse(cell, &model, &question).await.unwrap_or_else(|outcome| outcome)
        });
        Ok(outcome.await)
    }

    /// Asks, and if the answer is not the JSON it should be shows the model what is wrong with it, once.
    async fn converse(
        &self,
        cell: &Cell,
        model: &Model,
        question: &Question,
    ) -> Result<CallOutcome, CallOutcome> {
        let started = self.now();
        // Before anything is paid for.
        let schema =
            match &question.output {
                Output::Text | Output::Json(None) => None,
                Output::Json(Some(schema)) => Some(AnswerSchema::compile(schema).map_err(|words| {
                    invalid(format!("The column's output schema is not usable: {words}."))
                })?),
            };
        let reply = self.ask_once(cell, model, question).await?;
        if question.output == Output::Text {
            let raw = serde_json::Value::from(reply.text.trim()).to_string();
            let meta = self.ai_meta(model, question, &[&reply], started);
            return Ok(CallOutcome::Value(raw.into(), meta));
        }
        let problems = match read_json(&reply.text, schema.as_ref()) {
            Ok(json) => {
                let meta = self.ai_meta(model, question, &[&reply], started);
                return Ok(CallOutcome::Value(json.get().into(), meta));
            }
            Err(problems) => problems,
        };
        let repaired = self.ask_once(cell, model, &question.repair(&reply.text, &problems)).await;
        let repaired = repaired.map_err(|outcome| also_spent(outcome, reply.spent))?;
        let meta = self.ai_meta(model, question, &[&reply, &repaired], started);
        match read_json(&repaired.text, schema.as_ref()) {
            Ok(json) => Ok(CallOutcome::Value(json.get().into(), meta)),
            Err(problems) => {
                let words =
                    format!("The model's response does not match the output schema: {}", problems.join(" "));
                let mut outcome = CallOutcome::failed(ErrorCode::InvalidOutput, words);
                if let CallOutcome::Failed(call_failure) = &mut outcome {
                    call_failure.meta = meta;
                }
                Err(outcome)
            }
        }
    }

    async fn ask_once(&self, cell: &Cell, model: &Model, question: &Question) -> Result<Reply, CallOutcome> {
        let account = identity(model.provider, &model.access);
        let is_rejected = || match self.rejected_credentials.recall(cell, account) {
            Some(failure) => Err(CallOutcome::from(failure)),
            None => Ok(()),
        };
        is_rejected()?;
        let _first = self.rejected_credentials.wait_for_first(cell, account, self.clock()).await;
        let mut limits = vec![self.credential_limit(model.provider, &model.access)];
        limits.extend(column_limit(&cell.project, &cell.column));
        let permit = self.call_limits.acquire(&limits, cell, self.clock(), self.config.wait_max).await?;
        // Another cell may have been refused while this one waited for its turn.
        is_rejected()?;
        let ask = async {
            let deadline = self.config.ai_deadline;
            let reply = llm::ask(&self.client, model.ai, &model.access, question, deadline).await;
            self.rejected_credentials.note(cell, account, &reply);
            reply
        };
        self.attempt_with(permit, model.provider.about.id, ask).await
    }

    fn ai_meta(
        &self,
        model: &Model,
        question: &Question,
        replies: &[&Reply],
        started: jiff::Timestamp,
    ) -> Meta {
        let last = replies.last();
        let named = last.and_then(|reply| reply.model.clone()).unwrap_or_else(|| question.model.clone());
        let sum = |count: fn(&Reply) -> Option<u64>| -> Option<u64> {
            replies.iter().map(|reply| count(reply)).sum()
        };
        let mut meta = Meta::new();
        meta.insert("provider".to_owned(), model.provider.about.id.into());
        meta.insert("model".to_owned(), named.into());
        meta.insert("milliseconds".to_owned(), millis_since(started, self.now()));
        for (name, tokens) in [
            ("inputTokens", sum(|reply| reply.input_tokens)),
            ("outputTokens", sum(|reply| reply.output_tokens)),
        ] {
            if let Some(tokens) = tokens {
                meta.insert(name.to_owned(), tokens.into());
            }
        }
        let mut spent = Spent::NOTHING;
        for reply in replies {
            spent += reply.spent;
        }
        spent.note(&mut meta);
        if last.is_some_and(|reply| reply.truncated) {
            meta.insert("truncated".to_owned(), true.into());
        }
        meta
    }
}

/// With what was paid before it came to this.
fn also_spent(mut outcome: CallOutcome, before: Spent) -> CallOutcome {
    if let CallOutcome::Failed(call_failure) = &mut outcome {
        let mut spent = Spent::of(&call_failure.meta);
        spent += before;
        spent.note(&mut call_failure.meta);
    }
    outcome
}

/// Whom a column would ask, and which model, as far as that is settled.
pub(super) fn asked(
    config: &AiConfig,
    credentials: &TeamCredentials,
) -> (Option<&'static str>, Option<String>) {
    let provider = choose(config, credentials).ok().map(|model| model.provider.about.id);
    let usual = provider.and_then(|id| credentials.providers.get(id)).and_then(|own| own.model.clone());
    (provider, config.model.clone().or(usual))
}

/// Whom a column asks: whom it names, else the first provider the team can use.
fn choose(config: &AiConfig, credentials: &TeamCredentials) -> Result<Model, Failure> {
    let reach = |ai: AiProvider| {
        let provider = Provider::of_ai(ai).ok_or_else(|| {
            Failure::new(
                FailureKind::InvalidInput,
                "The column's provider is unknown to this server. Choose another one in the column settings.",
            )
        })?;
        Ok(Model { provider, ai, access: access(provider, credentials)? })
    };
    match config.provider {
        Some(ai) => reach(ai),
        None => reach(AiProvider::Openai).or_else(|first: Failure| {
            reach(AiProvider::Anthropic).map_err(|_| match first.kind {
                FailureKind::MissingCredentials => Failure::new(
                    FailureKind::MissingCredentials,
                    "No language model is configured. Add a credential for OpenAI, an OpenAI-compatible \
                     server or Anthropic in the settings.",
                ),
                _ => first,
            })
        }),
    }
}
