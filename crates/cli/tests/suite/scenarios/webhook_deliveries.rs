//! Deliveries to outbound webhooks: retried, logged, sent again, and never lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::nodes::Service;
use super::outbound_webhooks::{TIME_MAX, hook_for, receiver, rows_told, started, told, verified};
use crate::harness::runner::scenarios;
use crate::harness::server::DataDir;
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Request, Scenario, Server, StubServer, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("webhook_deliveries", Own:
    a_failed_delivery_is_retried_logged_and_replayed,
    a_receiver_that_is_gone_is_told_nothing_more,
    a_dead_receiver_holds_up_nobody,
    nothing_is_lost_when_the_server_is_killed,
    too_many_events_are_dropped_and_the_receiver_is_told,
    a_private_address_is_not_delivered_to,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("webhook_deliveries", Nodes:
    several_nodes_deliver_each_event_once,
);

fn a_failed_delivery_is_retried_logged_and_replayed() {
    let server = started(&[]);
    let receiver = StubServer::start(|_, number| match number {
        0 => Reply::Json(500, json!({ "oops": "x".repeat(5_000) })),
        1 => Reply::Hang,
        _ => ok(json!("taken")),
    });
    let api = server.api();
    // The waits after the first two are long.
    let (id, secret) = hook_for(&api, &receiver, &["row.created"]);
    let (table, path) = (api.table(&["Name"]), format!("/v4/team/webhooks/{id}/deliveries"));
    table.insert(json!({ "Name": "a" }));
    let delivered = eventually("it is delivered in the end", TIME_MAX, || {
        let listed = api.get(format!("{path}?status=delivered")).ok();
        listed["deliveries"].as_array().unwrap().first().cloned()
    });
    let attempts = delivered["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 3, "{delivered}");
    assert_eq!(
        (&attempts[0]["status"], attempts[0]["response"].as_str().unwrap().len()),
        (&json!(500), 1_024)
    );
    assert!(attempts[1]["status"].is_null() && attempts[1]["error"].is_string(), "{delivered}");
    assert_eq!((&attempts[2]["status"], &attempts[2]["error"]), (&json!(200), &Value::Null));
    let seen = receiver.seen();
    let ids: BTreeSet<&str> = seen.iter().map(|seen| seen.headers["webhook-id"].as_str()).collect();
    assert_eq!(
        ids.into_iter().collect::<Vec<_>>(),
        [delivered["id"].as_str().unwrap()],
        "one id over all attempts"
    );
    for seen in &seen {
        verified(seen, &secret);
    }
    let one = format!("{path}/{}", delivered["id"].as_str().unwrap());
    assert_eq!(api.get(&one).ok()["delivery"]["payload"], seen[0].json());
    api.get(format!("{path}/msg_1_2")).refused(404, "delivery_not_found");

    table.insert(json!({ "Name": "b" }));
    rows_told(&receiver, "row.created", 4);
    let page = api.get(format!("{path}?pageSize=1")).ok();
    let cursor = page["pagination"]["nextCursor"].as_str().unwrap();
    let next = api.get(format!("{path}?pageSize=1&cursor={cursor}")).ok();
    assert_eq!(
        (&next["deliveries"][0]["id"], &next["pagination"]["nextCursor"]),
        (&delivered["id"], &Value::Null)
    );
    api.get(format!("{path}?cursor=x")).offends(&["cursor"]);

    api.send(Request::post(format!("{one}/replay"))).success(202);
    rows_told(&receiver, "row.created", 5);
    eventually("all are done", TIME_MAX, || {
        let pending = api.get(format!("{path}?status=pending")).ok();
        pending["deliveries"].as_array().unwrap().is_empty().then_some(())
    });
    let replay = format!("/v4/team/webhooks/{id}/replay");
    let all = api.post(&replay, json!({ "since": "2020-01-01T00:00:00Z" })).success(202);
    assert_eq!(all["replayedCount"], 2);
    rows_told(&receiver, "row.created", 7);
    let none = api.post(&replay, json!({ "since": "2020-01-01T00:00:00Z", "onlyFailed": true })).success(202);
    assert_eq!(none["replayedCount"], 0);
    api.post(&replay, json!({ "since": "yesterday" })).offends(&["since"]);
}

fn a_receiver_that_is_gone_is_told_nothing_more() {
    let server = started(&[]);
    let receiver = StubServer::start(|_, _| Reply::Json(410, json!({})));
    let api = server.api();
    let (id, _) = hook_for(&api, &receiver, &["row.created"]);
    let table = api.table(&["Name"]);
    table.insert(json!({ "Name": "a" }));
    let webhook = eventually("it is disabled", TIME_MAX, || {
        let webhook = api.get(format!("/v4/team/webhooks/{id}")).ok()["webhook"].clone();
        (webhook["enabled"] == false).then_some(webhook)
    });
    assert_eq!(webhook["disabled"]["reason"], "gone");
    table.insert(json!({ "Name": "b" }));
    let failed = eventually("the delivery is given up", TIME_MAX, || {
        let failed = api.get(format!("/v4/team/webhooks/{id}/deliveries?status=failed")).ok();
        failed["deliveries"].as_array().unwrap().first().cloned()
    });
    assert_eq!(failed["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(receiver.count(), 1);
}

fn a_dead_receiver_holds_up_nobody() {
    let (server, quick) = (started(&[]), receiver());
    let api = server.api();
    let dead: Vec<StubServer> = (0..3).map(|_| StubServer::start(|_, _| Reply::Hanging)).collect();
    for receiver in &dead {
        hook_for(&api, receiver, &["row.created"]);
    }
    hook_for(&api, &quick, &["row.created"]);
    let table = api.table(&["Name"]);
    for number in 0..100 {
        table.insert(json!({ "Name": number.to_string() }));
    }
    assert_eq!(rows_told(&quick, "row.created", 100).len(), 100);
    assert!(
        dead.iter().all(|receiver| receiver.count() < 100),
        "who does not answer is not asked at once again"
    );
}

fn nothing_is_lost_when_the_server_is_killed() {
    let (mut server, receiver) = (started(&[]), receiver());
    let (id, _) = hook_for(&server.api(), &receiver, &["row.created"]);
    let mut expected = BTreeSet::new();
    for round in 0..4 {
        let table = server.api().table(&["Name"]);
        let stop = AtomicBool::new(false);
        let written: Vec<String> = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut written = Vec::new();
                while !stop.load(Ordering::Acquire) {
                    let request =
                        Request::post(table.path("/rows")).json(&json!([{ "Name": "a" }, { "Name": "b" }]));
                    let Ok(answer) = table.api.try_send(request) else { break };
                    let rows = answer.created()["rows"].clone();
                    written.extend(rows.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()));
                }
                written
            });
            let before = receiver.count();
            eventually("some are delivered", TIME_MAX, || {
                (receiver.count() > before + 10 + round).then_some(())
            });
            server.kill();
            stop.store(true, Ordering::Release);
            writer.join().unwrap()
        });
        expected.extend(written);
        server.restart();
    }
    eventually("every row that was acknowledged is told", Duration::from_mins(1), || {
        let told: BTreeSet<String> = told(&receiver, "row.created")
            .iter()
            .flat_map(|data| data["rows"].as_array().unwrap().clone())
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect();
        expected.is_subset(&told).then_some(())
    });
    let pending = eventually("nothing waits", TIME_MAX, || {
        let pending = server.api().get(format!("/v4/team/webhooks/{id}/deliveries?status=pending")).ok();
        pending["deliveries"].as_array().unwrap().is_empty().then_some(0)
    });
    assert_eq!(pending, 0);
}

fn too_many_events_are_dropped_and_the_receiver_is_told() {
    let server = started(&[("ROWMILL_WEBHOOK_BACKLOG_BYTES_MAX", "20000")]);
    let is_up = Arc::new(AtomicBool::new(false));
    let up = Arc::clone(&is_up);
    let receiver = StubServer::start(move |_, _| {
        if up.load(Ordering::Acquire) { ok(json!({})) } else { Reply::Json(503, json!({})) }
    });
    let api = server.api();
    let (id, _) = hook_for(&api, &receiver, &["row.created"]);
    let table = api.table(&["Name"]);
    let webhook = || api.get(format!("/v4/team/webhooks/{id}")).ok()["webhook"].clone();
    eventually("events are dropped", TIME_MAX, || {
        table.insert(json!({ "Name": "x".repeat(2_000) }));
        webhook()["droppingSince"].is_string().then_some(())
    });
    assert!(webhook()["failingSince"].is_string());
    table.insert(json!({ "Name": "dropped" }));
    is_up.store(true, Ordering::Release);
    // What failed several times waits for long; so it is sent again by hand.
    let gap = eventually("the receiver is told", TIME_MAX, || {
        for delivery in
            api.get(format!("/v4/team/webhooks/{id}/deliveries?status=pending")).ok()["deliveries"]
                .as_array()
                .unwrap()
        {
            let delivery = delivery["id"].as_str().unwrap();
            api.send(Request::post(format!("/v4/team/webhooks/{id}/deliveries/{delivery}/replay")));
        }
        told(&receiver, "webhook.gap").pop()
    });
    assert!(gap["from"].as_str() < gap["to"].as_str(), "{gap}");
    let webhook = webhook();
    assert_eq!((&webhook["droppingSince"], &webhook["lastGap"]), (&Value::Null, &gap));
    table.insert(json!({ "Name": "after" }));
    eventually("it is told of what comes after", TIME_MAX, || {
        let rows = rows_told(&receiver, "row.created", 1);
        rows.iter().any(|row| row["cells"]["Name"] == "after").then_some(())
    });
    let rows = rows_told(&receiver, "row.created", 1);
    assert!(rows.iter().all(|row| row["cells"]["Name"] != "dropped"));
}

fn a_private_address_is_not_delivered_to() {
    let server = Server::start(&[]);
    let (api, receiver) = (server.api(), receiver());
    let (id, _) = hook_for(&api, &receiver, &["row.created"]);
    api.table(&["Name"]).insert(json!({ "Name": "a" }));
    let error = eventually("an attempt is made", TIME_MAX, || {
        let listed = api.get(format!("/v4/team/webhooks/{id}/deliveries")).ok();
        listed["deliveries"][0]["attempts"][0]["error"].as_str().map(str::to_owned)
    });
    assert!(error.contains("private address"), "{error}");
    assert_eq!(receiver.count(), 0);
}

fn several_nodes_deliver_each_event_once() {
    let receiver = receiver();
    let service = Service::start_in(DataDir::new(), &[]);
    let api = service.api();
    let (_, secret) = hook_for(&api, &receiver, &["row.created"]);
    let table = api.table(&["Name"]);
    for number in 0..200 {
        table.insert(json!({ "Name": number.to_string() }));
    }
    let rows = rows_told(&receiver, "row.created", 200);
    // Whatever would come a second time had time to.
    std::thread::sleep(Duration::from_secs(3));
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for seen in receiver.seen() {
        verified(&seen, &secret);
        *times.entry(seen.headers["webhook-id"].clone()).or_default() += 1;
    }
    assert_eq!((rows.len(), times.len()), (200, 200));
    assert!(times.values().all(|times| *times == 1), "{times:?}");
}
