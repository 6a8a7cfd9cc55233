//! Inbound hooks: addresses that take any JSON, or a form, as rows of a project.
//!
//! A hook is part of its project's document, so it is moved, deleted and restored with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ColumnId, HookId};

/// A hook as it is stored. The secret in its address is not: only its hash is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    pub id: HookId,
    pub name: String,
    /// In Unix milliseconds, like all times here.
    pub created_at_ms: i64,
    /// SHA-256 of the secret in its address, as hexadecimal digits.
    pub secret_hash: String,
    /// The last characters of the secret, so that people can tell addresses apart.
    pub secret_end: String,
    /// The address before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_address: Option<OldAddress>,
    /// Deliveries are kept, but make no rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_disabled: bool,
    pub unknown_keys: UnknownKeys,
    /// A row with the same value in this column is updated instead of inserted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_on: Option<ColumnId>,
    /// Whether letter case and outer blanks are ignored where rows are matched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignores_case: bool,
    /// Headers of the request that are written into columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<HookHeader>,
}

/// An address that was replaced, and still works for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OldAddress {
    pub secret_hash: String,
    pub until_ms: i64,
}

/// A header of the request, in lower case, and the column it is written into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookHeader {
    pub name: String,
    pub column: ColumnId,
}

/// What becomes of keys that name no column: `keep` puts them together into the input column, `addColumns` makes a column
/// of each, `ignore` drops them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UnknownKeys {
    // Nothing is lost, and strangers do not change the table.
    #[default]
    Keep,
    AddColumns,
    Ignore,
}

/// Parts of the names of headers that carry secrets or prove who sent something.
const SECRET_PARTS: [&str; 12] = [
    "auth",
    "cookie",
    "credential",
    "hmac",
    "jwt",
    "key",
    "passwd",
    "password",
    "secret",
    "session",
    "signature",
    "token",
];
/// Names with such a part that are known to carry none.
const NO_SECRETS: [&str; 1] = ["idempotency-key"];

/// Whether a header may carry a secret. Such a header is neither kept nor written into a column.
pub fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_PARTS.iter().any(|part| name.contains(part)) && !NO_SECRETS.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in [
            "Authorization",
            "Proxy-Authorization",
            "Cookie",
            "webhook-signature",
            "X-Hub-Signature-256",
            "X-Gitlab-Token",
            "X-API-Key",
            "X-Shopify-Hmac-Sha256",
            "X-Jwt",
            "X-Api-Token",
            "X-Auth-Request-Email",
            "X-Acme-Secret",
            "X-Twilio-Signature",
            "X-Functions-Key",
            "apikey",
            "X-Session-Id",
            "X-Password",
            "X-Amz-Credential",
        ] {
            assert!(is_secret_header(name), "{name}");
        }
        for name in ["Content-Type", "User-Agent", "X-GitHub-Event", "webhook-id", "Idempotency-Key"] {
            assert!(!is_secret_header(name), "{name}");
        }
    }
}
