//! What a site says about reading it as a whole: its delay, its sitemaps.

use std::time::Duration;

use robotxt::Robots;
use url::Url;

use super::address;
use super::url_pattern::{host, without_www};

/// Sitemaps that are looked at.
const SITEMAPS_MAX: usize = 10;

/// What robots.txt says besides which pages may be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteRules {
    /// The time that shall be between two calls (`Crawl-delay`).
    pub delay: Option<Duration>,
    pub sitemaps: Vec<Url>,
}

impl SiteRules {
    pub(super) fn of(robots: &Robots) -> Self {
        Self {
            delay: robots.crawl_delay().filter(|delay| !delay.is_zero()),
            sitemaps: robots.sitemaps().iter().take(SITEMAPS_MAX).cloned().collect(),
        }
    }
}

/// What a sitemap names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sitemap {
    pub pages: Vec<String>,
    /// Other sitemaps, if it is an index.
    pub sitemaps: Vec<String>,
}

/// The site of a page, with or without `www.`, however its address is written.
pub fn site_name(address: &str) -> Option<String> {
    let url = address::parse(address).ok()?;
    Some(without_www(&host(&url)).to_owned())
}
