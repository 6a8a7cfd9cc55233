//! Who sees metrics on the main address.

use rowmill_api::MetricsAccess;

use crate::config::SecretSetting;

/// A token that can be guessed is none.
const TOKEN_CHARS_MIN: usize = 16;

/// Whoever has the token, or is on this machine if none is set.
pub(crate) fn metrics_access(token: Option<&SecretSetting>) -> Result<MetricsAccess, String> {
    let set = token.map(|SecretSetting(token)| token);
    match set.filter(|token| !token.expose().trim().is_empty()) {
        None => Ok(MetricsAccess::ThisMachine),
        Some(token) if token.expose().chars().count() < TOKEN_CHARS_MIN => Err(format!(
            "ROWMILL_METRICS_TOKEN (--metrics-token) is too short: it needs at least {TOKEN_CHARS_MIN} characters. \
             `openssl rand -hex 32` generates one"
        )),
        Some(token) => Ok(MetricsAccess::Token(token.clone())),
    }
}
