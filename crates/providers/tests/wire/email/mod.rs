//! The e-mail finders: what each is asked, and what each of its documented answers means.

mod async_finders;
mod instant_finders;
pub(crate) mod pattern;

use std::sync::Arc;
use std::time::Duration;

use rowmill_model::Amount;
use rowmill_providers::email::{self, Finder, Finders, Finding, Person};
use rowmill_providers::{Access, Failure, NetworkPolicy, Secret};

use crate::server::{Answer, Seen, Server, json, text};
use crate::support::{FakeClock, assert_clean, client_at, trusted};

/// One search, and all it did.
struct Search {
    outcome: String,
    /// Credits the finder says it took.
    credits: Option<f64>,
    seen: Vec<Seen>,
    waited_seconds: Vec<u64>,
}

fn ada() -> Person {
    Person::new("Ada", "Lovelace", "", "https://www.acme.test/").unwrap()
}

/// Of one word only.
fn madonna() -> Person {
    Person::new("", "", "Madonna", "acme.test").unwrap()
}

async fn search(finder: Finder, person: &Person, script: Vec<Answer>) -> Search {
    let server = Server::start(script).await;
    let clock = Arc::new(FakeClock::default());
    let finders = Finders::new(client_at("", Arc::clone(&clock)));
    let found = finders.find(finder, &access(finder, &server), person, &(), Duration::from_secs(100)).await;
    assert_clean(&found);
    assert_clean(&finders);
    let credits = found.as_ref().ok().and_then(|found| found.spent.credits);
    Search {
        credits: credits.map(Amount::number),
        outcome: told(found),
        seen: server.seen(),
        waited_seconds: clock.waited().iter().map(Duration::as_secs).collect(),
    }
}

fn access(finder: Finder, server: &Server) -> Access {
    let access = trusted(&server.base);
    match finder {
        Finder::Snov => Access { api_key: Some(Secret::new("canary-id:canary-secret")), ..access },
        _ => access,
    }
}

/// A result in words: `hit ada@acme.test verified`, `miss`, `rate_limited, again after 7 s`.
fn told(found: Result<impl Into<email::Search>, Failure>) -> String {
    match found.map(|found| found.into().finding) {
        Ok(Finding::Hit(hit)) => {
            let verified = if hit.verified { "verified" } else { "unverified" };
            let confidence = hit.confidence.map(|number| format!(" {number}")).unwrap_or_default();
            format!("hit {} {verified}{confidence}", hit.email)
        }
        Ok(Finding::Miss) => "miss".to_owned(),
        Ok(Finding::Ineligible) => "ineligible".to_owned(),
        Err(failure) => {
            let again = if failure.is_transient { ", again" } else { "" };
            let after = failure.retry_after.map(|wait| format!(" after {} s", wait.as_secs()));
            format!("{}{again}{}", failure.kind.code().word(), after.unwrap_or_default())
        }
    }
}

const VERIFIED: &str = "hit ada@acme.test verified";
const UNVERIFIED: &str = "hit ada@acme.test unverified";

/// Each answer to the one call of a finder, and its outcome.
async fn check(finder: Finder, cases: Vec<(Answer, &str)>) {
    for (place, (answer, expected)) in cases.into_iter().enumerate() {
        let search = search(finder, &ada(), vec![answer]).await;
        assert_eq!(search.outcome, expected, "{finder:?}, case {place}");
        assert_eq!(search.seen.len(), 1, "{finder:?}, case {place}");
    }
}

/// Breakdowns that mean the same at every finder, on its first call.
pub(crate) fn breakdowns() -> Vec<(Answer, &'static str)> {
    vec![
        (text(500, "text/html", "<h1>Oops</h1>"), "provider_error, again"),
        (text(503, "text/plain", "Down").with("retry-after", "7"), "provider_error, again after 7 s"),
        (text(302, "text/plain", "").with("location", "http://127.0.0.1:1/"), "provider_error"),
        (text(200, "text/html", "<html>"), "invalid_output"),
        (Answer::Reset, "provider_error, again"),
        (Answer::Garbage, "provider_error, again"),
        (Answer::Cut, "provider_error, again"),
        (Answer::Endless, "too_large"),
    ]
}

const ALL: [Finder; 10] = [
    Finder::Hunter,
    Finder::Findymail,
    Finder::Prospeo,
    Finder::Dropcontact,
    Finder::Apollo,
    Finder::Snov,
    Finder::Icypeas,
    Finder::Leadmagic,
    Finder::Anymailfinder,
    Finder::Wiza,
];

#[tokio::test]
async fn breakdowns_mean_the_same_everywhere() {
    for finder in ALL {
        check(finder, breakdowns()).await;
        let unauthorized = json(401, &serde_json::json!({"message": "Bad key canary/7f3a"}));
        check(finder, vec![(unauthorized, "invalid_credentials")]).await;
    }
}

#[tokio::test]
async fn nobody_is_asked_without_a_key() {
    let server = Server::start(vec![]).await;
    let finders = Finders::new(client_at("", Arc::default()));
    for finder in ALL {
        for api_key in [None, Some(Secret::new(" "))] {
            let access = Access { api_key, ..trusted(&server.base) };
            let found = finders.find(finder, &access, &ada(), &(), Duration::ZERO).await;
            assert_eq!(told(found), "missing_credentials", "{finder:?}");
        }
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_teams_own_address_is_guarded() {
    let server = Server::start(vec![]).await;
    let finders = Finders::new(client_at("", Arc::default()));
    for finder in ALL {
        let access = Access { network_policy: NetworkPolicy::Guarded, ..access(finder, &server) };
        let found = finders.find(finder, &access, &ada(), &(), Duration::ZERO).await;
        assert_eq!(told(found), "blocked", "{finder:?}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_search_can_be_spawned() {
    let finders = Finders::new(client_at("", Arc::default()));
    let server = Server::start(vec![json(200, &serde_json::json!({}))]).await;
    let access = trusted(&server.base);
    let found =
        tokio::spawn(
            async move { finders.find(Finder::Icypeas, &access, &ada(), &(), Duration::ZERO).await },
        );
    assert_eq!(told(found.await.unwrap()), "invalid_output");
}
