//! Checks of a provider's API key, address and model, from a team or from the environment.

use rowmill_model::limits::{API_KEY_CHARS_MAX, BASE_URL_CHARS_MAX, NAME_CHARS_MAX};
use rowmill_model::{Offence, Secret};
use url::Url;

/// A key, trimmed. It will stand in a header, so it has no line breaks. What is wrong is told without it.
pub(crate) fn check_api_key(place: &str, key: &Secret, offences: &mut Vec<Offence>) -> Secret {
    Secret::new(check_text(place, key.expose(), API_KEY_CHARS_MAX, offences))
}

/// A base address, trimmed. A wrong one is not quoted: people paste keys into the wrong field.
pub(crate) fn check_base_url(place: &str, text: &str, offences: &mut Vec<Offence>) -> String {
    let before = offences.len();
    let text = check_text(place, text, BASE_URL_CHARS_MAX, offences);
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if offences.len() == before && !Url::parse(&text).is_ok_and(|url| is_web(&url)) {
        offences.push(Offence::new(place, "must be an http or https URL with a host"));
    }
    text
}

/// A model's name, trimmed.
pub(crate) fn check_model(place: &str, text: &str, offences: &mut Vec<Offence>) -> String {
    check_text(place, text, NAME_CHARS_MAX, offences)
}

fn check_text(place: &str, text: &str, chars_max: usize, offences: &mut Vec<Offence>) -> String {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > chars_max {
        let message =
            format!("must have 1 to {chars_max} characters, not counting leading and trailing spaces");
        offences.push(Offence::new(place, message));
    }
    if text.contains(char::is_control) {
        offences.push(Offence::new(place, "must not contain line breaks or other control characters"));
    }
    text.to_owned()
}
