//! The seam to what teams and the operator have entrusted to the service.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use rowmill_model::TeamId;
use rowmill_providers::catalogue::Provider;
use rowmill_providers::{Access, Failure, NetworkPolicy, Secret};

/// Knows what a team may use. It is asked for every cell, so it should answer from memory.
#[async_trait]
pub trait Credentials: std::fmt::Debug + Send + Sync + 'static {
    /// The error is a sentence for the log.
    async fn of(&self, team: TeamId) -> Result<Arc<TeamCredentials>, String>;
}

/// Everything a team may use: its own, and what the operator provides where it has none.
#[derive(Clone, Default)]
pub struct TeamCredentials {
    /// By the provider's id.
    pub providers: BTreeMap<String, ProviderCredential>,
    /// By name.
    pub secrets: BTreeMap<String, Secret>,
}

impl TeamCredentials {
    /// How a provider is reached with what the team has.
    pub(crate) fn access(&self, provider: &Provider) -> Result<Access, Failure> {
        match self.providers.get(provider.about.id) {
            Some(credential) => {
                let network_policy = credential.from.network_policy();
                provider.access(credential.api_key.clone(), credential.base_url.as_deref(), network_policy)
            }
            None => provider.access(None, None, NetworkPolicy::Guarded),
        }
    }
}

/// How one provider is reached.
#[derive(Clone)]
pub struct ProviderCredential {
    pub api_key: Option<Secret>,
    pub base_url: Option<String>,
    /// The model that is asked where a column names none.
    pub model: Option<String>,
    /// Who named the address; if there is none it does not matter.
    pub from: CredentialFrom,
}

/// Who named a provider's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialFrom {
    Team,
    Environment,
}

impl CredentialFrom {
    /// The operator's addresses are trusted as they are; a team's are not.
    pub fn network_policy(self) -> NetworkPolicy {
        match self {
            Self::Team => NetworkPolicy::Guarded,
            Self::Environment => NetworkPolicy::Trusted,
        }
    }
}

impl std::fmt::Debug for TeamCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TeamCredentials").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ProviderCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderCredential").field("from", &self.from).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_shows_nothing() {
        let credential = ProviderCredential {
            api_key: Some(Secret::new("canary")),
            base_url: Some("http://canary".to_owned()),
            model: None,
            from: CredentialFrom::Team,
        };
        let secrets = [("canary".to_owned(), Secret::new("canary"))].into();
        let providers = [("canary".to_owned(), credential.clone())].into();
        let text = format!("{credential:?} {:?}", TeamCredentials { providers, secrets });
        assert!(!text.contains("canary"), "{text}");
    }
}
