//! What becomes of pages, good and bad.

use std::time::Duration;

use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::column::{ScrapeFormat, WebScraper};
use rowmill_providers::scrape::{Scraped, Target, Wanted};
use rowmill_providers::{Failure, FailureKind};
use serde_json::json;

use crate::server::{Answer, Server, redirect, text};
use crate::stub_children::{scraper, target};

const ARTICLE: &str = "<!doctype html><html lang=en><head><title>The mill</title>
<meta name=description content='About a mill'></head><body>
<nav><a href=/home>Home</a></nav>
<article><h1>The mill</h1><p>The mill stands by the river, and its wheel has turned since the year 1412, when
the monks built it to grind the grain of eleven villages.</p><p>Today <a href='/grain'>grain</a> comes by
lorry, and the flour leaves in paper bags; the wheel turns for visitors, who come on Sundays to watch it and
to eat the bread that is baked next door.</p><ul><li>rye<li>wheat</ul></article>
<footer>Imprint</footer><script>alert(1)</script></body></html>";

async fn scrape(answer: Answer) -> Result<Scraped, Failure> {
    scrape_as(answer, |target| target).await
}

async fn scrape_as(answer: Answer, change: fn(Target) -> Target) -> Result<Scraped, Failure> {
    let server = Server::start(vec![answer]).await;
    let begun = SystemClock.monotonic();
    let outcome = scraper("good").scrape(&change(target(&server, "/page")), &()).await;
    assert!(begun.elapsed() < Duration::from_mins(1));
    outcome
}

pub(crate) async fn a_page_is_read() {
    let server = Server::start(vec![text(200, "text/html", ARTICLE)]).await;
    let scraped = scraper("good").scrape(&target(&server, "/a/b?c#d"), &()).await.unwrap();
    let url = format!("{}a/b?c", server.base);
    let value = serde_json::to_value(&scraped).unwrap();
    assert_eq!(
        value["metadata"],
        json!({
            "title": "The mill",
            "description": "About a mill",
            "language": "en",
            "sourceURL": url,
            "url": url,
            "statusCode": 200,
            "contentType": "text/html",
            "meta": {"description": "About a mill"},
        })
    );
    assert_eq!(value["url"], json!(url));
    assert_eq!(value["links"], json!([format!("{}home", server.base), format!("{}grain", server.base)]));
    assert_eq!(value.get("html"), None);
    let markdown = &scraped.markdown;
    for part in ["by the river", &format!("[grain]({}grain) comes by", server.base), "- rye\n- wheat"] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    for part in ["Home", "Imprint", "alert"] {
        assert!(!markdown.contains(part), "{part}: {markdown}");
    }
    assert_eq!(server.seen()[0].header("user-agent").map(|agent| agent.starts_with("rowmill/")), Some(true));
}

pub(crate) async fn formats_are_as_asked() {
    let whole = |target| Target { only_main_content: false, wanted: with_html(), ..target };
    let scraped = scrape_as(text(200, "text/html", ARTICLE), whole).await.unwrap();
    assert!(scraped.markdown.contains("Home") && scraped.markdown.contains("Imprint"));
    let html = scraped.formats.html.unwrap();
    assert!(html.contains("<nav>") && html.contains("<footer>Imprint</footer>") && !html.contains("alert"));
    let main = |target| Target { wanted: with_html(), ..target };
    let html = scrape_as(text(200, "text/html", ARTICLE), main).await.unwrap().formats.html.unwrap();
    assert!(html.contains("by the river") && !html.contains("Imprint"), "{html}");

    let everything = |target| {
        use ScrapeFormat::{Contacts, Images, Jsonld, Text};
        let formats = vec![Text, Images, Contacts, Jsonld];
        let wanted = Wanted { formats, ..Wanted::default() };
        Target { wanted, ..target }
    };
    let page = ARTICLE.replace("Imprint", "<a href='mailto:mill@example.com'>Mail</a>").replace(
        "<h1>",
        "<script type='application/ld+json'>{\"@type\": \"Organization\", \"name\": \"Mill Ltd\"}</script>\
         <h1><img src=/mill.png alt='A mill'>",
    );
    let value = scrape_as(text(200, "text/html", &page), everything).await.unwrap();
    let value = serde_json::to_value(value).unwrap();
    assert!(value["text"].as_str().unwrap().contains("rye\nwheat"), "{value}");
    assert_eq!(value["images"][0]["alt"], "A mill");
    assert_eq!(value["contacts"]["emails"], json!(["mill@example.com"]));
    assert_eq!(value["metadata"]["emails"], value["contacts"]["emails"]);
    assert_eq!(value["jsonld"], json!([{"@type": "Organization", "name": "Mill Ltd"}]));
    assert_eq!(value["metadata"]["company"], json!({"name": "Mill Ltd"}));
    assert!(!value["markdown"].as_str().unwrap().contains("mill@example.com"));

    let config = json!({"url": "@{col_x}", "formats": ["links", "html"], "timeoutSeconds": 7, "maxChars": 9,
        "selectors": {"include": ["article"], "exclude": [".x"]}});
    let config: WebScraper = serde_json::from_value(config).unwrap();
    let target = Target::new("example.com", &config);
    assert!(target.only_main_content && target.respect_robots);
    let expected = Wanted {
        formats: vec![ScrapeFormat::Links, ScrapeFormat::Html],
        chars_max: Some(9),
        include: vec!["article".to_owned()],
        exclude: vec![".x".to_owned()],
    };
    assert_eq!(target.wanted, expected);
    assert_eq!(target.timeout, Duration::from_secs(7));
}

fn with_html() -> Wanted {
    Wanted { formats: vec![ScrapeFormat::Html], ..Wanted::default() }
}

pub(crate) async fn a_long_page_is_cut() {
    fn short(target: Target) -> Target {
        Target { wanted: Wanted { chars_max: Some(100), ..with_html() }, ..target }
    }
    let long = format!("<article>{}</article>", "<p>The mill stands by the river.</p>".repeat(2_000));
    let scraped = scrape_as(text(200, "text/html", &long), short).await.unwrap();
    let chars = scraped.markdown.chars().count();
    assert!((90..=100).contains(&chars) && scraped.is_truncated, "{}", scraped.markdown);
    let html = scraped.formats.html.clone().unwrap();
    assert!(html.chars().count() <= 100 && html.rfind('<') < html.rfind('>'), "{html}");
    assert_eq!(serde_json::to_value(&scraped).unwrap()["truncated"], json!(true));
    // What is too long to be read at all is read from its beginning.
    let tiny = |target| Target { bytes_max: 5_000, ..short(target) };
    assert!(scrape_as(text(200, "text/html", &long), tiny).await.unwrap().is_truncated);
    let plain = |target| Target { wanted: Wanted { chars_max: Some(3), ..Wanted::default() }, ..target };
    assert_eq!(scrape_as(text(200, "text/plain", "ééééé"), plain).await.unwrap().markdown, "ééé");
    let value = serde_json::to_value(scrape(text(200, "text/html", ARTICLE)).await.unwrap()).unwrap();
    assert_eq!(value.get("truncated"), None);
}

pub(crate) async fn selectors_choose_what_is_read() {
    let page = "<nav>Menu</nav><div class=price>9 EUR <i>net</i></div><p id=x>More</p><p>Less</p>";
    for (include, exclude, expected) in [
        (vec![".price", "#x"], vec![], "9 EUR *net*\n\nMore"),
        (vec!["p", ".price"], vec!["i", "#x"], "9 EUR\n\nLess"),
        (vec!["table"], vec![], ""),
        (vec![], vec!["p", "nav"], "9 EUR *net*"),
    ] {
        let server = Server::start(vec![text(200, "text/html", page)]).await;
        let texts = |selectors: Vec<&str>| selectors.into_iter().map(str::to_owned).collect();
        let wanted = Wanted { include: texts(include), exclude: texts(exclude), ..Wanted::default() };
        let target = Target { wanted, ..target(&server, "/") };
        assert_eq!(scraper("good").scrape(&target, &()).await.unwrap().markdown, expected);
    }
    let server = Server::start(vec![]).await;
    let wanted = Wanted { exclude: vec!["p".to_owned(), "p[".to_owned()], ..Wanted::default() };
    let failure = scraper("good").scrape(&Target { wanted, ..target(&server, "/") }, &()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::InvalidInput);
    assert!(failure.message.contains("selectors.exclude[1]"), "{}", failure.message);
    assert!(server.seen().is_empty());
}

pub(crate) async fn text_is_kept_as_it_is() {
    for (content_type, body, expected) in [
        ("text/plain", "\n# A <b>\r\n\r\n* c ", "# A <b>\n\n* c"),
        ("text/markdown; charset=utf-8", "**é**", "**é**"),
        ("application/json", "{\"a\": 1.50}", "{\"a\": 1.50}"),
        ("application/atom+xml", "<feed/>", "<feed/>"),
    ] {
        let scraped = scrape(text(200, content_type, body)).await.unwrap();
        assert_eq!(scraped.markdown, expected);
        assert_eq!((scraped.links.len(), scraped.metadata.title), (0, None));
    }
}

pub(crate) async fn every_charset_is_read() {
    for (content_type, body) in [
        ("text/html; charset=iso-8859-1", b"<p>Caf\xe9".to_vec()),
        ("text/html", b"<meta charset=windows-1252><p>Caf\xe9".to_vec()),
        ("text/html; charset=latin1", b"\xef\xbb\xbf<p>Caf\xc3\xa9".to_vec()),
        ("text/html", b"<p>Caf\xc3\xa9".to_vec()),
    ] {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        let scraped = scrape(Answer::Http { status: 200, headers, body }).await.unwrap();
        assert_eq!(scraped.markdown, "Café", "{content_type}");
    }
}

pub(crate) async fn redirects_are_followed() {
    let other = Server::start(vec![text(200, "text/html", "<p>There <a href=x>x</a>")]).await;
    let place = format!("{}deep/page", other.base);
    let server = Server::start(vec![redirect(301, "/b"), redirect(302, &place)]).await;
    let scraped = scraper("good").scrape(&target(&server, "/a"), &()).await.unwrap();
    assert_eq!((scraped.url.as_str(), scraped.metadata.url.as_str()), (place.as_str(), place.as_str()));
    assert_eq!(scraped.metadata.source_url, format!("{}a", server.base));
    assert_eq!(scraped.links, [format!("{}deep/x", other.base)]);
}

pub(crate) async fn a_redirect_into_the_house_is_blocked() {
    for place in ["http://127.0.0.2:1/", "http://169.254.169.254/", "http://[::1]:1/", "file:///etc/passwd"] {
        let failure = scrape(redirect(302, place)).await.unwrap_err();
        assert_eq!((failure.kind, failure.is_transient), (FailureKind::Blocked, false), "{place}");
    }
    let mut private = target(&Server::start(vec![]).await, "/");
    private.url = "http://10.0.0.1/".to_owned();
    assert_eq!(scraper("good").scrape(&private, &()).await.unwrap_err().kind, FailureKind::Blocked);
}

pub(crate) async fn statuses_have_their_words() {
    for (status, kind, is_transient, words) in [
        (401, FailureKind::InvalidCredentials, false, "login"),
        (403, FailureKind::InvalidCredentials, false, "denies access to programs"),
        (404, FailureKind::ProviderError, false, "does not exist"),
        (410, FailureKind::ProviderError, false, "does not exist"),
        (418, FailureKind::ProviderError, false, "418"),
        (429, FailureKind::RateLimited, true, "too many requests"),
        (500, FailureKind::ProviderError, true, "500"),
        (503, FailureKind::ProviderError, true, "503"),
    ] {
        let failure = scrape(text(status, "text/html", "<h1>No</h1>")).await.unwrap_err();
        assert_eq!((failure.kind, failure.is_transient), (kind, is_transient), "{status}");
        assert!(failure.message.contains(words), "{}", failure.message);
    }
    let failure = scrape(text(429, "text/html", "").with("retry-after", "9")).await.unwrap_err();
    assert_eq!(failure.retry_after, Some(Duration::from_secs(9)));
}

pub(crate) async fn what_cannot_be_read_is_told() {
    for content_type in ["image/png", "application/zip", "video/mp4"] {
        let failure = scrape(text(200, content_type, "x")).await.unwrap_err();
        assert_eq!((failure.kind, failure.is_transient), (FailureKind::InvalidOutput, false));
        assert!(failure.message.contains(content_type), "{}", failure.message);
    }
    let small = |target| Target { bytes_max: 1_000, ..target };
    let failure = scrape_as(text(200, "text/html", &"x".repeat(1_001)), small).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::TooLarge);
    let quick = |target| Target { timeout: Duration::from_millis(100), ..target };
    assert_eq!(scrape_as(Answer::Silence, quick).await.unwrap_err().kind, FailureKind::TimedOut);
}

pub(crate) async fn hostile_pages_do_no_harm() {
    let attributes: Vec<String> = (0..1_000_000).map(|number| format!(" a{number}=1")).collect();
    let fonts: Vec<String> = (0..2_000).map(|number| format!("<font a={number}>")).collect();
    let (attributes, fonts) = (attributes.concat(), fonts.concat());
    for html in [
        format!("{}deep words{}", "<div>".repeat(100_000), "</div>".repeat(100_000)),
        format!("{}deep words", "<blockquote>".repeat(100_000)),
        format!("{}deep words", "<a href=x><div>".repeat(5_000)),
        format!("{}deep words", "<table><tr><td>".repeat(20_000)),
        format!("<p{attributes}>deep words</p>"),
        "<p>deep words<<<>>&&&#xffffffff;&#0;</p></p></div><!-- never closed".to_owned(),
        format!("<p>deep words</p>{}", "<b><i></b>".repeat(3_000)),
        format!("<p>deep words</p>{}", "</br>".repeat(50_000)),
        format!("{fonts}<p>deep words</p>{}", "<p>x</p>".repeat(20)),
    ] {
        let scraped = scrape(text(200, "text/html", &html)).await;
        let start: String = html.chars().take(40).collect();
        let scraped = scraped.unwrap_or_else(|failure| panic!("{start}: {failure}"));
        assert!(scraped.markdown.contains("deep words"), "{start}: {}", scraped.markdown.len());
    }
    let empty = scrape(text(200, "text/html", "")).await.unwrap();
    assert_eq!((empty.markdown.as_str(), empty.links.len()), ("", 0));
}

pub(crate) async fn cells_without_an_address_are_told() {
    let server = Server::start(vec![]).await;
    for url in ["", " ", "Acme Inc", "ada@acme.com", "ftp://acme.com/"] {
        let target = Target { url: url.to_owned(), ..target(&server, "/") };
        let failure = scraper("good").scrape(&target, &()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidInput, "{url}");
    }
    assert!(server.seen().is_empty());
}
