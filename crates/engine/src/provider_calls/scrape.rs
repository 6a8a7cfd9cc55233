//! Columns that hold web pages.

use rowmill_model::cell::Meta;
use rowmill_model::column::{TaskConfig, WebScraper};
use rowmill_providers::scrape::{Scraped, Target};
use rowmill_providers::{Failure, FailureKind};

use super::api::host;
use super::fill::Fill;
use super::request_gate::RequestGate;
use super::{ProviderCalls, column_limit, invalid, millis_since, team_part};
use crate::call_limits::CallLimit;
use crate::cell_runner::{CallOutcome, Cell};
use crate::digest::Digest;

const PROVIDER: &str = "web-scraper";
/// Pages that are fetched from one site at the same time: more would be rude.
const PAGES_AT_ONCE: usize = 8;

impl ProviderCalls {
    pub(super) async fn read_page(&self, cell: &Cell) -> Result<CallOutcome, CallOutcome> {
        let config = scraper(cell.column.task_config.as_ref()).filter(|config| !config.url.trim().is_empty());
        let config =
            config.ok_or_else(|| invalid("The column has no URL. Add one in the column settings."))?;
        let target = Target::new(Fill::new(cell, None)?.address(&config.url), config);
        let parts = [team_part(cell.project.team), PROVIDER.to_owned(), format!("{target:?}")];
        let key = Digest::of(parts.iter().map(String::as_str));
        let make = async { self.fetch_page(cell, &target).await.unwrap_or_else(|outcome| outcome) };
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
        let site = host(&target.url).unwrap_or_else(|| target.url.clone());
        let limit = CallLimit {
            provider: PROVIDER,
            key: Digest::of(["site", &team_part(cell.project.team), &site]),
            rates: Vec::new(),
            at_once_max: PAGES_AT_ONCE,
            has_circuit_breaker: true,
        };
        let limits = column_limit(&cell.project, &cell.column).into_iter().collect();
        let request_gate = RequestGate { call_limits: &self.call_limits, limits, clock: self.clock(), cell };
        let page = Box::pin(self.scraper.scrape(target, &request_gate));
        self.attempt(cell, &[limit], PROVIDER, page).await
    }
}

pub(super) fn scraper(task: Option<&TaskConfig>) -> Option<&WebScraper> {
    task.filter(|task| task.task_type == TaskConfig::WEB_SCRAPER)?.web_scraper.as_ref()
}

fn json_of(page: &Scraped) -> Result<String, Failure> {
    serde_json::to_string(page)
        .map_err(|_| Failure::new(FailureKind::InvalidOutput, "The page could not be converted to JSON."))
}
