//! What sites ask of programs, and that it is done.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use rowmill_providers::scrape::Target;
use rowmill_providers::{FailureKind, Gate};

use crate::server::{Answer, Server, redirect, text};
use crate::stub_children::{scraper, target};

const PAGE: &str = "<p>Page";

fn page() -> Answer {
    text(200, "text/html", PAGE)
}

fn polite(server: &Server, path: &str) -> Target {
    Target { respect_robots: true, ..target(server, path) }
}

/// The outcome of a page on a site with this robots.txt: its text, or its failure's code.
async fn visit(robots: Answer, path: &str) -> String {
    let server = Server::start(vec![robots, page()]).await;
    match scraper("good").scrape(&polite(&server, path), &()).await {
        Ok(scraped) => scraped.markdown,
        Err(failure) => {
            format!("{}{}", failure.kind.code().word(), if failure.is_transient { ", again" } else { "" })
        }
    }
}

pub(crate) async fn rules_are_obeyed() {
    let rules =
        "User-agent: *\nDisallow: /private\n\nUser-agent: Rowmill\nDisallow: /mill\nAllow: /mill/open$\n";
    for (path, expected) in [
        ("/", "Page"),
        ("/private", "Page"),
        ("/mill", "blocked"),
        ("/mill/a?b", "blocked"),
        ("/mill/open", "Page"),
    ] {
        assert_eq!(visit(text(200, "text/plain", rules), path).await, expected, "{path}");
    }
    for (robots, expected) in [
        (text(200, "text/plain", "User-agent: *\nDisallow: /"), "blocked"),
        (text(200, "text/html", "<html>no rules"), "Page"),
        (text(404, "text/plain", ""), "Page"),
        (text(403, "text/plain", ""), "Page"),
    ] {
        assert_eq!(visit(robots, "/x").await, expected);
    }
    let server = Server::start(vec![text(200, "text/plain", "User-agent: *\nDisallow: /")]).await;
    let failure = scraper("good").scrape(&polite(&server, "/x"), &()).await.unwrap_err();
    assert!(failure.message.contains("respectRobots"), "{}", failure.message);
    assert_eq!(server.seen()[0].line(), "GET /robots.txt");
    assert_eq!(server.seen().len(), 1);
}

/// Counts the calls.
#[derive(Default)]
struct Counter(AtomicUsize);

#[async_trait]
impl Gate for Counter {
    async fn acquire(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) async fn rules_are_fetched_once() {
    let rules = text(200, "text/plain", "User-agent: *\nDisallow: /private");
    let server = Server::start(vec![rules, page(), page(), page()]).await;
    let (scraper, gate) = (scraper("good"), Counter::default());
    for _ in 0..3 {
        scraper.scrape(&polite(&server, "/x"), &gate).await.unwrap();
    }
    scraper.scrape(&polite(&server, "/private"), &gate).await.unwrap_err();
    assert_eq!(server.seen().len(), 4);
    assert_eq!(gate.0.load(Ordering::SeqCst), 4);
}

pub(crate) async fn a_broken_site_is_left_alone_for_now() {
    for robots in [text(500, "text/plain", ""), text(503, "text/plain", ""), Answer::Reset] {
        assert_eq!(visit(robots, "/x").await, "provider_error, again");
    }
    // And asked again.
    let server = Server::start(vec![text(500, "text/plain", ""), text(404, "text/plain", ""), page()]).await;
    let scraper = scraper("good");
    scraper.scrape(&polite(&server, "/x"), &()).await.unwrap_err();
    scraper.scrape(&polite(&server, "/x"), &()).await.unwrap();
}

pub(crate) async fn the_last_page_is_asked_for_too() {
    let no = text(200, "text/plain", "User-agent: *\nDisallow: /");
    let other = Server::start(vec![page(), no]).await;
    let place = other.base.join("/there").unwrap();
    let server = Server::start(vec![text(404, "text/plain", ""), redirect(302, place.as_str())]).await;
    let failure = scraper("good").scrape(&polite(&server, "/x"), &()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Blocked);
}

pub(crate) async fn long_rules_are_cut() {
    let filler = "# nothing to see here\n".repeat(50_000);
    let before = format!("User-agent: *\nDisallow: /x\n{filler}");
    assert_eq!(visit(text(200, "text/plain", &before), "/x").await, "blocked");
    let after = format!("{filler}User-agent: *\nDisallow: /x\n");
    assert_eq!(visit(text(200, "text/plain", &after), "/x").await, "Page");
    let redirects = vec![redirect(302, "/robots.txt"); 6];
    let server = Server::start([redirects, vec![page()]].concat()).await;
    scraper("good").scrape(&polite(&server, "/x"), &()).await.unwrap();
}
