//! What a site says about reading it as a whole: its delay, its sitemaps.

use std::time::Duration;

use url::Url;

use super::frames::{Job, Kind};
use super::url_pattern::{host, without_www};
use super::{Scraper, Target, Wanted, address};
use crate::failure::Failure;
use crate::gate::Gate;

/// What robots.txt says besides which pages may be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteRules {
    /// The time that shall be between two calls (`Crawl-delay`).
    pub delay: Option<Duration>,
    /// At most [`SITEMAPS_MAX`].
    pub sitemaps: Vec<Url>,
}

/// Sitemaps that are looked at.
const SITEMAPS_MAX: usize = 10;

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

impl Scraper {
    /// The rules of a page's site if they are known, and need not be asked for.
    pub fn known_rules(&self, url: &str) -> Option<SiteRules> {
        let url = address::parse(url).ok()?;
        self.rules.known(&url, self.client.clock().now()).map(|robots| site_rules(&robots))
    }

    /// The rules of a page's site. They are asked for once.
    pub async fn site_rules(&self, url: &str, gate: &dyn Gate) -> Result<SiteRules, Failure> {
        let robots = self.rules.robots(&self.client, &address::parse(url)?, gate).await?;
        Ok(robots.map(|robots| site_rules(&robots)).unwrap_or_default())
    }

    /// Reads a sitemap. The target's page is the sitemap.
    pub async fn sitemap(&self, target: &Target, gate: &dyn Gate) -> Result<Sitemap, Failure> {
        let url = address::parse(&target.url)?;
        if target.respect_robots {
            self.rules.check(&self.client, &url, gate).await?;
        }
        // One that is too long is read from its beginning.
        let wanted = Wanted { chars_max: Some(0), ..Wanted::default() };
        let target = &Target { wanted: wanted.clone(), ..target.clone() };
        let response = self.fetch(target, url, gate).await?;
        if !(200..300).contains(&response.status) {
            return Err(response.failure("The sitemap"));
        }
        let job = Job {
            kind: Kind::Sitemap,
            content_type: response.header("content-type").unwrap_or_default().to_owned(),
            url: response.url.clone(),
            only_main_content: false,
            wanted,
        };
        let page = self.extractor.read(&job, &response.body).await?;
        Ok(Sitemap { pages: page.links, sitemaps: page.sitemaps })
    }
}

fn site_rules(robots: &robotxt::Robots) -> SiteRules {
    SiteRules {
        delay: robots.crawl_delay().filter(|delay| !delay.is_zero()),
        sitemaps: robots.sitemaps().iter().take(SITEMAPS_MAX).cloned().collect(),
    }
}
