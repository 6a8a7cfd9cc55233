//! Who sees metrics on the main address.

use rowmill_api::MetricsAccess;
use rowmill_model::Secret;

use crate::secret_setting::SecretSetting;

/// A token that can be guessed is none.
const TOKEN_CHARS_MIN: usize = 16;

/// Whoever has the token, or is on this machine if none is set.
pub(crate) fn metrics_access(token: Option<&SecretSetting>) -> Result<MetricsAccess, String> {
    let set = token.map(|SecretSetting(token)| token.expose().trim());
    match set.filter(|token| !token.is_empty()) {
        None => Ok(MetricsAccess::ThisMachine),
        Some(token) if token.chars().count() < TOKEN_CHARS_MIN => Err(format!(
            "ROWMILL_METRICS_TOKEN (--metrics-token) is too short: it needs at least {TOKEN_CHARS_MIN} characters. \
             `openssl rand -hex 32` generates one"
        )),
        Some(token) => Ok(MetricsAccess::Token(Secret::new(token.to_owned()))),
    }
}
