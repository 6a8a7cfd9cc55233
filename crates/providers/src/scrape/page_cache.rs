//! Pages as they came, so that a site need not send again what has not changed (RFC 9111, conditional requests).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rowmill_fairness::Tenant;
use url::Url;

use crate::failure::Failure;
use crate::ssrf_guard::{Request, Response};

/// All pages of this process, and one of them.
const BYTES_MAX: usize = 32 * 1024 * 1024;
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;
const PAGES_MAX: usize = 2_000;
/// What an entry of a map takes beside its contents, roughly.
const ENTRY_BYTES: usize = 100;
/// A longer validator is no validator.
const VALIDATOR_BYTES_MAX: usize = 1_000;

/// The pages read lately, each for the team that read it. The one that was used least lately goes first.
#[derive(Debug, Default)]
pub(super) struct PageCache(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    by_address: HashMap<Key, Kept>,
    bytes: usize,
    /// Counts uses.
    tick: u64,
}

type Key = (Tenant, String);

#[derive(Debug)]
struct Kept {
    response: Arc<Response>,
    bytes: usize,
    used: u64,
}

impl PageCache {
    /// The page at this address as it was read last, if its site can say whether it is still the same.
    pub(super) fn get(&self, url: &Url) -> Option<Arc<Response>> {
        let mut pages = self.0.lock();
        pages.tick += 1;
        let tick = pages.tick;
        let kept = pages.by_address.get_mut(&key(url))?;
        kept.used = tick;
        Some(Arc::clone(&kept.response))
    }

    /// Keeps what came for this address, or forgets what was kept. `is_whole` says that nothing was cut off.
    pub(super) fn put(&self, url: &Url, response: &Response, is_whole: bool) {
        let mut pages = self.0.lock();
        let key = key(url);
        pages.remove(&key);
        if !is_whole || !is_kept(url, response) {
            return;
        }
        pages.tick += 1;
        let bytes = bytes_of(url, response);
        let kept = Kept { response: Arc::new(response.clone()), bytes, used: pages.tick };
        pages.bytes += kept.bytes;
        pages.by_address.insert(key, kept);
        while pages.bytes > BYTES_MAX || pages.by_address.len() > PAGES_MAX {
            let oldest =
                pages.by_address.iter().min_by_key(|(_, kept)| kept.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { break };
            pages.remove(&oldest);
        }
    }
}

impl Pages {
    fn remove(&mut self, key: &Key) {
        if let Some(kept) = self.by_address.remove(key) {
            self.bytes -= kept.bytes;
        }
    }
}

/// Asks for a page only if it is another one than this.
pub(super) fn unless_same(request: Request, kept: &Response) -> Result<Request, Failure> {
    let request = match validator(kept, "etag") {
        Some(tag) => request.header("if-none-match", tag)?,
        None => request,
    };
    match validator(kept, "last-modified") {
        Some(time) => request.header("if-modified-since", time),
        None => Ok(request),
    }
}

fn key(url: &Url) -> Key {
    (Tenant::current(), url.as_str().to_owned())
}

/// What a page takes in memory: a site can send long headers, too.
fn bytes_of(url: &Url, response: &Response) -> usize {
    let headers =
        response.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + ENTRY_BYTES);
    let addresses = url.as_str().len() + response.url.as_str().len();
    response.body.len() + headers.sum::<usize>() + addresses + ENTRY_BYTES
}

fn is_kept(url: &Url, response: &Response) -> bool {
    let control = response.header("cache-control").unwrap_or_default().to_ascii_lowercase();
    let is_open = url.password().is_none() && url.username().is_empty();
    let can_be_asked = ["etag", "last-modified"].into_iter().any(|name| validator(response, name).is_some());
    let fits = bytes_of(url, response) <= PAGE_BYTES_MAX;
    response.status == 200 && is_open && can_be_asked && fits && !control.contains("no-store")
}

fn validator<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.header(name).map(str::trim).filter(|text| !text.is_empty() && text.len() <= VALIDATOR_BYTES_MAX)
}
