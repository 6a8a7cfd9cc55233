//! Keys that do not work always and everywhere: expiry, rotation, addresses; and what is known of their use.

use std::time::Duration;

use serde_json::{Value, json};

use super::events::Stream;
use super::nodes;
use crate::harness::http::{Response, exchange};
use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario, Server, eventually, rowmill};

pub(crate) const OWN: &[Scenario] = &scenarios!("key_lifetimes", Own:
    a_key_expires_with_its_sessions_and_streams,
    a_rotated_key_works_for_a_while,
    a_key_is_used_from_its_addresses,
    a_session_has_the_restrictions_of_its_key,
    commands_make_restricted_keys,
    restrictions_survive_a_restart,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("key_lifetimes", Nodes:
    a_key_rotated_on_one_node_expires_on_all,
);

const WAIT_MAX: Duration = Duration::from_secs(30);

/// So many seconds from now.
fn in_seconds(seconds: i64) -> String {
    let now = jiff::Timestamp::now();
    (now + jiff::SignedDuration::from_secs(seconds)).to_string()
}

fn wait_until_refused(what: &str, api: &Api) -> Value {
    eventually(what, WAIT_MAX, || {
        let answer = api.get("/v4/projects");
        (answer.status() == 403).then_some(answer)
    })
    .refused(403, "invalid_api_key")
}

fn listed(api: &Api, id: &str) -> Value {
    let keys = api.get("/v4/keys").ok()["keys"].clone();
    keys.as_array().unwrap().iter().find(|key| key["id"] == id).cloned().unwrap_or_default()
}

fn sign_in(server: &Server, secret: &str) -> (Response, String) {
    let request = Request::post("/session").json(&json!({ "key": secret }));
    let response = exchange(&server.address, &request.header("Sec-Fetch-Site", "same-origin")).unwrap();
    let cookie = response.header("set-cookie").and_then(|kept| kept.split(';').next());
    let cookie = cookie.unwrap_or_default().to_owned();
    (response, cookie)
}

fn as_browser(server: &Server, cookie: &str, request: Request) -> (u16, Value) {
    let request = request.header("Cookie", cookie).header("Sec-Fetch-Site", "same-origin");
    let response = exchange(&server.address, &request).unwrap();
    (response.status, serde_json::from_slice(&response.body).unwrap_or_default())
}

fn a_key_expires_with_its_sessions_and_streams() {
    let server = Server::start(&[]);
    let api = server.api();
    let table = api.table(&["Name"]);
    let body = json!({ "name": "Short", "expiresAt": in_seconds(8) });
    let made = api.post("/v4/keys", body).created();
    let secret = made["secret"].as_str().unwrap();
    let short = server.api_with(secret);
    short.get("/v4/projects").ok();
    let (response, cookie) = sign_in(&server, secret);
    assert_eq!(response.status, 200);
    assert_eq!(as_browser(&server, &cookie, Request::get("/v4/projects")).0, 200);
    let mut stream = Stream::open(&table.through(&short), "");
    stream.expect("status");

    let refused = wait_until_refused("the key expires", &short);
    assert!(refused["error"].as_str().unwrap().starts_with("Invalid API key: it expired at 2"), "{refused}");
    assert_eq!(as_browser(&server, &cookie, Request::get("/v4/projects")).0, 401);
    assert_eq!(as_browser(&server, &cookie, Request::get("/session")).1["signedIn"], false);
    assert_eq!(sign_in(&server, secret).0.status, 403);
    table.insert(json!([{ "Name": "not for everybody" }]));
    assert!(stream.next().is_none(), "the stream ends, and tells nothing more");
    let id = made["key"]["id"].as_str().unwrap();
    assert_eq!(listed(&api, id)["expiresAt"], made["key"]["expiresAt"], "it is listed, so that one sees why");
}

fn a_rotated_key_works_for_a_while() {
    let server = Server::start(&[]);
    let api = server.api();
    let table = api.table(&["Name"]);
    let body = json!({
        "name": "Sync", "scopes": ["read"], "projectIds": [table.id], "allowFrom": ["127.0.0.1"],
        "expiresAt": "2100-01-01T00:00:00Z"
    });
    let old = api.post("/v4/keys", body).created();
    let old_id = old["key"]["id"].as_str().unwrap();
    let rotate = |id: &str, body: Value| api.post(format!("/v4/keys/{id}/rotate"), body);
    let new = rotate(old_id, json!({ "oldExpiresAt": in_seconds(6) })).created();
    for field in ["name", "scopes", "projectIds", "allowFrom", "expiresAt"] {
        assert_eq!(new["key"][field], old["key"][field], "{field}");
    }
    let (before, after) =
        (server.api_with(old["secret"].as_str().unwrap()), server.api_with(new["secret"].as_str().unwrap()));
    before.get("/v4/projects").ok();
    after.get("/v4/projects").ok();
    wait_until_refused("the old key expires", &before);
    after.get("/v4/projects").ok();
    // What has expired does not say how long its successor works.
    rotate(old_id, json!({})).offends(&["expiresAt"]);

    let new_id = new["key"]["id"].as_str().unwrap();
    let last =
        rotate(new_id, json!({ "oldExpiresAt": "2001-01-01T00:00:00Z", "expiresAt": in_seconds(600) }))
            .created();
    assert!(last["key"]["expiresAt"].as_str().unwrap() < "2100");
    wait_until_refused("it is over at once", &after);
    let third = api.post("/v4/keys", json!({ "name": "Third" })).created();
    let third = third["key"]["id"].as_str().unwrap();
    rotate(third, json!({})).created();
    let expires_at = listed(&api, third)["expiresAt"].as_str().unwrap().to_owned();
    assert!(in_seconds(23 * 3600) < expires_at && expires_at < in_seconds(25 * 3600), "{expires_at}");
    rotate("key_00000000000000000000000000000000", json!({})).refused(404, "key_not_found");
    // Its answer has a secret, which is not kept.
    let request = Request::post(format!("/v4/keys/{third}/rotate")).json(&json!({}));
    api.send(request.header("Idempotency-Key", "once")).offends(&["Idempotency-Key"]);
    rotate(third, json!({ "oldExpiresAt": "soon", "expiresAt": "later" }))
        .offends(&["oldExpiresAt", "expiresAt"]);
    server.team("stranger").post(format!("/v4/keys/{third}/rotate"), json!({})).refused(404, "key_not_found");
}

fn a_key_is_used_from_its_addresses() {
    let server = Server::start(&[("ROWMILL_TRUSTED_PROXIES", "127.0.0.1")]);
    let api = server.api();
    let body = json!({ "name": "Office", "allowFrom": ["10.0.0.0/8", "2001:db8::/32"] });
    let made = api.post("/v4/keys", body).created();
    let office = server.api_with(made["secret"].as_str().unwrap());
    let from = |client: &str| office.send(Request::get("/v4/projects").header("X-Forwarded-For", client));
    from("10.1.2.3").ok();
    let refused = from("192.0.2.7").refused(403, "address_not_allowed");
    assert!(refused["error"].as_str().unwrap().contains("192.0.2.7"), "{refused}");
    office.get("/v4/projects").refused(403, "address_not_allowed");
    from("2001:db8::7").ok();
    let id = made["key"]["id"].as_str().unwrap();
    let used = eventually("the use is written down", WAIT_MAX, || {
        Some(listed(&api, id)).filter(|key| !key["lastUsedAt"].is_null())
    });
    assert_eq!(used["lastUsedFrom"], "10.1.2.3", "the first use; others within a minute are not written");
    // A session is bound to them, too.
    let (refused, _) = sign_in(&server, made["secret"].as_str().unwrap());
    assert_eq!(refused.status, 403);

    // Nobody's word counts for the address unless it is a trusted proxy's.
    let direct = Server::start(&[]);
    let made =
        direct.api().post("/v4/keys", json!({ "name": "Office", "allowFrom": ["10.0.0.0/8"] })).created();
    let office = direct.api_with(made["secret"].as_str().unwrap());
    let request = Request::get("/v4/projects").header("X-Forwarded-For", "10.1.2.3");
    office.send(request).refused(403, "address_not_allowed");
}

fn a_session_has_the_restrictions_of_its_key() {
    let server = Server::start(&[]);
    let api = server.api();
    let (own, other) = (api.table(&["Name"]), api.table(&["Name"]));
    let body = json!({ "name": "Viewer", "scopes": ["read"], "projectIds": [own.id] });
    let made = api.post("/v4/keys", body).created();
    let (response, cookie) = sign_in(&server, made["secret"].as_str().unwrap());
    let session: Value = serde_json::from_slice(&response.body).unwrap();
    assert_eq!((&session["scopes"], &session["canManageTeams"]), (&json!(["read"]), &json!(false)));
    let send = |request: Request| as_browser(&server, &cookie, request);
    assert_eq!(send(Request::get(own.path(""))).0, 200);
    assert_eq!(send(Request::get(other.path(""))).0, 404);
    let (status, refused) = send(Request::post(own.path("/rows")).json(&json!({ "Name": "Ada" })));
    assert_eq!((status, &refused["code"]), (403, &json!("missing_scope")));
    assert_eq!(send(Request::get("/v4/sessions")).0, 403);
}

fn commands_make_restricted_keys() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    let stdout = |arguments: &[&str]| {
        let output = server.command(arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let create = ["key", "create", "--team", "default", "--name", "CI"];
    let restricted =
        ["--scopes", "read,run", "--projects", &table.id, "--expires", "30d", "--allow-from", "127.0.0.1"];
    let secret = stdout(&[&create[..], &restricted[..]].concat());
    let ci = server.api_with(&secret);
    ci.get(table.path("")).ok();
    ci.post(table.path("/rows"), json!({ "Name": "Ada" })).refused(403, "missing_scope");
    let keys: Value = serde_json::from_str(&stdout(&["key", "list", "--details"])).unwrap();
    let key = keys.as_array().unwrap().iter().find(|key| key["name"] == "CI").unwrap().clone();
    assert_eq!((&key["scopes"], &key["projectIds"]), (&json!(["read", "run"]), &json!([table.id])));
    assert_eq!(key["allowFrom"], json!(["127.0.0.1"]));
    let expires_at = key["expiresAt"].as_str().unwrap();
    assert!(in_seconds(29 * 86_400).as_str() < expires_at && expires_at < in_seconds(31 * 86_400).as_str());
    let rotated = stdout(&["key", "rotate", key["id"].as_str().unwrap(), "--old-expires", "0h"]);
    wait_until_refused("the old key is over", &ci);
    server.api_with(&rotated).get(table.path("")).ok();
    for (wrong, told) in [
        (["--scopes", "reed"], "read, write, run, schema, admin"),
        (["--expires", "soon"], "--expires must be a date"),
        (["--allow-from", "here"], "--allow-from "),
        (["--projects", "nothing"], "--projects \"nothing\" is not a project of this team"),
    ] {
        let output = server.command(&[&create[..], &wrong[..]].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(told), "{wrong:?}: {error}");
    }
    let output = rowmill(server.folder(), &["key", "rotate", "nothing"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("there is no key"));
}

fn restrictions_survive_a_restart() {
    let mut server = Server::start(&[]);
    let body = json!({ "name": "Reader", "scopes": ["read"], "expiresAt": "2100-01-01T00:00:00Z" });
    let made = server.api().post("/v4/keys", body).created();
    let before = listed(&server.api(), made["key"]["id"].as_str().unwrap());
    server.crash_and_restart();
    assert_eq!(listed(&server.api(), made["key"]["id"].as_str().unwrap()), before);
    let reader = server.api_with(made["secret"].as_str().unwrap());
    reader.post("/v4/projects", json!({ "title": "x" })).refused(403, "missing_scope");
}

fn a_key_rotated_on_one_node_expires_on_all() {
    let first = nodes::first(&[]);
    let second = first.beside("serve", &[]);
    let made = first.api().post("/v4/keys", json!({ "name": "Sync" })).created();
    let elsewhere = second.api_with(made["secret"].as_str().unwrap());
    elsewhere.get("/v4/projects").ok();
    let path = format!("/v4/keys/{}/rotate", made["key"]["id"].as_str().unwrap());
    let new = first.api().post(path, json!({ "oldExpiresAt": "2001-01-01T00:00:00Z" })).created();
    wait_until_refused("the other node refuses it", &elsewhere);
    second.api_with(new["secret"].as_str().unwrap()).get("/v4/projects").ok();
}
