//! Keys that may not do everything: scopes and projects, over the API and `/mcp`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Agent, Api, Request, Scenario, Server, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("key_scopes", Own:
    every_operation_needs_its_scopes,
    other_projects_do_not_exist_for_a_limited_key,
    lists_show_the_projects_of_the_key,
    a_key_never_has_more_than_its_maker,
    scopes_count_for_agents,
    writing_rows_makes_no_columns,
    webhooks_give_no_more_than_their_maker_has,
);

const SCOPES: [&str; 5] = ["read", "write", "run", "schema", "admin"];

/// No limit on requests: this asks for everything.
const UNLIMITED: (&str, &str) = ("ROWMILL_RATE_LIMIT_KEY", "0");

/// The API with a new key.
fn with_key(server: &Server, mut body: Value) -> Api {
    body["name"] = json!("Restricted");
    let made = server.api().post("/v4/keys", body).created();
    server.api_with(made["secret"].as_str().unwrap())
}

fn without(scope: &str) -> Vec<&'static str> {
    SCOPES.into_iter().filter(|other| *other != scope).collect()
}

/// One operation of the document.
struct Operation {
    method: &'static str,
    path: String,
    scopes: Vec<String>,
    takes_key: bool,
}

fn operations(document: &Value) -> Vec<Operation> {
    let method = |name: &str| match name {
        "get" => "GET",
        "post" => "POST",
        "put" => "PUT",
        "patch" => "PATCH",
        "delete" => "DELETE",
        other => panic!("{other}"),
    };
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(name, operation)| Operation {
            method: method(name),
            path: path.clone(),
            scopes: texts(&operation["x-scopes"]),
            takes_key: operation["security"]
                .as_array()
                .unwrap()
                .iter()
                .any(|way| way.get("bearer").is_some()),
        })
    });
    all.collect()
}

impl Operation {
    /// A request of a caller who knows a project and nothing else.
    fn request(&self, project: &str) -> Request {
        let segments = self.path.split('/').map(|segment| match segment {
            "{projectId}" => project,
            "{teamSlug}" => "default",
            parameter if parameter.starts_with('{') => "nothing",
            other => other,
        });
        let request = Request::new(self.method, segments.collect::<Vec<_>>().join("/"));
        if matches!(self.method, "GET" | "DELETE") { request } else { request.json(&json!({})) }
    }
}

fn every_operation_needs_its_scopes() {
    let server = Server::start(&[UNLIMITED]);
    let api = server.api();
    let project = api.table(&["Name"]).id;
    let all = operations(api.document());
    for operation in &all {
        let Operation { method, path, scopes, takes_key } = operation;
        assert_eq!(!scopes.is_empty(), *takes_key, "{method} {path}");
    }
    for scope in SCOPES {
        let lacking = with_key(&server, json!({ "scopes": without(scope) }));
        let alone = with_key(&server, json!({ "scopes": [scope] }));
        let needing: Vec<&Operation> =
            all.iter().filter(|operation| operation.scopes.iter().any(|needed| needed == scope)).collect();
        assert!(!needing.is_empty(), "{scope}");
        for operation in needing {
            let refused = lacking.send(operation.request(&project)).refused(403, "missing_scope");
            let told = refused["error"].as_str().unwrap();
            assert!(told.contains(&format!("{scope:?}")), "{} {}: {told}", operation.method, operation.path);
            // What it is enough for is refused for other reasons, if at all. A stream would go on.
            if operation.scopes.len() == 1 && !operation.path.ends_with("/events") {
                let request = operation.request("0190f0e0a1b27c3d8e4f0123456789ab");
                let code = alone.send(request).json["code"].clone();
                assert_ne!(code, "missing_scope", "{} {}", operation.method, operation.path);
            }
        }
    }
    assert_eq!(api.get(format!("/v4/projects/{project}")).ok()["project"]["title"], "Test");
    // Without a key, a path's refusals are what they were.
    server.api_without_key().get("/v4/projects").refused(401, "unauthenticated");
}

fn other_projects_do_not_exist_for_a_limited_key() {
    let server = Server::start(&[UNLIMITED]);
    let api = server.api();
    let (own, other) = (api.table(&["Name"]), api.table(&["Name"]));
    let limited = with_key(&server, json!({ "projectIds": [own.id] }));
    let unknown = "proj_0190f0e0a1b27c3d8e4f0123456789ab";
    for operation in operations(api.document()) {
        if !operation.path.contains("{projectId}") || !operation.takes_key {
            continue;
        }
        let ask = |project: &str| {
            let answer = limited.send(operation.request(project));
            (answer.status(), answer.json)
        };
        let refused = ask(&other.id);
        assert_eq!(refused, ask(unknown), "{} {}", operation.method, operation.path);
        // Such a key has no admin, whatever the project.
        let is_admin = operation.scopes.iter().any(|scope| scope == "admin");
        let expected = if is_admin { (403, "missing_scope") } else { (404, "project_not_found") };
        assert_eq!((refused.0, refused.1["code"].as_str().unwrap()), expected, "{}", operation.path);
    }
    assert_eq!(api.get(other.path("")).ok()["project"]["title"], "Test", "nothing happened to it");
    limited.get(own.path("")).ok();
    limited.post(own.path("/rows"), json!({ "Name": "Ada" })).created();
    // An answer that is kept for somebody else's request is not repeated, either.
    let insert = |api: &Api| {
        let request = Request::post(other.path("/rows")).json(&json!({ "Name": "Bob" }));
        api.send(request.header("Idempotency-Key", "known"))
    };
    insert(&api).created();
    insert(&limited).refused(404, "project_not_found");
    for (create, body) in [("/v4/projects", json!({ "title": "New" })), ("/v4/projects/sample", json!({}))] {
        limited.post(create, body).refused(403, "limited_to_projects");
    }
    limited.get("/v4/keys").refused(403, "missing_scope");
}

fn lists_show_the_projects_of_the_key() {
    let server = Server::start(&[]);
    let api = server.api();
    let (own, other) = (api.table(&["Name"]), api.table(&["Name"]));
    let limited = with_key(&server, json!({ "projectIds": [own.id] }));
    for path in ["/v4/projects", "/v4/projects?page=1&pageSize=1", "/v3/default/projects"] {
        let listed = limited.get(path).ok();
        let ids: Vec<&Value> =
            listed["projects"].as_array().unwrap().iter().map(|project| &project["id"]).collect();
        assert_eq!(ids, [&json!(own.id)], "{path}");
    }
    assert_eq!(limited.get("/v4/projects?page=2&pageSize=1").ok()["projects"], json!([]));
    let used = limited.get("/v4/usage").ok();
    assert_eq!(used["projects"].as_array().unwrap().len(), 1, "{used}");
    let tables = Agent::new(&limited).call("list_tables", json!({})).content;
    assert_eq!(tables["tables"].as_array().unwrap().len(), 1, "{tables}");

    api.delete(own.path("")).ok();
    api.delete(other.path("")).ok();
    let trash = limited.get("/v4/trash").ok();
    assert_eq!(trash["projects"].as_array().unwrap().len(), 1, "{trash}");
    limited.delete("/v4/trash").refused(403, "limited_to_projects");
    let restore = |id: &str| {
        limited.post("/v4/trash/restore", json!({ "projectIds": [id] })).ok()["restoredCount"].clone()
    };
    assert_eq!((restore(&other.id), restore(&own.id)), (json!(0), json!(1)));
    limited.get(own.path("")).ok();
}

fn a_key_never_has_more_than_its_maker() {
    let server = Server::start(&[]);
    let api = server.api();
    let made = api.post("/v4/keys", json!({ "name": "All" })).created()["key"].clone();
    assert_eq!(made["scopes"], json!(SCOPES));
    let none = ["projectIds", "expiresAt", "allowFrom", "lastUsedFrom"].map(|field| made[field].clone());
    assert_eq!(none, [(); 4].map(|()| Value::Null));

    let body = json!({
        "name": "Clerk", "scopes": ["admin", "read"], "expiresAt": "2100-01-31T00:00:00Z", "allowFrom": ["127.0.0.0/8"]
    });
    let clerk = api.post("/v4/keys", body).created();
    assert_eq!(clerk["key"]["scopes"], json!(["read", "admin"]));
    assert_eq!(clerk["key"]["expiresAt"], "2100-01-31T00:00:00.000Z");
    let clerk_key = clerk["key"]["id"].as_str().unwrap().to_owned();
    let clerk = server.api_with(clerk["secret"].as_str().unwrap());
    let same = clerk.post("/v4/keys", json!({ "name": "Same" })).created()["key"].clone();
    for field in ["scopes", "expiresAt", "allowFrom"] {
        assert!(!same[field].is_null(), "{same}");
    }
    assert_eq!((&same["scopes"], &same["allowFrom"]), (&json!(["read", "admin"]), &json!(["127.0.0.0/8"])));
    let less = json!({ "name": "Less", "scopes": ["read"], "expiresAt": "2099-01-01T00:00:00Z", "allowFrom": ["127.0.0.1"] });
    assert_eq!(clerk.post("/v4/keys", less).created()["key"]["allowFrom"], json!(["127.0.0.1"]));
    // IPv4 addresses are the same in either notation.
    let mapped = json!({ "name": "Mapped", "allowFrom": ["::ffff:127.0.0.0/104"] });
    let mapped = clerk.post("/v4/keys", mapped).created();
    assert_eq!(mapped["key"]["allowFrom"], json!(["127.0.0.0/8"]));
    server.api_with(mapped["secret"].as_str().unwrap()).get("/v4/projects").ok();
    let ask = |body: Value| clerk.post("/v4/keys", body);
    ask(json!({ "name": "More", "scopes": ["read", "run"] })).refused(403, "missing_scope");
    ask(json!({ "name": "Later", "expiresAt": "2100-02-01T00:00:00Z" })).offends(&["expiresAt"]);
    ask(json!({ "name": "Wider", "allowFrom": ["127.0.0.1", "0.0.0.0/0"] })).offends(&["allowFrom[1]"]);
    // Nor by rotating another key.
    let rotate = format!("/v4/keys/{}/rotate", made["id"].as_str().unwrap());
    clerk.post(rotate, json!({})).refused(403, "missing_scope");
    clerk.post(format!("/v4/keys/{clerk_key}/rotate"), json!({})).created();

    // Nor in a team that it makes.
    let team = clerk.post("/v4/teams", json!({ "slug": "clerks" })).created();
    let first = server.api_with(team["secret"].as_str().unwrap());
    let listed = first.get("/v4/keys").ok()["keys"][0].clone();
    for field in ["scopes", "expiresAt", "allowFrom"] {
        assert_eq!(listed[field], same[field], "{field}");
    }
    first.post("/v4/projects", json!({ "title": "Theirs" })).refused(403, "missing_scope");

    let own = api.table(&["Name"]).id;
    let stranger = server.team("stranger").table(&["Name"]).id;
    let limited = api.post("/v4/keys", json!({ "name": "One", "projectIds": [own, own] })).created();
    assert_eq!(limited["key"]["projectIds"], json!([own]));
    assert_eq!(limited["key"]["scopes"], json!(without("admin")));
    let wrong = json!({ "name": "One", "projectIds": [own, stranger, "nothing"] });
    api.post("/v4/keys", wrong).offends(&["projectIds[1]", "projectIds[2]"]);
    for (wrong, place) in [
        (json!({ "scopes": [] }), "scopes"),
        (json!({ "scopes": ["reed"] }), "scopes[0]"),
        (json!({ "scopes": ["admin"], "projectIds": [own] }), "scopes"),
        (json!({ "projectIds": [] }), "projectIds"),
        (json!({ "allowFrom": [] }), "allowFrom"),
        (json!({ "allowFrom": ["10.0.0.0/33"] }), "allowFrom[0]"),
        (json!({ "allowFrom": ["::ffff:10.0.0.0/90"] }), "allowFrom[0]"),
        (json!({ "expiresAt": "2001-01-01T00:00:00Z" }), "expiresAt"),
        (json!({ "expiresAt": "tomorrow" }), "expiresAt"),
    ] {
        let mut body = wrong;
        body["name"] = json!("Wrong");
        api.post("/v4/keys", body).offends(&[place]);
    }
}

fn scopes_count_for_agents() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    let reader = with_key(&server, json!({ "scopes": ["read"] }));
    let agent = Agent::new(&reader);
    let reading =
        ["describe_table", "get_row", "list_column_kinds", "list_tables", "query_rows", "run_status"];
    assert_eq!(agent.tools(), reading);
    let refused = agent.call("upsert_rows", json!({ "table": table.id, "rows": [{ "Name": "Ada" }] }));
    assert!(refused.is_error && refused.text.contains("\"write\""), "{refused:?}");
    assert_eq!(table.values("Name", &[]), Vec::<Value>::new());
    let writer = Agent::new(&with_key(&server, json!({ "scopes": ["read", "write"] })));
    assert!(
        writer.tools().contains(&"upsert_rows") && !writer.tools().contains(&"run"),
        "{:?}",
        writer.tools()
    );
    // What is no tool reads, too.
    let blind = Agent::new(&with_key(&server, json!({ "scopes": ["write"] })));
    assert_eq!(blind.tools(), Vec::<&str>::new());
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {} });
    let told = String::from_utf8(blind.post(&message, &[]).body).unwrap();
    assert!(told.contains("error") && !told.contains(&table.id), "{told}");
}

fn writing_rows_makes_no_columns() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    let writer = with_key(&server, json!({ "scopes": ["write"] }));
    let import = |query: &str| {
        let request = Request::post(format!("{}{query}", table.path("/import")))
            .bytes(b"Name,City\nAda,Ulm\n".to_vec());
        writer.send(request.header("Content-Type", "text/csv"))
    };
    import("").refused(403, "missing_scope");
    assert_eq!(import("?createColumns=false").ok()["importedCount"], 1);
    // A job in the background has the scopes of its key, too.
    let ended = |query: &str| {
        let job = import(query).json["job"]["id"].as_str().unwrap().to_owned();
        eventually("the import ends", Duration::from_secs(30), || {
            let job = server.api().get(table.path(&format!("/imports/{job}"))).ok()["job"].clone();
            Some(job).filter(|job| job["status"] != "queued" && job["status"] != "running")
        })
    };
    assert_eq!(ended("?async=true&createColumns=false")["status"], "finished");
    let failed = ended("?async=true");
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!("missing_scope")));
    assert_eq!(table.values("Name", &[]), [json!("Ada"), json!("Ada")]);
    let restore = json!({ "columnIds": ["Name"] });
    writer.post(table.path("/trash/restore"), restore).refused(403, "missing_scope");
}

/// Rows leave through outbound webhooks and come in through hooks: `admin` alone is neither `read` nor `write`.
fn webhooks_give_no_more_than_their_maker_has() {
    let server = Server::start(&[]);
    let api = server.api();
    let table = api.table(&["Email"]);
    let (webhooks, received) = ("/v4/team/webhooks", "/v4/team/inbound-deliveries");
    let webhook_body = json!({ "url": "https://example.com/in", "events": ["row.created"] });
    let webhook = api.post(webhooks, webhook_body.clone()).created()["webhook"]["id"].clone();
    let webhook = format!("{webhooks}/{}", webhook.as_str().unwrap());
    let hook = table.post("/hooks", json!({ "name": "Form" })).created();
    let hook_path = table.path(&format!("/hooks/{}", hook["hook"]["id"].as_str().unwrap()));
    let address = hook["url"].as_str().unwrap().split_once(&api.address).unwrap().1.to_owned();
    api.post(&address, json!({ "Email": "a" })).ok();
    let delivery = eventually("the delivery is listed", Duration::from_secs(30), || {
        api.get(received).ok()["deliveries"][0]["id"].as_str().map(|id| format!("{received}/{id}"))
    });
    let adding = json!({ "unknownKeys": "addColumns" });
    let lacks = |scopes: &[&str], request: Request, scope: &str| {
        let refused =
            with_key(&server, json!({ "scopes": scopes })).send(request).refused(403, "missing_scope");
        assert!(refused["error"].as_str().unwrap().contains(&format!("{scope:?}")), "{refused}");
    };
    let replay = || Request::post(format!("{delivery}/replay"));
    lacks(&["admin"], Request::post(webhooks).json(&webhook_body), "read");
    lacks(&["admin"], Request::new("PATCH", &webhook).json(&json!({ "enabled": true })), "read");
    lacks(&["admin"], Request::get(format!("{webhook}/deliveries")), "read");
    lacks(&["admin"], Request::get(&delivery), "read");
    lacks(&["admin", "read"], replay(), "write");
    lacks(&["admin", "write"], replay(), "read");
    lacks(&["admin", "read"], Request::post(table.path("/hooks")).json(&json!({ "name": "B" })), "write");
    lacks(&["admin", "read"], Request::new("PATCH", &hook_path).json(&json!({ "name": "B" })), "write");
    lacks(&["admin", "read"], Request::post(format!("{hook_path}/rotate")).json(&json!({})), "write");
    lacks(&["admin", "write"], Request::new("PATCH", &hook_path).json(&adding), "schema");
    let mut named = adding.clone();
    named["name"] = json!("B");
    lacks(&["admin", "write"], Request::post(table.path("/hooks")).json(&named), "schema");
    assert_eq!(table.values("Email", &[]), [json!("a")], "nothing was written");

    let clerk = with_key(&server, json!({ "scopes": ["admin", "read", "write"] }));
    assert!(clerk.get(&delivery).ok()["delivery"]["body"].as_str().unwrap().contains("Email"));
    clerk.send(replay()).ok();
    assert_eq!(table.values("Email", &[]), [json!("a"), json!("a")]);
    // What shows no rows and lets nobody write needs no more than before.
    let admin = with_key(&server, json!({ "scopes": ["admin"] }));
    admin.get(webhooks).ok();
    admin.delete(&webhook).ok();
    admin.get(table.path("/hooks")).ok();
    admin.delete(&hook_path).ok();
    let all = with_key(&server, json!({ "scopes": ["admin", "schema", "write"] }));
    all.post(table.path("/hooks"), named).created();
}
