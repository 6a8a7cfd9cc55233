//! `Link` headers lead from page to page, and `Deprecation` headers away from version 2.

use std::io::Write as _;

use serde_json::json;

use crate::harness::runner::scenarios;
use crate::harness::server::{DataDir, UNLIMITED};
use crate::harness::table::query_of;
use crate::harness::{Answer, Api, Request, Scenario, Server, Table, http};

pub(crate) const SHARED: &[Scenario] = &scenarios!("links", Versions:
    pages_of_rows_lead_to_each_other,
    a_cursor_leads_on,
    long_queries_make_no_long_heads,
);
pub(crate) const V4: &[Scenario] = &scenarios!("links", Shared:
    pages_of_projects_lead_to_each_other,
    version_2_names_its_successor,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("links", Own:
    links_go_where_the_service_is_reached,
    pages_of_other_origins_may_read_them,
    without_a_host_links_are_relative,
);

/// The address of a relation.
fn link(answer: &Answer, rel: &str) -> Option<String> {
    let header = answer.header("Link")?;
    let found = header.split(", ").find(|link| link.ends_with(&format!("; rel=\"{rel}\"")))?;
    let (target, _) = found.strip_prefix('<')?.split_once('>')?;
    Some(target.to_owned())
}

/// The path and query of an address on this server.
fn path_of(api: &Api, target: &str) -> String {
    target.strip_prefix(&format!("http://{}", api.address)).expect("an absolute address").to_owned()
}

fn numbers(answer: &Answer, table: &Table) -> Vec<u64> {
    let rows = answer.json["rows"].as_array().unwrap();
    rows.iter().map(|row| row["cells"][table.column("Number")].as_u64().unwrap()).collect()
}

fn numbered(api: &Api, count: u32) -> Table {
    let table = api.table(&["Number"]);
    table.insert((0..count).map(|number| json!({ "Number": number })).collect());
    table
}

fn pages_of_rows_lead_to_each_other(api: &Api) {
    let table = numbered(api, 7);
    let sorting = json!([{ "columnId": "Number", "direction": "desc" }]).to_string();
    // Twice, because a page of all rows is kept after that.
    for query in [
        vec![("pageSize", "3")],
        vec![("pageSize", "3")],
        vec![("pageSize", "3")],
        vec![("pageSize", "3"), ("sorting", sorting.as_str())],
    ] {
        let first = table.list(&query);
        assert_eq!((link(&first, "prev"), link(&first, "next").is_some()), (None, true));
        let mut seen = numbers(&first, &table);
        let mut page = first;
        let last = link(&page, "last").unwrap();
        while let Some(next) = link(&page, "next") {
            let followed = api.get(path_of(api, &next));
            let back = api.get(path_of(api, &link(&followed, "prev").unwrap()));
            assert_eq!(numbers(&back, &table), numbers(&page, &table), "{next}");
            assert_eq!(link(&followed, "last"), Some(last.clone()));
            seen.extend(numbers(&followed, &table));
            page = followed;
        }
        assert_eq!(seen.len(), 7, "every row once, with the sorting kept: {seen:?}");
        assert_eq!(seen.is_sorted(), query.len() == 1, "{seen:?}");
        assert_eq!(numbers(&api.get(path_of(api, &last)), &table), numbers(&page, &table));
        let first = api.get(path_of(api, &link(&page, "first").unwrap()));
        assert_eq!(numbers(&first, &table), seen[..3]);
    }
    let beyond = table.list(&[("pageSize", "3"), ("page", "9")]);
    assert_eq!(link(&beyond, "next"), None);
    assert!(link(&beyond, "prev").unwrap().ends_with("page=3"), "{:?}", beyond.header("Link"));
    let uncounted = table.list(&[("pageSize", "3"), ("includeTotal", "false")]);
    assert_eq!((link(&uncounted, "last"), link(&uncounted, "next").is_some()), (None, true));
    let empty = api.table(&[]).list(&[]);
    assert_eq!((link(&empty, "next"), link(&empty, "prev")), (None, None));
}

fn a_cursor_leads_on(api: &Api) {
    let table = numbered(api, 7);
    let sorting = json!([{ "columnId": "Number", "direction": "desc" }]).to_string();
    for query in [vec![], vec![("sorting", sorting.as_str()), ("keyBy", "id")]] {
        let query: Vec<_> = query.into_iter().chain([("pageSize", "2")]).collect();
        let first = table.list(&query);
        let cursor = first.json["pagination"]["nextCursor"].as_str().unwrap().to_owned();
        let mut page =
            table.list(&query.iter().copied().chain([("cursor", cursor.as_str())]).collect::<Vec<_>>());
        let mut seen = [numbers(&first, &table), numbers(&page, &table)].concat();
        while let Some(next) = link(&page, "next") {
            assert!(next.contains("cursor=") && !next.contains("page="), "{next}");
            page = api.get(path_of(api, &next));
            seen.extend(numbers(&page, &table));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..7).collect::<Vec<_>>());
        let again = api.get(path_of(api, &link(&page, "first").unwrap()));
        assert_eq!(numbers(&again, &table), numbers(&first, &table));
    }
}

fn long_queries_make_no_long_heads(api: &Api) {
    let table = numbered(api, 3);
    let filter =
        |text: &str| json!([{ "columnId": "Number", "operator": "notEquals", "value": text }]).to_string();
    let (some, many) = (filter(&"ä".repeat(250)), filter(&"ä".repeat(2_000)));
    let short = table.list(&[("pageSize", "1"), ("page", "2"), ("filters", &some)]);
    assert!(short.header("Link").unwrap().len() <= 3 * 1024);
    let next = api.get(path_of(api, &link(&short, "next").unwrap()));
    assert_eq!(numbers(&next, &table), [2]);
    let long = table.list(&[("pageSize", "1"), ("filters", &many)]);
    assert_eq!((long.status(), long.header("Link")), (200, None));
}

fn pages_of_projects_lead_to_each_other(api: &Api) {
    let folder = "links of pages";
    for number in 0..5 {
        api.post("/v4/projects", json!({ "title": format!("P{number}"), "folderId": folder })).created();
    }
    let path = |query: &[(&str, &str)]| format!("/v4/projects{}", query_of(query));
    assert_eq!(api.get(path(&[("folderId", folder)])).header("Link"), None, "all of them are one page");
    let mut page = api.get(path(&[("folderId", folder), ("pageSize", "2")]));
    let mut count = page.json["projects"].as_array().unwrap().len();
    while let Some(next) = link(&page, "next") {
        page = api.get(path_of(api, &next));
        count += page.json["projects"].as_array().unwrap().len();
    }
    assert_eq!(count, 5);
    assert!(link(&page, "prev").unwrap().ends_with("page=2"));
}

fn version_2_names_its_successor(api: &Api) {
    let table = api.table(&["Name"]);
    let rows = format!("/v2/default/{}/rows", table.id);
    let made = api.post(rows.clone(), json!({ "Name": "Ada" }));
    let row = made.json["rows"][0].as_str().unwrap().to_owned();
    let patched = api.patch(format!("{rows}/{row}"), json!({ "Name": "Grace" }));
    let refused = api.post(rows.clone(), json!([1]));
    assert_eq!((made.status(), patched.status(), refused.status()), (201, 200, 400));
    for answer in [&made, &patched, &refused] {
        let since: u64 = answer.header("Deprecation").unwrap().strip_prefix('@').unwrap().parse().unwrap();
        assert!(since > 1_700_000_000, "{since}");
        let docs = link(answer, "deprecation").unwrap();
        let (docs, anchor) = docs.split_once('#').unwrap();
        let page = api.get(path_of(api, docs));
        assert!(page.text.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
    // The successor takes the same request.
    let successor = path_of(api, &link(&patched, "successor-version").unwrap());
    assert_eq!(successor, format!("/v4/projects/{}/rows/{row}", table.id));
    api.patch(successor, json!({ "Name": "Alan" })).ok();
    api.post(path_of(api, &link(&made, "successor-version").unwrap()), json!({ "Name": "Eve" })).created();
    assert_eq!(table.list(&[]).header("Deprecation"), None);
    let operations = &api.document()["paths"]["/v2/{teamSlug}/{projectId}/rows"]["post"];
    assert_eq!(operations["deprecated"], true);
}

fn links_go_where_the_service_is_reached() {
    let public = ("ROWMILL_PUBLIC_URL", "https://tables.example/mill");
    let settings: Vec<_> = UNLIMITED.iter().copied().chain([public]).collect();
    let server = Server::start_in(DataDir::new(), &settings);
    let table = numbered(&server.api(), 3);
    let next = link(&table.list(&[("pageSize", "1")]), "next").unwrap();
    assert_eq!(next, format!("https://tables.example/mill{}?pageSize=1&page=2", table.path("/rows")));
    drop(server);
    let server = Server::start(&[]);
    let table = numbered(&server.api(), 3);
    let request = Request::get(table.path("/rows?pageSize=1"))
        .header("X-Forwarded-Host", "proxy.example")
        .header("X-Forwarded-Proto", "https")
        .header("X-Forwarded-Prefix", "/below");
    let answer = server.api().send(request);
    let next = link(&answer, "next").unwrap();
    assert_eq!(next, format!("https://proxy.example/below{}?pageSize=1&page=2", table.path("/rows")));
    assert!(answer.header("Vary").unwrap().contains("x-forwarded-host"), "{:?}", answer.header("Vary"));
}

fn pages_of_other_origins_may_read_them() {
    let server = Server::start(&[("ROWMILL_CORS_ORIGINS", "https://app.example")]);
    let api = server.api();
    let answer = api.send(Request::get("/v4/team").header("Origin", "https://app.example"));
    let exposed = answer.header("Access-Control-Expose-Headers").unwrap().to_ascii_lowercase();
    for name in ["etag", "link", "deprecation", "retry-after"] {
        assert!(exposed.split(',').any(|exposed| exposed.trim() == name), "{name}: {exposed}");
    }
}

fn without_a_host_links_are_relative() {
    let server = Server::start_in(DataDir::new(), UNLIMITED);
    let table = numbered(&server.api(), 3);
    let path = table.path("/rows?pageSize=1");
    let request = server.api().with_key(Request::get(path));
    let mut stream = http::connect(&server.address).unwrap();
    stream.write_all(request.head("").as_bytes()).unwrap();
    let response = http::receive(&mut stream).unwrap();
    let links = response.header("Link").unwrap();
    assert!(links.starts_with(&format!("</v4/projects/{}/rows?", table.id)), "{links}");
}
