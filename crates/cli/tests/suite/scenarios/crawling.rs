//! Crawls: the pages of a site as a list, on good sites and on hostile ones.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::nodes::Service;
use super::processing::{asks, ended, run, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Api, Scenario, StubServer, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("crawling", Own:
    a_site_becomes_a_list,
    a_crawl_is_part_of_a_columns_settings,
    hostile_sites_are_bounded,
    a_crawl_ends_in_time_and_when_it_is_stopped,
    crawls_leave_room_for_other_cells,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("crawling", Nodes:
    nodes_keep_to_the_delay_of_a_site_together,
    nodes_share_the_pages_of_a_site,
);

const TIME_MAX: Duration = Duration::from_mins(2);

fn html(body: &str) -> Reply {
    Reply::With(200, vec![("Content-Type", "text/html".to_owned())], body.to_owned())
}

fn words(text: &str) -> Reply {
    Reply::With(200, vec![("Content-Type", "text/plain".to_owned())], text.to_owned())
}

/// A table that crawls, and its column.
fn crawls(api: &Api, settings: &Value, crawl: &Value) -> (Table, String) {
    let table = api.table(&["Site"]);
    let mut scraper = json!({ "url": "@{Site}", "crawl": crawl });
    for (name, value) in settings.as_object().unwrap() {
        scraper[name] = value.clone();
    }
    let column = table.add_column(json!({ "templateId": "web-scraper", "header": "Pages", "taskConfig": {
        "taskType": "webScraper", "webScraper": scraper,
    } }));
    (table, column)
}

/// The value of one crawl.
fn crawled(api: &Api, start: &str, settings: &Value, crawl: &Value) -> Value {
    let (table, column) = crawls(api, settings, crawl);
    let ids = table.insert(json!([{ "Site": start }]));
    run(&table, json!({}));
    let value = table.value(&ids[0], &column);
    assert!(value["pages"].is_array(), "{}", table.cells(&ids[0])[&column]);
    value
}

/// What is in the list: the path of each page, and its error.
fn paths(value: &Value, site: &StubServer) -> Vec<String> {
    let line = |page: &Value| {
        let path = page["url"].as_str().unwrap().replace(&site.url(""), "");
        let code = page["error"]["code"].as_str().map(|code| format!(" {code}"));
        path + &code.unwrap_or_default()
    };
    value["pages"].as_array().unwrap().iter().map(line).collect()
}

fn asked(site: &StubServer, path: &str) -> usize {
    site.seen().iter().filter(|seen| seen.path == path).count()
}

/// A site with a robots.txt, an index of sitemaps, pages that are the same, and pages that are not there.
fn mill() -> StubServer {
    StubServer::start(|seen, _| {
        let host = format!("http://{}", seen.headers["host"]);
        let page = |title: &str, links: &str| {
            html(&format!("<title>{title}</title><main><h1>{title}</h1><p>About {title}.</p>{links}</main>"))
        };
        match seen.path.as_str() {
            "/robots.txt" => {
                words(&format!("User-agent: *\nDisallow: /private\nSitemap: {host}/sitemaps.xml"))
            }
            "/sitemaps.xml" => words(&format!(
                "<sitemapindex><sitemap><loc>{host}/sitemap-1.xml</loc></sitemap>\
                 <sitemap><loc>{host}/sitemaps.xml</loc></sitemap></sitemapindex>"
            )),
            "/sitemap-1.xml" => words(&format!(
                "<urlset><url><loc>{host}/hidden?a=1&amp;b=2</loc></url><url><loc>{host}/rye</loc></url>\
                 <url><loc>https://elsewhere.example/</loc></url></urlset>"
            )),
            "/" => page(
                "Mill",
                "<a href=/rye>Rye</a><a href=/rye/#x>Rye</a><a href='/rye?utm_source=home'>Rye</a><a href=/wheat>Wheat</a>\
                 <a href=/private/x>Private</a><a href=/gone>Gone</a><a href=/logo.png>Logo</a><a href=/out>Out</a>\
                 <a href=/loop>Loop</a><a href='mailto:a@b.example'>Mail</a><a href='https://other.example/'>Other</a>",
            ),
            "/rye" => page("Rye", "<a href=/rye/deep>Deep</a><a href='/rye?print=1'>Print</a>"),
            "/rye?print=1" => html("<title>Rye</title><link rel=canonical href=/rye><p>Rye, on paper."),
            "/rye/deep" => page("Deep", "<a href=/rye/deeper>Deeper</a>"),
            "/wheat" => html(
                "<title>Wheat</title><meta name=Robots content='noindex, NOFOLLOW'><a href=/unwanted>x</a>",
            ),
            "/hidden?a=1&b=2" => page("Hidden", ""),
            "/out" => Reply::With(302, vec![("Location", "http://10.0.0.1/".to_owned())], String::new()),
            "/loop" => Reply::With(302, vec![("Location", "/loop".to_owned())], String::new()),
            _ => Reply::With(404, vec![], String::new()),
        }
    })
}

fn a_site_becomes_a_list() {
    let site = mill();
    let server = started(&[]);
    let value = crawled(&server.api(), &site.url("/"), &json!({}), &json!({ "maxPages": 20 }));
    let expected = [
        "/",
        "/rye",
        "/wheat",
        "/private/x blocked",
        "/gone provider_error",
        "/out blocked",
        "/loop provider_error",
        "/hidden?a=1&b=2",
        "/rye/deep",
    ];
    assert_eq!(paths(&value, &site), expected, "{value}");
    assert_eq!((&value["url"], &value["unread"]), (&json!(site.url("/")), &json!(0)));
    assert!(value.get("truncated").is_none() && value.get("stoppedBy").is_none(), "{value}");
    let rye = &value["pages"][1];
    assert_eq!((&rye["title"], &rye["depth"]), (&json!("Rye"), &json!(1)), "{rye}");
    assert!(rye["markdown"].as_str().unwrap().starts_with("# Rye\n\nAbout Rye."), "{rye}");
    assert!(rye.get("links").is_none() && rye.get("error").is_none(), "{rye}");
    let gone = &value["pages"][4]["error"];
    assert!(gone["message"].as_str().unwrap().contains("404"), "{gone}");
    for path in ["/private/x", "/logo.png", "/unwanted", "/rye/deeper"] {
        assert_eq!(asked(&site, path), 0, "{path}");
    }
    assert_eq!((asked(&site, "/rye"), asked(&site, "/robots.txt"), asked(&site, "/sitemaps.xml")), (1, 1, 1));

    let settings = json!({ "formats": ["text", "links"], "maxChars": 5 });
    let only = json!({ "include": ["/rye*"], "exclude": ["*/deep"], "sitemap": false, "maxPages": 1 });
    let value = crawled(&server.api(), &site.url("/"), &settings, &only);
    assert_eq!(paths(&value, &site), ["/rye"], "{value}");
    assert_eq!(value["truncated"], true, "the page's text was cut: {value}");
    let page = &value["pages"][0];
    let text = page["text"].as_str().unwrap();
    assert!(text.starts_with("Rye") && text.len() <= 5 && page.get("markdown").is_none(), "{page}");
    assert_eq!(page["links"][0], site.url("/rye/deep"));
    let few = crawled(&server.api(), &site.url("/"), &json!({}), &json!({ "maxPages": 2, "maxDepth": 1 }));
    assert_eq!((paths(&few, &site).len(), &few["stoppedBy"]), (2, &json!("maxPages")), "{few}");
    assert!(few["unread"].as_u64().unwrap() > 2 && few.get("truncated").is_none(), "{few}");
    let alone = crawled(&server.api(), &site.url("/"), &json!({}), &json!({ "maxDepth": 0 }));
    assert_eq!(paths(&alone, &site), ["/"]);
}

fn a_crawl_is_part_of_a_columns_settings() {
    let server = started(&[]);
    let api = server.api();
    let (table, column) = crawls(&api, &json!({}), &json!({ "include": ["/blog/*"] }));
    let stored = &table.full_column(&column)["taskConfig"]["webScraper"]["crawl"];
    let expected = json!({ "include": ["/blog/*"], "exclude": [], "maxDepth": 2, "maxPages": 10, "sitemap": true,
        "timeoutSeconds": 300 });
    assert_eq!(stored, &expected);
    table.insert(json!([{ "Site": "example.com" }]));
    let estimate = table.post("/trigger", json!({ "dryRun": true })).ok()["estimate"].clone();
    assert_eq!(estimate["cells"], 1, "{estimate}");
    assert!(estimate["usd"]["likely"].as_f64().is_none_or(|usd| usd <= 0.0), "{estimate}");
    let patch = |crawl: Value| json!({ "taskConfig": { "webScraper": { "crawl": crawl } } });
    for wrong in [
        json!({ "maxPages": 0 }),
        json!({ "maxPages": 51 }),
        json!({ "maxDepth": 11 }),
        json!({ "timeoutSeconds": 601 }),
        json!({ "include": ["blog"] }),
        json!({ "include": vec!["/"; 21] }),
        json!({ "exclude": [format!("/{}", "x".repeat(200))] }),
        json!({ "pages": 1 }),
    ] {
        table.patch(&format!("/columns/{column}"), patch(wrong)).refused(400, "invalid_request");
    }
    table.patch(&format!("/columns/{column}"), patch(Value::Null)).ok();
    let stored = &table.full_column(&column)["taskConfig"]["webScraper"];
    assert!(stored.get("crawl").is_none(), "{stored}");
}

fn hostile_sites_are_bounded() {
    // Four times as many links as are taken of a page.
    let many: Vec<String> = (0..4_000).map(|number| format!("<a href=/few/{number}>x</a>")).collect();
    let many = many.concat();
    let big = format!("<p>{}", "The mill stands by the river. ".repeat(8_000));
    let huge: Vec<String> =
        (0..100_000).map(|number| format!("<url><loc>/listed/{number}</loc></url>")).collect();
    let huge = huge.concat();
    let site = StubServer::start(move |seen, number| match seen.path.split(['/', '?']).nth(1).unwrap() {
        "robots.txt" => words(""),
        "endless" => {
            html(&format!("<title>{number}</title><p>Page<a href=/endless/{number}a>a</a><a href=b>b</a>"))
        }
        "query" => {
            html(&format!("<a href='/query?day={number}'>a</a><a href='/query?day={number}&x=1'>b</a>"))
        }
        "many" => html(&many),
        "big" => html(&format!("{big}<a href=/big/{number}>more</a>")),
        "same" => html(&format!(
            "<link rel=canonical href=/same><a href=/same/{number}>a</a><a href=/same/{number}b>b</a>"
        )),
        "hopping" => Reply::With(302, vec![("Location", format!("/hopping/{number}"))], String::new()),
        "hops" => html("<a href=/hopping/1>a</a><a href=/hopping/2>b</a>"),
        "few" => html("<p>Few"),
        "sitemap.xml" => words(&format!("<urlset>{huge}")),
        "listed" => html("<p>Listed"),
        _ => Reply::With(404, vec![], String::new()),
    });
    let server = started(&[]);
    let api = server.api();
    let crawl = |path: &str, settings: Value, crawl: Value| {
        let before = site.count();
        let value = crawled(&api, &site.url(path), &settings, &crawl);
        assert!(value.to_string().len() <= 1024 * 1024);
        (value, site.count() - before)
    };
    let plain = || json!({ "maxPages": 5, "maxDepth": 10, "sitemap": false });
    for path in ["/endless", "/many"] {
        let (value, requests) = crawl(path, json!({}), plain());
        assert_eq!((value["pages"].as_array().unwrap().len(), &value["stoppedBy"]), (5, &json!("maxPages")));
        assert!(requests <= 6, "{path}: {requests}");
    }
    let (value, requests) =
        crawl("/query", json!({}), json!({ "maxPages": 50, "maxDepth": 10, "sitemap": false }));
    assert!(value["pages"].as_array().unwrap().len() <= 11 && requests <= 11, "{requests}: {value}");
    // Pages that say they are another one are not in the list, and do not go on for ever.
    let (value, requests) = crawl("/same", json!({}), plain());
    assert!(paths(&value, &site) == ["/same"] && requests <= 20, "{requests}: {value}");
    let (value, requests) = crawl("/hops", json!({}), plain());
    assert_eq!(paths(&value, &site), ["/hops", "/hopping/1 provider_error", "/hopping/2 provider_error"]);
    assert!(requests <= 30, "{requests}");
    let (value, _) = crawl("/few", json!({}), json!({ "maxPages": 3 }));
    assert_eq!(paths(&value, &site), ["/few", "/listed/0", "/listed/1"]);
    let all = json!({ "maxChars": 10_000_000, "formats": ["markdown", "text", "html"] });
    let (value, _) = crawl("/big", all, json!({ "maxPages": 50, "maxDepth": 10, "sitemap": false }));
    assert_eq!((&value["truncated"], &value["stoppedBy"]), (&json!(true), &json!("size")));
    let last = value["pages"].as_array().unwrap().last().unwrap();
    assert!(last.get("markdown").is_none() && last["truncated"] == true && last["url"].is_string(), "{last}");
}

fn a_crawl_ends_in_time_and_when_it_is_stopped() {
    let site = StubServer::start(|seen, _| match seen.path.as_str() {
        "/" | "/again" => html("<p>Start<a href=/slow>a</a><a href=/more>b</a>"),
        "/delayed" => html("<p>Start<a href=/delayed/1>a</a><a href=/delayed/2>b</a>"),
        "/slow" => Reply::Hanging,
        "/robots.txt" => words("User-agent: *\nCrawl-delay: 600"),
        _ => html("<p>More"),
    });
    let server = started(&[]);
    let api = server.api();
    let rude = json!({ "respectRobots": false });
    let begun = Instant::now();
    let short = json!({ "timeoutSeconds": 8, "sitemap": false });
    let value = crawled(&api, &site.url("/"), &rude, &short);
    assert_eq!(
        (paths(&value, &site), &value["stoppedBy"]),
        (vec!["/".to_owned()], &json!("timeout")),
        "{value}"
    );
    assert!(value["truncated"] == true && begun.elapsed() < TIME_MAX, "{value}");
    // Nobody waits for a delay that does not fit.
    let value = crawled(&api, &site.url("/delayed"), &json!({}), &json!({ "sitemap": false }));
    assert_eq!((paths(&value, &site), &value["stoppedBy"]), (vec!["/delayed".to_owned()], &json!("timeout")));
    assert!(begun.elapsed() < TIME_MAX);

    // A stop ends the crawl in the middle of a page.
    let (table, column) = crawls(&api, &rude, &json!({ "sitemap": false }));
    let ids = table.insert(json!([{ "Site": site.url("/again") }]));
    let (slow, aborted) = (asked(&site, "/slow"), site.aborted());
    table.post("/trigger", json!({})).ok();
    eventually("the slow page is asked for", TIME_MAX, || (asked(&site, "/slow") > slow).then_some(()));
    table.post("/stop", json!({})).ok();
    eventually("the call is given up", TIME_MAX, || (site.aborted() > aborted).then_some(()));
    let count = site.count();
    let cell = table.cells(&ids[0])[&column].clone();
    assert!(cell["value"].is_null(), "{cell}");
    site.release();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(site.count(), count, "nothing is asked for after the stop");
}

fn crawls_leave_room_for_other_cells() {
    let site = StubServer::start(|seen, _| match seen.path.as_str() {
        path if path.starts_with("/start") => html("<p>Start<a href=/slow>a</a>"),
        "/slow" => Reply::Hanging,
        _ => ok(json!({})),
    });
    let server = started(&[("ROWMILL_WORKER_CONCURRENCY", "16")]);
    let api = server.api();
    let (long, _) = crawls(&api, &json!({ "respectRobots": false }), &json!({ "sitemap": false }));
    long.insert((0..40).map(|number| json!({ "Site": site.url(&format!("/start/{number}")) })).collect());
    long.post("/trigger", json!({})).ok();
    eventually("crawls are under way", TIME_MAX, || (asked(&site, "/slow") >= 8).then_some(()));
    let quick = api.table(&["Name"]);
    asks(&quick, "Answer", &site, "/quick", json!({}));
    quick.insert((0..20).map(|number| json!({ "Name": number })).collect());
    quick.post("/trigger", json!({})).ok();
    ended(&quick);
    let starts = site.seen().iter().filter(|seen| seen.path.starts_with("/start")).count();
    assert_eq!(starts, 8, "crawls of one team at once");
    long.post("/stop", json!({})).ok();
}

fn nodes_keep_to_the_delay_of_a_site_together() {
    const DELAY: Duration = Duration::from_secs(1);
    let arrivals: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let seen_at = Arc::clone(&arrivals);
    let site = StubServer::start(move |seen, _| match seen.path.as_str() {
        "/robots.txt" => words("User-agent: *\nCrawl-delay: 1"),
        path => {
            seen_at.lock().unwrap().push(Instant::now());
            html(&format!("<p>{path}<a href=/c>c</a><a href=/d>d</a>"))
        }
    });
    let service = Service::start(&[]);
    // One crawl, and pages of another team: the site knows of no teams.
    let (table, column) = crawls(&service.api(), &json!({}), &json!({ "maxPages": 3, "sitemap": false }));
    table.insert(json!([{ "Site": site.url("/start") }]));
    let other = service.nodes[0].team("other").at(&service.balancer.address);
    let pages = other.table(&["Site"]);
    pages.add_column(json!({ "templateId": "web-scraper", "header": "Page", "taskConfig": {
        "taskType": "webScraper", "webScraper": { "url": "@{Site}" },
    } }));
    pages.insert((0..6).map(|number| json!({ "Site": site.url(&format!("/page/{number}")) })).collect());
    pages.post("/trigger", json!({})).ok();
    table.post("/trigger", json!({})).ok();
    ended(&pages);
    ended(&table);
    let rows = table.rows(&[("withStatus", "true")]);
    assert_eq!(rows["rows"][0]["cells"][&column]["value"]["pages"].as_array().unwrap().len(), 3, "{rows}");
    let arrivals = arrivals.lock().unwrap();
    assert_eq!(arrivals.len(), 9);
    for pair in arrivals.windows(2) {
        let apart = pair[1] - pair[0];
        assert!(apart >= DELAY, "{apart:?} in {arrivals:?}");
    }
    assert!(asked(&site, "/robots.txt") >= 2, "several nodes took part");
}

fn nodes_share_the_pages_of_a_site() {
    const AT_ONCE_MAX: usize = 8;
    const HELD_FOR: Duration = Duration::from_millis(150);
    // Those being read now, and the most there were.
    let open: Arc<Mutex<(usize, usize)>> = Arc::default();
    let counted = Arc::clone(&open);
    let site = StubServer::start(move |seen, _| {
        if seen.path.starts_with("/page/") {
            {
                let (now, most) = &mut *counted.lock().unwrap();
                *now += 1;
                *most = (*most).max(*now);
            }
            std::thread::sleep(HELD_FOR);
            counted.lock().unwrap().0 -= 1;
        }
        html(&format!("<p>{}", seen.path))
    });
    // So that each of them takes some of the cells.
    let service = Service::start(&[("ROWMILL_WORKER_CONCURRENCY", "8")]);
    let pages = service.api().table(&["Site"]);
    pages.add_column(json!({ "templateId": "web-scraper", "header": "Page", "taskConfig": {
        "taskType": "webScraper", "webScraper": { "url": "@{Site}", "respectRobots": false },
    } }));
    let insert = |name: &str, count: usize| {
        pages.insert(
            (0..count).map(|number| json!({ "Site": site.url(&format!("/{name}/{number}")) })).collect(),
        );
        pages.post("/trigger", json!({})).ok();
        ended(&pages);
    };
    // The workers become known to each other by their first cells, and are counted every second.
    insert("known", 60);
    std::thread::sleep(Duration::from_millis(1_500));
    insert("page", 60);
    let (now, most) = *open.lock().unwrap();
    assert_eq!((now, asked(&site, "/page/59")), (0, 1));
    assert!((2..=AT_ONCE_MAX).contains(&most), "{most} pages at once");
}
