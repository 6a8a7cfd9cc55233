//! The SSRF guard: no request into the operator's network.

use reqwest::Method;
use rowmill_providers::ssrf_guard::{REDIRECTS_MAX, Request};
use rowmill_providers::{Client, Failure, FailureKind, NetworkPolicy, Secret};
use url::Url;

use crate::server::{Server, redirect, text};
use crate::support::client;

/// Every way to write 127.0.0.1 that a URL knows, and names that resolve to it.
const LOOPBACK: [&str; 20] = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0x7F.0x0.0x0.0x1",
    "0177.0.0.1",
    "017700000001",
    "%31%32%37.0.0.1",
    "１２７.0.0.1",
    "127。0。0。1",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "[::127.0.0.1]",
    "localhost",
    "LOCALHOST",
    "user:password@127.0.0.1",
];

/// Other addresses no table may reach.
const ELSEWHERE: [&str; 22] = [
    "0.0.0.0",
    "0",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "169.254.169.254",
    "0xa9fea9fe",
    "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "168.63.129.16",
    "[fe80::1]",
    "[fc00::1]",
    "[ff02::1]",
    "224.0.0.1",
    "255.255.255.255",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
];

async fn get(client: &Client, url: &str, network_policy: NetworkPolicy) -> Result<String, Failure> {
    let url = Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    let request = Request::new(Method::GET, url, network_policy).redirects(REDIRECTS_MAX);
    let response = client.send(request).await?;
    Ok(String::from_utf8(response.body).unwrap())
}

async fn kind(client: &Client, url: &str) -> FailureKind {
    match get(client, url, NetworkPolicy::Guarded).await {
        Ok(body) => panic!("{url} was reached: {body}"),
        Err(failure) => {
            assert!(!failure.is_transient || failure.kind != FailureKind::Blocked, "{failure:?}");
            failure.kind
        }
    }
}

#[tokio::test]
async fn no_spelling_of_a_private_address_is_reached() {
    let server = Server::start(vec![]).await;
    let client = client("");
    for host in LOOPBACK.iter().chain(&ELSEWHERE) {
        let url = format!("http://{host}:{}/", server.port());
        assert_eq!(kind(&client, &url).await, FailureKind::Blocked, "{url}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn the_same_spellings_reach_it_where_the_operator_allows_or_is_trusted() {
    for (allow, network_policy) in [("127.0.0.1/32", NetworkPolicy::Guarded), ("", NetworkPolicy::Trusted)] {
        // `::127.0.0.1` is written nowhere but in attacks; no kernel routes it.
        let hosts = LOOPBACK.iter().filter(|host| !host.contains("::127"));
        let server = Server::start(vec![text(200, "text/plain", "in"); LOOPBACK.len()]).await;
        let client = client(allow);
        for host in hosts {
            let url = format!("http://{host}:{}/", server.port());
            assert_eq!(get(&client, &url, network_policy).await.unwrap(), "in", "{url}");
        }
    }
}

#[tokio::test]
async fn a_trusted_connection_serves_no_table() {
    let server = Server::start(vec![text(200, "text/plain", "in")]).await;
    let client = client("");
    // A name, because a pooled connection spares its resolution; kept open by the server.
    let url = server.base.as_str().replace("127.0.0.1", "localhost");
    get(&client, &url, NetworkPolicy::Trusted).await.unwrap();
    assert_eq!(kind(&client, &url).await, FailureKind::Blocked);
}

#[tokio::test]
async fn every_hop_is_judged() {
    let inner = Server::start(vec![]).await;
    let port = inner.port();
    let mut targets: Vec<String> = ELSEWHERE.iter().map(|host| format!("http://{host}:{port}/")).collect();
    let second =
        ["127.0.0.2", "127.2", "2130706434", "0x7f.2", "0177.0.0.2", "[::ffff:127.0.0.2]", "[::7f00:2]"];
    targets.extend(second.iter().map(|host| format!("http://{host}:{port}/")));
    targets.extend(
        ["//10.0.0.1/x", "file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1/"]
            .map(str::to_owned),
    );
    let client = client("127.0.0.1/32");
    for target in targets {
        let server = Server::start(vec![redirect(302, "/on"), redirect(307, &target)]).await;
        assert_eq!(kind(&client, server.base.as_str()).await, FailureKind::Blocked, "{target}");
        assert_eq!(server.seen().len(), 2);
    }
    assert!(inner.seen().is_empty());
}

#[tokio::test]
async fn other_schemes_are_blocked() {
    let client = client("0.0.0.0/0,::/0");
    for url in ["ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:25/x", "data:text/plain,x"] {
        assert_eq!(kind(&client, url).await, FailureKind::Blocked, "{url}");
    }
}

#[tokio::test]
async fn redirects_are_followed_five_times() {
    let client = client("127.0.0.1/32");
    let mut script = vec![redirect(302, "/on"); 5];
    script.push(text(200, "text/plain", "there"));
    let server = Server::start(script).await;
    assert_eq!(get(&client, server.base.as_str(), NetworkPolicy::Guarded).await.unwrap(), "there");
    let server = Server::start(vec![redirect(302, "/on"); 9]).await;
    assert_eq!(kind(&client, server.base.as_str()).await, FailureKind::ProviderError);
    assert_eq!(server.seen().len(), 6);
    let server = Server::start(vec![redirect(302, "http://["), text(200, "text/plain", "")]).await;
    assert_eq!(kind(&client, server.base.as_str()).await, FailureKind::ProviderError);
}

#[tokio::test]
async fn a_redirect_to_another_host_takes_no_secret_along() {
    let client = client("127.0.0.1/32");
    let other = Server::start(vec![text(200, "text/plain", "ok"); 3]).await;
    let ask = async |status: u16, target: &str, body: bool| {
        let server = Server::start(vec![redirect(status, target), text(200, "text/plain", "ok")]).await;
        let mut request = Request::new(Method::POST, server.base.clone(), NetworkPolicy::Guarded)
            .redirects(REDIRECTS_MAX)
            .header("accept", "application/json")
            .unwrap()
            .secret_header("x-api-key", "", &Secret::new("canary"))
            .unwrap();
        if body {
            request = request.body("text/plain", "canary");
        }
        (client.send(request).await, server.seen())
    };
    let elsewhere = other.base.as_str();
    ask(302, elsewhere, true).await.0.unwrap();
    ask(307, elsewhere, false).await.0.unwrap();
    assert_eq!(ask(308, elsewhere, true).await.0.unwrap_err().kind, FailureKind::ProviderError);
    for (seen, method) in other.seen().iter().zip(["GET", "POST"]) {
        assert_eq!(seen.method, method);
        assert_eq!(seen.header("accept"), Some("application/json"));
        assert_eq!((seen.header("x-api-key"), seen.body.as_str()), (None, ""), "{seen:?}");
    }
    assert_eq!(other.seen().len(), 2);
    // The same host is told again, and a 307 keeps method and body.
    let (answer, seen) = ask(307, "/again", true).await;
    answer.unwrap();
    assert_eq!((seen[1].method.as_str(), seen[1].body.as_str()), ("POST", "canary"));
    assert_eq!(seen[1].header("x-api-key"), Some("canary"));
}

#[tokio::test]
async fn the_caller_says_who_it_is() {
    let server = Server::start(vec![text(200, "text/plain", "")]).await;
    get(&client("127.0.0.1"), server.base.as_str(), NetworkPolicy::Guarded).await.unwrap();
    assert_eq!(server.seen()[0].header("user-agent"), Some(concat!("rowmill/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(server.seen()[0].header("referer"), None);
}
