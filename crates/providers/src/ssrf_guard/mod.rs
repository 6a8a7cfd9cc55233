//! The SSRF guard: the one HTTP client, which refuses private addresses.
//!
//! What a table can aim at (scraped pages, HTTP requests, a team's own base addresses) must not reach
//! the operator's network. An address written as a number never meets a DNS resolver, and a redirect
//! names a new host, so there are three checks: the URL's own host, every resolved address, and both
//! again on each hop.

mod addresses;
mod content_encoding;
mod file_body;
mod lines;
mod lost;
mod message;
mod network_policy;
mod redirect;
mod resolver;
mod room;
mod sample;
mod tls;
mod trace_hosts;
mod user_agent;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

pub use reqwest::Method;
use reqwest::header::CONTENT_LENGTH;
use rowmill_clock::Clock;
use url::{Host, Url};

pub use addresses::AllowList;
use content_encoding::too_large;
pub use file_body::FileBody;
pub use lines::{Line, Lines};
use lost::{PRIVATE_ADDRESS, blocked, lost};
pub use message::{Request, Response};
pub use network_policy::NetworkPolicy;
use resolver::GuardedResolver;
pub(crate) use room::Room;
pub use trace_hosts::TraceHosts;
pub use user_agent::UserAgent;

use crate::failure::{Failure, FailureKind, Hints};
use crate::redactor::Redactor;

/// How many redirects a table's request may take.
pub const REDIRECTS_MAX: u8 = 5;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// What a server may send ahead of what was read, in HTTP/2. The library's own limit is four times as much.
const STREAM_WINDOW_BYTES: u32 = 512 * 1024;

/// Makes every call there is. Cheap to clone; connections are shared between clones.
#[derive(Debug, Clone)]
pub struct Client {
    guarded: reqwest::Client,
    /// Apart from the guarded one because connections are pooled by host: a trusted connection to
    /// loopback must not serve a table's request.
    trusted: reqwest::Client,
    allow: Arc<AllowList>,
    clock: Arc<dyn Clock>,
    user_agent: UserAgent,
    trace_hosts: Arc<TraceHosts>,
}

impl Client {
    /// The error is the TLS library's, in words.
    pub fn new(allow: AllowList, clock: Arc<dyn Clock>) -> Result<Self, String> {
        Self::named(UserAgent::default(), allow, clock)
    }

    /// One that gives itself this name where tables make requests.
    pub fn named(user_agent: UserAgent, allow: AllowList, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let allow = Arc::new(allow);
        let guarded = builder(user_agent.text())?.dns_resolver(GuardedResolver(Arc::clone(&allow))).build();
        let guarded = guarded.map_err(|error| error.to_string())?;
        let trusted = builder(user_agent::DEFAULT)?.build().map_err(|error| error.to_string())?;
        Ok(Self { guarded, trusted, allow, clock, user_agent, trace_hosts: Arc::default() })
    }

    /// One that tells these hosts which trace a call belongs to.
    #[must_use]
    pub fn with_trace_hosts(mut self, trace_hosts: TraceHosts) -> Self {
        self.trace_hosts = Arc::new(trace_hosts);
        self
    }

    pub fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    pub(crate) fn user_agent(&self) -> &UserAgent {
        &self.user_agent
    }

    /// Whether something that speaks no HTTP may be connected to at this address.
    pub(crate) fn permits(&self, address: IpAddr) -> bool {
        self.allow.permits(address)
    }

    /// Makes a call and reads the answer to its end, whatever its status.
    pub async fn send(&self, request: Request) -> Result<Response, Failure> {
        self.send_within(request, &mut Room::default()).await
    }

    /// Makes a call whose answer may take this room.
    pub(crate) async fn send_within(&self, request: Request, room: &mut Room) -> Result<Response, Failure> {
        let redactor = Arc::new(Redactor::new(&request.secrets));
        let deadline = request.deadline;
        let answered = tokio::time::timeout(deadline, self.follow(request, room, &redactor)).await;
        let answered = answered.unwrap_or_else(|_| {
            let words = format!("No complete response within {} s.", deadline.as_secs_f64());
            Err(Failure::new(FailureKind::TimedOut, words))
        });
        answered.map_err(|failure| failure.redacted(&redactor))
    }

    /// Makes a call whose answer is read line by line. An answer that is no success is read to its end.
    pub async fn send_for_lines(
        &self,
        request: Request,
        line_bytes_max: usize,
        bytes_max: u64,
    ) -> Result<Result<Lines, Response>, Failure> {
        let redactor = Arc::new(Redactor::new(&request.secrets));
        self.check(&request.url, request.network_policy)?;
        let begun = async {
            let answer = self.dispatch(&request).await?;
            if answer.status().is_success() {
                return Ok(Ok(Lines::new(answer, Arc::clone(&redactor), line_bytes_max, bytes_max)));
            }
            self.read(answer, &request, &mut Room::default(), &redactor).await.map(Err)
        };
        let begun = tokio::time::timeout(request.deadline, begun).await;
        let begun = begun.unwrap_or_else(|_| {
            let words = format!("No response within {} s.", request.deadline.as_secs_f64());
            Err(Failure::new(FailureKind::TimedOut, words))
        });
        begun.map_err(|failure: Failure| failure.redacted(&redactor))
    }

    async fn follow(
        &self,
        mut request: Request,
        room: &mut Room,
        redactor: &Arc<Redactor>,
    ) -> Result<Response, Failure> {
        let mut hops_left = request.redirects_max;
        loop {
            self.check(&request.url, request.network_policy)?;
            if let Some(answer) = sample::answer(&request.url) {
                self.clock.sleep(answer.pause).await;
                return Ok(self.remembered(*answer, &request.url, redactor));
            }
            let answer = self.dispatch(&request).await?;
            let may_follow = request.redirects_max > 0;
            if !may_follow || !redirect::step(&mut request, answer.status(), answer.headers())? {
                return self.read(answer, &request, room, redactor).await;
            }
            hops_left = hops_left.checked_sub(1).ok_or_else(|| {
                let words = format!("The server redirected more than {} times.", request.redirects_max);
                Failure::new(FailureKind::ProviderError, words)
            })?;
        }
    }

    /// What a site of the sample project says.
    fn remembered(&self, answer: sample::Answer, url: &Url, redactor: &Arc<Redactor>) -> Response {
        let sample::Answer { status, headers, body, pause: _ } = answer;
        let hints = Hints::read(&headers, self.clock.now());
        Response { status, url: url.clone(), headers, body, hints, redactor: Arc::clone(redactor) }
    }

    /// Whether the URL itself may be called. Names are judged again once they are resolved.
    fn check(&self, url: &Url, network_policy: NetworkPolicy) -> Result<(), Failure> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(blocked("Only http and https URLs are allowed."));
        }
        let address: Option<IpAddr> = match url.host() {
            Some(Host::Ipv4(v4)) => Some(v4.into()),
            Some(Host::Ipv6(v6)) => Some(v6.into()),
            Some(Host::Domain(_)) => None,
            None => return Err(Failure::new(FailureKind::InvalidInput, "The URL has no host.")),
        };
        match address {
            Some(address) if network_policy == NetworkPolicy::Guarded && !self.allow.permits(address) => {
                Err(blocked(PRIVATE_ADDRESS))
            }
            _ => Ok(()),
        }
    }

    async fn dispatch(&self, request: &Request) -> Result<reqwest::Response, Failure> {
        let client = match request.network_policy {
            NetworkPolicy::Guarded => &self.guarded,
            NetworkPolicy::Trusted => &self.trusted,
        };
        let mut builder = client.request(request.method.clone(), request.url.clone());
        let mut headers = request.headers.clone();
        self.trace_hosts.tell(&request.url, &mut headers);
        builder = builder.headers(headers);
        let has_body = request.body.as_ref().is_some_and(|body| !body.is_empty());
        match (&request.body, &request.file) {
            (_, Some(file)) => {
                builder =
                    builder.header(CONTENT_LENGTH, file.length()).body(reqwest::Body::wrap(file.open()?));
            }
            (Some(body), None) if has_body => builder = builder.body(body.clone()),
            // The library leaves the length of nothing out, and some gateways then answer 411.
            _ if request.method != Method::GET => builder = builder.header(CONTENT_LENGTH, 0),
            _ => {}
        }
        builder.send().await.map_err(|error| lost(error, request.url.host_str()))
    }

    async fn read(
        &self,
        mut answer: reqwest::Response,
        request: &Request,
        room: &mut Room,
        redactor: &Arc<Redactor>,
    ) -> Result<Response, Failure> {
        let Request { bytes_max, cut_short, .. } = *request;
        let body = receive(&mut answer, bytes_max, cut_short, room).await?;
        let hints = Hints::read(answer.headers(), self.clock.now());
        let mut headers = std::mem::take(answer.headers_mut());
        if content_encoding::is_packed(&headers, &body) {
            room.grow_to_any()?;
        }
        let body = match content_encoding::decode(body, &mut headers, bytes_max, cut_short).await {
            // The status says enough.
            Err(_) if !answer.status().is_success() => Vec::new(),
            decoded => decoded?,
        };
        redactor.headers(&mut headers);
        Ok(Response {
            status: answer.status().as_u16(),
            url: answer.url().clone(),
            headers,
            body: redactor.body(body),
            hints,
            redactor: Arc::clone(redactor),
        })
    }
}

/// The body of an answer as far as it may be read, without what makes it short on the way.
async fn receive(
    answer: &mut reqwest::Response,
    bytes_max: usize,
    cut_short: bool,
    room: &mut Room,
) -> Result<Vec<u8>, Failure> {
    let announced = answer.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    if !cut_short && announced > bytes_max {
        return Err(too_large(bytes_max));
    }
    room.grow_to(announced)?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| lost(error, None))? {
        // After decompression, so that a small bomb is stopped as well.
        let left = bytes_max - body.len();
        if chunk.len() > left && !cut_short {
            return Err(too_large(bytes_max));
        }
        room.grow_to(body.len() + chunk.len().min(left))?;
        body.extend_from_slice(chunk.get(..left).unwrap_or(&chunk));
        if chunk.len() > left {
            break;
        }
    }
    // It grew in steps, and may wait for long.
    body.shrink_to_fit();
    Ok(body)
}

fn builder(user_agent: &str) -> Result<reqwest::ClientBuilder, String> {
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls::config()?)
        .user_agent(user_agent)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_initial_stream_window_size(STREAM_WINDOW_BYTES)
        .http2_initial_connection_window_size(2 * STREAM_WINDOW_BYTES);
    Ok(builder)
}
