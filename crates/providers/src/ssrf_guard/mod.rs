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
pub use trace_hosts::TraceHosts;
pub use user_agent::UserAgent;

use crate::failure::{Failure, FailureKind, Hints};
use crate::redactor::Redactor;

/// How many redirects a table's request may take.
pub const REDIRECTS_MAX: u8 = 5;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

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
        let redactor = Arc::new(Redactor::new(&request.secrets));
        let deadline = request.deadline;
        let answered = tokio::time::timeout(deadline, self.follow(request, &redactor)).await;
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
            self.read(answer, &request, &redactor).await.map(Err)
        };
        let begun = tokio::time::timeout(request.deadline, begun).await;
        let begun = begun.unwrap_or_else(|_| {
            let words = format!("No response within {} s.", request.deadline.as_secs_f64());
            Err(Failure::new(FailureKind::TimedOut, words))
        });
        begun.map_err(|failure: Failure| failure.redacted(&redactor))
    }

    async fn follow(&self, mut request: Request, redactor: &Arc<Redactor>) -> Result<Response, Failure> {
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
                return self.read(answer, &request, redactor).await;
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
        redactor: &Arc<Redactor>,
    ) -> Result<Response, Failure> {
        let Request { bytes_max, cut_short, .. } = *request;
        let announced = answer.content_length().and_then(|length| usize::try_from(length).ok());
        if !cut_short && announced.is_some_and(|length| length > bytes_max) {
            return Err(too_large(bytes_max));
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| lost(error, None))? {
            // After decompression, so that a small bomb is stopped as well.
            let room = bytes_max - body.len();
            if chunk.len() > room {
                if !cut_short {
                    return Err(too_large(bytes_max));
                }
                body.extend_from_slice(chunk.get(..room).unwrap_or_default());
                break;
            }
            body.extend_from_slice(&chunk);
        }
        let hints = Hints::read(answer.headers(), self.clock.now());
        let mut headers = std::mem::take(answer.headers_mut());
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

fn builder(user_agent: &str) -> Result<reqwest::ClientBuilder, String> {
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls::config()?)
        .user_agent(user_agent)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT);
    Ok(builder)
}
