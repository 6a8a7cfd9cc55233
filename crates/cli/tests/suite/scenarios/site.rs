//! The web application: served whole, kept by browsers for as long as it may be, and shut off from elsewhere.

use crate::harness::http::{Response, exchange};
use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario, Server};

pub(crate) const SHARED: &[Scenario] = &scenarios!("site", Shared:
    the_real_page_is_served_with_all_it_needs,
    addresses_of_the_page_serve_it_and_others_are_the_apis,
    people_are_shown_the_way_back_and_programs_are_told,
    the_page_is_shut_off_from_elsewhere,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("site", Own:
    the_page_lies_below_any_path,
);

fn get(address: &str, path: &str) -> Response {
    exchange(address, &Request::get(path)).unwrap()
}

fn text(response: &Response) -> String {
    String::from_utf8(response.body.clone()).unwrap()
}

fn is_script(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extension == "js")
}

/// What a page loads: its scripts, styles and images, from its own root.
fn loaded(page: &str) -> Vec<String> {
    let quoted = page.split('"').filter(|part| part.starts_with("./") || part.starts_with("assets/"));
    quoted.map(|part| format!("/{}", part.trim_start_matches("./"))).collect()
}

const SMALL_BYTES: usize = 500;

fn the_real_page_is_served_with_all_it_needs(api: &Api) {
    let page = get(&api.address, "/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let html = text(&page);
    assert!(html.contains("<base href=\"/\" />") && html.contains("id=\"root\""), "{html}");
    let needed = loaded(&html);
    assert!(needed.iter().any(|path| path.starts_with("/assets/") && is_script(path)), "{html}");
    for path in needed {
        let file = get(&api.address, &path);
        assert_eq!(file.status, 200, "{path}");
        assert!(!file.body.is_empty(), "{path}");
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        let tag = file.header("etag").unwrap().to_owned();
        if path.starts_with("/assets/") {
            assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"), "{path}");
        }
        let again = exchange(&api.address, &Request::get(&path).header("If-None-Match", &tag)).unwrap();
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        if !is_script(&path) {
            continue;
        }
        assert_eq!(file.header("content-type"), Some("text/javascript; charset=utf-8"));
        // Packed, a file of a line or two would be larger.
        if file.body.len() < SMALL_BYTES {
            continue;
        }
        for (coding, taken) in [("gzip", "gzip"), ("gzip, deflate, br, zstd", "br")] {
            let request = Request::get(&path).header("Accept-Encoding", coding);
            let small = exchange(&api.address, &request).unwrap();
            assert_eq!(small.header("content-encoding"), Some(taken), "{path}");
            assert!(small.body.len() < file.body.len(), "{path}");
        }
    }
    let tag = page.header("etag").unwrap();
    let again = exchange(&api.address, &Request::get("/").header("If-None-Match", tag)).unwrap();
    assert_eq!(again.status, 304);
}

fn addresses_of_the_page_serve_it_and_others_are_the_apis(api: &Api) {
    let page = text(&get(&api.address, "/"));
    for path in [
        "/signin",
        "/projects",
        "/projects/",
        "/settings/",
        "/projects/proj_0190f0e0a1b27c3d8e4f0123456789ab",
        "/projects/a/b/c",
        "/settings",
        "/settings/keys",
        "/?signin=expired",
    ] {
        assert_eq!(text(&get(&api.address, path)), page, "{path}");
    }
    for path in
        ["/v4", "/v4/nope", "/nope", "/assets/nope.js", "/assets/../Cargo.toml", "/index.htm", "/v3/x/y/z"]
    {
        let answer = get(&api.address, path);
        assert_eq!((answer.status, answer.header("content-type")), (404, Some("application/json")), "{path}");
        assert!(text(&answer).contains("\"success\":false"), "{path}");
    }
    let posted = exchange(&api.address, &Request::post("/projects")).unwrap();
    assert_eq!(posted.status, 405);
}

fn people_are_shown_the_way_back_and_programs_are_told(api: &Api) {
    let ask = |request: Request| exchange(&api.address, &request).unwrap();
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let page = text(&get(&api.address, "/"));
    for path in ["/nope", "/nope/", "/project/x", "/index.htm", "/assets/nope"] {
        let shown = ask(Request::get(path).header("Accept", browser));
        assert_eq!(
            (shown.status, shown.header("content-type")),
            (404, Some("text/html; charset=utf-8")),
            "{path}"
        );
        assert_eq!(text(&shown), page, "{path}");
        for accepted in ["application/json", "*/*"] {
            let told = ask(Request::get(path).header("Accept", accepted));
            assert_eq!((told.status, told.header("content-type")), (404, Some("application/json")), "{path}");
        }
    }
    for path in ["/v4/nope", "/v4", "/v3/x", "/webhooks/x"] {
        let told = ask(Request::get(path).header("Accept", browser));
        assert_eq!(told.header("content-type"), Some("application/json"), "{path}");
    }
    let posted = ask(Request::post("/nope").header("Accept", browser));
    assert_eq!((posted.status, posted.header("content-type")), (404, Some("application/json")));
}

fn the_page_is_shut_off_from_elsewhere(api: &Api) {
    let page = get(&api.address, "/projects/x");
    let policy = page.header("content-security-policy").unwrap();
    for rule in [
        "default-src 'self'",
        "object-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'self'",
        "connect-src 'self'",
        "form-action 'self'",
    ] {
        assert!(policy.split("; ").any(|part| part == rule), "{policy}");
    }
    assert!(!policy.contains("script-src") && !policy.contains("unsafe-eval"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    let html = text(&page);
    assert!(!html.contains("http://") && !html.contains("https://"), "{html}");
    assert!(!html.contains("<script>"), "nothing inline: {html}");
}

fn the_page_lies_below_any_path() {
    let server = Server::start(&[("ROWMILL_PUBLIC_URL", "https://tables.example/mill")]);
    for path in ["/mill/", "/mill", "/mill/projects/x", "/", "/projects/x"] {
        let page = get(&server.address, path);
        assert!(text(&page).contains("<base href=\"/mill/\" />"), "{path}");
    }
    let script = loaded(&text(&get(&server.address, "/mill/"))).remove(0);
    assert_eq!(get(&server.address, &format!("/mill{script}")).status, 200);
    assert_eq!(get(&server.address, "/mill/v4/team").status, 401);
    assert_eq!(get(&server.address, "/milling/v4/team").status, 404);

    let told = Server::start(&[("ROWMILL_TRUSTED_PROXIES", "127.0.0.1")]);
    let request = Request::get("/projects/x").header("X-Forwarded-Prefix", "/deep/er/");
    let page = exchange(&told.address, &request).unwrap();
    assert!(text(&page).contains("<base href=\"/deep/er/\" />"));
    let lost = Request::get("/nope").header("Accept", "text/html").header("X-Forwarded-Prefix", "/deep");
    assert!(text(&exchange(&told.address, &lost).unwrap()).contains("<base href=\"/deep/\" />"));
    let hostile = Request::get("/").header("X-Forwarded-Prefix", "/\"><script>alert(1)</script>");
    assert!(text(&exchange(&told.address, &hostile).unwrap()).contains("<base href=\"/\" />"));
}
