//! Columns that hold the pages of a site: a crawl.
//!
//! A crawl is one cell, and each of its pages is a call with the limits of its site. Between two pages a crawl holds
//! nothing that others wait for but its place among the team's crawls. A crawl that is interrupted begins anew.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::column::Crawl;
use rowmill_model::{Column, ErrorCode, TeamId};
use rowmill_providers::scrape::{
    Arrival, Crawled, CrawledPage, Frontier, Scraped, Sitemap, StoppedBy, Target, Visit, Wanted,
};
use url::Url;

use super::scrape::{PROVIDER, json_of, scraper};
use super::{ProviderCalls, millis_since, team_part};
use crate::call_limits::CallLimit;
use crate::cell_runner::{CallFailure, CallOutcome, Cell};
use crate::digest::Digest;
use crate::time_left::{after, time_left};

/// Crawls of a team at once, in each process: they are long, and its other cells must not wait for them.
const CRAWLS_AT_ONCE: usize = 8;
/// What is kept of a page whose column has no `maxChars`.
const PAGE_CHARS_MAX: usize = 20_000;
const SITEMAPS_MAX: usize = 10;
/// Indexes of sitemaps inside each other.
const SITEMAP_DEPTH_MAX: u32 = 2;

impl ProviderCalls {
    /// What limits a column that crawls.
    pub(super) fn crawl_limits(team: TeamId, column: &Column) -> Vec<CallLimit> {
        let config = scraper(column.task_config.as_ref());
        config.and_then(|config| config.crawl.as_ref()).map(|_| crawl_limit(team)).into_iter().collect()
    }

    /// Reads the pages of a site.
    pub(super) async fn read_site(
        &self,
        cell: &Cell,
        target: &Target,
        crawl: &Crawl,
    ) -> Result<CallOutcome, CallOutcome> {
        let frontier = Frontier::new(&target.url, crawl)?;
        let place = [crawl_limit(cell.project.team)];
        let _place = self.call_limits.acquire(&place, cell, self.clock(), self.config.wait_max).await?;
        let started = self.now();
        let seconds = crawl.timeout_seconds.min(Crawl::SECONDS_MAX);
        let pages_max = usize::try_from(crawl.max_pages.clamp(1, Crawl::PAGES_MAX)).unwrap_or(1);
        let chars_max = target.wanted.chars_max.or(Some(PAGE_CHARS_MAX));
        let crawling = Crawling {
            calls: self,
            cell,
            target: Target { wanted: Wanted { chars_max, ..target.wanted.clone() }, ..target.clone() },
            crawled: Crawled::new(frontier.start(), self.config.value_bytes_max),
            frontier,
            pages_max,
            // Pages that turn out to be others, or elsewhere, are not in the list.
            visits_left: 2 * pages_max + 10,
            has_sitemap: crawl.sitemap,
            until: after(started, Duration::from_secs(seconds.into())),
        };
        let crawled = crawling.run().await?;
        let mut meta = Meta::new();
        meta.insert("provider".to_owned(), PROVIDER.into());
        meta.insert("milliseconds".to_owned(), millis_since(started, self.now()));
        meta.insert("source".to_owned(), crawled.url.as_str().into());
        meta.insert("pages".to_owned(), crawled.pages.len().into());
        Ok(CallOutcome::Value(json_of(&crawled)?.into(), meta))
    }
}

fn crawl_limit(team: TeamId) -> CallLimit {
    CallLimit {
        provider: PROVIDER,
        key: Digest::of(["crawls", &team_part(team)]),
        rates: Vec::new(),
        at_once_max: CRAWLS_AT_ONCE,
        has_circuit_breaker: false,
    }
}

/// A crawl that is under way.
struct Crawling<'a> {
    calls: &'a ProviderCalls,
    cell: &'a Cell,
    /// How pages are read; each has its own address.
    target: Target,
    frontier: Frontier,
    crawled: Crawled,
    pages_max: usize,
    visits_left: usize,
    has_sitemap: bool,
    until: Timestamp,
}

/// How a call of the crawl ended.
enum Called<T> {
    Answered(T),
    Failed(Box<CallFailure>),
    /// The crawl's time is over.
    TimeOver,
}

impl Crawling<'_> {
    async fn run(mut self) -> Result<Crawled, CallOutcome> {
        while self.crawled.stopped_by.is_none() && self.frontier.waiting() > 0 {
            if self.crawled.pages.len() >= self.pages_max || self.visits_left == 0 {
                self.crawled.stop(StoppedBy::MaxPages);
                break;
            }
            self.visits_left -= 1;
            let Some(visit) = self.frontier.next_visit() else { break };
            self.visit(&visit).await?;
            if visit.depth == 0 && self.has_sitemap {
                self.add_sitemaps().await?;
            }
        }
        self.crawled.unread = self.frontier.waiting();
        Ok(self.crawled)
    }

    async fn visit(&mut self, visit: &Visit) -> Result<(), CallOutcome> {
        let Visit { url, depth } = visit;
        match self.page(visit).await? {
            Called::Answered(page) => self.take(visit, page),
            // Without its start page there is no crawl. It may be tried again.
            Called::Failed(call_failure) if *depth == 0 => return Err(CallOutcome::Failed(call_failure)),
            Called::TimeOver if *depth == 0 => {
                let message = "The start page could not be read before the time of the crawl was over.";
                return Err(CallOutcome::failed(ErrorCode::TimedOut, message));
            }
            Called::Failed(call_failure) => {
                let error = &call_failure.error;
                self.crawled.push(CrawledPage::failed(url, *depth, error.code.word(), &error.message));
            }
            Called::TimeOver => self.crawled.stop(StoppedBy::Timeout),
        }
        Ok(())
    }

    fn take(&mut self, visit: &Visit, page: Scraped) {
        let found = Url::parse(&page.url).unwrap_or_else(|_| visit.url.clone());
        if visit.depth == 0 {
            self.crawled.url = page.url.clone();
        }
        let canonical = page.metadata.about.canonical_url.as_deref();
        let arrival = self.frontier.arrived(visit, &found, canonical);
        let is_followed = !self.target.respect_robots || page.may_be_followed();
        if arrival != Arrival::Outside && is_followed {
            self.frontier.add(page.links.iter().map(String::as_str), visit.depth);
        }
        if arrival == Arrival::Wanted {
            self.crawled.push(CrawledPage::new(page, visit.depth, &self.target.wanted));
        }
    }

    /// Adds the pages that the site's sitemaps name, unless its start page leads to enough of them. A sitemap that
    /// cannot be read is no reason to fail.
    async fn add_sitemaps(&mut self) -> Result<(), CallOutcome> {
        let start = Url::parse(&self.crawled.url).unwrap_or_else(|_| self.frontier.start().clone());
        let rules = self.calls.scraper.known_rules(start.as_str()).filter(|_| self.target.respect_robots);
        let named = rules.unwrap_or_default().sitemaps.into_iter().map(|url| (url, 0));
        let usual = start.join("/sitemap.xml").ok().map(|url| (url, 0));
        let mut waiting: VecDeque<(Url, u32)> = named.chain(usual).collect();
        let mut known: HashSet<Url> = HashSet::new();
        while self.frontier.is_followed(0)
            && self.frontier.waiting() + self.crawled.pages.len() < self.pages_max
            && known.len() < SITEMAPS_MAX
            && self.crawled.stopped_by.is_none()
            && let Some((url, depth)) = waiting.pop_front()
        {
            if !known.insert(url.clone()) {
                continue;
            }
            match self.sitemap(&url).await? {
                Called::Answered(Sitemap { pages, sitemaps }) => {
                    self.frontier.add(pages.iter().map(String::as_str), 0);
                    let inner = sitemaps.iter().filter(|_| depth < SITEMAP_DEPTH_MAX);
                    let inner = inner.filter_map(|url| Some((Url::parse(url).ok()?, depth + 1)));
                    waiting.extend(inner.take(SITEMAPS_MAX));
                }
                Called::Failed(_) => {}
                Called::TimeOver => self.crawled.stop(StoppedBy::Timeout),
            }
        }
        Ok(())
    }

    async fn page(&self, visit: &Visit) -> Result<Called<Scraped>, CallOutcome> {
        loop {
            let Some(target) = self.target(&visit.url) else { return Ok(Called::TimeOver) };
            let call = self.calls.scrape_site(self.cell, &target);
            match self.in_time(call).await {
                // Nothing was begun, so others may go first.
                Err(later @ CallOutcome::Later(..)) if visit.depth == 0 => return Err(later),
                outcome => {
                    if let Some(called) = self.called(outcome).await? {
                        return Ok(called);
                    }
                }
            }
        }
    }

    async fn sitemap(&self, url: &Url) -> Result<Called<Sitemap>, CallOutcome> {
        loop {
            let Some(target) = self.target(url) else { return Ok(Called::TimeOver) };
            let call = self.calls.read_sitemap(self.cell, &target);
            let outcome = self.in_time(call).await;
            if let Some(called) = self.called(outcome).await? {
                return Ok(called);
            }
        }
    }

    /// How the next page is read, if there is time left.
    fn target(&self, url: &Url) -> Option<Target> {
        let has_time = self.calls.now() < self.until;
        has_time.then(|| Target { url: url.as_str().to_owned(), ..self.target.clone() })
    }

    async fn in_time<T>(
        &self,
        call: impl Future<Output = Result<T, CallOutcome>>,
    ) -> Result<Option<T>, CallOutcome> {
        let left = time_left(self.calls.now(), self.until);
        tokio::select! {
            biased;
            outcome = call => outcome.map(Some),
            () = self.calls.clock().sleep(left) => Ok(None),
        }
    }

    /// What a call came to; `None` if it is to be made again, its turn having come.
    async fn called<T>(
        &self,
        outcome: Result<Option<T>, CallOutcome>,
    ) -> Result<Option<Called<T>>, CallOutcome> {
        match outcome {
            Ok(Some(answer)) => Ok(Some(Called::Answered(answer))),
            Ok(None) => Ok(Some(Called::TimeOver)),
            Err(CallOutcome::Failed(call_failure)) => Ok(Some(Called::Failed(call_failure))),
            Err(CallOutcome::Later(at, ..)) if at >= self.until => Ok(Some(Called::TimeOver)),
            Err(CallOutcome::Later(at, ..)) if !self.cell.is_revoked() => {
                self.calls.clock().sleep(time_left(self.calls.now(), at)).await;
                Ok(None)
            }
            // It was taken away.
            Err(outcome) => Err(outcome),
        }
    }
}
