//! Credentials that the operator gave all teams, by environment variables.

use std::collections::HashMap;

use rowmill_model::provider::{Credential, PROVIDERS, Provider};
use rowmill_model::{Offence, Secret};

use crate::credential_checks::{check_api_key, check_base_url, check_model};
use crate::error::{Error, Result};

/// The default model of all language models.
const AI_MODEL: &str = "ROWMILL_AI_MODEL";

/// What the operator configured. Its base addresses are trusted as they are.
#[derive(Default)]
pub struct Environment {
    providers: HashMap<&'static str, OfProvider>,
    ai_model: Option<String>,
}

/// What the variables say of a provider.
#[derive(Debug, Clone)]
pub struct ConfiguredProvider {
    pub provider: &'static Provider,
    pub has_key: bool,
    /// Instead of its usual address.
    pub base_url: Option<String>,
}

/// One provider's part.
#[derive(Default)]
pub(crate) struct OfProvider {
    pub(crate) api_key: Option<Secret>,
    pub(crate) base_url: Option<String>,
}

impl Environment {
    /// Reads the variables there are; one that is blank is not there. What is wrong with one is told
    /// without its value.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let variable = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
        let mut offences = Vec::new();
        let mut providers = HashMap::new();
        for provider in PROVIDERS.iter().filter(|provider| provider.credential != Credential::None) {
            providers.insert(provider.id, OfProvider::read(provider, &variable, &mut offences));
        }
        let ai_model = variable(AI_MODEL).map(|text| check_model(AI_MODEL, &text, &mut offences));
        if offences.is_empty() { Ok(Self { providers, ai_model }) } else { Err(Error::invalid(offences)) }
    }

    /// The names of all variables that are read.
    pub fn variables() -> Vec<String> {
        let providers = PROVIDERS.iter().filter(|provider| provider.credential != Credential::None);
        let names =
            providers.flat_map(|provider| [provider.api_key_variable(), provider.base_url_variable()]);
        names.chain([AI_MODEL.to_owned()]).collect()
    }

    /// The providers that the variables say something of, in the order of the catalogue.
    pub fn configured(&self) -> Vec<ConfiguredProvider> {
        let configured = PROVIDERS.iter().filter_map(|provider| {
            let OfProvider { api_key, base_url } = self.providers.get(provider.id)?;
            let is_set = api_key.is_some() || base_url.is_some();
            is_set.then(|| ConfiguredProvider {
                provider,
                has_key: api_key.is_some(),
                base_url: base_url.clone(),
            })
        });
        configured.collect()
    }

    pub(crate) fn provider(&self, id: &str) -> Option<&OfProvider> {
        self.providers.get(id)
    }

    /// The model of all AI columns and credentials that name none.
    pub fn ai_model(&self) -> Option<&str> {
        self.ai_model.as_deref()
    }
}

impl OfProvider {
    fn read(
        provider: &Provider,
        variable: &impl Fn(&str) -> Option<String>,
        offences: &mut Vec<Offence>,
    ) -> Self {
        let (key_name, url_name) = (provider.api_key_variable(), provider.base_url_variable());
        Self {
            api_key: variable(&key_name).map(|text| check_api_key(&key_name, &Secret::new(text), offences)),
            base_url: variable(&url_name).map(|text| check_base_url(&url_name, &text, offences)),
        }
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment> {
        let found = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Environment::read(|name| found(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn what_is_set_is_read_and_not_shown() {
        let environment = read(&[
            ("ROWMILL_HUNTER_API_KEY", " canary\n"),
            ("ROWMILL_OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
            ("ROWMILL_WIZA_API_KEY", " "),
            ("ROWMILL_AI_MODEL", "small"),
        ])
        .unwrap();
        let hunter = environment.provider("hunter").unwrap();
        assert_eq!(hunter.api_key.as_ref().map(Secret::expose), Some("canary"));
        let openai = environment.provider("openai").unwrap();
        assert_eq!(openai.base_url.as_deref(), Some("http://127.0.0.1:1/v1"));
        assert_eq!(openai.api_key, None);
        assert_eq!(environment.provider("wiza").unwrap().api_key, None);
        assert_eq!(environment.ai_model(), Some("small"));
        assert_eq!(format!("{environment:?}"), "Environment(***)");
    }

    #[test]
    fn what_is_wrong_is_told_by_the_variables_name_alone() {
        let wrong = [("ROWMILL_HUNTER_API_KEY", "can\nary"), ("ROWMILL_WIZA_BASE_URL", "canary")];
        let Error::Invalid { details, message } = read(&wrong).unwrap_err() else { panic!() };
        let places: Vec<&str> = details.iter().map(|offence| offence.path.as_str()).collect();
        assert_eq!(places, ["ROWMILL_HUNTER_API_KEY", "ROWMILL_WIZA_BASE_URL"]);
        assert!(!format!("{message} {details:?}").contains("ary"), "{message}");
    }
}
