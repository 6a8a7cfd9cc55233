//! The check that needs no key: how the address is written, whether its domain takes mail, and known lists.
//!
//! No mail server is talked to, so that there is such a mailbox stays unknown.

use std::time::Duration;

use tokio::time::timeout;

use super::address::Address;
use super::verification::{Checks, Verdict, Verification};
use crate::email::MailSettings;
use crate::email::mail_hosts::{MailHosts, Route};
use crate::failure::{Failure, FailureKind};
use crate::gate::Gate;

/// The longest that name servers are waited for.
const TIME_MAX: Duration = Duration::from_secs(10);

/// The mailboxes of RFC 2142, and others that belong to nobody in particular.
const ROLES: [&str; 33] = [
    "abuse",
    "accounts",
    "admin",
    "administrator",
    "billing",
    "careers",
    "contact",
    "enquiries",
    "ftp",
    "hello",
    "help",
    "hostmaster",
    "hr",
    "info",
    "jobs",
    "mail",
    "marketing",
    "news",
    "no-reply",
    "noc",
    "noreply",
    "office",
    "postmaster",
    "press",
    "privacy",
    "root",
    "sales",
    "security",
    "support",
    "team",
    "usenet",
    "webmaster",
    "www",
];

#[derive(Debug)]
pub(super) struct DomainCheck {
    hosts: MailHosts,
}

impl DomainCheck {
    pub(super) fn new(settings: &MailSettings) -> Self {
        Self { hosts: MailHosts::new(&settings.name_servers) }
    }

    pub(super) async fn verify(&self, address: &Address, gate: &dyn Gate) -> Result<Verification, Failure> {
        let is_disposable = is_disposable(address.domain());
        let checks = Checks {
            syntax: Some(true),
            disposable: Some(is_disposable),
            role: Some(is_role(address.local())),
            ..Checks::default()
        };
        if is_disposable {
            return Ok(Verification::new((Verdict::Risky, "disposable")).with(checks));
        }
        gate.acquire().await;
        let route = timeout(TIME_MAX, self.hosts.of(address.domain())).await.unwrap_or_else(|_| {
            let words = format!("Name servers did not respond within {} s.", TIME_MAX.as_secs());
            Err(Failure::new(FailureKind::TimedOut, words))
        })?;
        let (found, has_domain, has_mx) = match route {
            Route::Named(_) => ((Verdict::Unknown, "mailbox_not_checked"), true, true),
            Route::Implied(_) => ((Verdict::Unknown, "mailbox_not_checked"), true, false),
            Route::Refused => ((Verdict::Invalid, "no_mail_server"), true, false),
            Route::None => ((Verdict::Invalid, "no_domain"), false, false),
        };
        let checks = Checks { domain: Some(has_domain), mx: Some(has_mx), ..checks };
        Ok(Verification::new(found).with(checks))
    }
}

fn is_role(local: &str) -> bool {
    let name = local.split('+').next().unwrap_or_default().to_ascii_lowercase();
    ROLES.binary_search(&name.as_str()).is_ok()
}

/// Whether the domain, or one above it, is of a service for throw-away addresses.
fn is_disposable(domain: &str) -> bool {
    let mut rest = Some(domain).filter(|domain| domain.contains('.'));
    while let Some(domain) = rest {
        if disposable_emails::is_disposable_domain(domain) {
            return true;
        }
        rest = domain.split_once('.').map(|(_, parent)| parent).filter(|parent| parent.contains('.'));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_know_roles_and_disposable_domains() {
        assert!(ROLES.is_sorted());
        for (local, expected) in [("info", true), ("Sales+eu", true), ("information", false), ("ada", false)]
        {
            assert_eq!(is_role(local), expected, "{local}");
        }
        for (domain, expected) in
            [("mailinator.com", true), ("x.mailinator.com", true), ("gmail.com", false), ("acme.test", false)]
        {
            assert_eq!(is_disposable(domain), expected, "{domain}");
        }
    }
}
