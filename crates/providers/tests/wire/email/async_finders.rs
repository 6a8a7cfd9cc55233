//! Finders whose searches are begun and asked for later.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rowmill_providers::email::{Finder, Finders, Gate};
use serde_json::{Value, json};

use super::{UNVERIFIED, VERIFIED, access, ada, madonna, search, told};
use crate::server::{Answer, Server, json as answer, text};
use crate::support::{CANARY, client_at};

const EMAIL: &str = "ada@acme.test";

/// Whole scripts and their outcomes; every answer must have been asked for.
async fn check(finder: Finder, cases: Vec<(Vec<Answer>, &str)>) {
    for (place, (script, expected)) in cases.into_iter().enumerate() {
        let calls = script.len();
        let search = search(finder, &ada(), script).await;
        assert_eq!(search.outcome, expected, "{finder:?}, case {place}");
        assert_eq!(search.seen.len(), calls, "{finder:?}, case {place}");
    }
}

#[tokio::test]
async fn dropcontact() {
    let begun =
        || answer(200, &json!({"error": false, "success": true, "request_id": "r/1", "credits_left": 9}));
    let waiting = |seconds: u8| {
        let reason = format!("Request not ready yet, try again in {seconds} seconds");
        answer(200, &json!({"error": false, "success": false, "reason": reason}))
    };
    let ready = |emails: Value| answer(200, &json!({"success": true, "data": [{"email": emails}]}));
    let own = json!([{"email": "info@acme.test", "qualification": "generic@pro"},
        {"email": EMAIL, "qualification": "nominative@pro"}]);
    let script = vec![begun(), waiting(20), waiting(5), ready(own.clone())];
    let asked = search(Finder::Dropcontact, &ada(), script).await;
    assert_eq!(asked.waited_seconds, [30, 20, 5]);
    assert_eq!(asked.seen[0].line(), "POST /v1/enrich/all");
    let contact = json!({"first_name": "Ada", "last_name": "Lovelace", "website": "acme.test"});
    assert_eq!(asked.seen[0].json(), json!({"data": [contact], "siren": false, "language": "en"}));
    assert_eq!(asked.seen[3].line(), "GET /v1/enrich/all/r%2F1");
    for seen in &asked.seen {
        assert_eq!(seen.header("x-access-token"), Some(CANARY));
    }
    let of = |qualification: &str| ready(json!([{"email": EMAIL, "qualification": qualification}]));
    let error = |status: u16| answer(status, &json!({"error": true, "reason": "Said"}));
    let bad_row = json!({"success": true, "data": [{"errors": {"only_contact_data": "x"}}]});
    check(
        Finder::Dropcontact,
        vec![
            (vec![begun(), ready(own)], VERIFIED),
            (vec![begun(), of("nominative@pro")], VERIFIED),
            (vec![begun(), of("catch_all@pro")], UNVERIFIED),
            (vec![begun(), of("generic@pro")], "miss"),
            (vec![begun(), ready(json!([]))], "miss"),
            (vec![begun(), ready(json!(null))], "miss"),
            (vec![begun(), answer(200, &bad_row)], "invalid_input"),
            (vec![begun(), waiting(60), waiting(60)], "timed_out, again"),
            (vec![begun(), answer(200, &json!({"success": false, "reason": "Said"}))], "provider_error"),
            (vec![begun(), error(500), of("nominative@pro")], VERIFIED),
            (vec![begun(), error(429).with("retry-after", "3"), of("nominative@pro")], VERIFIED),
            (vec![begun(), error(403)], "out_of_credits"),
            (vec![error(200)], "provider_error"),
            (vec![answer(200, &json!({"success": true}))], "invalid_output"),
            (vec![error(403)], "out_of_credits"),
            (vec![error(400)], "invalid_input"),
            (vec![error(429)], "rate_limited, again"),
        ],
    )
    .await;
}

fn token() -> Answer {
    answer(200, &json!({"access_token": "canary-token", "token_type": "Bearer", "expires_in": 3600}))
}

fn snov_done(results: &Value) -> Answer {
    answer(200, &json!({"status": "completed", "data": [{"people": "Ada", "result": results}]}))
}

#[tokio::test]
async fn snov() {
    let begun = || answer(200, &json!({"data": {"task_hash": "h&1"}, "meta": {}}));
    let waiting = || answer(200, &json!({"status": "in_progress", "data": []}));
    let of = |status: &str| json!({"email": EMAIL, "smtp_status": status, "unknown_status_reason": ""});
    let script = vec![token(), begun(), waiting(), snov_done(&json!([of("valid")]))];
    let asked = search(Finder::Snov, &ada(), script).await;
    let lines: Vec<String> = asked.seen.iter().map(crate::server::Seen::line).collect();
    assert_eq!(
        lines,
        [
            "POST /v1/oauth/access_token",
            "POST /v2/emails-by-domain-by-name/start",
            "GET /v2/emails-by-domain-by-name/result?task_hash=h%261",
            "GET /v2/emails-by-domain-by-name/result?task_hash=h%261",
        ]
    );
    assert_eq!(
        asked.seen[0].body,
        "grant_type=client_credentials&client_id=canary-id&client_secret=canary-secret"
    );
    let row = json!({"first_name": "Ada", "last_name": "Lovelace", "domain": "acme.test"});
    assert_eq!(asked.seen[1].json(), json!({"rows": [row]}));
    assert_eq!(asked.seen[3].header("authorization"), Some("Bearer canary-token"));
    let one_word = search(Finder::Snov, &madonna(), vec![]).await;
    assert_eq!((one_word.outcome.as_str(), one_word.seen.len()), ("ineligible", 0));
    let error = |status: u16| answer(status, &json!({"errors": {"code": status, "title": "canary-secret?"}}));
    let errors = |status: u16| answer(status, &json!({"errors": [{"code": status, "title": "canary-id?"}]}));
    let spent = || answer(200, &json!({"status": "not_enough_credits"}));
    check(
        Finder::Snov,
        vec![
            (vec![token(), begun(), snov_done(&json!([of("valid")]))], VERIFIED),
            (vec![token(), begun(), snov_done(&json!([of("unknown")]))], UNVERIFIED),
            (vec![token(), begun(), snov_done(&json!([of("not_valid")]))], "miss"),
            (vec![token(), begun(), snov_done(&json!([of("not_valid"), of("valid")]))], VERIFIED),
            (vec![token(), begun(), snov_done(&json!([]))], "miss"),
            (vec![token(), begun(), spent()], "out_of_credits"),
            (vec![token(), spent()], "out_of_credits"),
            (vec![token(), begun(), error(500), snov_done(&json!([]))], "miss"),
            (vec![token(), begun(), error(404)], "provider_error"),
            (vec![token(), begun(), answer(200, &json!({}))], "provider_error"),
            (vec![token(), errors(422)], "invalid_input"),
            (vec![token(), error(401)], "invalid_credentials"),
            (vec![token(), error(429)], "rate_limited, again"),
            (vec![token(), answer(200, &json!({}))], "invalid_output"),
            (vec![error(400)], "invalid_credentials"),
            (vec![answer(200, &json!({}))], "invalid_output"),
        ],
    )
    .await;
}

#[tokio::test]
async fn snovs_token_is_kept_and_replaced_once() {
    let begun = || answer(200, &json!({"data": {"task_hash": "h"}}));
    let none = || snov_done(&json!([]));
    let expired = || answer(401, &json!({"errors": {"code": 401, "title": "expired"}}));
    let script = vec![
        token(),
        begun(),
        none(), // the first search mints
        begun(),
        none(), // the second does not
        expired(),
        token(),
        begun(),
        none(), // the third must again
        expired(),
        token(),
        expired(), // the fourth in vain
    ];
    let calls = script.len();
    let server = Server::start(script).await;
    let finders = Finders::new(client_at("", Arc::default()));
    let access = access(Finder::Snov, &server);
    for expected in ["miss", "miss", "miss", "invalid_credentials"] {
        let found = finders.find(Finder::Snov, &access, &ada(), &(), Duration::from_secs(100)).await;
        assert_eq!(told(found), expected);
    }
    assert_eq!(server.seen().len(), calls);
}

#[tokio::test]
async fn icypeas() {
    let begun = || answer(200, &json!({"success": true, "item": {"status": "NONE", "_id": "i1"}}));
    let item = |status: &str, emails: Value| {
        answer(200, &json!({"success": true, "items": [{"status": status, "results": {"emails": emails}}]}))
    };
    let sure = |certainty: &str| json!([{"email": EMAIL, "certainty": certainty, "mxProvider": "google"}]);
    let script = vec![
        begun(),
        item("SCHEDULED", json!([])),
        item("IN_PROGRESS", json!([])),
        item("DEBITED", sure("ultra_sure")),
    ];
    let asked = search(Finder::Icypeas, &ada(), script).await;
    assert_eq!(
        (asked.outcome.as_str(), asked.waited_seconds.as_slice()),
        ("hit ada@acme.test verified 99", &[2, 2, 2][..])
    );
    assert_eq!(asked.seen[0].line(), "POST /api/email-search");
    assert_eq!(
        asked.seen[0].json(),
        json!({"firstname": "Ada", "lastname": "Lovelace", "domainOrCompany": "acme.test"})
    );
    assert_eq!(asked.seen[1].line(), "POST /api/bulk-single-searchs/read");
    assert_eq!(asked.seen[1].json(), json!({"id": "i1"}));
    for seen in &asked.seen {
        assert_eq!(seen.header("authorization"), Some(CANARY));
    }
    let error = |status: u16| answer(status, &json!({"error": "Said"}));
    let both = json!([{"email": "a@acme.test", "certainty": "probable"}, sure("ultra_sure")[0]]);
    let begun_as =
        |status: &str| answer(200, &json!({"success": true, "item": {"status": status, "_id": "i1"}}));
    check(
        Finder::Icypeas,
        vec![
            (vec![begun(), item("FOUND", sure("very_sure"))], "hit ada@acme.test verified 99"),
            (vec![begun(), item("FOUND", sure("sure"))], "hit ada@acme.test verified 97"),
            (vec![begun(), item("FOUND", sure("brand_new"))], UNVERIFIED),
            (vec![begun(), item("FOUND", both)], "hit ada@acme.test verified 99"),
            (vec![begun(), item("FOUND", sure("not_found"))], "miss"),
            (vec![begun(), item("FOUND", sure("probable"))], "hit ada@acme.test unverified 95"),
            (vec![begun(), item("DEBITED", json!([]))], "miss"),
            (vec![begun(), item("NOT_FOUND", json!([]))], "miss"),
            (vec![begun(), item("DEBITED_NOT_FOUND", json!([]))], "miss"),
            (vec![begun(), item("INSUFFICIENT_FUNDS", json!([]))], "out_of_credits"),
            (vec![begun(), item("BAD_INPUT", json!([]))], "invalid_input"),
            (vec![begun(), item("ABORTED", json!([]))], "provider_error"),
            (vec![begun(), error(429), item("NOT_FOUND", json!([]))], "miss"),
            (vec![begun(), Answer::Reset, item("NOT_FOUND", json!([]))], "miss"),
            (vec![begun_as("INSUFFICIENT_FUNDS")], "out_of_credits"),
            (vec![begun_as("BAD_INPUT")], "invalid_input"),
            (vec![answer(200, &json!({"success": false, "validationErrors": [{"x": 1}]}))], "invalid_input"),
            (vec![answer(200, &json!({"success": false}))], "provider_error"),
            (vec![error(429)], "rate_limited, again"),
        ],
    )
    .await;
}

#[tokio::test]
async fn wiza() {
    let reveal = |fields: Value| {
        let mut data = json!({"id": 71, "is_complete": false, "status": "queued"});
        data.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        answer(
            200,
            &json!({"status": {"code": 200, "message": "ok"}, "type": "individual_reveal", "data": data}),
        )
    };
    let begun = || reveal(json!({}));
    let done = |email: Value, status: Value| {
        reveal(json!({"is_complete": true, "status": "finished", "email": email, "email_status": status}))
    };
    let failed = |error: &str| reveal(json!({"is_complete": true, "status": "failed", "fail_error": error}));
    let script = vec![begun(), reveal(json!({"status": "resolving"})), done(json!(EMAIL), json!("valid"))];
    let asked = search(Finder::Wiza, &ada(), script).await;
    assert_eq!((asked.outcome.as_str(), asked.waited_seconds.as_slice()), (VERIFIED, &[5, 5][..]));
    assert_eq!(asked.seen[0].line(), "POST /api/individual_reveals");
    assert_eq!(asked.seen[0].header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert_eq!(
        asked.seen[0].json(),
        json!({"individual_reveal": {"full_name": "Ada Lovelace", "domain": "acme.test"},
            "enrichment_level": "partial", "email_options": {"accept_work": true, "accept_personal": false}})
    );
    assert_eq!(asked.seen[2].line(), "GET /api/individual_reveals/71");
    let error = |status: u16| answer(status, &json!({"status": {"code": status, "message": "Said"}}));
    let listed = reveal(json!({"status": "finished", "emails": [{"email": EMAIL, "email_status": "valid"}]}));
    let several = |statuses: [&str; 2]| {
        let [first, second] = statuses;
        reveal(json!({"status": "finished", "email": null, "emails": [
            {"email": "other@acme.test", "email_status": first}, {"email": EMAIL, "email_status": second}]}))
    };
    check(
        Finder::Wiza,
        vec![
            (vec![begun(), several(["invalid", "valid"])], VERIFIED),
            (vec![begun(), several(["catch_all", "valid"])], VERIFIED),
            (vec![begun(), several(["invalid", "catch_all"])], UNVERIFIED),
            (vec![begun(), several(["catch_all", "unknown"])], "hit other@acme.test unverified"),
            (vec![begun(), several(["invalid", "invalid"])], "miss"),
            (vec![done(json!(EMAIL), json!("valid"))], VERIFIED),
            (vec![begun(), done(json!(EMAIL), json!("catch_all"))], UNVERIFIED),
            (vec![begun(), done(json!(EMAIL), json!("invalid"))], "miss"),
            (vec![begun(), done(json!(null), json!("unfound"))], "miss"),
            (vec![begun(), listed], VERIFIED),
            (vec![begun(), failed("billing_issue")], "out_of_credits"),
            (vec![failed("billing_issue")], "out_of_credits"),
            (vec![begun(), failed("no_profile")], "provider_error"),
            (vec![begun(), error(429), done(json!(null), json!(null))], "miss"),
            (vec![error(429)], "rate_limited, again"),
            (vec![error(400)], "invalid_input"),
            (vec![answer(200, &json!({}))], "invalid_output"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_search_that_never_ends_is_given_up() {
    let begun = answer(200, &json!({"success": true, "item": {"status": "NONE", "_id": "i1"}}));
    let waiting = answer(200, &json!({"items": [{"status": "IN_PROGRESS"}]}));
    let mut script = vec![begun.clone()];
    script.extend(vec![waiting; 60]);
    let asked = search(Finder::Icypeas, &ada(), script).await;
    assert_eq!((asked.outcome.as_str(), asked.waited_seconds.len()), ("timed_out, again", 50));
    // A wait of nothing is counted as a second: 100 s are one wait of 2 s and 98 of 1 s.
    let at_once = text(503, "text/plain", "x").with("retry-after", "0");
    let mut script = vec![begun.clone()];
    script.extend(vec![at_once; 101]);
    let asked = search(Finder::Icypeas, &ada(), script).await;
    assert_eq!((asked.outcome.as_str(), asked.seen.len()), ("provider_error, again after 0 s", 100));
    // A server that breaks for good is told as such; one that asks to wait too long is not waited for.
    let mut script = vec![begun.clone()];
    script.extend(vec![text(500, "text/plain", "x"); 60]);
    assert_eq!(search(Finder::Icypeas, &ada(), script).await.outcome, "provider_error, again");
    let later = text(429, "text/plain", "x").with("retry-after", "3600");
    let asked = search(Finder::Icypeas, &ada(), vec![begun, later]).await;
    assert_eq!((asked.outcome.as_str(), asked.seen.len()), ("rate_limited, again after 3600 s", 2));
}

#[tokio::test]
async fn every_call_passes_the_gate() {
    struct Counter(AtomicUsize);
    #[async_trait]
    impl Gate for Counter {
        async fn acquire(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let begun = answer(200, &json!({"success": true, "item": {"status": "NONE", "_id": "i1"}}));
    let missed = answer(200, &json!({"items": [{"status": "NOT_FOUND"}]}));
    let server = Server::start(vec![begun, missed]).await;
    let gate = Counter(AtomicUsize::new(0));
    let finders = Finders::new(client_at("", Arc::default()));
    let access = access(Finder::Icypeas, &server);
    finders.find(Finder::Icypeas, &access, &ada(), &gate, Duration::from_secs(100)).await.unwrap();
    assert_eq!((gate.0.load(Ordering::Relaxed), server.seen().len()), (2, 2));
}
