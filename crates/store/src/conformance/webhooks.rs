//! Outbound webhooks: who is told, the queue of deliveries, and what transactions put into it.

use rowmill_model::plan::{Pick, StartedBy};
use rowmill_model::webhook::{Disabled, DisabledReason};
use rowmill_model::{ColumnId, EventType, ProjectId, TeamId, Webhook, WebhookId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::make::{
    ANSWER, MAIL, NAME, batch, create, insert, load, numbered, processed, project, row_id, write, writes,
};
use super::runs::finish;
use crate::error::StoreError;
use crate::store::Store;
use crate::webhooks::{
    Attempt, ClaimDeliveries, Delivery, DeliveryOutcome, DeliveryRecord, DeliverySettlement, DeliveryStatus,
    KeepDeliveries, NewDelivery, Replay, WebhooksSave,
};
use crate::work::{Rows, Trigger};

const TEAM: TeamId = TeamId(Uuid::from_u128(1));

fn id(number: u128) -> WebhookId {
    WebhookId::from_uuid(Uuid::from_u128(number))
}

pub(super) fn webhook(number: u128) -> Webhook {
    Webhook {
        id: id(number),
        url: format!("https://example.com/{number}"),
        description: String::new(),
        events: EventType::ALL.to_vec(),
        project_ids: None,
        column_ids: None,
        created_at_ms: 1,
        sealed_secret: "00".to_owned(),
        old_secret: None,
        disabled: None,
        failing_since_ms: None,
        dropping_since_ms: None,
        last_gap: None,
    }
}

fn delivery(webhook: u128, created_at_ms: i64) -> NewDelivery {
    NewDelivery {
        webhook: id(webhook),
        event: "webhook.test".to_owned(),
        project: None,
        seq: 0,
        created_at_ms,
        body: format!("{{\"at\":{created_at_ms}}}"),
    }
}

pub(super) async fn save(store: &dyn Store, webhooks: Vec<Webhook>, deliveries: Vec<NewDelivery>) {
    let version = store.webhooks(TEAM).await.unwrap().version;
    store.save_webhooks(WebhooksSave { team: TEAM, version, webhooks, deliveries }).await.unwrap();
}

fn due(now_ms: i64) -> ClaimDeliveries {
    ClaimDeliveries { now_ms, leased_until_ms: now_ms + 100, each: 9, rooms: Vec::new(), most: 99 }
}

async fn claim(store: &dyn Store, claim: ClaimDeliveries) -> Vec<Delivery> {
    store.claim_deliveries(claim).await.unwrap()
}

fn settled(delivery: &Delivery, outcome: DeliveryOutcome) -> DeliverySettlement {
    let attempt = Attempt { at_ms: 1, took_ms: 2, status: Some(500), answer: "no".to_owned(), error: None };
    let Delivery { id, leased_until_ms, .. } = *delivery;
    DeliverySettlement { id, leased_until_ms, attempt: Some(attempt), outcome }
}

async fn listed(store: &dyn Store, webhook: u128, status: Option<DeliveryStatus>) -> Vec<DeliveryRecord> {
    store.deliveries(id(webhook), None, status, 1_000).await.unwrap()
}

pub(super) async fn webhooks_are_saved_over_their_version(store: &dyn Store) {
    assert_eq!(store.webhooks(TEAM).await.unwrap().version, 0);
    save(store, vec![webhook(1)], Vec::new()).await;
    save(store, vec![webhook(1), webhook(2)], Vec::new()).await;
    let stored = store.webhooks(TEAM).await.unwrap();
    assert_eq!((stored.version, stored.webhooks), (2, vec![webhook(1), webhook(2)]));
    for version in [0, 1, 3] {
        let stale =
            WebhooksSave { team: TEAM, version, webhooks: Vec::new(), deliveries: vec![delivery(1, 5)] };
        let stale = store.save_webhooks(stale).await;
        assert!(matches!(stale, Err(StoreError::Stale)), "{version}: {stale:?}");
    }
    assert_eq!(listed(store, 1, None).await, [], "a stale save delivers nothing");
    assert_eq!(store.webhook_teams().await.unwrap(), [TEAM]);
    save(store, Vec::new(), Vec::new()).await;
    assert_eq!(store.webhook_teams().await.unwrap(), []);
}

pub(super) async fn a_delivery_is_held_by_a_lease(store: &dyn Store) {
    let new = vec![delivery(1, 10), delivery(1, 11), delivery(1, 12), delivery(2, 13)];
    save(store, vec![webhook(1), webhook(2)], new).await;
    let few = ClaimDeliveries { rooms: vec![(id(1), 2), (id(2), 0)], ..due(1_000) };
    let claimed = claim(store, few).await;
    let times: Vec<i64> = claimed.iter().map(|delivery| delivery.id.created_at_ms).collect();
    assert_eq!(times, [10, 11], "the oldest first, as many as there is room for");
    assert_eq!((claimed[0].team, claimed[0].body.as_str()), (TEAM, "{\"at\":10}"));
    assert_eq!(claim(store, ClaimDeliveries { most: 1, ..due(1_000) }).await.len(), 1);
    assert_eq!(claim(store, due(1_000)).await.len(), 1);
    assert_eq!(claim(store, due(1_099)).await, [], "all are held");
    // Whoever comes too late, or again, changes nothing.
    let again = claim(store, due(1_100)).await;
    assert_eq!(again.len(), 4);
    store.settle_deliveries(vec![settled(&claimed[0], DeliveryOutcome::Delivered)]).await.unwrap();
    assert_eq!(listed(store, 1, Some(DeliveryStatus::Delivered)).await, []);
    let outcomes = [
        DeliveryOutcome::Delivered,
        DeliveryOutcome::Retry(5_000),
        DeliveryOutcome::GivenUp,
        DeliveryOutcome::Forgotten,
    ];
    let done = again.iter().zip(outcomes).map(|(delivery, outcome)| settled(delivery, outcome)).collect();
    store.settle_deliveries(done).await.unwrap();
    let statuses: Vec<_> =
        listed(store, 1, None).await.iter().map(|record| (record.status, record.due_at_ms)).collect();
    let expected = [
        (DeliveryStatus::Failed, None),
        (DeliveryStatus::Pending, Some(5_000)),
        (DeliveryStatus::Delivered, None),
    ];
    assert_eq!(statuses, expected, "newest first");
    assert_eq!(listed(store, 2, None).await, []);
    assert_eq!(claim(store, due(4_999)).await, []);
    let retried = claim(store, due(5_000)).await;
    assert_eq!((retried.len(), retried[0].attempts, retried[0].id), (1, 1, again[1].id));
    let backlogs = store.backlogs().await.unwrap();
    assert_eq!((backlogs.len(), backlogs[0].bytes, backlogs[0].team), (1, 9, TEAM));
}

pub(super) async fn deliveries_are_listed_and_sent_again(store: &dyn Store) {
    save(store, vec![webhook(1)], (10..15).map(|at_ms| delivery(1, at_ms)).collect()).await;
    let claimed = claim(store, due(1_000)).await;
    let outcome = |at: usize| if at < 2 { DeliveryOutcome::GivenUp } else { DeliveryOutcome::Delivered };
    let done = claimed.iter().enumerate().map(|(at, delivery)| settled(delivery, outcome(at))).collect();
    store.settle_deliveries(done).await.unwrap();
    let page = store.deliveries(id(1), None, None, 2).await.unwrap();
    let next = store.deliveries(id(1), Some(page[1].id.num), None, 2).await.unwrap();
    let times: Vec<i64> = page.iter().chain(&next).map(|record| record.id.created_at_ms).collect();
    assert_eq!(times, [14, 13, 12, 11]);
    let one = store.delivery(id(1), page[0].id).await.unwrap().unwrap();
    assert_eq!((one.attempts.len(), one.body.as_str()), (1, "{\"at\":14}"));
    assert_eq!(store.delivery(id(2), page[0].id).await.unwrap(), None, "another webhook's");

    assert_eq!(store.replay_deliveries(id(2), Replay::One(page[0].id)).await.unwrap(), [0_u64; 0]);
    assert_eq!(store.replay_deliveries(id(1), Replay::One(page[0].id)).await.unwrap(), [page[0].id.num]);
    let again = claim(store, due(2_000)).await;
    assert_eq!((again.len(), again[0].id, again[0].attempts), (1, page[0].id, 0), "it counts from the start");
    store.settle_deliveries(vec![settled(&again[0], DeliveryOutcome::Delivered)]).await.unwrap();
    let since = |at_ms, only_failed, after| Replay::Since { at_ms, only_failed, after };
    assert_eq!(store.replay_deliveries(id(1), since(11, true, 0)).await.unwrap().len(), 1);
    let mut rest = store.replay_deliveries(id(1), since(0, false, claimed[2].id.num)).await.unwrap();
    rest.sort_unstable();
    assert_eq!(rest, [claimed[3].id.num, claimed[4].id.num]);
}

pub(super) async fn old_deliveries_are_trimmed(store: &dyn Store) {
    let new = (10..16).map(|at_ms| delivery(1, at_ms)).chain([delivery(2, 1)]).collect();
    save(store, vec![webhook(1), webhook(2)], new).await;
    let claimed = claim(store, due(1_000)).await;
    let done = claimed.iter().filter(|delivery| delivery.id.created_at_ms != 11);
    let done = done.map(|delivery| settled(delivery, DeliveryOutcome::Delivered)).collect();
    store.settle_deliveries(done).await.unwrap();
    let all = KeepDeliveries { count: 100, bytes: 1_000, since_ms: 0 };
    let left = async |keep: KeepDeliveries| {
        while store.trim_deliveries(id(1), keep).await.unwrap() {}
        let left = listed(store, 1, None).await;
        left.iter().map(|record| record.id.created_at_ms).collect::<Vec<_>>()
    };
    assert_eq!(left(all).await, [15, 14, 13, 12, 11, 10]);
    assert_eq!(left(KeepDeliveries { count: 4, ..all }).await, [15, 14, 13, 12, 11], "what waits stays");
    assert_eq!(left(KeepDeliveries { since_ms: 13, ..all }).await, [15, 14, 13, 11]);
    assert_eq!(left(KeepDeliveries { bytes: 18, ..all }).await, [15, 14, 11]);
    assert_eq!(listed(store, 2, None).await.len(), 1, "others stay");
    while store.forget_deliveries(id(1)).await.unwrap() {}
    assert_eq!((listed(store, 1, None).await.len(), listed(store, 2, None).await.len()), (0, 1));
}

// What transactions put into it.

/// What waits for a webhook, oldest first: the event, the change sequence, and the data.
pub(super) async fn told(store: &dyn Store, webhook: u128) -> Vec<(String, u64, Value)> {
    let mut told = listed(store, webhook, None).await;
    told.reverse();
    let data = |record: &DeliveryRecord| serde_json::from_str::<Value>(&record.body).unwrap()["data"].take();
    told.iter().map(|record| (record.event.clone(), record.seq, data(record))).collect()
}

async fn events(store: &dyn Store, webhook: u128) -> Vec<String> {
    told(store, webhook).await.into_iter().map(|(event, ..)| event).collect()
}

async fn seq(store: &dyn Store, project: ProjectId) -> u64 {
    load(store, project).await.change_seq
}

pub(super) async fn what_happens_to_rows_is_put_into_the_outbox(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    let other = create(store, project(2, 2)).await.project.id;
    insert(store, id, numbered(1, 1)).await;
    let of_mail = Webhook { column_ids: Some(vec![ColumnId::new("col_mail00000000")]), ..webhook(2) };
    let of_other = Webhook { project_ids: Some(vec![other]), ..webhook(3) };
    save(store, vec![webhook(1), of_mail, of_other], Vec::new()).await;
    insert(store, other, numbered(5_000, 1)).await;
    assert_eq!(told(store, 3).await, [], "another team's project");

    insert(store, id, numbered(10, 150)).await;
    let created = told(store, 1).await;
    let counts: Vec<_> = created
        .iter()
        .map(|(event, _, data)| (event.as_str(), data["rows"].as_array().unwrap().len()))
        .collect();
    assert_eq!(counts, [("row.created", 100), ("row.created", 50)]);
    assert_eq!(created[0].1, seq(store, id).await);
    assert_eq!(created[0].2["rows"][0], json!({ "id": row_id(10), "cells": { "Name": 10 } }));
    assert_eq!(created[0].2["projectId"], json!(id));

    let version = load(store, id).await.version;
    let stale = store.write_cells(writes(id, version + 1, vec![write(10, NAME, "1")])).await;
    assert!(stale.is_err() && store.insert_rows(batch(id, version + 1, numbered(900, 1))).await.is_err());
    store.write_cells(writes(id, version, vec![write(10, NAME, "10")])).await.unwrap();
    assert_eq!(told(store, 1).await.len(), 2, "what is not written, or as it was, is not told");
    store
        .write_cells(writes(id, version, vec![write(10, NAME, "11"), write(12, MAIL, "\"m\"")]))
        .await
        .unwrap();
    let (event, at, data) = told(store, 1).await.pop().unwrap();
    assert_eq!((event.as_str(), at), ("row.updated", seq(store, id).await));
    let expected = [
        json!({ "id": row_id(10), "cells": { "Name": 11 }, "changed": ["Name"] }),
        json!({ "id": row_id(12), "cells": { "Name": 12, "Mail": "m" }, "changed": ["Mail"] }),
    ];
    assert_eq!(data["rows"], json!(expected));
    let (_, _, data) = told(store, 2).await.pop().unwrap();
    assert_eq!(data["rows"].as_array().unwrap().len(), 1, "only rows with another mail: {data}");

    let large = format!("\"{}\"", "x".repeat(30_000));
    store.write_cells(writes(id, version, vec![write(10, MAIL, &large)])).await.unwrap();
    let (_, _, data) = told(store, 1).await.pop().unwrap();
    assert_eq!(data["rows"], json!([{ "id": row_id(10), "truncated": true }]));
    store.delete_rows(id, vec![row_id(10), row_id(11)]).await.unwrap();
    let (event, _, data) = told(store, 1).await.pop().unwrap();
    let expected = json!([{ "id": row_id(10) }, { "id": row_id(11) }]);
    assert_eq!((event.as_str(), &data["rows"]), ("row.deleted", &expected));
}

pub(super) async fn runs_and_their_cells_are_put_into_the_outbox(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 2)).await;
    let of_runs = Webhook { events: vec![EventType::RunStarted, EventType::RunFinished], ..webhook(2) };
    let is_off = Disabled { at_ms: 1, reason: DisabledReason::Team };
    let disabled = Webhook { disabled: Some(is_off), ..webhook(3) };
    save(store, vec![webhook(1), of_runs, disabled], Vec::new()).await;
    let pick = Pick { slots: Some(vec![ANSWER]), ..Pick::default() };
    let trigger = Trigger { project: id, rows: Rows::All, pick, limit: None, dry_run: false, now_ms: 5 };
    store.start_run(trigger, StartedBy::Key("a".to_owned())).await.unwrap();
    assert_eq!(events(store, 1).await, ["run.started"]);
    assert_eq!(finish(store, id, ANSWER, 7).await, 2);
    assert_eq!(events(store, 1).await, ["run.started", "cell.completed", "run.finished"]);
    assert_eq!(events(store, 2).await, ["run.started", "run.finished"]);
    assert_eq!(events(store, 3).await, [""; 0]);
    let told = told(store, 1).await;
    assert_eq!(told[1].2["rows"][0]["cells"], json!({ "col_answer000000": 1 }));
    let (started, finished) = (&told[0].2["run"], &told[2].2["run"]);
    assert_eq!((&started["id"], &started["status"]), (&json!("run_1"), &json!("running")));
    assert_eq!(
        (&finished["id"], &finished["done"], &finished["cells"]),
        (&json!("run_1"), &json!(2), &json!(2))
    );
}
