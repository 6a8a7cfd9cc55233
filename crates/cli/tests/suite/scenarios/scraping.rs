//! Fairness between teams that scrape, and what counts as too much for a page.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use super::processing::started;
use crate::harness::faults::sized;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::Reply;
use crate::harness::{Api, Scenario, StubServer, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("scraping", Own:
    a_page_does_not_wait_for_anothers_slow_pages,
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
