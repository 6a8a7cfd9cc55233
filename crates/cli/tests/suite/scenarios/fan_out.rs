//! Fan-out columns: the items of a list become rows of another project, once each.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::nodes::Service;
use super::processing::{ended, run, started};
use crate::harness::agent::Agent;
use crate::harness::api::Version;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Api, Scenario, StubServer, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("fan_out", Own:
    a_list_becomes_rows_and_no_row_comes_twice,
    what_an_item_lacks_is_left_out_or_as_it_was,
    a_crawl_and_people_become_rows,
    rows_start_the_targets_own_columns,
    what_cannot_be_written_says_why,
    large_lists_are_written_in_parts_and_bounded,
    deleting_a_target_column_is_told,
    no_circle_of_projects_is_made,
    a_key_reaches_no_other_project_through_a_column,
    a_fan_out_can_be_tried_and_told_to_agents,
    a_killed_server_loses_and_doubles_nothing,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("fan_out", Nodes:
    nodes_make_one_row_of_an_item,
);

/// A project with lists, and one for the rows.
fn projects(api: &Api) -> (Table, Table) {
    (api.table(&["Company", "People"]), api.table(&["Email", "Name", "Firm"]))
}

/// The settings of a fan-out of people.
fn settings(target: &str) -> Value {
    json!({ "list": "@{People}", "targetProjectId": target, "matchOn": "Email",
        "mapping": { "Email": "$.email", "Name": "$.name", "Firm": "@{Company}" } })
}

fn column(settings: &Value) -> Value {
    json!({ "templateId": "fan-out", "header": "Out", "taskConfig": { "taskType": "fanOut", "fanOut": settings } })
}

fn fans_out(source: &Table, target: &Table) -> String {
    source.add_column(column(&settings(&target.id)))
}

fn person(name: &str) -> Value {
    json!({ "email": format!("{name}@acme.test"), "name": name })
}

/// The counts of a cell: created, updated, unchanged, left out.
#[track_caller]
fn counts(table: &Table, row: &str, column: &str) -> [u64; 4] {
    let cell = table.cells(row)[column].clone();
    ["created", "updated", "unchanged", "leftOut"]
        .map(|name| cell["value"][name].as_u64().unwrap_or_else(|| panic!("{cell}")))
}

/// The words of a cell's error, and its code.
#[track_caller]
fn error(table: &Table, row: &str, column: &str) -> String {
    let cell = table.cells(row)[column].clone();
    let told = |name: &str| cell["error"][name].as_str().unwrap_or_else(|| panic!("{cell}")).to_owned();
    format!("{}: {}", told("code"), told("message"))
}

fn a_list_becomes_rows_and_no_row_comes_twice() {
    let server = started(&[]);
    let (source, target) = projects(&server.api());
    let out = fans_out(&source, &target);
    // Headers are stored as ids, those of the target, too.
    let stored = source.full_column(&out)["taskConfig"]["fanOut"].clone();
    assert_eq!(stored["matchOn"], target.column("Email"));
    assert_eq!(stored["mapping"][target.column("Firm")], format!("@{{{}}}", source.column("Company")));
    let ids = source.insert(json!([
        { "Company": "Acme", "People": [person("ada"), person("bob"), person("ada")] },
        { "Company": "Bolt", "People": person("cem") },
        { "Company": "Cold", "People": [] },
    ]));
    run(&source, json!({}));
    assert_eq!(counts(&source, &ids[0], &out), [2, 0, 0, 1]);
    assert_eq!(counts(&source, &ids[1], &out), [1, 0, 0, 0]);
    let empty = source.cells(&ids[2])[&out].clone();
    assert_eq!((&empty["status"], &empty["error"]["code"]), (&json!("skipped"), &json!("missing_input")));
    let firms = |query: &[(&str, &str)]| target.values("Firm", query);
    let emails = || -> BTreeSet<String> {
        target.values("Email", &[]).iter().map(|value| value.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(emails(), ["ada@acme.test", "bob@acme.test", "cem@acme.test"].map(str::to_owned).into());
    assert_eq!(firms(&[("search", "ada")]), ["Acme"]);
    // Again, and again with another company.
    run(&source, json!({ "force": true }));
    assert_eq!(counts(&source, &ids[0], &out), [0, 0, 2, 1]);
    source.patch(&format!("/rows/{}", ids[0]), json!({ "Company": "Acme Ltd" })).ok();
    assert_eq!(source.cells(&ids[0])[&out]["stale"], true);
    run(&source, json!({ "force": true }));
    assert_eq!(counts(&source, &ids[0], &out), [0, 2, 0, 1]);
    assert_eq!((emails().len(), firms(&[("search", "ada")])), (3, vec![json!("Acme Ltd")]));
    assert_eq!(source.cells(&ids[0])[&out]["meta"]["provider"], "fan-out");
    // Nothing of the target is in what people without a key can read.
    let shown = source.cells(&ids[0])[&out].to_string();
    assert!(!shown.contains(&target.id), "{shown}");
}

fn what_an_item_lacks_is_left_out_or_as_it_was() {
    let server = started(&[]);
    let (source, target) = projects(&server.api());
    let out = fans_out(&source, &target);
    target.insert(json!([{ "Email": "ada@acme.test", "Name": "Countess" }]));
    let people =
        json!([{ "email": "ada@acme.test", "name": null }, { "name": "nobody" }, 5, { "email": "" }]);
    let ids = source.insert(json!([{ "Company": "Acme", "People": people }]));
    run(&source, json!({}));
    assert_eq!(counts(&source, &ids[0], &out), [0, 1, 0, 3]);
    assert_eq!(
        (target.values("Name", &[]), target.values("Firm", &[])),
        (vec![json!("Countess")], vec![json!("Acme")])
    );
    // Items need not be objects, a path may lead to the list, and digits stay.
    let config = json!({ "list": "@{People.$.rows[?@ > 1]}", "mapping": { target.column("Email"): "$", target.column("Name"): null,
        target.column("Firm"): null } });
    source.patch(&format!("/columns/{out}"), json!({ "taskConfig": { "fanOut": config } })).ok();
    source
        .patch_text(&format!("/rows/{}", ids[0]), r#"{"People": {"rows": [1, 12345678901234567890.10, 3]}}"#)
        .ok();
    run(&source, json!({ "force": true }));
    assert_eq!(counts(&source, &ids[0], &out), [2, 0, 0, 0]);
    assert!(target.list(&[]).text.contains("12345678901234567890.10"));
}

fn a_crawl_and_people_become_rows() {
    let site = StubServer::start(|seen, _| match seen.path.as_str() {
        "/" => html("<title>Mill</title><main><p>Flour</p><a href=/rye>Rye</a><a href=/gone>Gone</a></main>"),
        "/rye" => html("<title>Rye</title><main><p>All about rye.</p></main>"),
        _ => Reply::With(404, vec![], String::new()),
    });
    let hunter = StubServer::start(|_, _| {
        let one = |name: &str| json!({ "value": format!("{name}@acme.test"), "first_name": name, "last_name": "L" });
        ok(json!({ "data": { "domain": "acme.test", "emails": [one("ada"), one("bob")] } }))
    });
    let server = started(&[("ROWMILL_HUNTER_BASE_URL", &hunter.url("")), ("ROWMILL_HUNTER_API_KEY", "h")]);
    let api = server.api();
    let (source, pages, people) = (
        api.table(&["Site", "Domain"]),
        api.table(&["Address", "Title", "From"]),
        api.table(&["Email", "Name"]),
    );
    source.add_column(json!({ "templateId": "web-scraper", "header": "Pages", "taskConfig": {
        "taskType": "webScraper", "webScraper": { "url": "@{Site}", "crawl": { "maxPages": 5 } } } }));
    source.add_column(
        json!({ "templateId": "find-people", "header": "People", "taskConfig": { "taskType": "findPeople",
        "findPeople": { "inputMapping": { "domain": "@{Domain}" },
            "providers": [{ "id": "h", "taskType": "hunter", "enabled": true, "order": 0 }] } } }),
    );
    let to_pages = source.add_column(column(&json!({ "list": "@{Pages.$.pages[?!@.error]}", "targetProjectId": pages.id,
        "matchOn": "Address", "mapping": { "Address": "$.url", "Title": "$.title", "From": "Read at @{Site}" } })));
    let to_people = source.add_column(column(&json!({ "list": "@{People}", "targetProjectId": people.id,
        "matchOn": "Email", "mapping": { "Email": "$.email", "Name": "$.name" } })));
    let ids = source.insert(json!([{ "Site": site.url("/"), "Domain": "acme.test" }]));
    run(&source, json!({}));
    assert_eq!(counts(&source, &ids[0], &to_pages), [2, 0, 0, 0]);
    assert_eq!(pages.values("Title", &[]), ["Mill", "Rye"]);
    assert_eq!(pages.values("From", &[])[0], format!("Read at {}", site.url("/")));
    assert_eq!(counts(&source, &ids[0], &to_people), [2, 0, 0, 0]);
    assert_eq!(people.values("Name", &[]), ["ada L", "bob L"]);
}

fn html(body: &str) -> Reply {
    Reply::With(200, vec![("Content-Type", "text/html".to_owned())], body.to_owned())
}

fn rows_start_the_targets_own_columns() {
    let stub = StubServer::start(|seen, _| ok(json!(seen.path)));
    let server = started(&[]);
    let (source, target) = projects(&server.api());
    let asked = super::processing::asks(&target, "Score", &stub, "/score/@{Name}", json!({}));
    target.patch("", json!({ "autoplay": true })).ok();
    let out = fans_out(&source, &target);
    source.patch("", json!({ "autoplay": true })).ok();
    let ids = source.insert(json!([{ "Company": "Acme", "People": [person("ada"), person("bob")] }]));
    ended(&source);
    ended(&target);
    assert_eq!(counts(&source, &ids[0], &out), [2, 0, 0, 0]);
    let page = target.rows(&[]);
    let scores: Vec<&Value> =
        page["rows"].as_array().unwrap().iter().map(|row| &row["cells"][&asked]).collect();
    assert_eq!(scores, ["/score/ada", "/score/bob"]);
    // What is the same runs nothing again.
    run(&source, json!({ "force": true }));
    ended(&target);
    assert_eq!((counts(&source, &ids[0], &out), stub.count()), ([0, 0, 2, 0], 2));
}

fn what_cannot_be_written_says_why() {
    let server = started(&[("ROWMILL_TEAM_ROWS_MAX", "12")]);
    let api = server.api();
    let (source, target) = projects(&api);
    let out = fans_out(&source, &target);
    let ids = source
        .insert(json!([{ "Company": "Acme", "People": [person("ada"), person("bob"), person("cem")] }]));
    let fails = |words: &str| {
        run(&source, json!({ "force": true }));
        let told = error(&source, &ids[0], &out);
        assert!(told.contains(words), "{told}");
    };
    let set =
        |people: Value| drop(source.patch(&format!("/rows/{}", ids[0]), json!({ "People": people })).ok());
    let change = |config: Value| {
        source.patch(&format!("/columns/{out}"), json!({ "taskConfig": { "fanOut": config } }))
    };
    set(json!("ada, bob"));
    fails("invalid_input: The value is a text, and not a list");
    set(json!([person("ada"), person("bob"), person("cem")]));
    change(json!({ "limit": 2 })).ok();
    fails("too_large: The list has 3 items");
    change(json!({ "limit": 100 })).ok();
    // A quota is kept: of too many rows none is written.
    set((0..20).map(|number| person(&format!("p{number}"))).collect());
    fails("too_large: The team would have more rows");
    assert_eq!(target.rows(&[])["pagination"]["totalRows"], 0);
    set(json!([person("ada")]));
    let twins = target.insert(json!([{ "Email": "ada@acme.test" }, { "Email": "ada@acme.test" }]));
    fails("match several rows");
    target.delete_rows(&twins).ok();
    target.delete(&format!("/columns/{}", target.column("Name"))).ok();
    fails("was deleted");
    change(json!({ "mapping": { target.column("Name"): null } })).ok();
    run(&source, json!({ "force": true }));
    assert_eq!(counts(&source, &ids[0], &out), [1, 0, 0, 0]);
    target.delete("").ok();
    fails("invalid_input: The target project does not exist any more");
    // A rename is not refused for that.
    source.patch(&format!("/columns/{out}"), json!({ "header": "To nowhere" })).ok();
    let copy = source.post("/duplicate", json!({})).success(201);
    assert!(copy.to_string().contains(&target.id), "{copy}");
    change(json!({ "targetProjectId": "" })).ok();
    fails("The column has no target project");
}

fn large_lists_are_written_in_parts_and_bounded() {
    let server = started(&[]);
    let (source, target) = projects(&server.api());
    let out = fans_out(&source, &target);
    let people: Value = (0..1_000).map(|number| person(&format!("p{number}"))).collect();
    let ids = source.insert(json!([{ "Company": "Acme", "People": people }]));
    run(&source, json!({}));
    assert_eq!(counts(&source, &ids[0], &out), [1_000, 0, 0, 0]);
    assert_eq!(target.rows(&[])["pagination"]["totalRows"], 1_000);
    // A long value in each row is too much in all, and nothing is written.
    let long = "x".repeat(100_000);
    source.patch(&format!("/rows/{}", ids[0]), json!({ "Company": long })).ok();
    run(&source, json!({ "force": true }));
    let told = error(&source, &ids[0], &out);
    assert!(told.contains("too_large: The rows would take more than 16777216 bytes"), "{told}");
    assert_eq!(target.values("Firm", &[("pageSize", "1")]), ["Acme"]);
    let refused = json!({ "taskConfig": { "fanOut": { "limit": 10_001 } } });
    source.patch(&format!("/columns/{out}"), refused).offends(&["taskConfig.fanOut.limit"]);
}

fn deleting_a_target_column_is_told() {
    let server = started(&[]);
    let api = server.api();
    let (source, target) = projects(&api);
    fans_out(&source, &target);
    let fixes = |column: &str| target.delete(&format!("/columns/{column}")).ok()["appliedFixes"].clone();
    let check = |header: &str, words: &str| {
        let told = fixes(target.column(header));
        let [fix] = told.as_array().unwrap().as_slice() else { panic!("{told}") };
        let fix = fix.as_str().unwrap();
        assert!(
            fix.starts_with("Left the fan-out column \"Out\" of the project ") && fix.contains(words),
            "{fix}"
        );
    };
    let other = target.add_column(json!({ "templateId": "manual", "header": "Other" }));
    assert_eq!(fixes(&other), json!([]));
    check("Name", "the column \"Name\" that it writes to: its cells fail until its mapping is changed");
    check("Email", "the column \"Email\" that it finds rows by: its cells fail until its matchOn is changed");
    // A key that does not reach the other project is not told of it.
    let limited = json!({ "name": "x", "projectIds": [target.id] });
    let secret = api.post("/v4/keys", limited).created()["secret"].as_str().unwrap().to_owned();
    let limited = target.through(&server.api_with(&secret));
    let firm = format!("/columns/{}", target.column("Firm"));
    assert_eq!(limited.delete(&firm).ok()["appliedFixes"], json!([]));
}

fn no_circle_of_projects_is_made() {
    const TARGET: &str = "taskConfig.fanOut.targetProjectId";
    let server = started(&[]);
    let api = server.api();
    let table = || api.table(&["Company", "People", "Email", "Name", "Firm"]);
    let (first, second, third) = (table(), table(), table());
    let refused = |table: &Table, target: &str, words: &str| {
        let answer = table.post("/columns", column(&settings(target)));
        assert!(answer.text.contains(words), "{}", answer.text);
        answer.offends(&[TARGET]);
    };
    refused(&first, &first.id, "is this project");
    refused(&first, "0190f0e0a1b27c3d8e4f0123456789ab", "is not a project");
    refused(&first, "nonsense", "is not a project");
    fans_out(&first, &second);
    refused(&second, &first.id, "circle");
    let onward = fans_out(&second, &third);
    refused(&third, &first.id, "circle");
    refused(&third, &second.id, "circle");
    // Once the chain is broken, the way is open.
    second.delete(&format!("/columns/{onward}")).ok();
    let back = fans_out(&third, &first);
    // A column that comes back out of the trash closes the circle. It is found when it runs.
    let restored = second.post("/trash/restore", json!({ "columnIds": [onward] })).ok();
    assert_eq!(restored["restoredColumns"], 1, "{restored}");
    let ids = third.insert(json!([{ "Company": "Acme", "People": [person("ada")] }]));
    run(&third, json!({ "columnIds": [back] }));
    let told = error(&third, &ids[0], &back);
    assert!(told.contains("circle"), "{told}");
    assert_eq!(first.rows(&[])["pagination"]["totalRows"], 0);
    let unknown = json!({ "mapping": { "Nobody": "$" } });
    let changed = third.patch(&format!("/columns/{back}"), json!({ "taskConfig": { "fanOut": unknown } }));
    assert_eq!(changed.status(), 400);
}

fn a_key_reaches_no_other_project_through_a_column() {
    let server = started(&[]);
    let api = server.api();
    let (source, target) = projects(&api);
    let key = |body: Value| {
        let made = api.post("/v4/keys", body).created();
        server.api_with(made["secret"].as_str().unwrap())
    };
    let all = json!(["read", "write", "run", "schema"]);
    let limited =
        source.through(&key(json!({ "name": "Limited", "projectIds": [source.id], "scopes": all })));
    let words = limited.post("/columns", column(&settings(&target.id)));
    let unknown = limited.post("/columns", column(&settings("0190f0e0a1b27c3d8e4f0123456789ab")));
    assert_eq!(words.json["error"], unknown.json["error"], "it is as if the project did not exist");
    words.offends(&["taskConfig.fanOut.targetProjectId"]);
    let out = fans_out(&source, &target);
    // It may change the rest of such a column, but not what is written.
    limited.patch(&format!("/columns/{out}"), json!({ "header": "Renamed" })).ok();
    let same = source.full_column(&out)["taskConfig"].clone();
    limited.patch(&format!("/columns/{out}"), json!({ "taskConfig": same })).ok();
    let mapping = json!({ "taskConfig": { "fanOut": { "mapping": { target.column("Name"): "spam" } } } });
    limited
        .patch(&format!("/columns/{out}"), mapping.clone())
        .offends(&["taskConfig.fanOut.targetProjectId"]);
    let both =
        source.through(&key(json!({ "name": "Both", "projectIds": [source.id, target.id], "scopes": all })));
    both.patch(&format!("/columns/{out}"), mapping.clone()).ok();
    // Who may make columns, but not write rows, makes none that write rows.
    let maker = source.through(&key(json!({ "name": "Maker", "scopes": ["read", "schema"] })));
    maker.post("/columns", column(&settings(&target.id))).refused(403, "missing_scope");
    let body = json!({ "title": "New", "columns": [{ "templateId": "manual", "header": "People" },
        { "templateId": "manual", "header": "Company" }, column(&settings(&target.id))] });
    maker.api.post("/v4/projects", body.clone()).refused(403, "missing_scope");
    api.post("/v4/projects", body).created();
    // Another team's project is none.
    let other = server.team("other");
    let theirs = other.table(&["Company", "People"]);
    theirs.post("/columns", column(&settings(&target.id))).offends(&["taskConfig.fanOut.targetProjectId"]);
    // Who reads without a key does not learn where the rows go.
    source.patch("", json!({ "settings": { "api": { "requireKey": false } } })).ok();
    let anyone = source.through(&server.api_without_key().in_version(Version::V3));
    let shown = anyone.get("/columns").ok().to_string();
    assert!(
        shown.contains("fanOut") && !shown.contains(&target.id) && !shown.contains(target.column("Email")),
        "{shown}"
    );
}

fn a_fan_out_can_be_tried_and_told_to_agents() {
    let server = started(&[]);
    let (source, target) = projects(&server.api());
    let ids = source.insert(json!([{ "Company": "Acme", "People": [person("ada"), { "name": "x" }] }]));
    let body = json!({ "rowId": ids[0], "column": column(&settings(&target.id)) });
    let tried = source.post("/try", body).ok();
    let expected = json!({ target.column("Email"): "ada@acme.test", target.column("Name"): "ada", target.column("Firm"): "Acme" });
    assert_eq!(tried["result"]["value"], json!({ "items": 2, "leftOut": 1, "rows": [expected] }), "{tried}");
    assert_eq!(target.rows(&[])["pagination"]["totalRows"], 0, "nothing is written");
    let agent = Agent::new(&server.api());
    let kinds = agent.does("list_column_kinds", json!({ "kind": "fan-out" }));
    let names: Vec<&String> = kinds["kinds"][0]["settings"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["list", "targetProjectId", "mapping", "matchOn", "limit"]);
    let made =
        json!({ "table": source.id, "column": "Out", "kind": "fan-out", "settings": settings(&target.id) });
    agent.does("set_column", made);
    run(&source, json!({}));
    assert_eq!(target.values("Email", &[]), ["ada@acme.test"]);
}

/// Lists with items of their own, and one item that all share.
fn many_lists(rows: usize, items: usize) -> Value {
    let list = |row: usize| -> Vec<Value> {
        let own = (0..items).map(|item| person(&format!("p{row}-{item}")));
        own.chain([person("shared")]).collect()
    };
    (0..rows).map(|row| json!({ "Company": format!("C{row}"), "People": list(row) })).collect()
}

/// That each item has one row.
#[track_caller]
fn check_rows(target: &Table, count: usize) {
    let page = target.rows(&[("pageSize", "1")]);
    assert_eq!(page["pagination"]["totalRows"], count, "{page}");
    let found = target.list(&[("search", "shared@"), ("pageSize", "10")]).ok();
    assert_eq!(found["rows"].as_array().unwrap().len(), 1, "{found}");
}

fn a_killed_server_loses_and_doubles_nothing() {
    const ROWS: usize = 12;
    const ITEMS: usize = 600;
    let mut server = started(&[("ROWMILL_LEASE_SECONDS", "1")]);
    let (source, target) = projects(&server.api());
    let out = fans_out(&source, &target);
    let ids = source.insert(many_lists(ROWS, ITEMS));
    source.post("/trigger", json!({})).ok();
    for kill in 1..=3 {
        let target = target.through(&server.api());
        eventually("some rows are written", Duration::from_mins(1), || {
            let total = target.rows(&[("pageSize", "1")])["pagination"]["totalRows"].as_u64().unwrap();
            (total >= kill * 700).then_some(())
        });
        server.crash_and_restart();
    }
    let (source, target) = (source.through(&server.api()), target.through(&server.api()));
    ended(&source);
    for id in &ids {
        assert_eq!(source.cells(id)[&out]["status"], "completed");
        let [created, updated, unchanged, left_out] = counts(&source, id, &out);
        assert_eq!((created + updated + unchanged, left_out), (601, 0));
    }
    check_rows(&target, ROWS * ITEMS + 1);
}

fn nodes_make_one_row_of_an_item() {
    const ROWS: usize = 20;
    const ITEMS: usize = 50;
    let service = Service::start(&[]);
    let (source, target) = projects(&service.api());
    fans_out(&source, &target);
    source.insert(many_lists(ROWS, ITEMS));
    run(&source, json!({}));
    check_rows(&target, ROWS * ITEMS + 1);
}
