//! The finder that needs no key: it guesses addresses as companies make them and asks the domain's own
//! mail server which of them it would take.
//!
//! Nothing is sent: the talk ends before a message would begin. Many networks let nobody talk to mail
//! servers and many servers tell strangers nothing, so an address is verified only if the server takes it
//! and refuses one that nobody has; else the likeliest is a guess, and says so.

use std::net::IpAddr;
use std::time::Duration;

use deunicode::deunicode;
use tokio::time::timeout;

use super::finding::{Finding, Hit};
use super::mail_hosts::{MailHosts, Route};
use super::mail_settings::MailSettings;
use super::person::Person;
use super::smtp::{Reply, SmtpConnection};
use crate::failure::{Failure, FailureKind};
use crate::gate::Gate;
use crate::ssrf_guard::Client;

/// The server takes this address, and not just any.
const ACCEPTED: u8 = 95;
/// The server takes whatever it is told, so the guess will at least not come back.
const CATCH_ALL: u8 = 40;
/// The server would not say: it asks strangers to come again, or wants nothing to do with us.
const UNTOLD: u8 = 30;
/// No server could be asked.
const UNREACHED: u8 = 20;

/// The longest part before the `@` (RFC 5321).
const LOCAL_BYTES_MAX: usize = 64;
/// How many addresses are tried for one that answers.
const HOSTS_MAX: usize = 3;

/// Some servers answer strangers slowly, to be rid of them.
const TALK_TIME_MAX: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct Pattern {
    hosts: MailHosts,
    settings: MailSettings,
}

/// What a server said of the candidates.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Accepted(String),
    /// Every one was refused, and so would be any other.
    NoneOfThem,
    CatchAll,
    /// The server stopped telling; these it had refused before.
    Untold {
        refused: usize,
    },
}

impl Pattern {
    pub(super) fn new(settings: MailSettings) -> Self {
        Self { hosts: MailHosts::new(&settings.name_servers), settings }
    }

    pub(super) async fn find(
        &self,
        client: &Client,
        person: &Person,
        gate: &dyn Gate,
    ) -> Result<Finding, Failure> {
        let candidates = candidates(person);
        let Some(likeliest) = candidates.first() else { return Ok(Finding::Ineligible) };
        gate.acquire().await;
        let (hosts, is_named) = match self.hosts.of(person.domain()).await? {
            Route::Named(hosts) => (hosts, true),
            Route::Implied(hosts) => (hosts, false),
            Route::Refused | Route::None => return Ok(Finding::Miss),
        };
        let mut is_private = !hosts.is_empty();
        for address in hosts.into_iter().take(HOSTS_MAX) {
            if !client.permits(address) {
                continue;
            }
            is_private = false;
            gate.acquire().await;
            let Some(verdict) = self.ask(address, person.domain(), &candidates).await else { continue };
            return Ok(finding(verdict, &candidates));
        }
        if is_private {
            let words = "The domain's mail server has a private address.";
            return Err(Failure::new(FailureKind::Blocked, words));
        }
        // A domain that names mail servers has mail; one that merely has an address may have none.
        Ok(if is_named { guess(likeliest, UNREACHED) } else { Finding::Miss })
    }

    /// One server's verdict; `None` if there is nobody to talk to.
    async fn ask(&self, address: IpAddr, domain: &str, candidates: &[String]) -> Option<Verdict> {
        let mut connection =
            SmtpConnection::begin((address, self.settings.smtp_port).into(), self.settings.step_time_max)
                .await?;
        let verdict = timeout(TALK_TIME_MAX, self.question(&mut connection, domain, candidates)).await;
        connection.end().await;
        Some(verdict.unwrap_or(Verdict::Untold { refused: 0 }))
    }

    async fn question(
        &self,
        connection: &mut SmtpConnection,
        domain: &str,
        candidates: &[String],
    ) -> Verdict {
        let nobody = format!("q{:016x}@{domain}", (self.settings.chance)());
        match connection.would_take(&nobody).await {
            Reply::Yes => return Verdict::CatchAll,
            Reply::Unknown => return Verdict::Untold { refused: 0 },
            Reply::No => {}
        }
        for (refused, candidate) in candidates.iter().enumerate() {
            match connection.would_take(candidate).await {
                Reply::Yes => return Verdict::Accepted(candidate.clone()),
                Reply::No => {}
                Reply::Unknown => return Verdict::Untold { refused },
            }
        }
        Verdict::NoneOfThem
    }
}

fn finding(verdict: Verdict, candidates: &[String]) -> Finding {
    match verdict {
        Verdict::Accepted(email) => Finding::Hit(Hit { email, verified: true, confidence: Some(ACCEPTED) }),
        Verdict::NoneOfThem => Finding::Miss,
        Verdict::CatchAll => candidates.first().map_or(Finding::Miss, |email| guess(email, CATCH_ALL)),
        Verdict::Untold { refused } => {
            candidates.get(refused).map_or(Finding::Miss, |email| guess(email, UNTOLD))
        }
    }
}

fn guess(email: &str, confidence: u8) -> Finding {
    Finding::Hit(Hit { email: email.to_owned(), verified: false, confidence: Some(confidence) })
}

/// Addresses the person may have, the commonest kind first.
fn candidates(person: &Person) -> Vec<String> {
    let (first, last) = (folded(person.first()), folded(person.last()));
    let initial = |name: &str| name.get(..1).unwrap_or_default().to_owned();
    let (f, l) = (initial(&first), initial(&last));
    let mut locals = if first.is_empty() || last.is_empty() {
        vec![format!("{first}{last}")]
    } else {
        vec![
            format!("{first}.{last}"),
            first.clone(),
            format!("{f}{last}"),
            format!("{first}{last}"),
            format!("{first}_{last}"),
            format!("{f}.{last}"),
            format!("{first}{l}"),
            format!("{last}.{first}"),
            format!("{last}{f}"),
            last.clone(),
        ]
    };
    // Of a name of several words some keep the hyphen, some only the last word.
    let words: Vec<String> =
        person.last().split([' ', '-']).map(folded).filter(|word| !word.is_empty()).collect();
    if let ([_, .., end], false) = (words.as_slice(), first.is_empty()) {
        locals.push(format!("{first}.{}", words.join("-")));
        locals.push(format!("{first}.{end}"));
        locals.push(format!("{f}{end}"));
    }
    locals.retain(|local| !local.is_empty() && local.len() <= LOCAL_BYTES_MAX);
    locals.into_iter().map(|local| format!("{local}@{}", person.domain())).collect()
}

/// A name in the letters of addresses.
fn folded(name: &str) -> String {
    deunicode(name)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(first: &str, last: &str, expected: &[&str]) {
        let person = Person::new(first, last, &format!("{first} {last}"), "acme.com").unwrap();
        let found = candidates(&person);
        let found: Vec<&str> = found.iter().map(|email| email.trim_end_matches("@acme.com")).collect();
        assert_eq!(found, expected, "{first} {last}");
    }

    #[test]
    fn addresses_are_made_as_companies_make_them() {
        check(
            "Jane",
            "Doe",
            &["jane.doe", "jane", "jdoe", "janedoe", "jane_doe", "j.doe", "janed", "doe.jane", "doej", "doe"],
        );
        let zoe = candidates(&Person::new("Zoë", "O'Neill-Müller", "", "acme.com").unwrap());
        assert_eq!(zoe[0], "zoe.oneillmuller@acme.com");
        assert_eq!(zoe[10..], ["zoe.oneill-muller@acme.com", "zoe.muller@acme.com", "zmuller@acme.com"]);
        check("Madonna", "", &["madonna"]);
        let unnamed = Person::new("", "", "?", "acme.com");
        assert!(unnamed.is_none_or(|person| candidates(&person).is_empty()));
        let long = Person::new(&"x".repeat(70), "Doe", "", "acme.com").unwrap();
        assert_eq!(candidates(&long).first().map(String::as_str), Some("xdoe@acme.com"));
    }
}
