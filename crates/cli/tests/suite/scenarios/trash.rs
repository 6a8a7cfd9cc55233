//! The trash: what is deleted can be restored, and is nowhere until then.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::events::Stream;
use super::nodes::Service;
use super::webhook::{counts, deliver, following, guest};
use crate::harness::runner::scenarios;
use crate::harness::server::DataDir;
use crate::harness::{Api, Request, Scenario, Server, Table, eventually};

pub(crate) const SHARED: &[Scenario] = &scenarios!("trash", Shared:
    rows_come_back_to_their_place,
    the_trash_is_listed_in_pages,
    a_restored_row_is_told_to_whoever_watches,
    a_column_comes_back_with_its_values_and_who_refers_to_it,
    views_come_back,
    projects_come_back_whole,
    a_guest_has_one_row_whatever_is_restored,
    an_emptied_trash_is_empty,
    a_restore_is_carried_out_once,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("trash", Own:
    a_full_project_takes_nothing_back,
    the_trash_outlives_a_crash_and_is_swept_in_time,
    without_a_trash_deleted_is_gone,
    a_row_is_here_or_there_whenever_the_process_dies,
);
pub(crate) const NODES: &[Scenario] = &scenarios!("trash", Nodes:
    every_node_sees_what_one_restores,
);

fn numbered(table: &Table, count: usize) -> Vec<String> {
    table.insert(json!(
        (0..count).map(|n| json!({ "Name": format!("n{}", n * 7 % 10), "Number": n })).collect::<Vec<_>>()
    ))
}

fn restore(table: &Table, body: Value) -> Value {
    table.post("/trash/restore", body).ok()
}

fn trashed(table: &Table, what: &str) -> Vec<String> {
    let listed = table.get("/trash?pageSize=1000").ok();
    listed[what].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

fn rows_come_back_to_their_place(api: &Api) {
    let table = api.table(&["Name", "Number"]);
    let ids = numbered(&table, 30);
    let sorting =
        json!([{ "columnId": "Name", "direction": "desc" }, { "columnId": "Number", "direction": "asc" }]);
    let sorting = sorting.to_string();
    let filters = json!([{ "columnId": "Number", "operator": "lessThan", "value": 20 }]).to_string();
    let queries: [&[(&str, &str)]; 4] =
        [&[], &[("sorting", &sorting)], &[("filters", &filters)], &[("search", "n3"), ("sorting", &sorting)]];
    let read = || queries.map(|query| table.rows(query));
    let before = read();
    let gone = [&ids[3], &ids[4], &ids[17], &ids[29]];
    assert_eq!(table.delete_rows(&gone).ok()["deletedCount"], 4);
    let without = read();
    assert!(without.iter().zip(&before).all(|(without, before)| without["rows"] != before["rows"]));
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 26);
    table.get(&format!("/rows/{}", ids[3])).refused(404, "row_not_found");
    table.patch(&format!("/rows/{}", ids[3]), json!({ "Name": "x" })).refused(404, "row_not_found");
    assert_eq!(table.delete_rows(&gone).ok()["deletedCount"], 0, "they are gone");
    assert!(table.get("/export").text.lines().all(|line| !line.ends_with(",17")));
    let added = table.post("/rows?matchOn=Number", json!({ "Number": 17, "Name": "again" })).created();
    table.delete_rows(&[added["rows"][0].as_str().unwrap()]).ok();
    let restored = restore(&table, json!({ "rowIds": gone }));
    assert_eq!((&restored["restoredRows"], &restored["notRestored"]), (&json!(4), &json!([])));
    assert_eq!(read(), before, "in every order");
    assert_eq!(restore(&table, json!({ "rowIds": ids }))["restoredRows"], 0, "what is there is left alone");
    table.patch(&format!("/rows/{}", ids[3]), json!({ "Name": "x" })).ok();
    let found = table.post("/rows?matchOn=Number", json!({ "Number": 17, "Name": "n9" })).ok();
    assert_eq!(found["results"][0]["id"], ids[17]);
}

fn the_trash_is_listed_in_pages(api: &Api) {
    let table = api.table(&["Name", "Number"]);
    let ids = numbered(&table, 25);
    table.delete_rows(&ids[..20]).ok();
    table.delete_rows(&ids[20..]).ok();
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = table.get(&format!("/trash?pageSize=7{cursor}")).ok();
        assert_eq!(
            (&page["pagination"]["pageSize"], &page["pagination"]["totalRows"]),
            (&json!(7), &json!(25))
        );
        seen.extend(
            page["rows"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["pagination"]["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(seen, newest_first);
    let first = &table.get("/trash").ok()["rows"][0];
    assert_eq!(first["label"], "n8 · 24");
    let by = &first["deletedBy"];
    assert!(by["id"].as_str().unwrap().starts_with("key_") && by["name"].is_string(), "{by}");
    assert!(first["expiresAt"].as_str() > first["deletedAt"].as_str());
    table.get("/trash?cursor=x").offends(&["cursor"]);
    table.get("/trash?pageSize=0").offends(&["pageSize"]);
}

fn a_restored_row_is_told_to_whoever_watches(api: &Api) {
    let table = api.table(&["Name", "Number"]);
    let ids = numbered(&table, 3);
    let mut stream = Stream::open(&table, "");
    let sequence = loop {
        let event = stream.next().unwrap();
        if event.name == "status" {
            break event.id.unwrap();
        }
    };
    table.delete_rows(&[&ids[1], &ids[2]]).ok();
    restore(&table, json!({ "rowIds": [ids[1]] }));
    // Read anew from before: what came back is told as a row, and not as deleted.
    let mut stream = Stream::open(&table, &format!("?lastEventId={sequence}&seconds=0"));
    let (mut rows, mut deleted) = (BTreeSet::new(), BTreeSet::new());
    while let Some(event) = stream.next() {
        assert_ne!(event.name, "reset");
        let texts = |name: &str| event.data[name].as_array().cloned().unwrap_or_default();
        rows.extend(texts("rows").iter().filter_map(|row| row["id"].as_str().map(str::to_owned)));
        deleted.extend(texts("deleted").iter().filter_map(|id| id.as_str().map(str::to_owned)));
    }
    assert_eq!(rows, BTreeSet::from([ids[1].clone()]));
    assert_eq!(deleted, BTreeSet::from([ids[2].clone()]));
}

fn a_column_comes_back_with_its_values_and_who_refers_to_it(api: &Api) {
    let table = api.table(&["Name", "Number", "Other"]);
    let name = table.column("Name");
    let ask = table.add_column(
        json!({ "templateId": "ai-text", "header": "Ask", "aiConfig": { "prompt": "Who is @{Name}?" } }),
    );
    let filters = json!([{ "columnId": name, "operator": "isNotEmpty" }]);
    let sorting = json!([{ "columnId": name, "direction": "asc" }]);
    table.post("/views", json!({ "name": "V", "filters": filters, "sorting": sorting })).created();
    let ids = numbered(&table, 3);
    table.patch(&format!("/rows/{}", ids[0]), json!({ ask.as_str(): "by hand" })).ok();
    let read = || (table.columns(), table.get("/views").ok(), table.rows(&[("withState", "true")]));
    let before = read();

    table.delete(&format!("/columns/{name}")).ok();
    assert_eq!(table.headers(), ["Input", "Number", "Other", "Ask"]);
    assert_eq!(table.columns()[3]["aiConfig"]["prompt"], "Who is ?");
    assert_eq!(trashed(&table, "columns"), [name]);
    let restored = restore(&table, json!({ "columnIds": [name] }));
    assert_eq!((&restored["restoredColumns"], &restored["appliedFixes"]), (&json!(1), &json!([])));
    assert_eq!(read(), before);
    assert!(trashed(&table, "columns").is_empty());

    // A processed column has its states again, and is named by its header.
    table.delete(&format!("/columns/{ask}")).ok();
    table.delete(&format!("/columns/{name}")).ok();
    assert_eq!(restore(&table, json!({ "columnIds": ["ask", "Name"] }))["restoredColumns"], 2);
    assert_eq!(read(), before);

    // What took its name meanwhile keeps it.
    table.delete(&format!("/columns/{name}")).ok();
    table.add_column(json!({ "templateId": "manual", "header": "Name" }));
    let restored = restore(&table, json!({ "columnIds": [name] }));
    assert_eq!(restored["appliedFixes"].as_array().unwrap().len(), 1, "{restored}");
    assert_eq!(table.headers(), ["Input", "Name 2", "Number", "Other", "Ask", "Name"]);
    assert_eq!(table.values("Name", &[]).len(), 3);
}

fn views_come_back(api: &Api) {
    let table = api.table(&["Name", "Number"]);
    for name in ["A", "B", "C"] {
        table.post("/views", json!({ "name": name })).created();
    }
    let before = table.get("/views").ok();
    let id = before["views"][1]["id"].as_str().unwrap().to_owned();
    table.delete(&format!("/views/{id}")).ok();
    table.list(&[("viewId", &id)]).refused(404, "view_not_found");
    let listed = table.get("/trash").ok();
    assert_eq!((&listed["views"][0]["id"], &listed["views"][0]["name"]), (&json!(id), &json!("B")));
    assert_eq!(restore(&table, json!({ "viewIds": [id, "view_x"] }))["restoredViews"], 1);
    assert_eq!(table.get("/views").ok(), before);
    assert_eq!(restore(&table, json!({}))["restoredViews"], 0);
    table.post("/trash/restore", json!({ "rows": [] })).offends(&["rows"]);
}

fn projects_come_back_whole(api: &Api) {
    let table = api.table(&["Name", "Number"]);
    let ids = numbered(&table, 300);
    table.post("/views", json!({ "name": "V" })).created();
    table.delete_rows(&[&ids[7]]).ok();
    let read = || (table.get("").ok(), table.rows(&[("pageSize", "1000")]), table.get("/views").ok());
    let before = read();
    table.delete("").ok();
    table.get("").refused(404, "project_not_found");
    table.list(&[]).refused(404, "project_not_found");
    table.post("/trash/restore", json!({})).refused(404, "project_not_found");
    let listed = api.get("/v4/trash?pageSize=1000").ok();
    let projects = listed["projects"].as_array().unwrap();
    let listed = projects.iter().find(|project| project["id"] == json!(table.id)).unwrap();
    assert_eq!((&listed["rowCount"], &listed["title"]), (&json!(299), &json!("Test")));
    let body = json!({ "projectIds": [table.id, "proj_x"] });
    assert_eq!(api.post("/v4/trash/restore", body.clone()).ok()["restoredCount"], 1);
    assert_eq!(api.post("/v4/trash/restore", body).ok()["restoredCount"], 0);
    assert_eq!(read(), before);
    assert_eq!(restore(&table, json!({ "rowIds": [ids[7]] }))["restoredRows"], 1);
    assert_eq!(table.insert(json!({ "Name": "more" })).len(), 1);
}

fn a_guest_has_one_row_whatever_is_restored(api: &Api) {
    let event = "evt-trash";
    let table = following(api, event, &json!({}));
    let send = |status, time| counts(deliver(api, &guest(event, "g1", status, Some(time))));
    assert_eq!(send("pending", "2026-11-01T10:00:00Z"), [1, 1, 0]);
    let only = || table.rows(&[])["rows"][0]["id"].as_str().unwrap().to_owned();
    let first = only();
    table.delete_rows(&[&first]).ok();
    assert_eq!(restore(&table, json!({ "rowIds": [first] }))["restoredRows"], 1);
    assert_eq!(send("approved", "2026-11-01T11:00:00Z"), [1, 0, 1], "it is the guest's row again");
    table.delete_rows(&[&first]).ok();
    assert_eq!(send("declined", "2026-11-01T12:00:00Z"), [1, 1, 0]);
    let second = only();
    let refused = restore(&table, json!({ "rowIds": [first] }));
    assert_eq!((&refused["restoredRows"], &refused["notRestored"][0]["rowId"]), (&json!(0), &json!(first)));
    assert_eq!((only(), trashed(&table, "rows")), (second.clone(), vec![first.clone()]));
    table.delete_rows(&[&second]).ok();
    assert_eq!(restore(&table, json!({ "rowIds": [first, second] }))["restoredRows"], 1);
    assert_eq!(send("waitlist", "2026-11-01T13:00:00Z"), [1, 0, 1]);
    assert_eq!((only(), table.rows(&[])["pagination"]["totalRows"].clone()), (first, json!(1)));
}

fn an_emptied_trash_is_empty(api: &Api) {
    let table = api.table(&["Name", "Number"]);
    let ids = numbered(&table, 600);
    let view = table.post("/views", json!({ "name": "V" })).created();
    table.delete(&format!("/views/{}", view["view"]["id"].as_str().unwrap())).ok();
    table.delete(&format!("/columns/{}", table.column("Name"))).ok();
    table.delete_rows(&ids[..500]).ok();
    assert_eq!(table.delete("/trash").ok()["deletedCount"], 502);
    let listed = table.get("/trash").ok();
    for what in ["rows", "columns", "views"] {
        assert_eq!(listed[what], json!([]), "{what}");
    }
    assert_eq!(listed["pagination"]["totalRows"], 0);
    let all = json!({ "rowIds": ids, "columnIds": [table.column("Name")], "viewIds": [view["view"]["id"]] });
    let restored = restore(&table, all);
    for what in ["restoredRows", "restoredColumns", "restoredViews"] {
        assert_eq!(restored[what], 0, "{what}");
    }
    assert_eq!(table.delete("/trash").ok()["deletedCount"], 0);
}

fn a_restore_is_carried_out_once(api: &Api) {
    let table = api.table(&["Name", "Number"]);
    let ids = numbered(&table, 2);
    table.delete_rows(&ids).ok();
    let send = |body: &Value| {
        let request = Request::post(table.path("/trash/restore")).json(body);
        api.send(request.header("Idempotency-Key", &format!("restore-{}", table.id)))
    };
    let body = json!({ "rowIds": ids });
    let first = send(&body).ok();
    table.delete_rows(&ids).ok();
    assert_eq!((send(&body).ok(), trashed(&table, "rows").len()), (first, 2));
    send(&json!({ "rowIds": [] })).refused(409, "idempotency_conflict");
}

fn a_full_project_takes_nothing_back() {
    let server = Server::start(&[("ROWMILL_COLUMNS_MAX", "3"), ("ROWMILL_VIEWS_MAX", "1")]);
    let api = server.api();
    let table = api.table(&["Name", "Number"]);
    let view = table.post("/views", json!({ "name": "V" })).created()["view"]["id"].clone();
    table.delete(&format!("/columns/{}", table.column("Name"))).ok();
    table.delete(&format!("/views/{}", view.as_str().unwrap())).ok();
    table.add_column(json!({ "templateId": "manual", "header": "More" }));
    table.post("/views", json!({ "name": "W" })).created();
    table.post("/trash/restore", json!({ "columnIds": [table.column("Name")] })).exceeds("columnsMax");
    table.post("/trash/restore", json!({ "viewIds": [view] })).exceeds("viewsMax");
    assert_eq!((trashed(&table, "columns").len(), trashed(&table, "views").len()), (1, 1));
    let other = server.team("other");
    other.get(format!("/v4/projects/{}/trash", table.id)).refused(404, "project_not_found");
    other.delete(format!("/v4/projects/{}/trash", table.id)).refused(404, "project_not_found");
    table.delete("").ok();
    assert_eq!(other.get("/v4/trash").ok()["projects"], json!([]));
    assert_eq!(other.post("/v4/trash/restore", json!({ "projectIds": [table.id] })).ok()["restoredCount"], 0);
    assert_eq!(other.delete("/v4/trash").ok()["deletedCount"], 0);
    assert_eq!(api.delete("/v4/trash").ok()["deletedCount"], 1);
    assert_eq!(api.post("/v4/trash/restore", json!({ "projectIds": [table.id] })).ok()["restoredCount"], 0);
}

fn the_trash_outlives_a_crash_and_is_swept_in_time() {
    let mut server = Server::start(&[]);
    assert_eq!(server.api().get("/v4/limits").ok()["limits"]["trashDays"], 30);
    let table = server.api().table(&["Name", "Number"]);
    let ids = numbered(&table, 600);
    let before = table.rows(&[("pageSize", "1000")]);
    table.delete_rows(&ids[100..500]).ok();
    server.crash_and_restart();
    let table = table.through(&server.api());
    assert_eq!(trashed(&table, "rows").len(), 400);
    assert_eq!(restore(&table, json!({ "rowIds": ids }))["restoredRows"], 400);
    server.crash_and_restart();
    let table = table.through(&server.api());
    assert_eq!(table.rows(&[("pageSize", "1000")]), before);

    let short = Server::start(&[("ROWMILL_TRASH_DAYS", "0.00001"), ("ROWMILL_TEAM_ROWS_MAX", "600")]);
    let table = short.api().table(&["Name", "Number"]);
    let ids = numbered(&table, 600);
    table.delete_rows(&ids[..590]).ok();
    table.delete(&format!("/columns/{}", table.column("Name"))).ok();
    let other = short.api().table(&["Name"]);
    other.delete("").ok();
    eventually("the trash is swept", Duration::from_mins(1), || {
        let rows = table.get("/trash").ok()["pagination"]["totalRows"].clone();
        let projects = short.api().get("/v4/trash").ok()["projects"].clone();
        let columns = table.get("/trash").ok()["columns"].clone();
        (rows == 0 && projects == json!([]) && columns == json!([])).then_some(())
    });
    assert_eq!(restore(&table, json!({ "rowIds": ids }))["restoredRows"], 0);
    assert_eq!(
        table.insert(json!([{ "Number": 1 }, { "Number": 2 }])).len(),
        2,
        "nor does it count any more"
    );
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 12);
}

fn without_a_trash_deleted_is_gone() {
    let server = Server::start(&[("ROWMILL_TRASH_DAYS", "0")]);
    let api = server.api();
    assert_eq!(api.get("/v4/limits").ok()["limits"]["trashDays"], 0);
    let table = api.table(&["Name", "Number"]);
    let ids = numbered(&table, 3);
    table.delete_rows(&ids[..2]).ok();
    table.delete(&format!("/columns/{}", table.column("Name"))).ok();
    let listed = table.get("/trash").ok();
    assert_eq!((&listed["rows"], &listed["columns"]), (&json!([]), &json!([])));
    assert_eq!(restore(&table, json!({ "rowIds": ids }))["restoredRows"], 0);
    table.delete("").ok();
    assert_eq!(api.post("/v4/trash/restore", json!({ "projectIds": [table.id] })).ok()["restoredCount"], 0);
}

fn a_row_is_here_or_there_whenever_the_process_dies() {
    let mut server = Server::start(&[]);
    let table = server.api().table(&["Name", "Number"]);
    let ids = numbered(&table, 800);
    for round in 0..4 {
        let done = AtomicUsize::new(0);
        let through = table.through(&server.api());
        std::thread::scope(|scope| {
            for part in ids.chunks(400) {
                let (table, done) = (&through, &done);
                scope.spawn(move || {
                    let delete = Request::new("DELETE", table.path("/rows")).json(&json!({ "rowIds": part }));
                    let restore =
                        Request::post(table.path("/trash/restore")).json(&json!({ "rowIds": part }));
                    while table.api.try_send(delete.clone()).is_ok() {
                        done.fetch_add(1, Ordering::Relaxed);
                        if table.api.try_send(restore.clone()).is_err() {
                            break;
                        }
                    }
                });
            }
            eventually("rows come and go", Duration::from_mins(1), || {
                (done.load(Ordering::Relaxed) > 3 + round).then_some(())
            });
            server.kill();
        });
        server.restart();
        let table = table.through(&server.api());
        let page = table.rows(&[("pageSize", "1000")]);
        let here: Vec<String> = page["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect();
        let there = trashed(&table, "rows");
        assert_eq!(page["pagination"]["totalRows"], here.len());
        let all: BTreeSet<&String> = here.iter().chain(&there).collect();
        assert_eq!((all.len(), here.len() + there.len()), (800, 800));
        restore(&table, json!({ "rowIds": ids }));
        assert_eq!(
            table.values("Number", &[("pageSize", "1000")]),
            (0..800).map(Value::from).collect::<Vec<_>>()
        );
    }
}

fn every_node_sees_what_one_restores() {
    let service = Service::start_in(DataDir::new(), &[]);
    let api = service.nodes[0].api();
    let table = api.table(&["Name", "Number"]);
    let ids = numbered(&table, 300);
    let sorting = json!([{ "columnId": "Name", "direction": "desc" }]).to_string();
    let query: &[(&str, &str)] = &[("sorting", &sorting), ("pageSize", "1000")];
    let on = |node: usize| table.through(&api.clone().at(&service.nodes[node].address));
    let before = table.rows(query);
    for round in 0..6 {
        for node in 0..3 {
            assert_eq!(on(node).rows(query), before, "round {round}, node {node}");
        }
        let gone = &ids[round * 10..round * 10 + 50];
        on(round % 3).delete_rows(gone).ok();
        for node in 0..3 {
            assert_eq!(on(node).rows(query)["pagination"]["totalRows"], 250, "round {round}, node {node}");
            assert_eq!(
                on(node).rows(&[("page", "2"), ("pageSize", "100")])["rows"].as_array().unwrap().len(),
                100
            );
        }
        assert_eq!(restore(&on((round + 1) % 3), json!({ "rowIds": gone }))["restoredRows"], 50);
    }
    let page: &[(&str, &str)] = &[("page", "3"), ("pageSize", "100")];
    let third = on(0).values("Number", page);
    assert_eq!(third, (200..300).map(Value::from).collect::<Vec<_>>());
    assert_eq!(on(1).values("Number", page), third);
}
