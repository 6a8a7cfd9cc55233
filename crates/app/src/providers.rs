//! What a team calls providers with.

use rowmill_model::provider::{Credential, PROVIDERS, Provider};
use rowmill_model::{Offence, Secret};
use rowmill_store::SealedKind;
use url::Url;

use crate::app::App;
use crate::caller::Caller;
use crate::credential_checks::{check_api_key, check_base_url, check_model};
use crate::credentials::{Checked, Credentials, Source, Unopened};
use crate::environment::Environment;
use crate::error::{Error, Noun, Result};

/// A provider as a team sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderState {
    pub provider: &'static Provider,
    /// Whether it can be called.
    pub configured: bool,
    /// Whose credential there is; none where there is none, or none is needed.
    pub source: Option<Source>,
    /// Why the team's own credential is of no use.
    pub fault: Option<Unopened>,
    /// What the team named beside its key, to be changed later.
    pub base_url: Option<String>,
    pub model: Option<String>,
}

impl ProviderState {
    fn new(provider: &'static Provider, credentials: &Credentials, operators: &Environment) -> Self {
        let configured = credentials.is_configured(provider);
        let state = Self { provider, configured, source: None, fault: None, base_url: None, model: None };
        match credentials.provider(provider.id) {
            Ok(Some(access)) if access.source == Source::Team => {
                let base_url = access.base_url.as_ref().filter(|url| url.source == Source::Team);
                let base_url = base_url.map(|url| url.address.clone()).filter(|url| is_showable(url));
                // Where a team names no model, the operator's is asked, which is nothing the team has said.
                let model = access.model.clone().filter(|model| operators.ai_model() != Some(model));
                Self { source: Some(Source::Team), base_url, model, ..state }
            }
            Ok(access) => Self { source: access.map(|access| access.source), ..state },
            // Only what teams sealed is ever opened.
            Err(unopened) => Self { source: Some(Source::Team), fault: Some(unopened), ..state },
        }
    }
}

/// An address may hold a credential, before the host or after the path. Then it is not shown.
fn is_showable(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| {
        let parts = (url.username(), url.password(), url.query(), url.fragment());
        parts == ("", None, None, None)
    })
}

/// A credential as a team gives it.
#[derive(Debug, Default)]
pub struct NewCredential {
    pub api_key: Option<Secret>,
    pub base_url: Option<String>,
    pub model: Option<String>,
}

impl App {
    /// All providers, as the caller's team sees them.
    pub async fn providers(&self, caller: Caller) -> Result<Vec<ProviderState>> {
        let credentials = self.credentials(caller.with_key()?.team).await?;
        Ok(PROVIDERS
            .iter()
            .map(|provider| ProviderState::new(provider, &credentials, &self.environment))
            .collect())
    }

    /// Gives a team its own credential of a provider, in place of the one it had.
    pub async fn set_provider(
        &self,
        caller: Caller,
        provider: &str,
        new: NewCredential,
    ) -> Result<ProviderState> {
        let team = caller.with_key()?.team;
        let provider = Provider::named(provider).ok_or(Error::NotFound(Noun::Provider))?;
        self.seal_provider(team, provider, &check(provider, new)?).await?;
        Ok(ProviderState::new(provider, &*self.credentials(team).await?, &self.environment))
    }

    /// Says whether the team had a credential of its own.
    pub async fn delete_provider(&self, caller: Caller, provider: &str) -> Result<bool> {
        let team = caller.with_key()?.team;
        let provider = Provider::named(provider).ok_or(Error::NotFound(Noun::Provider))?;
        self.unseal(team, SealedKind::Provider, provider.id).await
    }
}

fn check(provider: &Provider, new: NewCredential) -> Result<Checked> {
    let NewCredential { api_key, base_url, model } = new;
    if provider.credential == Credential::None {
        let words = format!("{} does not use a credential", provider.label);
        return Err(Error::invalid(vec![Offence::new("", words)]));
    }
    let mut offences = Vec::new();
    if !provider.is_configured(api_key.is_some(), base_url.is_some()) {
        let unless = match provider.credential {
            Credential::KeyUnlessOwnServer => ", unless baseUrl points to your own server",
            Credential::None | Credential::Key | Credential::IdAndSecret | Credential::OwnServer => "",
        };
        let place = if provider.credential == Credential::OwnServer { "baseUrl" } else { "apiKey" };
        offences.push(Offence::new(place, format!("is required{unless}")));
    }
    let checked = Checked {
        api_key: api_key.map(|key| check_api_key("apiKey", &key, &mut offences)),
        base_url: base_url.map(|url| check_base_url("baseUrl", &url, &mut offences)),
        model: model.map(|model| check_model("model", &model, &mut offences)),
    };
    if offences.is_empty() { Ok(checked) } else { Err(Error::invalid(offences)) }
}

#[cfg(test)]
mod tests {
    use rowmill_model::provider::{HUNTER, OPENAI, PATTERN, SEARXNG};

    use super::*;

    type Sent<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>);

    fn checked(provider: Provider, (api_key, base_url, model): Sent<'_>) -> Result<Checked> {
        let new = NewCredential {
            api_key: api_key.map(Secret::new),
            base_url: base_url.map(str::to_owned),
            model: model.map(str::to_owned),
        };
        check(&provider, new)
    }

    #[track_caller]
    fn refused(provider: Provider, sent: Sent<'_>, expected: &[&str]) {
        let Err(Error::Invalid { message, details }) = checked(provider, sent) else { panic!("{sent:?}") };
        let places: Vec<&str> = details.iter().map(|offence| offence.path.as_str()).collect();
        assert_eq!(places, expected, "{sent:?}");
        assert!(!format!("{message} {details:?}").contains("canary"), "{details:?}");
    }

    #[test]
    fn what_is_taken_is_trimmed() {
        let taken = checked(HUNTER, (Some(" k \n"), Some(" https://x/y "), Some(" m "))).unwrap();
        assert_eq!(taken.api_key, Some(Secret::new("k")));
        assert_eq!((taken.base_url.as_deref(), taken.model.as_deref()), (Some("https://x/y"), Some("m")));
        checked(HUNTER, (Some(&"k".repeat(4_096)), None, None)).unwrap();
        checked(OPENAI, (None, Some("http://localhost:11434/v1"), None)).unwrap();
        checked(OPENAI, (Some("k"), None, None)).unwrap();
        checked(SEARXNG, (None, Some("http://search.example"), None)).unwrap();
    }

    #[test]
    fn what_is_refused_is_not_quoted() {
        refused(PATTERN, (Some("canary"), None, None), &[""]);
        refused(HUNTER, (None, None, None), &["apiKey"]);
        refused(HUNTER, (None, Some("http://x"), None), &["apiKey"]);
        refused(OPENAI, (None, None, Some("m")), &["apiKey"]);
        refused(SEARXNG, (Some("k"), None, None), &["baseUrl"]);
        refused(OPENAI, (Some(" "), Some("http://x"), None), &["apiKey"]);
        for key in ["canary\ncanary", "canary\u{7f}canary", &"canary".repeat(1_000)] {
            refused(HUNTER, (Some(key), None, None), &["apiKey"]);
        }
        for url in ["canary", "canary.example", "ftp://canary", "http://", "", "http://can ary", "//canary"] {
            refused(HUNTER, (Some("k"), Some(url), None), &["baseUrl"]);
        }
        refused(HUNTER, (Some("k"), Some(&format!("http://{}", "c".repeat(2_048))), None), &["baseUrl"]);
        let long = "m".repeat(256);
        refused(HUNTER, (Some("\n"), Some("canary"), Some(&long)), &["apiKey", "baseUrl", "model"]);
    }
}
