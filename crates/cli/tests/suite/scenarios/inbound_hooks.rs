//! Inbound hooks: any JSON or form becomes rows, at an address that is a secret.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Answer, Api, Request, Scenario, Server, Table, eventually};

pub(crate) const SHARED: &[Scenario] = &scenarios!("inbound_hooks", Shared:
    json_becomes_rows_by_header,
    what_names_no_column_is_kept_added_or_ignored,
    what_the_input_column_has_no_room_for_is_named,
    an_array_is_taken_whole_or_not_at_all,
    a_match_updates_the_row,
    a_hook_whose_columns_are_deleted_says_so,
    forms_become_rows,
    headers_are_written_into_columns,
    a_wrong_address_is_no_address,
    a_rotated_address_works_on_for_a_while,
    settings_are_checked_and_changed,
    a_disabled_hook_keeps_what_comes,
    what_is_too_large_or_no_json_is_refused,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("inbound_hooks", Own:
    hooks_outlive_a_crash_and_their_project_the_trash,
    wrong_secrets_count_as_failed_authentication,
    deliveries_are_counted_per_team,
    a_project_has_so_many_hooks,
);

const TIME_MAX: Duration = Duration::from_secs(30);

/// A hook, and where to send to.
pub(super) struct Hook {
    pub(super) id: String,
    pub(super) path: String,
}

pub(super) fn hook(table: &Table, settings: Value) -> Hook {
    let mut body = json!({ "name": "Form" });
    body.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let made = table.post("/hooks", body).created();
    Hook { id: made["hook"]["id"].as_str().unwrap().to_owned(), path: path_of(&table.api, &made) }
}

fn path_of(api: &Api, made: &Value) -> String {
    let url = made["url"].as_str().unwrap();
    url.split_once(&api.address).unwrap_or_else(|| panic!("{url}")).1.to_owned()
}

#[track_caller]
fn counts(answer: Answer) -> [u64; 3] {
    let json = answer.ok();
    ["rowsCreated", "rowsUpdated", "rowsUnchanged"].map(|name| json[name].as_u64().unwrap())
}

/// Sends something of a type.
pub(super) fn send(api: &Api, path: &str, content_type: &str, body: &str) -> Answer {
    let request = Request::post(path).bytes(body.as_bytes().to_vec());
    api.send(request.header("Content-Type", content_type))
}

fn cells(table: &Table) -> Vec<Value> {
    let page = table.rows(&[("keyBy", "header"), ("pageSize", "100")]);
    page["rows"].as_array().unwrap().iter().map(|row| row["cells"].clone()).collect()
}

fn json_becomes_rows_by_header(api: &Api) {
    let table = api.table(&["Email", "Order"]);
    let hook = hook(&table, json!({}));
    // No key, a parameter of the sender's own, another letter case, digits that stay, and nested values.
    let sent = Request::post(format!("{}?source=shop", hook.path))
        .text(r#"{"EMAIL": "ada@example.com", "Order": {"total": 12.50, "items": [1, 2]}}"#)
        .header("Authorization", "Basic eDp5");
    assert_eq!(counts(api.send(sent)), [1, 0, 0]);
    let row = &table.rows(&[])["rows"][0];
    assert_eq!(row["cells"][table.column("Email")], "ada@example.com");
    assert!(table.list(&[]).text.contains("12.50"), "numbers keep their digits");
    assert_eq!(counts(api.post(&hook.path, json!([{ "Email": "b" }, { "Email": "c" }]))), [2, 0, 0]);
    assert_eq!(table.values("Email", &[]), ["ada@example.com", "b", "c"]);
    for content_type in ["text/plain; charset=utf-8", "application/cloudevents+json"] {
        assert_eq!(counts(send(api, &hook.path, content_type, r#"{"Email":"d"}"#)), [1, 0, 0]);
    }
    for (body, words) in [("", "empty"), ("  ", "empty"), ("[]", "empty array")] {
        let ignored = send(api, &hook.path, "application/json", body).ok();
        assert!(ignored["ignored"].as_str().unwrap().contains(words), "{ignored}");
        assert_eq!(ignored["rowsCreated"], 0);
    }
}

fn what_the_input_column_has_no_room_for_is_named(api: &Api) {
    let table = api.table(&["Email"]);
    table.insert(json!([{ "Email": "empty" }, { "Email": "text", "_trigger": "mine" }]));
    let hook = hook(&table, json!({ "matchOn": "Email" }));
    let check = |body: Value, counted: [u64; 3], ignored: Value| {
        assert_eq!(counts(api.post(&hook.path, body.clone())), counted, "{body}");
        let deliveries = || api.get(format!("/v4/team/inbound-deliveries?hookId={}", hook.id)).ok();
        let newest = || Some(deliveries()["deliveries"][0]["outcomes"][0]["ignoredKeys"].clone());
        eventually("the keys are named", TIME_MAX, || newest().filter(|keys| *keys == ignored));
    };
    check(json!({ "Email": "empty", "a": 1 }), [0, 0, 1], json!(["a"]));
    check(json!({ "Email": "text", "b": 1 }), [0, 0, 1], json!(["b"]));
    check(json!({ "Email": "own", "_trigger": { "kept": true }, "c": 1 }), [1, 0, 0], json!(["c"]));
    check(json!({ "Email": "own", "d": 1 }), [0, 1, 0], json!([]));
    let inputs: Vec<Value> = cells(&table).iter().map(|cells| cells["Input"].clone()).collect();
    assert_eq!(inputs, [Value::Null, json!("mine"), json!({ "kept": true, "d": 1 })]);
}

fn what_names_no_column_is_kept_added_or_ignored(api: &Api) {
    let body = json!({ "Email": "a", "Plan": "pro", "utm": { "source": "ad" } });
    let table = api.table(&["Email"]);
    api.post(hook(&table, json!({})).path, body.clone()).ok();
    let kept = json!({ "Plan": "pro", "utm": { "source": "ad" } });
    assert_eq!(table.rows(&[])["rows"][0]["cells"]["_trigger"], kept);
    assert_eq!(table.headers().len(), 2, "strangers do not change the table");

    let table = api.table(&["Email"]);
    let adding = hook(&table, json!({ "unknownKeys": "addColumns" }));
    api.post(&adding.path, body.clone()).ok();
    api.post(&adding.path, body.clone()).ok();
    let rows = cells(&table);
    assert_eq!(
        (rows.len(), &rows[1]["Plan"], &rows[1]["utm"]),
        (2, &json!("pro"), &json!({ "source": "ad" }))
    );

    let table = api.table(&["Email"]);
    api.post(hook(&table, json!({ "unknownKeys": "ignore" })).path, body).ok();
    assert_eq!(table.rows(&[])["rows"][0]["cells"]["_trigger"], Value::Null);

    // A column that shows a part of the input does not stand in the way of that part, nor does a key that comes twice.
    let table = api.table(&["Email"]);
    let reference = json!({ "templateId": "reference", "header": "City",
        "referenceConfig": { "columnId": "_trigger", "path": "city" } });
    let city = table.add_column(reference);
    let sent = r#"{"city": "Rome", "Email": "a", "email": "b"}"#;
    assert_eq!(counts(send(api, &hook(&table, json!({})).path, "application/json", sent)), [1, 0, 0]);
    let row = &table.rows(&[])["rows"][0]["cells"];
    assert_eq!((&row[&city], &row[table.column("Email")]), (&json!("Rome"), &json!("a")));
    assert_eq!(row["_trigger"], json!({ "city": "Rome", "email": "b" }));
}

fn an_array_is_taken_whole_or_not_at_all(api: &Api) {
    let table = api.table(&["Email"]);
    let hook = hook(&table, json!({}));
    api.post(&hook.path, json!([{ "Email": "a" }, 7, { "Email": "b" }, "x"])).offends(&["[1]", "[3]"]);
    for scalar in [json!(7), json!("x"), json!(null), json!(true)] {
        api.post(&hook.path, scalar).offends(&[""]);
    }
    let large = json!([{ "Email": "a" }, { "Email": "x".repeat(1_040_000) }]);
    api.post(&hook.path, large).ok();
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 2);
}

fn a_match_updates_the_row(api: &Api) {
    let table = api.table(&["Email", "Plan"]);
    let hook = hook(&table, json!({ "matchOn": "Email", "matchCase": false }));
    assert_eq!(
        counts(api.post(&hook.path, json!({ "Email": "ada@example.com", "Plan": "free" }))),
        [1, 0, 0]
    );
    assert_eq!(
        counts(api.post(&hook.path, json!({ "Email": "ADA@example.com ", "Plan": "pro" }))),
        [0, 1, 0]
    );
    let again = api.post(&hook.path, json!({ "Email": "ADA@example.com ", "Plan": "pro" })).ok();
    assert_eq!(again["rowsUnchanged"], 1);
    assert!(again["ignored"].as_str().unwrap().contains("there already"), "{again}");
    assert_eq!(table.values("Plan", &[]), ["pro"]);
    // It goes on when the column has another header, and says so when it is gone.
    table.patch(&format!("/columns/{}", table.column("Email")), json!({ "header": "Mail" })).ok();
    assert_eq!(counts(api.post(&hook.path, json!({ "Mail": "ada@example.com", "Plan": "max" }))), [0, 1, 0]);
    table.delete(&format!("/columns/{}", table.column("Email"))).ok();
    api.post(&hook.path, json!({ "Plan": "x" })).offends(&["matchOn"]);
}

fn a_hook_whose_columns_are_deleted_says_so(api: &Api) {
    let table = api.table(&["Email", "Plan", "Source"]);
    let hook = hook(&table, json!({ "matchOn": "Email", "headers": { "X-Source": "Source" } }));
    let (path, email) = (format!("/hooks/{}", hook.id), table.column("Email"));
    let send = |plan: &str| {
        let sent = Request::post(&hook.path).json(&json!({ "Email": "ada", "Plan": plan }));
        api.send(sent.header("x-source", "shop"))
    };
    let sentences = |json: &Value| -> Vec<String> { serde_json::from_value(json.clone()).unwrap() };
    assert_eq!(counts(send("free")), [1, 0, 0]);
    assert_eq!(table.get(&path).ok()["hook"]["problems"], json!([]));

    let source = table.column("Source");
    let fixes = sentences(&table.delete(&format!("/columns/{source}")).ok()["appliedFixes"]);
    assert!(
        fixes.len() == 1 && fixes[0].contains("header x-source") && fixes[0].contains("\"Source\""),
        "{fixes:?}"
    );
    assert_eq!(counts(send("pro")), [0, 1, 0]);
    let deliveries =
        || api.get(format!("/v4/team/inbound-deliveries?hookId={}", hook.id)).ok()["deliveries"].clone();
    let ignored = || Some(deliveries()[0]["outcomes"][0]["ignoredKeys"].clone());
    eventually("the header is named", TIME_MAX, || ignored().filter(|keys| *keys == json!(["x-source"])));

    let fixes = sentences(&table.delete(&format!("/columns/{email}")).ok()["appliedFixes"]);
    assert!(
        fixes.len() == 1 && fixes[0].contains("\"Form\"") && fixes[0].contains("deliveries fail"),
        "{fixes:?}"
    );
    let seen = table.get(&path).ok()["hook"].clone();
    assert_eq!(seen["matchOn"], email, "nothing is lost");
    let problems = sentences(&seen["problems"]);
    assert!(
        problems.len() == 2 && problems[0].contains("matchOn names the column \"Email\""),
        "{problems:?}"
    );
    assert_eq!(table.get("/hooks").ok()["hooks"][0]["problems"], seen["problems"]);
    let refused = send("max").offends(&["matchOn"]);
    let words = refused["details"][0]["message"].as_str().unwrap();
    assert!(words.contains("restore it from the trash") && words.contains("replay"), "{words}");
    let delivery = &deliveries()[0];
    assert_eq!(delivery["status"], "failed");
    assert!(delivery["outcomes"][0]["reason"].as_str().unwrap().contains("\"Email\""), "{delivery}");

    let restored = table.post("/trash/restore", json!({ "columnIds": [email, source] })).ok();
    assert_eq!(restored["restoredColumns"], 2);
    assert_eq!(table.get(&path).ok()["hook"]["problems"], json!([]));
    let replay = format!("/v4/team/inbound-deliveries/{}/replay", delivery["id"].as_str().unwrap());
    assert_eq!(api.send(Request::post(replay)).ok()["delivery"]["status"], "processed");
    assert_eq!(table.values("Plan", &[]), ["max"], "the row is found again");
    assert_eq!(table.values("Source", &[]), ["shop"]);
}

fn forms_become_rows(api: &Api) {
    let table = api.table(&["Name", "Tags"]);
    let hook = hook(&table, json!({}));
    let form = "Name=Ada+Lovelace&Tags=a&Tags=%C3%A9&note=hi";
    assert_eq!(counts(send(api, &hook.path, "application/x-www-form-urlencoded", form)), [1, 0, 0]);
    let parts = "--b\r\nContent-Disposition: form-data; name=\"Name\"\r\n\r\nGrace\r\n--b\r\nContent-Disposition: \
                 form-data; name=\"cv\"; filename=\"cv.pdf\"\r\nContent-Type: application/pdf\r\n\r\n%PDF\r\n--b--\r\n";
    assert_eq!(counts(send(api, &hook.path, "multipart/form-data; boundary=b", parts)), [1, 0, 0]);
    let rows = cells(&table);
    assert_eq!((&rows[0]["Name"], &rows[0]["Tags"]), (&json!("Ada Lovelace"), &json!(["a", "é"])));
    assert_eq!(table.rows(&[])["rows"][0]["cells"]["_trigger"], json!({ "note": "hi" }));
    assert_eq!((&rows[1]["Name"], rows.len()), (&json!("Grace"), 2));
    let broken = parts.replace("--b--", "");
    send(api, &hook.path, "multipart/form-data; boundary=b", &broken).offends(&[""]);
    for other in ["image/png", "text/xml"] {
        send(api, &hook.path, other, "<a/>").refused(415, "unsupported_media_type");
    }
}

fn headers_are_written_into_columns(api: &Api) {
    let table = api.table(&["Email", "Source"]);
    table
        .post("/hooks", json!({ "name": "x", "headers": { "Authorization": "Source" } }))
        .offends(&["headers.Authorization"]);
    let hook = hook(&table, json!({ "headers": { "X-Source": "Source" } }));
    let sent = json!([{ "Email": "a", "source": "of the body" }, { "Email": "b" }]);
    api.send(Request::post(&hook.path).json(&sent).header("x-source", "shop")).ok();
    assert_eq!(table.values("Source", &[]), ["shop", "shop"], "the header wins");
    assert_eq!(table.rows(&[])["rows"][0]["cells"]["_trigger"], json!({ "source": "of the body" }));
    api.post(&hook.path, json!({ "Email": "c" })).ok();
    assert_eq!(table.values("Source", &[]).len(), 3);
}

fn a_wrong_address_is_no_address(api: &Api) {
    let (table, other) = (api.table(&["Email"]), api.table(&["Email"]));
    let own = hook(&table, json!({}));
    let secret = own.path.rsplit('/').next().unwrap();
    let nobody = "proj_0190f0e0a1b27c3d8e4f0123456789ab";
    let wrong = "x".repeat(43);
    let told: Vec<(u16, Value)> = [
        format!("/hooks/{}/{wrong}", table.id),
        format!("/hooks/{}/{secret}", other.id),
        format!("/hooks/{nobody}/{secret}"),
        format!("/hooks/nonsense/{secret}"),
        format!("/hooks/{}/{secret}x", table.id),
    ]
    .into_iter()
    // The body is not looked at: what would be refused for its size is told nothing else.
    .map(|path| api.send(Request::post(path).text(&"x".repeat(2_000_000))))
    .map(|answer| (answer.status(), answer.json))
    .collect();
    assert!(told.iter().all(|(status, json)| *status == 404 && json["code"] == "hook_not_found"), "{told:?}");
    assert!(told.windows(2).all(|pair| pair[0] == pair[1]), "all are told the same");
    assert_eq!(other.rows(&[])["pagination"]["totalRows"], 0);
    // The secret is nowhere to be read again.
    for path in ["/hooks", &format!("/hooks/{}", own.id), ""] {
        assert!(!table.get(path).text.contains(secret), "{path}");
    }
    assert!(secret.ends_with(table.get("/hooks").ok()["hooks"][0]["addressEnd"].as_str().unwrap()));
}

fn a_rotated_address_works_on_for_a_while(api: &Api) {
    let table = api.table(&["Email"]);
    let first = hook(&table, json!({}));
    let rotate = format!("/hooks/{}/rotate", first.id);
    let rotated = table.post(&rotate, json!({})).ok();
    let second = path_of(api, &rotated);
    assert!(rotated["hook"]["oldAddressUntil"].is_string());
    for path in [&first.path, &second] {
        assert_eq!(counts(api.post(path, json!({ "Email": "a" }))), [1, 0, 0]);
    }
    let third = path_of(api, &table.post(&rotate, json!({ "overlapHours": 0 })).ok());
    assert_eq!(counts(api.post(&third, json!({ "Email": "a" }))), [1, 0, 0]);
    for path in [&first.path, &second] {
        api.post(path, json!({ "Email": "a" })).refused(404, "hook_not_found");
    }
    assert_eq!(table.get(&format!("/hooks/{}", first.id)).ok()["hook"]["oldAddressUntil"], Value::Null);
    table.post(&rotate, json!({ "overlapHours": 169 })).offends(&["overlapHours"]);
    assert_eq!(table.delete(&format!("/hooks/{}", first.id)).ok()["deletedCount"], 1);
    api.post(&third, json!({ "Email": "a" })).refused(404, "hook_not_found");
    table.delete(&format!("/hooks/{}", first.id)).refused(404, "hook_not_found");
    table.post(&rotate, json!({})).refused(404, "hook_not_found");
}

fn settings_are_checked_and_changed(api: &Api) {
    let table = api.table(&["Email", "Source"]);
    let wrong =
        json!({ "name": " ", "matchOn": "Nothing", "headers": { "X Y": "Email", "X-Source": "Nowhere" } });
    table.post("/hooks", wrong).offends(&["name", "matchOn", "headers.X Y", "headers.X-Source"]);
    table.post("/hooks", json!({ "name": "x", "unknownKeys": "perhaps" })).offends(&["unknownKeys"]);
    let made = hook(&table, json!({}));
    let path = format!("/hooks/{}", made.id);
    let before = table.get(&path).ok()["hook"].clone();
    assert_eq!(
        (&before["unknownKeys"], &before["matchOn"], &before["enabled"]),
        (&json!("keep"), &Value::Null, &json!(true))
    );
    let settings = json!({ "name": "Shop", "unknownKeys": "ignore", "matchOn": "Email", "matchCase": false,
        "headers": { "X-Source": "Source" } });
    let changed = table.patch(&path, settings).ok()["hook"].clone();
    assert_eq!((&changed["name"], &changed["matchOn"]), (&json!("Shop"), &json!(table.column("Email"))));
    assert_eq!(changed["headers"], json!({ "x-source": table.column("Source") }));
    let back = table.patch(&path, json!({ "matchOn": null, "headers": {} })).ok()["hook"].clone();
    assert_eq!(
        (&back["matchOn"], &back["headers"], &back["name"]),
        (&Value::Null, &json!({}), &json!("Shop"))
    );
    assert_eq!(table.get("/hooks").ok()["hooks"], json!([back]));
    table.patch("/hooks/inb_0190f0e0a1b27c3d8e4f0123456789ab", json!({})).refused(404, "hook_not_found");
    // A change of the project leaves its hooks alone.
    table.patch("", json!({ "title": "Other", "metadata": { "a": 1 } })).ok();
    assert_eq!(table.get("/hooks").ok()["hooks"], json!([back]));
}

fn a_disabled_hook_keeps_what_comes(api: &Api) {
    let table = api.table(&["Email"]);
    let made = hook(&table, json!({}));
    table.patch(&format!("/hooks/{}", made.id), json!({ "enabled": false })).ok();
    let ignored = api.post(&made.path, json!({ "Email": "a" })).ok();
    assert!(ignored["ignored"].as_str().unwrap().contains("disabled"), "{ignored}");
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 0);
    let listed = api.get(format!("/v4/team/inbound-deliveries?hookId={}", made.id)).ok();
    assert_eq!(listed["deliveries"][0]["status"], "ignored");
    table.patch(&format!("/hooks/{}", made.id), json!({ "enabled": true })).ok();
    let delivery = listed["deliveries"][0]["id"].as_str().unwrap();
    let replayed = api.send(Request::post(format!("/v4/team/inbound-deliveries/{delivery}/replay"))).ok();
    assert_eq!(replayed["delivery"]["status"], "processed");
    assert_eq!(table.values("Email", &[]), ["a"]);
    // A disabled API closes no hook.
    table.patch("", json!({ "settings": { "api": { "enabled": false } } })).ok();
    assert_eq!(counts(api.post(&made.path, json!({ "Email": "b" }))), [1, 0, 0]);
}

fn what_is_too_large_or_no_json_is_refused(api: &Api) {
    let table = api.table(&["Email"]);
    let hook = hook(&table, json!({}));
    let large = json!({ "Email": "x".repeat(1_100_000) });
    let refusal = api.post(&hook.path, large).refused(413, "body_too_large");
    assert!(refusal["error"].as_str().unwrap().contains("deliveryBytesMax"), "{refusal}");
    assert_eq!(api.get("/v4/limits").ok()["limits"]["deliveryBytesMax"], 1024 * 1024);
    for broken in ["{", "{\"a\":}", "[1,", "nonsense", "{\"a\":\"\\u0000\"}"] {
        send(api, &hook.path, "application/json", broken).offends(&[""]);
    }
    send(api, &hook.path, "application/json", &"[".repeat(200)).exceeds("nestingMax");
    let wide = (0..60_000).map(|number| format!("f{number}=1")).collect::<Vec<_>>().join("&");
    send(api, &hook.path, "application/x-www-form-urlencoded", &wide).exceeds("rowFieldsMax");
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 0);
    api.send(Request::get(&hook.path)).refused(405, "method_not_allowed");
}

fn hooks_outlive_a_crash_and_their_project_the_trash() {
    let mut server = Server::start(&[]);
    let table = server.api().table(&["Email"]);
    let made = hook(&table, json!({ "matchOn": "Email" }));
    table.post(&format!("/hooks/{}/rotate", made.id), json!({})).ok();
    server.crash_and_restart();
    let (api, table) = (server.api(), table.through(&server.api()));
    assert_eq!(counts(api.post(&made.path, json!({ "Email": "a" }))), [1, 0, 0], "the old address, too");
    table.delete("").ok();
    api.post(&made.path, json!({ "Email": "b" })).refused(404, "hook_not_found");
    api.post("/v4/trash/restore", json!({ "projectIds": [table.id] })).ok();
    assert_eq!(counts(api.post(&made.path, json!({ "Email": "b" }))), [1, 0, 0]);
    // Nothing of the secret is in what the server says or stores as text.
    let secret = made.path.rsplit('/').next().unwrap();
    assert!(!server.log().contains(secret) && !server.printed().contains(secret));
}

fn wrong_secrets_count_as_failed_authentication() {
    let server = Server::start(&[("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "1/5")]);
    let api = server.api();
    let table = api.table(&["Email"]);
    let made = hook(&table, json!({}));
    let guess = || api.post(format!("/hooks/{}/{}", table.id, "y".repeat(43)), json!({})).status();
    let guesses: Vec<u16> = (0..12).map(|_| guess()).collect();
    assert!(guesses.starts_with(&[404, 404, 404, 404, 404]) && guesses.contains(&429), "{guesses:?}");
    assert_eq!(counts(api.post(&made.path, json!({ "Email": "a" }))), [1, 0, 0], "nobody is locked out");
}

fn deliveries_are_counted_per_team() {
    let server = Server::start(&[("ROWMILL_RATE_LIMIT_WEBHOOK", "1/3")]);
    let (api, other) = (server.api(), server.team("other"));
    let made = hook(&api.table(&["Email"]), json!({}));
    let second = hook(&api.table(&["Email"]), json!({}));
    let statuses: Vec<u16> = [&made, &second, &made, &second, &made, &second, &made]
        .iter()
        .map(|hook| api.post(&hook.path, json!({ "Email": "a" })).status())
        .collect();
    assert!(statuses.starts_with(&[200, 200, 200]) && statuses.contains(&429), "{statuses:?}");
    let own = hook(&other.table(&["Email"]), json!({}));
    assert_eq!(counts(other.post(&own.path, json!({ "Email": "a" }))), [1, 0, 0], "others are not held up");
}

fn a_project_has_so_many_hooks() {
    let server = Server::start(&[("ROWMILL_HOOKS_MAX", "2")]);
    let api = server.api();
    let table = api.table(&["Email"]);
    assert_eq!(api.get("/v4/limits").ok()["limits"]["hooksMax"], 2);
    hook(&table, json!({}));
    hook(&table, json!({}));
    table.post("/hooks", json!({ "name": "x" })).exceeds("hooksMax");
}
