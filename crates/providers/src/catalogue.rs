//! Which providers there are, where they live and what they need.

use rowmill_model::column::{AiProvider, RateLimit};
use url::Url;

use crate::access::Access;
use crate::email::Finder;
use crate::guard::Reach;
use crate::outcome::{Failure, FailureKind};
use crate::secret::Secret;

/// One provider with a credential of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its word in paths, in configurations and, in capitals, in environment variables.
    pub id: &'static str,
    pub label: &'static str,
    pub kind: Kind,
    pub credential: Credential,
    /// What stands before the documented paths.
    pub base_url: &'static str,
    /// What the vendor says an account may do; all of it holds at once. Empty where nothing is said.
    pub rates: &'static [RateLimit],
}

/// What a provider is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ai(AiProvider),
    Finder(Finder),
}

impl Kind {
    /// The word the API uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ai(_) => "ai",
            Self::Finder(_) => "finder",
        }
    }
}

/// What stands in the `apiKey`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    Key,
    /// A server of one's own may want none: its address alone configures it.
    KeyUnlessOwnServer,
    /// `client id:client secret`.
    IdAndSecret,
}

const fn finder(id: &'static str, label: &'static str, finder: Finder, base_url: &'static str) -> Provider {
    Provider { id, label, kind: Kind::Finder(finder), credential: Credential::Key, base_url, rates: &[] }
}

const fn rate(requests: u32, per_seconds: u32) -> RateLimit {
    RateLimit { requests, per_seconds }
}

/// In the order a new waterfall tries them.
pub static PROVIDERS: [Provider; 12] = [
    Provider {
        id: "openai",
        label: "OpenAI-compatible",
        kind: Kind::Ai(AiProvider::Openai),
        credential: Credential::KeyUnlessOwnServer,
        base_url: "https://api.openai.com/v1",
        rates: &[],
    },
    Provider {
        id: "anthropic",
        label: "Anthropic",
        kind: Kind::Ai(AiProvider::Anthropic),
        credential: Credential::Key,
        base_url: "https://api.anthropic.com",
        rates: &[],
    },
    Provider {
        rates: &[rate(15, 1), rate(500, 60)],
        ..finder("hunter", "Hunter", Finder::Hunter, "https://api.hunter.io")
    },
    finder("findymail", "Findymail", Finder::Findymail, "https://app.findymail.com"),
    finder("prospeo", "Prospeo", Finder::Prospeo, "https://api.prospeo.io"),
    finder("dropcontact", "Dropcontact", Finder::Dropcontact, "https://api.dropcontact.com"),
    Provider {
        rates: &[rate(1_000, 60)],
        ..finder("apollo", "Apollo", Finder::Apollo, "https://api.apollo.io")
    },
    Provider {
        credential: Credential::IdAndSecret,
        rates: &[rate(60, 60)],
        ..finder("snov", "Snov.io", Finder::Snov, "https://api.snov.io")
    },
    finder("icypeas", "Icypeas", Finder::Icypeas, "https://app.icypeas.com"),
    finder("leadmagic", "LeadMagic", Finder::Leadmagic, "https://api.leadmagic.io"),
    finder("anymailfinder", "Anymail Finder", Finder::Anymailfinder, "https://api.anymailfinder.com"),
    finder("wiza", "Wiza", Finder::Wiza, "https://wiza.co"),
];

impl Provider {
    pub fn named(id: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.id == id)
    }

    pub fn of_ai(ai: AiProvider) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.kind == Kind::Ai(ai))
    }

    /// `ROWMILL_<PROVIDER>_API_KEY`.
    pub fn api_key_variable(&self) -> String {
        format!("ROWMILL_{}_API_KEY", self.id.to_uppercase())
    }

    /// `ROWMILL_<PROVIDER>_BASE_URL`.
    pub fn base_url_variable(&self) -> String {
        format!("ROWMILL_{}_BASE_URL", self.id.to_uppercase())
    }

    /// Whether these are enough to call it.
    pub fn is_configured(&self, has_key: bool, has_base_url: bool) -> bool {
        has_key || (has_base_url && self.credential == Credential::KeyUnlessOwnServer)
    }

    /// How to reach it. `base_url` is somebody's own address, `reach` says whose: the operator's is
    /// trusted, a team's is not. Without one the vendor's is called.
    pub fn access(
        &self,
        api_key: Option<Secret>,
        base_url: Option<&str>,
        reach: Reach,
    ) -> Result<Access, Failure> {
        let reach = if base_url.is_some() { reach } else { Reach::Trusted };
        let api_key = api_key.filter(|key| !key.expose().trim().is_empty());
        if !self.is_configured(api_key.is_some(), base_url.is_some()) {
            let words = format!("There is no API key for {}.", self.label);
            return Err(Failure::new(FailureKind::MissingCredentials, words));
        }
        // A wrong address is not quoted: people paste keys into the wrong field.
        let base_url = Url::parse(base_url.unwrap_or(self.base_url).trim())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| {
                let words = format!("The base address of {} is no http or https address.", self.label);
                Failure::new(FailureKind::InvalidInput, words)
            })?;
        Ok(Access { base_url, reach, api_key })
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::template::{self, Catalogue};

    use super::*;

    #[test]
    fn the_finders_are_those_a_waterfall_knows() {
        let known = Catalogue::default().finders;
        let known = known.iter().filter(|finder| finder.task_type != template::Finder::PATTERN);
        let known: Vec<(&str, &str)> =
            known.map(|finder| (finder.task_type.as_str(), finder.label.as_str())).collect();
        let finders = PROVIDERS.iter().filter(|provider| matches!(provider.kind, Kind::Finder(_)));
        let finders: Vec<(&str, &str)> = finders.map(|provider| (provider.id, provider.label)).collect();
        assert_eq!(finders, known);
    }

    #[test]
    fn every_provider_has_its_variables_and_a_good_address() {
        for provider in &PROVIDERS {
            let access = provider.access(Some(Secret::new("k")), None, Reach::Guarded).unwrap();
            assert_eq!(
                (access.base_url.scheme(), access.reach),
                ("https", Reach::Trusted),
                "{}",
                provider.id
            );
            assert_eq!(Provider::named(provider.id), Some(provider));
        }
        let hunter = Provider::named("hunter").unwrap();
        assert_eq!(hunter.api_key_variable(), "ROWMILL_HUNTER_API_KEY");
        assert_eq!(hunter.base_url_variable(), "ROWMILL_HUNTER_BASE_URL");
        assert_eq!(Provider::of_ai(AiProvider::Anthropic).map(|provider| provider.id), Some("anthropic"));
        assert_eq!(Provider::named("pattern"), None);
    }

    #[test]
    fn what_is_not_enough_is_told() {
        let own = Some("http://127.0.0.1:11434/v1");
        let openai = Provider::named("openai").unwrap();
        let access = openai.access(None, own, Reach::Guarded).unwrap();
        assert_eq!((access.reach, access.api_key), (Reach::Guarded, None));
        let kind = |id: &str, key: Option<&str>, base_url| {
            let provider = Provider::named(id).unwrap();
            provider.access(key.map(Secret::new), base_url, Reach::Guarded).unwrap_err().kind
        };
        assert_eq!(kind("openai", None, None), FailureKind::MissingCredentials);
        assert_eq!(kind("openai", Some(" "), None), FailureKind::MissingCredentials);
        assert_eq!(kind("hunter", None, own), FailureKind::MissingCredentials);
        for wrong in ["", "sk-canary", "file:///x", "localhost:1"] {
            assert_eq!(kind("hunter", Some("k"), Some(wrong)), FailureKind::InvalidInput);
        }
    }
}
