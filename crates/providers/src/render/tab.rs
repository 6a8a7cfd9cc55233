//! One page in the browser: loads it, serves what it asks for, and reads it once it is quiet.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rowmill_clock::{Clock as _, SystemClock};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use url::Url;

use super::devtools::{DevTools, Message};
use super::page::{Limits, Rendered, Source};
use super::request_policy::{Paused, RequestPolicy, Verdict, headers_for_browser};
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Client, Request, Response};

/// Requests of one page that are under way at the same time.
const FETCHES_AT_ONCE: usize = 6;
/// A page that asked for nothing for so long has shown what it has.
const QUIET_TIME: Duration = Duration::from_millis(500);
/// The longest screenshot, in characters of base64.
const SCREENSHOT_CHARS_MAX: usize = 1_500_000;
const SCREENSHOT_QUALITY: u32 = 70;

/// The page's HTML, with what components show inside open shadow roots in their places. They are copied into a
/// document that runs nothing. A page nested too deeply for that is taken without them.
const SHOWN: &str = "(() => {
    const page = document.documentElement;
    const inert = document.implementation.createHTMLDocument();
    const copy = (node) => {
        const isSlot = node.localName === 'slot';
        const given = isSlot ? node.assignedNodes?.() ?? [] : [];
        const made = isSlot ? inert.createDocumentFragment() : inert.importNode(node, false);
        for (const child of given.length ? given : (node.shadowRoot ?? node).childNodes) made.append(copy(child));
        return made;
    };
    try {
        const hasShadow = [...document.querySelectorAll('*')].some((element) => element.shadowRoot);
        if (hasShadow) return copy(page).outerHTML;
    } catch {}
    return page?.outerHTML ?? '';
})()";

pub(super) struct Tab<'a> {
    devtools: DevTools,
    client: Client,
    limits: &'a Limits,
    source: Source,
    policy: RequestPolicy,
    fetches: JoinSet<Fetched>,
    /// Requests that wait for one under way to end.
    queue: VecDeque<Waiting>,
    /// What answers may still take, without that which is set aside for those under way.
    bytes_left: usize,
    has_loaded: bool,
    /// When the page last asked for something or got it.
    active_at: Instant,
}

impl<'a> Tab<'a> {
    /// Opens a tab that keeps nothing and asks us for everything.
    pub(super) async fn open(
        mut devtools: DevTools,
        client: Client,
        limits: &'a Limits,
        source: Source,
    ) -> Result<Self, Failure> {
        let context = devtools.call("Target.createBrowserContext", json!({"disposeOnDetach": true})).await?;
        let context = text(&context, "browserContextId");
        let blank = json!({"url": "about:blank", "browserContextId": &context});
        let target = text(&devtools.call("Target.createTarget", blank).await?, "targetId");
        let deny = json!({"behavior": "deny", "browserContextId": &context});
        devtools.call("Browser.setDownloadBehavior", deny).await?;
        let attach = json!({"targetId": &target, "flatten": true});
        let session = text(&devtools.call("Target.attachToTarget", attach).await?, "sessionId");
        devtools.attach(session);
        devtools.call("Page.enable", json!({})).await?;
        let agent = json!({"userAgent": client.user_agent().text()});
        devtools.call("Emulation.setUserAgentOverride", agent).await?;
        devtools.call("Fetch.enable", json!({"patterns": [{"urlPattern": "*"}]})).await?;
        // The main frame has the name of its tab.
        let policy =
            RequestPolicy::new(target, source.with_screenshot, limits.requests, limits.response_bytes);
        Ok(Self {
            devtools,
            client,
            limits,
            policy,
            source,
            fetches: JoinSet::new(),
            queue: VecDeque::new(),
            bytes_left: limits.bytes,
            has_loaded: false,
            active_at: SystemClock.monotonic(),
        })
    }

    /// Loads the page, and waits until it is quiet or has had its time.
    pub(super) async fn load(&mut self) -> Result<(), Failure> {
        let navigate = json!({"url": self.source.url.as_str()});
        self.devtools.send("Page.navigate", navigate).await?;
        let ends_at = SystemClock.monotonic() + self.limits.settle_time;
        loop {
            let is_idle = self.has_loaded && self.fetches.is_empty();
            let wait_until = if is_idle { ends_at.min(self.active_at + QUIET_TIME) } else { ends_at };
            let wait = wait_until.saturating_duration_since(SystemClock.monotonic());
            if wait.is_zero() {
                return Ok(());
            }
            let taken = tokio::select! {
                taken = self.take() => taken?,
                () = tokio::time::sleep(wait) => continue,
            };
            self.handle(taken).await?;
        }
    }

    /// What the page shows now.
    pub(super) async fn content(&mut self) -> Result<Rendered, Failure> {
        let chars_max = self.limits.html_chars;
        let expression = format!("[location.href, {SHOWN}.slice(0, {chars_max})]");
        // In a world of its own: the page cannot change what the expression calls.
        let world = json!({"frameId": self.policy.main_frame()});
        let world = self.call("Page.createIsolatedWorld", world).await?;
        let context = world.get("executionContextId").cloned().unwrap_or_default();
        let evaluate = json!({"expression": expression, "returnByValue": true, "contextId": context});
        let evaluated = self.call("Runtime.evaluate", evaluate).await?;
        let value = evaluated.pointer("/result/value").unwrap_or(&Value::Null);
        let part = |index: usize| value.get(index).and_then(Value::as_str).unwrap_or_default();
        let url = Url::parse(part(0)).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| {
            let words = "The page could not be rendered: its scripts led to something that is no web page.";
            Failure::new(FailureKind::InvalidOutput, words)
        })?;
        let html = part(1).chars().take(chars_max).collect();
        let screenshot = if self.source.with_screenshot { Some(self.screenshot().await?) } else { None };
        Ok(Rendered { url, html, screenshot })
    }

    async fn screenshot(&mut self) -> Result<String, Failure> {
        let options = json!({"format": "jpeg", "quality": SCREENSHOT_QUALITY});
        let shot = text(&self.call("Page.captureScreenshot", options).await?, "data");
        if shot.len() > SCREENSHOT_CHARS_MAX {
            return Err(Failure::new(FailureKind::TooLarge, "The page's screenshot exceeds the size limit."));
        }
        Ok(shot)
    }

    /// Sends a command and goes on serving the page until its answer comes.
    async fn call(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let id = self.devtools.send(method, params).await?;
        loop {
            match self.take().await? {
                Taken::Message(message) if message.id == Some(id) => return message.outcome(),
                taken => self.handle(taken).await?,
            }
        }
    }

    /// Waits for a message of the browser, or an answer from the network. May be dropped without losing any.
    async fn take(&mut self) -> Result<Taken, Failure> {
        tokio::select! {
            message = self.devtools.next() => Ok(Taken::Message(message?)),
            Some(fetched) = self.fetches.join_next() => Ok(Taken::Fetched(fetched.ok())),
        }
    }

    async fn handle(&mut self, taken: Taken) -> Result<(), Failure> {
        match taken {
            Taken::Message(message) => self.on_event(message).await,
            Taken::Fetched(fetched) => {
                if let Some(fetched) = fetched {
                    self.answer(fetched).await?;
                }
                self.fetch_next().await
            }
        }
    }

    async fn on_event(&mut self, event: Message) -> Result<(), Failure> {
        match event.method.as_str() {
            "Fetch.requestPaused" => {
                if let Ok(paused) = serde_json::from_value::<Paused>(event.params) {
                    self.on_request(paused).await?;
                }
            }
            "Page.loadEventFired" => self.has_loaded = true,
            "Page.javascriptDialogOpening" => {
                self.devtools.send("Page.handleJavaScriptDialog", json!({"accept": false})).await?;
            }
            "Inspector.targetCrashed" => {
                let words = "The page could not be rendered: it crashed the browser.";
                return Err(Failure::new(FailureKind::InvalidOutput, words));
            }
            _ => {}
        }
        Ok(())
    }

    async fn on_request(&mut self, paused: Paused) -> Result<(), Failure> {
        self.active_at = SystemClock.monotonic();
        match self.policy.judge(&paused) {
            Verdict::Page => {
                let kind = json!([{"name": "content-type", "value": self.source.content_type}]);
                let body = BASE64.encode(&self.source.body);
                self.fulfil(&paused.request_id, 200, kind, body).await
            }
            Verdict::Fetch(request) => {
                let is_page = self.policy.is_page(&paused);
                self.queue.push_back(Waiting { id: paused.request_id, is_page, request });
                self.fetch_next().await
            }
            Verdict::Refuse => self.refuse(&paused.request_id, self.policy.is_page(&paused)).await,
        }
    }

    /// Begins as many requests as may be under way. Each sets aside what its answer may take.
    async fn fetch_next(&mut self) -> Result<(), Failure> {
        while self.fetches.len() < FETCHES_AT_ONCE
            && (self.bytes_left > 0 || self.fetches.is_empty())
            && let Some(Waiting { id, is_page, request }) = self.queue.pop_front()
        {
            if self.bytes_left == 0 {
                self.refuse(&id, is_page).await?;
                continue;
            }
            let reserved = self.bytes_left.min(self.limits.response_bytes);
            self.bytes_left -= reserved;
            let client = self.client.clone();
            let request = request.bytes_max(reserved).deadline(self.limits.settle_time);
            self.fetches.spawn(async move {
                let outcome = client.send(request).await;
                Fetched { id, is_page, reserved, outcome }
            });
        }
        Ok(())
    }

    async fn answer(&mut self, fetched: Fetched) -> Result<(), Failure> {
        let Fetched { id, is_page, reserved, outcome } = fetched;
        self.active_at = SystemClock.monotonic();
        match outcome {
            Ok(response) => {
                self.bytes_left += reserved.saturating_sub(response.body.len());
                let headers = headers_for_browser(&response).into();
                let body = BASE64.encode(&response.body);
                self.fulfil(&id, response.status, headers, body).await
            }
            Err(failure) => {
                // What is too large, or too slow, has come in part.
                if !matches!(failure.kind, FailureKind::TooLarge | FailureKind::TimedOut) {
                    self.bytes_left += reserved;
                }
                self.refuse(&id, is_page).await
            }
        }
    }

    async fn fulfil(&mut self, id: &str, status: u16, headers: Value, body: String) -> Result<(), Failure> {
        let answer =
            json!({"requestId": id, "responseCode": status, "responseHeaders": headers, "body": body});
        self.devtools.send("Fetch.fulfillRequest", answer).await.map(|_| ())
    }

    /// A page that scripts were to lead to, and that cannot be had, leaves the page as it is. A blocked one would show an
    /// error of the browser in its place.
    async fn refuse(&mut self, id: &str, is_page: bool) -> Result<(), Failure> {
        let reason = if is_page { "Aborted" } else { "BlockedByClient" };
        let answer = json!({"requestId": id, "errorReason": reason});
        self.devtools.send("Fetch.failRequest", answer).await.map(|_| ())
    }
}

/// A request that waits for one under way to end.
struct Waiting {
    id: String,
    /// It asks for another page in place of this one.
    is_page: bool,
    request: Box<Request>,
}

/// A request that was made.
struct Fetched {
    id: String,
    is_page: bool,
    /// What was set aside for its answer.
    reserved: usize,
    outcome: Result<Response, Failure>,
}

enum Taken {
    Message(Message),
    /// None: the task broke.
    Fetched(Option<Fetched>),
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
