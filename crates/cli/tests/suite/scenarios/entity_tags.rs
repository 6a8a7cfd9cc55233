//! `ETag`, `If-Match` and `If-None-Match`: nobody overwrites what they have not seen.

use serde_json::{Value, json};

use super::nodes::first;
use crate::harness::runner::scenarios;
use crate::harness::{Answer, Api, Request, Scenario, Server, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("entity_tags", Versions:
    a_tag_changes_with_what_it_is_of,
    what_is_known_is_not_sent_again,
    a_demand_that_is_not_checked_is_refused,
    a_change_of_something_else_is_refused,
    a_tag_is_compared_as_the_standard_says,
);
pub(crate) const V4: &[Scenario] = &scenarios!("entity_tags", Shared:
    other_refusals_come_first,
    version_2_takes_it_too,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("entity_tags", Own:
    of_many_writers_one_is_first,
    tags_outlast_a_crash,
);
pub(crate) const NODES: &[Scenario] = &scenarios!("entity_tags", Nodes:
    of_writers_on_two_nodes_one_is_first,
);

const NOT_IT: &str = "\"00000000000000000000000000000000\"";

/// A project with something of each kind.
struct Things {
    table: Table,
    row: String,
    view: String,
}

fn things(api: &Api) -> Things {
    let table = api.table(&["City"]);
    let row = table.insert(json!([{ "City": "Bonn" }, { "City": "Ulm" }])).remove(0);
    let view = table.post("/views", json!({ "name": "All" })).created()["view"]["id"].clone();
    Things { table, row, view: view.as_str().unwrap().to_owned() }
}

impl Things {
    fn paths(&self) -> [String; 4] {
        [
            String::new(),
            format!("/columns/{}", self.table.column("City")),
            format!("/views/{}", self.view),
            format!("/rows/{}", self.row),
        ]
    }

    /// A change of each that is never the same twice.
    fn changes(&self, number: usize) -> [(String, Value); 4] {
        let [project, column, view, row] = self.paths();
        [
            (project, json!({ "title": format!("Title {number}") })),
            (column, json!({ "header": format!("Header {number}") })),
            (view, json!({ "name": format!("Name {number}") })),
            (row, json!({ self.table.column("City"): number })),
        ]
    }
}

fn tag_of(answer: &Answer) -> String {
    let tag = answer.header("ETag").unwrap_or_else(|| panic!("no ETag: {}", answer.text)).to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2, "a strong tag: {tag}");
    tag
}

/// A request that demands a tag.
fn demanding(table: &Table, method: &'static str, path: &str, header: &str, tags: &str) -> Request {
    Request::new(method, table.path(path)).header(header, tags)
}

fn patch_if(table: &Table, path: &str, tags: &str, body: &Value) -> Answer {
    table.api.send(demanding(table, "PATCH", path, "If-Match", tags).json(body))
}

fn delete_if(table: &Table, path: &str, tags: &str) -> Answer {
    table.api.send(demanding(table, "DELETE", path, "If-Match", tags))
}

fn get_unless(table: &Table, path: &str, tags: &str) -> Answer {
    table.api.send(demanding(table, "GET", path, "If-None-Match", tags))
}

fn a_tag_changes_with_what_it_is_of(api: &Api) {
    let things = things(api);
    let table = &things.table;
    for (path, body) in things.changes(1) {
        let before = tag_of(&table.get(&path));
        assert_eq!(tag_of(&table.get(&path)), before, "{path}: nothing changed");
        let patched = table.patch(&path, body.clone());
        let after = tag_of(&patched);
        patched.ok();
        assert_ne!(after, before, "{path}");
        assert_eq!(tag_of(&table.get(&path)), after, "{path}: a write tells the tag that a read has");
    }
    let [project, column, view, row] = things.paths();
    let tags = || [&project, &column, &view, &row].map(|path| tag_of(&table.get(path)));
    let before = tags();
    assert_eq!(tag_of(&table.get(&format!("{row}?keyBy=header"))), before[3], "a row is the same by header");
    let other = table.insert(json!({ "_trigger": 1 })).remove(0);
    let after = tags();
    assert_ne!(after[0], before[0], "a project shows how many rows it has");
    assert_eq!(after[1..], before[1..], "the others do not");
    table.patch(&format!("/rows/{other}"), json!({ "_trigger": 2 })).ok();
    assert_eq!(tags(), after, "another row is not theirs");
    // What is made tells its tag, too.
    let made = table.post("/columns", json!({ "templateId": "manual", "header": "New" }));
    let (tag, id) = (tag_of(&made), made.created()["column"]["id"].clone());
    assert_eq!(tag_of(&table.get(&format!("/columns/{}", id.as_str().unwrap()))), tag);
    assert_ne!(tag_of(&table.get(&row)), after[3], "a row shows every column");
    let made = table.post("/views", json!({ "name": "New" }));
    let (tag, id) = (tag_of(&made), made.created()["view"]["id"].clone());
    assert_eq!(tag_of(&table.get(&format!("/views/{}", id.as_str().unwrap()))), tag);
    let made = api.post("/v4/projects", json!({ "title": "New" }));
    let (tag, id) = (tag_of(&made), made.created()["project"]["id"].clone());
    assert_eq!(tag_of(&api.get(api.path_in(id.as_str().unwrap(), ""))), tag);
}

fn what_is_known_is_not_sent_again(api: &Api) {
    let things = things(api);
    let table = &things.table;
    let lists = ["/columns".to_owned(), "/views".to_owned()];
    for path in things.paths().into_iter().chain(lists) {
        let tag = tag_of(&table.get(&path));
        for tags in [tag.clone(), format!("W/{tag}"), format!("\"a,b\", {tag}"), "*".to_owned()] {
            let known = get_unless(table, &path, &tags);
            assert_eq!((known.status(), known.text.as_str()), (304, ""), "{path} {tags}");
            assert_eq!(tag_of(&known), tag);
        }
        assert_eq!(get_unless(table, &path, NOT_IT).status(), 200, "{path}");
        let other = table.api.send(demanding(table, "GET", &path, "If-Match", NOT_IT));
        other.refused(412, "changed_meanwhile");
    }
    let column = things.paths()[1].clone();
    let tag = tag_of(&table.get("/columns"));
    table.patch(&column, json!({ "header": "Town" })).ok();
    assert_eq!(get_unless(table, "/columns", &tag).status(), 200);
    // The lists have a length.
    for header in ["If-None-Match", "If-Match"] {
        let send = |chars: usize| table.api.send(demanding(table, "GET", "", header, &"x".repeat(chars)));
        assert_ne!(send(8_000).status(), 400);
        let refused = send(8_001).refused(400, "invalid_request");
        assert_eq!(refused["details"][0]["path"], header.to_ascii_lowercase(), "{refused}");
    }
}

/// Where no tag is compared, one that is sent is refused: what it is to prevent would happen.
fn a_demand_that_is_not_checked_is_refused(api: &Api) {
    let things = things(api);
    let (table, row) = (&things.table, &things.row);
    let before = table.cells(row);
    let cells = json!({ "cells": [{ "rowId": row, "columnId": table.column("City"), "value": "lost" }] });
    let rows = json!({ "rows": [{ "id": row, "City": "lost" }] });
    for (method, path, body) in [
        ("PATCH", "/cells", cells),
        ("PATCH", "/rows", rows),
        ("DELETE", "/rows", json!({ "rowIds": [row] })),
        ("POST", "/rows", json!([{ "City": "lost" }])),
        ("POST", "/trigger", json!({})),
    ] {
        let send = |tags: &str| table.api.send(demanding(table, method, path, "If-Match", tags).json(&body));
        send(NOT_IT).offends(&["if-match"]);
        assert_eq!(table.cells(row), before, "{method} {path}");
    }
    let any = demanding(table, "POST", "/rows", "If-Match", "*").json(&json!([{ "City": "new" }]));
    table.api.send(any).created();
}

fn a_change_of_something_else_is_refused(api: &Api) {
    let things = things(api);
    let table = &things.table;
    for ((path, first), (_, second)) in things.changes(1).into_iter().zip(things.changes(2)) {
        let seen = tag_of(&table.get(&path));
        let written = patch_if(table, &path, &seen, &first);
        let tag = tag_of(&written);
        written.ok();
        let before = table.get(&path).ok();
        let refused = patch_if(table, &path, &seen, &second).refused(412, "changed_meanwhile");
        let words = refused["error"].as_str().unwrap();
        assert!(words.contains("If-Match") && words.contains("again"), "{words}");
        assert_eq!(table.get(&path).ok(), before, "{path}: nothing was written");
        patch_if(table, &path, &tag, &second).ok();
    }
    // Who has seen the list has seen what is in it.
    let [_, column, view, _] = things.paths();
    for (list, path, body) in
        [("/columns", &column, json!({ "header": "Place" })), ("/views", &view, json!({ "emoji": "🐻" }))]
    {
        let seen = tag_of(&table.get(list));
        patch_if(table, path, &seen, &body).ok();
        patch_if(table, path, &seen, &json!({})).refused(412, "changed_meanwhile");
    }
    for path in [view, column, String::new()] {
        let seen = tag_of(&table.get(&path));
        delete_if(table, &path, NOT_IT).refused(412, "changed_meanwhile");
        assert_eq!(tag_of(&table.get(&path)), seen, "{path} is there as it was");
        assert_eq!(delete_if(table, &path, &seen).ok()["deletedCount"], 1, "{path}");
        assert_eq!(table.get(&path).status(), 404, "{path}");
    }
}

fn a_tag_is_compared_as_the_standard_says(api: &Api) {
    let things = things(api);
    let table = &things.table;
    for (number, path) in things.paths().iter().enumerate() {
        let change = |count: usize| things.changes(10 * number + count)[number].1.clone();
        let tag = || tag_of(&table.get(path));
        patch_if(table, path, "*", &change(1)).ok();
        patch_if(table, path, &format!("\"a,b\" ,, W/\"c\", {}", tag()), &change(2)).ok();
        let twice = demanding(table, "PATCH", path, "If-Match", NOT_IT).header("If-Match", &tag());
        table.api.send(twice.json(&change(3))).ok();
        for wrong in [format!("W/{}", tag()), tag().trim_matches('"').to_owned(), String::new()] {
            patch_if(table, path, &wrong, &change(4)).refused(412, "changed_meanwhile");
        }
        let unless = |tags: &str, count| {
            table.api.send(demanding(table, "PATCH", path, "If-None-Match", tags).json(&change(count)))
        };
        unless("*", 5).refused(412, "changed_meanwhile");
        unless(&tag(), 5).refused(412, "changed_meanwhile");
        unless(NOT_IT, 5).ok();
    }
}

/// RFC 9110, 13.2.1: a precondition counts only where the request would succeed without it.
fn other_refusals_come_first(api: &Api) {
    let table = api.table(&["City"]);
    for (path, code) in [
        ("/columns/col_000000000000", "column_not_found"),
        ("/views/view_00000000000000000000000000000000", "view_not_found"),
        ("/rows/row_00000000000000000000000000000000", "row_not_found"),
    ] {
        patch_if(&table, path, NOT_IT, &json!({})).refused(404, code);
        patch_if(&table, path, "*", &json!({})).refused(404, code);
        assert_eq!(table.get(path).status(), 404);
    }
    table.patch("", json!({ "settings": { "api": { "enabled": false } } })).ok();
    let column = format!("/columns/{}", table.column("City"));
    patch_if(&table, &column, NOT_IT, &json!({ "header": "x" })).refused(403, "api_disabled");
    patch_if(&table, "", NOT_IT, &json!({ "title": "x" })).refused(403, "api_disabled");
    let enable = json!({ "settings": { "api": { "enabled": true } } });
    patch_if(&table, "", NOT_IT, &enable).refused(412, "changed_meanwhile");
    table.patch("", enable).ok();
}

fn version_2_takes_it_too(api: &Api) {
    let things = things(api);
    let table = &things.table;
    let seen = tag_of(&table.get(&format!("/rows/{}", things.row)));
    let path = format!("/v2/default/{}/rows/{}", table.id, things.row);
    let write = |number: u32| {
        let request = Request::new("PATCH", path.clone()).header("If-Match", &seen);
        api.send(request.json(&json!({ "City": number })))
    };
    write(1).ok();
    write(2).refused(412, "changed_meanwhile");
    assert_eq!(table.value(&things.row, table.column("City")), 1);
}

/// Many who have seen the same write at once: only one of them has seen what is there then.
fn race(things: &Things, apis: &[Api]) {
    const WRITERS: usize = 8;
    for round in 0..3 {
        for place in 0..4 {
            let path = things.paths()[place].clone();
            let seen = tag_of(&things.table.get(&path));
            let statuses: Vec<u16> = std::thread::scope(|scope| {
                let write = |writer: usize| {
                    let table = things.table.through(&apis[writer % apis.len()]);
                    let body = things.changes(round * WRITERS + writer)[place].1.clone();
                    let (path, seen) = (&path, &seen);
                    scope.spawn(move || patch_if(&table, path, seen, &body).status())
                };
                let writers: Vec<_> = (1..=WRITERS).map(write).collect();
                writers.into_iter().map(|writer| writer.join().unwrap()).collect()
            });
            let count = |status: u16| statuses.iter().filter(|found| **found == status).count();
            assert_eq!((count(200), count(412)), (1, WRITERS - 1), "{path}: {statuses:?}");
        }
    }
}

fn of_many_writers_one_is_first() {
    let server = Server::start(&[]);
    race(&things(&server.api()), &[server.api()]);
}

fn of_writers_on_two_nodes_one_is_first() {
    let one = first(&[]);
    let two = one.beside("serve", &[]);
    let things = things(&one.api());
    race(&things, &[one.api(), two.api()]);
    for path in things.paths() {
        let other = things.table.through(&two.api());
        assert_eq!(tag_of(&other.get(&path)), tag_of(&things.table.get(&path)), "{path}");
    }
}

fn tags_outlast_a_crash() {
    let mut server = Server::start(&[]);
    let things = things(&server.api());
    let tags = |api: &Api| things.paths().map(|path| tag_of(&things.table.through(api).get(&path)));
    let before = tags(&server.api());
    server.crash_and_restart();
    assert_eq!(tags(&server.api()), before);
}
