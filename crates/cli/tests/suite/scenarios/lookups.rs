//! Columns that ask providers in order: e-mail verification, companies and people.

use serde_json::{Value, json};

use super::processing::{ended, run, started};
use crate::harness::agent::Agent;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen, ok};
use crate::harness::{Request, Scenario, Server, StubServer, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("lookups", Own:
    an_address_is_verified_by_whoever_knows,
    a_verification_runs_by_itself_and_outlives_a_crash,
    a_verification_is_paid_and_capped,
    a_verification_that_nobody_can_make_says_why,
    a_verification_can_be_tried_and_told_to_agents,
    a_company_is_found,
    people_are_found_as_a_list,
    no_key_of_a_verifier_is_seen_whatever_is_answered,
);

/// Entries for these providers, all enabled.
fn entries(providers: &[&str]) -> Vec<Value> {
    let entry = |(order, name): (usize, &&str)| json!({ "id": format!("{name}-1"), "taskType": name, "enabled": true, "order": order });
    providers.iter().enumerate().map(entry).collect()
}

fn verification(table: &Table, providers: &[&str], more: Value) -> String {
    let mut column = json!({ "templateId": "verify-email", "header": "Check", "taskConfig": {
        "taskType": "verifyEmail",
        "verifyEmail": { "providers": entries(providers), "inputMapping": { "email": "@{Email}" } },
    } });
    let more = more.as_object().unwrap().clone();
    column.as_object_mut().unwrap().extend(more);
    table.add_column(column)
}

fn zerobounce(seen: &Seen, _: usize) -> Reply {
    let word = |name: &str, word: &'static str| seen.path.contains(name).then_some(word);
    let status =
        word("bad", "invalid").or(word("trap", "spamtrap")).or(word("who", "unknown")).unwrap_or("valid");
    ok(json!({ "status": status, "sub_status": "", "free_email": false }))
}

fn leadmagic(_: &Seen, _: usize) -> Reply {
    ok(json!({ "email_status": "catch_all", "credits_consumed": 0.25, "is_domain_catch_all": true }))
}

/// A server that asks both.
fn asking(zerobounce: &StubServer, leadmagic: &StubServer) -> Server {
    started(&[
        ("ROWMILL_ZEROBOUNCE_BASE_URL", &zerobounce.url("")),
        ("ROWMILL_ZEROBOUNCE_API_KEY", "z"),
        ("ROWMILL_LEADMAGIC_BASE_URL", &leadmagic.url("")),
        ("ROWMILL_LEADMAGIC_API_KEY", "l"),
    ])
}

fn code(cell: &Value) -> &str {
    cell["error"]["code"].as_str().unwrap_or("none")
}

fn an_address_is_verified_by_whoever_knows() {
    let (first, second) = (StubServer::start(zerobounce), StubServer::start(leadmagic));
    let server = asking(&first, &second);
    let table = server.api().table(&["Email"]);
    let column = verification(&table, &["zerobounce", "leadmagic"], json!({}));
    let emails = [
        "ada@acme.test",
        "bad@acme.test",
        "trap@acme.test",
        "who@acme.test",
        "no address",
        "",
        "Ada <ada@acme.test>",
    ];
    let ids = table.insert(emails.iter().map(|email| json!({ "Email": email })).collect());
    run(&table, json!({}));
    let cell = |row: usize| table.cells(&ids[row])[&column].clone();
    let verdict = |row: usize| {
        let value = cell(row)["value"].clone();
        ["verdict", "reason", "provider"].map(|field| value[field].as_str().unwrap().to_owned())
    };
    assert_eq!(verdict(0), ["valid", "deliverable", "zerobounce"]);
    assert_eq!(verdict(1), ["invalid", "undeliverable", "zerobounce"]);
    assert_eq!(verdict(2), ["risky", "spam_trap", "zerobounce"]);
    assert_eq!(verdict(3), ["risky", "catch_all", "leadmagic"]);
    assert_eq!(verdict(4), ["invalid", "syntax", "domaincheck"]);
    assert_eq!((&cell(5)["status"], code(&cell(5))), (&json!("skipped"), "missing_input"));
    assert_eq!(verdict(6), verdict(0));
    let value = cell(3)["value"].clone();
    assert_eq!(value["email"], "who@acme.test");
    assert_eq!(value["checks"], json!({ "free": false, "catchAll": true }), "of both who were asked");
    let meta = cell(3)["meta"].clone();
    let tried: Vec<&Value> =
        meta["tried"].as_array().unwrap().iter().map(|entry| &entry["outcome"]).collect();
    assert_eq!((tried, &meta["credits"]), (vec![&json!("unknown"), &json!("risky")], &json!(0.25)));
    assert_eq!(second.count(), 1);
    // Other columns take a part of it.
    let part = table.add_column(
        json!({ "templateId": "reference", "referenceConfig": { "columnId": column, "path": "verdict" } }),
    );
    assert_eq!(table.value(&ids[1], &part), "invalid");
}

fn a_verification_runs_by_itself_and_outlives_a_crash() {
    let (first, second) = (StubServer::start(zerobounce), StubServer::start(leadmagic));
    let mut server = asking(&first, &second);
    let table = server.api().table(&["Email"]);
    let column = verification(&table, &["zerobounce"], json!({ "cacheTtlSeconds": 600 }));
    table.patch("", json!({ "autoplay": true })).ok();
    let ids = table.insert(json!([{ "Email": "ada@acme.test" }]));
    ended(&table);
    assert_eq!(table.value(&ids[0], &column)["verdict"], "valid");
    server.crash_and_restart();
    let table = table.through(&server.api());
    let more = table.insert(
        json!([{ "Email": "ADA@ACME.TEST" }, { "Email": "bad@acme.test" }, { "Email": "ada@acme.test" }]),
    );
    ended(&table);
    let verdicts: Vec<Value> = more.iter().map(|id| table.value(id, &column)["verdict"].clone()).collect();
    assert_eq!(verdicts, ["valid", "invalid", "valid"]);
    // The local part may be written in capitals and mean somebody else; what was asked before is kept.
    assert_eq!(first.count(), 3);
    let changed = table.patch(&format!("/rows/{}", ids[0]), json!({ "Email": "bad@acme.test" }));
    changed.ok();
    ended(&table);
    assert_eq!(table.value(&ids[0], &column)["verdict"], "invalid", "a new address is verified anew");
}

fn a_verification_is_paid_and_capped() {
    let (first, second) = (StubServer::start(zerobounce), StubServer::start(leadmagic));
    let server = asking(&first, &second);
    let api = server.api();
    let table = api.table(&["Email"]);
    verification(&table, &["leadmagic"], json!({}));
    table.insert((0..12).map(|row| json!({ "Email": format!("ada{row}@acme.test") })).collect());
    let body = json!({ "providers": { "leadmagic": { "usdPerCredit": 0.5 } } });
    api.send(Request::new("PUT", "/v4/team/spending").json(&body)).ok();
    let estimate = table.post("/trigger", json!({ "dryRun": true })).ok()["estimate"].clone();
    assert_eq!((&estimate["usd"]["likely"], &estimate["credits"]), (&json!(6.0), &json!(12.0)), "{estimate}");
    let caps = json!([{ "scope": "credential", "provider": "leadmagic", "period": "month", "credits": 1 }]);
    api.send(Request::new("PUT", "/v4/team/spending").json(&json!({ "caps": caps }))).ok();
    table.post("/trigger", json!({})).ok();
    crate::harness::eventually("the cap is reached", std::time::Duration::from_secs(30), || {
        let cap = api.get("/v4/team/spending").ok()["caps"][0].clone();
        (cap["reached"] == true).then_some(())
    });
    assert!(second.count() <= 5, "{}", second.count());
    table.post("/stop", json!({})).ok();
    ended(&table);
}

fn a_verification_that_nobody_can_make_says_why() {
    let broken = StubServer::start(|seen, _| {
        if seen.path.contains("api_key=z") {
            ok(json!({ "error": "Invalid API key or your account ran out of credits" }))
        } else {
            Reply::Json(401, json!({}))
        }
    });
    let server =
        started(&[("ROWMILL_ZEROBOUNCE_BASE_URL", &broken.url("")), ("ROWMILL_ZEROBOUNCE_API_KEY", "z")]);
    let table = server.api().table(&["Email"]);
    let column = verification(&table, &["zerobounce", "hunter"], json!({}));
    let ids = table.insert((0..4).map(|row| json!({ "Email": format!("a{row}@acme.test") })).collect());
    run(&table, json!({}));
    for id in &ids {
        let cell = table.cells(id)[&column].clone();
        assert_eq!((&cell["status"], code(&cell)), (&json!("error"), "out_of_credits"), "{cell}");
    }
    assert_eq!(broken.count(), 1, "it has said that the account is empty");
    // An entry that can only find addresses is switched off.
    let fixes = table
        .patch(
            &format!("/columns/{column}"),
            json!({ "taskConfig": { "verifyEmail": { "providers": entries(&["wiza", "zerobounce"]) } } }),
        )
        .ok();
    assert_eq!(fixes["column"]["taskConfig"]["verifyEmail"]["providers"][0]["enabled"], false, "{fixes}");
    assert!(fixes["appliedFixes"].to_string().contains("wiza"), "{fixes}");
}

fn a_verification_can_be_tried_and_told_to_agents() {
    let (first, second) = (StubServer::start(zerobounce), StubServer::start(leadmagic));
    let server = asking(&first, &second);
    let api = server.api();
    let table = api.table(&["Email"]);
    let ids = table.insert(json!([{ "Email": "ada@acme.test" }]));
    let column = json!({ "templateId": "verify-email", "taskConfig": { "taskType": "verifyEmail", "verifyEmail": {
        "providers": entries(&["zerobounce"]), "inputMapping": { "email": "@{Email}" } } } });
    let tried = table.post("/try", json!({ "rowId": ids[0], "column": column })).ok();
    assert_eq!(tried["resolved"], json!({ "email": "ada@acme.test" }), "{tried}");
    assert_eq!(tried["result"]["value"]["verdict"], "valid", "{tried}");
    let test = api.send(Request::post("/v4/team/providers/zerobounce/test")).ok();
    assert_eq!(test["ok"], true, "{test}");

    let agent = Agent::new(&api);
    let kinds = agent.does("list_column_kinds", json!({ "kind": "verify-email" }));
    let kind = &kinds["kinds"][0];
    assert!(kind["providers"]["ready"].to_string().contains("domaincheck"), "{kind}");
    assert!(kind["providers"]["withoutKey"].to_string().contains("neverbounce"), "{kind}");
    assert_eq!(kind["example"]["settings"]["inputMapping"]["email"], "@{Email}");
    let listed = api.get("/v4/team/providers").ok();
    let found =
        listed["providers"].as_array().unwrap().iter().find(|provider| provider["id"] == "domaincheck");
    assert_eq!((&found.unwrap()["kind"], &found.unwrap()["configured"]), (&json!("verifier"), &json!(true)));
}

fn a_company_is_found() {
    let hunter = StubServer::start(|_, _| Reply::Json(404, json!({ "errors": [{ "id": "not_found" }] })));
    let apollo = StubServer::start(|seen, _| {
        if seen.path.contains("acme") {
            ok(json!({ "organization": { "name": "Acme", "primary_domain": "acme.test", "industry": "mills",
            "estimated_num_employees": 42, "country": "Italy" } }))
        } else {
            ok(json!({}))
        }
    });
    let server = started(&[
        ("ROWMILL_HUNTER_BASE_URL", &hunter.url("")),
        ("ROWMILL_HUNTER_API_KEY", "h"),
        ("ROWMILL_APOLLO_BASE_URL", &apollo.url("")),
        ("ROWMILL_APOLLO_API_KEY", "a"),
    ]);
    let table = server.api().table(&["Site", "Company"]);
    let column = table.add_column(json!({ "templateId": "find-company",
        // A row may have either.
        "dependencies": [{ "columnId": "Site", "required": false }, { "columnId": "Company", "required": false }], "taskConfig": { "taskType": "findCompany",
        "findCompany": { "providers": entries(&["hunter", "apollo"]), "inputMapping": { "domain": "@{Site}", "name": "@{Company}" } } } }));
    let ids = table.insert(
        json!([{ "Site": "https://www.acme.test/x" }, { "Site": "nowhere.test" }, { "Company": "acme" }, {}]),
    );
    run(&table, json!({}));
    let cell = |row: usize| table.cells(&ids[row])[&column].clone();
    let acme = json!({ "name": "Acme", "domain": "acme.test", "industry": "mills", "employees": 42, "country": "Italy" });
    assert_eq!((&cell(0)["value"], &cell(0)["meta"]["provider"]), (&acme, &json!("apollo")), "{}", cell(0));
    assert_eq!((&cell(1)["value"], &cell(1)["outcome"]), (&Value::Null, &json!("no_data")));
    assert_eq!(cell(2)["value"], acme);
    let tried: Vec<Value> =
        cell(2)["meta"]["tried"].as_array().unwrap().iter().map(|entry| entry["outcome"].clone()).collect();
    assert_eq!(tried, ["not_asked", "found"], "Hunter knows companies by domain only");
    assert_eq!(code(&cell(3)), "missing_input");
}

fn people_are_found_as_a_list() {
    let hunter = StubServer::start(|_, _| {
        let person = |first: &str, title: &str| {
            json!({ "value": format!("{first}@acme.test"), "first_name": first,
            "last_name": "L", "position": title, "verification": { "status": "valid" } })
        };
        let emails = [person("ada", "CEO"), person("bob", "Clerk"), person("cem", "Deputy CEO")];
        ok(json!({ "data": { "domain": "acme.test", "organization": "Acme", "emails": emails } }))
    });
    let server = started(&[("ROWMILL_HUNTER_BASE_URL", &hunter.url("")), ("ROWMILL_HUNTER_API_KEY", "h")]);
    let table = server.api().table(&["Site"]);
    let column =
        table.add_column(json!({ "templateId": "find-people", "taskConfig": { "taskType": "findPeople",
        "findPeople": { "limit": 2, "providers": entries(&["hunter"]),
            "inputMapping": { "domain": "@{Site}", "job_title": "ceo" } } } }));
    let ids = table.insert(json!([{ "Site": "acme.test" }]));
    run(&table, json!({}));
    let found = table.value(&ids[0], &column);
    let names: Vec<&Value> = found.as_array().unwrap().iter().map(|person| &person["name"]).collect();
    assert_eq!(names, ["ada L", "cem L"]);
    assert_eq!((&found[0]["email"], &found[0]["emailVerdict"]), (&json!("ada@acme.test"), &json!("valid")));
    // The limit and the titles are part of what is asked.
    let changed = table
        .patch(&format!("/columns/{column}"), json!({ "taskConfig": { "findPeople": { "limit": 1 } } }))
        .ok();
    assert_eq!(changed["column"]["taskConfig"]["findPeople"]["limit"], 1);
    assert_eq!(table.cells(&ids[0])[&column]["stale"], true);
    let refused = json!({ "taskConfig": { "findPeople": { "limit": 101 } } });
    table.patch(&format!("/columns/{column}"), refused).offends(&["taskConfig.findPeople.limit"]);
}

const CANARIES: [&str; 4] = ["canary-zero-1", "canary-never-2", "canary-million-3", "canary-hunter-4"];

fn no_key_of_a_verifier_is_seen_whatever_is_answered() {
    // A server that says back everything it was told, as an error.
    let echo = StubServer::start(|seen, _| {
        let said = format!("{:?} {} {}", seen.headers, seen.path, seen.body);
        Reply::Json(400, json!({ "error": { "message": said } }))
    });
    let server = started(&[
        ("ROWMILL_ZEROBOUNCE_BASE_URL", &echo.url("")),
        ("ROWMILL_ZEROBOUNCE_API_KEY", CANARIES[0]),
        ("ROWMILL_NEVERBOUNCE_BASE_URL", &echo.url("")),
        ("ROWMILL_NEVERBOUNCE_API_KEY", CANARIES[1]),
        ("ROWMILL_LOG", "debug"),
    ]);
    let api = server.api();
    let put = |path: &str, body: Value| api.send(Request::new("PUT", path).json(&body)).ok();
    put("/v4/team/providers/millionverifier", json!({ "apiKey": CANARIES[2], "baseUrl": echo.url("") }));
    put("/v4/team/providers/hunter", json!({ "apiKey": CANARIES[3], "baseUrl": echo.url("") }));
    let table = api.table(&["Email"]);
    let column = verification(&table, &["zerobounce", "neverbounce", "millionverifier", "hunter"], json!({}));
    let ids = table.insert(json!([{ "Email": "ada@acme.test" }]));
    run(&table, json!({}));
    let cell = table.cells(&ids[0])[&column].clone();
    assert_eq!(cell["status"], "error", "{cell}");
    assert_eq!(echo.count(), 4);
    let test = api.send(Request::post("/v4/team/providers/millionverifier/test")).ok();
    let seen = [cell, test, table.get("").ok(), api.get("/v4/team/providers").ok()];
    for canary in CANARIES {
        for text in &seen {
            assert!(!text.to_string().contains(canary), "{canary} in {text}");
        }
        assert!(!server.log().contains(canary), "{canary} in the log");
    }
}
