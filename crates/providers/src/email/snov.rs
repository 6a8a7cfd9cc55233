//! Snov.io: a token for an hour, a search that is begun, a result that is asked for.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::finding::{Finding, hit_or_miss};
use super::person::Person;
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::redactor::Secret;
use crate::session::{Progress, Session, address, id, no_id, text};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "Snov.io";
const DELAY: Duration = Duration::from_secs(3);
/// How long before its end a token begins no search, so that it outlives the one it began.
const MARGIN: SignedDuration = SignedDuration::from_mins(10);

/// Tokens by address and credential.
#[derive(Debug, Default)]
pub(super) struct Tokens(Mutex<HashMap<Access, (Secret, Timestamp)>>);

impl Tokens {
    fn get(&self, access: &Access, now: Timestamp) -> Option<Secret> {
        let mut tokens = self.0.lock();
        tokens.retain(|_, (_, until)| *until > now);
        tokens.get(access).map(|(token, _)| token.clone())
    }

    fn put(&self, access: &Access, token: &Secret, until: Timestamp) {
        let mut tokens = self.0.lock();
        tokens.insert(access.clone(), (token.clone(), until));
    }
}

pub(super) async fn find(
    session: &mut Session<'_>,
    person: &Person,
    tokens: &Tokens,
) -> Result<Finding, Failure> {
    if person.last().is_empty() {
        return Ok(Finding::Ineligible);
    }
    let (response, token) = start(session, person, tokens).await?;
    let body = answer(&response)?;
    if let Some(failure) = spent(&response, &body) {
        return Err(failure);
    }
    let pointers = ["/data/task_hash", "/task_hash", "/data/0/task_hash"];
    let task = id(&body, &pointers).ok_or_else(|| no_id(WHO))?;
    let request = |session: &Session<'_>| {
        let request = session.get("v2/emails-by-domain-by-name/result").query(&[("task_hash", &task)]);
        with_token(session, request, &token)
    };
    session.poll(DELAY, request, read).await
}

/// Begins the search; a token that ended early is replaced once.
async fn start(
    session: &Session<'_>,
    person: &Person,
    tokens: &Tokens,
) -> Result<(Response, Secret), Failure> {
    let row = json!({"first_name": person.first(), "last_name": person.last(), "domain": person.domain()});
    let body = json!({"rows": [row]});
    let begin = async |token: Secret| {
        let request = with_token(session, session.post("v2/emails-by-domain-by-name/start"), &token)?;
        Ok::<_, Failure>((session.send(request.json(&body)).await?, token))
    };
    if let Some(token) = tokens.get(session.access, session.now()) {
        let (response, token) = begin(token).await?;
        if response.status != 401 {
            return Ok((response, token));
        }
    }
    begin(mint(session, tokens).await?).await
}

async fn mint(session: &Session<'_>, tokens: &Tokens) -> Result<Secret, Failure> {
    let (client_id, client_secret) = session.key.expose().trim().split_once(':').ok_or_else(|| {
        let words = "Snov.io's key must have the form `client id:client secret`.";
        Failure::new(FailureKind::InvalidCredentials, words)
    })?;
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "client_credentials")
        .append_pair("client_id", client_id)
        .append_pair("client_secret", client_secret)
        .finish();
    let request = halves(session, session.post("v1/oauth/access_token"));
    let response = session.send(request.body("application/x-www-form-urlencoded", form)).await?;
    match response.status {
        200..300 => {}
        // OAuth's way to say that it does not know the client.
        400 => return Err(response.failure_of(WHO, FailureKind::InvalidCredentials)),
        _ => return Err(response.failure(WHO)),
    }
    let body = response.json(WHO)?;
    let token = Secret::new(text(&body, "/access_token"));
    if token.expose().is_empty() {
        return Err(Failure::new(FailureKind::InvalidOutput, "Snov.io returned no token."));
    }
    let seconds = body.get("expires_in").and_then(Value::as_i64).unwrap_or(3600).clamp(0, 86_400);
    let until = session.now().saturating_add(SignedDuration::from_secs(seconds) - MARGIN);
    tokens.put(session.access, &token, until.unwrap_or(Timestamp::MIN));
    Ok(token)
}

fn with_token(session: &Session<'_>, request: Request, token: &Secret) -> Result<Request, Failure> {
    halves(session, request).secret_header("authorization", "Bearer ", token)
}

/// Either half of the key may be echoed alone.
fn halves(session: &Session<'_>, mut request: Request) -> Request {
    request = request.secret(session.key);
    for half in session.key.expose().split(':') {
        request = request.secret(&Secret::new(half));
    }
    request
}

fn answer(response: &Response) -> Result<Value, Failure> {
    if response.is_success() { response.json(WHO) } else { Err(response.finder_failure(WHO)) }
}

fn spent(response: &Response, body: &Value) -> Option<Failure> {
    let is_spent = ["/status", "/data/status"].iter().any(|place| text(body, place) == "not_enough_credits");
    is_spent.then(|| response.failure_of(WHO, FailureKind::OutOfCredits))
}

fn read(response: &Response) -> Result<Progress<Finding>, Failure> {
    let body = answer(response)?;
    if let Some(failure) = spent(response, &body) {
        return Err(failure);
    }
    match text(&body, "/status") {
        "completed" => Ok(Progress::Done(best(&body))),
        "" | "failed" | "error" => Err(response.failure_of(WHO, FailureKind::ProviderError)),
        _ => Ok(Progress::Pending(None)),
    }
}

fn best(body: &Value) -> Finding {
    let results = body.pointer("/data/0/result").and_then(Value::as_array);
    let of = |fits: fn(&str) -> bool| {
        let fitting = results.into_iter().flatten().filter(|result| fits(text(result, "/smtp_status")));
        fitting.into_iter().find_map(|result| address(result.get("email")))
    };
    match of(|status| status == "valid") {
        Some(email) => hit_or_miss(Some(email), true),
        None => hit_or_miss(of(|status| !matches!(status, "not_valid" | "invalid")), false),
    }
}
