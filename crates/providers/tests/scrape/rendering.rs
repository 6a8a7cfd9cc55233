//! Pages in a real browser. Without a Chromium these tests are passed over, and say so.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rowmill_providers::render::{Browser, Limits, Rendered, Source};
use rowmill_providers::{Failure, FailureKind};
use url::Url;

use crate::server::{Answer, Seen, Server, redirect, text};
use crate::support::client;

/// Names the browser, as for the tests of the web application.
const VARIABLE: &str = "CHROMIUM";
const SYSTEM: &[&str] = &["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/// Where private things are: the client may call 127.0.0.1 alone.
const PRIVATE: &str = "127.0.0.2";

fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let found = named.or_else(|| SYSTEM.iter().map(PathBuf::from).find(|path| path.exists()));
    if found.is_none() {
        println!("not run: no Chromium is here, and {VARIABLE} names none");
    }
    found
}

/// A site whose pages are answered by their path, however often and in whatever order. Others are not there.
async fn site_at(address: &str, pages: Vec<(&'static str, Answer)>) -> Server {
    let answers = move |request: &Seen| {
        let page = pages.iter().find(|(path, _)| *path == request.target);
        Some(page.map_or_else(|| text(404, "text/plain", "not here"), |(_, answer)| answer.clone()))
    };
    Server::start_with(address, answers).await
}

fn limits() -> Limits {
    Limits { time: Duration::from_mins(1), ..Limits::default() }
}

async fn render(browser: &Browser, url: &Url, page: &str) -> Result<Rendered, Failure> {
    browser.render(&client("127.0.0.1/32"), source(url, page)).await
}

fn source(url: &Url, page: &str) -> Source {
    Source {
        url: url.clone(),
        content_type: "text/html; charset=utf-8".to_owned(),
        body: page.as_bytes().to_vec(),
        with_screenshot: false,
    }
}

/// The processes of browsers that this program started, with their profiles.
fn browsers() -> Vec<PathBuf> {
    let session = session(Path::new("/proc/self"));
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_browser = |path: &PathBuf| {
        // Its children keep the environment that the browser was given.
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains("rowmill-browser-") && self::session(path) == session
    };
    processes.filter(is_browser).collect()
}

/// The third field behind the name of the program.
fn session(process: &Path) -> Option<String> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(3).map(str::to_owned)
}

/// The profiles there are, of all programs.
fn profiles() -> usize {
    let folder = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    let homes = folder(&std::env::temp_dir())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("rowmill-browser-"));
    homes.flat_map(|home| folder(&home.path())).filter(|entry| entry.path().is_dir()).count()
}

/// Waits until no browser is left.
async fn assert_gone() {
    for _ in 0..100 {
        if browsers().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("still there: {:?}", browsers());
}

pub(crate) async fn scripts_make_the_page() {
    let Some(chromium) = chromium() else { return };
    let script = "document.getElementById('root').textContent = 'Wait';
        alert('Hello');
        fetch('/data', {method: 'POST', headers: {'x-key': 'k'}, body: '{\"q\": 1}'}).then((answer) => answer.json())
            .then((data) => { document.getElementById('root').innerHTML = `<h1>${data.title}</h1>`; history.pushState({}, '', '/shown'); });";
    let site = site_at(
        "127.0.0.1",
        vec![
            ("/app.js", text(200, "text/javascript", script)),
            ("/data", text(200, "application/json", r#"{"title": "Mühle"}"#)),
        ],
    )
    .await;
    let page = "<!doctype html><title>Mill</title><div id=root></div><img src=/logo.png><script src=/app.js></script>";
    let browser = Browser::new(&chromium, 1, limits());
    let before = profiles();
    let rendered = render(&browser, &site.base, page).await.unwrap();
    assert!(rendered.html.contains("<h1>Mühle</h1>"), "{}", rendered.html);
    assert_eq!((rendered.url.path(), rendered.screenshot), ("/shown", None));
    let seen = site.seen();
    let lines: Vec<String> = seen.iter().map(Seen::line).collect();
    assert_eq!(lines, ["GET /app.js", "POST /data"], "the page is here already, and pictures are not wanted");
    let data = seen.last().unwrap();
    assert_eq!((data.header("x-key"), data.body.as_str()), (Some("k"), "{\"q\": 1}"));
    assert!(data.header("user-agent").unwrap().starts_with("rowmill/"));
    assert_gone().await;
    for _ in 0..100 {
        if profiles() <= before {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the profile is still there");
}

/// Every way out of a page that is known, aimed at a private address. PRIVATE is replaced by its origin.
const WAYS_OUT: &str = r#"<!doctype html><title>Ways</title><p id=done></p>
<link rel="preconnect" href="PRIVATE"><link rel="dns-prefetch" href="PRIVATE"><link rel="prefetch" href="PRIVATE/prefetch">
<link rel="stylesheet" href="PRIVATE/style.css"><link rel="icon" href="PRIVATE/icon"><link rel="manifest" href="PRIVATE/manifest">
<img src="PRIVATE/img"><iframe src="PRIVATE/frame"></iframe><object data="PRIVATE/object"></object><embed src="PRIVATE/embed">
<video src="PRIVATE/video"></video><script src="PRIVATE/script.js"></script><script src="/redirect.js"></script>
<script type="module">import("PRIVATE/module.js").catch(() => 0)</script>
<script>
const base = "PRIVATE", ws = base.replace("http", "ws");
const calm = (action) => { try { const made = action(); made && made.catch && made.catch(() => 0) } catch {} };
for (const mode of ["cors", "no-cors"]) calm(() => fetch(base + "/fetch", {mode}));
calm(() => fetch(base.replace("127.0.0.2", "2130706434") + "/decimal", {mode: "no-cors"}));
calm(() => fetch(base.replace("127.0.0.2", "0x7f.2") + "/hex", {mode: "no-cors"}));
calm(() => fetch(base.replace("127.0.0.2", "[::ffff:127.0.0.2]") + "/mapped", {mode: "no-cors"}));
calm(() => fetch("/redirect", {mode: "no-cors"}));
calm(() => fetch("file:///etc/passwd").then((answer) => answer.text()).then((text) => { document.title = text }));
calm(() => { const request = new XMLHttpRequest(); request.open("PUT", base + "/xhr"); request.send("x") });
calm(() => navigator.sendBeacon(base + "/beacon", "x"));
calm(() => new WebSocket(ws + "/socket"));
calm(() => new EventSource(base + "/events"));
calm(() => window.open(base + "/popup"));
calm(() => new Worker(URL.createObjectURL(new Blob([`fetch("${base}/worker"); importScripts("${base}/import")`]))));
calm(() => navigator.serviceWorker.register("/worker.js"));
calm(() => { const peer = new RTCPeerConnection({iceServers: [{urls: "stun:" + base.slice(7)}]}); peer.createDataChannel("x");
    peer.createOffer().then((offer) => peer.setLocalDescription(offer)) });
calm(() => { const form = document.createElement("form"); form.action = base + "/form"; form.target = "_blank";
    form.method = "post"; document.body.append(form); form.submit() });
calm(() => { const link = document.createElement("a"); link.href = base + "/ping-target"; link.ping = base + "/ping";
    link.target = "_blank"; document.body.append(link); link.click() });
calm(() => new WebTransport(base.replace("http", "https") + "/transport").closed);
document.getElementById("done").textContent = "all tried";
</script>"#;

pub(crate) async fn nothing_private_is_reached() {
    let Some(chromium) = chromium() else { return };
    let private = site_at(PRIVATE, vec![]).await;
    let origin = private.base.as_str().trim_end_matches('/');
    let site = site_at(
        "127.0.0.1",
        vec![
            ("/redirect", redirect(302, &format!("{origin}/redirected"))),
            ("/redirect.js", redirect(302, &format!("{origin}/redirected.js"))),
            ("/worker.js", text(200, "text/javascript", "fetch('/from-worker')")),
        ],
    )
    .await;
    let browser = Browser::new(&chromium, 1, limits());
    let rendered = render(&browser, &site.base, &WAYS_OUT.replace("PRIVATE", origin)).await.unwrap();
    assert!(rendered.html.contains("all tried"), "{}", rendered.html);
    assert!(!rendered.html.contains("root:"), "{}", rendered.html);
    assert_eq!(private.seen().iter().map(Seen::line).collect::<Vec<_>>(), [""; 0]);
    // A page may lead elsewhere itself.
    for leave in
        ["location.href = base", "document.write(`<meta http-equiv=refresh content='0;url=${base}'>`)"]
    {
        let page = format!("<title>Leaves</title><script>const base = '{origin}/left'; {leave}</script>");
        // Whatever it comes to: a page, or none.
        let _ = render(&browser, &site.base, &page).await;
    }
    assert_eq!(private.seen().len(), 0);
    assert_gone().await;
}

pub(crate) async fn components_are_read() {
    let Some(chromium) = chromium() else { return };
    let page = "<!doctype html><x-card><b slot=title>Rye</b>flour<i slot=none>lost</i></x-card><p>After</p><script>
        class Card extends HTMLElement {
            connectedCallback() {
                this.attachShadow({mode: 'open'}).innerHTML =
                    '<h2><slot name=title>No title</slot></h2><x-price></x-price><slot></slot><slot name=x>Nothing</slot>';
            }
        }
        class Price extends HTMLElement {
            connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<em>3 EUR</em>'; }
        }
        customElements.define('x-card', Card);
        customElements.define('x-price', Price);
        </script>";
    let browser = Browser::new(&chromium, 1, limits());
    let url = Url::parse("http://127.0.0.1:9/").unwrap();
    let html = render(&browser, &url, page).await.unwrap().html;
    let shown = "<h2><b slot=\"title\">Rye</b></h2><x-price><em>3 EUR</em></x-price>flourNothing</x-card><p>After</p>";
    assert!(html.contains(shown), "{html}");
}

pub(crate) async fn a_page_has_limits() {
    let Some(chromium) = chromium() else { return };
    let large = vec![b'x'; 300_000];
    let large = Answer::Http { status: 200, headers: vec![], body: large };
    let site = site_at("127.0.0.1", vec![("/large", large), ("/silent", Answer::Silence)]).await;
    let quick = Limits {
        time: Duration::from_secs(8),
        settle_time: Duration::from_secs(4),
        memory_bytes: 400 * 1024 * 1024,
        bytes: 1_000_000,
        requests: 20,
        ..Limits::default()
    };
    let browser = Browser::new(&chromium, 1, quick);
    let busy = render(&browser, &site.base, "<script>for (;;);</script>").await.unwrap_err();
    assert_eq!((busy.kind, busy.is_transient), (FailureKind::TimedOut, false), "{busy:?}");
    let hog = "<script>const all = []; setInterval(() => all.push(new ArrayBuffer(50e6), new Uint8Array(50e6).fill(1)), 20); fetch('/silent')</script>";
    let hog = render(&browser, &site.base, hog).await.unwrap_err();
    assert!(matches!(hog.kind, FailureKind::TooLarge | FailureKind::InvalidOutput), "{hog:?}");
    // What asks without end is taken as it is.
    let asks = "<p id=p>0</p><script>const ask = () => fetch('/large').then(() => { p.textContent = +p.textContent + 1 }).catch(() => 0).then(ask); ask()</script>";
    let asked = render(&browser, &site.base, asks).await.unwrap();
    assert!(asked.html.contains("<p id=\"p\">3</p>"), "three answers fit: {}", asked.html);
    let made = site.seen().iter().filter(|seen| seen.target == "/large").count();
    assert!((3..=20).contains(&made), "{made} requests");
    let waits = render(&browser, &site.base, "<p>Before</p><script>fetch('/silent')</script>").await.unwrap();
    assert!(waits.html.contains("Before"));
    let again = render(&browser, &site.base, "<p>Again</p><script>location.reload()</script>").await;
    assert!(again.is_ok(), "{again:?}");
    assert_gone().await;
}

pub(crate) async fn a_page_cannot_go_around_its_limits() {
    let Some(chromium) = chromium() else { return };
    let large = Answer::Http { status: 200, headers: vec![], body: vec![b'x'; 300_000] };
    let site = site_at("127.0.0.1", vec![("/large", large)]).await;
    let few = Limits { bytes: 1_000_000, html_chars: 1_000, ..limits() };
    let browser = Browser::new(&chromium, 1, few);
    // What is not given to the page is not fetched either.
    let greedy = "<p id=p></p><script>for (let n = 0; n < 60; n++) fetch('/large').catch(() => 0)</script>";
    render(&browser, &site.base, greedy).await.unwrap();
    let fetched = site.seen().len();
    assert!((3..=5).contains(&fetched), "{fetched} answers of 300 kB for a page that may have 1 MB");
    // What it sends is small.
    let sends = "<script>fetch('/post', {method: 'POST', body: 'x'.repeat(100000)}).catch(() => { document.title = 'refused' })</script>";
    let sent = render(&browser, &site.base, sends).await.unwrap();
    assert!(sent.html.contains("<title>refused</title>"), "{}", sent.html);
    // It cannot change how it is read.
    let lies = "<p>True</p><script>Object.defineProperty(document, 'documentElement', {get: () => ({outerHTML: {slice: () => 'x'.repeat(9e6)}})});
        String.prototype.slice = () => 'y'.repeat(9e6);</script>";
    let read = render(&browser, &site.base, lies).await.unwrap();
    assert!(read.html.contains("<p>True</p>") && read.html.len() <= 1_000, "{}", read.html.len());
    // Scripts that lead nowhere leave the page as it is.
    for nowhere in ["http://127.0.0.2:9/", "http://127.0.0.1:9/", "http://nosuchhost.invalid/"] {
        let leaves = format!("<p>Stays</p><script>location.href = '{nowhere}'</script>");
        let stayed = render(&browser, &site.base, &leaves).await.unwrap();
        assert!(stayed.html.contains("Stays") && stayed.url == site.base, "{nowhere}: {stayed:?}");
    }
    assert_gone().await;
}

pub(crate) async fn a_dropped_page_ends_its_browser() {
    let Some(chromium) = chromium() else { return };
    let site = site_at("127.0.0.1", vec![("/silent", Answer::Silence)]).await;
    let browser = Browser::new(&chromium, 1, limits());
    let page = "<script src=/silent></script>";
    let dropped = tokio::time::timeout(Duration::from_secs(3), render(&browser, &site.base, page)).await;
    assert!(dropped.is_err());
    assert_gone().await;
    // Its place is free again.
    assert!(render(&browser, &site.base, "<p>Next</p>").await.unwrap().html.contains("Next"));
}

pub(crate) async fn a_page_is_pictured() {
    let Some(chromium) = chromium() else { return };
    let svg =
        "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='9' height='9'/></svg>";
    let site = site_at("127.0.0.1", vec![("/logo.svg", text(200, "image/svg+xml", svg))]).await;
    let browser = Browser::new(&chromium, 1, limits());
    let page = Source { with_screenshot: true, ..source(&site.base, "<img src=/logo.svg>") };
    let rendered = browser.render(&client("127.0.0.1/32"), page).await.unwrap();
    let screenshot = rendered.screenshot.unwrap();
    assert!(screenshot.starts_with("/9j/") && screenshot.len() > 1_000, "a JPEG image");
    assert_eq!(site.seen().len(), 1, "its pictures are wanted then");
}

pub(crate) async fn a_missing_browser_is_told() {
    let browser = Browser::new("/nowhere/chromium", 1, limits());
    let url = Url::parse("http://127.0.0.1/").unwrap();
    let failure = render(&browser, &url, "<p>Page</p>").await.unwrap_err();
    assert!(failure.is_transient && failure.message.contains("browser"), "{failure:?}");
    assert!(browser.version().await.is_err());
    let Some(chromium) = chromium() else { return };
    let version = Browser::new(&chromium, 1, limits()).version().await.unwrap();
    assert!(version.contains("Chrome"), "{version}");
}
