//! Where the providers live and how they are asked. Who they are is [`rowmill_model::provider`]'s.

use rowmill_model::column::{AiProvider, RateLimit};
use rowmill_model::provider::{self, Provider as About};
use url::Url;

use crate::access::Access;
use crate::email::Finder;
use crate::failure::{Failure, FailureKind};
use crate::redactor::Secret;
use crate::search::Engine;
use crate::ssrf_guard::NetworkPolicy;
use crate::verify::Verifier;

/// One provider that is called over the net.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Who it is, and what it needs.
    pub about: About,
    /// Whose words it is asked in.
    pub kind: Kind,
    /// What stands before the documented paths.
    pub base_url: &'static str,
    /// What the vendor says an account may do; all of it holds at once. Empty where nothing is said.
    pub rates: &'static [RateLimit],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ai(AiProvider),
    Finder(Finder),
    Search(Engine),
    Verifier(Verifier),
}

const fn provider(about: About, kind: Kind, base_url: &'static str) -> Provider {
    Provider { about, kind, base_url, rates: &[] }
}

const fn finder(about: About, finder: Finder, base_url: &'static str) -> Provider {
    provider(about, Kind::Finder(finder), base_url)
}

const fn search(about: About, engine: Engine, base_url: &'static str) -> Provider {
    provider(about, Kind::Search(engine), base_url)
}

const fn verifier(about: About, verifier: Verifier, base_url: &'static str) -> Provider {
    provider(about, Kind::Verifier(verifier), base_url)
}

const fn rate(requests: u32, per_seconds: u32) -> RateLimit {
    RateLimit { requests, per_seconds }
}

pub static PROVIDERS: [Provider; 20] = [
    provider(provider::OPENAI, Kind::Ai(AiProvider::Openai), "https://api.openai.com/v1"),
    provider(provider::ANTHROPIC, Kind::Ai(AiProvider::Anthropic), "https://api.anthropic.com"),
    Provider {
        rates: &[rate(15, 1), rate(500, 60)],
        ..finder(provider::HUNTER, Finder::Hunter, "https://api.hunter.io")
    },
    finder(provider::FINDYMAIL, Finder::Findymail, "https://app.findymail.com"),
    finder(provider::PROSPEO, Finder::Prospeo, "https://api.prospeo.io"),
    finder(provider::DROPCONTACT, Finder::Dropcontact, "https://api.dropcontact.com"),
    Provider {
        rates: &[rate(1_000, 60)],
        ..finder(provider::APOLLO, Finder::Apollo, "https://api.apollo.io")
    },
    Provider { rates: &[rate(60, 60)], ..finder(provider::SNOV, Finder::Snov, "https://api.snov.io") },
    finder(provider::ICYPEAS, Finder::Icypeas, "https://app.icypeas.com"),
    finder(provider::LEADMAGIC, Finder::Leadmagic, "https://api.leadmagic.io"),
    finder(provider::ANYMAILFINDER, Finder::Anymailfinder, "https://api.anymailfinder.com"),
    finder(provider::WIZA, Finder::Wiza, "https://wiza.co"),
    verifier(provider::ZEROBOUNCE, Verifier::Zerobounce, "https://api.zerobounce.net"),
    verifier(provider::NEVERBOUNCE, Verifier::Neverbounce, "https://api.neverbounce.com"),
    verifier(provider::MILLIONVERIFIER, Verifier::Millionverifier, "https://api.millionverifier.com"),
    // There is no vendor: it is called only where somebody names their own server.
    search(provider::SEARXNG, Engine::Searxng, ""),
    search(provider::SERPER, Engine::Serper, "https://google.serper.dev"),
    Provider {
        rates: &[rate(50, 1)],
        ..search(provider::BRAVE, Engine::Brave, "https://api.search.brave.com")
    },
    search(provider::TAVILY, Engine::Tavily, "https://api.tavily.com"),
    Provider { rates: &[rate(10, 1)], ..search(provider::EXA, Engine::Exa, "https://api.exa.ai") },
];

impl Provider {
    pub fn named(id: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.about.id == id)
    }

    pub fn of_ai(ai: AiProvider) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.kind == Kind::Ai(ai))
    }

    /// How to reach it. `base_url` is somebody's own address, `network_policy` says whose: the operator's is
    /// trusted, a team's is not. Without one the vendor's is called.
    pub fn access(
        &self,
        api_key: Option<Secret>,
        base_url: Option<&str>,
        network_policy: NetworkPolicy,
    ) -> Result<Access, Failure> {
        let network_policy = if base_url.is_some() { network_policy } else { NetworkPolicy::Trusted };
        let api_key = api_key.filter(|key| !key.expose().trim().is_empty());
        if !self.about.is_configured(api_key.is_some(), base_url.is_some()) {
            let lacks = if self.base_url.is_empty() { "base URL" } else { "API key" };
            let words = format!("No {lacks} for {}. Add one in the settings.", self.about.label);
            return Err(Failure::new(FailureKind::MissingCredentials, words));
        }
        // A wrong address is not quoted: people paste keys into the wrong field.
        let base_url = Url::parse(base_url.unwrap_or(self.base_url).trim())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| {
                let words = format!("The base URL of {} is not an http or https URL.", self.about.label);
                Failure::new(FailureKind::InvalidInput, words)
            })?;
        Ok(Access { base_url, network_policy, api_key })
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::LookupTask;
    use rowmill_model::provider::Credential;

    use super::*;
    use crate::directory::Directory;

    #[test]
    fn whoever_needs_a_credential_is_called_here() {
        let known = provider::PROVIDERS.iter().filter(|about| about.credential != Credential::None);
        assert!(known.eq(PROVIDERS.iter().map(|provider| &provider.about)));
    }

    #[test]
    fn whoever_can_be_asked_has_an_adapter() {
        for about in &provider::PROVIDERS {
            let is_keyless = about.credential == Credential::None;
            let has = |task| about.tasks.contains(&task) && !is_keyless;
            assert_eq!(Verifier::named(about.id).is_some(), has(LookupTask::VerifyEmail), "{}", about.id);
            let directory = Directory::named(about.id).is_some();
            assert_eq!(directory, has(LookupTask::FindCompany), "{}", about.id);
            assert_eq!(directory, has(LookupTask::FindPeople), "{}", about.id);
        }
    }

    #[test]
    fn every_provider_has_a_good_address() {
        for provider in &PROVIDERS {
            assert_eq!(Provider::named(provider.about.id), Some(provider));
            if provider.about.credential == Credential::OwnServer {
                continue;
            }
            let access = provider.access(Some(Secret::new("k")), None, NetworkPolicy::Guarded).unwrap();
            let reached = (access.base_url.scheme(), access.network_policy);
            assert_eq!(reached, ("https", NetworkPolicy::Trusted), "{}", provider.about.id);
        }
        let anthropic = Provider::of_ai(AiProvider::Anthropic);
        assert_eq!(anthropic.map(|provider| provider.about.id), Some("anthropic"));
        assert_eq!(Provider::named("pattern"), None);
    }

    #[test]
    fn what_is_not_enough_is_told() {
        let own = Some("http://127.0.0.1:11434/v1");
        let openai = Provider::named("openai").unwrap();
        let access = openai.access(None, own, NetworkPolicy::Guarded).unwrap();
        assert_eq!((access.network_policy, access.api_key), (NetworkPolicy::Guarded, None));
        let kind = |id: &str, key: Option<&str>, base_url| {
            let provider = Provider::named(id).unwrap();
            provider.access(key.map(Secret::new), base_url, NetworkPolicy::Guarded).unwrap_err().kind
        };
        assert_eq!(kind("openai", None, None), FailureKind::MissingCredentials);
        assert_eq!(kind("openai", Some(" "), None), FailureKind::MissingCredentials);
        assert_eq!(kind("hunter", None, own), FailureKind::MissingCredentials);
        for wrong in ["", "sk-canary", "file:///x", "localhost:1"] {
            assert_eq!(kind("hunter", Some("k"), Some(wrong)), FailureKind::InvalidInput);
        }
    }
}
