//! Credentials and team secrets on the wire. Keys and secrets that are sent in are never sent out.

use rowmill_app::{NewCredential, ProviderState, SecretState, Source, Unopened};
use rowmill_model::{LookupTask, ProviderKind, Secret};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A provider's credential. It replaces the previous one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CredentialBody {
    /// The provider's API key; for Snov.io `client id:client secret`. Required, unless the provider is `openai`
    /// and `baseUrl` points to a server that needs none. It is never returned.
    #[serde(default, deserialize_with = "secret")]
    #[schemars(
        with = "Option<String>",
        extend("x-document" = { "minLength": 1, "maxLength": 4096 })
    )]
    api_key: Option<Secret>,
    /// A base URL other than the vendor's. For `openai` it includes `/v1`. Private addresses are blocked unless
    /// the operator allows them.
    #[serde(default)]
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 2048 }))]
    base_url: Option<String>,
    /// The default model for AI columns.
    #[serde(default)]
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 255 }))]
    model: Option<String>,
}

impl From<CredentialBody> for NewCredential {
    fn from(CredentialBody { api_key, base_url, model }: CredentialBody) -> Self {
        Self { api_key, base_url, model }
    }
}

/// A provider as the team sees it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Provider")]
pub(crate) struct ProviderOut {
    #[schemars(length(max = 64))]
    id: &'static str,
    /// `ai` responds to prompts, `finder` finds e-mail addresses, `search` searches the web, `verifier` verifies e-mail
    /// addresses.
    kind: ProviderKind,
    /// The tasks (`taskType`) whose columns can use the provider.
    #[schemars(length(max = 16))]
    tasks: &'static [LookupTask],
    #[schemars(length(max = 255))]
    label: &'static str,
    /// Whether columns can use the provider. `pattern` and `domaincheck` need no credential and are
    /// always configured.
    configured: bool,
    /// Whose credential is used: the team's, which takes precedence, or the operator's. Null if there is none
    /// or none is needed.
    source: Option<SourceOut>,
    /// Present only if the team's credential cannot be used: why, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 1_000))]
    error: Option<String>,
    /// The base URL the team set, unless it contains a credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 2_048))]
    base_url: Option<String>,
    /// The model the team set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 255))]
    model: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Source")]
enum SourceOut {
    Team,
    Environment,
}

impl From<ProviderState> for ProviderOut {
    fn from(state: ProviderState) -> Self {
        let ProviderState { provider, configured, source, fault, base_url, model } = state;
        let source = source.map(|source| match source {
            Source::Team => SourceOut::Team,
            Source::Environment => SourceOut::Environment,
        });
        let rowmill_model::Provider { id, label, kind, credential: _, tasks } = *provider;
        Self { id, kind, tasks, label, configured, source, error: told(fault), base_url, model }
    }
}

/// A secret's value. It replaces the previous one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretBody {
    /// Never returned.
    #[serde(deserialize_with = "required_secret")]
    #[schemars(with = "String", length(min = 1, max = 8_192))]
    pub(crate) value: Secret,
}

/// A team secret without its value.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Secret")]
pub(crate) struct SecretOut {
    #[schemars(length(max = 64))]
    name: String,
    /// Present only if the secret cannot be used: why, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 1_000))]
    error: Option<String>,
}

impl SecretOut {
    /// One that was just set.
    pub(crate) fn named(name: String) -> Self {
        Self { name, error: None }
    }
}

impl From<SecretState> for SecretOut {
    fn from(SecretState { name, fault }: SecretState) -> Self {
        Self { name, error: told(fault) }
    }
}

fn told(fault: Option<Unopened>) -> Option<String> {
    fault.map(|fault| fault.to_string())
}

fn secret<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.map(Secret::new))
}

fn required_secret<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
    String::deserialize(from).map(Secret::new)
}
