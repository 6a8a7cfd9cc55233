//! Pages that are read in a browser. Without a Chromium this is passed over, and says so.

use serde_json::{Value, json};

use super::processing::{run, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::Reply;
use crate::harness::{Scenario, StubServer, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("rendering", Own:
    a_shell_is_read_in_a_browser,
    a_server_without_a_browser_says_so,
);

/// Names the browser, as for the tests of the web application.
const VARIABLE: &str = "CHROMIUM";
const SYSTEM: &[&str] = &["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const SHELL: &str = "<!doctype html><title>Mill</title><div id=root></div><script src=/app.js></script>";
const SCRIPT: &str = "fetch('/data').then((answer) => answer.json()).then((data) => {
    document.getElementById('root').innerHTML = `<main><h1>${data.title}</h1><p>${data.text.repeat(9)}</p></main>` })";

fn chromium() -> Option<String> {
    let named = std::env::var(VARIABLE).ok();
    let system = || SYSTEM.iter().find(|path| std::path::Path::new(path).exists()).map(ToString::to_string);
    let found = named.or_else(system);
    if found.is_none() {
        eprintln!("not run: no Chromium is here, and {VARIABLE} names none");
    }
    found
}

fn site() -> StubServer {
    StubServer::start(|seen, _| {
        let (kind, body) = match seen.path.as_str() {
            "/app.js" => ("text/javascript", SCRIPT),
            "/data" => (
                "application/json",
                r#"{"title": "Rye", "text": "The mill stands by the river and grinds. "}"#,
            ),
            "/plain" => (
                "text/html",
                "<main><h1>Plain</h1><p>A page that shows itself, without any script.</p></main>",
            ),
            _ => ("text/html", SHELL),
        };
        Reply::With(200, vec![("Content-Type", kind.to_owned())], body.to_owned())
    })
}

/// Adds a scraper with these settings beside its address.
fn scraper(table: &Table, header: &str, settings: Value) -> String {
    let mut config = json!({ "url": "@{Site}", "respectRobots": false });
    config.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    table.add_column(json!({ "templateId": "web-scraper", "header": header, "taskConfig": {
        "taskType": "webScraper", "webScraper": config,
    } }))
}

fn a_shell_is_read_in_a_browser() {
    let Some(chromium) = chromium() else { return };
    let stub_server = site();
    let server = started(&[("ROWMILL_BROWSER", &chromium)]);
    let table = server.api().table(&["Site"]);
    let auto = scraper(&table, "Auto", json!({}));
    let always =
        scraper(&table, "Always", json!({ "render": "always", "formats": ["markdown", "screenshot"] }));
    let never = scraper(&table, "Never", json!({ "render": "never" }));
    let sites = ["/shell", "/plain"].map(|path| json!({ "Site": stub_server.url(path) }));
    let ids = table.insert(sites.to_vec().into());
    run(&table, json!({}));
    for column in [&auto, &always] {
        let page = table.value(&ids[0], column);
        let markdown = page["markdown"].as_str().unwrap();
        assert!(markdown.starts_with("# Rye\n\nThe mill stands by the river"), "{page}");
        assert_eq!(page["metadata"]["rendered"], true, "{page}");
    }
    let picture = table.value(&ids[0], &always)["screenshot"].clone();
    assert!(picture.as_str().unwrap().starts_with("data:image/jpeg;base64,/9j/"), "{picture}");
    // A page that needs no browser gets none, unless that is asked.
    let rendered = |column: &String| table.value(&ids[1], column)["metadata"]["rendered"].clone();
    assert_eq!(
        (rendered(&auto), rendered(&always), rendered(&never)),
        (Value::Null, json!(true), Value::Null)
    );
    let cell = table.cells(&ids[0])[&never].clone();
    assert_eq!(cell["error"]["code"], "needs_browser", "{cell}");
}

fn a_server_without_a_browser_says_so() {
    let stub_server = site();
    let server = started(&[]);
    let table = server.api().table(&["Site"]);
    let columns = [
        scraper(&table, "Always", json!({ "render": "always" })),
        scraper(&table, "Picture", json!({ "formats": ["screenshot"] })),
        scraper(&table, "Auto", json!({})),
    ];
    let ids = table.insert(json!([{ "Site": stub_server.url("/shell") }]));
    run(&table, json!({}));
    let cells = table.cells(&ids[0]);
    for column in &columns {
        let error = &cells[column]["error"];
        assert_eq!(error["code"], "needs_browser", "{error}");
        assert!(error["message"].as_str().unwrap().contains("--browser"), "{error}");
    }
}
