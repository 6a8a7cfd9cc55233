//! Finders that answer in one call.

use rowmill_providers::email::Finder;
use serde_json::{Value, json};

use super::{UNVERIFIED, VERIFIED, ada, check, madonna, search};
use crate::server::{Answer, json as answer, text};
use crate::support::CANARY;

const EMAIL: &str = "ada@acme.test";

#[tokio::test]
async fn hunter() {
    let found = |email: Value, status: Value| {
        let verification = json!({"status": status, "date": null});
        answer(200, &json!({"data": {"email": email, "score": 97, "verification": verification}}))
    };
    let errors = |status: u16, id: &str| answer(status, &json!({"errors": [{"id": id, "code": status}]}));
    let asked = search(Finder::Hunter, &ada(), vec![found(json!(EMAIL), json!("valid"))]).await;
    let seen = &asked.seen[0];
    assert_eq!(seen.line(), "GET /v2/email-finder?domain=acme.test&first_name=Ada&last_name=Lovelace");
    assert_eq!(seen.header("x-api-key"), Some(CANARY));
    let one_word = search(Finder::Hunter, &madonna(), vec![found(json!(null), json!(null))]).await;
    assert_eq!(one_word.seen[0].target, "/v2/email-finder?domain=acme.test&full_name=Madonna");
    check(
        Finder::Hunter,
        vec![
            (found(json!(EMAIL), json!("valid")), "hit ada@acme.test verified 97"),
            (found(json!(EMAIL), json!("accept_all")), "hit ada@acme.test unverified 97"),
            (found(json!(EMAIL), json!("webmail")), "hit ada@acme.test unverified 97"),
            (found(json!(EMAIL), json!("unknown")), "hit ada@acme.test unverified 97"),
            (found(json!(EMAIL), json!(null)), "hit ada@acme.test unverified 97"),
            (found(json!(EMAIL), json!("invalid")), "miss"),
            (found(json!(EMAIL), json!("disposable")), "miss"),
            (found(json!(null), json!(null)), "miss"),
            (answer(200, &json!({})), "miss"),
            (answer(200, &json!({"data": {"email": EMAIL}})), UNVERIFIED),
            (errors(400, "wrong_params"), "invalid_input"),
            (errors(401, "authentication_failed"), "invalid_credentials"),
            (errors(403, "too_many_requests"), "rate_limited, again"),
            (errors(403, "too_many_requests").with("retry-after", "1"), "rate_limited, again after 1 s"),
            (errors(429, "too_many_requests"), "out_of_credits"),
            (errors(429, "too_many_requests").with("retry-after", "1"), "out_of_credits"),
            (errors(451, "claimed_email"), "miss"),
        ],
    )
    .await;
    // It is still searching, and is asked the same again.
    let running = || answer(202, &json!({"data": {"email": null}}));
    let script = vec![running(), running().with("retry-after", "2"), found(json!(EMAIL), json!("valid"))];
    let asked = search(Finder::Hunter, &ada(), script).await;
    assert_eq!(asked.outcome, "hit ada@acme.test verified 97");
    assert_eq!(asked.waited_seconds, [5, 2]);
    assert_eq!(asked.seen[2].target, asked.seen[0].target);
    let endless = search(Finder::Hunter, &ada(), (0..40).map(|_| running()).collect()).await;
    assert_eq!((endless.outcome.as_str(), endless.seen.len()), ("timed_out, again", 21));
}

#[tokio::test]
async fn findymail() {
    let found = || answer(200, &json!({"contact": {"name": "Ada", "email": EMAIL, "domain": "acme.test"}}));
    let asked = search(Finder::Findymail, &ada(), vec![found()]).await;
    let seen = &asked.seen[0];
    assert_eq!(seen.line(), "POST /api/search/name");
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert_eq!(seen.json(), json!({"name": "Ada Lovelace", "domain": "acme.test"}));
    let error = |status: u16| answer(status, &json!({"error": "Not enough credits"}));
    check(
        Finder::Findymail,
        vec![
            (found(), VERIFIED),
            (answer(200, &json!({"contact": null})), "miss"),
            (answer(200, &json!({})), "miss"),
            (error(404), "miss"),
            (error(402), "out_of_credits"),
            (error(423), "out_of_credits"),
            (error(400), "invalid_input"),
            (error(422), "invalid_input"),
            (error(401), "invalid_credentials"),
            (error(403), "invalid_credentials"),
            (error(429), "rate_limited, again"),
        ],
    )
    .await;
}

#[tokio::test]
async fn prospeo() {
    let found = |email: Value| answer(200, &json!({"error": false, "person": {"email": email}}));
    let verified = json!({"status": "VERIFIED", "revealed": true, "email": EMAIL});
    let refused = |status: u16, code: &str| answer(status, &json!({"error": true, "error_code": code}));
    let asked = search(Finder::Prospeo, &ada(), vec![found(verified.clone())]).await;
    let seen = &asked.seen[0];
    assert_eq!(seen.line(), "POST /enrich-person");
    assert_eq!(seen.header("x-key"), Some(CANARY));
    assert_eq!(
        seen.json(),
        json!({"only_verified_email": false, "enrich_mobile": false,
            "data": {"first_name": "Ada", "last_name": "Lovelace", "company_website": "acme.test"}})
    );
    check(
        Finder::Prospeo,
        vec![
            (found(verified), VERIFIED),
            (found(json!({"status": "UNVERIFIED", "revealed": true, "email": EMAIL})), UNVERIFIED),
            (found(json!({"status": "VERIFIED", "revealed": false, "email": "a**@acme.test"})), "miss"),
            (found(json!({"status": "VERIFIED", "revealed": false, "email": EMAIL})), "miss"),
            (found(json!({"status": "VERIFIED", "email": "a**@acme.test"})), "miss"),
            (found(json!(null)), "miss"),
            (answer(200, &json!({"error": false, "person": null})), "miss"),
            (refused(400, "NO_MATCH"), "miss"),
            (refused(400, "INSUFFICIENT_CREDITS"), "out_of_credits"),
            (refused(400, "INVALID_API_KEY"), "invalid_credentials"),
            (refused(401, "INVALID_API_KEY"), "invalid_credentials"),
            (refused(400, "ACCOUNT_RESTRICTED"), "invalid_credentials"),
            (refused(400, "INVALID_DATAPOINTS"), "invalid_input"),
            (refused(400, "INVALID_REQUEST"), "invalid_input"),
            (refused(400, "SOMETHING_NEW"), "invalid_input"),
            (refused(200, "SOMETHING_NEW"), "provider_error"),
            (refused(400, "INTERNAL_ERROR"), "provider_error, again"),
            (refused(429, "RATE_LIMITED"), "rate_limited, again"),
            (refused(400, "RATE_LIMIT_EXCEEDED"), "rate_limited, again"),
            (refused(429, "").with("x-minute-reset-seconds", "40"), "rate_limited, again after 40 s"),
        ],
    )
    .await;
}

#[tokio::test]
async fn apollo() {
    let found = |email: Value, status: Value| {
        answer(200, &json!({"person": {"id": "1", "email": email, "email_status": status}}))
    };
    let asked = search(Finder::Apollo, &ada(), vec![found(json!(EMAIL), json!("verified"))]).await;
    let seen = &asked.seen[0];
    assert_eq!(
        seen.line(),
        "POST /api/v1/people/match?first_name=Ada&last_name=Lovelace&domain=acme.test&reveal_personal_emails=false"
    );
    assert_eq!((seen.header("x-api-key"), seen.header("content-length")), (Some(CANARY), Some("0")));
    let one_word = search(Finder::Apollo, &madonna(), vec![answer(200, &json!({}))]).await;
    assert!(one_word.seen[0].target.contains("?name=Madonna&domain="));
    check(
        Finder::Apollo,
        vec![
            (found(json!(EMAIL), json!("verified")), VERIFIED),
            (found(json!(EMAIL), json!("guessed")), UNVERIFIED),
            (found(json!(EMAIL), json!(null)), UNVERIFIED),
            (found(json!(EMAIL), json!("bounced")), "miss"),
            (found(json!("email_not_unlocked@domain.com"), json!("verified")), "miss"),
            (found(json!(null), json!(null)), "miss"),
            (answer(200, &json!({"person": null, "status": "no records have been enriched"})), "miss"),
            (text(401, "text/plain", "Invalid access credentials."), "invalid_credentials"),
            (answer(403, &json!({"error_code": "API_INACCESSIBLE"})), "invalid_credentials"),
            (answer(422, &json!({"error": "bad parameter"})), "invalid_input"),
            (answer(422, &json!({"error": "You have insufficient credits."})), "out_of_credits"),
            (
                answer(429, &json!({"message": "x"})).with("retry-after", "24"),
                "rate_limited, again after 24 s",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn leadmagic() {
    let found = |email: Value, status: Value| {
        answer(200, &json!({"status": status, "email": email, "credits_consumed": 1}))
    };
    let asked = search(Finder::Leadmagic, &ada(), vec![found(json!(EMAIL), json!("valid"))]).await;
    let seen = &asked.seen[0];
    assert_eq!(seen.line(), "POST /v1/people/email-finder");
    assert_eq!(seen.header("x-api-key"), Some(CANARY));
    assert_eq!(seen.json(), json!({"first_name": "Ada", "last_name": "Lovelace", "domain": "acme.test"}));
    assert_eq!(asked.credits, Some(1.0));
    for told in [json!(-1), json!("many"), json!(1e99), json!(null)] {
        let odd = answer(200, &json!({"status": "valid", "email": EMAIL, "credits_consumed": told}));
        let odd = search(Finder::Leadmagic, &ada(), vec![odd]).await;
        assert_eq!((odd.outcome.as_str(), odd.credits), (VERIFIED, None), "{told}");
    }
    let one_word = search(Finder::Leadmagic, &madonna(), vec![]).await;
    assert_eq!((one_word.outcome.as_str(), one_word.seen.len()), ("ineligible", 0));
    let error = |status: u16, kind: &str| -> Answer {
        let error = json!({"type": kind, "title": "Said", "status": status, "code": kind});
        answer(status, &json!({"success": false, "errors": [error], "meta": {}}))
    };
    let as_success =
        |errors: Value| answer(200, &json!({"success": false, "errors": errors, "email": EMAIL}));
    check(
        Finder::Leadmagic,
        vec![
            (found(json!(EMAIL), json!("valid")), VERIFIED),
            (found(json!(EMAIL), json!("valid_catch_all")), UNVERIFIED),
            (found(json!(null), json!("not_found")), "miss"),
            (found(json!(null), json!(null)), "miss"),
            (error(400, "validation_error"), "invalid_input"),
            (error(401, "authentication_error"), "invalid_credentials"),
            (error(402, "insufficient_credits"), "out_of_credits"),
            (error(429, "rate_limit_error").with("retry-after", "3"), "rate_limited, again after 3 s"),
            (as_success(json!([{"status": 400, "code": "validation_error"}])), "invalid_input"),
            (as_success(json!([{"status": 401, "code": "authentication_error"}])), "invalid_credentials"),
            (as_success(json!([{"status": 402, "code": "insufficient_credits"}])), "out_of_credits"),
            (as_success(json!([{"code": "insufficient_credits"}])), "out_of_credits"),
            (as_success(json!([{"status": 500, "code": "internal_error"}])), "provider_error, again"),
            (as_success(json!([])), "provider_error"),
        ],
    )
    .await;
}

#[tokio::test]
async fn anymailfinder() {
    let found = |status: &str, email: Value| {
        answer(
            200,
            &json!({"email_status": status, "email": email, "valid_email": email, "credits_charged": 1}),
        )
    };
    let asked = search(Finder::Anymailfinder, &ada(), vec![found("valid", json!(EMAIL))]).await;
    let seen = &asked.seen[0];
    assert_eq!(seen.line(), "POST /v5.1/find-email/person");
    // Raw, without `Bearer`.
    assert_eq!(seen.header("authorization"), Some(CANARY));
    assert_eq!(seen.json(), json!({"first_name": "Ada", "last_name": "Lovelace", "domain": "acme.test"}));
    let one_word = search(Finder::Anymailfinder, &madonna(), vec![found("not_found", json!(null))]).await;
    assert_eq!(one_word.seen[0].json(), json!({"full_name": "Madonna", "domain": "acme.test"}));
    assert_eq!((asked.credits, one_word.credits), (Some(1.0), Some(1.0)), "also for nothing, if it says so");
    let error = |status: u16| answer(status, &json!({"error": "x", "message": "Said"}));
    check(
        Finder::Anymailfinder,
        vec![
            (found("valid", json!(EMAIL)), VERIFIED),
            (found("risky", json!(EMAIL)), UNVERIFIED),
            (found("not_found", json!(null)), "miss"),
            (found("blacklisted", json!(EMAIL)), "miss"),
            (answer(200, &json!({})), "miss"),
            (error(400), "invalid_input"),
            (error(401), "invalid_credentials"),
            (error(402), "out_of_credits"),
            (error(429), "rate_limited, again"),
            (answer(200, &json!({"error": "insufficient_credits"})), "out_of_credits"),
            (answer(200, &json!({"error": "unauthorized"})), "invalid_credentials"),
            (answer(200, &json!({"error": "too_many_requests"})), "rate_limited, again"),
            (answer(200, &json!({"error": {"message": "Broken"}})), "provider_error"),
            (answer(200, &json!({"error": null, "email_status": "valid", "email": EMAIL})), VERIFIED),
        ],
    )
    .await;
}
