//! Contract section 11: credentials of providers and team secrets, which are kept and never shown.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::server::{self, DataDir, UNLIMITED, metrics_request};
use crate::harness::{Answer, Api, Request, Scenario, Server};

pub(crate) const OWN: &[Scenario] = &scenarios!("credentials", Own:
    a_teams_credential_beats_the_environments,
    a_new_waterfall_enables_what_the_team_can_use,
    the_list_names_every_provider_and_who_configured_it,
    what_is_no_credential_is_refused_without_being_quoted,
    secrets_are_set_named_and_deleted,
    a_team_has_so_many_secrets_and_no_more,
    teams_do_not_see_each_others,
    no_key_or_secret_is_ever_seen_again,
    another_secret_key_is_a_clear_error_and_breaks_nothing_else,
    a_wrong_setting_ends_the_start_without_being_quoted,
);

const PROVIDERS: &str = "/v4/team/providers";
const SECRETS: &str = "/v4/team/secrets";
const KEY: (&str, &str) = ("ROWMILL_SECRET_KEY", "a key of more than thirty-two characters");

fn put(api: &Api, path: String, body: Value) -> Answer {
    api.send(Request::new("PUT", path).json(&body))
}

fn set(api: &Api, provider: &str, body: Value) -> Answer {
    put(api, format!("{PROVIDERS}/{provider}"), body)
}

fn set_secret(api: &Api, name: &str, value: &str) -> Answer {
    put(api, format!("{SECRETS}/{name}"), json!({ "value": value }))
}

fn provider(api: &Api, id: &str) -> Value {
    let listed = api.get(PROVIDERS).ok();
    listed["providers"].as_array().unwrap().iter().find(|provider| provider["id"] == id).unwrap().clone()
}

/// Whether a provider is configured, and by whom.
fn state(api: &Api, id: &str) -> (bool, Value) {
    let provider = provider(api, id);
    (provider["configured"].as_bool().unwrap(), provider["source"].clone())
}

fn names(api: &Api) -> Value {
    let listed = api.get(SECRETS).ok();
    listed["secrets"].as_array().unwrap().iter().map(|secret| secret["name"].clone()).collect()
}

fn started_in(folder: &Arc<DataDir>, variables: &[(&str, &str)]) -> Server {
    let settings: Vec<_> = UNLIMITED.iter().chain(variables).copied().collect();
    Server::start_in(Arc::clone(folder), &settings)
}

fn a_teams_credential_beats_the_environments() {
    let mut server = Server::start(&[
        ("ROWMILL_HUNTER_API_KEY", "env-hunter"),
        ("ROWMILL_OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
        ("ROWMILL_ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
        ("ROWMILL_WIZA_API_KEY", ""),
    ]);
    let api = server.api();
    assert_eq!(state(&api, "hunter"), (true, json!("environment")));
    assert_eq!(state(&api, "openai"), (true, json!("environment")), "a server of one's own may want no key");
    assert_eq!(state(&api, "anthropic"), (false, Value::Null), "an address alone is not enough");
    assert_eq!(state(&api, "wiza"), (false, Value::Null), "a blank variable is none");

    let answer = set(&api, "hunter", json!({ "apiKey": "team-hunter" })).ok();
    let expected = json!({ "id": "hunter", "kind": "finder", "tasks": ["waterfallEmail", "verifyEmail", "findCompany", "findPeople"],
            "label": "Hunter", "configured": true, "source": "team" });
    assert_eq!(answer, json!({ "success": true, "provider": expected }));
    assert_eq!(provider(&api, "hunter"), expected);
    let own = json!({ "apiKey": "k", "baseUrl": "https://llm.example/v1", "model": "small" });
    assert_eq!(set(&api, "openai", own).ok()["provider"]["source"], "team");
    let shown = provider(&api, "openai");
    assert_eq!((&shown["baseUrl"], &shown["model"]), (&json!("https://llm.example/v1"), &json!("small")));
    assert!(shown.get("apiKey").is_none());
    for address in ["https://me:secret@llm.example/v1", "https://llm.example/v1?key=secret"] {
        set(&api, "openai", json!({ "baseUrl": address })).ok();
        assert!(
            provider(&api, "openai").get("baseUrl").is_none(),
            "an address with a credential is not shown"
        );
    }
    set(&api, "openai", json!({ "apiKey": null, "baseUrl": "https://llm.example/v1", "model": null })).ok();
    set(&api, "anthropic", json!({ "apiKey": " k " })).ok();
    server.crash_and_restart();
    let api = server.api();
    for id in ["hunter", "openai", "anthropic"] {
        assert_eq!(state(&api, id), (true, json!("team")), "{id}");
    }
    for (id, then) in [
        ("hunter", (true, json!("environment"))),
        ("openai", (true, json!("environment"))),
        ("anthropic", (false, Value::Null)),
    ] {
        let path = format!("{PROVIDERS}/{id}");
        assert_eq!(api.delete(path.clone()).ok(), json!({ "success": true, "deletedCount": 1 }));
        assert_eq!(state(&api, id), then, "{id}");
        assert_eq!(api.delete(path).ok()["deletedCount"], 0, "the operator's is not the team's to delete");
    }
}

fn a_new_waterfall_enables_what_the_team_can_use() {
    let server = Server::start(&[("ROWMILL_HUNTER_API_KEY", "k")]);
    let (api, stranger) = (server.api(), server.team("stranger"));
    set(&api, "prospeo", json!({ "apiKey": "k" })).ok();
    let enabled = |api: &Api| {
        let table = api.table_of(json!({ "title": "T", "columns": [{ "templateId": "waterfall-email" }] }));
        table.post("/columns", json!({ "templateId": "waterfall-email", "header": "Second" })).created();
        let columns = table.get("/columns").ok()["columns"].clone();
        let of_column = |column: &Value| -> Vec<String> {
            let providers = column["taskConfig"]["waterfallEmail"]["providers"].as_array().unwrap();
            assert_eq!(providers.len(), 11);
            assert_eq!(providers[10]["taskType"], "pattern", "the last one, and disabled");
            let enabled = providers.iter().filter(|provider| provider["enabled"] == true);
            enabled.map(|provider| provider["taskType"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(of_column(&columns[1]), of_column(&columns[2]));
        of_column(&columns[1])
    };
    assert_eq!(enabled(&api), ["hunter", "prospeo"]);
    assert_eq!(enabled(&stranger), ["hunter"]);
    api.delete(format!("{PROVIDERS}/prospeo")).ok();
    assert_eq!(enabled(&api), ["hunter"], "at once");
}

fn the_list_names_every_provider_and_who_configured_it() {
    let server = Server::start(&[]);
    let listed = server.api().get(PROVIDERS).ok()["providers"].clone();
    let told: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|provider| {
            let needs_no_key = provider["id"] == "pattern" || provider["id"] == "domaincheck";
            assert_eq!((&provider["configured"], &provider["source"]), (&json!(needs_no_key), &Value::Null));
            assert_eq!(provider.as_object().unwrap().len(), 6, "{provider}");
            format!("{} {}", provider["kind"].as_str().unwrap(), provider["id"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        told.join(", "),
        "ai openai, ai anthropic, finder hunter, finder findymail, finder prospeo, \
         finder dropcontact, finder apollo, finder snov, finder icypeas, finder leadmagic, finder anymailfinder, \
         finder wiza, finder pattern, verifier domaincheck, verifier zerobounce, verifier neverbounce, \
         verifier millionverifier, search searxng, search serper, search brave, search tavily, search exa"
    );
}

fn what_is_no_credential_is_refused_without_being_quoted() {
    let server = Server::start(&[]);
    let api = server.api();
    let check = |id: &str, body: Value, places: &[&str]| {
        let refused = set(&api, id, body.clone());
        assert!(!refused.text.contains("canary"), "{}", refused.text);
        refused.offends(places);
        assert_eq!(state(&api, id).1, Value::Null, "{body}");
    };
    check("hunter", json!({}), &["apiKey"]);
    check("hunter", json!({ "apiKey": null, "baseUrl": "https://x.example" }), &["apiKey"]);
    check("openai", json!({ "model": "m" }), &["apiKey"]);
    check("openai", json!({ "apiKey": "", "baseUrl": "https://x.example" }), &["apiKey"]);
    for key in [json!(" "), json!("canary\r\nX-Evil: 1"), json!("canary\u{1b}"), json!(["canary"]), json!(17)]
    {
        check("hunter", json!({ "apiKey": key }), &["apiKey"]);
    }
    check("hunter", json!({ "apiKey": "canary".repeat(700) }), &["apiKey"]);
    for url in ["canary", "ftp://canary", "https://", "", "javascript:canary", "https://can\nary"] {
        check("hunter", json!({ "apiKey": "k", "baseUrl": url }), &["baseUrl"]);
    }
    check(
        "hunter",
        json!({ "apiKey": "\n", "baseUrl": format!("http://{}", "x".repeat(2_050)), "model": "m".repeat(256) }),
        &["apiKey", "baseUrl", "model"],
    );
    check("hunter", json!({ "apiKey": "canary", "apikey": "canary" }), &["apikey"]);
    check("pattern", json!({ "apiKey": "canary" }), &[""]);
    for body in ["\"canary\"", "{\"apiKey\": \"canary", "{\"apiKey\": \"canary\\u0000\"}", "canary"] {
        let refused = api.send(Request::new("PUT", format!("{PROVIDERS}/hunter")).text(body));
        assert_eq!(refused.status(), 400);
        assert!(!refused.text.contains("canary"), "{}", refused.text);
    }
    for unknown in ["nobody", "Hunter", "%00", "hunter%20"] {
        let refusal = set(&api, unknown, json!({ "apiKey": "k" })).refused(404, "provider_not_found");
        assert_eq!(refusal["error"], "Provider not found");
        api.delete(format!("{PROVIDERS}/{unknown}")).refused(404, "provider_not_found");
    }
    set(&api, "hunter", json!({ "apiKey": "k".repeat(4_096) })).ok();
}

fn secrets_are_set_named_and_deleted() {
    let mut server = Server::start(&[]);
    let api = server.api();
    assert_eq!(api.get(SECRETS).ok(), json!({ "success": true, "secrets": [] }));
    for name in ["TOKEN", "crm_token-2", &"N".repeat(64)] {
        let answer = set_secret(&api, name, "canary").ok();
        assert_eq!(answer, json!({ "success": true, "secret": { "name": name } }));
    }
    set_secret(&api, "TOKEN", &"é\n".repeat(4_096)).ok();
    server.crash_and_restart();
    let api = server.api();
    assert_eq!(names(&api), json!(["N".repeat(64), "TOKEN", "crm_token-2"]));
    assert_eq!(api.delete(format!("{SECRETS}/TOKEN")).ok(), json!({ "success": true, "deletedCount": 1 }));
    for gone in ["TOKEN", "token", "CRM_TOKEN-2", "%00", "a%2Fb"] {
        api.delete(format!("{SECRETS}/{gone}")).refused(404, "secret_not_found");
    }
    assert_eq!(names(&api), json!(["N".repeat(64), "crm_token-2"]));

    for name in ["a.b", "a%20b", "%C3%A9", &"N".repeat(65), "%00"] {
        set_secret(&api, name, "canary").offends(&["name"]);
    }
    let check = |body: Value, places: &[&str]| {
        let refused = put(&api, format!("{SECRETS}/X"), body);
        assert!(!refused.text.contains("canary"), "{}", refused.text);
        refused.offends(places);
    };
    check(json!({}), &["value"]);
    check(json!({ "value": "" }), &["value"]);
    check(json!({ "value": "canary".repeat(1_366) }), &["value"]);
    check(json!({ "value": { "canary": "canary" } }), &["value"]);
    check(json!({ "value": "canary", "name": "canary" }), &["name"]);
    let refused = set_secret(&api, "X", "canary\0");
    assert!(refused.status() == 400 && !refused.text.contains("canary"), "{}", refused.text);
}

fn a_team_has_so_many_secrets_and_no_more() {
    let server = Server::start(&[("ROWMILL_SECRETS_MAX", "2")]);
    let api = server.api();
    assert_eq!(api.get("/v4/limits").ok()["limits"]["secretsMax"], 2);
    set_secret(&api, "A", "1").ok();
    set_secret(&api, "B", "1").ok();
    set_secret(&api, "C", "1").exceeds("secretsMax");
    set_secret(&api, "B", "2").ok();
    api.delete(format!("{SECRETS}/A")).ok();
    set_secret(&api, "C", "1").ok();
    assert_eq!(names(&api), json!(["B", "C"]));
}

fn teams_do_not_see_each_others() {
    let server = Server::start(&[]);
    let (api, stranger) = (server.api(), server.team("stranger"));
    set(&api, "hunter", json!({ "apiKey": "k" })).ok();
    set_secret(&api, "A", "1").ok();
    assert_eq!(state(&stranger, "hunter"), (false, Value::Null));
    assert_eq!(names(&stranger), json!([]));
    assert_eq!(stranger.delete(format!("{PROVIDERS}/hunter")).ok()["deletedCount"], 0);
    stranger.delete(format!("{SECRETS}/A")).refused(404, "secret_not_found");
    set_secret(&stranger, "A", "theirs").ok();
    stranger.delete(format!("{SECRETS}/A")).ok();
    assert_eq!((state(&api, "hunter").0, names(&api)), (true, json!(["A"])));
}

/// Looks for canaries in every file below a folder.
fn assert_clean(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_clean(&path);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(6).any(|window| window.eq_ignore_ascii_case(b"canary"));
        assert!(!found, "a secret is in {}", path.display());
    }
}

fn no_key_or_secret_is_ever_seen_again() {
    let server = Server::start(&[
        ("ROWMILL_LOG", "trace"),
        ("ROWMILL_WIZA_API_KEY", "canary-environment"),
        ("ROWMILL_WIZA_BASE_URL", "http://user:canary@127.0.0.1:9"),
        ("ROWMILL_AI_MODEL", "canary-model"),
    ]);
    let api = server.api();
    let table = api.table_of(json!({ "title": "T", "columns": [{ "templateId": "waterfall-email" }] }));
    let event = json!({ "eventId": "e", "webhookEnabled": true, "signingSecret": "canary-signing" });
    let metadata = json!({ "integration": "eventplatform-event", "eventplatform": event });
    let signed = json!({ "title": "Signed", "metadata": metadata });
    let signed = api.send(Request::post("/v4/projects").json(&signed).header("Idempotency-Key", "signed"));
    let signed_id = signed.json["project"]["id"].as_str().unwrap().to_owned();
    let own =
        json!({ "apiKey": "canary-key", "baseUrl": "https://u:canary@x.example", "model": "canary-model" });
    let with_key = |request: Request| request.header("Idempotency-Key", "once");
    let mut answers = vec![
        api.send(with_key(Request::new("PUT", format!("{PROVIDERS}/openai")).json(&own))),
        set(&api, "hunter", json!({ "apiKey": "canary-key\n\n" })),
        set(&api, "hunter", json!({ "apiKey": "canary\nkey" })),
        set(&api, "nobody", json!({ "apiKey": "canary-key" })),
        api.send(with_key(Request::new("PUT", format!("{SECRETS}/A")).json(&json!({ "value": "canary" })))),
        set_secret(&api, "B", &"canary".repeat(2_000)),
        server
            .api_without_key()
            .send(Request::new("PUT", format!("{SECRETS}/C")).text("{\"value\": \"canary\"}")),
    ];
    answers.push(signed);
    answers.push(api.patch(format!("/v4/projects/{signed_id}"), json!({ "metadata": metadata })));
    set_secret(&api, "D", "canary-of-the-deleted").ok();
    api.delete(format!("{SECRETS}/D")).ok();
    for path in [PROVIDERS, SECRETS, "/v4/team", "/v4/limits", "/openapi.json", "/docs"] {
        answers.push(api.get(path));
    }
    answers.push(api.send(metrics_request()));
    for rest in ["", "/columns", "/rows"] {
        answers.push(table.get(rest));
    }
    for answer in answers {
        assert!(!answer.text.to_lowercase().contains("canary"), "{}", answer.text);
    }
    assert_eq!(state(&api, "wiza"), (true, json!("environment")));
    assert!(!server.printed().to_lowercase().contains("canary"));
    let key_file = server.folder().data().join("secret.key");
    assert_eq!(std::fs::metadata(key_file).unwrap().permissions().mode() & 0o777, 0o600);
    // While it runs, its log and the database's journal included, and after it ended.
    assert_clean(server.folder().path());
    server.terminate();
    assert!(server.wait_for_end().success());
    assert_clean(server.folder().path());
}

fn another_secret_key_is_a_clear_error_and_breaks_nothing_else() {
    let folder = DataDir::new();
    let server = started_in(&folder, &[KEY]);
    let api = server.api();
    set(&api, "hunter", json!({ "apiKey": "k" })).ok();
    set_secret(&api, "A", "1").ok();
    let table = api.table(&["Name"]);
    assert!(!folder.data().join("secret.key").exists(), "a key that is set makes no file");
    drop(server);

    // Told at the start; who has lost the key for good goes on without what was sealed.
    let refused = server::refusal(&folder, &[]);
    assert!(refused.contains("the same ROWMILL_SECRET_KEY") && refused.contains("secret.key"), "{refused}");
    assert!(!folder.data().join("secret.key").exists(), "a key that opens nothing is not left behind");
    let adopt = ("ROWMILL_ADOPT_SECRET_KEY", "true");
    let server =
        started_in(&folder, &[adopt, ("ROWMILL_HUNTER_API_KEY", "k"), ("ROWMILL_WIZA_API_KEY", "k")]);
    let api = server.api();
    assert!(folder.data().join("secret.key").exists());
    let hunter = provider(&api, "hunter");
    assert_eq!((&hunter["configured"], &hunter["source"]), (&json!(false), &json!("team")));
    assert!(hunter["error"].as_str().unwrap().contains("ROWMILL_SECRET_KEY"), "{hunter}");
    assert_eq!(state(&api, "wiza"), (true, json!("environment")));
    let secret = api.get(SECRETS).ok()["secrets"][0].clone();
    assert_eq!(secret["name"], "A");
    assert!(secret["error"].as_str().unwrap().contains("ROWMILL_SECRET_KEY"), "{secret}");
    table.through(&api).insert(json!({ "Name": "Ada" }));
    table.through(&api).post("/columns", json!({ "templateId": "waterfall-email" })).created();
    // Setting it again, or deleting it, mends it.
    set_secret(&api, "A", "2").ok();
    assert_eq!(api.get(SECRETS).ok()["secrets"], json!([{ "name": "A" }]));
    assert_eq!(set(&api, "hunter", json!({ "apiKey": "k" })).ok()["provider"]["configured"], true);
    drop(server);

    server::refusal(&folder, &[KEY]);
    let server = started_in(&folder, &[adopt, KEY, ("ROWMILL_HUNTER_API_KEY", "k")]);
    let api = server.api();
    assert_eq!(state(&api, "hunter"), (false, json!("team")));
    assert_eq!(api.delete(format!("{PROVIDERS}/hunter")).ok()["deletedCount"], 1);
    assert_eq!(state(&api, "hunter"), (true, json!("environment")));
}

fn a_wrong_setting_ends_the_start_without_being_quoted() {
    let folder = DataDir::new();
    let check = |name: &str, value: &str, words: &str| {
        let mut command = server::command(&folder);
        let output = command.env(name, value).args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{told}");
        assert!(told.contains(name) && told.contains(words) && !told.contains("canary"), "{told}");
    };
    check("ROWMILL_SECRET_KEY", "canary", "at least 32 characters");
    check("ROWMILL_HUNTER_API_KEY", "canary\ncanary", "line breaks");
    check("ROWMILL_OPENAI_BASE_URL", "canary", "http");
    check("ROWMILL_AI_MODEL", &"canary".repeat(50), "255");
    let mut help = server::command(&folder);
    let help = help.env("ROWMILL_SECRET_KEY", "canary").args(["serve", "--help"]).output().unwrap();
    assert!(!String::from_utf8(help.stdout).unwrap().contains("canary"));
}
