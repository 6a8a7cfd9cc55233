//! What is no ordinary page: shells, feeds, PDF documents, odd encodings.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use rowmill_providers::scrape::Scraped;
use rowmill_providers::{Failure, FailureKind};
use serde_json::{Value, json};

use crate::server::{Answer, Server, text};
use crate::stub_children::{scraper, target};

async fn scrape(answer: Answer) -> Result<Scraped, Failure> {
    let server = Server::start(vec![answer]).await;
    scraper("good").scrape(&target(&server, "/page"), &()).await
}

fn bytes(content_type: &str, body: Vec<u8>) -> Answer {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Answer::Http { status: 200, headers, body }
}

fn words() -> String {
    "The mill stands by the river and grinds the grain of eleven villages. ".repeat(5).trim_end().to_owned()
}

pub(crate) async fn shells_are_told() {
    let shell = |head: &str| {
        format!(
            "<html><head><title>Mill</title>{head}</head><body><noscript>You need to enable JavaScript to run this \
             app.</noscript><div id=root></div><script src=/app.js></script></body></html>"
        )
    };
    let failure = scrape(text(200, "text/html", &shell(""))).await.unwrap_err();
    assert_eq!((failure.kind, failure.is_transient), (FailureKind::NeedsBrowser, false));
    assert_eq!(failure.kind.code().word(), "needs_browser");
    assert!(failure.message.contains("JavaScript") && failure.message.contains("HTTP API"), "{failure}");
    let feed = "<link rel=alternate type=application/rss+xml href=/feed.xml>";
    let failure = scrape(text(200, "text/html", &shell(feed))).await.unwrap_err();
    assert!(failure.message.contains("/feed.xml"), "{failure}");

    let data = json!({"props": {"pageProps": {"title": "The mill", "text": words()}}, "page": "/"});
    let next = format!("<script id=__NEXT_DATA__ type='application/json'>{data}</script>");
    let linked = json!({"@type": "Article", "headline": "The mill", "articleBody": words()});
    let linked = format!("<script type='application/ld+json'>{linked}</script>");
    for head in [next, linked] {
        let scraped = scrape(text(200, "text/html", &shell(&head))).await.unwrap();
        assert!(scraped.markdown.contains(&words()), "{}", scraped.markdown);
        assert_eq!(scraped.metadata.title.as_deref(), Some("Mill"));
    }
    let page =
        shell(&format!("<script>window.__APOLLO_STATE__={}</script>", json!({"a": {"body": words()}})));
    let value = serde_json::to_value(scrape(text(200, "text/html", &page)).await.unwrap()).unwrap();
    assert_eq!((&value["markdown"], &value["metadata"]["embedded"]), (&json!(words()), &json!(true)));
    let value = serde_json::to_value(scrape(text(200, "text/html", "<p>Hi")).await.unwrap()).unwrap();
    assert_eq!(value["metadata"].get("embedded"), None);
}

pub(crate) async fn feeds_are_lists() {
    let rss = "<?xml version='1.0'?><rss><channel><title>Mill news</title><language>en-gb</language>
        <item><title>Rye</title><link>https://example.com/rye</link><description>Fresh &amp;amp; warm</description></item>
        <item><title>Wheat</title><link>https://example.com/wheat</link><pubDate>Mon, 02 Nov 2026</pubDate></item>
        </channel></rss>";
    for content_type in ["application/rss+xml", "text/xml; charset=utf-8", "application/xml", "text/html"] {
        let value = serde_json::to_value(scrape(text(200, content_type, rss)).await.unwrap()).unwrap();
        let expected = json!([
            {"title": "Rye", "url": "https://example.com/rye", "summary": "Fresh & warm"},
            {"title": "Wheat", "url": "https://example.com/wheat", "publishedAt": "Mon, 02 Nov 2026"},
        ]);
        assert_eq!(value["items"], expected, "{content_type}");
        assert_eq!(value["links"], json!(["https://example.com/rye", "https://example.com/wheat"]));
        assert_eq!(
            (&value["metadata"]["title"], &value["metadata"]["language"]),
            (&json!("Mill news"), &json!("en-gb"))
        );
        let markdown = value["markdown"].as_str().unwrap();
        assert!(markdown.starts_with("# Mill news\n\n- [Rye](https://example.com/rye)"), "{markdown}");
    }
    let value = serde_json::to_value(scrape(text(200, "text/html", "<p>Hi")).await.unwrap()).unwrap();
    assert_eq!(value.get("items"), None);
}

pub(crate) async fn layers_are_undone() {
    let gzip = |body: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    };
    let once = gzip(b"<p>Hello");
    let twice = gzip(&once);
    let html = |body: &[u8]| bytes("text/html", body.to_vec());
    for answer in [
        html(&once).with("content-encoding", "gzip"),
        html(&once).with("content-encoding", "X-Gzip"),
        html(&twice).with("content-encoding", "gzip, gzip"),
        html(&twice).with("content-encoding", "gzip").with("content-encoding", "gzip"),
        html(&deflated(b"<p>Hello")).with("content-encoding", "deflate"),
    ] {
        assert_eq!(scrape(answer).await.unwrap().markdown, "Hello");
    }
    let bomb = gzip(&gzip(&vec![b'x'; 70_000_000]));
    let failure = scrape(html(&bomb).with("content-encoding", "gzip, gzip")).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::TooLarge);
}

pub(crate) async fn names_keep_their_letters() {
    for (content_type, body) in [
        ("text/html; charset=iso-8859-1", "<p>Müller".as_bytes()),
        ("text/html; charset=utf-8", b"<p>M\xfcller"),
        ("text/html", b"<meta charset=utf-8><p>M\xfcller"),
        ("text/plain; charset=us-ascii", "Müller".as_bytes()),
    ] {
        let scraped = scrape(bytes(content_type, body.to_vec())).await.unwrap();
        assert_eq!(scraped.markdown, "Müller", "{content_type}");
    }
}

fn deflated(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// A document of these objects, the first of which is its catalogue and the last of which is its information.
fn document(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(out.len());
        out.extend(format!("{number} 0 obj\n").bytes());
        out.extend(object);
        out.extend(b"\nendobj\n");
    }
    let (start, size) = (out.len(), objects.len() + 1);
    out.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").bytes());
    for place in places {
        out.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let info = objects.len();
    out.extend(
        format!("trailer\n<</Size {size}/Root 1 0 R/Info {info} 0 R{trailer}>>\nstartxref\n{start}\n%%EOF\n")
            .bytes(),
    );
    out
}

fn stream(content: &[u8], dictionary: &str) -> Vec<u8> {
    let body = deflated(content);
    let head = format!("<<{dictionary}/Filter/FlateDecode/Length {}>>stream\n", body.len());
    [head.as_bytes(), &body, b"\nendstream"].concat()
}

/// A document with one page of this content.
fn page(content: &[u8]) -> Vec<u8> {
    document(&objects(content), "")
}

fn objects(content: &[u8]) -> Vec<Vec<u8>> {
    vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 5 0 R/Resources<</Font<</F1 4 0 R>>/XObject<</X 6 0 R>>>>>>"
            .to_vec(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_vec(),
        stream(content, ""),
        stream(b"/X Do", "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>"),
        b"<</Title(About M\xfcller)>>".to_vec(),
    ]
}

const HELLO: &[u8] =
    b"BT /F1 12 Tf 72 720 Td (The mill of M\xfcller grinds) Tj 0 -14 Td (rye and wheat.) Tj ET";

pub(crate) async fn documents_are_read() {
    for content_type in ["application/pdf", "application/octet-stream", "Application/PDF; x=y"] {
        let scraped = scrape(bytes(content_type, page(HELLO))).await.unwrap();
        let words: Vec<&str> = scraped.markdown.split_whitespace().collect();
        assert_eq!(words.join(" "), "The mill of Müller grinds rye and wheat.");
        let value: Value = serde_json::to_value(&scraped).unwrap();
        assert_eq!(
            (&value["metadata"]["title"], &value["metadata"]["pageCount"]),
            (&json!("About Müller"), &json!(1))
        );
    }
    for (body, words) in [
        (page(b"0 0 m 10 10 l S"), "pictures"),
        (b"%PDF-1.7\nnothing".to_vec(), "broken"),
        (b"no document".to_vec(), "broken"),
        (locked(), "password"),
    ] {
        let failure = scrape(bytes("application/pdf", body)).await.unwrap_err();
        assert_eq!((failure.kind, failure.is_transient), (FailureKind::InvalidOutput, false), "{words}");
        assert!(failure.message.contains(words), "{words}: {failure}");
    }
}

/// A document that nobody has the password of.
fn locked() -> Vec<u8> {
    let key = "00".repeat(32);
    let encryption = format!("<</Filter/Standard/V 1/R 2/P -4/O<{key}>/U<{key}>>>");
    let mut objects = objects(HELLO);
    objects.insert(6, encryption.into_bytes());
    document(&objects, "/Encrypt 7 0 R/ID[<00><00>]")
}

pub(crate) async fn hostile_documents_do_no_harm() {
    let looped = document(
        &[
            b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
            b"<</Type/Pages/Kids[3 0 R 2 0 R]/Count 2/Parent 2 0 R>>".to_vec(),
            b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>".to_vec(),
            stream(HELLO, ""),
            b"<<>>".to_vec(),
        ],
        "",
    );
    let nested = [b"BT ".as_slice(), &b"[".repeat(1_000_000), HELLO].concat();
    let server_answers = [
        looped,
        page(b"/X Do"),
        page(&vec![b' '; 200_000_000]),
        page(&nested),
        [b"%PDF-1.4\n1 0 obj\n".as_slice(), &b"<<".repeat(1_000_000)].concat(),
        [b"%PDF-1.4\n".as_slice(), &b"\xff\0<<[(".repeat(200_000)].concat(),
    ];
    for (number, body) in server_answers.into_iter().enumerate() {
        let server =
            Server::start(vec![bytes("application/pdf", body), bytes("application/pdf", page(HELLO))]).await;
        let scraper = scraper("good");
        let failure = scraper.scrape(&target(&server, "/page"), &()).await.unwrap_err();
        assert!(
            matches!(failure.kind, FailureKind::InvalidOutput | FailureKind::TimedOut),
            "{number}: {failure}"
        );
        assert!(scraper.scrape(&target(&server, "/next"), &()).await.is_ok(), "{number}");
    }
}
