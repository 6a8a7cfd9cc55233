//! How sites are treated: by which name, how often, and for what that they have sent already.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use rowmill_clock::{Clock, SystemClock};
use rowmill_fairness::Tenant;
use rowmill_providers::scrape::{Extractor, Scraper, Target};
use rowmill_providers::{AllowList, Client, FailureKind, UserAgent};

use crate::server::{Answer, Server, redirect, text};
use crate::stub_children::{program, scraper, target};

/// A clock that is set by hand.
#[derive(Debug, Default)]
struct HandClock(AtomicI64);

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }

    fn monotonic(&self) -> Instant {
        SystemClock.monotonic()
    }

    async fn sleep(&self, _: Duration) {}
}

fn named(name: &str, clock: Arc<HandClock>) -> Scraper {
    let allow = AllowList::parse("127.0.0.1/32").unwrap();
    let client = Client::named(UserAgent::parse(name).unwrap(), allow, clock).unwrap();
    Scraper::new(client, Extractor::new(program("good")))
}

fn page() -> Answer {
    text(200, "text/html", "<p>Page")
}

fn polite(server: &Server, path: &str) -> Target {
    Target { respect_robots: true, ..target(server, path) }
}

pub(crate) async fn rules_are_kept_for_a_day() {
    let rules = || text(200, "text/plain", "User-agent: *\nDisallow: /private");
    let server = Server::start(vec![rules(), page(), page(), rules(), page()]).await;
    let clock = Arc::new(HandClock::default());
    let scraper = named("", Arc::clone(&clock));
    for hours in [0, 23, 25] {
        clock.0.store(hours * 3_600, Ordering::SeqCst);
        scraper.scrape(&polite(&server, "/x"), &()).await.unwrap();
    }
    let lines: Vec<String> = server.seen().iter().map(crate::server::Seen::line).collect();
    assert_eq!(lines, ["GET /robots.txt", "GET /x", "GET /x", "GET /robots.txt", "GET /x"]);
}

pub(crate) async fn the_operator_gives_the_name() {
    let name = "AcmeBot/1.0 (+https://acme.example/bot)";
    let rules =
        || text(200, "text/plain", "User-agent: acmebot\nDisallow: /no\n\nUser-agent: rowmill\nDisallow: /");
    let other = Server::start(vec![page(), text(404, "text/plain", "")]).await;
    let there = other.base.join("/there").unwrap();
    let server = Server::start(vec![rules(), redirect(302, there.as_str())]).await;
    let scraper = named(name, Arc::default());
    assert_eq!(scraper.scrape(&polite(&server, "/yes"), &()).await.unwrap().markdown, "Page");
    let failure = scraper.scrape(&polite(&server, "/no"), &()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Blocked);
    let seen = [server.seen(), other.seen()].concat();
    assert_eq!(seen.len(), 4);
    assert!(seen.iter().all(|seen| seen.header("user-agent") == Some(name)), "{seen:?}");
}

pub(crate) async fn what_has_not_changed_is_not_sent_again() {
    let tagged = |words: &str, tag: &str| text(200, "text/html", words).with("etag", tag);
    let same = || Answer::Http { status: 304, headers: vec![], body: vec![] };
    let dated = page().with("last-modified", "Mon, 02 Nov 2026 10:00:00 GMT");
    let server = Server::start(vec![
        tagged("<p>One", "\"1\""),
        same(),
        tagged("<p>Two", "\"2\"").with("cache-control", "no-store"),
        dated,
        same(),
        text(404, "text/plain", ""),
        page(),
        page(),
    ])
    .await;
    let scraper = scraper("good");
    let mut told = Vec::new();
    for _ in 0..8 {
        told.push(
            scraper.scrape(&target(&server, "/x"), &()).await.map_or("none".to_owned(), |page| page.markdown),
        );
    }
    assert_eq!(told, ["One", "One", "Two", "Page", "Page", "none", "Page", "Page"]);
    let seen = server.seen();
    let tags: Vec<Option<&str>> = seen.iter().map(|seen| seen.header("if-none-match")).collect();
    assert_eq!(tags, [None, Some("\"1\""), Some("\"1\""), None, None, None, None, None]);
    let times: Vec<bool> = seen.iter().map(|seen| seen.header("if-modified-since").is_some()).collect();
    // What is gone is forgotten, and pages without a validator are not kept.
    assert_eq!(times, [false, false, false, false, true, true, false, false]);
}

pub(crate) async fn a_team_has_its_own_pages() {
    let tagged = || page().with("etag", "\"1\"");
    let server = Server::start(vec![tagged(), tagged()]).await;
    let scraper = scraper("good");
    for team in [1, 2] {
        let target = target(&server, "/x");
        Tenant::team(team).scope(scraper.scrape(&target, &())).await.unwrap();
    }
    assert!(server.seen().iter().all(|seen| seen.header("if-none-match").is_none()));

    // Another page that has not changed is not the one that is kept.
    let moved = Server::start(vec![
        tagged(),
        redirect(302, "/other"),
        Answer::Http { status: 304, headers: vec![], body: vec![] },
        redirect(302, "/other"),
        text(200, "text/html", "<p>Other"),
    ])
    .await;
    let target = target(&moved, "/x");
    assert_eq!(scraper.scrape(&target, &()).await.unwrap().markdown, "Page");
    assert_eq!(scraper.scrape(&target, &()).await.unwrap().markdown, "Other");
    assert_eq!(moved.seen()[4].header("if-none-match"), None);
}
