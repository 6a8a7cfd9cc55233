//! Thumbnails of images in cells: fetched by the server through its guard, made small, kept, and only for those who may
//! read the cell.

use std::io::Write as _;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use serde_json::json;

use super::processing::started;
use crate::harness::http::Request;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen};
use crate::harness::{Scenario, Server, StubServer, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("thumbnails", Own:
    an_image_arrives_small_and_is_fetched_once,
    what_cannot_be_shown_is_refused,
    only_who_may_read_the_cell_sees_it,
);

/// A PNG of one colour that says that it has this size, and has pixels for it only if it is small.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |name: &[u8; 4], data: &[u8]| {
        let mut crc = Crc::new();
        crc.update(name);
        crc.update(data);
        bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend([name.as_slice(), data, &crc.sum().to_be_bytes()].concat());
    };
    // Eight bits, red, green and blue.
    chunk(b"IHDR", &[width.to_be_bytes().as_slice(), &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat());
    let mut pixels = ZlibEncoder::new(Vec::new(), Compression::fast());
    let line = [vec![0], [200, 30, 40].repeat(width.min(2_000) as usize)].concat();
    for _ in 0..height.min(2_000) {
        pixels.write_all(&line).unwrap();
    }
    chunk(b"IDAT", &pixels.finish().unwrap());
    chunk(b"IEND", b"");
    bytes
}

fn raw(body: &[u8]) -> Reply {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    Reply::Raw([head.as_bytes(), body].concat())
}

fn images() -> StubServer {
    StubServer::start(|seen: &Seen, _| match seen.path.as_str() {
        "/large.png" | "/logo" => raw(&png(1_200, 600)),
        "/bomb.png" => raw(&png(40_000, 40_000)),
        "/page.png" => raw(b"<html>no image</html>"),
        "/drawing.png" => raw(b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"),
        "/broken.png" => raw(&png(300, 300)[..90]),
        "/endless.png" => Reply::Endless,
        "/moved.png" => {
            Reply::With(302, vec![("Location", "http://169.254.169.254/a.png".to_owned())], String::new())
        }
        _ => Reply::Json(404, json!({})),
    })
}

fn address(table: &Table, row: &str, header: &str) -> String {
    table.path(&format!("/rows/{row}/cells/{}/image", table.column(header)))
}

/// The size that the head of a JPEG tells.
fn jpeg_size(bytes: &[u8]) -> (u16, u16) {
    let mut at = 2;
    while bytes[at + 1] != 0xc0 {
        at += 2 + usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]]));
    }
    let number = |place: usize| u16::from_be_bytes([bytes[at + place], bytes[at + place + 1]]);
    (number(7), number(5))
}

fn an_image_arrives_small_and_is_fetched_once() {
    let images = images();
    let server = started(&[]);
    let table = server.api().table(&["Website", "Logo", "Page"]);
    let page = json!({ "links": ["https://a.example/x.png"], "metadata": { "logo": images.url("/logo") } });
    let rows = table
        .insert(json!([{ "Website": images.url("/large.png"), "Logo": images.url("/logo"), "Page": page }]));
    let api = server.api();
    for header in ["Website", "Logo", "Page"] {
        let answer = api.get(address(&table, &rows[0], header));
        assert_eq!((answer.status(), answer.header("content-type")), (200, Some("image/jpeg")), "{header}");
        assert_eq!(jpeg_size(answer.raw()), (256, 128));
        assert!(answer.raw().len() < 20_000);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
    }
    assert_eq!(images.count(), 2, "the same address is fetched once");
    let answer = api.get(format!("{}?version=1", address(&table, &rows[0], "Logo")));
    assert_eq!(answer.header("cache-control"), Some("private, max-age=86400"));
    let tag = answer.header("etag").unwrap();
    let again = api.send(Request::get(address(&table, &rows[0], "Logo")).header("If-None-Match", tag));
    assert_eq!((again.status(), again.raw().len()), (304, 0));
    assert_eq!(images.count(), 2);
    // What is asked for is what stands in the cell, and nothing else.
    api.get(format!("{}?url={}", address(&table, &rows[0], "Logo"), images.url("/other.png")))
        .offends(&["url"]);
    table.patch(&format!("/rows/{}", rows[0]), json!({ "Logo": "no address" })).ok();
    api.get(address(&table, &rows[0], "Logo")).refused(404, "image_not_found");
}

fn what_cannot_be_shown_is_refused() {
    let images = images();
    let server = started(&[]);
    let table = server.api().table(&["Image"]);
    let api = server.api();
    let hostile =
        ["/bomb.png", "/page.png", "/drawing.png", "/broken.png", "/endless.png", "/moved.png", "/gone.png"];
    let words = ["pixels", "not an image", "not an image", "broken", "limit", "private address", "404"];
    let addresses = hostile.iter().map(|path| images.url(path)).chain(["http://10.1.2.3/a.png".to_owned()]);
    let rows = table.insert(addresses.map(|address| json!({ "Image": address })).collect());
    for (row, words) in rows.iter().zip(words.into_iter().chain(["private address"])) {
        let refusal = api.get(address(&table, row, "Image")).refused(404, "image_unavailable");
        let message = refusal["error"].as_str().unwrap();
        assert!(message.contains(words), "{words}: {message}");
    }
    // A failure is remembered for a while.
    let count = images.count();
    api.get(address(&table, &rows[1], "Image")).refused(404, "image_unavailable");
    assert_eq!(images.count(), count);
    // Its children live on, and so does the server.
    let good = table.insert(json!([{ "Image": images.url("/large.png") }]));
    assert_eq!(api.get(address(&table, &good[0], "Image")).status(), 200);
}

fn only_who_may_read_the_cell_sees_it() {
    let images = images();
    let server: Server = started(&[]);
    let table = server.api().table(&["Image"]);
    let rows = table.insert(json!([{ "Image": images.url("/large.png") }, {}]));
    let path = address(&table, &rows[0], "Image");
    server.team("stranger").get(path.as_str()).refused(404, "project_not_found");
    server.api_without_key().get(path.as_str()).refused(401, "unauthenticated");
    let writer = server.api().post("/v4/keys", json!({ "name": "Writer", "scopes": ["write"] })).created();
    server.api_with(writer["secret"].as_str().unwrap()).get(path.as_str()).refused(403, "missing_scope");
    let api = server.api();
    api.get(table.path(&format!("/rows/{}/cells/nonsense/image", rows[0]))).refused(404, "column_not_found");
    api.get(table.path("/rows/nonsense/cells/_trigger/image")).refused(404, "row_not_found");
    api.get(address(&table, &rows[1], "Image")).refused(404, "image_not_found");
    assert_eq!(images.count(), 0, "nobody was asked");
}
