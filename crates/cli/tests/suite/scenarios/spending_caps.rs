//! Caps: what may be spent is set aside before cells are claimed, and a cap that is reached pauses what it is about.

use std::time::Duration;

use serde_json::{Value, json};

use super::nodes::first;
use super::outbound_webhooks::{hook_for, receiver, told};
use super::processing::{ended, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::ok;
use crate::harness::{Api, Request, Scenario, Server, StubServer, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("spending_caps", Own:
    a_cap_pauses_the_run_until_it_is_raised,
    a_run_can_have_a_cap_of_its_own,
    a_credential_can_be_capped_in_credits,
    a_cap_of_one_project_is_not_anothers,
    caps_that_make_no_sense_are_refused,
    what_was_spent_is_listed_and_exported,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("spending_caps", Nodes:
    nodes_keep_to_one_cap_together,
);

const TIME_MAX: Duration = Duration::from_mins(1);

/// A model that takes a cent for an answer.
fn model() -> StubServer {
    StubServer::start(|_, _| {
        ok(json!({
            "choices": [{ "message": { "content": "Yes." }, "finish_reason": "stop" }], "usage": { "cost": 0.01 },
        }))
    })
}

fn variables(model: &StubServer) -> [(&'static str, String); 3] {
    [
        ("ROWMILL_OPENAI_BASE_URL", model.url("/v1")),
        ("ROWMILL_OPENAI_API_KEY", "sk-1".to_owned()),
        ("ROWMILL_AI_MODEL", "small-1".to_owned()),
    ]
}

fn asked(model: &StubServer) -> Server {
    let variables = variables(model);
    let quick = [("ROWMILL_WEBHOOK_RETRY_MILLISECONDS", "20")];
    let all: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).chain(quick).collect();
    started(&all)
}

fn table_of(api: &Api, rows: usize) -> (Table, String) {
    let table = api.table(&["Name"]);
    let column = table.add_column(
        json!({ "templateId": "ai-text", "header": "Answer", "aiConfig": { "prompt": "@{Name}?" } }),
    );
    // No two tables ask the same: calls that are alike are made once.
    table.insert((0..rows).map(|row| json!({ "Name": format!("{column} {row}") })).collect());
    (table, column)
}

fn set_caps(api: &Api, caps: Value) -> Value {
    api.send(Request::new("PUT", "/v4/team/spending").json(&json!({ "caps": caps }))).ok()
}

/// Waits until a run waits for money and nothing is under way.
fn paused(table: &Table) -> Value {
    eventually("the run waits for money", TIME_MAX, || {
        let status = table.get("/status").ok();
        let waits = status["run"]["waiting"]["reason"]["code"] == "spend_limit";
        (waits && status["rows"]["generating"] == 0).then_some(status)
    })
}

fn settles_at(model: &StubServer, calls: usize) {
    eventually(&format!("{calls} calls"), TIME_MAX, || (model.count() >= calls).then_some(()));
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(model.count(), calls, "and no more");
}

fn a_cap_pauses_the_run_until_it_is_raised() {
    let (model, receiver) = (model(), receiver());
    let mut server = asked(&model);
    let api = server.api();
    hook_for(&api, &receiver, &["spend.limit_reached"]);
    let set = set_caps(&api, json!([{ "scope": "team", "period": "day", "usd": 0.1 }]));
    assert_eq!((&set["caps"][0]["spent"], &set["caps"][0]["reached"]), (&json!(0.0), &json!(false)), "{set}");
    let (table, column) = table_of(&api, 40);
    table.post("/trigger", json!({})).ok();
    let status = paused(&table);
    settles_at(&model, 10);
    let column = &status["columns"][&column];
    assert_eq!(
        (&column["complete"], &column["queued"], &column["error"]),
        (&json!(10), &json!(30), &json!(0)),
        "{status}"
    );
    assert_eq!(status["run"]["waiting"]["cells"], 30, "all that are queued: {status}");
    let message = status["run"]["waiting"]["reason"]["message"].as_str().unwrap();
    assert!(message.starts_with("The team's cap of $0.1 a day is reached"), "{message}");
    let cap = api.get("/v4/team/spending").ok()["caps"][0].clone();
    assert_eq!(
        (&cap["spent"], &cap["reserved"], &cap["reached"]),
        (&json!(0.1), &json!(0.0), &json!(true)),
        "{cap}"
    );
    assert_eq!(status["run"]["waiting"]["until"], cap["resetsAt"], "not the next look at the cap: {status}");
    let event = eventually("the event", TIME_MAX, || told(&receiver, "spend.limit_reached").pop());
    assert_eq!((&event["cap"]["usd"], &event["resetsAt"]), (&json!(0.1), &cap["resetsAt"]), "{event}");
    assert!(event["projectId"].as_str().unwrap().starts_with("proj_"), "{event}");

    server.crash_and_restart();
    let api = server.api();
    let table = table.through(&api);
    settles_at(&model, 10);
    paused(&table);
    assert_eq!(told(&receiver, "spend.limit_reached").len(), 1, "once a period");

    set_caps(&api, json!([{ "scope": "team", "period": "day", "usd": 0.25 }]));
    settles_at(&model, 25);
    paused(&table);
    eventually("the raised cap is told of", TIME_MAX, || {
        (told(&receiver, "spend.limit_reached").len() == 2).then_some(())
    });
    set_caps(&api, json!([]));
    let done = ended(&table);
    assert_eq!((&done["run"]["done"], &done["run"]["cost"]), (&json!(40), &json!(0.4)), "{done}");
}

fn a_run_can_have_a_cap_of_its_own() {
    let model = model();
    let server = asked(&model);
    let (table, _) = table_of(&server.api(), 20);
    table.post("/trigger", json!({ "spendLimit": { "usd": 0.05 } })).ok();
    paused(&table);
    settles_at(&model, 5);
    table.post("/trigger", json!({ "spendLimit": { "usd": 0.08 } })).ok();
    settles_at(&model, 8);
    paused(&table);
    assert_eq!(table.post("/stop", json!({})).ok()["stoppedCells"], 12);
    // The next run has no cap.
    table.post("/trigger", json!({})).ok();
    assert_eq!(ended(&table)["run"]["done"], 12);
    // Nor has one after a limit for which nothing was queued.
    assert_eq!(table.post("/trigger", json!({ "spendLimit": { "usd": 0.01 } })).ok()["triggeredCount"], 0);
    table.post("/trigger", json!({ "force": true })).ok();
    assert_eq!(ended(&table)["run"]["done"], 20);
}

fn a_credential_can_be_capped_in_credits() {
    let leadmagic = StubServer::start(|_, _| {
        ok(json!({ "status": "valid", "email": "ada@acme.test", "credits_consumed": 0.5 }))
    });
    let server =
        started(&[("ROWMILL_LEADMAGIC_BASE_URL", &leadmagic.url("")), ("ROWMILL_LEADMAGIC_API_KEY", "l")]);
    let api = server.api();
    let caps = json!([{ "scope": "credential", "provider": "leadmagic", "period": "month", "credits": 3 }]);
    set_caps(&api, caps);
    let (table, _) = super::provider_columns::waterfall(&server, &["leadmagic"]);
    table.insert(
        (0..12)
            .map(|row| json!({ "Name": format!("Ada L{row}"), "Domain": format!("a{row}.test") }))
            .collect(),
    );
    table.post("/trigger", json!({})).ok();
    paused(&table);
    settles_at(&leadmagic, 6);
    let cap = api.get("/v4/team/spending").ok()["caps"][0].clone();
    assert_eq!((&cap["spent"], &cap["reached"]), (&json!(3.0), &json!(true)), "{cap}");
}

fn a_cap_of_one_project_is_not_anothers() {
    let model = model();
    let server = asked(&model);
    let api = server.api();
    let ((capped, _), (free, _)) = (table_of(&api, 10), table_of(&api, 10));
    let project = capped.get("").ok()["project"]["id"].clone();
    set_caps(&api, json!([{ "scope": "project", "projectId": project, "period": "month", "usd": 0.03 }]));
    capped.post("/trigger", json!({})).ok();
    free.post("/trigger", json!({})).ok();
    assert_eq!(ended(&free)["run"]["done"], 10);
    let status = paused(&capped);
    assert_eq!(status["run"]["done"], 3, "{status}");
    settles_at(&model, 13);
}

fn caps_that_make_no_sense_are_refused() {
    let server = started(&[]);
    let api = server.api();
    let refused = |caps: Value, paths: &[&str]| {
        api.send(Request::new("PUT", "/v4/team/spending").json(&json!({ "caps": caps }))).offends(paths);
    };
    refused(json!([{ "scope": "team", "usd": 1 }]), &["caps[0].period"]);
    refused(json!([{ "scope": "run", "period": "day", "usd": 1 }]), &["caps[0].period"]);
    refused(json!([{ "scope": "team", "period": "day" }]), &["caps[0].usd"]);
    refused(
        json!([{ "scope": "credential", "provider": "nobody", "period": "day", "usd": 1 }]),
        &["caps[0].provider"],
    );
    let elsewhere = "proj_0190f0e0a1b27c3d8e4f0123456789ab";
    let foreign = json!([{ "scope": "project", "projectId": elsewhere, "period": "day", "usd": 1 }]);
    refused(foreign, &["caps[0].projectId"]);
    assert_eq!(api.get("/v4/team/spending").ok()["caps"], json!([]), "nothing was changed");
}

fn what_was_spent_is_listed_and_exported() {
    let model = model();
    let mut server = asked(&model);
    let api = server.api();
    let ((one, _), (other, column)) = (table_of(&api, 3), table_of(&api, 5));
    for table in [&one, &other] {
        table.post("/trigger", json!({})).ok();
        ended(table);
    }
    server.crash_and_restart();
    let api = server.api();
    let by = |group: &str| api.get(format!("/v4/usage/spending?groupBy={group}")).ok();
    let days = by("day");
    assert_eq!((&days["totals"]["usd"], &days["totals"]["calls"]), (&json!(0.08), &json!(8)), "{days}");
    let spent: f64 = days["lines"].as_array().unwrap().iter().map(|line| line["usd"].as_f64().unwrap()).sum();
    assert!((spent - 0.08).abs() < 1e-9, "{days}");
    let projects = by("project");
    let calls: Vec<&Value> =
        projects["lines"].as_array().unwrap().iter().map(|line| &line["calls"]).collect();
    assert_eq!(calls, [&json!(3), &json!(5)], "{projects}");
    let columns = by("column");
    let line = &columns["lines"][1];
    assert_eq!(
        (&line["columnId"], &line["column"], &line["usd"]),
        (&json!(column), &json!("Answer"), &json!(0.05))
    );
    let project = line["projectId"].as_str().unwrap();
    let own = by(&format!("column&projectId={project}"));
    assert_eq!((&own["lines"], &own["totals"]["calls"]), (&json!([line]), &json!(5)), "{own}");
    assert_eq!(by("day&projectId=none")["lines"], json!([]));
    assert_eq!(by("provider")["lines"][0]["provider"], "openai");
    assert!(by("person")["lines"][0]["person"].as_str().unwrap().starts_with("key "), "{}", by("person"));
    let file = api.get("/v4/usage/spending/export");
    let text = String::from_utf8(file.raw().to_vec()).unwrap();
    assert!(text.starts_with("day,projectId,") && text.lines().count() >= 3, "{text}");
    assert_eq!(by("day&from=2020-01-01&to=2020-01-31")["lines"], json!([]));
    api.get("/v4/usage/spending?from=tomorrow12").offends(&["from"]);
}

fn nodes_keep_to_one_cap_together() {
    let model = model();
    let variables = variables(&model);
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let here = first(&variables);
    let others = [here.beside("worker", &[]), here.beside("worker", &[])];
    set_caps(&here.api(), json!([{ "scope": "team", "period": "month", "usd": 0.6 }]));
    let tables: Vec<Table> = (0..2).map(|_| table_of(&here.api(), 100).0).collect();
    for table in &tables {
        table.post("/trigger", json!({})).ok();
    }
    for table in &tables {
        paused(table);
    }
    std::thread::sleep(Duration::from_millis(1_500));
    // Each node begins with one cell of each table, whose price nobody knows yet.
    let (calls, most) = (model.count(), 60 + 6);
    assert!((60..=most).contains(&calls), "{calls} calls, for 60");
    let spent: f64 =
        tables.iter().map(|table| table.get("/status").ok()["run"]["cost"].as_f64().unwrap()).sum();
    assert!(spent < 0.67, "{spent}");
    // A node that dies leaves nothing set aside.
    others[0].kill();
    set_caps(&here.api(), json!([]));
    for table in &tables {
        assert_eq!(ended(table)["run"]["done"], 100);
    }
}
