//! Contract section 3: `Idempotency-Key`, which makes repeating a POST safe.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Answer, Api, Request, Scenario, Server};

pub(crate) const SHARED: &[Scenario] = &scenarios!("repeats", Shared:
    every_post_is_carried_out_once_and_answered_alike,
    another_body_under_the_same_key_is_409,
    keys_are_apart_by_path_query_and_team,
    a_refused_request_spends_no_key,
    the_answer_is_repeated_whatever_happened_since,
    callers_at_once_with_one_key_make_one_row,
    a_key_has_1_to_255_visible_characters,
    an_answer_that_is_given_again_is_marked,
    an_import_is_carried_out_once,
    imports_at_once_with_one_key_are_carried_out_once,
    the_sample_is_made_once,
    what_shows_a_secret_refuses_a_key,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("repeats", Own:
    an_answer_survives_a_crash,
    the_answer_to_an_import_survives_a_crash,
);

fn post(api: &Api, path: &str, key: &str, body: &Value) -> Answer {
    api.send(Request::post(path).header("Idempotency-Key", key).json(body))
}

fn every_post_is_carried_out_once_and_answered_alike(api: &Api) {
    let table = api.table(&["Name"]);
    let matched = json!({ "Name": "Ada", "_trigger": 1, "stray": 2 });
    let posts = [
        (
            "/v4/projects".to_owned(),
            json!({ "title": "Once", "folderId": "once", "columns": [{ "templateId": "manual", "header": "input" }] }),
        ),
        (table.path("/rows"), json!([{ "Name": 1 }, { "Name": 2, "_trigger": 1, "stray": 2 }])),
        (table.path("/rows?matchOn=Name"), matched),
        (
            table.path("/columns"),
            json!({ "templateId": "ai-text", "header": "name", "aiConfig": { "prompt": "@{Name}" } }),
        ),
        (
            table.path("/views"),
            json!({ "name": "Once", "filters": [{ "columnId": "_trigger", "operator": "isEmpty" }] }),
        ),
    ];
    for (number, (path, body)) in posts.iter().enumerate() {
        let key = format!("{}-{number}", table.id);
        let first = post(api, path, &key, body);
        assert_eq!(first.status(), 201, "{}", first.text);
        for _ in 0..2 {
            let again = post(api, path, &key, body);
            assert_eq!((again.status(), &again.text), (201, &first.text), "{path}");
        }
        assert_ne!(post(api, path, &format!("{key}-other"), body).text, first.text, "{path}");
    }
    let folder = api.get("/v4/projects?folderId=once").ok();
    let ours = folder["projects"].as_array().unwrap().len();
    assert_eq!(ours, 2, "one for each key");
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 5);
    assert_eq!((table.columns().len(), table.get("/views").ok()["views"].as_array().unwrap().len()), (4, 2));
}

fn another_body_under_the_same_key_is_409(api: &Api) {
    let table = api.table(&["Name"]);
    let key = table.id.as_str();
    post(api, &table.path("/rows"), key, &json!({ "Name": 1 })).created();
    let refusal =
        post(api, &table.path("/rows"), key, &json!({ "Name": 2 })).refused(409, "idempotency_conflict");
    assert!(refusal.get("details").is_none());
    post(api, &table.path("/rows"), key, &json!({ "Name": 1 })).created();
    assert_eq!(table.values("Name", &[]), [1]);
}

fn keys_are_apart_by_path_query_and_team(api: &Api) {
    let (table, other) = (api.table(&["Name"]), api.table(&["Name"]));
    let key = table.id.as_str();
    post(api, &table.path("/rows"), key, &json!({ "Name": 1 })).created();
    post(api, &other.path("/rows"), key, &json!({ "Name": 2 })).created();
    post(api, &table.path("/views"), key, &json!({ "name": "x" })).created();
    // What the query says is part of what is asked.
    let matching = post(api, &table.path("/rows?matchOn=Name"), key, &json!({ "Name": 1 })).ok();
    assert_eq!((&matching["insertedCount"], &matching["unchangedCount"]), (&json!(0), &json!(1)));
    let again = post(api, &table.path("/rows?matchOn=Name"), key, &json!({ "Name": 1 }));
    assert_eq!(again.header("Idempotent-Replayed"), Some("true"));
    assert_eq!(again.ok(), matching);
    post(api, &table.path("/rows?matchOn=Name"), key, &json!({ "Name": 2 }))
        .refused(409, "idempotency_conflict");
    let third = api.table(&["Name"]);
    let imported = |query: &str| {
        let request = Request::post(third.path(&format!("/import{query}"))).bytes(b"Other\nx\n".to_vec());
        api.send(request.header("Content-Type", "text/csv").header("Idempotency-Key", key)).ok()
    };
    assert_eq!(imported("")["columnsCreated"].as_array().unwrap().len(), 1);
    assert_eq!(imported("?header=false&createColumns=false")["skippedCount"], 2);
    assert_eq!((table.values("Name", &[]), other.values("Name", &[])), (vec![json!(1)], vec![json!(2)]));
    let stranger = crate::harness::server::shared().team("repeats-stranger");
    post(api, "/v4/projects", key, &json!({ "title": "Ours" })).created();
    let theirs = post(&stranger, "/v4/projects", key, &json!({ "title": "Theirs" })).created();
    assert_eq!(theirs["project"]["title"], "Theirs");
    post(&stranger, &table.path("/rows"), key, &json!({ "Name": 1 })).refused(404, "project_not_found");
}

fn a_refused_request_spends_no_key(api: &Api) {
    let table = api.table(&["Name"]);
    let key = table.id.as_str();
    post(api, &table.path("/columns"), key, &json!({ "templateId": "nope" })).refused(400, "invalid_request");
    post(api, &table.path("/columns"), key, &json!({ "templateId": "manual" })).created();
}

fn the_answer_is_repeated_whatever_happened_since(api: &Api) {
    let table = api.table(&["Name"]);
    let key = table.id.as_str();
    let body = json!({ "Name": 1 });
    let first = post(api, &table.path("/rows"), key, &body);
    let column =
        post(api, &table.path("/columns"), key, &json!({ "templateId": "manual", "header": "Later" }));
    table.delete_rows(&[first.json["rows"][0].as_str().unwrap()]).ok();
    table.delete(&format!("/columns/{}", table.column("Name"))).ok();
    table.delete(&format!("/columns/{}", column.json["column"]["id"].as_str().unwrap())).ok();
    assert_eq!(post(api, &table.path("/rows"), key, &body).text, first.text);
    let again =
        post(api, &table.path("/columns"), key, &json!({ "templateId": "manual", "header": "Later" }));
    assert_eq!(again.text, column.text);
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 0);
    assert_eq!(table.headers(), ["Input"]);
}

fn callers_at_once_with_one_key_make_one_row(api: &Api) {
    let table = api.table(&["Name"]);
    let answers: Vec<String> = std::thread::scope(|scope| {
        let call = || post(api, &table.path("/rows"), &table.id, &json!({ "Name": 1 }));
        let callers: Vec<_> = (0..16).map(|_| scope.spawn(call)).collect();
        callers.into_iter().map(|caller| caller.join().unwrap().text).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(table.values("Name", &[]), [1]);
}

fn a_key_has_1_to_255_visible_characters(api: &Api) {
    let table = api.table(&["Name"]);
    post(api, &table.path("/rows"), &"k".repeat(255), &json!({ "Name": 1 })).created();
    for key in ["", &"k".repeat(256), "a b", "é"] {
        post(api, &table.path("/rows"), key, &json!({ "Name": 2 })).offends(&["Idempotency-Key"]);
    }
    assert_eq!(table.values("Name", &[]), [1]);
    // On anything but a POST it says nothing.
    let request =
        Request::new("PATCH", table.path("")).header("Idempotency-Key", "a b").json(&json!({ "title": "x" }));
    api.send(request).ok();
}

fn an_answer_survives_a_crash() {
    let mut server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    let first = post(&server.api(), &table.path("/rows"), "key", &json!({ "Name": 1 }));
    server.crash_and_restart();
    let api = server.api();
    let again = post(&api, &table.path("/rows"), "key", &json!({ "Name": 1 }));
    assert_eq!((again.status(), &again.text), (201, &first.text));
    post(&api, &table.path("/rows"), "key", &json!({ "Name": 2 })).refused(409, "idempotency_conflict");
    assert_eq!(table.through(&api).values("Name", &[]), [1]);
}

const MARK: &str = "Idempotent-Replayed";

fn an_answer_that_is_given_again_is_marked(api: &Api) {
    let table = api.table(&["Name"]);
    let posts = [
        ("/v4/projects".to_owned(), json!({ "title": "Once" })),
        (table.path("/rows"), json!({ "Name": 1 })),
        (table.path("/columns"), json!({ "templateId": "manual", "header": "Other" })),
        (table.path("/views"), json!({ "name": "Once" })),
        (table.path("/trigger"), json!({})),
        (table.path("/stop"), json!({})),
        (table.path("/trash/restore"), json!({ "rowIds": [] })),
    ];
    for (number, (path, body)) in posts.iter().enumerate() {
        let key = format!("{}-marked-{number}", table.id);
        let first = post(api, path, &key, body);
        assert_eq!(first.header(MARK), None, "{path}");
        let again = post(api, path, &key, body);
        assert_eq!((again.header(MARK), again.status()), (Some("true"), first.status()), "{path}");
        assert_eq!(again.text, first.text);
        let other = post(api, path, &format!("{key}-other"), body);
        assert_eq!(other.header(MARK), None, "{path}");
    }
    let other =
        post(api, &table.path("/rows?strict=true"), &format!("{}-marked-1", table.id), &json!({ "Name": 1 }));
    assert_eq!((other.status(), other.header(MARK)), (201, None), "another query is another request");
}

fn import(api: &Api, path: &str, key: &str, file: &str) -> Answer {
    let request = Request::post(path).header("Idempotency-Key", key).bytes(file.as_bytes().to_vec());
    api.send(request.header("Content-Type", "text/csv"))
}

fn an_import_is_carried_out_once(api: &Api) {
    let table = api.table(&["Name"]);
    let (path, key) = (table.path("/import"), table.id.as_str());
    // A refused file spends no key.
    import(api, &format!("{path}?delimiter=x"), key, "Name\na\n").refused(400, "invalid_request");
    let first = import(api, &path, key, "Name,City\nAda,Rome\nAlan,Bonn,x\n");
    assert_eq!((first.status(), first.header(MARK)), (200, None), "{}", first.text);
    let again = import(api, &path, key, "Name,City\nAda,Rome\nAlan,Bonn,x\n");
    assert_eq!((again.status(), again.header(MARK)), (200, Some("true")));
    assert_eq!(again.text, first.text);
    assert_eq!(again.json["rejectedCount"], 1);
    import(api, &path, key, "Name\nGrace\n").refused(409, "idempotency_conflict");
    let other = import(api, &format!("{path}?matchOn=Name"), key, "Name,City\nAda,Rome\nAlan,Bonn,x\n");
    assert_eq!((other.header(MARK), &other.json["unchangedCount"]), (None, &json!(1)), "another query");
    assert_eq!(table.values("Name", &[]), ["Ada"]);
    import(api, &path, &format!("{key}-other"), "Name\nGrace\n").ok();
    assert_eq!(table.values("Name", &[]), ["Ada", "Grace"]);
}

fn imports_at_once_with_one_key_are_carried_out_once(api: &Api) {
    let table = api.table(&["Name"]);
    let file: String =
        std::iter::once("Name\n".to_owned()).chain((0..3_000).map(|row| format!("{row}\n"))).collect();
    let answers: Vec<String> = std::thread::scope(|scope| {
        let call = || import(api, &table.path("/import"), &table.id, &file);
        let callers: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
        callers.into_iter().map(|caller| caller.join().unwrap().text).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 3_000);
}

fn the_sample_is_made_once(api: &Api) {
    let send = || api.send(Request::post("/v4/projects/sample").header("Idempotency-Key", "sample-once"));
    let (first, again) = (send(), send());
    assert_eq!((first.status(), first.header(MARK)), (201, None));
    assert_eq!((again.status(), again.header(MARK)), (201, Some("true")));
    assert_eq!((&again.text, again.header("ETag")), (&first.text, first.header("ETag")));
}

fn what_shows_a_secret_refuses_a_key(api: &Api) {
    for (path, body) in [("/v4/keys", json!({ "name": "x" })), ("/v4/teams", json!({ "slug": "once-team" }))]
    {
        post(api, path, "key", &body).offends(&["Idempotency-Key"]);
        let described = &api.document()["paths"][path]["post"];
        assert!(
            described["description"].as_str().unwrap().contains("`Idempotency-Key` is refused"),
            "{path}"
        );
        assert!(described["responses"].get("409").is_none());
    }
    let teams = api.get("/v4/teams").ok();
    assert!(teams["teams"].as_array().unwrap().iter().all(|team| team["slug"] != "once-team"));
}

fn the_answer_to_an_import_survives_a_crash() {
    let mut server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    let path = table.path("/import");
    let first = import(&server.api(), &path, "key", "Name\nAda\n");
    server.crash_and_restart();
    let api = server.api();
    let again = import(&api, &path, "key", "Name\nAda\n");
    assert_eq!((again.status(), &again.text, again.header(MARK)), (200, &first.text, Some("true")));
    assert_eq!(table.through(&api).values("Name", &[]), ["Ada"]);
}
