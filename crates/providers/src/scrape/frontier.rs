//! The frontier of a crawl: which addresses are known, which are next, and which are the same page.
//!
//! A site can have endless addresses: calendars, filters, links that grow. So everything here has a limit.

use std::collections::{HashMap, HashSet, VecDeque};

use rowmill_model::column::Crawl;
use url::Url;

use super::address;
use super::url_pattern::{UrlPattern, host, without_www};
use crate::failure::Failure;

/// Addresses that are known, and their bytes.
const KNOWN_MAX: usize = 10_000;
const KNOWN_BYTES_MAX: usize = 4 * 1024 * 1024;
const ADDRESS_BYTES_MAX: usize = 2_000;
/// Addresses that differ in their query only: filters and calendars have no end.
const QUERIES_EACH_PATH_MAX: usize = 10;
/// A path that says the same word more often is made by links that grow.
const SAME_SEGMENTS_MAX: usize = 3;
/// Parameters that say where a visitor comes from, and not what is shown.
const TRACKING: [&str; 10] =
    ["gclid", "fbclid", "msclkid", "mc_cid", "mc_eid", "yclid", "igshid", "phpsessid", "jsessionid", "_ga"];
/// Files that are no pages.
const FILES: [&str; 36] = [
    "7z", "apk", "avi", "avif", "bmp", "bz2", "css", "dmg", "doc", "docx", "eot", "exe", "gif", "gz", "ico",
    "iso", "jpeg", "jpg", "js", "m4a", "mov", "mp3", "mp4", "mpg", "ogg", "png", "ppt", "pptx", "rar", "svg",
    "tar", "ttf", "webm", "webp", "woff2", "zip",
];

/// A page to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    pub url: Url,
    /// Links from the start page.
    pub depth: u32,
}

/// What became of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// A page of the list.
    Wanted,
    /// A page that only leads to others.
    Passed,
    /// The same page as another one of the list.
    Duplicate,
    /// A redirect led to a page that is not wanted.
    Outside,
}

#[derive(Debug)]
pub struct Frontier {
    start: Url,
    /// The hosts that count as the site's own.
    hosts: Vec<String>,
    include: Vec<UrlPattern>,
    exclude: Vec<UrlPattern>,
    depth_max: u32,
    waiting: VecDeque<Visit>,
    known: HashSet<String>,
    known_bytes: usize,
    queries: HashMap<String, usize>,
    listed: HashSet<String>,
}

impl Frontier {
    /// Begins at an address as it stands in a cell.
    pub fn new(start: &str, crawl: &Crawl) -> Result<Self, Failure> {
        let start = address::parse(start)?;
        let mut frontier = Self {
            hosts: vec![site(&start)],
            include: UrlPattern::all("include", &crawl.include)?,
            exclude: UrlPattern::all("exclude", &crawl.exclude)?,
            depth_max: crawl.max_depth.min(Crawl::DEPTH_MAX),
            waiting: VecDeque::new(),
            known: HashSet::new(),
            known_bytes: 0,
            queries: HashMap::new(),
            listed: HashSet::new(),
            start: start.clone(),
        };
        frontier.known.insert(key(&start));
        frontier.waiting.push_back(Visit { url: start, depth: 0 });
        Ok(frontier)
    }

    pub fn start(&self) -> &Url {
        &self.start
    }

    pub fn next_visit(&mut self) -> Option<Visit> {
        self.waiting.pop_front()
    }

    /// Addresses that were found and not visited.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether pages this far from the start are followed further.
    pub fn is_followed(&self, depth: u32) -> bool {
        depth < self.depth_max
    }

    /// Adds what a page of this depth, or a sitemap, leads to.
    pub fn add<'a>(&mut self, links: impl IntoIterator<Item = &'a str>, depth: u32) {
        if !self.is_followed(depth) {
            return;
        }
        for link in links {
            if self.known.len() >= KNOWN_MAX || self.known_bytes >= KNOWN_BYTES_MAX {
                return;
            }
            if let Some(url) = Url::parse(link).ok().filter(|url| self.is_worth_a_visit(url)) {
                self.add_one(url, depth + 1);
            }
        }
    }

    fn add_one(&mut self, mut url: Url, depth: u32) {
        url.set_fragment(None);
        let key = key(&url);
        if self.known.contains(&key) {
            return;
        }
        if url.query().is_some() {
            let path = [&site(&url), url.path()].concat();
            let queries = self.queries.entry(path).or_default();
            if *queries >= QUERIES_EACH_PATH_MAX {
                return;
            }
            *queries += 1;
        }
        self.known_bytes += 2 * key.len();
        self.known.insert(key);
        self.waiting.push_back(Visit { url, depth });
    }

    /// Notes where a visit ended: its address after redirects, and the one that the page gives itself.
    pub fn arrived(&mut self, visit: &Visit, found: &Url, canonical: Option<&str>) -> Arrival {
        if visit.depth == 0 {
            // The site lives where its address leads.
            let moved = site(found);
            if !self.hosts.contains(&moved) {
                self.hosts.push(moved);
            }
        }
        let is_wanted = self.is_wanted(found);
        if visit.depth > 0 && !is_wanted {
            return Arrival::Outside;
        }
        // Most pages name themselves.
        let keys: HashSet<String> =
            std::iter::once(key(found)).chain(self.canonical_key(found, canonical)).collect();
        let is_listed = keys.iter().any(|key| self.listed.contains(key));
        if is_wanted {
            self.listed.extend(keys.iter().cloned());
        }
        self.known.extend(keys);
        match (is_wanted, is_listed) {
            (false, _) => Arrival::Passed,
            (true, true) => Arrival::Duplicate,
            (true, false) => Arrival::Wanted,
        }
    }

    /// Only an address of the same site counts: no page speaks for others. Some sites name their start page on all
    /// pages, by mistake.
    fn canonical_key(&self, found: &Url, canonical: Option<&str>) -> Option<String> {
        let canonical = Url::parse(canonical?).ok()?;
        let is_start = canonical.path() == "/" && canonical.query().is_none() && found.path() != "/";
        (self.is_own(&canonical) && self.is_own(found) && !is_start).then(|| key(&canonical))
    }

    fn is_own(&self, url: &Url) -> bool {
        self.hosts.contains(&site(url))
    }

    /// Whether the settings ask for this page.
    fn is_wanted(&self, url: &Url) -> bool {
        let is_own = self.is_own(url);
        let matches = |patterns: &[UrlPattern]| patterns.iter().any(|pattern| pattern.is_match(url, is_own));
        let is_included = if self.include.is_empty() { is_own } else { matches(&self.include) };
        is_included && !matches(&self.exclude)
    }

    fn is_worth_a_visit(&self, url: &Url) -> bool {
        let is_page =
            matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
        is_page
            && url.as_str().len() <= ADDRESS_BYTES_MAX
            && !is_file(url)
            && !grows(url)
            && self.is_wanted(url)
    }
}

fn is_file(url: &Url) -> bool {
    let name = url.path().rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(_, ending)| FILES.contains(&ending.to_ascii_lowercase().as_str()))
}

fn grows(url: &Url) -> bool {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    url.path().split('/').filter(|segment| !segment.is_empty()).any(|segment| {
        let count = counts.entry(segment).or_default();
        *count += 1;
        *count > SAME_SEGMENTS_MAX
    })
}

/// The host that counts: `www.` and the usual ports make no difference.
fn site(url: &Url) -> String {
    without_www(&host(url)).to_owned()
}

/// The same for all ways to write an address.
fn key(url: &Url) -> String {
    let path = url.path().strip_suffix("/index.html").unwrap_or(url.path()).trim_end_matches('/');
    let mut pairs: Vec<(String, String)> =
        url.query_pairs().map(|(name, value)| (name.into(), value.into())).collect();
    pairs.retain(|(name, _)| {
        let name = name.to_ascii_lowercase();
        !name.starts_with("utm_") && !TRACKING.contains(&name.as_str())
    });
    pairs.sort();
    let query: Vec<String> = pairs.iter().map(|(name, value)| format!("&{name}={value}")).collect();
    [&site(url), path, &query.concat()].concat()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frontier(config: serde_json::Value) -> Frontier {
        Frontier::new("https://www.example.com/", &serde_json::from_value(config).unwrap()).unwrap()
    }

    /// The addresses that are visited if the start page has these links.
    fn visited(config: serde_json::Value, links: &[&str]) -> Vec<String> {
        let mut frontier = frontier(config);
        let start = frontier.next_visit().unwrap();
        frontier.add(links.iter().copied(), start.depth);
        std::iter::from_fn(|| frontier.next_visit()).map(|visit| visit.url.into()).collect()
    }

    #[test]
    fn only_pages_that_are_asked_for_are_visited() {
        let links = [
            "https://example.com/about",
            "https://www.example.com/about/",
            "https://example.com/about?utm_source=x#team",
            "https://example.com/index.html",
            "https://example.com/blog/rye",
            "https://example.com/logo.PNG",
            "https://example.com/terms.pdf",
            "https://docs.example.com/x",
            "https://other.example/",
            "http://example.com/plain",
            "https://user@example.com/login",
            "https://example.com:8443/port",
            "mailto:ada@example.com",
            "nonsense",
        ];
        for (config, expected) in [
            (
                json!({}),
                "example.com/about example.com/blog/rye example.com/terms.pdf http example.com/plain",
            ),
            (json!({"include": ["/blog/*"]}), "example.com/blog/rye"),
            (
                json!({"include": ["/blog/*", "https://docs.example.com/*"]}),
                "example.com/blog/rye docs.example.com/x",
            ),
            (json!({"exclude": ["/blog/*", "*.pdf", "/plain"]}), "example.com/about"),
            (json!({"maxDepth": 0}), ""),
        ] {
            let found = visited(config.clone(), &links).join(" ");
            let found = found.replace("https://", "").replace("http://", "http ");
            assert_eq!(found, expected, "{config}");
        }
    }

    #[test]
    fn traps_have_an_end() {
        let calendar: Vec<String> =
            (0..5_000).map(|day| format!("https://example.com/calendar?day={day}")).collect();
        let many: Vec<String> = (0..50_000).map(|page| format!("https://example.com/{page}")).collect();
        let growing: Vec<String> =
            (1..500).map(|times| format!("https://example.com/{}", "a/b/".repeat(times))).collect();
        let long: Vec<String> =
            (0..50_000).map(|page| format!("https://example.com/{page}{}", "x".repeat(1_900))).collect();
        for (links, most) in [
            (calendar, QUERIES_EACH_PATH_MAX),
            (many, KNOWN_MAX),
            (growing, SAME_SEGMENTS_MAX),
            (long, KNOWN_BYTES_MAX / 3_800 + 1),
        ] {
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            let found = visited(json!({}), &links).len();
            assert!(found > 2 && found <= most, "{found} of at most {most}");
        }
    }

    #[test]
    fn a_page_is_listed_once() {
        let mut frontier = frontier(json!({"include": ["/*"], "exclude": ["/private/*"]}));
        let url = |text: &str| Url::parse(text).unwrap();
        let start = frontier.next_visit().unwrap();
        assert_eq!(frontier.arrived(&start, &url("https://example.org/"), None), Arrival::Wanted);
        let inner = Visit { url: url("https://example.org/a"), depth: 1 };
        for (found, canonical, expected) in [
            ("https://example.org/self", Some("https://example.org/self"), Arrival::Wanted),
            ("https://example.org/a?x=1", Some("https://example.org/a"), Arrival::Wanted),
            ("https://example.org/a?x=2", Some("https://www.example.org/a/"), Arrival::Duplicate),
            ("https://example.org/a", None, Arrival::Duplicate),
            ("https://example.org/b", Some("https://example.org/"), Arrival::Wanted),
            ("https://example.org/c", Some("https://other.example/a"), Arrival::Wanted),
            ("https://example.org/c/", None, Arrival::Duplicate),
            ("https://example.org/private/x", None, Arrival::Outside),
            ("https://other.example/", None, Arrival::Outside),
        ] {
            assert_eq!(frontier.arrived(&inner, &url(found), canonical), expected, "{found}");
        }
        // The start page is read, whether it is wanted or not.
        let mut frontier = self::frontier(json!({"include": ["/blog/*"]}));
        let start = frontier.next_visit().unwrap();
        let found = start.url.clone();
        assert_eq!(frontier.arrived(&start, &found, None), Arrival::Passed);
    }
}
