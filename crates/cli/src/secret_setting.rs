//! A setting that is a secret.

use rowmill_model::Secret;

/// A setting that is never printed: not by clap either, since reading it cannot fail.
#[derive(Debug, Clone)]
pub(crate) struct SecretSetting(pub(crate) Secret);

impl From<String> for SecretSetting {
    fn from(text: String) -> Self {
        Self(Secret::new(text))
    }
}
