//! What must hold behind each proxy.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use super::kinds::Site;
use super::running::Running;
use crate::http;
use crate::process::AnyResult;
use crate::server::Server;

/// An event arrives within this time. One that a proxy holds back would wait for the next: 15 seconds.
const EVENT_LIMIT: Duration = Duration::from_secs(3);
const ROWS: usize = 1_000;
const ROW_BYTES: usize = 5_000;
/// More than nginx takes by itself.
const BODY_BYTES_MIN: usize = 4_000_000;
/// What a client makes up; the proxy must not pass it on.
const FORGED: [&str; 5] = [
    "X-Forwarded-For: 198.51.100.7",
    "X-Forwarded-Host: evil.example",
    "X-Forwarded-Proto: gopher",
    "X-Forwarded-Prefix: /evil",
    "Forwarded: for=198.51.100.7;host=evil.example;proto=gopher",
];

pub(super) fn run(client: &Client<'_>, server: &Server, proxy: &Running, number: usize) -> AnyResult {
    if proxy.is_secure() {
        redirects(client, proxy)?;
    }
    for site in &proxy.sites {
        pages(client, site)?;
        links(client, site)?;
        let project = client.call(&["--data", PROJECT, &format!("{}/v4/projects", site.url)])?;
        let id = project.pointer("/project/id").and_then(Value::as_str).ok_or("no project was made")?;
        let within = format!("{}/v4/projects/{id}", site.url);
        events(client, &within)?;
        body(client, &within)?;
        metrics(client, server, site)?;
    }
    let site = proxy.sites.last().ok_or("it has no site")?;
    clients(client, server, site, number)
}

const PROJECT: &str = r#"{"title": "Proxied", "columns": [{"templateId": "manual", "header": "Name"}]}"#;

fn redirects(client: &Client<'_>, proxy: &Running) -> AnyResult {
    let plain = proxy.here.http.to_string();
    let to = ["--connect-to", &format!("::{plain}"), "http://tables.example.com/projects"];
    let answer = client.ask(&to)?;
    let is_moved = answer.status == 308 && answer.redirect.starts_with("https://tables.example.com");
    expect(is_moved, || format!("plain HTTP was answered {} {}", answer.status, answer.redirect))
}

/// The page is shown, and its links stay below the site's path.
fn pages(client: &Client<'_>, site: &Site) -> AnyResult {
    let page = client.ask(&[&format!("{}/", site.url)])?;
    let base = format!("<base href=\"{}\" />", site.base);
    expect(page.status == 200 && page.body.contains(&base), || {
        format!("{}/ was answered {} without {base}: {}", site.url, page.status, page.body)
    })
}

/// Addresses that the service makes are the proxy's, whatever a client makes up.
fn links(client: &Client<'_>, site: &Site) -> AnyResult {
    let url = format!("{}/v4/team", site.url);
    let mut arguments: Vec<&str> = FORGED.iter().flat_map(|header| ["--header", header]).collect();
    arguments.push(&url);
    let team = client.call(&arguments)?;
    let link = team.pointer("/team/webhookUrl").and_then(Value::as_str).unwrap_or_default();
    expect(link.starts_with(&format!("{}/webhooks/", site.url)), || format!("a link of {url} is {link}"))
}

/// An event arrives when it happens.
fn events(client: &Client<'_>, project: &str) -> AnyResult {
    let watch = client.watch(&format!("{project}/events"))?;
    watch.wait_for("event: status", EVENT_LIMIT)?;
    for name in ["Ada", "Grace"] {
        client.call(&["--data", &json!([{ "Name": name }]).to_string(), &format!("{project}/rows")])?;
        watch.wait_for(name, EVENT_LIMIT)?;
    }
    Ok(())
}

/// A large body goes through as it is.
fn body(client: &Client<'_>, project: &str) -> AnyResult {
    let row = |number: usize| json!({ "Name": format!("{number:0width$}", width = ROW_BYTES) });
    let text = Value::from((0..ROWS).map(row).collect::<Vec<_>>()).to_string();
    expect(text.len() > BODY_BYTES_MIN, || format!("a body of only {} bytes", text.len()))?;
    let path = std::env::temp_dir().join(format!("rowmill-xtask-body-{}", std::process::id()));
    fs::write(&path, text)?;
    let inserted =
        client.call(&["--data-binary", &format!("@{}", path.display()), &format!("{project}/rows")]);
    fs::remove_file(&path)?;
    let rows = inserted?.pointer("/rows").and_then(Value::as_array).map_or(0, Vec::len);
    expect(rows == ROWS, || format!("{rows} rows of {ROWS} were inserted"))
}

/// They are for this machine, and a proxy on it is not meant.
fn metrics(client: &Client<'_>, server: &Server, site: &Site) -> AnyResult {
    let own = http::send(server.address(), "GET", "/metrics", "", "")?;
    expect(own.status == 200, || format!("/metrics of the machine itself was answered {}", own.status))?;
    let proxied = client.ask(&[&format!("{}/metrics", site.url)])?;
    expect(proxied.status == 401, || format!("/metrics through the proxy was answered {}", proxied.status))
}

/// Each client has its own limits, by the address that the proxy saw, and the log names it.
fn clients(client: &Client<'_>, server: &Server, site: &Site, number: usize) -> AnyResult {
    let guess = |address: &str, made_up: usize| {
        let forged = format!("X-Forwarded-For: 203.0.113.{made_up}");
        let url = format!("{}/v4/team", site.url);
        let key =
            ["--header", "Authorization: Bearer guess", "--interface", address, "--header", &forged, &url];
        client.ask(&key).map(|answer| answer.status)
    };
    let (first, second) = (format!("127.0.{}.2", number + 1), format!("127.0.{}.3", number + 1));
    let statuses: Vec<u16> = (0..6).map(|made_up| guess(&first, made_up)).collect::<AnyResult<_>>()?;
    expect(statuses.first() == Some(&403) && statuses.last() == Some(&429), || {
        format!("wrong keys from {first}, with addresses made up, were answered {statuses:?}")
    })?;
    let other = guess(&second, 0)?;
    expect(other == 403, || format!("a first wrong key from {second} was answered {other}"))?;
    let log = server.log();
    for address in [&first, &second] {
        expect(log.contains(&format!("client={address} ")), || format!("the log does not name {address}"))?;
    }
    expect(!log.contains("client=203.0.113."), || "the log names an address that was made up".to_owned())
}

fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> AnyResult {
    if holds { Ok(()) } else { Err(otherwise().into()) }
}
