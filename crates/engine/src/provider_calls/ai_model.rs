//! Which model a column asks, and how it is reached.

use rowmill_model::column::{AiConfig, AiFallback, AiProvider};
use rowmill_providers::catalogue::Provider;
use rowmill_providers::{Access, Failure, FailureKind};

use crate::credentials::TeamCredentials;

/// Whom a column wants to ask: its first choice, or its fallback.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice<'a> {
    provider: Option<AiProvider>,
    model: Option<&'a str>,
}

impl<'a> Choice<'a> {
    pub(super) fn first(config: &'a AiConfig) -> Self {
        Self { provider: config.provider, model: named(config.model.as_ref()) }
    }

    /// The second choice. Where it names no provider, it is another model of the first one's.
    pub(super) fn fallback(config: &'a AiConfig) -> Option<Self> {
        let AiFallback { provider, model } = config.fallback.as_ref()?;
        let model = named(model.as_ref());
        let is_given = provider.is_some() || model.is_some();
        is_given.then_some(Self { provider: provider.or(config.provider), model })
    }
}

fn named(model: Option<&String>) -> Option<&str> {
    model.map(|model| model.trim()).filter(|model| !model.is_empty())
}

/// A model that can be asked.
pub(super) struct Model {
    pub(super) provider: &'static Provider,
    pub(super) ai: AiProvider,
    pub(super) access: Access,
    /// None if neither the column nor the provider's settings name one.
    pub(super) name: Option<String>,
}

impl Model {
    /// Whom a column asks: whom it names, else the first provider the team can use.
    pub(super) fn choose(choice: Choice<'_>, credentials: &TeamCredentials) -> Result<Self, Failure> {
        let reach = |ai: AiProvider| {
            let provider = Provider::of_ai(ai).ok_or_else(|| {
                Failure::new(
                    FailureKind::InvalidInput,
                    "The column's provider is unknown to this server. Choose another one in the column settings.",
                )
            })?;
            let usual = credentials.providers.get(provider.about.id).and_then(|own| own.model.as_ref());
            let name = choice.model.or_else(|| named(usual)).map(str::to_owned);
            Ok(Self { provider, ai, access: credentials.access(provider)?, name })
        };
        match choice.provider {
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
}
