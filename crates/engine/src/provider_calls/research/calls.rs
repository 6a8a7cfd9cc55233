//! The calls that a model makes: what is looked up for it, and what it is told instead where it may not.

use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::column::{RenderMode, Research, ScrapeFormat, WebScraper};
use rowmill_providers::llm::{ToolCall, ToolResult};
use rowmill_providers::scrape::{Scraped, Target};
use rowmill_providers::search::Query;

use super::super::research_state::Page;
use super::super::{ProviderCalls, team_part};
use super::instructions::{FETCH_PAGE, WEB_SEARCH, set_apart};
use super::prices::{Priced, Prices};
use super::record::{CallRecord, Done, Seen};
use super::transcript::Transcript;
use super::web_search::{SearchAccess, Searched};
use crate::cell_runner::{CallOutcome, Cell, busy};
use crate::digest::Digest;
use crate::single_flight::Origin;

/// The part of a page that a model is shown: some 8,000 tokens.
const PAGE_CHARS_MAX: u32 = 32_000;
const PAGE_TIMEOUT_SECONDS: u32 = 30;
/// Links of a page that may be followed.
const LINKS_MAX: usize = 500;
/// What is kept of something that a model asks for, for people to read.
const ASKED_CHARS_MAX: usize = 300;
const KEPT_FOR: Duration = Duration::from_hours(1);
const TIME_OVER: &str = "The time is over. Answer from what you have.";
const ENTRY_BYTES: usize = 512;

/// What calls are made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) cell: &'a Cell,
    pub(super) limits: &'a Research,
    pub(super) engines: &'a [SearchAccess],
    pub(super) prices: &'a Prices,
}

/// What a call brought.
struct Brought {
    text: String,
    done: Done,
    priced: Priced,
    is_cached: bool,
}

impl ProviderCalls {
    /// Carries out one call. Only what keeps the cell from going on is an outcome; all else is told to the model.
    pub(super) async fn carry_out(
        &self,
        caller: Caller<'_>,
        transcript: &Transcript,
        call: &ToolCall,
    ) -> Result<CallRecord, CallOutcome> {
        let started = self.now();
        let left = transcript.time(caller.limits).for_calls();
        let brought = match permitted(caller, transcript, call) {
            Ok(Permitted::Search(query, bytes_max)) => {
                self.in_time(left, Box::pin(self.call_search(caller, &query, bytes_max))).await?
            }
            Ok(Permitted::Page(url, bytes_max)) => {
                self.in_time(left, self.call_page(caller.cell, &url, bytes_max)).await?
            }
            Err(why) => Err(why),
        };
        let millis = u64::try_from(self.now().duration_since(started).as_millis()).unwrap_or_default();
        let result = |text: String, is_error: bool| ToolResult { id: call.id.clone(), text, is_error };
        Ok(match brought {
            Ok(Brought { text, done, priced: Priced { paid, unpriced }, is_cached }) => {
                CallRecord { result: result(text, false), done, paid, unpriced, millis, is_cached }
            }
            Err(why) => {
                let done =
                    Done::Refused { tool: shortened(&call.name), asked: asked(call), why: why.clone() };
                let text = format!("Error: {why}");
                CallRecord {
                    result: result(text, true),
                    done,
                    paid: Vec::new(),
                    unpriced: Vec::new(),
                    millis,
                    is_cached: false,
                }
            }
        })
    }

    /// What takes longer than the time that is left is given up, so that the last turn still fits.
    async fn in_time(
        &self,
        left: Duration,
        call: impl Future<Output = Result<Result<Brought, String>, CallOutcome>>,
    ) -> Result<Result<Brought, String>, CallOutcome> {
        tokio::select! {
            biased;
            brought = call => brought,
            () = self.clock().sleep(left) => Ok(Err(TIME_OVER.to_owned())),
        }
    }

    async fn call_search(
        &self,
        caller: Caller<'_>,
        query: &Query,
        bytes_max: usize,
    ) -> Result<Result<Brought, String>, CallOutcome> {
        let Searched { provider, found, is_cached, made } =
            self.search_web(caller.cell, caller.engines, query).await?;
        let (priced, hits) = (caller.prices.searches(made), found.hits);
        let lines = hits
            .iter()
            .enumerate()
            .map(|(place, hit)| format!("{}. {}\n{}\n{}", place + 1, hit.title, hit.url, hit.snippet));
        let list = cut(&lines.collect::<Vec<_>>().join("\n\n"), bytes_max);
        let text = if hits.is_empty() {
            "Nothing was found.".to_owned()
        } else {
            set_apart("Search results", &list)
        };
        let hits = hits.into_iter().map(|hit| Seen { url: hit.url, title: hit.title, text: hit.snippet });
        let done = Done::Searched {
            query: query.text.clone(),
            provider: provider.about.id.to_owned(),
            hits: hits.collect(),
        };
        Ok(Ok(Brought { text, done, priced, is_cached }))
    }

    async fn call_page(
        &self,
        cell: &Cell,
        url: &str,
        bytes_max: usize,
    ) -> Result<Result<Brought, String>, CallOutcome> {
        let (page, is_cached) = match self.page_shared(cell, url).await {
            Ok(page) => page,
            Err(outcome) => {
                // It was taken away: nothing more is to begin.
                if cell.is_revoked() {
                    return Err(outcome);
                }
                return Ok(Err(words(outcome)));
            }
        };
        let Page { url: found_at, title, text, links } = page;
        if text.trim().is_empty() {
            return Ok(Err("The page has no text.".to_owned()));
        }
        let text = cut(&text, bytes_max);
        let chars = text.chars().count();
        let shown = set_apart(&format!("The page {found_at}"), &format!("{title}\n\n{text}"));
        let page = Seen { url: found_at, title, text: String::new() };
        let done = Done::Read { url: url.to_owned(), page, links, chars };
        Ok(Ok(Brought { text: shown, done, priced: Priced::default(), is_cached }))
    }

    /// A page that another cell of the run reads, or has read, is not fetched again.
    async fn page_shared(&self, cell: &Cell, url: &str) -> Result<(Page, bool), CallOutcome> {
        let Some(run) = cell.run else { return Ok((self.page_once(cell, url).await?, false)) };
        let parts = [team_part(cell.project.team), format!("{} {run}", cell.project.id), url.to_owned()];
        let key = Digest::of(parts.iter().map(String::as_str));
        if let Some(Ok(page)) = self.research_state.pages.find(key, self.now()) {
            return Ok((page, true));
        }
        let make = Box::pin(self.page_once(cell, url));
        let kept = |page: &Result<Page, CallOutcome>| {
            let page = page.as_ref().ok()?;
            let links: usize = page.links.iter().map(String::len).sum();
            let until = self.now().saturating_add(KEPT_FOR).unwrap_or(Timestamp::MAX);
            Some((page.text.len() + links + ENTRY_BYTES, until))
        };
        let pages = &self.research_state.pages;
        let (page, origin) = pages.run(key, Some(self.now()), make, Result::is_ok, kept).await;
        Ok((page?, origin == Origin::Shared))
    }

    async fn page_once(&self, cell: &Cell, url: &str) -> Result<Page, CallOutcome> {
        let target = Target::new(url, &scraper());
        let Scraped { url, markdown, mut links, metadata, .. } = self.scrape_site(cell, &target).await?;
        links.truncate(LINKS_MAX);
        Ok(Page { url, title: shortened(&metadata.title.unwrap_or_default()), text: markdown, links })
    }
}

fn scraper() -> WebScraper {
    WebScraper {
        url: String::new(),
        formats: vec![ScrapeFormat::Markdown],
        only_main_content: true,
        respect_robots: true,
        timeout_seconds: PAGE_TIMEOUT_SECONDS,
        max_chars: Some(PAGE_CHARS_MAX),
        selectors: None,
        render: RenderMode::Auto,
        crawl: None,
    }
}

/// A call that may be carried out, and how many bytes it may bring.
#[derive(Debug, PartialEq, Eq)]
enum Permitted {
    Search(Query, usize),
    Page(String, usize),
}

/// Whether a call may be carried out; if not, why, for the model.
fn permitted(caller: Caller<'_>, transcript: &Transcript, call: &ToolCall) -> Result<Permitted, String> {
    let (limits, used) = (caller.limits, transcript.used);
    let Some(arguments) = &call.arguments else {
        return Err("The arguments are not valid JSON.".to_owned());
    };
    let text = |name: &str| {
        let text = arguments.get(name).and_then(serde_json::Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).ok_or_else(|| format!("The argument `{name}` is missing."))
    };
    if used.calls >= limits.max_calls {
        return Err("The limit of calls is reached. Answer from what you have.".to_owned());
    }
    if transcript.time(limits).is_near() {
        return Err(TIME_OVER.to_owned());
    }
    let bytes_max = transcript.result_bytes_max(limits);
    let bytes_max = bytes_max.ok_or("The limit of tokens is reached. Answer from what you have.")?;
    match call.name.as_str() {
        WEB_SEARCH if used.searches >= limits.max_searches => {
            Err("The limit of searches is reached. Read pages, or answer from what you have.".to_owned())
        }
        WEB_SEARCH if transcript.is_over_cost(limits, caller.prices, caller.engines) => {
            Err("The limit of cost is reached. Read pages, or answer from what you have.".to_owned())
        }
        WEB_SEARCH => {
            let query = Query::new(text("query")?, limits.country.as_deref());
            query
                .map(|query| Permitted::Search(query, bytes_max))
                .ok_or_else(|| "The query is empty.".to_owned())
        }
        FETCH_PAGE => {
            let url = text("url")?;
            if !transcript.addresses.has(url) {
                let why = "This address may not be opened: only those in the task, in search results and on pages \
                           that were read.";
                return Err(why.to_owned());
            }
            Ok(Permitted::Page(url.to_owned(), bytes_max))
        }
        _ => Err(format!("There is no such tool: {}", shortened(&call.name))),
    }
}

/// Why nothing was brought, for the model.
fn words(outcome: CallOutcome) -> String {
    match outcome {
        CallOutcome::Failed(call_failure) => call_failure.error.message,
        CallOutcome::Skipped(error) => error.message,
        CallOutcome::Later(_, cause, _) => busy(cause).message,
        CallOutcome::Value(..) | CallOutcome::NoData(_) => "The page has no text.".to_owned(),
    }
}

/// What a call asked for, for people.
fn asked(call: &ToolCall) -> String {
    let arguments = call.arguments.as_ref();
    let text = ["query", "url"].iter().find_map(|name| arguments?.get(*name)?.as_str());
    shortened(text.unwrap_or_default())
}

fn shortened(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(ASKED_CHARS_MAX).collect()
}

/// A text that is too long, up to its last whole letter.
fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes_max);
    format!("{}\n[cut]", text.get(..end).unwrap_or_default())
}
