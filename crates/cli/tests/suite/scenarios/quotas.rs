//! Quotas: how many rows a team can have, however they come in.

use serde_json::{Value, json};

use crate::harness::http::exchange;
use crate::harness::runner::scenarios;
use crate::harness::{Request, Scenario, Server};

pub(crate) const OWN: &[Scenario] = &scenarios!("quotas", Own:
    a_team_has_no_more_rows_than_its_quota,
);

fn a_team_has_no_more_rows_than_its_quota() {
    let server = Server::start(&[("ROWMILL_TEAM_ROWS_MAX", "5")]);
    let (api, other) = (server.api(), server.team("other"));
    assert_eq!(api.get("/v4/limits").ok()["limits"]["teamRowsMax"], 5);
    let event = json!({ "eventId": "evt-1", "webhookEnabled": true });
    let metadata = json!({ "integration": "eventplatform-event", "eventplatform": event });
    let columns = json!([{ "templateId": "manual", "header": "Name" }]);
    let first = api.table_of(json!({ "title": "A", "columns": columns, "metadata": metadata }));
    let second = api.table(&["Name"]);
    let rows = |names: &[&str]| json!(names.iter().map(|name| json!({ "Name": name })).collect::<Vec<_>>());
    let insert = |project: &str, body: Value| api.post(api.path_in(project, "/rows"), body);

    insert(&first.id, rows(&["a", "b"])).created();
    insert(&second.id, rows(&["c", "d"])).created();
    let refused = insert(&first.id, rows(&["e", "f"])).refused(400, "limit_exceeded");
    assert!(refused["error"].as_str().unwrap().contains("teamRowsMax"), "{refused}");
    insert(&first.id, rows(&["e"])).created();
    // What is there can still be changed.
    api.post(api.path_in(&first.id, "/rows?matchOn=Name"), rows(&["a", "b"])).ok();
    let file = Request::post(api.path_in(&second.id, "/import"))
        .bytes(b"Name\nx\ny\n".to_vec())
        .header("Content-Type", "text/csv");
    api.send(file).refused(400, "limit_exceeded");
    let team = api.get("/v4/team").ok()["team"]["id"].as_str().unwrap().to_owned();
    let delivery = json!({ "type": "guest.registered", "data": {
        "id": "gst-1", "user_email": "a@example.com", "approval_status": "approved",
        "registered_at": "2026-11-15T09:30:00Z", "event": { "id": "evt-1", "name": "Fair" },
    }});
    let delivery = Request::post(format!("/webhooks/eventplatform/{team}")).json(&delivery);
    let told = exchange(&server.address, &delivery).unwrap();
    let words: Value = serde_json::from_slice(&told.body).unwrap();
    assert!(told.status == 400 && words["error"].as_str().unwrap().contains("teamRowsMax"), "{words}");
    assert_eq!(api.get("/v4/usage").ok()["totals"]["rows"], 5);
    // Another team has its own.
    let table = other.table(&["Name"]);
    other.post(other.path_in(&table.id, "/rows"), rows(&["1", "2", "3", "4", "5"])).created();

    // Room that is made can be used, once it is not in the trash any more.
    api.delete(format!("/v4/projects/{}", second.id)).ok();
    let refused = insert(&first.id, rows(&["x", "y"])).refused(400, "limit_exceeded");
    assert!(refused["error"].as_str().unwrap().contains("trash"), "{refused}");
    assert_eq!(api.delete("/v4/trash").ok()["deletedCount"], 1);
    insert(&first.id, rows(&["x", "y"])).created();
    assert_eq!(exchange(&server.address, &delivery).unwrap().status, 400);
}
