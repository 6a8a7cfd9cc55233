//! What comes of verifying an address.

use rowmill_model::Spent;
use serde::Serialize;

/// Whether an address takes mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It takes mail.
    Valid,
    /// It does not.
    Invalid,
    /// It may take mail, and may better get none: a catch-all domain, a disposable address, a spam trap.
    Risky,
    /// The verifier cannot tell.
    Unknown,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Risky => "risky",
            Self::Unknown => "unknown",
        }
    }
}

/// One verifier's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    pub verdict: Verdict,
    /// Why, in a word that is the same for all verifiers.
    pub reason: &'static str,
    pub checks: Checks,
    /// What the verifier says it took for it.
    pub spent: Spent,
}

impl Verification {
    pub(super) fn new((verdict, reason): (Verdict, &'static str)) -> Self {
        Self { verdict, reason, checks: Checks::default(), spent: Spent::NOTHING }
    }

    #[must_use]
    pub(super) fn with(self, checks: Checks) -> Self {
        Self { checks, ..self }
    }
}

/// What is known of an address beside the verdict. What nobody told is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checks {
    /// It is written as addresses are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syntax: Option<bool>,
    /// Its domain exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<bool>,
    /// Its domain names servers that take mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mx: Option<bool>,
    /// It is of a service for throw-away addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disposable: Option<bool>,
    /// It is of a role such as `info`, not of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<bool>,
    /// It is of a free mail service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<bool>,
    /// Its domain takes mail for any address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_all: Option<bool>,
    /// The mail server takes mail for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mailbox: Option<bool>,
    /// The verifier's own finer word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Checks {
    /// These, and what only earlier ones know.
    #[must_use]
    pub fn or(self, earlier: Self) -> Self {
        let Self { syntax, domain, mx, disposable, role, free, catch_all, mailbox, detail } = self;
        Self {
            syntax: syntax.or(earlier.syntax),
            domain: domain.or(earlier.domain),
            mx: mx.or(earlier.mx),
            disposable: disposable.or(earlier.disposable),
            role: role.or(earlier.role),
            free: free.or(earlier.free),
            catch_all: catch_all.or(earlier.catch_all),
            mailbox: mailbox.or(earlier.mailbox),
            detail: detail.or(earlier.detail),
        }
    }
}
