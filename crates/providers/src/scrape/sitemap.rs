//! Sitemaps: the pages that a site names itself. Runs in the child, as all that reads what strangers send.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use quick_xml::Reader;
use quick_xml::events::Event;
use url::Url;

use super::charset::decode;
use super::frames::{Job, Page};

/// As many as one sitemap may have.
const PAGES_MAX: usize = 50_000;
const PAGES_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Other sitemaps that an index names.
const SITEMAPS_MAX: usize = 100;
/// As long as a sitemap may be, unpacked.
const BYTES_MAX: u64 = 50 * 1024 * 1024;
const ADDRESS_BYTES_MAX: usize = 2_000;
const GZIP: &[u8] = &[0x1f, 0x8b];
const DEPTH_MAX: usize = 64;

/// Reads a sitemap, or an index of sitemaps. Of one that is broken or too long, the part before that counts.
pub(super) fn read(job: &Job, body: &[u8]) -> Page {
    let mut page = Page::default();
    let unpacked = body.starts_with(GZIP).then(|| unpack(body, BYTES_MAX));
    let text = decode(unpacked.as_deref().unwrap_or(body), &job.content_type, job.url.host_str());
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with('<') {
        read_xml(start, &job.url, &mut page);
    } else {
        let mut found = Found { base: &job.url, page: &mut page, bytes: 0 };
        // A line for each page.
        _ = start.lines().all(|line| !line.starts_with("http") || found.add("url", line));
    }
    page
}

/// What came until it broke, or was too long, is kept.
fn unpack(body: &[u8], bytes_max: u64) -> Vec<u8> {
    let mut unpacked = Vec::new();
    _ = MultiGzDecoder::new(body).take(bytes_max).read_to_end(&mut unpacked);
    unpacked
}

struct Found<'a> {
    base: &'a Url,
    page: &'a mut Page,
    bytes: usize,
}

impl Found<'_> {
    /// Takes an address that stands in an element of this name. Says whether there is room for more.
    fn add(&mut self, parent: &str, address: &str) -> bool {
        let url = self.base.join(address.trim()).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https")).map(String::from);
        let Some(url) = url.filter(|url| url.len() <= ADDRESS_BYTES_MAX) else { return true };
        match parent {
            "url" => {
                self.bytes += url.len();
                self.page.links.push(url);
            }
            "sitemap" if self.page.sitemaps.len() < SITEMAPS_MAX => self.page.sitemaps.push(url),
            _ => {}
        }
        self.page.links.len() < PAGES_MAX && self.bytes < PAGES_BYTES_MAX
    }
}

/// Entities that a document declares are not read, so none can grow.
fn read_xml(text: &str, base: &Url, page: &mut Page) {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    let mut found = Found { base, page, bytes: 0 };
    let mut names: Vec<String> = Vec::new();
    let mut address = None::<String>;
    while let Ok(event) = reader.read_event() {
        let words = match event {
            Event::Start(start) => {
                // Pictures have addresses, too, in elements with a prefix.
                let is_address = start.name().as_ref() == "loc";
                names.push(start.local_name().as_ref().to_owned());
                if names.len() > DEPTH_MAX {
                    return;
                }
                address = is_address.then(String::new);
                continue;
            }
            Event::End(_) => {
                names.pop();
                let parent = names.last().map(String::as_str).unwrap_or_default();
                if let Some(address) = address.take()
                    && !found.add(parent, &address)
                {
                    return;
                }
                continue;
            }
            Event::Text(text) => (*text).to_owned(),
            Event::CData(text) => (*text).to_owned(),
            Event::GeneralRef(entity) => match &*entity {
                "amp" => "&".to_owned(),
                "apos" => "'".to_owned(),
                _ => continue,
            },
            Event::Eof => return,
            _ => continue,
        };
        if let Some(address) = address.as_mut().filter(|address| address.len() <= ADDRESS_BYTES_MAX) {
            address.push_str(&words);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::scrape::frames::{Kind, Wanted};

    fn found(body: &[u8]) -> Page {
        let job = Job {
            url: Url::parse("https://example.com/sitemap.xml").unwrap(),
            kind: Kind::Sitemap,
            content_type: String::new(),
            only_main_content: false,
            wanted: Wanted::default(),
        };
        read(&job, body)
    }

    fn packed(text: &str) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn sitemaps_of_all_kinds_are_read() {
        let xml = "<?xml version='1.0'?><urlset xmlns='x' xmlns:image='y'><url><loc> https://example.com/a?b=1&amp;c=2\n</loc>\
            <lastmod>2026</lastmod><image:image><image:loc>https://example.com/a.png</image:loc></image:image></url>\
            <url><loc><![CDATA[https://example.com/d]]></loc></url><url><loc>javascript:x</loc></url></urlset>";
        let expected = ["https://example.com/a?b=1&c=2", "https://example.com/d"];
        for body in [xml.as_bytes().to_vec(), packed(xml), ["\u{feff}", xml].concat().into_bytes()] {
            assert_eq!(found(&body).links, expected);
        }
        assert_eq!(found(b"https://example.com/a?b=1&c=2\r\nhttps://example.com/d\r\n# end").links, expected);
        // The beginning of a broken one counts.
        assert_eq!(found(&xml.as_bytes()[..xml.len() - 40]).links, expected);
        let broken = packed(xml);
        let part = found(&broken[..broken.len() - 20]).links;
        assert!(part.iter().zip(expected).all(|(found, expected)| found == expected), "{part:?}");
        let index = "<sitemapindex><sitemap><loc>/pages.xml.gz</loc></sitemap></sitemapindex>";
        assert_eq!(found(index.as_bytes()).sitemaps, ["https://example.com/pages.xml.gz"]);
        for nothing in ["", "<html><body>Not found", "{}"] {
            assert_eq!(found(nothing.as_bytes()), Page::default(), "{nothing}");
        }
    }

    #[test]
    fn hostile_sitemaps_are_bounded() {
        let mut many = "<urlset>".to_owned();
        for number in 0..PAGES_MAX + 10 {
            write!(many, "<url><loc>https://example.com/{number}</loc></url>").unwrap();
        }
        assert_eq!(found(&packed(&many)).links.len(), PAGES_MAX);
        let index = "<sitemap><loc>/x</loc></sitemap>".repeat(1_000);
        assert_eq!(found(format!("<sitemapindex>{index}").as_bytes()).sitemaps.len(), SITEMAPS_MAX);
        let long = format!("<urlset><url><loc>{}</loc></url>", "x".repeat(1_000_000));
        assert_eq!(found(long.as_bytes()).links.len(), 0);
        let laughs =
            "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]><urlset><url><loc>/&b;</loc></url></urlset>";
        assert_eq!(found(laughs.as_bytes()).links, ["https://example.com/"]);
        assert_eq!(found("<url>".repeat(100_000).as_bytes()).links.len(), 0);
        // A small file that unpacks to a large one.
        let bomb = packed(&" ".repeat(1_000_000));
        assert!(bomb.len() < 20_000 && unpack(&bomb, 5_000).len() == 5_000);
    }
}
