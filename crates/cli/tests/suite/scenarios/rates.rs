//! Contract section 3: rate limits, what they say, and whom they hold up.

use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::harness::runner::scenarios;
use crate::harness::server::DataDir;
use crate::harness::{Answer, Api, Request, Scenario, Server, eventually, http};

pub(crate) const OWN: &[Scenario] = &scenarios!("rates", Own:
    each_key_has_a_bucket_that_fills_again,
    wrong_keys_are_slowed_down_and_nobody_is_locked_out,
    the_keys_of_a_team_share_a_bucket,
    unknown_teams_count_as_failed_authentication,
    limits_have_their_defaults_and_0_switches_one_off,
    the_search_of_the_docs_is_limited_like_reads_without_a_key,
);

fn number(answer: &Answer, name: &str) -> u64 {
    let value = answer.header(name).unwrap_or_else(|| panic!("no {name}"));
    value.parse().unwrap_or_else(|_| panic!("{name}: {value}"))
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// Calls until refused; says how many calls were let through, and the refusal.
fn exhaust(mut call: impl FnMut() -> Answer) -> (u64, Answer) {
    for count in 0..1_000 {
        let answer = call();
        if answer.status() == 429 {
            return (count, answer);
        }
    }
    panic!("never refused");
}

#[track_caller]
fn check_refusal(refusal: Answer, limit: u64) {
    assert_eq!(
        (number(&refusal, "X-RateLimit-Limit"), number(&refusal, "X-RateLimit-Remaining")),
        (limit, 0)
    );
    let reset = number(&refusal, "X-RateLimit-Reset");
    let now = unix_seconds();
    assert!((now - 1..now + 120).contains(&reset), "{reset} at {now}");
    assert!((1..=60).contains(&number(&refusal, "Retry-After")));
    assert!(refusal.header("X-Request-Id").is_some());
    refusal.refused(429, "rate_limited");
}

fn each_key_has_a_bucket_that_fills_again() {
    // Two a second, so that the bucket fills while one can watch, and five at once.
    let server = Server::start_in(DataDir::new(), &[("ROWMILL_RATE_LIMIT_KEY", "2/5")]);
    let api = server.api();
    let first = api.get("/v4/team");
    assert_eq!((number(&first, "X-RateLimit-Limit"), number(&first, "X-RateLimit-Remaining")), (5, 4));
    assert!(number(&first, "X-RateLimit-Reset") >= unix_seconds() - 1);
    assert_eq!(first.header("Retry-After"), None);
    // A failure is counted and says so like any other answer.
    let failure = api.get("/v4/projects/nope");
    assert_eq!(failure.status(), 404);
    assert!(number(&failure, "X-RateLimit-Remaining") <= 4);
    let (more, refusal) = exhaust(|| api.get("/v4/team"));
    assert!((3..=20).contains(&more), "{more}");
    check_refusal(refusal, 5);
    // Another key has its own, and what needs no key is not counted.
    let other = server.team("other");
    other.get("/v4/team").ok();
    let health = server.api_without_key().get("/healthz");
    assert_eq!((health.status(), health.header("X-RateLimit-Limit")), (200, None));
    eventually("the bucket has a token again", Duration::from_secs(10), || {
        (api.get("/v4/team").status() == 200).then_some(())
    });
}

fn the_search_of_the_docs_is_limited_like_reads_without_a_key() {
    let server = Server::start_in(DataDir::new(), &[("ROWMILL_RATE_LIMIT_ANONYMOUS", "1/6")]);
    // It is no operation of the document.
    let get = |path: &str| http::exchange(&server.address, &Request::get(path)).unwrap();
    let search = || get("/docs/search?q=rows");
    let first = search();
    assert_eq!((first.status, first.header("X-RateLimit-Limit")), (200, Some("6")));
    let refusal = (0..100).map(|_| search()).find(|answer| answer.status == 429).expect("a refusal");
    assert_eq!(refusal.header("X-RateLimit-Remaining"), Some("0"));
    assert!(refusal.header("Retry-After").is_some());
    // Pages that are made once are not limited.
    let page = get("/docs");
    assert_eq!((page.status, page.header("X-RateLimit-Limit")), (200, None));
}

fn wrong_keys_are_slowed_down_and_nobody_is_locked_out() {
    let settings = [("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "1/4"), ("ROWMILL_RATE_LIMIT_KEY", "0")];
    let server = Server::start_in(DataDir::new(), &settings);
    let (api, anonymous) = (server.api(), server.api_without_key());
    let guess = |api: &Api| api.send(Request::get("/v4/team").header("Authorization", "Bearer guess"));
    let wrong = guess(&anonymous);
    assert_eq!((number(&wrong, "X-RateLimit-Limit"), number(&wrong, "X-RateLimit-Remaining")), (4, 3));
    wrong.refused(403, "invalid_api_key");
    let (more, refusal) = exhaust(|| guess(&anonymous));
    assert!((3..=10).contains(&more), "{more}");
    check_refusal(refusal, 4);
    // The owner of a key, at the same address, is not held up.
    for _ in 0..20 {
        api.get("/v4/team").ok();
    }
    assert_eq!(api.get("/v4/team").header("X-RateLimit-Limit"), None, "the key's own limit is off");
    eventually("wrong keys are told so again", Duration::from_secs(10), || {
        (guess(&anonymous).status() == 403).then_some(())
    });
}

fn the_keys_of_a_team_share_a_bucket() {
    let settings = [("ROWMILL_RATE_LIMIT_KEY", "1/6"), ("ROWMILL_RATE_LIMIT_TEAM", "1/10")];
    let server = Server::start_in(DataDir::new(), &settings);
    let api = server.api();
    let limits = api.get("/v4/limits").ok()["limits"]["rateLimits"].clone();
    assert_eq!(limits["team"], json!({ "requestsPerSecond": 1, "burst": 10 }));
    let made = api.post("/v4/keys", json!({ "name": "second" })).created();
    let second = server.api_with(made["secret"].as_str().unwrap());
    let other = server.team("other");
    let (more, refusal) = exhaust(|| api.get("/v4/team"));
    assert!(more <= 8, "{more}");
    check_refusal(refusal, 6);
    // Its own bucket is full, but the team's is not.
    let (more, refusal) = exhaust(|| second.get("/v4/team"));
    assert!((1..6).contains(&more), "{more}");
    check_refusal(refusal, 10);
    other.get("/v4/team").ok();
}

fn unknown_teams_count_as_failed_authentication() {
    let settings = [("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "1/4"), ("ROWMILL_RATE_LIMIT_KEY", "0")];
    let server = Server::start_in(DataDir::new(), &settings);
    let (api, anonymous) = (server.api(), server.api_without_key());
    let mut number = 0;
    let (more, refusal) = exhaust(|| {
        number += 1;
        anonymous.get(format!("/v3/team-{number}/projects"))
    });
    assert!((3..=10).contains(&more), "{more}");
    check_refusal(refusal, 4);
    api.get("/v3/default/projects").ok();
}

fn limits_have_their_defaults_and_0_switches_one_off() {
    let server = Server::start_in(DataDir::new(), &[]);
    let api = server.api();
    assert_eq!(number(&api.get("/v4/team"), "X-RateLimit-Limit"), 200);
    let limits = api.get("/v4/limits").ok()["limits"]["rateLimits"].clone();
    assert_eq!(limits["team"], json!({ "requestsPerSecond": 400, "burst": 800 }));
    let wrong = api.send(Request::get("/v4/team").header("Authorization", "Bearer guess"));
    assert_eq!(number(&wrong, "X-RateLimit-Limit"), 20);
    drop(server);
    let server = Server::start_in(
        DataDir::new(),
        &[("ROWMILL_RATE_LIMIT_KEY", "0"), ("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "0")],
    );
    let api = server.api();
    for _ in 0..30 {
        assert_eq!(api.get("/v4/team").header("X-RateLimit-Limit"), None);
        let wrong = api.send(Request::get("/v4/team").header("Authorization", "Bearer guess"));
        wrong.refused(403, "invalid_api_key");
    }
}
