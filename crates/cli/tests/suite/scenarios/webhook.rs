//! Contract section 10: deliveries of the event platform.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Answer, Api, Request, Scenario, Server, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("webhook", Shared:
    a_guest_becomes_a_row_and_an_update_changes_it,
    both_generations_of_payloads_are_one_guest,
    an_older_event_changes_nothing,
    every_order_of_deliveries_leaves_the_same_row,
    every_project_that_follows_the_event_is_served,
    what_is_not_for_us_is_ignored,
    failures_are_bare,
    a_partial_update_keeps_the_rest,
    parameters_of_the_sender_are_ignored,
    deliveries_at_once_make_one_row_a_guest,
    a_signed_project_takes_only_what_is_signed,
    a_deleted_row_comes_back_and_a_disabled_api_closes_nothing,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("webhook", Own:
    the_size_of_a_delivery_is_a_limit_of_its_own,
    deliveries_are_counted_per_team,
);

pub(super) fn following(api: &Api, event: &str, more: &Value) -> Table {
    let mut eventplatform = json!({ "eventId": event, "webhookEnabled": true });
    eventplatform.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let metadata = json!({ "integration": "eventplatform-event", "eventplatform": eventplatform });
    api.table_of(json!({ "title": event, "metadata": metadata }))
}

fn address(api: &Api) -> String {
    let url = api.get("/v4/team").ok()["team"]["webhookUrl"].as_str().unwrap().to_owned();
    url.split_once(&api.address).unwrap().1.to_owned()
}

pub(super) fn deliver(api: &Api, body: &Value) -> Answer {
    api.post(address(api), body.clone())
}

pub(super) fn deliver_signed(api: &Api, body: &Value, secret: &str) -> Answer {
    let body = body.to_string();
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let signature = format!("t={time},v1={}", hmac_of(secret, &format!("{time}.{body}")));
    api.send(Request::post(address(api)).text(&body).header("webhook-signature", &signature))
}

pub(super) fn guest(event: &str, id: &str, status: &str, created_at: Option<&str>) -> Value {
    let mut body = json!({ "type": "guest.updated", "data": {
        "id": id, "user_email": format!("{id}@example.com"), "user_name": "Ada King Noel", "approval_status": status,
        "registered_at": "2026-11-01T10:00:00Z", "event": { "id": event, "name": "Fair" },
    } });
    if let Some(moment) = created_at {
        body["created_at"] = moment.into();
    }
    body
}

#[track_caller]
pub(super) fn counts(answer: Answer) -> [u64; 3] {
    let json = answer.ok();
    ["matchedProjects", "rowsCreated", "rowsUpdated"].map(|name| json[name].as_u64().unwrap())
}

fn only_row(table: &Table) -> Value {
    let page = table.rows(&[]);
    assert_eq!(page["pagination"]["totalRows"], 1, "{page}");
    page["rows"][0].clone()
}

fn a_guest_becomes_a_row_and_an_update_changes_it(api: &Api) {
    let table = following(api, "evt-one", &json!({ "addApprovalColumn": true }));
    assert_eq!(counts(deliver(api, &guest("evt-one", "gst-1", "pending_approval", None))), [1, 1, 0]);
    let row = only_row(&table);
    let payload = json!({
        "api_id": "gst-1", "user_email": "gst-1@example.com", "approval_status": "pending_approval",
        "registered_at": "2026-11-01T10:00:00Z", "event_id": "evt-one", "event_name": "Fair",
        "guest": { "api_id": "gst-1", "email": "gst-1@example.com", "name": "Ada King Noel",
            "first_name": "Ada", "last_name": "King Noel" },
    });
    assert_eq!(row["cells"], json!({ "_trigger": payload, "guest_status": "pending_approval" }));
    assert_eq!(
        counts(deliver(api, &guest("evt-one", "gst-1", "pending_approval", None))),
        [1, 0, 0],
        "unchanged"
    );
    assert_eq!(counts(deliver(api, &guest("evt-one", "gst-1", "approved", None))), [1, 0, 1]);
    let updated = only_row(&table);
    assert_eq!((&updated["id"], &updated["cells"]["guest_status"]), (&row["id"], &json!("approved")));
    // References follow the payload, in rows older than the column too.
    let reference = json!({ "templateId": "reference", "header": "Mail",
        "referenceConfig": { "columnId": "_trigger", "path": "guest.email" } });
    let mail = table.add_column(reference);
    assert_eq!(only_row(&table)["cells"][&mail], "gst-1@example.com");
}

fn both_generations_of_payloads_are_one_guest(api: &Api) {
    let table = following(api, "evt-two", &json!({}));
    let old = json!({ "type": "guest.registered", "data": {
        "api_id": "reg-1", "user_email": "ada@example.com", "approval_status": "approved",
        "registered_at": "2026-11-01T10:00:00Z", "event": { "api_id": "evt-two", "name": "Fair" },
        "guest": { "api_id": "gst-1", "email": "ada@example.com", "name": "Ada Lovelace" },
    } });
    let new = json!({ "type": "guest.updated", "data": {
        "id": "gst-1", "user_email": "ada@example.com", "user_first_name": "Ada", "user_last_name": "Lovelace",
        "approval_status": "approved", "registered_at": "2026-11-01T10:00:00Z",
        "event": { "id": "evt-two", "name": "Fair" },
    } });
    assert_eq!(counts(deliver(api, &old)), [1, 1, 0]);
    assert_eq!(counts(deliver(api, &new)), [1, 0, 0], "the same guest, and nothing new about them");
    assert_eq!(only_row(&table)["cells"]["_trigger"]["guest"]["first_name"], "Ada");
}

fn an_older_event_changes_nothing(api: &Api) {
    let table = following(api, "evt-old", &json!({}));
    let at = |status: &str, moment: &str| counts(deliver(api, &guest("evt-old", "g", status, Some(moment))));
    assert_eq!(at("b", "2026-11-15T10:00:00Z"), [1, 1, 0]);
    assert_eq!(at("a", "2026-11-15T09:59:59.999Z"), [1, 0, 0]);
    assert_eq!(at("c", "2026-11-15T12:00:00+02:00"), [1, 0, 1], "the same instant is not older");
    assert_eq!(
        counts(deliver(api, &guest("evt-old", "g", "d", None))),
        [1, 0, 1],
        "without a time it is the newest"
    );
    assert_eq!(only_row(&table)["cells"]["_trigger"]["approval_status"], "d");
}

fn every_order_of_deliveries_leaves_the_same_row(api: &Api) {
    let moments = ["2026-11-15T10:00:00Z", "2026-11-15T10:00:01Z", "2026-11-15T10:00:02Z"];
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let table = following(api, "evt-orders", &json!({}));
    for (number, order) in orders.iter().enumerate() {
        for step in order {
            let id = format!("g{number}");
            deliver(api, &guest("evt-orders", &id, &format!("status {step}"), Some(moments[*step]))).ok();
        }
    }
    let page = table.rows(&[]);
    assert_eq!(page["pagination"]["totalRows"], orders.len());
    for row in page["rows"].as_array().unwrap() {
        assert_eq!(row["cells"]["_trigger"]["approval_status"], "status 2");
    }
}

fn every_project_that_follows_the_event_is_served(api: &Api) {
    let tables = [json!({}), json!({ "addApprovalColumn": true }), json!({})]
        .map(|more| following(api, "evt-many", &more));
    let switched_off = following(api, "evt-many", &json!({ "webhookEnabled": false }));
    assert_eq!(counts(deliver(api, &guest("evt-many", "g", "a", None))), [3, 3, 0]);
    let metadata = json!({ "metadata": {} });
    tables[0].patch("", metadata).ok();
    assert_eq!(counts(deliver(api, &guest("evt-many", "g", "b", None))), [2, 0, 2]);
    assert_eq!(only_row(&tables[0])["cells"]["_trigger"]["approval_status"], "a");
    assert_eq!(switched_off.rows(&[])["pagination"]["totalRows"], 0);
}

fn what_is_not_for_us_is_ignored(api: &Api) {
    following(api, "evt-ignored", &json!({}));
    let mut ticket = guest("evt-ignored", "g", "a", None);
    for kind in ["ticket.registered", "event.updated", "calendar.person.subscribed"] {
        ticket["type"] = kind.into();
        let ignored = json!({ "success": true, "matchedProjects": 0, "rowsCreated": 0, "rowsUpdated": 0, "ignored": true });
        assert_eq!(deliver(api, &ticket).ok(), ignored, "{kind}");
    }
    assert_eq!(deliver(api, &guest("evt-unknown", "g", "a", None)).ok()["ignored"], true);
}

/// Refused with these words and nothing else.
#[track_caller]
fn check_bare(answer: &Answer, status: u16, words: &str) {
    assert_eq!((answer.status(), &answer.json), (status, &json!({ "error": words })), "{}", answer.text);
}

fn failures_are_bare(api: &Api) {
    let good = guest("evt-x", "g", "a", None);
    for id in ["nonsense", "0190f0e0", "%00", "%20"] {
        check_bare(&api.post(format!("/webhooks/eventplatform/{id}"), good.clone()), 400, "Missing teamId");
    }
    let nobody = "/webhooks/eventplatform/0190f0e0-a1b2-7c3d-8e4f-0123456789ab";
    check_bare(&api.post(nobody, good.clone()), 404, "Team not found");
    let mut broken = vec![json!(null), json!([]), json!({}), json!({ "type": "guest.updated" }), json!("x")];
    broken.push(json!({ "type": 1, "data": {} }));
    broken.push(json!({ "type": "guest.updated", "data": { "event": { "id": "e" } } }));
    broken.push(json!({ "type": "guest.updated", "data": { "id": "g" } }));
    for body in broken {
        check_bare(&api.post(address(api), body), 400, "Invalid payload");
        let told = api.post(nobody, json!([]));
        assert_eq!(told.json["error"], "Team not found", "said before the body is read");
    }
    check_bare(&api.send(Request::post(address(api)).text("{\"type\":")), 400, "Invalid payload");
    for path in ["/webhooks/eventplatform", "/webhooks/eventplatform/"] {
        let response =
            crate::harness::http::exchange(&api.address, &Request::post(path).json(&good)).unwrap();
        assert_eq!(
            (response.status, response.body.as_slice()),
            (400, br#"{"error":"Missing teamId"}"#.as_slice())
        );
    }
}

fn a_partial_update_keeps_the_rest(api: &Api) {
    let table = following(api, "evt-part", &json!({ "addApprovalColumn": true }));
    assert_eq!(counts(deliver(api, &guest("evt-part", "g", "approved", None))), [1, 1, 0]);
    let before = only_row(&table)["cells"].clone();
    let partial = |data: Value| {
        let mut data = data;
        data["id"] = json!("g");
        data["event_id"] = json!("evt-part");
        counts(deliver(api, &json!({ "type": "guest.updated", "data": data })))
    };
    assert_eq!(partial(json!({})), [1, 0, 0], "nothing is carried, nothing changes");
    assert_eq!(partial(json!({ "user_email": "new@example.com" })), [1, 0, 1]);
    let mut expected = before.clone();
    expected["_trigger"]["user_email"] = json!("new@example.com");
    expected["_trigger"]["guest"]["email"] = json!("new@example.com");
    assert_eq!(only_row(&table)["cells"], expected);
    assert_eq!(partial(json!({ "approval_status": "declined" })), [1, 0, 1]);
    expected["_trigger"]["approval_status"] = json!("declined");
    expected["guest_status"] = json!("declined");
    assert_eq!(only_row(&table)["cells"], expected);
    // A new guest without a time is registered when the delivery was made, or else now.
    let new = json!({ "type": "guest.updated", "created_at": "2026-11-05T00:00:00Z",
        "data": { "id": "h", "event_id": "evt-part", "registered_at": "soon" } });
    assert_eq!(counts(deliver(api, &new)), [1, 1, 0]);
    assert_eq!(table.rows(&[])["rows"][1]["cells"]["_trigger"]["registered_at"], "2026-11-05T00:00:00Z");
    let timeless = json!({ "type": "guest.updated", "data": { "id": "i", "event_id": "evt-part" } });
    assert_eq!(counts(deliver(api, &timeless)), [1, 1, 0]);
    assert_eq!(counts(deliver(api, &timeless)), [1, 0, 0]);
    let arrived = table.rows(&[])["rows"][2]["cells"]["_trigger"]["registered_at"].clone();
    assert!(arrived.as_str().unwrap().ends_with('Z'), "{arrived}");
}

fn parameters_of_the_sender_are_ignored(api: &Api) {
    following(api, "evt-query", &json!({}));
    let path = format!("{}?source=platform&source=2&x", address(api));
    assert_eq!(counts(api.post(path, guest("evt-query", "g", "a", None))), [1, 1, 0]);
    for (request, status) in [
        (Request::get(address(api)), 405),
        (Request::get("/webhooks/elsewhere"), 404),
        (Request::post("/webhooks/").text("{}"), 404),
    ] {
        let response = crate::harness::http::exchange(&api.address, &request).unwrap();
        let body: Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(response.status, status, "{body}");
        assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["error"]);
    }
}

fn deliveries_at_once_make_one_row_a_guest(api: &Api) {
    let table = following(api, "evt-rush", &json!({}));
    let path = address(api);
    let totals = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let (api, path) = (api.clone(), path.clone());
                scope.spawn(move || {
                    let mut made = 0;
                    for number in 0..25 {
                        // Half of all deliveries are for one guest, the others for 100 different ones.
                        let id = if number % 2 == 0 {
                            "same".to_owned()
                        } else {
                            format!("g{}", thread * 25 + number)
                        };
                        let status = format!("{thread} {number}");
                        made += counts(api.post(path.clone(), guest("evt-rush", &id, &status, None)))[1];
                    }
                    made
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u64>()
    });
    assert_eq!(totals, 1 + 8 * 12);
    let page = table.rows(&[("pageSize", "1000")]);
    let mut ids: Vec<&str> = page["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["cells"]["_trigger"]["api_id"].as_str().unwrap())
        .collect();
    assert_eq!(u64::try_from(ids.len()).unwrap(), totals);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(u64::try_from(ids.len()).unwrap(), totals, "one row a guest");
}

fn a_signed_project_takes_only_what_is_signed(api: &Api) {
    let copied = json!({ "title": "Copy", "metadata": { "integration": "eventplatform-event",
        "eventplatform": { "eventId": "evt-signed", "webhookEnabled": true, "signingSecret": "***" } } });
    api.post("/v4/projects", copied).offends(&["metadata.eventplatform.signingSecret"]);
    let signed = following(api, "evt-signed", &json!({ "signingSecret": "s3cret-canary" }));
    let shown = signed.get("").ok();
    assert_eq!(shown["project"]["metadata"]["eventplatform"]["signingSecret"], "***");
    let body = guest("evt-signed", "g", "a", None).to_string();
    let send = |signature: Option<String>| {
        let request = Request::post(address(api)).text(&body);
        api.send(match signature {
            Some(signature) => request.header("webhook-signature", &signature),
            None => request,
        })
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let signature =
        |time: u64, secret: &str| format!("t={time},v1={}", hmac_of(secret, &format!("{time}.{body}")));
    for wrong in [
        None,
        Some("t=1,v1=00".to_owned()),
        Some(signature(now, "other")),
        Some(signature(now - 400, "s3cret-canary")),
    ] {
        let answer = send(wrong.clone());
        assert_eq!(
            (answer.status(), &answer.json),
            (401, &json!({ "error": "Invalid signature" })),
            "{wrong:?}"
        );
    }
    assert_eq!(signed.rows(&[])["pagination"]["totalRows"], 0);
    assert_eq!(counts(send(Some(signature(now, "s3cret-canary")))), [1, 1, 0]);
    // The mask sent back keeps the secret; a project that asks for no signature takes what the other refuses.
    let metadata = shown["project"]["metadata"].clone();
    let answer = signed.patch("", json!({ "metadata": metadata }));
    assert!(!answer.text.contains("s3cret-canary"));
    answer.ok();
    assert_eq!(send(None).status(), 401);
    let unsigned = following(api, "evt-signed", &json!({}));
    assert_eq!(counts(send(None)), [1, 1, 0]);
    assert_eq!(only_row(&unsigned)["cells"]["_trigger"]["api_id"], "g");
}

fn a_deleted_row_comes_back_and_a_disabled_api_closes_nothing(api: &Api) {
    let table = following(api, "evt-back", &json!({}));
    deliver(api, &guest("evt-back", "g", "a", None)).ok();
    let row = only_row(&table)["id"].as_str().unwrap().to_owned();
    table.delete_rows(std::slice::from_ref(&row)).ok();
    assert_eq!(counts(deliver(api, &guest("evt-back", "g", "a", None))), [1, 1, 0]);
    assert_ne!(only_row(&table)["id"], row);
    table.patch("", json!({ "settings": { "api": { "enabled": false } } })).ok();
    assert_eq!(counts(deliver(api, &guest("evt-back", "h", "a", None))), [1, 1, 0]);
    table.patch("", json!({ "settings": { "api": { "enabled": true } } })).ok();
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 2);
}

fn deliveries_are_counted_per_team() {
    let server = Server::start(&[("ROWMILL_RATE_LIMIT_WEBHOOK", "1/3")]);
    let (api, other) = (server.api(), server.team("other"));
    let body = guest("evt", "g", "a", None);
    let paths = (address(&api), address(&other));
    let answers: Vec<Answer> = (0..8).map(|_| api.post(paths.0.clone(), body.clone())).collect();
    assert!(answers.iter().take(3).all(|answer| answer.status() == 200), "a rested team may send its burst");
    let refused = answers.iter().find(|answer| answer.status() == 429).expect("a refusal after the burst");
    assert!(refused.header("retry-after").is_some() && refused.header("x-ratelimit-limit") == Some("3"));
    assert!(refused.json["success"].is_null() && refused.json["error"].is_string(), "{}", refused.text);
    assert_eq!(api.post(paths.1, body).status(), 200, "another team has its own");
}

/// HMAC-SHA256 in hex.
fn hmac_of(secret: &str, text: &str) -> String {
    use hmac::{KeyInit as _, Mac as _};
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

fn the_size_of_a_delivery_is_a_limit_of_its_own() {
    let limits = [("ROWMILL_DELIVERY_BYTES_MAX", "5000"), ("ROWMILL_BODY_BYTES_MAX", "10000")];
    let server = Server::start(&limits);
    let api = server.api();
    let told = api.get("/v4/limits").ok()["limits"].clone();
    assert_eq!((&told["deliveryBytesMax"], &told["bodyBytesMax"]), (&json!(5_000), &json!(10_000)));
    let table = following(&api, "evt-large", &json!({}));
    let mut large = guest("evt-large", "gst-1", "approved", None);
    assert_eq!(counts(deliver(&api, &large)), [1, 1, 0]);
    large["data"]["note"] = json!("x".repeat(6_000));
    let refusal = deliver(&api, &large);
    assert_eq!(
        (refusal.status(), &refusal.json["error"]),
        (413, &json!("The body exceeds the limit of 5000 bytes (deliveryBytesMax)"))
    );
    table.post("/rows", json!({ "Input": "x".repeat(6_000) })).created();
    let refusal = table.post("/rows", json!({ "Input": "x".repeat(11_000) })).refused(413, "body_too_large");
    assert_eq!(refusal["error"], "The body exceeds the limit of 10000 bytes (bodyBytesMax)");
}
