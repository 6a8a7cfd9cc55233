//! Where a provider is reached and with what key.

use url::Url;

use crate::failure::{Failure, FailureKind};
use crate::redactor::Secret;
use crate::ssrf_guard::NetworkPolicy;

/// One provider's address and credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Access {
    /// What stands before the documented path; OpenAI's includes `/v1`.
    pub base_url: Url,
    /// Who named the address: the operator is trusted, a team is not.
    pub network_policy: NetworkPolicy,
    /// Some OpenAI-compatible servers want none.
    pub api_key: Option<Secret>,
}

impl Access {
    /// The address of `path` under the base address, which may end in a slash or not.
    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let joined =
            format!("{}/{}", self.base_url.path().trim_end_matches('/'), path.trim_start_matches('/'));
        url.set_path(&joined);
        url
    }

    pub(crate) fn require_key(&self) -> Result<&Secret, Failure> {
        let key = self.api_key.as_ref().filter(|key| !key.expose().trim().is_empty());
        key.ok_or_else(|| Failure::new(FailureKind::MissingCredentials, "The API key is missing."))
    }
}
