//! Reads what a site says about itself as a whole.

use super::frames::{Job, Kind, Wanted};
use super::site_rules::{SiteRules, Sitemap};
use super::{Scraper, Target, address};
use crate::failure::Failure;
use crate::gate::Gate;

impl Scraper {
    /// The rules of a page's site if they are known, and need not be asked for.
    pub fn known_rules(&self, url: &str) -> Option<SiteRules> {
        let url = address::parse(url).ok()?;
        self.rules.known(&url, self.client.clock().now()).map(|robots| SiteRules::of(&robots))
    }

    /// The rules of a page's site. They are asked for once.
    pub async fn site_rules(&self, url: &str, gate: &dyn Gate) -> Result<SiteRules, Failure> {
        let robots = self.rules.robots(&self.client, &address::parse(url)?, gate).await?;
        Ok(robots.map(|robots| SiteRules::of(&robots)).unwrap_or_default())
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
        let (response, _room) = self.fetch_in_turn(target, url, gate).await?;
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
