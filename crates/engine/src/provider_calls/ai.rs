//! Columns a language model fills.

use std::sync::Arc;

use rowmill_model::column::AiConfig;
use rowmill_model::{Column, DataShape};
use rowmill_providers::Access;
use rowmill_providers::attachment::Attachment;
use rowmill_providers::catalogue::Provider;
use rowmill_providers::llm::{Output, Question};

use super::ai_fallback::{FirstChoice, falls_back};
use super::ai_model::{Choice, Model};
use super::prompt::Prompt;
use super::research::Task;
use super::{ProviderCalls, identity, invalid, team_part};
use crate::call_limits::CallLimit;
use crate::cell_runner::{CallOutcome, Cell};
use crate::credentials::TeamCredentials;
use crate::digest::Digest;

impl ProviderCalls {
    /// A fallback has limits of its own. While the first choice rests its cells are begun all the same, so they
    /// are not asked here.
    pub(super) fn ai_limits(&self, column: &Column, credentials: &TeamCredentials) -> Vec<CallLimit> {
        let config = column.ai_config.as_ref();
        let model = config.and_then(|config| Model::choose(Choice::first(config), credentials).ok());
        model.map(|model| self.credential_limit(model.provider, &model.access)).into_iter().collect()
    }

    pub(super) fn credential_limit(&self, provider: &Provider, access: &Access) -> CallLimit {
        CallLimit {
            provider: provider.about.id,
            key: identity(provider, access),
            rates: provider.rates.to_vec(),
            at_once_max: self.config.at_once_max,
            has_circuit_breaker: true,
        }
    }

    /// Asks the column's first choice, and its fallback if that fails.
    pub(super) async fn ask_model(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
    ) -> Result<CallOutcome, CallOutcome> {
        let config = cell.column.ai_config.as_ref().filter(|config| !config.prompt.trim().is_empty());
        let config =
            config.ok_or_else(|| invalid("The column has no prompt. Add one in the column settings."))?;
        let prompt = Prompt::fill(cell, config)?;
        let attached = self.attached(cell, config).await?;
        let ask = async |choice| {
            let outcome = self.ask_choice(cell, credentials, config, &prompt, &attached.files, choice).await;
            outcome.unwrap_or_else(|outcome| outcome)
        };
        let outcome = ask(Choice::first(config)).await;
        let Some(fallback) = Choice::fallback(config).filter(|_| falls_back(&outcome, cell)) else {
            return Ok(outcome);
        };
        let (provider, model) = asked(config, credentials);
        let second = ask(fallback).await;
        Ok(FirstChoice { provider, model, outcome }.then(second, self.now()))
    }

    async fn ask_choice(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
        config: &AiConfig,
        prompt: &Prompt,
        files: &Arc<[Attachment]>,
        choice: Choice<'_>,
    ) -> Result<CallOutcome, CallOutcome> {
        let model = Model::choose(choice, credentials)?;
        let name = model.name.clone().ok_or_else(|| {
            invalid("No model is set. Choose one in the column settings, or set a default model for the provider.")
        })?;
        if let Some(limits) = &config.research {
            let spending = self.research_state.spending(cell.project.team, self.now()).await;
            let mut task = Task::new(cell, credentials, (&model, name), (config, limits), prompt, spending)?;
            task.attachments = Arc::clone(files);
            return Ok(self.reused(cell, task.digest(), true, Box::pin(self.research(&task))).await);
        }
        let output = match cell.column.data_shape {
            DataShape::Json => Output::Json(config.schema()),
            DataShape::Text | DataShape::Waterfall | DataShape::ScrapeResult => Output::Text,
        };
        let question = Question {
            prefix: Some(prompt.prefix(cell, &name)).filter(|prefix| prefix.bytes > 0),
            system: prompt.system.clone(),
            temperature: config.temperature,
            max_tokens: config.max_tokens,
            output,
            attachments: Arc::clone(files),
            ..Question::new(name, prompt.text.as_str())
        };
        let (team, account) =
            (team_part(cell.project.team), format!("{:?}", identity(model.provider, &model.access)));
        let asked = format!("{question:?}");
        let parts = [team.as_str(), &account, &asked].into_iter();
        let key = Digest::of(parts.chain(files.iter().map(|file| file.data.as_ref())));
        Ok(self.reused(cell, key, true, Box::pin(self.converse(cell, &model, &question))).await)
    }
}

/// Whom a column would ask, and which model, as far as that is settled.
pub(super) fn asked(
    config: &AiConfig,
    credentials: &TeamCredentials,
) -> (Option<&'static str>, Option<String>) {
    match Model::choose(Choice::first(config), credentials) {
        Ok(model) => (Some(model.provider.about.id), model.name),
        Err(_) => (None, config.model.clone()),
    }
}
