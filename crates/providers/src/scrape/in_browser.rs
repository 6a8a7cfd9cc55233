//! Pages that are read in a browser: those that show nothing without one, and those of which that is asked.

use rowmill_model::column::{RenderMode, ScrapeFormat};

use super::frames::{Job, Kind, Page, Problem};
use super::{Scraper, Target, needs_browser, unread, without_password};
use crate::failure::{Failure, FailureKind};
use crate::gate::Gate;
use crate::render::{Browser, Source};
use crate::ssrf_guard::Response;

/// What rendered HTML is written in, whatever the page came in.
const CONTENT_TYPE: &str = "text/html; charset=utf-8";
const NO_BROWSER: &str = "The column wants the page in a browser (`render` or the format `screenshot`), and this server has none. \
    An operator can name one with --browser.";

/// A page that was read.
pub(super) struct Read {
    pub(super) page: Page,
    /// A JPEG image, in base64.
    pub(super) screenshot: Option<String>,
    pub(super) is_rendered: bool,
}

impl Scraper {
    /// Reads what came, in a browser if that is asked or needed. Scripts may lead the job to another address.
    pub(super) async fn read(
        &self,
        target: &Target,
        response: &Response,
        job: &mut Job,
        gate: &dyn Gate,
    ) -> Result<Read, Failure> {
        let with_screenshot = target.wanted.has(ScrapeFormat::Screenshot);
        let is_asked = with_screenshot || target.render == RenderMode::Always;
        if is_asked && job.kind == Kind::Html {
            let no_browser = || Failure::new(FailureKind::NeedsBrowser, NO_BROWSER);
            let browser = self.browser.as_ref().ok_or_else(no_browser)?;
            return self.read_in(browser, target, response, job, gate).await;
        }
        let page = self.extractor.read(job, &response.body).await?;
        match (page.problem, &self.browser) {
            (None, _) => Ok(Read { page, screenshot: None, is_rendered: false }),
            (Some(Problem::NeedsBrowser), Some(browser)) if target.render == RenderMode::Auto => {
                self.read_in(browser, target, response, job, gate).await
            }
            (Some(problem), _) => Err(unread(problem, &page.about)),
        }
    }

    async fn read_in(
        &self,
        browser: &Browser,
        target: &Target,
        response: &Response,
        job: &mut Job,
        gate: &dyn Gate,
    ) -> Result<Read, Failure> {
        let source = Source {
            url: response.url.clone(),
            content_type: job.content_type.clone(),
            body: response.body.clone(),
            with_screenshot: target.wanted.has(ScrapeFormat::Screenshot),
        };
        let rendered = browser.render(&self.client, source).await?;
        if target.respect_robots && rendered.url != response.url {
            self.rules.check(&self.client, &rendered.url, gate).await?;
        }
        job.url = without_password(rendered.url);
        let job = Job { content_type: CONTENT_TYPE.to_owned(), ..job.clone() };
        let page = self.extractor.read(&job, rendered.html.as_bytes()).await?;
        match page.problem {
            // A picture shows what there is, be it little.
            None => {}
            Some(Problem::NeedsBrowser) if rendered.screenshot.is_some() => {}
            Some(Problem::NeedsBrowser) => return Err(still_empty(&page)),
            Some(problem) => return Err(unread(problem, &page.about)),
        }
        Ok(Read { page, screenshot: rendered.screenshot, is_rendered: true })
    }
}

fn still_empty(page: &Page) -> Failure {
    let mut failure = needs_browser(&page.about);
    failure.message =
        "The page shows nothing to read, in a browser either. It may require a login.".to_owned();
    failure
}
