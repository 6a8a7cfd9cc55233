//! The e-mail verifiers: what each is asked, and what each of its documented answers means.

use std::sync::Arc;
use std::time::Duration;

use rowmill_model::Amount;
use rowmill_providers::email::MailSettings;
use rowmill_providers::verify::{Address, Verification, Verifier, Verifiers};
use rowmill_providers::{Access, Failure, NetworkPolicy, Secret};
use serde_json::{Value, json};

use crate::email::breakdowns;
use crate::email::pattern::name_server;
use crate::server::{Answer, Seen, Server, json as answer, text};
use crate::support::{CANARY, FakeClock, assert_clean, client, client_at, trusted};

struct Asked {
    outcome: String,
    checks: Value,
    credits: Option<f64>,
    seen: Vec<Seen>,
    waited_seconds: Vec<u64>,
}

fn ada() -> Address {
    Address::parse("ada@acme.test").unwrap()
}

async fn verify(verifier: Verifier, script: Vec<Answer>) -> Asked {
    let server = Server::start(script).await;
    let clock = Arc::new(FakeClock::default());
    let verifiers = Verifiers::new(client_at("", Arc::clone(&clock)));
    let access = trusted(&server.base);
    let found = verifiers.verify(verifier, &access, &ada(), &(), Duration::from_secs(30)).await;
    assert_clean(&found);
    assert_clean(&verifiers);
    let checks = found.as_ref().map(|found| serde_json::to_value(&found.checks).unwrap());
    let credits = found.as_ref().ok().and_then(|found| found.spent.credits);
    Asked {
        checks: checks.unwrap_or_default(),
        credits: credits.map(Amount::number),
        outcome: told(found),
        seen: server.seen(),
        waited_seconds: clock.waited().iter().map(Duration::as_secs).collect(),
    }
}

/// A result in words: `valid deliverable`, `rate_limited, again after 7 s`.
fn told(found: Result<Verification, Failure>) -> String {
    match found {
        Ok(found) => format!("{} {}", found.verdict.word(), found.reason),
        Err(failure) => {
            let again = if failure.is_transient { ", again" } else { "" };
            let after = failure.retry_after.map(|wait| format!(" after {} s", wait.as_secs()));
            format!("{}{again}{}", failure.kind.code().word(), after.unwrap_or_default())
        }
    }
}

async fn check(verifier: Verifier, cases: Vec<(Answer, &str)>) {
    for (place, (answer, expected)) in cases.into_iter().enumerate() {
        let asked = verify(verifier, vec![answer]).await;
        assert_eq!(asked.outcome, expected, "{verifier:?}, case {place}");
        assert_eq!(asked.seen.len(), 1, "{verifier:?}, case {place}");
    }
}

fn ok(body: &Value) -> Answer {
    answer(200, body)
}

#[tokio::test]
async fn hunter() {
    let told = |status: &str| {
        ok(&json!({"data": {"status": status, "score": 90, "regexp": true,
        "disposable": false, "webmail": false, "mx_records": true, "smtp_check": true, "accept_all": false}}))
    };
    let asked = verify(Verifier::Hunter, vec![told("valid")]).await;
    assert_eq!(asked.seen[0].line(), "GET /v2/email-verifier?email=ada%40acme.test");
    assert_eq!(asked.seen[0].header("x-api-key"), Some(CANARY));
    assert_eq!(
        asked.checks,
        json!({"syntax": true, "mx": true, "disposable": false, "free": false, "catchAll": false, "mailbox": true})
    );
    let errors = |status: u16| answer(status, &json!({"errors": [{"id": "said", "code": status}]}));
    check(
        Verifier::Hunter,
        vec![
            (told("valid"), "valid deliverable"),
            (told("invalid"), "invalid undeliverable"),
            (told("accept_all"), "risky catch_all"),
            (told("webmail"), "unknown webmail"),
            (told("disposable"), "risky disposable"),
            (told("unknown"), "unknown not_told"),
            (told("surprise"), "unknown not_told"),
            (ok(&json!({})), "unknown not_told"),
            (answer(222, &json!({"errors": []})), "unknown not_told"),
            (errors(400), "invalid_input"),
            (errors(403).with("retry-after", "1"), "rate_limited, again after 1 s"),
            (errors(429), "out_of_credits"),
            (errors(451), "unknown not_told"),
        ],
    )
    .await;
    let running = || answer(202, &json!({"data": {}}));
    let script = vec![running(), running().with("retry-after", "2"), told("valid")];
    let asked = verify(Verifier::Hunter, script).await;
    assert_eq!((asked.outcome.as_str(), &asked.waited_seconds[..]), ("valid deliverable", &[5, 2][..]));
    let endless = verify(Verifier::Hunter, (0..40).map(|_| running()).collect()).await;
    assert_eq!((endless.outcome.as_str(), endless.seen.len()), ("timed_out, again", 7));
}

#[tokio::test]
async fn findymail() {
    let asked = verify(Verifier::Findymail, vec![ok(&json!({"verified": true}))]).await;
    assert_eq!(asked.seen[0].line(), "POST /api/verify");
    assert_eq!(asked.seen[0].header("authorization"), Some(&*format!("Bearer {CANARY}")));
    assert_eq!(asked.seen[0].json(), json!({"email": "ada@acme.test"}));
    check(
        Verifier::Findymail,
        vec![
            (ok(&json!({"verified": true})), "valid deliverable"),
            (ok(&json!({"verified": false})), "risky not_verified"),
            (ok(&json!({"verified": null})), "unknown not_told"),
            (answer(402, &json!({"error": "Not enough credits"})), "out_of_credits"),
            (answer(423, &json!({"error": "Paused"})), "out_of_credits"),
            (answer(429, &json!({})), "rate_limited, again"),
        ],
    )
    .await;
}

#[tokio::test]
async fn leadmagic() {
    let told = |status: &str| {
        ok(&json!({"email": "ada@acme.test", "email_status": status, "credits_consumed": 0.25,
        "is_domain_catch_all": true, "mx_record": "mx.acme.test"}))
    };
    let asked = verify(Verifier::Leadmagic, vec![told("valid")]).await;
    assert_eq!(asked.seen[0].line(), "POST /v1/people/email-validation");
    assert_eq!(asked.seen[0].header("x-api-key"), Some(CANARY));
    assert_eq!(asked.seen[0].json(), json!({"email": "ada@acme.test"}));
    assert_eq!((asked.credits, asked.checks), (Some(0.25), json!({"mx": true, "catchAll": true})));
    let refused = json!({"success": false, "errors": [{"status": 402, "code": "insufficient_credits"}]});
    check(
        Verifier::Leadmagic,
        vec![
            (told("valid"), "valid deliverable"),
            (told("valid_catch_all"), "risky catch_all"),
            (told("catch_all"), "risky catch_all"),
            (told("invalid"), "invalid undeliverable"),
            (told("unknown"), "unknown not_told"),
            (ok(&refused), "out_of_credits"),
            (answer(402, &refused), "out_of_credits"),
        ],
    )
    .await;
}

#[tokio::test]
async fn zerobounce() {
    let told = |status: &str, finer: &str| {
        ok(&json!({"address": "ada@acme.test", "status": status,
        "sub_status": finer, "free_email": true, "mx_found": "true"}))
    };
    let asked = verify(Verifier::Zerobounce, vec![told("do_not_mail", "role_based")]).await;
    let target = "GET /v2/validate?api_key=canary%2F7f3a%22key&email=ada%40acme.test&ip_address=";
    assert_eq!(asked.seen[0].line(), target);
    assert_eq!(asked.checks, json!({"mx": true, "role": true, "free": true, "detail": "role_based"}));
    check(
        Verifier::Zerobounce,
        vec![
            (told("valid", ""), "valid deliverable"),
            (told("invalid", "mailbox_not_found"), "invalid undeliverable"),
            (told("catch-all", ""), "risky catch_all"),
            (told("spamtrap", ""), "risky spam_trap"),
            (told("abuse", ""), "risky complainer"),
            (told("do_not_mail", "disposable"), "risky do_not_mail"),
            (told("unknown", "greylisted"), "unknown not_told"),
            (ok(&json!({"error": "Invalid API key or your account ran out of credits"})), "out_of_credits"),
            (ok(&json!({"error": "Invalid API key"})), "invalid_credentials"),
            (answer(400, &json!({})), "invalid_input"),
            // The API Shield, which passes.
            (answer(403, &json!({})), "rate_limited, again"),
            (answer(429, &json!({})), "rate_limited, again"),
            (text(524, "text/html", "<h1>"), "provider_error, again"),
        ],
    )
    .await;
}

#[tokio::test]
async fn neverbounce() {
    let told = |result: &str| {
        ok(&json!({"status": "success", "result": result, "flags": ["has_dns", "role_account"],
        "credits_info": {"paid_credits_used": 1, "free_credits_used": 0}}))
    };
    let asked = verify(Verifier::Neverbounce, vec![told("valid")]).await;
    let target = "GET /v4.2/single/check?key=canary%2F7f3a%22key&email=ada%40acme.test&credits_info=1";
    assert_eq!(asked.seen[0].line(), target);
    assert_eq!(
        (asked.credits, asked.checks),
        (Some(1.0), json!({"domain": true, "mx": false, "role": true}))
    );
    let refused = |status: &str, message: &str| ok(&json!({"status": status, "message": message}));
    check(
        Verifier::Neverbounce,
        vec![
            (told("valid"), "valid deliverable"),
            (told("invalid"), "invalid undeliverable"),
            (told("disposable"), "risky disposable"),
            (told("catchall"), "risky catch_all"),
            (told("unknown"), "unknown not_told"),
            (refused("auth_failure", "No key canary/7f3a"), "invalid_credentials"),
            (refused("bad_referrer", ""), "invalid_credentials"),
            (refused("throttle_triggered", "Slow down"), "rate_limited, again"),
            (refused("temp_unavail", "Soon"), "provider_error, again"),
            (refused("general_failure", "Missing required parameter"), "invalid_input"),
            (refused("general_failure", "Insufficient credits"), "out_of_credits"),
            (ok(&json!({"result": "valid"})), "invalid_output"),
        ],
    )
    .await;
}

#[tokio::test]
async fn millionverifier() {
    let told = |result: &str| {
        ok(&json!({"result": result, "free": true, "role": false, "credits": 99, "error": ""}))
    };
    let asked = verify(Verifier::Millionverifier, vec![told("ok")]).await;
    let target = "GET /api/v3/?api=canary%2F7f3a%22key&email=ada%40acme.test&timeout=30";
    assert_eq!(asked.seen[0].line(), target);
    // What is left is not what it took.
    assert_eq!((asked.credits, asked.checks), (None, json!({"role": false, "free": true})));
    check(
        Verifier::Millionverifier,
        vec![
            (told("ok"), "valid deliverable"),
            (told("catch_all"), "risky catch_all"),
            (told("unknown"), "unknown not_told"),
            (told("error"), "unknown not_told"),
            (told("disposable"), "risky disposable"),
            (told("invalid"), "invalid undeliverable"),
            (ok(&json!({"result": "error", "error": "apikey not found"})), "invalid_credentials"),
            (ok(&json!({"result": "error", "error": "Insufficient credits"})), "out_of_credits"),
        ],
    )
    .await;
}

#[tokio::test]
async fn breakdowns_mean_the_same_everywhere() {
    for verifier in Verifier::ALL {
        check(verifier, breakdowns()).await;
        let unauthorized = answer(401, &json!({"message": "Bad key canary/7f3a"}));
        check(verifier, vec![(unauthorized, "invalid_credentials")]).await;
    }
}

#[tokio::test]
async fn nobody_is_asked_without_a_key_or_inside() {
    let server = Server::start(vec![]).await;
    let verifiers = Verifiers::new(client(""));
    for verifier in Verifier::ALL {
        let access = Access { api_key: Some(Secret::new(" ")), ..trusted(&server.base) };
        let found = verifiers.verify(verifier, &access, &ada(), &(), Duration::ZERO).await;
        assert_eq!(told(found), "missing_credentials", "{verifier:?}");
        let access = Access { network_policy: NetworkPolicy::Guarded, ..trusted(&server.base) };
        let found = verifiers.verify(verifier, &access, &ada(), &(), Duration::ZERO).await;
        assert_eq!(told(found), "blocked", "{verifier:?}");
    }
    assert!(server.seen().is_empty());
}

/// Against a name server of our own.
#[tokio::test]
async fn the_domain_check_needs_no_key() {
    let settings = MailSettings { name_servers: vec![name_server().await], ..MailSettings::default() };
    let verifiers = Verifiers::with_mail(client(""), &settings);
    for (email, expected, checks) in [
        ("ada@acme.test", "unknown mailbox_not_checked", json!({"domain": true, "mx": true, "role": false})),
        ("info@acme.test", "unknown mailbox_not_checked", json!({"domain": true, "mx": true, "role": true})),
        // A domain without mail servers takes mail itself (RFC 5321).
        (
            "ada@implicit.test",
            "unknown mailbox_not_checked",
            json!({"domain": true, "mx": false, "role": false}),
        ),
        ("ada@nullmx.test", "invalid no_mail_server", json!({"domain": true, "mx": false, "role": false})),
        ("ada@nothing.test", "invalid no_mail_server", json!({"domain": true, "mx": false, "role": false})),
        ("ada@nope.test", "invalid no_domain", json!({"domain": false, "mx": false, "role": false})),
        ("ada@x.mailinator.com", "risky disposable", json!({"role": false})),
    ] {
        let found = verifiers.check_domain(&Address::parse(email).unwrap(), &()).await;
        let is_disposable = email.ends_with("mailinator.com");
        let mut expected_checks = checks;
        expected_checks["syntax"] = true.into();
        expected_checks["disposable"] = is_disposable.into();
        let found_checks = serde_json::to_value(&found.as_ref().unwrap().checks).unwrap();
        assert_eq!((told(found), found_checks), (expected.to_owned(), expected_checks), "{email}");
    }
    let broken = verifiers.check_domain(&Address::parse("ada@broken.test").unwrap(), &()).await;
    assert_eq!(told(broken), "provider_error, again");
}
