//! Fairness between teams that scrape, and what counts as too much for a page.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use super::processing::{run, started};
use crate::harness::faults::sized;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::Reply;
use crate::harness::{Api, Scenario, StubServer, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("scraping", Own:
    a_page_does_not_wait_for_anothers_slow_pages,
    a_column_says_what_it_wants_of_a_page,
    a_shell_is_read_or_told,
);

/// As many as are fetched from one site at once.
const SLOW: usize = 8;
/// A page and all that goes with it, on a busy machine.
const TIME_MAX: Duration = Duration::from_mins(2);

/// An ordinary page of this many bytes, which takes a while to read.
fn long_page(bytes: usize) -> String {
    let mut page = "<!doctype html><title>Mills</title><main>".to_owned();
    while page.len() < bytes {
        let _ = write!(
            page,
            "<section><h2>Mill {0}</h2><p>It <b>grinds</b> corn, and <a href='/row/{0}'>rows</a> of them stand \
             along the river.</p><ul><li>one<li>two</ul></section>",
            page.len()
        );
    }
    page
}

fn scrapes(api: &Api, sites: &[String]) -> Table {
    let table = api.table(&["Site"]);
    table.add_column(json!({ "templateId": "web-scraper", "header": "Page", "taskConfig": {
        "taskType": "webScraper", "webScraper": { "url": "@{Site}", "respectRobots": false },
    } }));
    table.insert(sites.iter().map(|site| json!({ "Site": site })).collect());
    table
}

/// How many pages of a table were read.
fn read(table: &Table) -> usize {
    let page = table.rows(&[]);
    let rows = page["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["cells"].to_string().contains("markdown")).count()
}

/// How many pages of a table were read or given up.
fn ended(table: &Table) -> usize {
    let page = table.rows(&[("withStatus", "true")]);
    let rows = page["rows"].as_array().unwrap().iter();
    let is_pending = |cells: &str| cells.contains(r#""queued""#) || cells.contains(r#""generating""#);
    rows.filter(|row| !is_pending(&row["cells"].to_string())).count()
}

fn a_page_does_not_wait_for_anothers_slow_pages() {
    let long = long_page(sized(2_000_000, 9_000_000));
    let stub_server = StubServer::start(move |seen, _| {
        let body = if seen.path.starts_with("/long") { long.clone() } else { "<p>Hello".to_owned() };
        Reply::With(200, vec![("Content-Type", "text/html".to_owned())], body)
    });
    let server = started(&[]);
    let slow: Vec<String> = (0..SLOW).map(|number| stub_server.url(&format!("/long/{number}"))).collect();
    let noisy = scrapes(&server.api(), &slow);
    let quiet = scrapes(&server.team("quiet"), &[stub_server.url("/short")]);
    noisy.post("/trigger", json!({})).ok();
    eventually("slow pages wait to be read", TIME_MAX, || (stub_server.count() >= SLOW).then_some(()));
    quiet.post("/trigger", json!({})).ok();
    eventually("the quiet team's page is read", TIME_MAX, || (read(&quiet) == 1).then_some(()));
    // First come, first served would be all but those being read at the moment.
    let first = ended(&noisy);
    assert!(first <= SLOW / 2, "{first} of the neighbour's pages ended first");
    noisy.post("/stop", json!({})).ok();
}

const SHOP: &str = "<!doctype html><html lang=en><title>Shop</title><link rel=canonical href=/shop>\
    <script type='application/ld+json'>{\"@type\": \"Store\", \"name\": \"Mill Shop\", \"address\": \"1 Mill Rd\"}</script>\
    <main><h1>Flour</h1><table><tr><th>Kind<th>Price<tr><td>Rye<td>3 EUR</table><p class=note>Ground daily.</p>\
    <img src=/flour.png alt='A bag'></main><footer><a href='mailto:shop@example.com'>Mail</a> \
    <a href='https://www.linkedin.com/company/mill'>LinkedIn</a></footer>";

fn a_column_says_what_it_wants_of_a_page() {
    let stub_server = StubServer::start(|_, _| {
        Reply::With(200, vec![("Content-Type", "text/html; charset=utf-8".to_owned())], SHOP.to_owned())
    });
    let server = started(&[]);
    let table = server.api().table(&["Site"]);
    let wanted = json!({
        "url": "@{Site}", "respectRobots": false, "maxChars": 60,
        "formats": ["markdown", "text", "html", "links", "images", "contacts", "jsonld"],
        "selectors": { "include": ["main"], "exclude": [".note"] },
    });
    let scraper = |config: &serde_json::Value| {
        json!({ "templateId": "web-scraper", "header": "Page", "taskConfig": {
            "taskType": "webScraper", "webScraper": config,
        } })
    };
    let column = table.add_column(scraper(&wanted));
    let stored = &table.full_column(&column)["taskConfig"]["webScraper"];
    for field in ["formats", "maxChars", "selectors"] {
        assert_eq!(stored[field], wanted[field], "{stored}");
    }
    let ids = table.insert(json!([{ "Site": stub_server.url("/") }]));
    run(&table, json!({}));
    let page = table.value(&ids[0], &column);
    assert_eq!(page["markdown"], "# Flour\n\n| Kind | Price |\n| --- | --- |\n| Rye | 3 EUR |", "{page}");
    assert_eq!(page["text"], "Flour\nKind\nPrice\nRye\n3 EUR");
    assert_eq!(page["truncated"], true, "the HTML is longer: {page}");
    assert!(page["html"].as_str().unwrap().len() <= 60, "{page}");
    assert_eq!(page["images"], json!([{ "url": stub_server.url("/flour.png"), "alt": "A bag" }]));
    assert_eq!(page["contacts"]["emails"], json!(["shop@example.com"]));
    assert_eq!(page["contacts"]["profiles"][0]["network"], "linkedin");
    assert_eq!(page["jsonld"][0]["name"], "Mill Shop");
    let metadata = &page["metadata"];
    assert_eq!(metadata["company"], json!({ "name": "Mill Shop", "address": "1 Mill Rd" }), "{metadata}");
    assert_eq!(metadata["canonicalUrl"], stub_server.url("/shop"));
    assert_eq!(metadata["emails"], page["contacts"]["emails"]);

    let patch = json!({ "taskConfig": { "webScraper": { "maxChars": null, "selectors": null } } });
    table.patch(&format!("/columns/{column}"), patch).ok();
    let stored = &table.full_column(&column)["taskConfig"]["webScraper"];
    assert!(stored.get("maxChars").is_none() && stored.get("selectors").is_none(), "{stored}");
    for (field, wrong) in [
        ("formats", json!(["pixels"])),
        ("render", json!("sometimes")),
        ("maxChars", json!(0)),
        ("selectors", json!({ "include": [""] })),
        ("selectors", json!({ "only": ["p"] })),
    ] {
        let mut config = wanted.clone();
        config[field] = wrong;
        table.post("/columns", scraper(&config)).refused(400, "invalid_request");
    }
    let broken = json!({ "url": "@{Site}", "selectors": { "include": ["p["] } });
    let column = table.add_column(scraper(&broken));
    run(&table, json!({}));
    let cell = table.cells(&ids[0])[&column].clone();
    assert_eq!(cell["error"]["code"], "invalid_input", "{cell}");
    assert!(cell["error"]["message"].as_str().unwrap().contains("selectors.include[0]"), "{cell}");
}

fn a_shell_is_read_or_told() {
    const FEED: &str =
        "<rss><channel><title>News</title><item><title>Rye</title><link>/rye</link></item></channel></rss>";
    let words = "The mill stands by the river and grinds the grain of eleven villages. ".repeat(5);
    let full = json!({ "props": { "pageProps": { "text": words } } });
    let shell =
        |data: &str| format!("<title>Mill</title><div id=root></div>{data}<script src=/app.js></script>");
    let held = shell(&format!("<script id=__NEXT_DATA__ type='application/json'>{full}</script>"));
    let empty = shell("<link rel=alternate type=application/rss+xml href=/feed>");
    let stub_server = StubServer::start(move |seen, _| {
        let (kind, body) = match seen.path.as_str() {
            "/held" => ("text/html", held.clone()),
            "/feed" => ("application/rss+xml", FEED.to_owned()),
            _ => ("text/html", empty.clone()),
        };
        Reply::With(200, vec![("Content-Type", kind.to_owned())], body)
    });
    let server = started(&[("ROWMILL_USER_AGENT", "AcmeBot/1.0 (+https://acme.example/bot)")]);
    let table = server.api().table(&["Site"]);
    let column = table.add_column(json!({ "templateId": "web-scraper", "header": "Page", "taskConfig": {
        "taskType": "webScraper", "webScraper": { "url": "@{Site}", "respectRobots": false },
    } }));
    let paths = ["/held", "/empty", "/feed"];
    let ids = table.insert(paths.iter().map(|path| json!({ "Site": stub_server.url(path) })).collect());
    run(&table, json!({}));
    let page = table.value(&ids[0], &column);
    assert_eq!(
        (&page["markdown"], &page["metadata"]["embedded"]),
        (&json!(words.trim_end()), &json!(true)),
        "{page}"
    );
    let cell = table.cells(&ids[1])[&column].clone();
    assert_eq!(
        (&cell["status"], &cell["error"]["code"]),
        (&json!("error"), &json!("needs_browser")),
        "{cell}"
    );
    assert!(cell["error"]["message"].as_str().unwrap().contains(&stub_server.url("/feed")), "{cell}");
    let feed = table.value(&ids[2], &column);
    assert_eq!(feed["items"], json!([{ "title": "Rye", "url": stub_server.url("/rye") }]), "{feed}");
    let seen = stub_server.seen();
    assert!(seen.iter().all(|seen| seen.headers["user-agent"].starts_with("AcmeBot/1.0")), "{seen:?}");
    let filters =
        json!([{ "columnId": column, "operator": "errorCodeIn", "value": ["needs_browser"] }]).to_string();
    assert_eq!(table.values("Site", &[("filters", &filters)]), [stub_server.url("/empty")]);
}
