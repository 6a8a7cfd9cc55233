//! Whom a column pays, and what one of its cells may take.

use rowmill_model::research::ResearchUse;
use rowmill_model::{Column, ColumnType, ErrorCode, Project};
use rowmill_providers::{Failure, FailureKind};

use super::ai_model::{Choice, Model};
use super::call_forecast::CallForecast;
use super::research::{engine_ids, engines};
use super::{ProviderCalls, column_limit, in_order};
use crate::call_limits::CallLimit;
use crate::cell_runner::{CallOutcome, Payees};
use crate::credentials::TeamCredentials;

/// What is taken for the text around a prompt, and for the values that are filled in.
const INPUT_BYTES: usize = 1_500;
/// What an answer is taken to have where the column sets no maximum.
const OUTPUT_TOKENS: u32 = 500;

impl ProviderCalls {
    pub(super) fn payees_of(column: &Column, credentials: &TeamCredentials) -> Payees {
        match column.kind {
            ColumnType::Ai => ai(column, credentials).unwrap_or_default(),
            ColumnType::Task => {
                let lookup = in_order::lookup(column);
                let providers = lookup.as_ref().map(in_order::provider_ids).unwrap_or_default();
                Payees { providers, ..Payees::default() }
            }
            ColumnType::Api | ColumnType::Manual | ColumnType::Reference => Payees::default(),
        }
    }
}

impl ProviderCalls {
    /// Whom a column pays, what limits its calls, and how many there can be at once.
    pub async fn forecast(&self, project: &Project, column: &Column) -> CallForecast {
        let at_once = self.config.at_once_max;
        let Ok(credentials) = self.credentials.of(project.team).await else {
            let missing_credential = Some("The team's credentials could not be read.".to_owned());
            return CallForecast {
                payees: Payees::default(),
                limits: Vec::new(),
                at_once,
                missing_credential,
            };
        };
        let research = column.ai_config.as_ref().and_then(|config| config.research.as_ref());
        let usual = research.map(|research| research.usual(0.0));
        let (answers, searches) = usual.map_or((1.0, 0.0), |usual| (usual.steps, usual.searches));
        let limits = match column.kind {
            ColumnType::Ai => self.ai_limits(column, &credentials),
            ColumnType::Api => self.api_limits(project.team, column),
            ColumnType::Task => self.lookup_limits(column, &credentials).unwrap_or_default(),
            ColumnType::Manual | ColumnType::Reference => Vec::new(),
        };
        let mut limits: Vec<(CallLimit, f64)> = limits.into_iter().map(|limit| (limit, answers)).collect();
        if let Some(first) =
            research.and_then(|research| engines(research, &credentials).ok()?.into_iter().next())
        {
            limits.push((self.credential_limit(first.provider, &first.access), searches));
        }
        limits.extend(column_limit(project, column).map(|limit| (limit, answers + searches)));
        let at_once = limits.iter().map(|(limit, _)| limit.at_once_max).fold(at_once, usize::min);
        let missing_credential = missing_credential(column, &credentials);
        CallForecast { payees: Self::payees_of(column, &credentials), limits, at_once, missing_credential }
    }
}

/// Which credential a column needs and lacks, in words.
fn missing_credential(column: &Column, credentials: &TeamCredentials) -> Option<String> {
    let words =
        |failure: Failure| Some(failure.message).filter(|_| failure.kind == FailureKind::MissingCredentials);
    match column.kind {
        ColumnType::Ai => {
            let config = column.ai_config.as_ref()?;
            if let Err(failure) = Model::choose(Choice::first(config), credentials) {
                return words(failure);
            }
            match engines(config.research.as_ref()?, credentials) {
                Err(CallOutcome::Failed(failure)) => {
                    let is_missing = failure.error.code == ErrorCode::MissingCredentials;
                    Some(failure.error.message).filter(|_| is_missing)
                }
                _ => None,
            }
        }
        ColumnType::Task => words(in_order::unreached(&in_order::lookup(column)?, credentials)?),
        ColumnType::Api | ColumnType::Manual | ColumnType::Reference => None,
    }
}

fn ai(column: &Column, credentials: &TeamCredentials) -> Option<Payees> {
    let config = column.ai_config.as_ref()?;
    let model = Model::choose(Choice::first(config), credentials).ok()?;
    let schema = config.output_schema.as_ref().map_or(0, |schema| schema.get().len());
    let bytes = config.prompt.len() + config.system.as_ref().map_or(0, String::len) + schema + INPUT_BYTES;
    // A token is three bytes at least, nearly always.
    let prompt_tokens = f64::from(u32::try_from(bytes / 3).unwrap_or(u32::MAX));
    let own = model.provider.about.id.to_owned();
    let Some(research) = &config.research else {
        return Some(Payees {
            providers: vec![own],
            model: model.name,
            input_tokens: prompt_tokens,
            output_tokens: f64::from(config.max_tokens.unwrap_or(OUTPUT_TOKENS)),
            is_batch: column.is_in_batches(),
            ..Payees::default()
        });
    };
    let ResearchUse { steps: _, searches, input_tokens, output_tokens } = research.usual(prompt_tokens);
    let search_providers =
        if research.hosted_search { vec![own.clone()] } else { engine_ids(research, credentials) };
    let others = search_providers.iter().filter(|provider| **provider != own).cloned();
    let providers = std::iter::once(own.clone()).chain(others).collect();
    Some(Payees {
        providers,
        model: model.name,
        input_tokens,
        output_tokens,
        searches,
        search_providers,
        is_batch: false,
    })
}
