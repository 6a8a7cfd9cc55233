//! Trusted proxies: whose word counts for the client's address and for where the service is reached.

use crate::harness::http::exchange;
use crate::harness::runner::scenarios;
use crate::harness::server::DataDir;
use crate::harness::{Request, Scenario, Server};

pub(crate) const OWN: &[Scenario] = &scenarios!("proxies", Own:
    a_clients_address_is_believed_of_trusted_proxies_only,
    clients_behind_a_trusted_proxy_are_told_apart,
);

const FAILURES: (&str, &str) = ("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "1/3");

/// A wrong key, sent by a client at this address, as the request itself says.
fn guess(server: &Server, client: &str) -> u16 {
    let request = Request::get("/v4/team")
        .header("Authorization", "Bearer guess")
        .header("X-Forwarded-For", client)
        .header("X-Real-IP", client);
    exchange(&server.address, &request).unwrap().status
}

/// As a proxy sends it that tells where the service is reached.
fn forwarded(path: &str) -> Request {
    Request::get(path)
        .header("X-Forwarded-Host", "tables.example")
        .header("X-Forwarded-Proto", "https")
        .header("X-Forwarded-Prefix", "/mill")
}

fn webhook_url(server: &Server) -> String {
    let team = server.api().send(forwarded("/v4/team")).ok();
    team["team"]["webhookUrl"].as_str().unwrap().to_owned()
}

fn a_clients_address_is_believed_of_trusted_proxies_only() {
    for settings in [vec![FAILURES], vec![FAILURES, ("ROWMILL_TRUSTED_PROXIES", "192.0.2.0/24")]] {
        let server = Server::start_in(DataDir::new(), &settings);
        let statuses: Vec<_> =
            (0..20).map(|number| guess(&server, &format!("198.51.100.{number}"))).collect();
        assert!(statuses.contains(&429), "an address that is made up escapes no limit: {statuses:?}");
        // A proxy on this machine makes links, unless proxies are named.
        let (address, base) = if settings.len() == 1 {
            ("https://tables.example/mill".to_owned(), "/mill/")
        } else {
            (format!("http://{}", server.address), "/")
        };
        let url = webhook_url(&server);
        assert!(url.starts_with(&format!("{address}/webhooks/")), "{url}");
        let page = exchange(&server.address, &forwarded("/projects/x")).unwrap();
        assert!(String::from_utf8_lossy(&page.body).contains(&format!("<base href=\"{base}\" />")));
    }
}

fn clients_behind_a_trusted_proxy_are_told_apart() {
    let proxies = ("ROWMILL_TRUSTED_PROXIES", "127.0.0.0/8, 10.0.0.0/8");
    let server = Server::start_in(DataDir::new(), &[FAILURES, proxies]);
    let statuses: Vec<_> = (0..20).map(|number| guess(&server, &format!("198.51.100.{number}"))).collect();
    assert!(statuses.iter().all(|status| *status == 403), "each has its own bucket: {statuses:?}");
    // What a client made up stands before the address that the proxy added.
    let made_up = |number: u8| format!("198.51.100.{number}, 203.0.113.5, 10.1.2.3");
    let statuses: Vec<_> = (30..50).map(|number| guess(&server, &made_up(number))).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    let url = webhook_url(&server);
    assert!(url.starts_with("https://tables.example/mill/webhooks/"), "{url}");
}
