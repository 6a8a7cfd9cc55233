//! Columns that hold web pages.

use std::time::Duration;

use rowmill_model::cell::Meta;
use rowmill_model::column::{RateLimit, TaskConfig, WebScraper};
use rowmill_providers::scrape::{Scraped, Sitemap, Target, site_name};
use rowmill_providers::{Failure, FailureKind};
use serde::Serialize;

use super::fill::Fill;
use super::request_gate::RequestGate;
use super::{ProviderCalls, column_limit, invalid, millis_since, team_part};
use crate::call_limits::CallLimit;
use crate::cell_runner::{CallOutcome, Cell};
use crate::digest::Digest;

pub(super) const PROVIDER: &str = "web-scraper";
/// Pages that are fetched from one site at the same time: more would be rude.
const PAGES_AT_ONCE: usize = 8;
/// The time between two pages is so much longer than a site asks for, because a call that was granted reaches the site
/// a little later, and not always by the same time.
const DELAY_MARGIN: Duration = Duration::from_millis(500);
/// The longest time between two pages that a site can ask for.
const DELAY_MAX: Duration = Duration::from_hours(1);

impl ProviderCalls {
    pub(super) async fn read_page(&self, cell: &Cell) -> Result<CallOutcome, CallOutcome> {
        let config = scraper(cell.column.task_config.as_ref()).filter(|config| !config.url.trim().is_empty());
        let config =
            config.ok_or_else(|| invalid("The column has no URL. Add one in the column settings."))?;
        let mut row = Fill::new(cell, None)?;
        let target = Target::new(row.address(&config.url), config);
        row.check()?;
        let crawl = config.crawl.as_ref();
        let mut parts = vec![team_part(cell.project.team), PROVIDER.to_owned(), format!("{target:?}")];
        parts.extend(crawl.map(|crawl| format!("{crawl:?}")));
        let key = Digest::of(parts.iter().map(String::as_str));
        let make = async {
            let made = match crawl {
                Some(crawl) => Box::pin(self.read_site(cell, &target, crawl)).await,
                None => self.fetch_page(cell, &target).await,
            };
            made.unwrap_or_else(|outcome| outcome)
        };
        Ok(self.reused(cell, key, true, make).await)
    }

    async fn fetch_page(&self, cell: &Cell, target: &Target) -> Result<CallOutcome, CallOutcome> {
        let started = self.now();
        let page = self.scrape_site(cell, target).await?;
        let mut meta = Meta::new();
        meta.insert("provider".to_owned(), PROVIDER.into());
        meta.insert("status".to_owned(), page.metadata.status_code.into());
        meta.insert("milliseconds".to_owned(), millis_since(started, self.now()));
        meta.insert("source".to_owned(), page.url.as_str().into());
        Ok(CallOutcome::Value(json_of(&page)?.into(), meta))
    }

    /// Reads a page, within the limits of its site and of the column.
    pub(super) async fn scrape_site(&self, cell: &Cell, target: &Target) -> Result<Scraped, CallOutcome> {
        let (gate, limits) = self.site_limits(cell, target).await?;
        let page = Box::pin(self.scraper.scrape(target, &gate));
        self.attempt(cell, &limits, PROVIDER, page).await
    }

    /// Reads a sitemap, within the same limits.
    pub(super) async fn read_sitemap(&self, cell: &Cell, target: &Target) -> Result<Sitemap, CallOutcome> {
        let (gate, limits) = self.site_limits(cell, target).await?;
        let sitemap = Box::pin(self.scraper.sitemap(target, &gate));
        self.attempt(cell, &limits, PROVIDER, sitemap).await
    }

    /// The limits of a page's site: how many pages at once, and the time between them that its robots.txt asks for.
    async fn site_limits<'a>(
        &'a self,
        cell: &'a Cell,
        target: &Target,
    ) -> Result<(RequestGate<'a>, Vec<CallLimit>), CallOutcome> {
        let site = site_name(&target.url).unwrap_or_else(|| target.url.clone());
        let mut limits = vec![CallLimit {
            provider: PROVIDER,
            key: Digest::of(["site", &team_part(cell.project.team), &site]),
            rates: Vec::new(),
            at_once_max: self.call_limits.share_of(PAGES_AT_ONCE),
            has_circuit_breaker: true,
        }];
        let of_column = column_limit(&cell.project, &cell.column).into_iter().collect();
        let gate =
            RequestGate { call_limits: &self.call_limits, limits: of_column, clock: self.clock(), cell };
        if target.respect_robots {
            let rules = if let Some(rules) = self.scraper.known_rules(&target.url) {
                rules
            } else {
                let rules = Box::pin(self.scraper.site_rules(&target.url, &gate));
                self.attempt(cell, &limits, PROVIDER, rules).await?
            };
            limits.extend(rules.delay.map(|delay| delay_limit(&site, delay)));
        }
        Ok((gate, limits))
    }
}

/// Keeps two pages of a site apart, whichever teams they are for, over all nodes.
fn delay_limit(site: &str, delay: Duration) -> CallLimit {
    let tenths = (delay.min(DELAY_MAX) + DELAY_MARGIN).as_millis().div_ceil(100);
    let tenths = u32::try_from(tenths).unwrap_or(u32::MAX);
    CallLimit {
        provider: PROVIDER,
        key: Digest::of(["delay", site, &tenths.to_string()]),
        // Evenly spaced: ten in ten times the delay.
        rates: vec![RateLimit { requests: 10, per_seconds: tenths }],
        at_once_max: usize::MAX,
        has_circuit_breaker: false,
    }
}

pub(super) fn scraper(task: Option<&TaskConfig>) -> Option<&WebScraper> {
    task.filter(|task| task.task_type == TaskConfig::WEB_SCRAPER)?.web_scraper.as_ref()
}

pub(super) fn json_of(page: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(page)
        .map_err(|_| Failure::new(FailureKind::InvalidOutput, "The page could not be converted to JSON."))
}
