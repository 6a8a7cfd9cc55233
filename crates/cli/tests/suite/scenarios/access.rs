//! Contract section 4: who may do what, in every version, for every operation of the document.

use serde_json::{Value, json};

use crate::harness::api::Version;
use crate::harness::runner::scenarios;
use crate::harness::{Answer, Api, Request, Scenario, Server, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("access", Own:
    every_operation_tells_keys_apart,
    an_open_project_is_read_without_a_key,
    without_a_key_nobody_sees_what_requests_are_made_with,
    v3_refuses_in_the_order_it_promises,
    a_project_that_cannot_be_used_is_told_before_what_is_wrong_with_a_request,
    a_disabled_project_takes_only_what_enables_it,
    v3_and_v2_have_their_own_paths_and_words,
);

/// An operation of the document, ready to be tried on a project.
struct Operation {
    method: &'static str,
    template: String,
    body: Option<Value>,
}

impl Operation {
    fn all(document: &Value) -> Vec<Self> {
        let paths = document["paths"].as_object().unwrap();
        let methods =
            [("get", "GET"), ("post", "POST"), ("put", "PUT"), ("patch", "PATCH"), ("delete", "DELETE")];
        let of_path = |(template, item): (&String, &Value)| {
            let of_method = |(key, method): &(&str, &'static str)| {
                let operation = item.get(key)?;
                let body = operation
                    .get("requestBody")
                    .map(|body| body["content"]["application/json"]["example"].clone());
                Some(Self { method, template: template.clone(), body })
            };
            methods.iter().filter_map(of_method).collect::<Vec<_>>()
        };
        let versioned = |operation: &Self| operation.template.starts_with("/v");
        paths.iter().flat_map(of_path).filter(versioned).collect()
    }

    fn names_project(&self) -> bool {
        self.template.contains("{projectId}")
    }

    fn names_team(&self) -> bool {
        self.template.contains("{teamSlug}")
    }

    /// Whether it may be open: a read of one project, with the team's slug in the path.
    fn may_be_open(&self) -> bool {
        self.method == "GET" && self.names_team() && self.names_project()
    }

    /// Where it is tried on this project, with things in it that do not exist.
    fn path_on(&self, slug: &str, project: &str) -> String {
        let nobody = "0190f0e0a1b27c3d8e4f0123456789ab";
        let path = self
            .template
            .replace("{teamSlug}", slug)
            .replace("{projectId}", project)
            .replace("{columnId}", "col_000000000000")
            .replace("{rowId}", nobody)
            .replace("{viewId}", nobody)
            .replace("{provider}", "hunter")
            .replace("{name}", "NOBODYS")
            .replace("{keyId}", nobody);
        let query = match path.rsplit('/').next() {
            // A stream that is let in would not end.
            Some("events") => "?seconds=0",
            // What these require.
            Some("summary") => "?columnIds=col_000000000000",
            Some("groups") => "?columnId=col_000000000000",
            Some("find") => "?text=x",
            _ => "",
        };
        format!("{path}{query}")
    }

    /// What comes back then.
    fn try_on(&self, api: &Api, slug: &str, project: &str) -> Answer {
        let request = Request::new(self.method, self.path_on(slug, project));
        api.send(match &self.body {
            Some(body) => request.json(body),
            None => request,
        })
    }
}

/// Status, code and the headers that could tell more than they should.
fn seen(answer: &Answer) -> (u16, String, Vec<Option<String>>) {
    let names =
        ["content-type", "content-length", "www-authenticate", "x-ratelimit-limit", "retry-after", "allow"];
    let headers = names.iter().map(|name| answer.header(name).map(str::to_owned)).collect();
    (answer.status(), answer.text.clone(), headers)
}

fn every_operation_tells_keys_apart() {
    let server = Server::start(&[]);
    let api = server.api();
    let anonymous = server.api_without_key();
    let stranger = server.team("stranger");
    let (own, foreign) = (api.table(&["Name"]), stranger.table(&["Name"]));
    let missing = "proj_0190f0e0a1b27c3d8e4f0123456789ab";
    let revoked = revoked_key(&server);
    let operations = Operation::all(api.document());
    assert!(operations.len() > 40, "{}", operations.len());
    for operation in &operations {
        let told = format!("{} {}", operation.method, operation.template);
        operation.try_on(&anonymous, "default", &own.id).refused(401, "unauthenticated");
        operation.try_on(&server.api_with("nonsense"), "default", &own.id).refused(403, "invalid_api_key");
        operation.try_on(&revoked, "default", &own.id).refused(403, "invalid_api_key");
        if operation.names_team() {
            operation.try_on(&stranger, "default", &own.id).refused(403, "invalid_api_key");
            operation.try_on(&api, "no-such-team", &own.id).refused(404, "team_not_found");
        }
        if operation.names_project() {
            let absent = seen(&operation.try_on(&api, "default", missing));
            assert_eq!(absent.0, 404, "{told}");
            assert!(absent.1.contains("Project not found"), "{told}: {}", absent.1);
            for other in [foreign.id.as_str(), "nonsense", "%00"] {
                assert_eq!(seen(&operation.try_on(&api, "default", other)), absent, "{told} on {other}");
            }
        }
    }
    own.patch("", json!({ "settings": { "api": { "enabled": false } } })).ok();
    for operation in operations.iter().filter(|operation| operation.names_project()) {
        operation.try_on(&api, "default", &own.id).refused(403, "api_disabled");
        operation.try_on(&anonymous, "default", &own.id).refused(401, "unauthenticated");
    }
}

fn without_a_key_nobody_sees_what_requests_are_made_with() {
    let server = Server::start(&[]);
    let (api, anonymous) = (server.api(), server.api_without_key());
    let request = json!({
        "method": "POST", "url": "https://user:canary@a.example/path?token=canary&x=@{_trigger}",
        "headers": { "X-Key": "canary" }, "query": { "api_key": "canary" }, "body": { "deep": ["canary"] },
    });
    let columns = json!([{ "templateId": "http-api", "header": "Call", "apiConfig": request }]);
    let table = api.table_of(json!({ "title": "Open", "columns": columns }));
    table.patch("", json!({ "settings": { "api": { "requireKey": false } } })).ok();
    for rest in ["", "/columns"] {
        let path = format!("/v3/default/{}{rest}", table.id);
        let own = api.get(path.as_str());
        assert_eq!(own.text.matches("canary").count(), 5, "with a key all is shown: {}", own.text);
        let open = anonymous.get(path.as_str());
        assert!(open.text.contains("X-Key") && open.text.contains("a.example/path"), "{}", open.text);
        assert!(!open.text.contains("canary"), "{}", open.text);
    }
}

fn an_open_project_is_read_without_a_key() {
    let server = Server::start(&[("ROWMILL_RATE_LIMIT_ANONYMOUS", "1000/1000")]);
    let (api, anonymous) = (server.api(), server.api_without_key());
    let open = api.table(&["Name"]);
    let closed = api.table(&["Name"]);
    open.insert(json!({ "Name": "Ada" }));
    open.patch("", json!({ "settings": { "api": { "requireKey": false } } })).ok();
    let operations = Operation::all(api.document());
    let reads: Vec<&Operation> = operations.iter().filter(|operation| operation.may_be_open()).collect();
    assert_eq!(
        reads.len(),
        11,
        "project, columns, column, templates, rows, row, status, runs, run, views, view"
    );
    for operation in &reads {
        let status = operation.try_on(&anonymous, "default", &open.id).status();
        assert!(matches!(status, 200 | 404), "{}: {status}", operation.template);
        // Closed, missing and foreign look alike to those without a key.
        let refused = seen(&operation.try_on(&anonymous, "default", &closed.id));
        assert_eq!(refused.0, 401);
        let missing = "proj_0190f0e0a1b27c3d8e4f0123456789ab";
        assert_eq!(seen(&operation.try_on(&anonymous, "default", missing)), refused);
    }
    let rows = anonymous.get(format!("/v3/default/{}/rows", open.id));
    assert_eq!(rows.header("x-ratelimit-limit"), Some("1000"), "counted per address");
    assert_eq!(rows.ok()["rows"].as_array().unwrap().len(), 1);
    for operation in operations.iter().filter(|operation| !operation.may_be_open()) {
        operation.try_on(&anonymous, "default", &open.id).refused(401, "unauthenticated");
    }
    open.patch("", json!({ "settings": { "api": { "enabled": false } } })).ok();
    anonymous.get(format!("/v3/default/{}/rows", open.id)).refused(403, "api_disabled");
}

fn v3_refuses_in_the_order_it_promises() {
    let server = Server::start(&[]);
    let (api, anonymous, stranger) = (server.api(), server.api_without_key(), server.team("other"));
    let table = api.table(&["Name"]);
    let bad = server.api_with("nonsense");
    let on = |api: &Api, slug: &str, id: &str| api.get(format!("/v3/{slug}/{id}/rows"));
    on(&bad, "nowhere", "nothing").refused(403, "invalid_api_key");
    on(&anonymous, "nowhere", "nothing").refused(404, "team_not_found");
    on(&stranger, "nowhere", "nothing").refused(404, "team_not_found");
    on(&stranger, "default", "nothing").refused(403, "invalid_api_key");
    on(&anonymous, "default", "nothing").refused(401, "unauthenticated");
    on(&api, "default", "nothing").refused(404, "project_not_found");
    table.patch("", json!({ "settings": { "api": { "enabled": false } } })).ok();
    on(&api, "default", &table.id).refused(403, "api_disabled");
    // All of that before a body is looked at.
    let wrong = |api: &Api, slug: &str| api.post(format!("/v3/{slug}/{}/rows", table.id), json!(1)).status();
    assert_eq!([wrong(&bad, "x"), wrong(&anonymous, "x"), wrong(&anonymous, "default")], [403, 404, 401]);
}

fn a_project_that_cannot_be_used_is_told_before_what_is_wrong_with_a_request() {
    let server = Server::start(&[("ROWMILL_BODY_BYTES_MAX", "100000")]);
    let api = server.api();
    let foreign = server.team("stranger").table(&["Name"]);
    let disabled = api.table(&["Name"]);
    disabled.patch("", json!({ "settings": { "api": { "enabled": false } } })).ok();
    let operations = Operation::all(api.document());
    for operation in operations.iter().filter(|operation| operation.names_project()) {
        let wrong = |project: &str| -> Vec<Answer> {
            let path = operation.path_on("default", project);
            let request = || Request::new(operation.method, path.clone());
            let joint = if path.contains('?') { '&' } else { '?' };
            let mut wrong = vec![Request::new(operation.method, format!("{path}{joint}bogus=1&bogus=2"))];
            if operation.method == "POST" {
                wrong.push(request().header("Idempotency-Key", ""));
            }
            if operation.body.is_some() {
                wrong.push(request());
                wrong.push(request().text("{"));
                wrong.push(request().text("[7]"));
                wrong.push(request().text(r#"{"bogus":1,"title":7}"#));
                wrong.push(request().text(&format!("[{}]", " ".repeat(100_001))));
                wrong.push(request().bytes(b"{}".to_vec()).header("Content-Type", "text/plain"));
                wrong.push(request().text("{}").header("Content-Encoding", "br"));
            }
            wrong.into_iter().map(|request| api.send(request)).collect()
        };
        for answer in wrong(&disabled.id) {
            answer.refused(403, "api_disabled");
        }
        for project in [foreign.id.as_str(), "nonsense"] {
            for answer in wrong(project) {
                answer.refused(404, "project_not_found");
            }
        }
    }
    // What is not there in the project is not told either.
    for path in ["/rows/nope", "/columns/nope", "/views/nope", "/rows?viewId=nope"] {
        disabled.get(path).refused(403, "api_disabled");
    }
}

fn a_disabled_project_takes_only_what_enables_it() {
    let server = Server::start(&[]);
    let api = server.api();
    for version in [Version::V4, Version::V3] {
        let api = api.clone().in_version(version);
        let table = api.table(&["Name"]);
        let settings = |enabled: Value| json!({ "api": { "enabled": enabled } });
        table.patch("", json!({ "settings": settings(json!(false)) })).ok();
        for refused in [
            json!({}),
            json!({ "title": "New" }),
            json!({ "title": "" }),
            json!({ "title": 7 }),
            json!({ "settings": settings(json!("true")) }),
            json!({ "settings": settings(json!(false)), "title": 7 }),
            json!({ "settings": { "api": { "requireKey": false } } }),
        ] {
            table.patch("", refused).refused(403, "api_disabled");
        }
        // What would enable it is told what is wrong with it.
        for (body, place) in [
            (json!({ "settings": settings(json!(true)), "title": "" }), "title"),
            (json!({ "settings": settings(json!(true)), "title": 7 }), "title"),
            (json!({ "settings": settings(json!(true)), "bogus": 7 }), "bogus"),
        ] {
            table.patch("", body).offends(&[place]);
            table.get("").refused(403, "api_disabled");
        }
        table.patch("", json!({ "settings": settings(json!(true)), "title": "New" })).ok();
        assert_eq!(table.get("").ok()["project"]["title"], "New");
        table.patch("", json!({ "settings": settings(json!(false)) })).ok();
        table.patch("", json!({ "settings": null })).ok();
        table.get("").ok();
    }
}

fn v3_and_v2_have_their_own_paths_and_words() {
    let server = Server::start(&[]);
    let api = server.api();
    let table: Table = api.table(&["Name"]);
    let listed = api.get("/v3/default/projects").ok()["projects"].clone();
    assert_eq!(listed, api.get("/v4/projects").ok()["projects"]);
    let refused = api.post("/v3/default/projects", json!({ "title": "No" }));
    assert_eq!(refused.header("allow"), Some("GET,HEAD"));
    refused.refused(405, "method_not_allowed");
    let project = format!("/v3/default/{}", table.id);
    let column = api.post(format!("{project}/columns"), json!({ "templateId": "waterfall-email" })).created();
    assert_eq!(column["column"], table.full_column(column["column"]["id"].as_str().unwrap()));
    assert_eq!(column["column"]["taskConfig"]["taskType"], "waterfallEmail");
    assert_eq!(column["appliedFixes"], json!([]));
    let view = api.post(format!("{project}/views"), json!({ "name": "All" })).created()["view"].clone();
    assert!(view["createdAt"].as_str().unwrap().ends_with('Z'), "{view}");
    let changed = api.patch(project.clone(), json!({ "title": "Renamed" })).ok();
    assert_eq!(changed["project"]["title"], "Renamed");

    let rows = format!("/v2/default/{}/rows", table.id);
    let row =
        api.post(rows.clone(), json!({ "Name": "Ada" })).created()["rows"][0].as_str().unwrap().to_owned();
    let patched = api.patch(format!("{rows}/{row}"), json!({ "Name": "Grace", "stray": 1 })).ok();
    assert_eq!(patched["ignoredKeys"], json!(["stray"]));
    assert_eq!(table.value(&row, table.column("Name")), "Grace");
    api.get(rows).refused(405, "method_not_allowed");
    api.get(format!("/v2/default/{}", table.id)).refused(404, "not_found");
    api.delete(project).ok();
    table.get("").refused(404, "project_not_found");
}

/// The API through a key that was revoked.
fn revoked_key(server: &Server) -> Api {
    let made = server.command(&["key", "create", "--team", "default", "--name", "doomed"]);
    let key = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let keys: Value = serde_json::from_slice(&server.command(&["key", "list"]).stdout).unwrap();
    let doomed = keys.as_array().unwrap().iter().find(|key| key["name"] == "doomed").unwrap();
    let revoked = server.command(&["key", "revoke", doomed["id"].as_str().unwrap()]);
    assert!(revoked.status.success(), "{revoked:?}");
    server.api_with(&key)
}
