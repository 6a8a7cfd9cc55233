//! Copies of projects: the same columns and views under ids of their own, with or without rows, whole or not at all.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Answer, Api, Request, Scenario, Server, Table, eventually};

pub(crate) const SHARED: &[Scenario] = &scenarios!("duplicates", Shared:
    a_copy_has_columns_and_views_of_its_own,
    rows_are_copied_with_their_values,
    a_copy_is_made_once,
    what_cannot_be_copied_is_refused,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("duplicates", Own:
    an_unfinished_copy_is_only_read_and_deleted,
    a_copy_that_was_cut_off_is_removed,
    copies_are_few_and_within_the_quota,
);

const TIME_MAX: Duration = Duration::from_mins(2);
/// Batches are small, so that there are many.
const SMALL: (&str, &str) = ("ROWMILL_INSERT_ROWS_MAX", "20");

fn duplicate(table: &Table, body: Value) -> Answer {
    table.post("/duplicate", body)
}

/// The copy, once it is whole.
fn whole(api: &Api, project: &Value) -> Table {
    let path = format!("/v4/projects/{}", project["id"].as_str().unwrap());
    let project = eventually("the copy is whole", TIME_MAX, || {
        let project = api.get(path.clone()).ok()["project"].clone();
        project.get("copying").is_none().then_some(project)
    });
    Table::new(api.clone(), &project)
}

fn leads(api: &Api) -> Table {
    let manual = |header: &str| json!({ "templateId": "manual", "header": header });
    let columns = json!([manual("Name"), manual("Profile"), manual("Gone")]);
    let table =
        api.table_of(json!({ "title": "Leads", "columns": columns, "autoplay": true, "folderId": "Sales" }));
    let (name, profile) = (table.column("Name").to_owned(), table.column("Profile").to_owned());
    table.add_column(json!({
        "templateId": "reference", "header": "City", "referenceConfig": { "columnId": profile, "path": "city" },
    }));
    table.add_column(json!({
        "templateId": "http-api", "header": "Call",
        "apiConfig": { "method": "GET", "url": format!("http://127.0.0.1:9/@{{{name}}}") },
    }));
    table
        .post(
            "/views",
            json!({
                "name": "Named", "sorting": [{ "columnId": name, "direction": "desc" }],
                "filters": [{ "columnId": name, "operator": "isNotEmpty" }], "columnVisibility": { profile: false },
            }),
        )
        .created();
    table
}

fn a_copy_has_columns_and_views_of_its_own(api: &Api) {
    let table = leads(api);
    let made = duplicate(&table, json!({})).created()["project"].clone();
    assert_eq!((&made["title"], &made["autoplay"]), (&json!("Copy of Leads"), &json!(false)));
    assert_eq!((&made["folderId"], &made["rowCount"]), (&json!("Sales"), &json!(0)));
    assert_eq!(made.get("copying"), None);
    let copy = whole(api, &made);
    assert_eq!(copy.headers(), table.headers());
    let old: Vec<String> = ["Name", "Profile", "Gone"].map(|header| table.column(header).to_owned()).to_vec();
    let text = json!([copy.columns(), copy.get("/views").ok()]).to_string();
    assert!(old.iter().all(|id| !text.contains(id.as_str())), "{text}");
    let columns = copy.columns();
    let named = |header: &str| columns.iter().find(|column| column["header"] == header).unwrap();
    assert_eq!(named("City")["referenceConfig"]["columnId"], copy.column("Profile"));
    let url = named("Call")["apiConfig"]["url"].as_str().unwrap();
    assert!(url.contains(copy.column("Name")), "{url}");
    let view = copy.get("/views").ok()["views"][0].clone();
    assert_eq!(view["filters"][0]["columnId"], copy.column("Name"));
    assert_eq!(view["columnVisibility"], json!({ copy.column("Profile"): false }));
    let other = table.get("/views").ok()["views"][0]["id"].clone();
    assert_ne!(view["id"], other);
    // Each goes its own way.
    copy.patch("", json!({ "title": "Mine" })).ok();
    copy.delete(&format!("/columns/{}", copy.column("Gone"))).ok();
    assert_eq!(table.get("").ok()["project"]["title"], "Leads");
    assert_eq!(table.headers().len(), 6);
}

fn rows_are_copied_with_their_values(api: &Api) {
    let table = leads(api);
    table.patch("", json!({ "autoplay": false })).ok();
    let old = table.columns().iter().find(|column| column["header"] == "Call").unwrap()["id"].clone();
    let ids = table.insert(json!([
        { "Name": "Ada", "Profile": { "city": "London" }, "Gone": "x", "Call": { "kept": 1.50 } },
        { "Name": "Alan" },
        {},
    ]));
    table.delete(&format!("/columns/{}", table.column("Gone"))).ok();
    let made = duplicate(&table, json!({ "title": " Copy ", "rows": true })).created()["project"].clone();
    assert_eq!((&made["title"], &made["copying"]), (&json!("Copy"), &json!({ "rows": 3 })));
    let copy = whole(api, &made);
    assert_eq!(copy.values("Name", &[]), [json!("Ada"), json!("Alan"), Value::Null]);
    assert_eq!(copy.values("City", &[]), [json!("London"), Value::Null, Value::Null]);
    let page = copy.rows(&[]);
    let first = page["rows"][0]["id"].as_str().unwrap();
    assert!(!ids.iter().any(|id| id == first));
    let cell = copy.cells(first)[copy.column("Call")].clone();
    assert_eq!((&cell["value"], &cell["status"]), (&json!({ "kept": 1.5 }), &json!("completed")));
    assert_eq!(table.cells(&ids[0])[old.as_str().unwrap()]["value"], cell["value"]);
    // Nothing runs by itself.
    let status = copy.get("/status").ok();
    assert_eq!(status["columns"][copy.column("Call")]["queued"], 0, "{status}");
    assert_eq!(copy.get("").ok()["project"]["rowCount"], 3);
}

fn a_copy_is_made_once(api: &Api) {
    let table = leads(api);
    table.insert(json!([{ "Name": "Ada" }]));
    let send = |body: &Value| {
        let request = Request::post(table.path("/duplicate")).json(body);
        api.send(request.header("Idempotency-Key", &format!("copy-{}", table.id)))
    };
    let first = send(&json!({ "rows": true })).created()["project"]["id"].clone();
    assert_eq!(send(&json!({ "rows": true })).created()["project"]["id"], first);
    send(&json!({ "rows": false })).refused(409, "idempotency_conflict");
    let copy = whole(api, &json!({ "id": first }));
    assert_eq!(copy.values("Name", &[]), [json!("Ada")]);
}

fn what_cannot_be_copied_is_refused(api: &Api) {
    let table = leads(api);
    duplicate(&table, json!({ "title": " " })).offends(&["title"]);
    duplicate(&table, json!({ "row": true })).refused(400, "invalid_request");
    let nobody = "/v4/projects/proj_0190f0e0a1b27c3d8e4f0123456789ab/duplicate";
    api.post(nobody, json!({})).refused(404, "project_not_found");
}

fn many_rows(api: &Api, count: usize) -> Table {
    let table = api.table(&["Number"]);
    let rows: Vec<Value> = (0..count).map(|number| json!({ "Number": number })).collect();
    for batch in rows.chunks(20) {
        table.insert(json!(batch));
    }
    table
}

fn an_unfinished_copy_is_only_read_and_deleted() {
    let server = Server::start(&[SMALL]);
    let api = server.api();
    let table = many_rows(&api, 3_000);
    let made = duplicate(&table, json!({ "rows": true })).created()["project"].clone();
    let copy = Table::new(api.clone(), &made);
    let refusals = [
        copy.patch("", json!({ "title": "Mine" })),
        copy.post("/rows", json!({ "Number": 1 })),
        copy.post("/views", json!({ "name": "Mine" })),
        copy.post("/trigger", json!({})),
        copy.post("/duplicate", json!({})),
    ];
    let is_unfinished = copy.get("").ok()["project"].get("copying").is_some();
    if is_unfinished {
        for refusal in refusals {
            refusal.refused(403, "project_copying");
        }
    }
    let copy = whole(&api, &made);
    let expected: Vec<Value> = (0..3_000).map(|number| json!(number)).collect();
    let mut numbers = Vec::new();
    for page in ["1", "2", "3"] {
        numbers.extend(copy.values("Number", &[("page", page), ("pageSize", "1000")]));
    }
    assert_eq!(numbers, expected);
    copy.patch("", json!({ "title": "Mine" })).ok();

    let made = duplicate(&table, json!({ "rows": true })).created()["project"].clone();
    let copy = Table::new(api, &made);
    copy.delete("").ok();
    copy.get("").refused(404, "project_not_found");
}

fn a_copy_that_was_cut_off_is_removed() {
    let mut server = Server::start(&[SMALL]);
    let api = server.api();
    let table = many_rows(&api, 4_000);
    let made = duplicate(&table, json!({ "rows": true })).created()["project"].clone();
    let path = format!("/v4/projects/{}", made["id"].as_str().unwrap());
    eventually("rows are copied", TIME_MAX, || {
        (api.get(path.clone()).ok()["project"]["rowCount"].as_u64().unwrap() >= 40).then_some(())
    });
    let was_unfinished = api.get(path.clone()).ok()["project"].get("copying").is_some();
    server.crash_and_restart();
    let api = server.api();
    if was_unfinished {
        // Nobody opens it: the server looks for it by itself.
        eventually("the unfinished copy is gone", TIME_MAX, || {
            let listed = api.get("/v4/projects").ok()["projects"].clone();
            (listed.as_array().unwrap().len() == 1).then_some(())
        });
        api.get(path).refused(404, "project_not_found");
    }
    assert_eq!(table.through(&api).rows(&[])["pagination"]["totalRows"], 4_000);
}

fn copies_are_few_and_within_the_quota() {
    let server = Server::start(&[("ROWMILL_COPIES_MAX", "1"), ("ROWMILL_TEAM_ROWS_MAX", "4000"), SMALL]);
    let api = server.api();
    assert_eq!(api.get("/v4/limits").ok()["limits"]["copiesMax"], 1);
    let table = many_rows(&api, 1_500);
    let first = duplicate(&table, json!({ "rows": true })).created()["project"].clone();
    let second = duplicate(&table, json!({ "rows": true }));
    let is_first_busy = api.get(format!("/v4/projects/{}", first["id"].as_str().unwrap())).ok()["project"]
        .get("copying")
        .is_some();
    if is_first_busy {
        second.exceeds("copiesMax");
    }
    whole(&api, &first);
    duplicate(&table, json!({ "rows": true })).exceeds("teamRowsMax");
    duplicate(&table, json!({})).created();
}
