//! What inbound webhooks received: kept, listed, replayed, and swept.

use std::time::Duration;

use serde_json::{Value, json};

use super::inbound_hooks::{Hook, hook, send};
use super::nodes::Service;
use super::webhook::{counts, deliver, deliver_signed, following, guest};
use crate::harness::runner::scenarios;
use crate::harness::server::DataDir;
use crate::harness::{Api, Request, Scenario, Server, eventually};

pub(crate) const SHARED: &[Scenario] = &scenarios!("inbound_hooks", Shared:
    a_delivery_is_kept_with_what_became_of_it,
    deliveries_come_in_pages,
    a_delivery_is_replayed_by_the_settings_of_now,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("inbound_hooks", Own:
    an_ignored_event_says_why,
    a_replay_needs_the_signature_it_came_with,
    teams_do_not_see_each_others_deliveries,
    old_deliveries_are_swept,
    bytes_are_bounded_and_deliveries_outlive_a_crash,
    the_examples_of_the_guide_work,
);
pub(crate) const NODES: &[Scenario] = &scenarios!("inbound_hooks", Nodes:
    every_node_keeps_and_replays,
);

const TIME_MAX: Duration = Duration::from_secs(30);
const LIST: &str = "/v4/team/inbound-deliveries";

/// The deliveries to a hook, newest first, once there are as many. Those that made rows are written down a moment later.
fn received(api: &Api, hook: &Hook, count: usize) -> Vec<Value> {
    eventually("the deliveries are listed", TIME_MAX, || {
        let listed = api.get(format!("{LIST}?hookId={}", hook.id)).ok()["deliveries"].clone();
        listed.as_array().filter(|listed| listed.len() == count).cloned()
    })
}

/// Those of the event platform.
fn events(api: &Api, count: usize) -> Vec<Value> {
    eventually("the deliveries are listed", TIME_MAX, || {
        let listed = api.get(format!("{LIST}?source=eventplatform")).ok()["deliveries"].clone();
        listed.as_array().filter(|listed| listed.len() == count).cloned()
    })
}

fn replay(api: &Api, delivery: &Value) -> Value {
    let id = delivery["id"].as_str().unwrap();
    api.send(Request::post(format!("{LIST}/{id}/replay"))).ok()["delivery"].clone()
}

fn last_outcome(delivery: &Value) -> &Value {
    delivery["outcomes"].as_array().unwrap().last().unwrap()
}

fn reason(delivery: &Value) -> &str {
    last_outcome(delivery)["reason"].as_str().unwrap_or_else(|| panic!("{delivery}"))
}

fn a_delivery_is_kept_with_what_became_of_it(api: &Api) {
    let table = api.table(&["Email"]);
    let hook = hook(&table, json!({ "unknownKeys": "ignore" }));
    let sent = r#"{"Email": "a",  "Plan": 1.0}"#;
    let request = Request::post(&hook.path)
        .text(sent)
        .header("Authorization", "Bearer canary-1")
        .header("Cookie", "a=canary-2")
        .header("X-Hub-Signature-256", "canary-3")
        .header("X-Jwt", "canary-4")
        .header("X-Functions-Key", "canary-5")
        .header("X-Session-Id", "canary-6")
        .header("X-Event", "created");
    api.send(request).ok();
    let delivery = received(api, &hook, 1).remove(0);
    assert_eq!((&delivery["source"], &delivery["status"]), (&json!("hook"), &json!("processed")));
    assert_eq!((&delivery["hookId"], &delivery["projectId"]), (&json!(hook.id), &json!(table.id)));
    assert_eq!((&delivery["bytes"], &delivery["body"]), (&json!(sent.len()), &Value::Null));
    let outcome = last_outcome(&delivery);
    assert_eq!((&outcome["rowsCreated"], &outcome["replay"]), (&json!(1), &json!(false)));
    assert_eq!((&outcome["ignoredKeys"], &outcome["reason"]), (&json!(["Plan"]), &Value::Null));
    let one = api.get(format!("{LIST}/{}", delivery["id"].as_str().unwrap()));
    assert!(!one.text.contains("canary"), "{}", one.text);
    let one = one.ok()["delivery"].clone();
    assert_eq!((&one["body"], &one["headers"]["x-event"]), (&json!(sent), &json!("created")));

    api.post(&hook.path, json!([{ "Email": "b" }, 7])).offends(&["[1]"]);
    let failed = received(api, &hook, 2).remove(0);
    assert_eq!(failed["status"], "failed");
    assert!(reason(&failed).contains("[1] must be an object"), "{failed}");
    api.send(Request::post(&hook.path).bytes(vec![0xFF, 0xFE])).offends(&[""]);
    let binary = received(api, &hook, 3).remove(0);
    let binary = api.get(format!("{LIST}/{}", binary["id"].as_str().unwrap())).ok()["delivery"].clone();
    assert_eq!((&binary["bodyBase64"], &binary["body"]), (&json!("//4="), &Value::Null));
    api.get(format!("{LIST}/msg_1_2")).refused(404, "delivery_not_found");
    api.get(format!("{LIST}/nonsense")).refused(404, "delivery_not_found");
    api.send(Request::post(format!("{LIST}/msg_1_2/replay"))).refused(404, "delivery_not_found");
}

fn deliveries_come_in_pages(api: &Api) {
    let hook = hook(&api.table(&["Email"]), json!({}));
    for number in 0..5 {
        let body = if number == 3 { json!(7) } else { json!({ "Email": number }) };
        api.post(&hook.path, body);
    }
    received(api, &hook, 5);
    let (mut cursor, mut seen) = (String::new(), Vec::new());
    loop {
        let page = api.get(format!("{LIST}?hookId={}&pageSize=2{cursor}", hook.id)).ok();
        seen.extend(page["deliveries"].as_array().unwrap().clone());
        let Some(next) = page["pagination"]["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen.len(), 5);
    assert!(seen.windows(2).all(|pair| pair[0]["receivedAt"].as_str() >= pair[1]["receivedAt"].as_str()));
    let failed = api.get(format!("{LIST}?hookId={}&status=failed", hook.id)).ok();
    assert_eq!(failed["deliveries"].as_array().unwrap().len(), 1);
    api.get(format!("{LIST}?cursor=x&hookId=y")).offends(&["hookId", "cursor"]);
    api.get(format!("{LIST}?status=x")).offends(&["status"]);
    api.get(format!("{LIST}?hookId={}&source=eventplatform", hook.id)).offends(&["hookId"]);
}

fn a_delivery_is_replayed_by_the_settings_of_now(api: &Api) {
    let table = api.table(&["Email", "Source"]);
    let hook = hook(&table, json!({ "unknownKeys": "ignore" }));
    let form = Request::post(&hook.path)
        .bytes(b"Email=a&Plan=pro".to_vec())
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("X-Source", "shop");
    api.send(form).ok();
    let delivery = received(api, &hook, 1).remove(0);
    table
        .patch(
            &format!("/hooks/{}", hook.id),
            json!({ "unknownKeys": "addColumns", "matchOn": "Email", "headers": { "X-Source": "Source" } }),
        )
        .ok();
    let replayed = replay(api, &delivery);
    let outcome = last_outcome(&replayed);
    assert_eq!((&outcome["rowsUpdated"], &outcome["replay"]), (&json!(1), &json!(true)), "{replayed}");
    assert_eq!(replayed["outcomes"].as_array().unwrap().len(), 2);
    let row = table.rows(&[("keyBy", "header")])["rows"][0]["cells"].clone();
    assert_eq!((&row["Plan"], &row["Source"]), (&json!("pro"), &json!("shop")));
    let again = replay(api, &delivery);
    assert_eq!((&again["status"], &last_outcome(&again)["rowsUnchanged"]), (&json!("ignored"), &json!(1)));
    table.delete(&format!("/hooks/{}", hook.id)).ok();
    let gone = replay(api, &delivery);
    assert_eq!(gone["status"], "failed");
    assert_eq!(reason(&gone), "Hook not found");
    for _ in 0..12 {
        replay(api, &delivery);
    }
    assert_eq!(replay(api, &delivery)["outcomes"].as_array().unwrap().len(), 10);
    assert_eq!(received(api, &hook, 1)[0]["outcomes"][0]["rowsCreated"], 1, "the arrival is not forgotten");
}

fn an_ignored_event_says_why() {
    let server = Server::start(&[]);
    let api = server.api();
    let mut ticket = guest("evt", "g", "a", None);
    ticket["type"] = json!("ticket.registered");
    deliver(&api, &ticket).ok();
    let kept = events(&api, 1).remove(0);
    assert_eq!(
        (&kept["source"], &kept["status"], &kept["hookId"]),
        (&json!("eventplatform"), &json!("ignored"), &Value::Null)
    );
    assert!(reason(&kept).contains("\"ticket.registered\""), "{kept}");

    assert_eq!(deliver(&api, &guest("evt", "g", "a", None)).ok()["ignored"], true);
    let unfollowed = events(&api, 2).remove(0);
    assert!(reason(&unfollowed).contains("\"evt\"") && reason(&unfollowed).contains("webhookEnabled"));
    // Once a project follows the event, the delivery is made up for.
    let table = following(&api, "evt", &json!({}));
    let replayed = replay(&api, &unfollowed);
    assert_eq!(
        (&replayed["status"], &last_outcome(&replayed)["rowsCreated"]),
        (&json!("processed"), &json!(1))
    );
    assert_eq!(table.rows(&[])["rows"][0]["cells"]["_trigger"]["api_id"], "g");

    assert_eq!(counts(deliver(&api, &guest("evt", "g", "a", None))), [1, 0, 0]);
    let same = events(&api, 3).remove(0);
    assert!(reason(&same).contains("same values"), "{same}");
    let address = api.get("/v4/team").ok()["team"]["webhookUrl"].as_str().unwrap().to_owned();
    let path = address.split_once(&api.address).unwrap().1;
    assert_eq!(send(&api, path, "application/json", "{\"type\":").status(), 400);
    let broken = events(&api, 4).remove(0);
    assert_eq!((&broken["status"], reason(&broken)), (&json!("failed"), "Invalid payload"));
    let listed = api.get(format!("{LIST}?source=hook")).ok();
    assert_eq!(listed["deliveries"], json!([]));
}

fn a_replay_needs_the_signature_it_came_with() {
    let server = Server::start(&[]);
    let api = server.api();
    let table = following(&api, "evt", &json!({ "signingSecret": "s3cret-canary" }));
    let body = guest("evt", "g", "a", None);
    assert_eq!(deliver(&api, &body).status(), 401);
    let forged = events(&api, 1).remove(0);
    assert_eq!((&forged["status"], reason(&forged)), (&json!("failed"), "Invalid signature"));
    assert_eq!(replay(&api, &forged)["status"], "failed", "a replay does not make it true");
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 0);

    assert_eq!(counts(deliver_signed(&api, &body, "s3cret-canary")), [1, 1, 0]);
    let signed = events(&api, 2).remove(0);
    let id = table.rows(&[])["rows"][0]["id"].as_str().unwrap().to_owned();
    table.delete_rows(&[id]).ok();
    assert_eq!(last_outcome(&replay(&api, &signed))["rowsCreated"], 1, "as it was when it came in");
    let whole = api.get(format!("{LIST}/{}", signed["id"].as_str().unwrap()));
    assert!(!whole.text.contains("webhook-signature"), "{}", whole.text);
}

fn teams_do_not_see_each_others_deliveries() {
    let server = Server::start(&[]);
    let (api, other) = (server.api(), server.team("other"));
    let table = api.table(&["Email"]);
    let own = hook(&table, json!({}));
    api.post(&own.path, json!({ "Email": "a" })).ok();
    let delivery = received(&api, &own, 1).remove(0);
    let id = delivery["id"].as_str().unwrap();
    assert_eq!(other.get(LIST).ok()["deliveries"], json!([]));
    assert_eq!(other.get(format!("{LIST}?hookId={}", own.id)).ok()["deliveries"], json!([]));
    other.get(format!("{LIST}/{id}")).refused(404, "delivery_not_found");
    other.send(Request::post(format!("{LIST}/{id}/replay"))).refused(404, "delivery_not_found");
    let foreign = table.through(&other);
    foreign.get("/hooks").refused(404, "project_not_found");
    foreign.post("/hooks", json!({ "name": "x" })).refused(404, "project_not_found");
    foreign.post(&format!("/hooks/{}/rotate", own.id), json!({})).refused(404, "project_not_found");
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 1);
}

fn old_deliveries_are_swept() {
    let server = Server::start(&[]);
    assert_eq!(server.api().get("/v4/limits").ok()["limits"]["inboundDays"], 7);
    let short = Server::start(&[("ROWMILL_INBOUND_DAYS", "0.00002")]);
    let api = short.api();
    let hook = hook(&api.table(&["Email"]), json!({}));
    for _ in 0..3 {
        api.post(&hook.path, json!(7)).offends(&[""]);
    }
    eventually("they are swept", Duration::from_mins(1), || {
        let listed = api.get(LIST).ok()["deliveries"].clone();
        listed.as_array().unwrap().is_empty().then_some(())
    });
    api.post(&hook.path, json!({ "Email": "a" })).ok();
}

fn bytes_are_bounded_and_deliveries_outlive_a_crash() {
    let mut server = Server::start(&[("ROWMILL_INBOUND_BYTES_MAX", "300000")]);
    let hook = hook(&server.api().table(&["Email"]), json!({}));
    for number in 0..8 {
        // What makes no row is written down before it is answered.
        let body = format!("\"{number}{}\"", "x".repeat(100_000));
        send(&server.api(), &hook.path, "application/json", &body).offends(&[""]);
    }
    let kept = received(&server.api(), &hook, 2);
    server.crash_and_restart();
    assert_eq!(received(&server.api(), &hook, 2), kept);
    let newest = server.api().get(format!("{LIST}/{}", kept[0]["id"].as_str().unwrap())).ok();
    assert!(newest["delivery"]["body"].as_str().unwrap().starts_with("\"7"), "the newest are kept");
    assert_eq!(replay(&server.api(), &kept[1])["status"], "failed");
}

/// Runs the commands of docs/webhooks-in.md one after the other. What an answer names is a variable of those that follow.
fn the_examples_of_the_guide_work() {
    let server = Server::start(&[]);
    let api = server.api();
    let table = api.table(&["Email", "Name"]);
    let key =
        api.post("/v4/keys", json!({ "name": "guide" })).created()["secret"].as_str().unwrap().to_owned();
    let mut variables = vec![
        ("API", format!("http://{}/v4", api.address)),
        ("KEY", key),
        ("PROJECT", table.id.clone()),
        ("CURL_HOME", server.folder().path().display().to_string()),
    ];
    let guide = include_str!("../../../../../docs/webhooks-in.md");
    let commands: Vec<&str> =
        guide.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(commands.len() > 12, "{}", commands.len());
    for command in commands {
        if command.contains("inbound-deliveries") {
            // What made rows is listed a moment later.
            std::thread::sleep(Duration::from_millis(300));
        }
        let mut shell = std::process::Command::new("sh");
        shell.args(["-euc", command]).envs(variables.iter().map(|(name, value)| (*name, value)));
        let output = shell.output().expect("sh runs");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{command}: {error}\n{}", String::from_utf8_lossy(&output.stderr))
        });
        assert_eq!(
            (output.status.success(), &answer["success"]),
            (true, &json!(true)),
            "{command}: {answer}"
        );
        assert!(answer["ignored"].is_null() && answer["matchedProjects"] != 0, "{command}: {answer}");
        let named = [
            ("HOOK", &answer["url"]),
            ("HOOK_ID", &answer["hook"]["id"]),
            ("DELIVERY", &answer["deliveries"][0]["id"]),
            ("EVENT_PROJECT", &answer["project"]["id"]),
            ("WEBHOOK", &answer["team"]["webhookUrl"]),
        ];
        variables
            .extend(named.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))));
    }
    let mails = table.values("Email", &[]);
    assert_eq!(mails.len(), 5, "{mails:?}");
    let last = events(&api, 2).remove(0);
    assert_eq!((&last["status"], &last_outcome(&last)["rowsUpdated"]), (&json!("processed"), &json!(1)));
}

fn every_node_keeps_and_replays() {
    let service = Service::start_in(DataDir::new(), &[]);
    let api = service.api();
    let table = api.table(&["Email"]);
    let hook = hook(&table, json!({ "matchOn": "Email" }));
    let sent: Vec<String> = (0..40).map(|number| format!("{number}@example.com")).collect();
    for mail in &sent {
        // The balancer gives each request to another node.
        api.post(&hook.path, json!({ "Email": mail })).ok();
    }
    let kept = received(&api, &hook, 40);
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 40);
    for delivery in kept.iter().take(6) {
        assert_eq!(last_outcome(&replay(&api, delivery))["rowsUnchanged"], 1);
    }
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 40);
}
