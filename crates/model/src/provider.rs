//! The providers there are: what each is called, what it is good for and what it needs to be called.
//!
//! Where they live and how they are asked is not known here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::column::AiProvider;
use crate::lookup::LookupTask;

/// Somebody who is asked for a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// Its word in paths, in configurations and, in capitals, in environment variables.
    pub id: &'static str,
    pub label: &'static str,
    pub kind: ProviderKind,
    pub credential: Credential,
    /// The tasks whose columns can ask it.
    pub tasks: &'static [LookupTask],
}

/// The kind of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// A language model.
    Ai,
    /// Finds e-mail addresses.
    Finder,
    /// Searches the web.
    Search,
    /// Verifies e-mail addresses.
    Verifier,
}

/// What stands in the `apiKey`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// Nothing: it asks nobody.
    None,
    Key,
    /// A server of one's own may want none: its address alone configures it.
    KeyUnlessOwnServer,
    /// `client id:client secret`.
    IdAndSecret,
    /// Nothing: there is no vendor, only servers of one's own, which their address configures.
    OwnServer,
}

/// All of them; those of a task in the order a new column asks them, and so the search engines.
pub static PROVIDERS: [Provider; 22] = [
    OPENAI,
    ANTHROPIC,
    HUNTER,
    FINDYMAIL,
    PROSPEO,
    DROPCONTACT,
    APOLLO,
    SNOV,
    ICYPEAS,
    LEADMAGIC,
    ANYMAILFINDER,
    WIZA,
    PATTERN,
    DOMAIN_CHECK,
    ZEROBOUNCE,
    NEVERBOUNCE,
    MILLIONVERIFIER,
    SEARXNG,
    SERPER,
    BRAVE,
    TAVILY,
    EXA,
];

pub const OPENAI: Provider = Provider {
    id: "openai",
    label: "OpenAI-compatible",
    kind: ProviderKind::Ai,
    credential: Credential::KeyUnlessOwnServer,
    tasks: &[],
};
pub const ANTHROPIC: Provider = Provider {
    id: "anthropic",
    label: "Anthropic",
    kind: ProviderKind::Ai,
    credential: Credential::Key,
    tasks: &[],
};
pub const HUNTER: Provider =
    Provider { tasks: &LookupTask::ALL, ..finder("hunter", "Hunter", Credential::Key) };
pub const FINDYMAIL: Provider = Provider {
    tasks: &[LookupTask::WaterfallEmail, LookupTask::VerifyEmail],
    ..finder("findymail", "Findymail", Credential::Key)
};
pub const PROSPEO: Provider = finder("prospeo", "Prospeo", Credential::Key);
pub const DROPCONTACT: Provider = finder("dropcontact", "Dropcontact", Credential::Key);
pub const APOLLO: Provider = Provider {
    tasks: &[LookupTask::WaterfallEmail, LookupTask::FindCompany, LookupTask::FindPeople],
    ..finder("apollo", "Apollo", Credential::Key)
};
pub const SNOV: Provider = finder("snov", "Snov.io", Credential::IdAndSecret);
pub const ICYPEAS: Provider = finder("icypeas", "Icypeas", Credential::Key);
pub const LEADMAGIC: Provider =
    Provider { tasks: &LookupTask::ALL, ..finder("leadmagic", "LeadMagic", Credential::Key) };
pub const ANYMAILFINDER: Provider = finder("anymailfinder", "Anymail Finder", Credential::Key);
pub const WIZA: Provider = finder("wiza", "Wiza", Credential::Key);
/// Guesses an address from the usual patterns.
pub const PATTERN: Provider = finder("pattern", "Pattern guess", Credential::None);

/// Looks at the address and asks DNS where its mail goes.
pub const DOMAIN_CHECK: Provider = verifier("domaincheck", "Domain check", Credential::None);
pub const ZEROBOUNCE: Provider = verifier("zerobounce", "ZeroBounce", Credential::Key);
pub const NEVERBOUNCE: Provider = verifier("neverbounce", "NeverBounce", Credential::Key);
pub const MILLIONVERIFIER: Provider = verifier("millionverifier", "MillionVerifier", Credential::Key);

pub const SEARXNG: Provider = search("searxng", "SearXNG", Credential::OwnServer);
pub const SERPER: Provider = search("serper", "Serper", Credential::Key);
pub const BRAVE: Provider = search("brave", "Brave Search", Credential::Key);
pub const TAVILY: Provider = search("tavily", "Tavily", Credential::Key);
pub const EXA: Provider = search("exa", "Exa", Credential::Key);

const fn search(id: &'static str, label: &'static str, credential: Credential) -> Provider {
    Provider { id, label, kind: ProviderKind::Search, credential, tasks: &[] }
}

const fn finder(id: &'static str, label: &'static str, credential: Credential) -> Provider {
    Provider { id, label, kind: ProviderKind::Finder, credential, tasks: &[LookupTask::WaterfallEmail] }
}

const fn verifier(id: &'static str, label: &'static str, credential: Credential) -> Provider {
    Provider { id, label, kind: ProviderKind::Verifier, credential, tasks: &[LookupTask::VerifyEmail] }
}

impl Provider {
    pub fn named(id: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.id == id)
    }

    pub fn of_ai(ai: AiProvider) -> Self {
        match ai {
            AiProvider::Openai => OPENAI,
            AiProvider::Anthropic => ANTHROPIC,
        }
    }

    /// Whether each of its web searches is a credit where it tells none. Exa tells dollars, and a server of one's own
    /// is not paid.
    pub fn has_search_credits(&self) -> bool {
        self.kind == ProviderKind::Search && self.credential == Credential::Key && self.id != EXA.id
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
        match self.credential {
            Credential::None => true,
            Credential::Key | Credential::IdAndSecret => has_key,
            Credential::KeyUnlessOwnServer => has_key || has_base_url,
            Credential::OwnServer => has_base_url,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_is_found_by_its_id_and_has_its_variables() {
        for provider in &PROVIDERS {
            assert_eq!(Provider::named(provider.id), Some(provider));
        }
        assert_eq!(Provider::named("Hunter"), None);
        assert_eq!(HUNTER.api_key_variable(), "ROWMILL_HUNTER_API_KEY");
        assert_eq!(HUNTER.base_url_variable(), "ROWMILL_HUNTER_BASE_URL");
        assert_eq!(Provider::of_ai(AiProvider::Anthropic).id, "anthropic");
    }

    #[test]
    fn who_can_be_asked_for_what() {
        let check = |task: LookupTask, expected: &[&str]| {
            let asked = PROVIDERS.iter().filter(|provider| provider.tasks.contains(&task));
            let asked: Vec<&str> = asked.map(|provider| provider.id).collect();
            assert_eq!(asked, expected, "{task:?}");
        };
        check(
            LookupTask::VerifyEmail,
            &[
                "hunter",
                "findymail",
                "leadmagic",
                "domaincheck",
                "zerobounce",
                "neverbounce",
                "millionverifier",
            ],
        );
        check(LookupTask::FindCompany, &["hunter", "apollo", "leadmagic"]);
        check(LookupTask::FindPeople, &["hunter", "apollo", "leadmagic"]);
        for provider in &PROVIDERS {
            let finds = provider.tasks.contains(&LookupTask::WaterfallEmail);
            assert_eq!(finds, provider.kind == ProviderKind::Finder, "{}", provider.id);
        }
    }

    #[test]
    fn what_configures_a_provider() {
        let check = |provider: Provider, expected: [bool; 4]| {
            let found = [(false, false), (false, true), (true, false), (true, true)]
                .map(|(has_key, has_base_url)| provider.is_configured(has_key, has_base_url));
            assert_eq!(found, expected, "{}", provider.id);
        };
        check(OPENAI, [false, true, true, true]);
        check(ANTHROPIC, [false, false, true, true]);
        check(SNOV, [false, false, true, true]);
        check(PATTERN, [true; 4]);
        check(DOMAIN_CHECK, [true; 4]);
        check(SEARXNG, [false, true, false, true]);
    }
}
