//! One HTTP request a column describes, with its references already filled in.

use std::time::Duration;

use reqwest::Method;
use rowmill_model::column::{ApiConfig, HttpMethod, StatusRange};
use rowmill_model::path::Path;
use serde_json::value::RawValue;
use url::{ParseError, Url};

use crate::failure::{Failure, FailureKind};
use crate::redactor::Secret;
use crate::ssrf_guard::{Client, NetworkPolicy, REDIRECTS_MAX, Request, Response};

const WHO: &str = "The server";

/// A request as it is to be sent.
#[derive(Clone)]
pub struct Call {
    pub method: HttpMethod,
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Added to whatever query the address has; plain text, encoded here.
    pub query: Vec<(String, String)>,
    pub body: Option<Body>,
    /// The team secrets that stand somewhere in the call.
    pub secrets: Vec<Secret>,
}

#[derive(Clone)]
pub enum Body {
    /// JSON text, sent as it is.
    Json(String),
    Text(String),
}

/// Any part may hold a secret.
impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("method", &self.method).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kind, text) = match self {
            Self::Json(text) => ("Json", text),
            Self::Text(text) => ("Text", text),
        };
        write!(f, "{kind}({} bytes)", text.len())
    }
}

impl Call {
    /// Where it goes, without the query that is added.
    pub fn address(&self) -> Result<Url, Failure> {
        // The address is not quoted: it may hold a secret.
        Url::parse(self.url.trim()).map_err(|error| {
            let words = match error {
                ParseError::RelativeUrlWithoutBase => {
                    "The URL must start with http:// or https://.".to_owned()
                }
                error => format!("The URL is not valid: {error}."),
            };
            Failure::new(FailureKind::InvalidInput, words)
        })
    }
}

/// What the server had to say.
#[derive(Debug)]
pub enum Answer {
    /// Raw JSON, digits kept; text that is no JSON comes as a JSON string.
    Value { json: Box<RawValue>, status: u16 },
    /// Cleanly nothing: a status of `emptyOn`, an empty body, or nothing at `responsePath`.
    Empty { status: u16 },
}

/// Makes the call to its address and reads its answer as `config` says: of the configuration only what
/// concerns the answer counts, what concerns the request stands filled in in `call`.
pub async fn call(
    client: &Client,
    call: Call,
    address: Url,
    config: &ApiConfig,
    bytes_max: usize,
) -> Result<Answer, Failure> {
    let path = config.response_path.as_deref().map(Path::parse).transpose();
    let path = path.map_err(|words| Failure::new(FailureKind::InvalidInput, words))?;
    let deadline = Duration::from_secs(config.timeout_seconds.into());
    let request = request(call, address)?.deadline(deadline).bytes_max(bytes_max).redirects(REDIRECTS_MAX);
    let response = client.send(request).await?;
    let status = response.status;
    let is_one_of = |ranges: &[StatusRange]| ranges.iter().any(|range| range.holds(status));
    if is_one_of(&config.empty_on) {
        return Ok(Answer::Empty { status });
    }
    if !is_one_of(&config.success_statuses) {
        return Err(response.failure(WHO));
    }
    Ok(match value(&response, path.as_ref())? {
        Some(json) => Answer::Value { json, status },
        None => Answer::Empty { status },
    })
}

fn request(call: Call, address: Url) -> Result<Request, Failure> {
    let Call { method, url: _, headers, query, body, secrets } = call;
    let mut request = Request::new(wire_method(method), address, NetworkPolicy::Guarded);
    for secret in &secrets {
        request = request.secret(secret);
    }
    for (name, value) in &headers {
        if is_framing(name) {
            let words = format!("The header `{}` cannot be set; the connection sets it.", name.trim());
            return Err(Failure::new(FailureKind::InvalidInput, words));
        }
        request = request.header(name, value)?;
    }
    let pairs: Vec<(&str, &str)> =
        query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    request = request.query(&pairs);
    Ok(match body {
        Some(Body::Json(text)) => request.body("application/json", text),
        Some(Body::Text(text)) => request.body("text/plain; charset=utf-8", text),
        None => request,
    })
}

/// Headers that say where a message ends: a wrong one smuggles a second request into the connection.
fn is_framing(name: &str) -> bool {
    const FRAMING: [&str; 8] = [
        "connection",
        "content-length",
        "expect",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    FRAMING.contains(&name.trim().to_ascii_lowercase().as_str())
}

fn wire_method(method: HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
    }
}

fn value(response: &Response, path: Option<&Path>) -> Result<Option<Box<RawValue>>, Failure> {
    let invalid =
        |words: &str| Failure::new(FailureKind::InvalidOutput, format!("{WHO}'s response is {words}."));
    let text = std::str::from_utf8(&response.body).map_err(|_| invalid("not UTF-8 text"))?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Ok(None);
    }
    let json = match kind(response, text) {
        Kind::Json => Some(
            serde_json::from_str::<Box<RawValue>>(text)
                .map_err(|_| invalid("not valid JSON, although its Content-Type says so"))?,
        ),
        Kind::MaybeJson => serde_json::from_str(text).ok(),
        Kind::Text => None,
    };
    match (json, path.filter(|path| !path.is_whole())) {
        (Some(json), None) => Ok((json.get() != "null").then_some(json)),
        (Some(json), Some(path)) => {
            let found = path.find(json.get()).map_err(|error| {
                let words = format!("`responsePath` {error}.");
                Failure::new(FailureKind::TooLarge, words)
            })?;
            let found = found.map(|found| RawValue::from_string(found.into_owned()));
            found.transpose().map_err(|_| invalid("not valid JSON, although its Content-Type says so"))
        }
        (None, Some(_)) => Err(invalid("not JSON, so `responsePath` cannot be applied")),
        (None, None) => {
            let quoted = serde_json::value::to_raw_value(text).map_err(|_| invalid("not text"))?;
            Ok(Some(quoted))
        }
    }
}

/// What the body is, by its type and, where that says little, by its first character.
enum Kind {
    Json,
    MaybeJson,
    Text,
}

fn kind(response: &Response, text: &str) -> Kind {
    let content_type = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    match essence {
        "application/json" | "text/json" => Kind::Json,
        _ if essence.ends_with("+json") => Kind::Json,
        "" | "text/plain" | "text/javascript" | "application/octet-stream"
            if text.starts_with(['{', '[']) =>
        {
            Kind::MaybeJson
        }
        _ => Kind::Text,
    }
}
