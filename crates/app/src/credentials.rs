//! What a team's columns work with: access to providers, and the team's secrets, all opened.

use std::collections::{BTreeMap, HashMap};

use rowmill_model::provider::{Credential, PROVIDERS, Provider};
use rowmill_model::template::Catalogue;
use rowmill_model::{ProviderKind, Secret, TeamId};
use rowmill_store::{Sealed, SealedKind};
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::vault::{Label, Vault};

/// Everything opened for one team. It can neither be printed nor serialized.
#[derive(Default)]
pub struct Credentials {
    providers: HashMap<&'static str, Result<ProviderAccess, Unopened>>,
    secrets: BTreeMap<String, Result<Secret, Unopened>>,
}

/// What a provider is called with.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderAccess {
    /// None only where a server of one's own wants none.
    pub api_key: Option<Secret>,
    /// Without one the vendor's own address is called.
    pub base_url: Option<BaseUrl>,
    /// What an AI column asks that names no model.
    pub model: Option<String>,
    /// Whose credential it is.
    pub source: Source,
}

/// Somebody's own address of a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    pub address: String,
    /// Who named it: the operator is trusted with any address, a team is not.
    pub source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Team,
    Environment,
}

/// Something sealed cannot be opened: the key is another than it was sealed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "This was encrypted with a different secret key. Set it again, or start the server with the original \
     ROWMILL_SECRET_KEY or secret.key"
)]
pub struct Unopened;

impl Credentials {
    /// What a provider is called with; nothing if nobody configured it. A team's own credential that
    /// cannot be opened is not replaced by the operator's.
    pub fn provider(&self, id: &str) -> Result<Option<&ProviderAccess>, Unopened> {
        self.providers.get(id).map(Result::as_ref).transpose().map_err(|unopened| *unopened)
    }

    /// A team secret; nothing if there is none of that name.
    pub fn secret(&self, name: &str) -> Result<Option<&Secret>, Unopened> {
        self.secrets.get(name).map(Result::as_ref).transpose().map_err(|unopened| *unopened)
    }

    /// The names of the team's secrets, in order, and which of them cannot be opened.
    pub fn secret_names(&self) -> impl Iterator<Item = (&str, Option<Unopened>)> {
        self.secrets.iter().map(|(name, secret)| (name.as_str(), secret.as_ref().err().copied()))
    }

    /// Whether a provider can be called.
    pub fn is_configured(&self, provider: &Provider) -> bool {
        provider.credential == Credential::None || matches!(self.provider(provider.id), Ok(Some(_)))
    }

    /// The finders, those enabled that this team can call.
    pub(crate) fn catalogue(&self) -> Catalogue {
        Catalogue::default()
            .configured(|id| Provider::named(id).is_some_and(|provider| self.is_configured(provider)))
    }

    pub(crate) fn open(team: TeamId, sealed: Vec<Sealed>, vault: &Vault, environment: &Environment) -> Self {
        let mut opened = Self::default();
        for provider in &PROVIDERS {
            if let Some(access) = of_environment(provider, environment) {
                opened.providers.insert(provider.id, Ok(access));
            }
        }
        for Sealed { kind, name, bytes, updated_at_ms: _ } in sealed {
            let plain = vault.open(Label { team, kind, name: &name }, &bytes).ok_or(Unopened);
            match kind {
                SealedKind::Provider => {
                    // What a newer version of this program knows is left for it.
                    let Some(provider) = Provider::named(&name) else { continue };
                    let access = plain.and_then(|plain| of_team(provider, &plain, environment));
                    opened.providers.insert(provider.id, access);
                }
                SealedKind::Secret => {
                    let text = plain.and_then(|plain| String::from_utf8(plain).map_err(|_| Unopened));
                    opened.secrets.insert(name, text.map(Secret::new));
                }
            }
        }
        opened
    }
}

/// A credential as a team gives it, already checked.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) api_key: Option<Secret>,
    pub(crate) base_url: Option<String>,
    pub(crate) model: Option<String>,
}

impl Checked {
    /// The JSON text that is encrypted and stored.
    pub(crate) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let Self { api_key, base_url, model } = self;
        let api_key = api_key.as_ref().map(|key| key.expose().to_owned());
        serde_json::to_vec(&Written { api_key, base_url: base_url.clone(), model: model.clone() })
    }
}

/// The same as it is sealed: the one form in which it is ever written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    api_key: Option<String>,
    base_url: Option<String>,
    model: Option<String>,
}

fn of_environment(provider: &Provider, environment: &Environment) -> Option<ProviderAccess> {
    let named = environment.provider(provider.id)?;
    if !provider.is_configured(named.api_key.is_some(), named.base_url.is_some()) {
        return None;
    }
    Some(ProviderAccess {
        api_key: named.api_key.clone(),
        base_url: base_url_of(provider, environment),
        model: model_of(provider, environment),
        source: Source::Environment,
    })
}

/// A team's key goes to the operator's address, if the operator has one, but never the operator's key to
/// the team's.
fn of_team(provider: &Provider, plain: &[u8], environment: &Environment) -> Result<ProviderAccess, Unopened> {
    let Written { api_key, base_url, model } = serde_json::from_slice(plain).map_err(|_| Unopened)?;
    let own = base_url.map(|address| BaseUrl { address, source: Source::Team });
    Ok(ProviderAccess {
        api_key: api_key.map(Secret::new),
        base_url: own.or_else(|| base_url_of(provider, environment)),
        model: model.or_else(|| model_of(provider, environment)),
        source: Source::Team,
    })
}

fn base_url_of(provider: &Provider, environment: &Environment) -> Option<BaseUrl> {
    let address = environment.provider(provider.id)?.base_url.clone()?;
    Some(BaseUrl { address, source: Source::Environment })
}

fn model_of(provider: &Provider, environment: &Environment) -> Option<String> {
    let model = environment.ai_model().filter(|_| provider.kind == ProviderKind::Ai);
    model.map(str::to_owned)
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(***)")
    }
}

impl std::fmt::Debug for ProviderAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProviderAccess(*** of {:?})", self.source)
    }
}

/// An address may have a password in it.
impl std::fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BaseUrl(*** of {:?})", self.source)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const TEAM: TeamId = TeamId(Uuid::from_u128(1));

    fn vault(letter: &str) -> Vault {
        Vault::new(&Secret::new(letter.repeat(32))).unwrap()
    }

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let found = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Environment::read(|name| found(name).map(|(_, value)| (*value).to_owned())).unwrap()
    }

    fn sealed(kind: SealedKind, name: &str, plain: &str) -> Sealed {
        let bytes = vault("k").seal(Label { team: TEAM, kind, name }, plain.as_bytes()).unwrap();
        Sealed { kind, name: name.to_owned(), bytes, updated_at_ms: 0 }
    }

    /// Key, address with who named it, model and source, as text.
    fn told(credentials: &Credentials, id: &str) -> String {
        match credentials.provider(id) {
            Ok(None) => "none".to_owned(),
            Ok(Some(ProviderAccess { api_key, base_url, model, source })) => {
                let key = api_key.as_ref().map_or("-", Secret::expose);
                let url = base_url
                    .as_ref()
                    .map_or("-".to_owned(), |url| format!("{} {:?}", url.address, url.source));
                format!("{key}, {url}, {}, {source:?}", model.as_deref().unwrap_or("-"))
            }
            Err(Unopened) => "unopened".to_owned(),
        }
    }

    #[test]
    fn a_teams_own_beats_the_environment_whole() {
        let environment = environment(&[
            ("ROWMILL_OPENAI_API_KEY", "ek"),
            ("ROWMILL_OPENAI_BASE_URL", "http://e"),
            ("ROWMILL_HUNTER_API_KEY", "ek"),
            ("ROWMILL_WIZA_BASE_URL", "http://e"),
            ("ROWMILL_AI_MODEL", "em"),
        ]);
        let check = |plain: Option<(&str, &str)>, id: &str, expected: &str| {
            let sealed = plain.map(|(name, plain)| sealed(SealedKind::Provider, name, plain));
            let opened = Credentials::open(TEAM, sealed.into_iter().collect(), &vault("k"), &environment);
            assert_eq!(told(&opened, id), expected, "{plain:?}");
        };
        check(None, "openai", "ek, http://e Environment, em, Environment");
        check(None, "hunter", "ek, -, -, Environment");
        check(None, "wiza", "none");
        check(None, "pattern", "none");
        check(Some(("hunter", r#"{"apiKey":"tk"}"#)), "hunter", "tk, -, -, Team");
        check(Some(("hunter", r#"{"apiKey":"t\"k\u00e9"}"#)), "hunter", "t\"ké, -, -, Team");
        check(Some(("wiza", r#"{"apiKey":"tk"}"#)), "wiza", "tk, http://e Environment, -, Team");
        // The operator's key never goes to a team's address.
        check(Some(("openai", r#"{"baseUrl":"http://t"}"#)), "openai", "-, http://t Team, em, Team");
        check(
            Some(("openai", r#"{"apiKey":"tk","baseUrl":"http://t","model":"tm"}"#)),
            "openai",
            "tk, http://t Team, tm, Team",
        );
    }

    #[test]
    fn what_cannot_be_opened_spoils_nothing_else() {
        let environment = environment(&[("ROWMILL_HUNTER_API_KEY", "ek"), ("ROWMILL_SNOV_API_KEY", "ek")]);
        let things = vec![
            sealed(SealedKind::Provider, "hunter", r#"{"apiKey":"tk"}"#),
            sealed(SealedKind::Provider, "unheard-of", "{}"),
            sealed(SealedKind::Secret, "A", "canary"),
        ];
        let opened = Credentials::open(TEAM, things.clone(), &vault("k"), &environment);
        assert_eq!(opened.secret("A").unwrap().map(Secret::expose), Some("canary"));
        assert_eq!(opened.secret("B"), Ok(None));
        assert!(!format!("{opened:?} {:?} {things:?}", opened.provider("hunter")).contains("canary"));

        let other = Credentials::open(TEAM, things, &vault("x"), &environment);
        assert_eq!(other.secret("A"), Err(Unopened));
        assert_eq!(other.secret_names().collect::<Vec<_>>(), [("A", Some(Unopened))]);
        assert_eq!(
            (told(&other, "hunter").as_str(), told(&other, "snov").as_str()),
            ("unopened", "ek, -, -, Environment")
        );
        let enabled: Vec<String> = other
            .catalogue()
            .finders
            .into_iter()
            .filter(|finder| finder.configured)
            .map(|finder| finder.task_type)
            .collect();
        assert_eq!(enabled, ["snov", "pattern", "domaincheck"]);
    }
}
