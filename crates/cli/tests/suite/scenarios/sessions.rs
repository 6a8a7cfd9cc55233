//! Signing in with a browser: the cookie, what it opens, and whom it keeps out.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::events::Stream;
use super::nodes;
use crate::harness::http::{Response, exchange};
use crate::harness::runner::scenarios;
use crate::harness::server::DataDir;
use crate::harness::{Request, Scenario, Server, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("sessions", Own:
    a_key_signs_in_and_the_cookie_opens_the_api,
    a_session_ends_with_its_key,
    signing_out_ends_the_session_everywhere,
    sessions_are_listed_and_ended,
    sessions_end_with_the_secret_key,
    a_stream_ends_with_its_session,
    forged_sessions_open_nothing,
    what_another_site_sends_is_refused,
    the_first_link_signs_in_once,
    wrong_keys_are_slowed_down,
    behind_a_proxy_the_cookie_fits_the_address,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("sessions", Nodes:
    a_session_ended_on_one_node_ends_on_all,
);

const ADOPT: (&str, &str) = ("ROWMILL_ADOPT_SECRET_KEY", "true");

/// A browser: it keeps its cookie and says where its requests come from.
struct Browser<'a> {
    server: &'a Server,
    cookie: Option<String>,
}

impl<'a> Browser<'a> {
    fn new(server: &'a Server) -> Self {
        Self { server, cookie: None }
    }

    fn send(&mut self, request: Request) -> Response {
        let request = match &self.cookie {
            Some(cookie) => request.header("Cookie", &format!("theme=dark; {cookie}")),
            None => request,
        };
        let response = exchange(&self.server.address, &request).unwrap();
        if let Some(kept) = response.header("set-cookie") {
            let (pair, _) = kept.split_once(';').unwrap();
            self.cookie = (!pair.ends_with('=')).then(|| pair.to_owned());
        }
        response
    }

    fn own(&mut self, request: Request) -> Response {
        self.send(request.header("Sec-Fetch-Site", "same-origin"))
    }

    fn sign_in(&mut self, key: &str) -> Response {
        self.own(Request::post("/session").json(&json!({ "key": key })))
    }

    fn session(&mut self) -> Value {
        let response = self.own(Request::get("/session"));
        assert_eq!(response.status, 200);
        body(&response)
    }
}

fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

fn key_of(server: &Server, team: &str, name: &str) -> String {
    let made = server.command(&["key", "create", "--team", team, "--name", name]);
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

fn a_key_signs_in_and_the_cookie_opens_the_api() {
    let server = Server::start(&[]);
    let key = key_of(&server, "default", "browser");
    let mut browser = Browser::new(&server);
    assert_eq!(browser.session(), json!({ "signedIn": false }));
    assert_eq!(browser.own(Request::get("/v4/team")).status, 401);

    let wrong = browser.sign_in("rm_nonsense");
    assert_eq!((wrong.status, body(&wrong)["error"].as_str()), (403, Some("Invalid API key")));
    assert_eq!(wrong.header("set-cookie"), None);

    let signed_in = browser.sign_in(&key);
    assert_eq!(signed_in.status, 200);
    let kept = signed_in.header("set-cookie").unwrap();
    for flag in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"] {
        assert!(kept.split("; ").any(|part| part == flag), "{kept}");
    }
    assert!(!kept.contains("Secure"), "http: {kept}");
    assert!(!kept.contains(key.rsplit('_').next().unwrap()), "the key stays out of it");
    let session = body(&signed_in);
    assert_eq!(session["signedIn"], true);
    assert_eq!((&session["team"]["slug"], &session["canManageTeams"]), (&json!("default"), &json!(true)));
    assert_eq!(session, browser.session());

    assert_eq!(browser.own(Request::get("/v4/projects")).status, 200);
    let made = browser.own(Request::post("/v4/projects").json(&json!({ "title": "By hand" })));
    assert_eq!(made.status, 201);
    // A bad token beside a good cookie is a bad token.
    let both = Request::get("/v4/team").header("Authorization", "Bearer nonsense");
    assert_eq!(browser.own(both).status, 403);
    // The slug's versions know tokens alone.
    assert_eq!(browser.own(Request::get("/v3/default/projects")).status, 401);

    let stranger = server.command(&["team", "create", "--slug", "stranger"]);
    assert!(stranger.status.success());
    let mut other = Browser::new(&server);
    let session = body(&other.sign_in(&key_of(&server, "stranger", "browser")));
    assert_eq!((&session["team"]["slug"], &session["canManageTeams"]), (&json!("stranger"), &json!(false)));

    let out = browser.own(Request::new("DELETE", "/session"));
    assert_eq!((out.status, browser.cookie.is_none()), (204, true));
    assert_eq!(browser.session(), json!({ "signedIn": false }));
}

fn a_session_ends_with_its_key() {
    let server = Server::start(&[]);
    let mut browser = Browser::new(&server);
    browser.sign_in(&key_of(&server, "default", "doomed"));
    assert_eq!(browser.own(Request::get("/v4/team")).status, 200);
    let keys: Value = serde_json::from_slice(&server.command(&["key", "list"]).stdout).unwrap();
    let doomed = keys.as_array().unwrap().iter().find(|key| key["name"] == "doomed").unwrap();
    assert!(server.command(&["key", "revoke", doomed["id"].as_str().unwrap()]).status.success());
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(browser.own(Request::get("/v4/team")).status, 401);
    assert_eq!(browser.session(), json!({ "signedIn": false }));
}

fn signing_out_ends_the_session_everywhere() {
    let mut server = Server::start(&[]);
    let key = key_of(&server, "default", "browser");
    let mut browser = Browser::new(&server);
    browser.sign_in(&key);
    let copied = browser.cookie.clone();
    assert!(browser.session()["signedIn"] == true && copied.is_some());
    assert_eq!(browser.own(Request::new("DELETE", "/session")).status, 204);
    let mut thief = Browser { server: &server, cookie: copied.clone() };
    assert_eq!(thief.session(), json!({ "signedIn": false }));
    assert_eq!(thief.own(Request::get("/v4/team")).status, 401);
    let mut again = Browser::new(&server);
    again.sign_in(&key);
    let kept = again.cookie.clone();
    server.crash_and_restart();
    assert_eq!(
        Browser { server: &server, cookie: kept }.session()["signedIn"],
        true,
        "it survives a restart"
    );
    assert_eq!(Browser { server: &server, cookie: copied }.session()["signedIn"], false);
}

fn sessions_are_listed_and_ended() {
    let server = Server::start(&[]);
    let (api, other) = (server.api(), server.team("other"));
    let key = key_of(&server, "default", "browser");
    let mut browsers: Vec<Browser<'_>> = (0..3).map(|_| Browser::new(&server)).collect();
    for (number, browser) in browsers.iter_mut().enumerate() {
        let sign_in = Request::post("/session").json(&json!({ "key": key }));
        assert_eq!(browser.own(sign_in.header("User-Agent", &format!("Browser {number}"))).status, 200);
    }
    let listed = body(&browsers[1].own(Request::get("/v4/sessions")))["sessions"].clone();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|session| session["browser"].as_str().unwrap()).collect();
    assert_eq!(names, ["Browser 2", "Browser 1", "Browser 0"]);
    let current: Vec<bool> =
        listed.as_array().unwrap().iter().map(|session| session["current"] == true).collect();
    assert_eq!(current, [false, true, false]);
    assert_eq!(api.get("/v4/sessions").ok()["sessions"].as_array().unwrap().len(), 3, "a key sees them, too");
    assert_eq!(other.get("/v4/sessions").ok()["sessions"], json!([]), "another team's are its own");

    let id = listed[0]["id"].as_str().unwrap();
    other.delete(format!("/v4/sessions/{id}")).refused(404, "session_not_found");
    api.delete("/v4/sessions/nonsense").refused(404, "session_not_found");
    assert_eq!(api.delete(format!("/v4/sessions/{id}")).ok()["deletedCount"], 1);
    api.delete(format!("/v4/sessions/{id}")).refused(404, "session_not_found");
    assert_eq!(browsers[2].own(Request::get("/v4/team")).status, 401);
    let ended = browsers[1].own(Request::new("DELETE", "/v4/sessions"));
    assert_eq!(body(&ended)["deletedCount"], 1);
    assert_eq!(browsers[0].own(Request::get("/v4/team")).status, 401);
    assert_eq!(browsers[1].own(Request::get("/v4/team")).status, 200, "its own goes on");
    assert_eq!(api.delete("/v4/sessions").ok()["deletedCount"], 1, "a key has no session that is left out");
    assert_eq!(browsers[1].own(Request::get("/v4/team")).status, 401);
}

fn sessions_end_with_the_secret_key() {
    let folder = DataDir::new();
    let key = ("ROWMILL_SECRET_KEY", "a key of more than thirty-two characters");
    let server = Server::start_in(Arc::clone(&folder), &[key]);
    let mut browser = Browser::new(&server);
    browser.sign_in(&key_of(&server, "default", "browser"));
    assert_eq!(browser.session()["signedIn"], true);
    let cookie = browser.cookie.clone();
    drop(server);
    let adopted = [("ROWMILL_SECRET_KEY", "another key of more than 32 characters"), ADOPT];
    let server = Server::start_in(Arc::clone(&folder), &adopted);
    assert_eq!(Browser { server: &server, cookie: cookie.clone() }.session()["signedIn"], false);
    assert_eq!(server.api().get("/v4/sessions").ok()["sessions"], json!([]));
    drop(server);
    // Nor does it come back with its key.
    let server = Server::start_in(folder, &[key, ADOPT]);
    assert_eq!(Browser { server: &server, cookie }.session()["signedIn"], false);
}

fn a_stream_ends_with_its_session() {
    let server = Server::start(&[]);
    let mut browser = Browser::new(&server);
    browser.sign_in(&key_of(&server, "default", "browser"));
    let table = server.api().table(&["Name"]);
    let events = Request::get(table.path("/events")).header("Cookie", browser.cookie.as_ref().unwrap());
    let mut stream = Stream::answering(&server.address, &events);
    stream.expect("status");
    assert_eq!(browser.own(Request::new("DELETE", "/session")).status, 204);
    table.insert(json!([{ "Name": "not for everybody" }]));
    assert!(stream.next().is_none(), "the stream ends, and tells nothing more");
}

fn a_session_ended_on_one_node_ends_on_all() {
    let first = nodes::first(&[]);
    let second = first.beside("serve", &[]);
    let key = key_of(&first, "default", "browser");
    let mut browser = Browser::new(&first);
    browser.sign_in(&key);
    let elsewhere = || Browser { server: &second, cookie: browser.cookie.clone() };
    assert_eq!(elsewhere().session()["signedIn"], true);
    let listed = first.api().get("/v4/sessions").ok()["sessions"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(first.api().delete(format!("/v4/sessions/{id}")).ok()["deletedCount"], 1);
    // The other node has looked it up just now.
    eventually("the other node refuses it", Duration::from_secs(10), || {
        (elsewhere().session()["signedIn"] == false).then_some(())
    });
    assert_eq!(elsewhere().own(Request::get("/v4/team")).status, 401);
    assert_eq!(Browser { server: &first, cookie: browser.cookie.clone() }.session()["signedIn"], false);
}

fn forged_sessions_open_nothing() {
    let server = Server::start(&[]);
    let key = key_of(&server, "default", "browser");
    let mut browser = Browser::new(&server);
    browser.sign_in(&key);
    let real = browser.cookie.clone().unwrap();
    let (name, text) = real.split_once('=').unwrap();
    let flipped = if text.ends_with('A') { "Q" } else { "A" };
    let forged = [
        String::new(),
        "nonsense".to_owned(),
        key.clone(),
        text[..text.len() / 2].to_owned(),
        format!("{}{flipped}", &text[..text.len() - 1]),
        text.to_ascii_uppercase(),
        "A".repeat(text.len()),
        "A".repeat(8_000),
    ];
    for text in forged {
        browser.cookie = Some(format!("{name}={text}"));
        assert_eq!(browser.own(Request::get("/v4/team")).status, 401, "{text}");
        assert_eq!(browser.session(), json!({ "signedIn": false }), "{text}");
    }
    // Sealed by another installation.
    let other = Server::start(&[]);
    let mut elsewhere = Browser::new(&other);
    elsewhere.cookie = Some(real);
    assert_eq!(elsewhere.session(), json!({ "signedIn": false }));
}

fn what_another_site_sends_is_refused() {
    let server = Server::start(&[]);
    let key = key_of(&server, "default", "browser");
    let mut browser = Browser::new(&server);
    browser.sign_in(&key);
    let title = || Request::post("/v4/projects").json(&json!({ "title": "Forged" }));
    let own = format!("http://{}", server.address);
    let foreign: &[&[(&str, &str)]] = &[
        &[],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "none")],
        &[("Sec-Fetch-Site", "cross-site"), ("Origin", &own)],
        &[("Origin", "https://evil.example")],
        &[("Origin", "null")],
    ];
    for headers in foreign {
        let request = headers.iter().fold(title(), |request, (name, value)| request.header(name, value));
        let refused = browser.send(request);
        assert_eq!(
            (refused.status, body(&refused)["code"].as_str()),
            (403, Some("cross_site")),
            "{headers:?}"
        );
        if !headers.is_empty() {
            let out = headers.iter().fold(Request::new("DELETE", "/session"), |request, (name, value)| {
                request.header(name, value)
            });
            assert_eq!(browser.send(out).status, 403, "{headers:?}");
        }
    }
    assert_eq!(body(&browser.own(Request::get("/v4/projects")))["projects"], json!([]));
    // A browser that names the origin alone, and a program with a key, are let in.
    assert_eq!(browser.send(title().header("Origin", &own)).status, 201);
    let program =
        title().header("Authorization", &format!("Bearer {key}")).header("Origin", "https://evil.example");
    assert_eq!(browser.send(program).status, 201);
}

fn the_first_link_signs_in_once() {
    let server = Server::start(&[]);
    let link = eventually("the link is printed", Duration::from_secs(10), || {
        server.printed().lines().find_map(|line| line.trim().strip_prefix("http://").map(str::to_owned))
    });
    let (address, token) = link.split_once('/').unwrap();
    assert_eq!(address, server.address);
    let path = format!("/{token}");
    let mut browser = Browser::new(&server);
    let looked_at = browser.send(Request::new("HEAD", path.clone()));
    assert_eq!(looked_at.header("set-cookie"), None, "looking does not use it up");
    let unknown = browser.send(Request::get("/signin/0123456789"));
    assert_eq!((unknown.status, unknown.header("location")), (303, Some("../?signin=expired")));

    let followed = browser.send(Request::get(path.clone()));
    assert_eq!((followed.status, followed.header("location")), (303, Some("../")));
    assert_eq!(followed.header("cache-control"), Some("no-store"));
    assert_eq!(browser.session()["team"]["slug"], "default");

    let mut late = Browser::new(&server);
    let again = late.send(Request::get(path));
    assert_eq!((again.status, again.header("location")), (303, Some("../?signin=expired")));
    assert_eq!(late.session(), json!({ "signedIn": false }));

    // A start that is not the first prints none, and people stay signed in.
    let cookie = browser.cookie.clone();
    let mut server = server;
    server.crash_and_restart();
    assert!(!server.printed().contains("/signin/"));
    let mut browser = Browser { server: &server, cookie };
    assert_eq!(browser.session()["signedIn"], true);
}

fn wrong_keys_are_slowed_down() {
    let server = Server::start_in(DataDir::new(), &[("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "1/3")]);
    let key = key_of(&server, "default", "browser");
    let mut browser = Browser::new(&server);
    let statuses: Vec<u16> = (0..6).map(|_| browser.sign_in("rm_wrong").status).collect();
    assert_eq!(statuses[..3], [403, 403, 403]);
    assert!(statuses.contains(&429), "{statuses:?}");
    let refused = browser.sign_in("rm_wrong");
    assert!(refused.status == 403 || refused.header("retry-after").is_some());
    assert_eq!(browser.sign_in(&key).status, 200, "the right key is never held up");
}

fn behind_a_proxy_the_cookie_fits_the_address() {
    let server = Server::start(&[("ROWMILL_TRUSTED_PROXIES", "127.0.0.1")]);
    let key = key_of(&server, "default", "browser");
    let sign_in = || Request::post("/session").json(&json!({ "key": key }));
    let told = sign_in().header("X-Forwarded-Proto", "https").header("X-Forwarded-Prefix", "/mill/");
    let response = exchange(&server.address, &told).unwrap();
    let kept = response.header("set-cookie").unwrap();
    assert!(kept.contains("Path=/mill;") && kept.ends_with("; Secure"), "{kept}");

    let set = Server::start(&[("ROWMILL_PUBLIC_URL", "https://tables.example/mill")]);
    assert!(set.printed().contains("https://tables.example/mill/signin/"), "{}", set.printed());
    let key = key_of(&set, "default", "browser");
    let mut browser = Browser::new(&set);
    // Whether the proxy leaves the path before ours on or cuts it off.
    let signed_in = browser.send(Request::post("/mill/session").json(&json!({ "key": key })));
    let kept = signed_in.header("set-cookie").unwrap();
    assert!(kept.contains("Path=/mill;") && kept.ends_with("; Secure"), "{kept}");
    assert_eq!(browser.send(Request::get("/mill/v4/team")).status, 200);
    let team = browser.send(Request::get("/v4/team"));
    assert!(
        body(&team)["team"]["webhookUrl"]
            .as_str()
            .unwrap()
            .starts_with("https://tables.example/mill/webhooks/")
    );
    let own = Request::post("/v4/projects")
        .json(&json!({ "title": "Own" }))
        .header("Origin", "https://tables.example");
    assert_eq!(browser.send(own).status, 201);
}
