//! Reading what came: in a child, or in a browser if that is asked or the page shows nothing without one.

use rowmill_model::column::{RenderMode, ScrapeFormat};

use super::about::About;
use super::address::without_password;
use super::extractor::Extractor;
use super::frames::{Job, Kind, Page};
use super::problem::Problem;
use super::thumbnail::PIXELS_MAX;
use crate::failure::{Failure, FailureKind};
use crate::render::{Browser, Source};
use crate::ssrf_guard::{Client, Response};

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

/// What pages are read with.
pub(super) struct Reader<'a> {
    pub(super) client: &'a Client,
    pub(super) extractor: &'a Extractor,
    pub(super) browser: Option<&'a Browser>,
}

impl Reader<'_> {
    /// Reads what came. In a browser, scripts may lead the job to another address.
    pub(super) async fn read(
        &self,
        mode: RenderMode,
        response: &mut Response,
        job: &mut Job,
    ) -> Result<Read, Failure> {
        let is_asked = mode == RenderMode::Always || job.wanted.has(ScrapeFormat::Screenshot);
        if is_asked && job.kind == Kind::Html {
            let no_browser = || Failure::new(FailureKind::NeedsBrowser, NO_BROWSER);
            return self.render(self.browser.ok_or_else(no_browser)?, response, job).await;
        }
        let page = self.extractor.read(job, &response.body).await?;
        match (page.problem, self.browser) {
            (None, _) => Ok(Read { page, screenshot: None, is_rendered: false }),
            (Some(Problem::NeedsBrowser), Some(browser)) if mode == RenderMode::Auto => {
                self.render(browser, response, job).await
            }
            (Some(problem), _) => Err(unread(problem, &page.about)),
        }
    }

    async fn render(
        &self,
        browser: &Browser,
        response: &mut Response,
        job: &mut Job,
    ) -> Result<Read, Failure> {
        let source = Source {
            url: response.url.clone(),
            content_type: job.content_type.clone(),
            // A page that waits for the browser is here once.
            body: std::mem::take(&mut response.body),
            with_screenshot: job.wanted.has(ScrapeFormat::Screenshot),
        };
        let rendered = browser.render(self.client, source).await?;
        job.url = without_password(rendered.url);
        let job = Job { content_type: CONTENT_TYPE.to_owned(), ..job.clone() };
        let page = self.extractor.read(&job, rendered.html.as_bytes()).await?;
        match page.problem {
            None => {}
            // A picture shows what there is, be it little.
            Some(Problem::NeedsBrowser) if rendered.screenshot.is_some() => {}
            Some(Problem::NeedsBrowser) => {
                let words = "The page shows nothing to read, in a browser either. It may require a login.";
                return Err(Failure::new(FailureKind::NeedsBrowser, words));
            }
            Some(problem) => return Err(unread(problem, &page.about)),
        }
        Ok(Read { page, screenshot: rendered.screenshot, is_rendered: true })
    }
}

/// A page or a document that came, and has nothing to read.
pub(super) fn unread(problem: Problem, about: &About) -> Failure {
    let words = match problem {
        Problem::NeedsBrowser => return needs_browser(about),
        Problem::BrokenPdf => "The PDF document is broken.",
        Problem::LockedPdf => "The PDF document is protected by a password.",
        Problem::PdfWithoutText => "The PDF document has no text: its pages are pictures.",
        Problem::NotAnImage => "The file is not an image (PNG, JPEG, GIF, WebP or ICO).",
        Problem::BrokenImage => "The image is broken.",
        Problem::TooManyPixels => {
            let words = format!("The image has more than {PIXELS_MAX} pixels.");
            return Failure::new(FailureKind::TooLarge, words);
        }
    };
    Failure::new(FailureKind::InvalidOutput, words)
}

/// A page that is made by its scripts, which do not run here.
fn needs_browser(about: &About) -> Failure {
    let feed = about.feeds.first().map(|feed| format!(" The site has a feed, which can be read: {feed}"));
    let words = "The page shows its content only in a browser with JavaScript, which does not run here. Use another page \
         of the site, or its API with an HTTP API column. An operator can name a browser with --browser; a column with render: never does not use it.";
    Failure::new(FailureKind::NeedsBrowser, [words, &feed.unwrap_or_default()].concat())
}
