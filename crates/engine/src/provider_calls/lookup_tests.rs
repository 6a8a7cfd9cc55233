//! Whole cells of columns that verify addresses, or look up companies and people.

use rowmill_model::ColumnType;
use rowmill_model::ErrorCode;
use rowmill_model::cell::Meta;
use rowmill_model::column::TaskConfig;
use serde_json::{Value as Json, json};

use super::tests::{Server, cell_of, code, provider_calls, value};
use crate::cell_runner::{CallOutcome, Cell, CellRunner as _};

fn task(kind: &str, inputs: &Json, providers: &[&str], trigger: &Json) -> Cell {
    let entry = |(order, name): (usize, &&str)| json!({"id": *name, "taskType": *name, "order": order, "enabled": true});
    let entries: Vec<Json> = providers.iter().enumerate().map(entry).collect();
    let mut config = json!({"taskType": kind});
    config[kind] = json!({"providers": entries, "inputMapping": inputs});
    let config: TaskConfig = serde_json::from_value(config).unwrap();
    cell_of(&[(0, &trigger.to_string())]).with(|column| {
        column.kind = ColumnType::Task;
        column.task_config = Some(config);
    })
}

fn verifies(email: &str, providers: &[&str]) -> Cell {
    task("verifyEmail", &json!({"email": "@{_trigger.email}"}), providers, &json!({"email": email}))
}

fn verdict(outcome: CallOutcome) -> (Json, Meta) {
    let (raw, meta) = value(outcome);
    (serde_json::from_str(&raw).unwrap(), meta)
}

fn zerobounce(status: &str) -> (u16, &'static str, Json) {
    (200, "", json!({"status": status, "sub_status": "", "mx_found": "true"}))
}

fn outcomes(meta: &Meta) -> Vec<&str> {
    meta["tried"].as_array().unwrap().iter().map(|entry| entry["outcome"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_next_verifier_is_asked_if_one_cannot_tell() {
    let first = Server::start(vec![zerobounce("unknown"), zerobounce("valid")]).await;
    let second =
        Server::start(vec![(200, "", json!({"email_status": "invalid", "credits_consumed": 0.25}))]).await;
    let calls = provider_calls(&[("zerobounce", &first), ("leadmagic", &second)], &[]);
    let cell = verifies("ada@acme.com", &["zerobounce", "leadmagic"]);
    let (found, meta) = verdict(calls.call(&cell).await);
    assert_eq!(
        found,
        json!({"email": "ada@acme.com", "verdict": "invalid", "reason": "undeliverable",
            "provider": "leadmagic", "checks": {"mx": true}})
    );
    assert_eq!((outcomes(&meta), &meta["provider"]), (vec!["unknown", "invalid"], &json!("leadmagic")));
    assert_eq!(meta["credits"], json!(0.25));
    let (found, meta) = verdict(calls.call(&cell).await);
    assert_eq!((&found["verdict"], outcomes(&meta)), (&json!("valid"), vec!["valid"]));
    assert_eq!((first.seen().len(), second.seen().len()), (2, 1));
}

#[tokio::test]
async fn a_verifier_that_cannot_tell_is_better_than_one_that_fails() {
    let first = Server::start(vec![zerobounce("unknown")]).await;
    let calls = provider_calls(&[("zerobounce", &first)], &[]);
    let (found, meta) = verdict(calls.call(&verifies("ada@acme.com", &["zerobounce", "hunter"])).await);
    assert_eq!((&found["verdict"], &found["provider"]), (&json!("unknown"), &json!("zerobounce")));
    assert_eq!(outcomes(&meta), ["unknown", "missing_credentials"]);
}

#[tokio::test]
async fn the_domain_check_alone_decides_what_it_knows() {
    let calls = provider_calls(&[], &[]);
    // No name server is asked for these.
    let (found, meta) = verdict(calls.call(&verifies("x@mailinator.com", &["domaincheck", "hunter"])).await);
    assert_eq!(
        found,
        json!({"email": "x@mailinator.com", "verdict": "risky", "reason": "disposable", "provider": "domaincheck",
            "checks": {"syntax": true, "disposable": true, "role": false}})
    );
    assert_eq!(outcomes(&meta), ["risky"]);
    let (found, meta) = verdict(calls.call(&verifies("no address", &["hunter"])).await);
    assert_eq!(
        found,
        json!({"email": "no address", "verdict": "invalid", "reason": "syntax", "provider": "domaincheck",
            "checks": {"syntax": false}})
    );
    assert_eq!(meta.get("tried"), None);
    let nothing = calls.call(&verifies(" ", &["hunter"])).await;
    assert_eq!(code(&nothing), ErrorCode::MissingInput);
    assert!(matches!(nothing, CallOutcome::Skipped(_)), "{nothing:?}");
}

#[tokio::test]
async fn a_task_asks_only_those_who_can_do_it() {
    let wiza = Server::start(vec![]).await;
    let calls = provider_calls(&[("wiza", &wiza)], &[]);
    assert_eq!(code(&calls.call(&verifies("ada@acme.com", &["wiza"])).await), ErrorCode::InvalidInput);
    assert_eq!(
        code(&calls.call(&verifies("ada@acme.com", &["hunter"])).await),
        ErrorCode::MissingCredentials
    );
    assert_eq!(code(&calls.call(&verifies("ada@acme.com", &[])).await), ErrorCode::InvalidInput);
    assert!(wiza.seen().is_empty());
}

#[tokio::test]
async fn identical_verifications_are_made_once() {
    let server = Server::start(vec![zerobounce("valid"), zerobounce("invalid")]).await;
    let calls = provider_calls(&[("zerobounce", &server)], &[]);
    let cell = |email: &str| verifies(email, &["zerobounce"]).with(|column| column.cache_ttl_seconds = 60);
    let (one, two) = (cell("ada@acme.com"), cell(" Ada <ada@ACME.com>"));
    let (first, second) = tokio::join!(calls.call(&one), calls.call(&two));
    assert_eq!((verdict(first).0, server.seen().len()), (verdict(second).0, 1));
    let (_, meta) = verdict(calls.call(&one).await);
    assert_eq!((&meta["cached"], server.seen().len()), (&json!(true), 1));
    assert_eq!(verdict(calls.call(&cell("bob@acme.com")).await).0["verdict"], "invalid");
}

#[tokio::test]
async fn a_company_and_its_people_are_looked_up() {
    let hunter = Server::start(vec![
        (404, "", json!({"errors": []})),
        (200, "", json!({"data": {"emails": [{"value": "a@acme.com", "first_name": "Ada"}]}})),
    ])
    .await;
    let apollo = Server::start(vec![(200, "", json!({"organization": {"name": "Acme"}}))]).await;
    let calls = provider_calls(&[("hunter", &hunter), ("apollo", &apollo)], &[]);
    let inputs = json!({"domain": "@{_trigger.site}"});
    let trigger = json!({"site": "https://acme.com/x"});
    let cell = task("findCompany", &inputs, &["hunter", "apollo"], &trigger);
    let (found, meta) = verdict(calls.call(&cell).await);
    assert_eq!(
        (found, outcomes(&meta)),
        (json!({"name": "Acme", "domain": null}), vec!["not_found", "found"])
    );
    let (found, meta) = verdict(calls.call(&task("findPeople", &inputs, &["hunter"], &trigger)).await);
    let ada = json!({"name": "Ada", "firstName": "Ada", "email": "a@acme.com", "domain": "acme.com"});
    assert_eq!((found, &meta["provider"]), (json!([ada]), &json!("hunter")));
    let nobody = calls.call(&task("findPeople", &inputs, &["hunter"], &json!({"site": "acme"}))).await;
    assert_eq!(code(&nobody), ErrorCode::MissingInput);
}
